"""The workspace's TOML files; the shipped ones fill what they leave out."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from contend.errors import InputError
from contend.models.evaluation import CriteriaFile
from contend.models.options import (
    GRAPH_ENTRY,
    ContestLimits,
    EvaluatorConfig,
    JudgmentConfig,
    Role,
    RunOptions,
    TeamConfig,
)
from contend.models.record import IDENTIFIER_PATTERN, IDENTIFIER_RULE, FunctionName, Identifier, Record
from contend.models.research import SourceName
from contend.parsing import parse_toml

M = TypeVar("M", bound=BaseModel)


def validate(kind: type[M], values: Mapping[str, Any], where: str) -> M:
    """A record made of outside values.

    Raises:
        InputError: one clear line with place, field, value and what is wrong with it.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{where}: {first_fault(error)}") from error


def first_fault(error: ValidationError) -> str:
    """The first fault as one line: field, value, and what would be right."""
    fault = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in fault["loc"]) or "value"
    if fault["type"] == "extra_forbidden":
        return f"unknown key {field!r}; remove it or mend its spelling"
    if fault["type"] == "missing":
        return f"key {field!r} is missing; add it"
    is_identifier = fault.get("ctx", {}).get("pattern") == IDENTIFIER_PATTERN
    message = IDENTIFIER_RULE if is_identifier else fault["msg"].removeprefix("Value error, ")
    value = repr(fault["input"])
    excerpt = value if len(value) <= 60 else f"{value[:57]}…"  # noqa: PLR2004 - one line
    return message if fault["type"] == "value_error" else f"{field} = {excerpt}: {message}"


CONFIG_FILES = (
    "config/orchestrator.toml",
    "config/evaluator.toml",
    "config/judgment.toml",
    "config/models.toml",
    "config/sources.toml",
    "config/prompt_builder.toml",
    "config/sections.yaml",
)


class TeamReference(Record):
    config: Path


class OrchestratorSettings(ContestLimits):
    """`[orchestrator]`: limits of the contest and the teams that may enter."""

    workspace_path: Path | None = None
    teams: list[TeamReference] = Field(min_length=1)


class _OrchestratorFile(Record):
    orchestrator: OrchestratorSettings
    options: RunOptions = Field(default_factory=RunOptions)


class _EvaluatorFile(Record):
    evaluator: EvaluatorConfig

    @model_validator(mode="after")
    def _names_functions(self) -> Self:
        for metric in self.evaluator.metrics:
            if metric.kind == "python" and metric.function is None:
                raise ValueError(f"metrics: {metric.name}: give its `function` as module:function")
        return self


class _JudgmentFile(Record):
    judgment: JudgmentConfig


class ModelPrice(Record):
    """US dollars for a million tokens. `cached_input`: of input that the provider has in a cache; else as all input."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)


class ProviderConfig(Record):
    """`[providers.NAME]`: who answers for models named `NAME/MODEL`.

    `kind` is `openai` for any OpenAI-compatible endpoint, or a provider of LangChain's `init_chat_model`; in place of
    it `function` makes a LangChain chat model of a model's name. `api_key_env` names the variable that holds the key.
    `extra_body` and `headers` go with each call of kind `openai`, and with `stream` its replies come in parts. Limits
    that are left out are those of the process.
    """

    kind: str = "openai"
    function: FunctionName | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    max_calls_in_flight: Annotated[int, Field(ge=1)] | None = None
    call_deadline_seconds: Annotated[float, Field(gt=0)] | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, Annotated[str, Field(pattern=r"^[\x20-\x7e]*$")]] = Field(default_factory=dict)
    stream: bool = False

    @model_validator(mode="after")
    def _of_openai_alone(self) -> Self:
        if (self.kind != "openai" or self.function) and (self.extra_body or self.headers or self.stream):
            raise ValueError("extra_body, headers and stream are of kind openai: set them where the chat model is made")
        return self


class ModelsConfig(Record):
    """`config/models.toml`: the default model of a role, providers, output limits in tokens, temperatures, prices.

    `context` gives the tokens that models can read, by name or pattern; the first pattern that fits holds.
    """

    default: str
    roles: dict[Role, str] = Field(default_factory=dict)
    max_output_tokens: dict[Role, Annotated[int, Field(ge=16)]] = Field(default_factory=dict)
    temperature: dict[Role, Annotated[float, Field(ge=0, le=2)]] = Field(default_factory=dict)
    context: dict[str, Annotated[int, Field(ge=1024, le=100_000_000)]] = Field(default_factory=dict)
    prices: dict[str, ModelPrice] = Field(default_factory=dict)
    providers: dict[Identifier, ProviderConfig] = Field(default_factory=dict)


class SourceConfig(Record):
    """`[sources.NAME]`: one of contend's own by its `kind`, or a `function` of query and limit, `module:function`.

    Of a function or an MCP server: the seconds between two calls, those that a search may take, and whether the pages
    behind its best results are read in full.

    Of an MCP server: its `command` with `args`, or its `url`; the `tool` that searches, and what the tool calls its
    arguments for query and limit. `env` names the variables that the command is given, `token_env` the one with the
    url's bearer token. `results` is the key of the list in the tool's reply, `fields` what it calls a result's parts.
    """

    kind: str | None = None
    function: FunctionName | None = None
    command: str | None = None
    args: list[str] = Field(default_factory=list)
    env: list[str] = Field(default_factory=list)
    url: str | None = None
    token_env: str | None = None
    tool: str | None = None
    query: str = "query"
    limit: str | None = None
    results: str | None = None
    fields: dict[Literal["title", "text", "url", "published_date", "authors", "score"], str] = Field(
        default_factory=dict
    )
    interval_seconds: float = Field(default=0.0, ge=0)
    deadline_seconds: float = Field(default=30.0, gt=0)
    read_pages: bool = False

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.kind and self.function:
            raise ValueError("a source has a kind or a function: leave one of them out")
        if self.kind == "mcp" and (bool(self.command) == bool(self.url) or not self.tool):
            raise ValueError("a source of kind mcp has a tool, and a command or a url")
        if self.kind != "mcp" and (self.command or self.url or self.tool):
            raise ValueError("command, url and tool are of a source of kind mcp")
        return self


class _SourcesFile(Record):
    sources: dict[SourceName, SourceConfig]


class Config(NamedTuple):
    """The TOML files in effect for a workspace: its own, what they leave out from the shipped ones."""

    orchestrator: OrchestratorSettings
    options: RunOptions
    teams: dict[str, TeamConfig]
    evaluator: EvaluatorConfig
    judgment: JudgmentConfig
    models: ModelsConfig
    sources: dict[str, SourceConfig]
    files: dict[str, Path]
    fingerprint: dict[str, str]
    """Eight hex digits of each file's SHA-256 as it was read, by name: what a resume compares."""


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
    orchestrator = _with_shipped_values(files, "config/orchestrator.toml", _OrchestratorFile)
    _check_workspace(folder, files["config/orchestrator.toml"], orchestrator.orchestrator.workspace_path)
    teams: dict[str, TeamConfig] = {}
    for reference in orchestrator.orchestrator.teams:
        name = str(reference.config)
        files[name] = config_file(folder, name)
        team = validate(TeamConfig, read_toml(files[name]), str(files[name]))
        if team.kind == "graph" and not (team.graph or team.url):
            raise InputError(f"{files[name]}: {GRAPH_ENTRY}")
        if team.team_id in teams:
            raise InputError(f"{files[name]}: team_id {team.team_id!r} is taken by another team; choose another")
        teams[team.team_id] = team
    return Config(
        orchestrator=orchestrator.orchestrator,
        options=orchestrator.options,
        teams=teams,
        evaluator=_with_shipped_values(files, "config/evaluator.toml", _EvaluatorFile).evaluator,
        judgment=_with_shipped_values(files, "config/judgment.toml", _JudgmentFile).judgment,
        models=_with_shipped_values(files, "config/models.toml", ModelsConfig),
        sources=_with_shipped_values(files, "config/sources.toml", _SourcesFile).sources,
        files=files,
        fingerprint={name: _digest(path) for name, path in sorted(files.items())},
    )


def read_criteria(folder: Path, name: str) -> CriteriaFile:
    """The criteria that people wrote in a workspace's `criteria/NAME.toml`. Blocking.

    Raises:
        InputError: there is no such file, or it is not usable; names file, key and value.
    """
    path = folder / _criteria_name(name)
    if not path.is_file():
        names = ", ".join(sorted(other.stem for other in path.parent.glob("*.toml"))) or "none yet"
        raise InputError(f"criteria = {name!r}: there is no {path}: write it, or choose one that is there ({names})")
    return validate(CriteriaFile, read_toml(path), str(path))


def criteria_fingerprint(folder: Path, name: str) -> dict[str, str]:
    """Eight hex digits of a criteria file by its name, as in `Config.fingerprint`; empty if there is none. Blocking."""
    path = folder / _criteria_name(name)
    return {_criteria_name(name): _digest(path)} if name and path.is_file() else {}


def _criteria_name(name: str) -> str:
    return f"criteria/{name}.toml"


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:8]


def _check_workspace(folder: Path, path: Path, setting: Path | None) -> None:
    """A workspace may say where it lies, and is found elsewhere where it was moved or copied."""
    if setting is not None and (folder / setting.expanduser()).resolve() != folder.resolve():
        raise InputError(
            f"{path}: orchestrator.workspace_path = {str(setting)!r} is not the workspace in effect, {folder}: "
            "remove the key, or name that folder with --workspace or CONTEND_WORKSPACE"
        )


def _with_shipped_values(files: Mapping[str, Path], name: str, kind: type[M]) -> M:
    """A file; keys that its tables leave out have the shipped file's values, and stand behind its own."""
    values = read_toml(resource(name))
    for key, own in read_toml(files[name]).items():
        default = values.get(key)
        values[key] = {**own, **default, **own} if isinstance(default, dict) and isinstance(own, dict) else own
    return validate(kind, values, str(files[name]))


def read_toml(path: Path) -> dict[str, Any]:
    """Raises: InputError where it is not TOML or cannot be read."""
    try:
        return parse_toml(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


_PACKAGE = Path(__file__).parents[1] / "shipped"
_REPOSITORY = Path(__file__).parents[3]


def resource(name: str) -> Path:
    """The path of a shipped file or folder, such as `prompts` or `config/orchestrator.toml`.

    A wheel holds them inside the package, an editable install reads them from the repository's root.

    Raises:
        FileNotFoundError: nothing of that name is shipped.
    """
    for root in (_PACKAGE, _REPOSITORY):
        path = root / name
        if path.exists():
            return path
    raise FileNotFoundError(f"contend ships no {name!r}: reinstall contend")
