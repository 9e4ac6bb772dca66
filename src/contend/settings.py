"""Settings: the process's own (keys, addresses, limits) and the workspace's TOML files. Strict; origins are kept.

A value comes from the caller, else the environment, else the workspace's TOML, else the shipped defaults.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, get_origin
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from contend.errors import InputError
from contend.models.options import (
    EvaluatorConfig,
    JudgmentConfig,
    ResolvedOptions,
    Role,
    Rounds,
    RunOptions,
    TeamConfig,
)
from contend.models.record import Record
from contend.resources import resource
from contend.text import detect_language

EXTRACTIVE = "extractive"
"""The name of the built-in model that composes by extraction."""

ROLES: tuple[Role, ...] = ("supervisor", "writer", "reviewer", "evaluator", "judge", "reflector", "curator")
CONFIG_FILES = (
    "config/orchestrator.toml",
    "config/evaluator.toml",
    "config/judgment.toml",
    "config/models.toml",
    "config/prompt_builder.toml",
    "config/sections.yaml",
)
M = TypeVar("M", bound=BaseModel)


class Settings(BaseSettings):
    """The process's settings, from the environment or a `.env` file in the working directory."""

    model_config = SettingsConfigDict(
        env_prefix="CONTEND_",
        env_file=".env",
        extra="ignore",
        populate_by_name=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )

    workspace: Path | None = None
    openai_api_key: SecretStr | None = Field(None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(None, validation_alias="OPENAI_BASE_URL")
    tavily_api_key: SecretStr | None = Field(None, validation_alias="TAVILY_API_KEY")
    tavily_base_url: str | None = None
    arxiv_base_url: str | None = None
    fetch_allow: Annotated[list[IPv4Network | IPv6Network], NoDecode] = []
    """Networks of the user's own from which pages may be read, beside the public web."""
    checkpointer: Literal["memory", "sqlite", "redis"] = "sqlite"
    """Redis, where its address is set and no other is named."""
    redis_url: SecretStr | None = None
    checkpoint_ttl_minutes: Annotated[int, Field(ge=60)] | None = None
    """Minutes after which Redis forgets a checkpoint that nobody saved or read; a run at work must outlast it."""
    call_deadline_seconds: Annotated[float, Field(gt=0)] = 120
    max_calls_in_flight: Annotated[int, Field(ge=1)] = 64
    max_retries: Annotated[int, Field(ge=0)] = 2
    record_lock_seconds: Annotated[float, Field(gt=0)] = 10

    @field_validator("fetch_allow", mode="before")
    @classmethod
    def _networks(cls, value: object) -> object:
        named = value.split(",") if isinstance(value, str) else value
        try:
            return [ip_network(str(each).strip()) for each in named if str(each).strip()]  # type: ignore[attr-defined]  # else a TypeError
        except (ValueError, TypeError) as error:
            raise ValueError(f"CONTEND_FETCH_ALLOW names no network: {error}; give one such as 10.0.0.0/8") from error

    @field_validator("redis_url")
    @classmethod
    def _usable_address(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not value.get_secret_value():
            return None
        # What urlsplit says of a faulty address may hold a part of the password.
        if _split_redis(value.get_secret_value()) is None:
            raise ValueError(
                "CONTEND_REDIS_URL is no Redis address: give redis://[:PASSWORD@]HOST[:PORT], or rediss:// for TLS, "
                "special characters of the password percent-encoded"
            )
        return value

    @model_validator(mode="after")
    def _settle_checkpointer(self) -> Self:
        if self.redis_url is not None and "checkpointer" not in self.model_fields_set:
            self.checkpointer = "redis"
        if self.redis_url is None and self.checkpointer == "redis":
            raise ValueError("CONTEND_CHECKPOINTER is redis: set CONTEND_REDIS_URL=redis://HOST:PORT as well")
        return self

    @property
    def redis_location(self) -> str:
        """The Redis server's whole address, password included: for the client only."""
        return self.redis_url.get_secret_value() if self.redis_url else ""

    @property
    def redis_address(self) -> str:
        """The Redis server's address as it may be shown: no user, no password."""
        place = _split_redis(self.redis_location)
        if place is None:
            return ""
        scheme, host, port, path = place
        shown = f"[{host}]" if ":" in host else host
        return f"{scheme}://{path}" if scheme == "unix" else f"{scheme}://{shown}:{port}{path.rstrip('/')}"

    @property
    def has_language_model(self) -> bool:
        """A key, or the address of an endpoint that may not need one."""
        return self.openai_api_key is not None or self.openai_base_url is not None

    @property
    def folder(self) -> Path:
        """The workspace: set, else the nearest parent with `config/orchestrator.toml`, else a per-user folder."""
        if self.workspace is not None:
            return self.workspace.expanduser().absolute()
        here = Path.cwd()
        for parent in (here, *here.parents):
            if (parent / "config" / "orchestrator.toml").is_file():
                return parent
        from platformdirs import user_data_path  # noqa: PLC0415 - only where no workspace is near

        return user_data_path("contend", appauthor=False)


def _split_redis(url: str) -> tuple[str, str, int, str] | None:
    """Scheme, host, port and path; None of what is no Redis address."""
    try:
        parts = urlsplit(url)
        port = parts.port or 6379
    except ValueError:
        return None
    usable = parts.scheme == "unix" or (parts.scheme in {"redis", "rediss"} and parts.hostname)
    return (parts.scheme, parts.hostname or "", port, parts.path) if usable else None


def load_settings(**given: object) -> Settings:
    """Settings of this process; `given` values win.

    Raises:
        InputError: a value is not usable; names the variable.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]  # checked by pydantic
    except ValidationError as error:
        raise InputError(f"environment: {_first_line(error)}") from error


class TeamReference(Record):
    config: Path


class OrchestratorSettings(Record):
    """`[orchestrator]`: limits of the contest and the teams that may enter."""

    workspace_path: Path | None = None
    timeout_per_team_seconds: int = Field(default=600, gt=0)
    max_retries_per_team: int = Field(default=0, ge=0)
    min_rounds: Rounds = 1
    max_rounds: Rounds = 3
    max_concurrent_teams: int = Field(default=8, ge=1)
    teams: list[TeamReference] = Field(min_length=1)


class _OrchestratorFile(Record):
    orchestrator: OrchestratorSettings
    options: RunOptions = Field(default_factory=RunOptions)


class _EvaluatorFile(Record):
    evaluator: EvaluatorConfig


class _JudgmentFile(Record):
    judgment: JudgmentConfig


class ModelPrice(Record):
    """US dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class ModelsConfig(Record):
    """`config/models.toml`: the default model of a role, output limits in tokens, prices."""

    default: str
    roles: dict[Role, str] = Field(default_factory=dict)
    max_output_tokens: dict[Role, Annotated[int, Field(ge=16)]] = Field(default_factory=dict)
    prices: dict[str, ModelPrice] = Field(default_factory=dict)


class Config(NamedTuple):
    """The TOML files in effect for a workspace: its own, what they leave out from the shipped ones."""

    orchestrator: OrchestratorSettings
    options: RunOptions
    teams: dict[str, TeamConfig]
    evaluator: EvaluatorConfig
    judgment: JudgmentConfig
    models: ModelsConfig
    files: dict[str, Path]
    fingerprint: dict[str, str]
    """Eight hex digits of each file's SHA-256 as it was read, by name: what a resume compares."""


class Resolved(NamedTuple):
    """A run's options with every value settled, its teams, and where each value came from."""

    options: ResolvedOptions
    teams: list[TeamConfig]
    origins: dict[str, str]


def config_file(folder: Path, name: str) -> Path:
    """The file in effect for a relative name such as `config/teams/scout.toml`: the workspace's, else the shipped.

    Raises:
        InputError: neither exists.
    """
    path = folder / name
    if path.is_file():
        return path
    try:
        return resource(name)
    except FileNotFoundError as error:
        raise InputError(f"{name}: no such file in {folder} or among the shipped ones") from error


def load_config(folder: Path) -> Config:
    """All TOML files in effect.

    Raises:
        InputError: a file is missing, not TOML, or has an unknown or unusable key; names file, key and value.
    """
    files = {name: config_file(folder, name) for name in CONFIG_FILES}
    orchestrator = _filled(files, "config/orchestrator.toml", _OrchestratorFile)
    _check_workspace(folder, files["config/orchestrator.toml"], orchestrator.orchestrator.workspace_path)
    teams: dict[str, TeamConfig] = {}
    for reference in orchestrator.orchestrator.teams:
        name = str(reference.config)
        files[name] = config_file(folder, name)
        team = checked(TeamConfig, _read(files[name]), str(files[name]))
        if team.team_id in teams:
            raise InputError(f"{files[name]}: team_id {team.team_id!r} is taken by another team; choose another")
        teams[team.team_id] = team
    return Config(
        orchestrator=orchestrator.orchestrator,
        options=orchestrator.options,
        teams=teams,
        evaluator=_filled(files, "config/evaluator.toml", _EvaluatorFile).evaluator,
        judgment=_filled(files, "config/judgment.toml", _JudgmentFile).judgment,
        models=_filled(files, "config/models.toml", ModelsConfig),
        files=files,
        fingerprint={name: sha256(path.read_bytes()).hexdigest()[:8] for name, path in sorted(files.items())},
    )


def environment_options(environment: Mapping[str, str | None] | None = None) -> RunOptions:
    """Run options from `CONTEND_<NAME>`, in the environment or the `.env` file; lists may be comma-separated.

    Raises:
        InputError: a value is not usable; names the variable.
    """
    given = {**dotenv_values(".env"), **os.environ} if environment is None else environment
    values = {
        name: _from_text(value, field.annotation)
        for name, field in RunOptions.model_fields.items()
        if (value := given.get(f"CONTEND_{name.upper()}"))
    }
    return checked(RunOptions, values, "environment CONTEND_")


def resolve_options(
    config: Config, given: RunOptions, *, theme: str, has_language_model: bool, environment: RunOptions | None = None
) -> Resolved:
    """Settle every option: caller, environment, workspace TOML, default.

    Raises:
        InputError: an unknown team, unusable rounds or weights.
    """
    layers = (
        ("caller", given),
        ("environment", environment_options() if environment is None else environment),
        ("config/orchestrator.toml [options]", config.options),
    )
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in reversed(layers):
        for name in layer.model_fields_set:
            if (value := getattr(layer, name)) is not None:
                values[name], origins[name] = value, origin
    settled = _settle(config, values, theme=theme, has_language_model=has_language_model)
    _name_origins(config, origins)
    return Resolved(settled, _choose_teams(config, values.get("teams")), origins)


def _settle(config: Config, values: dict[str, Any], *, theme: str, has_language_model: bool) -> ResolvedOptions:
    orchestrator = config.orchestrator
    named = {name: value for name, value in values.items() if name in ResolvedOptions.model_fields}
    default = config.models.default if has_language_model else EXTRACTIVE
    models: dict[Role, str] = dict.fromkeys(ROLES, default)
    if has_language_model:
        models |= config.models.roles
    if "model" in values:
        models = dict.fromkeys(ROLES, values["model"])
    models |= values.get("models", {})
    language = values.get("language", "auto")
    judgment = config.judgment
    if "target_score" in values:
        judgment = judgment.model_copy(update={"target_score": values["target_score"]})
    return checked(
        ResolvedOptions,
        {
            "min_rounds": min(orchestrator.min_rounds, values.get("max_rounds", orchestrator.min_rounds)),
            "max_rounds": max(orchestrator.max_rounds, values.get("min_rounds", 1)),
            "timeout_per_team_seconds": orchestrator.timeout_per_team_seconds,
            "max_retries_per_team": orchestrator.max_retries_per_team,
            "max_concurrent_teams": orchestrator.max_concurrent_teams,
            **named,
            "models": models,
            "language": detect_language(theme) if language == "auto" else language,
            "judgment": judgment,
            "evaluator": config.evaluator,
        },
        "options",
    )


def _name_origins(config: Config, origins: dict[str, str]) -> None:
    for name in OrchestratorSettings.model_fields:
        if name in config.orchestrator.model_fields_set:
            origins.setdefault(name, "config/orchestrator.toml")
    origins.setdefault("models", "config/models.toml")
    origins.setdefault("evaluator", "config/evaluator.toml")
    origins.setdefault("judgment", "config/judgment.toml")
    origins.setdefault("round_prompt", "config/prompt_builder.toml")
    for name in ResolvedOptions.model_fields:
        origins.setdefault(name, "default")


def _choose_teams(config: Config, wanted: list[str] | None) -> list[TeamConfig]:
    if wanted is None:
        return list(config.teams.values())
    for team_id in wanted:
        if team_id not in config.teams:
            raise InputError(f"teams: no team {team_id!r}; choose from {', '.join(sorted(config.teams))}")
    return [config.teams[team_id] for team_id in dict.fromkeys(wanted)]


def checked(kind: type[M], values: Mapping[str, Any], where: str) -> M:
    """A record made of outside values.

    Raises:
        InputError: one clear line with place, field, value and what is wrong with it.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{where}: {_first_line(error)}") from error


def _check_workspace(folder: Path, path: Path, named: Path | None) -> None:
    """A workspace may say where it lies, and is found elsewhere where it was moved or copied."""
    if named is not None and (folder / named.expanduser()).resolve() != folder.resolve():
        raise InputError(
            f"{path}: orchestrator.workspace_path = {str(named)!r} is not the workspace in effect, {folder}: "
            "remove the key, or name that folder with --workspace or CONTEND_WORKSPACE"
        )


def _filled(files: Mapping[str, Path], name: str, kind: type[M]) -> M:
    """A file; keys that its tables leave out have the shipped file's values."""
    values = _read(resource(name))
    for key, own in _read(files[name]).items():
        shipped = values.get(key)
        values[key] = {**shipped, **own} if isinstance(shipped, dict) and isinstance(own, dict) else own
    return checked(kind, values, str(files[name]))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _first_line(error: ValidationError) -> str:
    """The first fault as one line: field, value, and what would be right."""
    fault = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in fault["loc"]) or "value"
    if fault["type"] == "extra_forbidden":
        return f"unknown key {field!r}; remove it or mend its spelling"
    if fault["type"] == "missing":
        return f"key {field!r} is missing; add it"
    message = fault["msg"].removeprefix("Value error, ")
    value = repr(fault["input"])
    shown = value if len(value) <= 60 else f"{value[:57]}…"  # noqa: PLR2004 - one line
    return message if fault["type"] == "value_error" else f"{field} = {shown}: {message}"


def _from_text(text: str, annotation: object) -> object:
    if text.startswith(("[", "{")):
        try:
            return json.loads(text)
        except ValueError:
            return text
    wants_list = any(get_origin(part) is list for part in getattr(annotation, "__args__", (annotation,)))
    return [part.strip() for part in text.split(",") if part.strip()] if wants_list else text
