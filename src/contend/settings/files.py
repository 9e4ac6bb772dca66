"""The workspace's TOML files; the shipped ones fill what they leave out."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

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
    """A team that may enter."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    config: Path
    """The team's file: `config/teams/NAME.toml` of the workspace, else the shipped one."""


class OrchestratorSettings(ContestLimits):
    """`[orchestrator]`: limits of the contest and the teams that may enter."""

    workspace_path: Path | None = None
    """Where the workspace lies; it is checked, and moves nothing. Left out: not checked."""
    teams: list[TeamReference] = Field(min_length=1)
    """The teams that may enter; with the depth `auto` the first whose sources are on plays first."""


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
    """What a model costs."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    input: float = Field(ge=0)
    """US dollars for a million tokens that it reads."""
    output: float = Field(ge=0)
    """US dollars for a million tokens that it writes."""
    cached_input: float | None = Field(default=None, ge=0)
    """US dollars for a million tokens of input that its provider has in a cache. Left out: as all input."""


class ProviderConfig(Record):
    """`[providers.NAME]`: who answers for models named `NAME/MODEL`.

    `extra_body`, `headers` and `stream` are of kind `openai`.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    kind: str = "openai"
    """`openai` for any OpenAI-compatible endpoint, or a provider of LangChain's `init_chat_model`."""
    function: FunctionName | None = None
    """In place of `kind`: makes a LangChain chat model of a model's name. Left out: none."""
    base_url: str | None = None
    """The endpoint's address. Left out: the provider's own."""
    api_key_env: str | None = None
    """The variable that holds the key. Left out: no key, or what the provider's package reads."""
    max_calls_in_flight: Annotated[int, Field(ge=1)] | None = None
    """Calls at the same time. Left out: `CONTEND_MAX_CALLS_IN_FLIGHT`."""
    call_deadline_seconds: Annotated[float, Field(gt=0)] | None = None
    """Seconds of one call with its retries. Left out: `CONTEND_CALL_DEADLINE_SECONDS`."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Sent in the body of each call. Left out: nothing."""
    headers: dict[str, Annotated[str, Field(pattern=r"^[\x20-\x7e]*$")]] = Field(default_factory=dict)
    """Sent with each call. Left out: none."""
    stream: bool = False
    """Whether replies come in parts."""

    @model_validator(mode="after")
    def _of_openai_alone(self) -> Self:
        if (self.kind != "openai" or self.function) and (self.extra_body or self.headers or self.stream):
            raise ValueError("extra_body, headers and stream are of kind openai: set them where the chat model is made")
        return self


class ModelsConfig(Record):
    """`config/models.toml`: the models of a run, their limits and their prices."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    default: str
    """The model of every role."""
    roles: dict[Role, str] = Field(default_factory=dict)
    """Models of single roles. Left out: `default`."""
    max_output_tokens: dict[Role, Annotated[int, Field(ge=16)]] = Field(default_factory=dict)
    """The longest reply of a role, in tokens."""
    temperature: dict[Role, Annotated[float, Field(ge=0, le=2)]] = Field(default_factory=dict)
    """How freely a role's replies are drawn: 0 for the likeliest one."""
    context: dict[str, Annotated[int, Field(ge=1024, le=100_000_000)]] = Field(default_factory=dict)
    """Tokens that a model can read, by its name or a pattern (`*`); the first pattern that fits holds."""
    prices: dict[str, ModelPrice] = Field(default_factory=dict)
    """Prices by a model's name. Left out: the cost is unknown, and `max_usd` refuses the model."""
    providers: dict[Identifier, ProviderConfig] = Field(default_factory=dict)
    """Further endpoints: their models are named `NAME/MODEL`. Left out: none."""


class SourceConfig(Record):
    """`[sources.NAME]`: one of contend's own, a function of yours, or an MCP server."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    kind: str | None = None
    """`local`, `arxiv`, `tavily` or `mcp`. Left out: a `function`."""
    function: FunctionName | None = None
    """A function of query and limit, in a Python file of the workspace. Left out: none."""
    command: str | None = None
    """MCP: the program that is started. Left out: none."""
    args: list[str] = Field(default_factory=list)
    """MCP: the program's arguments. Left out: none."""
    env: list[str] = Field(default_factory=list)
    """MCP: variables that the program is given, beside PATH and HOME. Left out: none."""
    url: str | None = None
    """MCP: the server's address. Left out: none."""
    token_env: str | None = None
    """MCP: the variable that holds the address's bearer token. Left out: no token."""
    tool: str | None = None
    """MCP: the tool that searches. Left out: none."""
    query: str = "query"
    """MCP: the tool's argument for the words."""
    limit: str | None = None
    """MCP: the tool's argument for the number of results. Left out: it has none."""
    results: str | None = None
    """MCP: the key of the list in the tool's reply. Left out: the first list."""
    fields: dict[Literal["title", "text", "url", "published_date", "authors", "score"], str] = Field(
        default_factory=dict
    )
    """MCP: what the tool calls the parts of a result. Left out: the same names."""
    interval_seconds: float = Field(default=0.0, ge=0)
    """Function, MCP: seconds between two calls."""
    deadline_seconds: float = Field(default=30.0, gt=0)
    """Function, MCP: seconds that a search may take."""
    read_pages: bool = False
    """Function, MCP: whether the pages behind the best results are read in full."""

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
