"""Questions one after another on a thread, as chat front ends send them."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
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


@pytest.fixture
def contest(contest: Contest) -> Contest:
    """Of one team, without lessons: what is looked at is the conversation."""
    contest.defaults = {"teams": ["alpha"], "learn": False}
    return contest


def _message(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


@pytest.mark.parametrize("build", [build_contest_graph, build_team_graph, build_research_graph])
async def test_a_second_message_on_a_finished_thread_is_the_question(
    contest: Contest, services: Services, vendors: Vendors, build: Callable[[Services], Any]
) -> None:
    graph = build(services).compile(checkpointer=InMemorySaver())
    options = contest.options(max_rounds=1)
    await graph.ainvoke(_message(FIRST), CONFIG, context=options)
    before = len(vendors.calls)

    again = await graph.ainvoke(_message(SECOND), CONFIG, context=options)

    assert "research/write" in [call.prompt for call in vendors.calls[before:]]
    assert (await graph.aget_state(CONFIG)).values["theme"] == SECOND
    assert again.get("report", {"theme": SECOND})["theme"] == SECOND
    assert len(again.get("rounds", [{}])) == 1


@pytest.mark.parametrize("build", [build_contest_graph, build_team_graph, build_research_graph])
@pytest.mark.parametrize("run_input", [{"theme": FIRST}, _message(FIRST)], ids=["theme", "message"])
async def test_a_run_ends_with_its_question_and_one_answer(
    contest: Contest, services: Services, build: Callable[[Services], Any], run_input: dict[str, Any]
) -> None:
    graph = build(services).compile(checkpointer=InMemorySaver())

    await graph.ainvoke(run_input, CONFIG, context=contest.options(min_rounds=2, max_rounds=2))

    question, answer = (await graph.aget_state(CONFIG)).values["messages"]
    assert (question.type, question.content, answer.type) == ("human", FIRST, "ai")
    assert answer.content.startswith(f"# {FIRST}")


@pytest.mark.parametrize("build", [build_contest_graph, build_team_graph, build_research_graph])
@pytest.mark.parametrize("prompt", ["research/write", "research/review"])
async def test_after_a_report_a_question_that_fails_is_answered_with_why(
    contest: Contest, services: Services, vendors: Vendors, build: Callable[[Services], Any], prompt: str
) -> None:
    graph, options = build(services).compile(checkpointer=InMemorySaver()), contest.options(max_rounds=1)
    await graph.ainvoke({"theme": FIRST}, CONFIG, context=options)
    vendors.fail(prompt=prompt, status=401)

    state = await graph.ainvoke({"theme": SECOND}, CONFIG, context=options)

    assert [message.type for message in state["messages"]] == ["human", "ai", "human", "ai"]
    assert state["messages"][-2].content == SECOND
    assert "set OPENAI_API_KEY" in state["messages"][-1].content
    assert FIRST not in state["messages"][-1].content
    assert not state.get("report")
    assert not (await graph.aget_state(CONFIG)).next


@pytest.mark.parametrize("build", [build_contest_graph, build_team_graph, build_research_graph])
async def test_a_question_whose_budget_ends_first_is_answered_with_the_budget(
    contest: Contest, services: Services, build: Callable[[Services], Any]
) -> None:
    state = await build(services).compile().ainvoke(_message(FIRST), context=contest.options(max_calls=1))

    assert "max_calls = 1 would be exceeded" in state["messages"][-1].content


@pytest.mark.parametrize("build", [build_team_graph, build_research_graph])
async def test_a_refused_question_after_a_report_is_answered_with_its_line(
    contest: Contest, services: Services, build: Callable[[Services], Any]
) -> None:
    graph, options = build(services).compile(checkpointer=InMemorySaver()), contest.options(max_rounds=1)
    await graph.ainvoke({"theme": FIRST}, CONFIG, context=options)

    state = await graph.ainvoke({"theme": "x" * 8001}, CONFIG, context=options)
    again = await graph.ainvoke(_message(SECOND), CONFIG, context=options)

    assert [message.type for message in state["messages"]] == ["human", "ai", "human", "ai"]
    assert state["messages"][-1].content.startswith("theme has 8,001 characters")
    assert again["messages"][-1].content.startswith(f"# {SECOND}")


async def test_a_team_that_fails_in_a_later_round_answers_with_its_best_and_why(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    vendors.fail(prompt="research/revise", status=401)

    state = await build_team_graph(services).compile().ainvoke(_message(FIRST), context=contest.options(min_rounds=2))

    assert state["messages"][-1].content.startswith(f"# {FIRST}")
    assert "set OPENAI_API_KEY" in state["messages"][-1].content


async def test_a_run_that_goes_on_after_its_report_says_it_once(contest: Contest, services: Services) -> None:
    graph = build_contest_graph(services).compile(checkpointer=InMemorySaver(), interrupt_before=["finish_run"])
    await graph.ainvoke({"theme": FIRST}, CONFIG, context=contest.options(max_rounds=1))

    state = await graph.ainvoke(None, CONFIG)

    assert [message.type for message in state["messages"]] == ["human", "ai"]


@pytest.mark.parametrize(
    "questions",
    [
        [{"theme": FIRST}, _message(SECOND)],
        [_message(FIRST), {"theme": SECOND}],
        [{"theme": "x" * 8001}, _message(SECOND)],
        [_message(SECOND), {"theme": SECOND}],
        [_message(FIRST), _message("再開の仕組みは何ですか。"), _message(SECOND)],
        [{"theme": SECOND}, {"theme": SECOND}],
        [_message("再開の仕組みは何ですか。"), {**_message(FIRST), "theme": SECOND}],
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
    contest: Contest, services: Services, questions: list[dict[str, Any]]
) -> None:
    graph = build_contest_graph(services).compile(checkpointer=InMemorySaver())
    answers = [await graph.ainvoke(values, CONFIG, context=contest.options(max_rounds=1)) for values in questions]

    assert answers[-1]["report"]["theme"] == SECOND
    assert answers[-1]["messages"][-1].content.startswith(f"# {SECOND}")
    assert len((await graph.aget_state(CONFIG)).values["outcomes"]) == 1


async def test_teams_know_the_last_report_of_the_thread_as_outside_text(contest: Contest, vendors: Vendors) -> None:
    first = await contest.run(FIRST, thread_id="chat", max_rounds=1)
    before = len(vendors.calls)

    await contest.run(SECOND, thread_id="chat", max_rounds=1, teams=["alpha", "beta"])

    assert first.report is not None
    plans = [call.user for call in vendors.calls[before:] if call.prompt == "research/write"]
    assert len(plans) == 2
    for plan in plans:
        excerpt = plan.partition("# The last report in this conversation")[2].partition("\n</report-")[0]
        assert f"{FIRST}\n\n" in excerpt.partition("<report-")[2]
        assert first.report.key_findings[0].partition("[")[0] in excerpt
        assert "[1]" not in excerpt


async def test_a_long_report_is_known_by_its_beginning(contest: Contest, vendors: Vendors) -> None:
    vendors.malform(lambda text: text.replace('"text": "', f'"text": "{"Resume goes on " * 16}'))
    first = await contest.run(FIRST, thread_id="chat", max_rounds=1)
    before = len(vendors.calls)

    await contest.run(SECOND, thread_id="chat", max_rounds=1)

    assert first.report is not None
    assert len("".join([first.report.executive_summary, *first.report.key_findings])) > 1200
    plan = next(call.user for call in vendors.calls[before:] if call.prompt == "research/write")
    excerpt = plan.partition("<report-")[2].partition(">")[2].partition("</report-")[0].strip()
    assert excerpt.startswith(FIRST)
    said, _, parts = excerpt.rpartition("\n\n")
    assert 1000 < len(said) <= 1200
    assert parts == f"- {FIRST} (answered)"


async def test_a_question_that_was_refused_leaves_the_last_report_known(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    graph = build_contest_graph(services).compile(checkpointer=InMemorySaver())

    _, refused, _ = [
        await graph.ainvoke(values, CONFIG, context=contest.options(max_rounds=1))
        for values in (_message(FIRST), {"theme": "x" * 8001}, _message(SECOND))
    ]

    assert refused["report"] is None
    plans = [call.user for call in vendors.calls if call.prompt == "research/write" and SECOND in call.user]
    assert plans
    assert all(f"{FIRST}\n\n" in plan.partition("<report-")[2] for plan in plans)


async def test_a_first_question_knows_no_report(contest: Contest, vendors: Vendors) -> None:
    await contest.run(FIRST, max_rounds=1)

    assert not [call for call in vendors.calls if "<report-" in call.user]


async def test_a_chat_sees_progress_line_by_line_and_then_the_report_as_the_only_message_that_stays(
    contest: Contest, services: Services
) -> None:
    graph = build_contest_graph(services).compile(checkpointer=InMemorySaver())

    streamed = [
        message
        async for message, _ in graph.astream(
            _message(FIRST),
            CONFIG,
            context=contest.options(max_rounds=1, teams=["alpha", "beta"]),
            stream_mode="messages",
        )
    ]

    *told, report = streamed
    assert {(type(message), message.name) for message in told} == {(AIMessageChunk, "progress")}
    assert len({message.id for message in told}) == 1
    lines = "".join(str(message.content) for message in told).splitlines()
    assert lines[0] == "- alpha, beta begin."
    assert {"- alpha, round 1: the plan is made.", "- beta, round 1: a draft is written."} <= {*lines}
    assert all("{" not in line and len(line) < 120 for line in lines)
    messages = (await graph.aget_state(CONFIG)).values["messages"]
    assert [(type(message), message.content) for message in messages] == [
        (HumanMessage, FIRST),
        (AIMessage, report.content),
    ]
    assert report.content.startswith(f"# {FIRST}")


async def test_a_japanese_chat_sees_progress_in_japanese(contest: Contest, services: Services) -> None:
    graph = build_contest_graph(services).compile(checkpointer=InMemorySaver())

    first, *_ = [
        message
        async for message, _ in graph.astream(
            _message("再開はどのように動きますか"),
            CONFIG,
            context=contest.options(max_rounds=1, teams=["alpha", "beta"]),
            stream_mode="messages",
        )
    ]

    assert first.content == "- alpha、betaが調査を始めました。\n"
