"""Questions one after another on a thread, as chat front ends send them."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from contend.contest.graph import build_contest_graph
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.team.graph import build_team_graph
from fakes.contests import Contest
from fakes.vendors import Vendors

FIRST = "How does resume work after a crash?"
SECOND = "What is a team?"
CONFIG: Any = {"configurable": {"thread_id": "chat"}}


def _said(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


@pytest.mark.parametrize("build", [build_contest_graph, build_team_graph, build_research_graph])
async def test_a_second_message_on_a_finished_thread_is_the_question(
    contest: Contest, services: Services, vendors: Vendors, build: Callable[[Services], Any]
) -> None:
    graph = build(services).compile(checkpointer=InMemorySaver())
    options = contest.options(max_rounds=1, learn=False)
    await graph.ainvoke(_said(FIRST), CONFIG, context=options)
    before = len(vendors.calls)

    again = await graph.ainvoke(_said(SECOND), CONFIG, context=options)

    assert "writer/write" in [call.prompt for call in vendors.calls[before:]]
    assert (await graph.aget_state(CONFIG)).values["theme"] == SECOND
    assert again.get("report", {"theme": SECOND})["theme"] == SECOND
    assert len(again.get("rounds", [{}])) == 1


@pytest.mark.parametrize(
    "asked",
    [
        [{"theme": FIRST}, _said(SECOND)],
        [_said(FIRST), {"theme": SECOND}],
        [{"theme": "x" * 501}, _said(SECOND)],
        [_said(SECOND), {"theme": SECOND}],
        [_said(FIRST), _said("再開の仕組みは何ですか。"), _said(SECOND)],
        [{"theme": SECOND}, {"theme": SECOND}],
        [_said("再開の仕組みは何ですか。"), {**_said(FIRST), "theme": SECOND}],
    ],
    ids=[
        "message after theme",
        "theme after message",
        "after a refused theme",
        "the same again",
        "third message",
        "the same theme again",
        "a theme with a message",
    ],
)
async def test_what_was_asked_last_is_answered(
    contest: Contest, services: Services, asked: list[dict[str, Any]]
) -> None:
    graph = build_contest_graph(services).compile(checkpointer=InMemorySaver())
    answers = [
        await graph.ainvoke(given, CONFIG, context=contest.options(max_rounds=1, learn=False)) for given in asked
    ]

    assert answers[-1]["report"]["theme"] == SECOND
    assert answers[-1]["messages"][-1].content.startswith(f"# {SECOND}")
    assert len((await graph.aget_state(CONFIG)).values["outcomes"]) == 2


async def test_teams_know_the_last_report_of_the_thread_as_outside_text(contest: Contest, vendors: Vendors) -> None:
    first = await contest.run(FIRST, thread_id="chat", max_rounds=1, learn=False)
    before = len(vendors.calls)

    await contest.run(SECOND, thread_id="chat", max_rounds=1, learn=False)

    assert first.report is not None
    plans = [call.user for call in vendors.calls[before:] if call.prompt == "supervisor/plan"]
    assert plans
    for plan in plans:
        told = plan.partition("# The last report in this conversation")[2].partition("\n</report-")[0]
        assert f"{FIRST}\n\n" in told.partition("<report-")[2]
        assert first.report.key_findings[0].partition(" [")[0] in told
        assert "[1]" not in told


async def test_a_long_report_is_known_by_its_beginning(contest: Contest, vendors: Vendors) -> None:
    vendors.malform(lambda text: text.replace('"text": "', f'"text": "{"Resume goes on " * 16}'))
    first = await contest.run(FIRST, thread_id="chat", max_rounds=1, learn=False)
    before = len(vendors.calls)

    await contest.run(SECOND, thread_id="chat", max_rounds=1, learn=False)

    assert first.report is not None
    assert len("".join([first.report.executive_summary, *first.report.key_findings])) > 1200
    plan = next(call.user for call in vendors.calls[before:] if call.prompt == "supervisor/plan")
    told = plan.partition("<report-")[2].partition(">")[2].partition("</report-")[0].strip()
    assert told.startswith(FIRST)
    assert 1000 < len(told) <= 1200


async def test_a_question_that_was_refused_leaves_the_last_report_known(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    graph = build_contest_graph(services).compile(checkpointer=InMemorySaver())

    _, refused, _ = [
        await graph.ainvoke(given, CONFIG, context=contest.options(max_rounds=1, learn=False))
        for given in (_said(FIRST), {"theme": "x" * 501}, _said(SECOND))
    ]

    assert refused["report"] is None
    plans = [call.user for call in vendors.calls if call.prompt == "supervisor/plan" and SECOND in call.user]
    assert plans
    assert all(f"{FIRST}\n\n" in plan.partition("<report-")[2] for plan in plans)


async def test_a_first_question_knows_no_report(contest: Contest, vendors: Vendors) -> None:
    await contest.run(FIRST, max_rounds=1, learn=False)

    assert not [call for call in vendors.calls if "<report-" in call.user]


async def test_a_report_streams_to_chat_front_ends_as_one_message(contest: Contest, services: Services) -> None:
    graph = build_contest_graph(services).compile(checkpointer=InMemorySaver())

    streamed = [
        message
        async for message, _ in graph.astream(
            _said(FIRST), CONFIG, context=contest.options(max_rounds=1, learn=False), stream_mode="messages"
        )
    ]

    assert [type(message) for message in streamed] == [AIMessage]
    assert streamed[0].content == (await graph.aget_state(CONFIG)).values["messages"][-1].content
    assert streamed[0].content.startswith(f"# {FIRST}")
