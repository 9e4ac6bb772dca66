"""How objects join a workspace's config and a run's options, and what a TOML file names as `module:attribute`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from contend.errors import InputError
from contend.extensions._objects import Evaluator, GuestTeam, MetricFunction, SourceFunction, shown
from contend.models.evaluation import CODE_METRIC_NAMES
from contend.models.options import WEIGHT_TOLERANCE, EvaluatorConfig, RunOptions, TeamConfig
from contend.settings.files import Config, SourceConfig, validate

if TYPE_CHECKING:
    from langgraph.graph import StateGraph
    from langgraph.pregel.protocol import PregelProtocol

GIVE_AGAIN = "give it to contend.run or contend.resume, or name it in the workspace's config"
"""What to do about an object that a run has by name alone."""

T = TypeVar("T", SourceFunction[Any], MetricFunction[Any], GuestTeam)

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
        """The objects of both; `others` win where names are the same."""
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
    """A caller's options, which name the objects, and the objects."""

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
    """The metric that a caller gave: made by `contend.metric`, or any object with `evaluate(context)`.

    A `name` says that a file names it; a plain function is then a metric, too.
    """
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
        f"{shown(value)} is no metric: decorate a function with @contend.metric, or give an object with "
        "`evaluate(context)`"
    )


def _as_source(value: object) -> SourceFunction[Any]:
    if isinstance(value, SourceFunction):
        return value
    raise InputError(f"sources: {shown(value)} is no source: decorate a function with @contend.source")


def _as_team(value: object) -> GuestTeam:
    from langgraph.graph import StateGraph  # noqa: PLC0415 - heavy, and an object's module need not load it
    from langgraph.pregel.protocol import PregelProtocol  # noqa: PLC0415 - the same

    if isinstance(value, GuestTeam):
        return value
    if isinstance(value, PregelProtocol | StateGraph):
        return GuestTeam(value)
    raise InputError(
        f"teams: {shown(value)} is no team: give a team's id, a LangGraph graph, or contend.GuestTeam(graph, name=…)"
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
    if taken > 1 + WEIGHT_TOLERANCE:
        raise InputError(f"metrics: the weights of your own sum to {taken:g}: at most 1")
    left = max(0.0, 1 - taken)
    others = [each.model_copy(update={"weight": weights[each.name] * left}) for each in evaluator.metrics]
    values = {**evaluator.model_dump(), "metrics": [each.model_dump() for each in [*others, *own]]}
    return validate(EvaluatorConfig, values, "metrics")
