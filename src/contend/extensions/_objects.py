"""What code brings: a source, a metric, something with `evaluate`, a graph as a team; the decorators that make them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from pydantic import TypeAdapter, ValidationError

from contend.errors import InputError
from contend.models.evaluation import MetricContext
from contend.models.options import MetricConfig, TeamConfig
from contend.models.research import SourceName
from contend.registry import takes
from contend.settings.files import SourceConfig, validate
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
_SOURCE_NAME: TypeAdapter[str] = TypeAdapter(SourceName)
_UNNAMED = "LangGraph"
"""What LangGraph calls a compiled graph that got no name."""


@dataclass(frozen=True)
class SourceFunction(Generic[F]):
    """A function that searches, as a source; `contend.source` makes it. Calling it calls the function.

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
                f"source {self.name!r}: {shown(self.function)} is called with a query and the most results to give: "
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
    ConnectionError, is tried again twice; any other error turns the source off for the run. It is called in a thread of
    its own, an async one with an event loop for the call.

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
    """A function that scores reports, as a metric; `contend.metric` makes it. Calling it calls the function.

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
                f"metric {self.name!r}: {shown(self.function)} is called with one argument, a contend.MetricContext: "
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
    takes longer than its timeout, the metric is unscored and the others count. It is called in a thread of its own, an
    async one with an event loop for the call.

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
                f"teams: {shown(self.graph)} has no name: compile it with one, or give "
                'contend.GuestTeam(graph, name="mine")'
            )
        self.config()

    def config(self) -> TeamConfig:
        """What a run keeps of it."""
        values = {"team_id": self.name, "name": self.name, "kind": "graph", "sources": [*self.sources]}
        return validate(TeamConfig, values, f"teams: {self.name!r}")


def _name_of(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def shown(value: object) -> str:
    return getattr(value, "__qualname__", None) or shorten(repr(value), 80)
