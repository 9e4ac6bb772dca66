"""Sources, metrics and teams that code brings as objects: used, named in the record, found again by a resume."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

import contend
from contend.app import RunOutcome
from contend.errors import InputError
from contend.models.events import AnyEvent, RoundScored, RunStarted, SearchDone
from contend.services import Services
from contend.tools import search
from fakes.contests import Contest, write_workspace
from fakes.own_graphs import QUESTION, REPORT
from fakes.vendors import Vendors

RESUMING = {
    "title": "Resuming of runs",
    "text": "A run that was killed is resumed from its last checkpoint, and finished calls are not repeated.",
    "url": "https://standards.example/resume",
    "published_date": "2026-03-01",
}


@contend.source
def standards(_query: str, limit: int) -> list[dict[str, str]]:
    return [RESUMING][:limit]


@contend.source(name="standards", deadline_seconds=5)
async def standards_async(_query: str, limit: int) -> list[dict[str, str]]:
    return [RESUMING][:limit]


@contend.metric(name="short", weight=0.25)
async def short(context: contend.MetricContext) -> tuple[float, str]:
    return 0.5, f"{len(context.report.split())} words"


@dataclass
class CitesOnly:
    """The share of cited statements that cite nothing but one address."""

    address: str
    name: str = "cites_only"

    async def evaluate(self, context: contend.MetricContext) -> tuple[float, str]:
        cited = [context.cited_by(each) for each in context.statements if each.passages]
        good = [passages for passages in cited if all(each.url == self.address and each.text for each in passages)]
        return len(good) / len(cited), f"{context.question}: {len(good)} of {len(cited)}"


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]


def graph(name: str | None = "mine", *, answer: Callable[..., Any] | None = None) -> Any:  # noqa: ANN401 - a compiled graph
    def write(_state: State) -> State:
        return {"messages": [AIMessage(REPORT)]}

    builder = StateGraph(State)
    builder.add_node("answer", answer or write)
    builder.add_edge(START, "answer")
    return builder.compile(name=name)


class Runs:
    """Runs of one workspace with objects; each call opens services of its own, as a new process would, unless given."""

    def __init__(self, contest: Contest) -> None:
        self.contest = contest
        self.events: list[AnyEvent] = []
        self.opened: list[Services] = []

    def services(self) -> Services:
        """Closed when the test ends."""
        self.opened.append(self.contest.services())
        return self.opened[-1]

    async def run(
        self,
        *,
        services: Services | None = None,
        options: dict[str, Any] | None = None,
        **objects: Any,  # noqa: ANN401 - as `contend.run` has them
    ) -> RunOutcome:
        values = {"documents": [str(self.contest.documents)], "max_rounds": 1, "learn": False, **(options or {})}
        return await contend.run(
            QUESTION,
            thread_id="own",
            options=contend.RunOptions.model_validate(values),
            services=services or self.services(),
            on_event=self.events.append,
            **objects,
        )

    async def resume(self, **how: Any) -> RunOutcome:  # noqa: ANN401 - as `contend.resume` has them
        return await contend.resume("own", "approve", services=self.services(), on_event=self.events.append, **how)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
async def runs(workspace: Path, documents: Path, vendors: Vendors) -> AsyncIterator[Runs]:
    write_workspace(workspace, ("alpha",))
    runs = Runs(Contest(workspace, documents, vendors.base_url))
    yield runs
    for services in runs.opened:
        await services.aclose()


@pytest.mark.parametrize("own", [standards, standards_async], ids=["plain", "async"])
async def test_every_team_searches_a_source_of_code_and_cites_what_it_found(runs: Runs, own: Any) -> None:  # noqa: ANN401 - a source
    outcome = await runs.run(sources=[own])

    assert outcome.status == "completed", outcome.message
    assert outcome.report is not None
    assert [source.url for source in outcome.report.sources] == [RESUMING["url"]]
    assert [event.sources for event in runs.of(RunStarted)] == [["standards"]]


async def test_sources_of_code_stand_among_names(runs: Runs) -> None:
    await runs.run(sources=["local", standards])

    assert [event.sources for event in runs.of(RunStarted)] == [["local", "standards"]]
    assert {event.source for event in runs.of(SearchDone)} == {"local", "standards"}


async def test_metrics_of_code_weigh_in_and_the_others_cede_their_weight(runs: Runs) -> None:
    await runs.run(sources=[standards], metrics=[short, CitesOnly(RESUMING["url"])])

    (row,) = runs.of(RoundScored)
    by_name = {metric.name: metric for metric in row.metrics}
    others = [each for each in by_name.values() if each.weight and each.name not in {"short", "cites_only"}]
    assert by_name["short"].score == 0.5
    assert by_name["short"].reason.endswith(" words")
    assert by_name["cites_only"].score == 1.0
    assert by_name["cites_only"].reason.startswith(QUESTION)
    assert (by_name["short"].weight, by_name["cites_only"].weight) == (0.25, pytest.approx(1 / (len(others) + 2)))
    assert sum(each.weight for each in by_name.values()) == pytest.approx(1.0)


async def test_a_metric_of_code_that_raises_is_unscored_and_the_others_count(runs: Runs) -> None:
    @contend.metric
    def broken(_context: contend.MetricContext) -> float:
        raise ValueError("no such word")

    await runs.run(sources=["local"], metrics=[broken])

    (row,) = runs.of(RoundScored)
    (metric,) = [each for each in row.metrics if each.name == "broken"]
    assert (metric.score, row.score is None) == (None, False)
    assert "ValueError: no such word" in metric.reason


async def test_a_graph_plays_as_a_team_under_its_own_name(runs: Runs) -> None:
    outcome = await runs.run(sources=["local"], teams=["alpha", graph()])

    assert outcome.status == "completed", outcome.message
    assert outcome.summary is not None
    assert {team.team_id for team in outcome.summary.team_results} == {"alpha", "mine"}
    assert sorted(event.team_id for event in runs.of(RoundScored)) == ["alpha", "mine"]


async def test_a_graph_gets_a_name_where_it_has_none_and_searches_what_the_run_uses(runs: Runs) -> None:
    found: list[str] = []

    async def answer(_state: State) -> State:
        found.append(await search.ainvoke({"query": "resume after a kill"}))
        return {"messages": [AIMessage(REPORT)]}

    await runs.run(sources=["local", standards], teams=[contend.GuestTeam(graph(None, answer=answer), name="guest")])

    assert [event.team_id for event in runs.of(RoundScored)] == ["guest"]
    assert RESUMING["text"] in found[0]
    assert "resume.md" in found[0]


WAITS = {"approve": ["report"]}
THREAD: Any = {"configurable": {"thread_id": "own"}}


async def test_a_resume_finds_the_objects_by_name_when_they_are_given_again(runs: Runs) -> None:
    objects = {"sources": ["local", standards], "metrics": [short], "teams": ["alpha", graph()]}
    waiting = await runs.run(options=WAITS, **objects)

    outcome = await runs.resume(**objects)

    assert waiting.questions
    assert outcome.status == "completed", outcome.message


async def test_a_resume_without_them_names_what_is_missing_and_spends_nothing(runs: Runs, vendors: Vendors) -> None:
    await runs.run(options=WAITS, sources=[standards], metrics=[short], teams=["alpha", graph()])
    calls = len(vendors.calls)

    missing = "needs sources standards; metrics short; teams mine, which are not here: give these objects to"
    with pytest.raises(InputError, match=missing):
        await runs.resume(force=True)
    with pytest.raises(InputError, match="its run needs metrics short, which are not here"):
        await runs.resume(sources=[standards], teams=[graph()])

    assert len(vendors.calls) == calls
    assert (await runs.resume(sources=[standards], metrics=[short], teams=[graph()])).status == "completed"


async def test_a_run_that_was_not_opened_yet_asks_for_its_objects_too(runs: Runs) -> None:
    options = contend.RunOptions(sources=["standards"], teams=["mine"], max_rounds=1, learn=False)
    begun = {"theme": QUESTION, "run_options": options.model_dump(mode="json", exclude_none=True)}
    await contend.build_graph("contend", runs.services()).aupdate_state(THREAD, begun, as_node="__start__")

    with pytest.raises(InputError, match="its run needs sources standards; teams mine, which are not here"):
        await runs.resume()


@pytest.mark.parametrize("name", ["team", "research"])
async def test_a_part_of_the_contest_that_goes_on_by_itself_asks_for_its_objects(runs: Runs, name: Any) -> None:  # noqa: ANN401 - a GraphName
    own = contend.build_graph(name, runs.services(), sources=[standards], metrics=[short])
    await own.ainvoke({"theme": QUESTION}, THREAD, context={"sources": ["standards"], "approve": ["plan"]})

    without = contend.build_graph(name, runs.services())
    with pytest.raises(InputError, match="its run needs sources standards; metrics short, which are"):
        await without.ainvoke(Command(resume="approve"), THREAD)

    state = await own.ainvoke(Command(resume="approve"), THREAD)
    assert RESUMING["url"] in state["messages"][-1].text


IN_FILES = """import contend
from dataclasses import dataclass


@contend.source(name="another", deadline_seconds=7, interval_seconds=1)
def found(query, limit):
    return []


@dataclass
class Fixed:
    score: float
    timeout_seconds: float = 9

    def evaluate(self, context):
        return self.score


fixed = Fixed(0.75)
"""


def write_files(workspace: Path) -> None:
    (workspace / "own.py").write_text(IN_FILES, "utf-8")
    (workspace / "config" / "sources.toml").write_text(
        '[sources.standards]\nfunction = "own:found"\ninterval_seconds = 2\n', "utf-8"
    )
    (workspace / "config" / "evaluator.toml").write_text(
        '[[evaluator.metrics]]\nname = "coverage"\n\n[[evaluator.metrics]]\nname = "short"\nfunction = "own:fixed"\n',
        "utf-8",
    )


async def test_a_resume_finds_them_in_config_that_names_them_by_now(runs: Runs) -> None:
    await runs.run(options=WAITS, sources=["local", standards], metrics=[short])
    write_files(runs.contest.workspace)

    outcome = await runs.resume(force=True)

    assert outcome.status == "completed", outcome.message


async def test_config_names_objects_as_it_names_functions(runs: Runs) -> None:
    write_files(runs.contest.workspace)
    services = runs.services()

    await runs.run(services=services, options={"sources": ["local"]})

    (row,) = runs.of(RoundScored)
    source = services.sources.get("standards", [])
    assert {metric.name: metric.score for metric in row.metrics}["short"] == 0.75
    assert (source._own.name, source._own.deadline_seconds, source._own.interval_seconds) == ("standards", 7, 2)


async def test_objects_of_one_run_are_unknown_to_others_of_the_same_services(runs: Runs) -> None:
    services = runs.services()
    await runs.run(services=services, sources=[standards])

    with pytest.raises(InputError, match="no source 'standards'"):
        await contend.run(QUESTION, options=contend.RunOptions(sources=["standards"]), services=services)


async def test_a_dry_run_knows_them_by_name(runs: Runs, vendors: Vendors) -> None:
    services = runs.services()
    dry = await contend.dry_run(QUESTION, sources=[standards], teams=["alpha", graph()], services=services)

    assert (dry.summary()["teams"], dry.summary()["sources"]) == (["alpha", "mine"], ["standards"])
    assert vendors.prompts() == []


async def test_a_graph_built_with_objects_uses_what_its_options_name(runs: Runs) -> None:
    own = contend.build_graph("contend", runs.services(), sources=[standards], teams=[graph()])
    options = contend.RunOptions(sources=["standards"], teams=["mine"], max_rounds=1, learn=False)

    state = await own.ainvoke({"theme": QUESTION}, context=options)

    assert state["status"] == "completed", state["message"]
    assert [team.team_id for team in own.services.config.teams.values()] == ["alpha", "mine"]


@pytest.mark.parametrize("objects", [{"sources": ["local", standards]}, {"metrics": [short]}], ids=["source", "metric"])
async def test_a_search_without_a_model_passes_no_object_by(runs: Runs, objects: dict[str, Any]) -> None:
    runs.contest.base_url = None

    with pytest.raises(InputError, match=r"(standards|short): only teams with a language model search sources of your"):
        await runs.run(**objects)


async def test_services_of_a_graph_with_objects_take_others_besides(runs: Runs) -> None:
    own = contend.build_graph("contend", runs.services(), sources=[standards])

    await runs.run(services=own.services, sources=[standards, "local"], metrics=[short])

    (row,) = runs.of(RoundScored)
    assert [event.sources for event in runs.of(RunStarted)] == [["standards", "local"]]
    assert "short" in [metric.name for metric in row.metrics]


@contend.metric
def coverage(_context: contend.MetricContext) -> float:
    return 1.0


@contend.source
def arxiv(_query: str, _limit: int) -> list[dict[str, str]]:
    return []


def one_argument(_query: str) -> list[dict[str, str]]:
    return []


WITHOUT_NAME = "teams: .* has no name: compile it with one, or give contend.GuestTeam"
UNFIT: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "a source of too few arguments": (
        lambda: {"sources": [contend.source(one_argument)]},  # type: ignore[call-overload]  # what is tested
        "source 'one_argument': one_argument is called with a query and the most results to give",
    ),
    "a source's name": (
        lambda: {"sources": [contend.source(name="My Wiki")(standards.function)]},
        "source 'My Wiki': use 1 to 32 lower-case letters",
    ),
    "a source's deadline": (
        lambda: {"sources": [contend.source(deadline_seconds=0)(standards.function)]},
        "source 'standards': deadline_seconds = 0",
    ),
    "a metric of no arguments": (
        lambda: {"metrics": [contend.metric(name="constant")(lambda: 1.0)]},  # type: ignore[arg-type, misc]  # what is tested
        "is called with one argument, a contend.MetricContext",
    ),
    "a metric's weight": (
        lambda: {"metrics": [contend.metric(weight=1.5)(short.function)]},
        "metric 'short': weight = 1.5",
    ),
    "weights over 1": (
        lambda: {"metrics": [contend.metric(name=name, weight=0.6)(short.function) for name in ("one", "two")]},
        "metrics: the weights of your own sum to 1.2: at most 1",
    ),
    "a class": (lambda: {"metrics": [CitesOnly]}, r"CitesOnly is a class: give an instance, such as CitesOnly\(\)"),
    "a function that is no metric": (
        lambda: {"metrics": [one_argument]},
        "one_argument is no metric: decorate a function with @contend.metric",
    ),
    "a function that is no source": (
        lambda: {"sources": [one_argument]},
        "sources: one_argument is no source: decorate a function with @contend.source",
    ),
    "no graph": (lambda: {"teams": ["alpha", 7]}, "teams: 7 is no team: give a team's id, a LangGraph graph, or"),
    "a graph without a name": (lambda: {"teams": [graph(None)]}, WITHOUT_NAME),
    "a graph's name": (
        lambda: {"teams": [graph("my agent")]},
        "team_id = 'my agent': use 1 to 64 letters",
    ),
    "what makes no graph": (
        lambda: {"teams": [contend.GuestTeam(lambda: 7, name="mine")]},
        "team mine: its graph is a int: name a LangGraph graph",
    ),
    "a text for a list": (lambda: {"teams": "alpha"}, "teams: 'alpha' is a text: give a list"),
    "two of one name": (lambda: {"sources": [standards, standards_async]}, "sources: two are named 'standards'"),
    "a source of contend's": (lambda: {"sources": [arxiv]}, "sources: 'arxiv' is the name of one that contend or"),
    "a metric of contend's": (lambda: {"metrics": [coverage]}, "metrics: 'coverage' is the name of one that contend"),
    "a team of the workspace": (lambda: {"teams": [graph("alpha")]}, "teams: 'alpha' is the name of one that contend"),
    "sources that options name, too": (
        lambda: {"sources": [standards], "options": {"sources": ["local"]}},
        "sources: given in `options` and as an argument: give one of the two",
    ),
}


@pytest.mark.parametrize("unfit", UNFIT)
async def test_what_cannot_be_used_is_refused_before_anything_is_spent(
    runs: Runs, vendors: Vendors, unfit: str
) -> None:
    objects, message = UNFIT[unfit]

    with pytest.raises(InputError, match=message):
        await runs.run(**objects())

    assert vendors.calls == []
    assert not (runs.contest.workspace / "checkpoints.sqlite").exists()
