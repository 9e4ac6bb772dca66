"""The one clock of a run: what its limits in seconds and minutes count, and what they do not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import contend
from contend.learning.graph import build_learn_graph
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.team.graph import build_team_graph
from fakes.contests import Contest, write_workspace
from fakes.now import Now
from fakes.vendors import Vendors

pytestmark = pytest.mark.usefixtures("stepping")

THEME = "How does resume work after a crash?"
CONFIG: Any = {"configurable": {"thread_id": "timed"}}
LIMIT = 15


@pytest.fixture
def now() -> Now:
    return Now(takes=2)


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors, now: Now) -> Contest:
    """Two teams with 15 seconds each, whose first steps take 2: time goes on for both."""
    write_workspace(workspace, seconds=LIMIT)
    vendors.malform(now.slow, prompt="researcher/step", match="step 1 of")
    return Contest(workspace, documents, vendors.base_url)


@pytest.fixture
def services(services: Services, now: Now) -> Services:
    services.now = now
    return services


async def test_a_plan_approved_after_a_while_costs_no_round(contest: Contest, services: Services, now: Now) -> None:
    options = contest.options(approve=["plan"], min_rounds=2, max_rounds=2, max_minutes=1, learn=False)
    waiting = await contend.run(THEME, thread_id="timed", options=options, services=services)
    now.seconds += 1000

    outcome = await contend.resume(
        "timed", answers={question.id: "approve" for question in waiting.questions}, services=services
    )

    assert (outcome.status, outcome.message) == ("completed", "all teams delivered")
    rounds = await services.record.rounds(outcome.execution_id)
    assert [(row.team_id, row.round_number) for row in rounds] == [("alpha", 1), ("alpha", 2), ("beta", 1), ("beta", 2)]


async def test_a_team_has_after_a_wait_the_time_that_it_had_left_before(
    contest: Contest, vendors: Vendors, now: Now
) -> None:
    vendors.malform(now.slow, prompt="research/revise")
    before, after = contest.services(), contest.services()
    before.now = after.now = now
    now.takes = 10
    options = contest.options(teams=["alpha"], approve=["plan"], min_rounds=2, max_rounds=2, learn=False)
    await contend.run(THEME, thread_id="timed", options=options, services=before)
    now.seconds += 1000

    outcome = await contend.resume("timed", "approve", services=after)  # its second round's draft takes 10 more

    (team,) = outcome.summary.team_statuses if outcome.summary else []
    assert (team.status, team.error_message) == ("timeout", f"not done within {LIMIT} seconds")
    assert len(await after.record.rounds(outcome.execution_id)) == 1
    for services in (before, after):
        await services.aclose()


@pytest.mark.parametrize("build", [build_team_graph, build_research_graph])
async def test_a_part_alone_spends_no_minutes_while_it_waits(
    contest: Contest, services: Services, now: Now, build: Callable[[Services], Any]
) -> None:
    graph = build(services).compile(checkpointer=InMemorySaver())
    options = contest.options(approve=["plan"], min_rounds=2, max_rounds=2, max_minutes=1)
    await graph.ainvoke({"theme": THEME}, CONFIG, context=options)
    now.seconds += 1000

    state = await graph.ainvoke(Command(resume="approve"), CONFIG)

    assert state["messages"][-1].content.startswith(f"# {THEME}")
    assert "max_minutes" not in state["messages"][-1].content
    assert [each["round_number"] for each in state.get("rounds", [])] in ([1, 2], [])


async def test_a_report_approved_after_a_while_leaves_minutes_to_learn(
    contest: Contest, services: Services, now: Now, vendors: Vendors
) -> None:
    from contend.contest.graph import build_contest_graph  # noqa: PLC0415 - slow to import

    graph = build_contest_graph(services).compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(approve=["report"], max_minutes=1))
    now.seconds += 1000

    state = await graph.ainvoke(Command(resume="approve"), CONFIG)

    assert state["status"] == "completed"
    assert "reflector/reflect" in vendors.prompts()


def _learn(services: Services) -> Any:  # noqa: ANN401 - LangGraph's
    return build_learn_graph(services.learn_nodes)


@pytest.mark.parametrize("build", [build_team_graph, build_research_graph, _learn])
@pytest.mark.parametrize("fault", [None, "research/write"], ids=["done", "failed"])
async def test_a_part_alone_leaves_nothing_in_memory(
    contest: Contest, services: Services, vendors: Vendors, build: Callable[[Services], Any], fault: str | None
) -> None:
    if fault:
        vendors.fail(prompt=fault, status=401)

    rounds = [{"team_id": "alpha", "round_number": 1, "score": 0.5, "feedback": "Name the calls."}]
    options = None if build is _learn else contest.options(max_rounds=1)
    request = {"theme": THEME, **({"rounds": rounds} if build is _learn else {})}
    await build(services).compile().ainvoke(request, context=options)

    assert vendors.calls
    assert services.runs == {}


async def test_a_run_leaves_nothing_in_memory(contest: Contest, services: Services) -> None:
    outcome = await contend.run(THEME, options=contest.options(), services=services)

    assert outcome.status == "completed"
    assert services.runs == {}
