"""Sources, metrics and teams of one's own as objects: what `contend.source` and `contend.metric` make, and guest teams.

What a TOML file names as `module:attribute` takes the same shapes.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, overload

from pydantic import TypeAdapter, ValidationError

from contend.errors import InputError
from contend.models.evaluation import CODE_METRIC_NAMES, MetricContext
from contend.models.options import EvaluatorConfig, MetricConfig, RunOptions, TeamConfig
from contend.models.research import SourceName
from contend.registry import takes
from contend.settings.files import Config, SourceConfig, validate
from contend.text import shorten

if TYPE_CHECKING:
    from langgraph.graph import StateGraph
    from langgraph.pregel.protocol import PregelProtocol

Found = Sequence[Mapping[str, object]]
"""What a source finds: a dict for each result, best first."""
Measured = float | tuple[float, str]
"""A score from 0 to 1, or a score and its reason."""
F = TypeVar("F", bound=Found | Awaitable[Found])
M = TypeVar("M", bound=Measured | Awaitable[Measured])
T = TypeVar("T", "SourceFunction[Any]", "MetricFunction[Any]", "GuestTeam")
_SOURCE_NAME: TypeAdapter[str] = TypeAdapter(SourceName)
GIVE_AGAIN = "give it to contend.run or contend.resume, or name it in the workspace's config"
"""What to do about an object that a run has by name alone."""

_TOLERANCE = 0.001
_UNNAMED = "LangGraph"
"""What LangGraph calls a compiled graph that got no name."""


@dataclass(frozen=True)
class SourceFunction(Generic[F]):
    """A function that searches, as a source; `contend.source` makes it. Called, it is its function.

    `name`: 1 to 32 lower-case letters, digits, `_` or `-`, a letter first. `interval_seconds`: between two calls, 0 or
    more. `deadline_seconds`: for a search with its retries, above 0. `read_pages`: its texts are summaries, and the
    pages behind the best are read in full.

    Raises:
        InputError: a value is not usable, or the function does not take a query and a limit.
    """

    name: str
    function: Callable[[str, int], F]
    interval_seconds: float = 0.0
    deadline_seconds: float = 30.0
    read_pages: bool = False

    def __post_init__(self) -> None:
        try:
            _SOURCE_NAME.validate_python(self.name)
        except ValidationError as error:
            rule = "use 1 to 32 lower-case letters, digits, '_' or '-', a letter first"
            raise InputError(f"source {self.name!r}: {rule}") from error
        names = ("interval_seconds", "deadline_seconds", "read_pages")
        validate(SourceConfig, {name: getattr(self, name) for name in names}, f"source {self.name!r}")
        if not callable(self.function) or not takes(self.function, "", 1):
            raise InputError(
                f"source {self.name!r}: {_shown(self.function)} is called with a query and the most results to give: "
                "let it take these two arguments"
            )

    def __call__(self, query: str, limit: int) -> F:
        """What the function returns."""
        return self.function(query, limit)


@overload
def source(function: Callable[[str, int], F], /) -> SourceFunction[F]: ...


@overload
def source(
    *,
    name: str | None = None,
    interval_seconds: float = 0.0,
    deadline_seconds: float = 30.0,
    read_pages: bool = False,
) -> Callable[[Callable[[str, int], F]], SourceFunction[F]]: ...


def source(
    function: Callable[[str, int], F] | None = None, /, *, name: str | None = None, **how: Any
) -> SourceFunction[F] | Callable[[Callable[[str, int], F]], SourceFunction[F]]:
    """Make a source of a function, plain or async, with or without arguments: `contend.run(…, sources=[wiki])`.

    The function takes a query and the most results to give, and returns a list of dicts, best first: `title`, `text`,
    `url`, and where known `published_date` (YYYY-MM-DD), `authors` (a list) and `score` (0 to 1). An OSError, such as a
    ConnectionError, is tried again twice; any other error turns the source off for the run.

    `name`: the function's, if left out. The other arguments are those of `SourceFunction`.

    Raises:
        InputError: as `SourceFunction`.

    Example:
        @contend.source(name="wiki", interval_seconds=1)
        async def wiki(query: str, limit: int) -> list[dict[str, str]]:
            return [{"title": "Wind", "text": "A bridge hums in steady wind.", "url": "https://wiki.example.org/wind"}]
    """

    def decorate(decorated: Callable[[str, int], F]) -> SourceFunction[F]:
        return SourceFunction(name or _name_of(decorated), decorated, **how)

    return decorate if function is None else decorate(function)


class Evaluator(Protocol):
    """A metric as an object: anything with `evaluate`, plain or async, such as a dataclass with its settings.

    Its metric has the name of its class, unless it has a `name`; it may have a `weight` and `timeout_seconds`, as a
    `MetricFunction`.
    """

    def evaluate(self, context: MetricContext, /) -> Measured | Awaitable[Measured]:
        """The score of a report, 0 to 1, or the score and its reason. What it raises leaves the metric unscored."""
        ...


@dataclass(frozen=True)
class MetricFunction(Generic[M]):
    """A function that scores reports, as a metric; `contend.metric` makes it. Called, it is its function.

    `name`: 1 to 64 letters, digits, `_` or `-`. `weight`: its share of the score, 0 to 1, which the other metrics cede
    in proportion; left out, an equal share. An entry in `config/evaluator.toml` has a weight of its own.
    `timeout_seconds`: above 0, at most 600.

    Raises:
        InputError: a value is not usable, or the function does not take one argument.
    """

    name: str
    function: Callable[[MetricContext], M]
    weight: float | None = None
    timeout_seconds: float = 30.0

    def __post_init__(self) -> None:
        validate(MetricConfig, self._values(), f"metric {self.name!r}")
        if not callable(self.function) or not takes(self.function, object()):
            raise InputError(
                f"metric {self.name!r}: {_shown(self.function)} is called with one argument, a contend.MetricContext: "
                "let it take one"
            )

    def __call__(self, context: MetricContext) -> M:
        """What the function returns."""
        return self.function(context)

    def config(self, weight: float) -> MetricConfig:
        """What a run keeps of it."""
        return MetricConfig.model_validate({**self._values(), "weight": weight})

    def _values(self) -> dict[str, Any]:
        names = ("name", "weight", "timeout_seconds")
        return {"kind": "python", **{name: getattr(self, name) for name in names}}


@overload
def metric(function: Callable[[MetricContext], M], /) -> MetricFunction[M]: ...


@overload
def metric(
    *, name: str | None = None, weight: float | None = None, timeout_seconds: float = 30.0
) -> Callable[[Callable[[MetricContext], M]], MetricFunction[M]]: ...


def metric(
    function: Callable[[MetricContext], M] | None = None, /, *, name: str | None = None, **how: Any
) -> MetricFunction[M] | Callable[[Callable[[MetricContext], M]], MetricFunction[M]]:
    """Make a metric of a function, plain or async, with or without arguments: `contend.run(…, metrics=[short])`.

    The function takes a `MetricContext` and returns a score from 0 to 1, or the score and its reason. If it raises, or
    takes longer than its timeout, the metric is unscored and the others count.

    `name`: the function's, if left out. The other arguments are those of `MetricFunction`.

    Raises:
        InputError: as `MetricFunction`.

    Example:
        @contend.metric(name="short", weight=0.1)
        def short(context: contend.MetricContext) -> tuple[float, str]:
            words = len(context.report.split())
            return min(1.0, 800 / words), f"{words} words"
    """

    def decorate(decorated: Callable[[MetricContext], M]) -> MetricFunction[M]:
        return MetricFunction(name or _name_of(decorated), decorated, **how)

    return decorate if function is None else decorate(function)


@dataclass(frozen=True)
class GuestTeam:
    """A LangGraph graph as a team: `contend.run(…, teams=["archivist", GuestTeam(graph, name="mine")])`.

    `graph`: compiled, a `StateGraph`, or a function without arguments that makes one, plain or async. It takes
    `messages`, `question` or `theme`, and leaves its report as `report`, as `structured_response`, or as its last
    message. `name`: 1 to 64 letters, digits, `_` or `-`, unlike any other team's; left out, the compiled graph's.
    `sources`: the names of those that `contend.tools` search for it; left out, all that the run uses.
    """

    graph: "PregelProtocol[Any, Any, Any, Any] | StateGraph[Any, Any, Any, Any] | Callable[[], Any]"
    name: str = ""
    sources: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.name:
            name = getattr(self.graph, "name", _UNNAMED)
            object.__setattr__(self, "name", "" if name == _UNNAMED else name)
        if not self.name:
            raise InputError(
                f"teams: {_shown(self.graph)} has no name: compile it with one, or give "
                'contend.GuestTeam(graph, name="mine")'
            )
        self.config()

    def config(self) -> TeamConfig:
        """What a run keeps of it."""
        values = {"team_id": self.name, "name": self.name, "kind": "graph", "sources": [*self.sources]}
        return validate(TeamConfig, values, f"teams: {self.name!r}")


Sources = Sequence[str | SourceFunction[Any]]
Metrics = Sequence[MetricFunction[Any] | Evaluator]
Teams = Sequence["str | PregelProtocol[Any, Any, Any, Any] | StateGraph[Any, Any, Any, Any] | GuestTeam"]


@dataclass(frozen=True)
class Extensions:
    """The sources, metrics and teams that a caller brings as objects, by name."""

    sources: Mapping[str, SourceFunction[Any]] = field(default_factory=dict)
    metrics: Mapping[str, MetricFunction[Any]] = field(default_factory=dict)
    teams: Mapping[str, GuestTeam] = field(default_factory=dict)

    @classmethod
    def of(cls, sources: Sources | None = (), metrics: Metrics = (), teams: Teams | None = ()) -> "Extensions":
        """The objects of these lists, without the names that stand among them.

        Raises:
            InputError: an entry is no source, metric or team, or two have one name.
        """
        for what, values in (("sources", sources), ("metrics", metrics), ("teams", teams)):
            if isinstance(values, str):
                raise InputError(f"{what}: {values!r} is a text: give a list")
        return cls(
            _by_name("sources", map(_as_source, _without_names(sources))),
            _by_name("metrics", map(_as_metric, metrics)),
            _by_name("teams", map(_as_team, _without_names(teams))),
        )

    def __or__(self, others: "Extensions") -> "Extensions":
        """Both; of two objects of one name the other's."""
        return Extensions(
            {**self.sources, **others.sources}, {**self.metrics, **others.metrics}, {**self.teams, **others.teams}
        )

    def add_to(self, config: Config) -> Config:
        """The workspace's config with the teams, and with the sources first among those that its teams search.

        Raises:
            InputError: a name belongs to another source, metric or team.
        """
        metrics = [*CODE_METRIC_NAMES, *(each.name for each in config.evaluator.metrics)]
        taken = {"sources": config.sources, "metrics": metrics, "teams": config.teams}
        for what, names in taken.items():
            if twice := [name for name in getattr(self, what) if name in names]:
                raise InputError(
                    f"{what}: {twice[0]!r} is the name of one that contend or this workspace has: choose another, or "
                    "leave the object out"
                )
        teams = {name: _searching(team, [*self.sources]) for name, team in config.teams.items()}
        return config._replace(teams=teams | {name: guest.config() for name, guest in self.teams.items()})


class RunRequest(NamedTuple):
    """A caller's options, which name his objects, and these objects."""

    options: RunOptions
    extensions: Extensions


def run_request(
    options: RunOptions | None, *, sources: Sources | None = None, metrics: Metrics = (), teams: Teams | None = None
) -> RunRequest:
    """What a caller asks for. `sources` and `teams` are the options of these names, with objects among the names.

    Raises:
        InputError: as `Extensions.of`, or an option is given twice.
    """
    extensions, options = Extensions.of(sources, metrics, teams), options or RunOptions()
    names: dict[str, list[str]] = {}
    if sources is not None:
        names["sources"] = [each if isinstance(each, str) else each.name for each in sources]
    if teams is not None:
        names["teams"] = [each if isinstance(each, str) else _as_team(each).name for each in teams]
    if twice := [what for what in names if getattr(options, what) is not None]:
        raise InputError(f"{twice[0]}: given in `options` and as an argument: give one of the two")
    return RunRequest(options.model_copy(update=names), extensions)


def source_in_file(value: object, name: str, entry: SourceConfig) -> SourceFunction[Any]:
    """What an entry of `config/sources.toml` names as its `function`; what the entry sets holds.

    Raises:
        InputError: it is no function of a query and a limit.
    """
    values = {"interval_seconds", "deadline_seconds", "read_pages"} & entry.model_fields_set
    settings = {each: getattr(entry, each) for each in values}
    if isinstance(value, SourceFunction):
        return replace(value, name=name, **settings)
    try:
        return SourceFunction(name, value, **settings)  # type: ignore[arg-type]  # checked there
    except InputError as error:
        raise InputError(f"config/sources.toml: function {entry.function!r}: {error}") from error


def metric_in_file(value: object, name: str, function: str) -> MetricFunction[Any]:
    """What an entry of `config/evaluator.toml` names as its `function`.

    Raises:
        InputError: it is no metric and no function of one argument.
    """
    try:
        return _as_metric(value, name=name)
    except InputError as error:
        raise InputError(f"evaluator.metrics: function {function!r}: {error}") from error


def _as_metric(value: object, *, name: str = "") -> MetricFunction[Any]:
    """A metric of what stands for one: made by `contend.metric`, or with `evaluate`; with `name`, also a function."""
    if isinstance(value, MetricFunction):
        return replace(value, name=name or value.name)
    if isinstance(value, type):
        raise InputError(f"{value.__name__} is a class: give an instance, such as {value.__name__}()")
    if evaluate := getattr(value, "evaluate", None):
        own = {key: getattr(value, key) for key in ("weight", "timeout_seconds") if hasattr(value, key)}
        return MetricFunction(name or getattr(value, "name", type(value).__name__), evaluate, **own)
    if name and callable(value):
        return MetricFunction(name, value)
    raise InputError(
        f"{_shown(value)} is no metric: decorate a function with @contend.metric, or give an object with "
        "`evaluate(context)`"
    )


def _as_source(value: object) -> SourceFunction[Any]:
    if isinstance(value, SourceFunction):
        return value
    raise InputError(f"sources: {_shown(value)} is no source: decorate a function with @contend.source")


def _as_team(value: object) -> GuestTeam:
    from langgraph.graph import StateGraph  # noqa: PLC0415 - heavy, and an object's module need not load it
    from langgraph.pregel.protocol import PregelProtocol  # noqa: PLC0415 - the same

    if isinstance(value, GuestTeam):
        return value
    if isinstance(value, PregelProtocol | StateGraph):
        return GuestTeam(value)
    raise InputError(
        f"teams: {_shown(value)} is no team: give a team's id, a LangGraph graph, or contend.GuestTeam(graph, name=…)"
    )


def _without_names(values: Sequence[object] | None) -> list[object]:
    return [each for each in values or () if not isinstance(each, str)]


def _by_name(what: str, values: Iterable[T]) -> dict[str, T]:
    by_name: dict[str, T] = {}
    for value in values:
        if value.name in by_name:
            raise InputError(f"{what}: two are named {value.name!r}: rename one")
        by_name[value.name] = value
    return by_name


def _searching(team: TeamConfig, sources: Sequence[str]) -> TeamConfig:
    """A team that also searches these sources, first; one that only shows passages of documents does not."""
    if not team.sources or team.kind == "search":
        return team
    return team.model_copy(update={"sources": [*sources, *team.sources]})


def with_metrics(evaluator: EvaluatorConfig, metrics: Sequence[MetricFunction[Any]]) -> EvaluatorConfig:
    """The metrics of a run and others besides, to which they cede their weight in proportion.

    Raises:
        InputError: the others' weights sum to over 1, or there are over 20 metrics.
    """
    if not metrics:
        return evaluator
    share, weights = 1 / (len(metrics) + len(evaluator.metrics)), evaluator.weights()
    own = [each.config(share if each.weight is None else each.weight) for each in metrics]
    taken = sum(each.weight or 0.0 for each in own)
    if taken > 1 + _TOLERANCE:
        raise InputError(f"metrics: the weights of your own sum to {taken:g}: at most 1")
    left = max(0.0, 1 - taken)
    others = [each.model_copy(update={"weight": weights[each.name] * left}) for each in evaluator.metrics]
    values = {**evaluator.model_dump(), "metrics": [each.model_dump() for each in [*others, *own]]}
    return validate(EvaluatorConfig, values, "metrics")


def _name_of(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _shown(value: object) -> str:
    return getattr(value, "__qualname__", None) or shorten(repr(value), 80)
