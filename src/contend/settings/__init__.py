"""The process's settings (keys, addresses, limits), and a run's options: each settled, with where it came from.

A value comes from the caller, else the environment, else the workspace's TOML, else the shipped defaults.
"""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args, get_origin
from urllib.parse import urlsplit

from dotenv import dotenv_values
from platformdirs import user_data_path
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from contend.errors import InputError
from contend.models.options import DEPTHS, Depth, DepthDefaults, ResolvedOptions, Role, RunOptions, TeamConfig
from contend.parsing import parse_json
from contend.settings.files import Config, OrchestratorSettings, first_fault, validate
from contend.text import question_language

SERVING = "CONTEND_SERVING"
"""The variable by which `contend serve` says what its process prints once it answers: the address and a line."""
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,}")
"""What a bearer token is made of (RFC 6750), too long to be tried out."""

CheckpointerType = Literal["memory", "sqlite", "redis"]


def _parts(value: Any) -> list[str]:  # noqa: ANN401 - pydantic refuses what has no parts
    """A list as a variable gives it, parted by commas, or as code does."""
    parts = value.split(",") if isinstance(value, str) else value
    return [part for each in parts if (part := str(each).strip())]


def _networks(value: object) -> list[IPv4Network | IPv6Network]:
    try:
        return [ip_network(each) for each in _parts(value)]
    except (ValueError, TypeError) as error:
        raise ValueError(f"CONTEND_FETCH_ALLOW names no network: {error}; give one such as 10.0.0.0/8") from error


def _long_token(value: SecretStr) -> SecretStr:
    if not _TOKEN.fullmatch(value.get_secret_value()):
        raise ValueError(
            "CONTEND_SERVER_TOKEN can be guessed or sent in no header: give 16 letters, digits, '_', '-' or more, "
            "such as `openssl rand -hex 32` prints"
        )
    return value


def _redis_address(value: SecretStr) -> SecretStr:
    # What urlsplit says of a faulty address may hold a part of the password.
    if _split_redis(value.get_secret_value()) is None:
        raise ValueError(
            "CONTEND_REDIS_URL is no Redis address: give redis://[:PASSWORD@]HOST[:PORT], or rediss:// for TLS, "
            "special characters of the password percent-encoded"
        )
    return value


class Settings(BaseSettings):
    """The process's settings, from the environment or a `.env` file in the working directory."""

    model_config = SettingsConfigDict(
        env_prefix="CONTEND_",
        env_file=".env",
        env_file_encoding="utf-8-sig",
        extra="ignore",
        populate_by_name=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    workspace: Path | None = None
    """The workspace. Left out: the nearest folder with `config/orchestrator.toml`, else a data folder of the user."""
    started_in: Path | None = None
    """The folder of relative documents; `contend serve` sets it for its server. Left out: the working directory."""
    openai_api_key: SecretStr | None = Field(None, validation_alias="OPENAI_API_KEY")
    """Key of the model endpoint. Left out: none."""
    openai_base_url: str | None = Field(None, validation_alias="OPENAI_BASE_URL")
    """Address of the model endpoint. Left out: OpenAI's."""
    tavily_api_key: SecretStr | None = Field(None, validation_alias="TAVILY_API_KEY")
    """Key of the web search. Left out: no web search."""
    tavily_base_url: str | None = None
    """Address of the web search. Left out: Tavily's."""
    arxiv_base_url: str | None = None
    """Address of arXiv's search. Left out: arXiv's."""
    fetch_allow: Annotated[list[IPv4Network | IPv6Network], NoDecode, BeforeValidator(_networks)] = []
    """Networks of your own from which pages may be read, beside the public web. Left out: none."""
    checkpointer: CheckpointerType = "sqlite"
    """Where checkpoints are kept. Left out: `redis` if `CONTEND_REDIS_URL` is set, else `sqlite`."""
    redis_url: Annotated[SecretStr, AfterValidator(_redis_address)] | None = None
    """Address of a Redis server for checkpoints and leases. Left out: none."""
    checkpoint_ttl_minutes: Annotated[int, Field(ge=60)] | None = None
    """Minutes after which Redis forgets a checkpoint that nobody saved or read. Left out: never."""
    call_deadline_seconds: Annotated[float, Field(gt=0)] = 300
    """Seconds of one model call with its retries."""
    max_calls_in_flight: Annotated[int, Field(ge=1)] = 64
    """Model calls at the same time."""
    max_retries: Annotated[int, Field(ge=0)] | None = None
    """Repeats of a model call. Left out: as many as its deadline has room for."""
    record: Path | None = None
    """The file to which a run's model replies are added. Left out: none."""
    replay: Path | None = None
    """The file from which model replies are played; no model is asked. Left out: none."""
    record_lock_seconds: Annotated[float, Field(gt=0)] = 10
    """Seconds that a process waits for another one to leave the record."""
    server_token: Annotated[SecretStr, AfterValidator(_long_token)] | None = None
    """What the Agent Server asks of every request. Left out: it answers this machine only."""
    served_folders: Annotated[list[str], NoDecode, BeforeValidator(_parts)] = []
    """Folders whose documents a client of the Agent Server may name. Left out: the workspace's alone."""

    _base: Path
    _folder: Path

    def model_post_init(self, context: Any, /) -> None:  # noqa: ANN401, ARG002 - pydantic's
        """Folders are settled here: on an event loop nobody may ask for the working directory."""
        here = Path.cwd()
        self._base = here / (self.started_in or here).expanduser()
        self._folder = here / self.workspace.expanduser() if self.workspace else _nearest_workspace(here)

    @field_validator(
        *("openai_api_key", "openai_base_url", "tavily_api_key", "record", "replay", "server_token", "redis_url"),
        mode="before",
    )
    @classmethod
    def _unset_if_blank(cls, value: object) -> object:
        """An empty variable turns off what a `.env` file sets."""
        return None if isinstance(value, str) and not value.strip() else value

    @model_validator(mode="after")
    def _settle_checkpointer(self) -> Self:
        if self.redis_url is not None and "checkpointer" not in self.model_fields_set:
            self.checkpointer = "redis"
        if self.redis_url is None and self.checkpointer == "redis":
            raise ValueError("CONTEND_CHECKPOINTER is redis: set CONTEND_REDIS_URL=redis://HOST:PORT as well")
        return self

    @model_validator(mode="after")
    def _record_or_replay(self) -> Self:
        if self.record is not None and self.replay is not None:
            raise ValueError(
                "CONTEND_RECORD and a replay (--replay, CONTEND_REPLAY) are both set: a replayed run has no replies of "
                "its own to keep; leave one of them out"
            )
        return self

    @property
    def redis_address(self) -> str:
        """The Redis server's address as it may be shown: no user, no password."""
        place = _split_redis(secret_text(self.redis_url))
        if place is None:
            return ""
        scheme, host, port, path = place
        host_part = f"[{host}]" if ":" in host else host
        return f"{scheme}://{path}" if scheme == "unix" else f"{scheme}://{host_part}:{port}{path.rstrip('/')}"

    @property
    def has_language_model(self) -> bool:
        """A key, the address of an endpoint that may not need one, or a model's recorded replies."""
        return any((self.openai_api_key, self.openai_base_url, self.replay))

    @property
    def folder(self) -> Path:
        """The workspace: set, else the nearest parent with `config/orchestrator.toml`, else a per-user folder."""
        return self._folder

    def locate(self, path: str) -> Path:
        """Where a document's path leads: a relative one starts in the folder in which the user started contend."""
        return self._base / Path(path).expanduser()


def secret_text(secret: SecretStr | None) -> str:
    """A key, token or address with a password as it is, "" for none: for the client that sends it only."""
    return secret.get_secret_value() if secret else ""


def _nearest_workspace(here: Path) -> Path:
    near = (each for each in (here, *here.parents) if (each / "config" / "orchestrator.toml").is_file())
    if workspace := next(near, None):
        return workspace
    try:
        return user_data_path("contend", appauthor=False)
    except RuntimeError as error:
        raise InputError("the user has no home folder: set HOME, or CONTEND_WORKSPACE to a folder") from error


def _split_redis(url: str) -> tuple[str, str, int, str] | None:
    """Scheme, host, port and path; None of what is no Redis address."""
    try:
        parts = urlsplit(url)
        port = parts.port or 6379
    except ValueError:
        return None
    usable = parts.scheme == "unix" or (parts.scheme in {"redis", "rediss"} and parts.hostname)
    return (parts.scheme, parts.hostname or "", port, parts.path) if usable else None


def load_settings(**values: object) -> Settings:
    """Settings of this process; `values` win.

    Raises:
        InputError: a value is not usable; names the variable. Or `.env` is no text, or the workspace is a file.
    """
    try:
        settings = Settings(**{name: value for name, value in values.items() if value is not None})  # type: ignore[arg-type]  # checked by pydantic
    except ValidationError as error:
        raise InputError(f"environment: {first_fault(error)}") from error
    except UnicodeDecodeError as error:
        raise InputError(".env: not UTF-8 text: save it as UTF-8, or delete it") from error
    _check_no_file(settings.folder)
    return settings


def _check_no_file(folder: Path) -> None:
    with suppress(OSError):  # what cannot be looked at is told when it is used
        for place in (folder, *folder.parents):
            if place.is_file():
                raise InputError(f"workspace {folder}: {place} is a file: name a folder")


def is_loopback(host: str) -> bool:
    """Whether a host's name or address leads to this machine only."""
    if host == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    ipv4 = getattr(address, "ipv4_mapped", None)
    return (ipv4 or address).is_loopback


def service_address(url: str, name: str, *, example: str) -> str:
    """The address of a service, without a slash at its end.

    Raises:
        InputError: it is not an http(s) address with a host; names what sets it.
    """
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        (parts.hostname or "").encode("idna")
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"{name} is not an http(s) address with a host, such as {example}")
    return url.strip().rstrip("/")


ROLES: tuple[Role, ...] = get_args(Role)


class RunSetup(NamedTuple):
    """A run's options with every value settled, its teams, and where each value came from.

    `teams_named`: an option names the teams; else as many of them enter as the depth says.
    """

    options: ResolvedOptions
    teams: list[TeamConfig]
    origins: dict[str, str]
    teams_named: bool


def environment_variables() -> dict[str, str | None]:
    """The variables of the process, before those of the `.env` file in the working directory."""
    return {**dotenv_values(".env", encoding="utf-8-sig"), **os.environ}


def environment_options(environment: Mapping[str, str | None] | None = None) -> RunOptions:
    """Run options from `CONTEND_<NAME>`, in the environment or the `.env` file; lists may be comma-separated.

    Raises:
        InputError: a value is not usable; names the variable.
    """
    variables = environment_variables() if environment is None else environment
    values = {
        name: _from_text(value, field.annotation)
        for name, field in RunOptions.model_fields.items()
        if (value := variables.get(f"CONTEND_{name.upper()}"))
    }
    return validate(RunOptions, values, "environment CONTEND_")


def resolve_options(
    config: Config, request: RunOptions, *, theme: str, has_language_model: bool, environment: RunOptions | None = None
) -> RunSetup:
    """Settle every option: caller, environment, workspace TOML, default.

    Raises:
        InputError: an unknown team, unusable rounds or weights.
    """
    layers = (
        ("caller", request),
        ("environment", environment_options() if environment is None else environment),
        ("config/orchestrator.toml [options]", config.options),
    )
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in reversed(layers):
        for name in layer.model_fields_set:
            if (value := getattr(layer, name)) is not None:
                values[name], origins[name] = value, origin
    options = _settle(config, values, theme=theme, has_language_model=has_language_model)
    _name_origins(config, origins, options.depth)
    return RunSetup(options, _choose_teams(config, values.get("teams")), origins, teams_named="teams" in values)


_BY_ITSELF = (
    "depth",
    "read_top",
    "dataset",
    "max_tokens",
    "max_usd",
    "max_minutes",
    "max_calls",
    "learn",
    "playbook",
    "lesson_tokens",
)
"""Options whose default follows from no other. A workspace's documents and sources are not a client's to send back."""


def shown_defaults(config: Config) -> dict[str, Any]:
    """What a form shows where nothing is given. Sent back as it is, it changes nothing.

    Raises:
        InputError: as `resolve_options`.
    """
    options = resolve_options(config, RunOptions(), theme="?", has_language_model=True).options
    values = options.model_dump(mode="json", include={*_BY_ITSELF})
    return {**values, "language": environment_options().language or config.options.language or "auto"}


def _settle(config: Config, values: dict[str, Any], *, theme: str, has_language_model: bool) -> ResolvedOptions:
    orchestrator, depth = config.orchestrator, values.get("depth", "auto")
    by_file = orchestrator.model_dump(exclude_unset=True)
    limits = {**DEPTHS[depth]._asdict(), **by_file}
    least = 1 if "max_rounds" in by_file else orchestrator.min_rounds
    rounds = {
        "min_rounds": min(orchestrator.min_rounds, values.get("max_rounds", orchestrator.min_rounds)),
        "max_rounds": max(limits["max_rounds"], values.get("min_rounds", least)),
    }
    has_set_rounds = {"min_rounds", "max_rounds"} & values.keys() or "max_rounds" in by_file
    mends_only = limits["mends_only"] and not has_set_rounds and rounds["max_rounds"] == 1
    rounds["max_rounds"] += mends_only
    language, judgment = values.get("language", "auto"), config.judgment
    if "target_score" in values:
        judgment = judgment.model_copy(update={"target_score": values["target_score"]})
    layers = {**limits, **rounds, **values}
    own = {
        **{name: value for name, value in layers.items() if name in ResolvedOptions.model_fields},
        "depth": depth,
        "mends_only": mends_only,
        "explicit": [name for name in ("teams", "synthesis") if name in values],
        "models": _models(config, values, has_language_model=has_language_model),
        "language": question_language(theme) if language == "auto" else language,
        "judgment": judgment,
        "evaluator": config.evaluator if values.get("instructions") else config.evaluator.without("instructions"),
    }
    return validate(ResolvedOptions, own, "options")


def _models(config: Config, values: dict[str, Any], *, has_language_model: bool) -> dict[Role, str]:
    """None where no endpoint is set and nobody names a model."""
    if not has_language_model and not values.keys() & {"model", "models"}:
        return {}
    models: dict[Role, str] = dict.fromkeys(ROLES, config.models.default)
    models |= config.models.roles
    if "model" in values:
        models = dict.fromkeys(ROLES, values["model"])
    models |= values.get("models", {})
    return models


def _name_origins(config: Config, origins: dict[str, str], depth: Depth) -> None:
    for name in OrchestratorSettings.model_fields:
        if name in config.orchestrator.model_fields_set:
            origins.setdefault(name, "config/orchestrator.toml")
    for name in ("models", "evaluator", "judgment"):
        origins.setdefault(name, f"config/{name}.toml")
    origins.setdefault("round_prompt", "config/prompt_builder.toml")
    for name in ResolvedOptions.model_fields:
        origins.setdefault(name, f"depth {depth}" if name in DepthDefaults._fields else "default")


def _choose_teams(config: Config, names: list[str] | None) -> list[TeamConfig]:
    if names is None:
        return list(config.teams.values())
    for team_id in names:
        if team_id not in config.teams:
            raise InputError(f"teams: no team {team_id!r}; choose from {', '.join(sorted(config.teams))}")
    return [config.teams[team_id] for team_id in dict.fromkeys(names)]


def _from_text(text: str, annotation: object) -> object:
    if text.startswith(("[", "{")):
        try:
            return parse_json(text)
        except ValueError:
            return text
    wants_list = any(get_origin(part) is list for part in getattr(annotation, "__args__", (annotation,)))
    return _parts(text) if wants_list else text
