"""A research on its own: how the supervisor routes, and when it ends."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from contend.models.research import ResearchReport, SearchResult
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.team.graph import build_team_graph
from fakes.contests import Contest
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"
CONFIG: Any = {"configurable": {"thread_id": "alone"}}
FEEDBACK = "Say which calls are repeated."


def _never_accepts(vendors: Vendors, *queries: str, times: int | None = None) -> None:
    verdict = {"feedback": FEEDBACK, "more_queries": list(queries), "accept": False}
    vendors.reply(json.dumps(verdict), prompt="reviewer/review", **({} if times is None else {"times": times}))


@pytest.mark.parametrize(("values", "loops"), [({}, 2), ({"max_iterations": 1}, 1), ({"max_iterations": 3}, 3)])
async def test_a_report_that_is_never_accepted_is_handed_in_after_the_last_iteration(
    contest: Contest, services: Services, vendors: Vendors, values: dict[str, int], loops: int
) -> None:
    _never_accepts(vendors)
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver())

    final = await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(**values))

    state = (await graph.aget_state(CONFIG)).values
    assert vendors.prompts().count("writer/write") == loops
    assert vendors.prompts()[-1] == "writer/write"  # a review of the last draft could change nothing
    assert vendors.prompts().count("reviewer/review") == loops - 1
    assert (state["iteration_count"], state["next_action"]) == (loops, "end")
    assert len(state["calls"]) == 2 * loops
    assert final["report"]["theme"] == THEME


async def test_a_teams_own_number_of_iterations_comes_before_the_runs(contest: Contest, vendors: Vendors) -> None:
    _never_accepts(vendors)

    await contest.run(THEME, teams=["alpha"], max_rounds=1, max_iterations=3, learn=False)

    (review,) = [call.user for call in vendors.calls if call.prompt == "reviewer/review"]
    assert "This is loop 1 of 2." in review


async def test_a_draft_has_no_feedback_before_its_review_and_the_supervisor_sends_it_there(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    _never_accepts(vendors, times=1)
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver(), interrupt_before=["review"])
    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(max_iterations=3))
    await graph.ainvoke(None, CONFIG)
    second = (await graph.aget_state(CONFIG)).values

    await graph.aupdate_state(CONFIG, {}, as_node="review")
    await graph.ainvoke(None, CONFIG)

    assert (second["iteration_count"], second["feedback"]) == (2, None)
    assert (await graph.aget_state(CONFIG)).values["next_action"] == "review"
    assert vendors.prompts().count("writer/write") == 2


async def test_an_accepted_report_ends_the_research(contest: Contest, services: Services, vendors: Vendors) -> None:
    vendors.reply('{"feedback": "", "more_queries": [], "accept": true}', prompt="reviewer/review")
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver())

    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options())

    state = (await graph.aget_state(CONFIG)).values
    assert vendors.prompts() == ["supervisor/plan", "writer/write", "reviewer/review"]
    assert (state["iteration_count"], state["next_action"]) == (1, "end")


@pytest.mark.parametrize(
    ("queries", "steps"),
    [
        ([], ["supervise", "write", "review", "supervise"]),
        (["leases of threads"], ["supervise", "search", "collect", "write", "review", "supervise"]),
    ],
    ids=["back to the writer", "a further search"],
)
async def test_feedback_goes_to_the_writer_and_new_queries_are_searched_first(
    contest: Contest, services: Services, vendors: Vendors, queries: list[str], steps: list[str]
) -> None:
    _never_accepts(vendors, *queries, times=1)
    graph = build_research_graph(services).compile()
    taken: list[str] = []
    searched: list[str] = []

    async for update in graph.astream(
        {"theme": THEME}, context=contest.options(max_iterations=5), stream_mode="updates"
    ):
        for node, update_of_node in update.items():
            taken.append(node)
            searched += [hit["query"] for hit in update_of_node.get("found", [])] if node == "search" else []

    first = taken.index("review") + 1
    assert taken[first : first + len(steps)] == steps
    assert set(queries) <= set(searched)
    drafts = [call.user for call in vendors.calls if call.prompt == "writer/write"]
    assert [FEEDBACK in draft for draft in drafts] == [False, True]


async def test_own_documents_are_searched_for_the_question_itself_too(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    plan = {"investigation_points": ["Costs"], "search_queries": ["price of basalt"], "plan_text": "Look for prices."}
    vendors.reply(json.dumps(plan), prompt="supervisor/plan")
    graph = build_research_graph(services).compile()
    queries: list[str] = []

    async for update in graph.astream({"theme": THEME}, context=contest.options(), stream_mode="updates"):
        queries += [hit["query"] for hit in update["search"]["found"]] if "search" in update else []

    assert THEME in queries


async def test_a_plan_names_a_query_once(contest: Contest, services: Services, vendors: Vendors) -> None:
    queries = ["resume checkpoint", "leases of threads", "resume checkpoint"]
    plan = {"investigation_points": [THEME], "search_queries": queries, "plan_text": "Look for prices."}
    vendors.reply(json.dumps(plan), prompt="supervisor/plan")
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver(), interrupt_after=["supervise"])

    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options())

    assert (await graph.aget_state(CONFIG)).values["task_plan"]["search_queries"] == queries[:2]


@pytest.mark.parametrize("build", [build_research_graph, build_team_graph], ids=["alone", "in a team"])
async def test_a_research_begins_with_every_key_of_its_state(
    contest: Contest, services: Services, build: Callable[[Services], Any]
) -> None:
    graph = build(services).compile(checkpointer=InMemorySaver())

    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(approve=["plan"]))

    snapshot = await graph.aget_state(CONFIG, subgraphs=True)
    first = (snapshot.tasks[0].state or snapshot).values
    assert first["task_plan"]["theme"] == THEME
    assert first["task_plan"]["source_priority"] == {"local": 1}
    assert [message.content for message in first["messages"]] == [THEME]
    expected = {
        "research_data": [],
        "current_draft": None,
        "draft_report": None,
        "feedback": None,
        "iteration_count": 1,
        "next_action": "research",
        "human_input_required": True,
        "human_input": None,
    }
    assert {name: first[name] for name in expected} == expected


async def test_the_state_keeps_results_by_their_titles_and_the_report_says_what_their_texts_begin_with(
    contest: Contest, services: Services
) -> None:
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver())

    state = await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(max_iterations=1))

    results = [SearchResult.model_validate(each) for each in (await graph.aget_state(CONFIG)).values["research_data"]]
    sources = ResearchReport.model_validate(state["report"]).sources
    assert results
    assert [(each.url, each.summary) for each in results] == [(each.url, each.title) for each in sources]
    texts = "\n".join(path.read_text("utf-8") for path in contest.documents.iterdir())
    assert all(each.summary != each.title and each.summary.split(". ")[0][:60] in texts for each in sources)


@pytest.mark.parametrize(
    ("answer", "asked"),
    [({"type": "approve"}, 1), ({"type": "reject", "reason": "再開だけを調べてください"}, 2)],
    ids=["approved", "rejected"],
)
async def test_a_persons_word_on_the_plan_stays_in_the_state_and_the_question_is_closed(
    contest: Contest, services: Services, vendors: Vendors, answer: dict[str, str], asked: int
) -> None:
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(approve=["plan"], max_iterations=1))
    waiting = (await graph.aget_state(CONFIG)).values

    await graph.ainvoke(Command(resume=answer), CONFIG)

    state = (await graph.aget_state(CONFIG)).values
    assert waiting["human_input_required"] is True
    assert state["human_input_required"] is False
    assert json.loads(state["human_input"])["type"] == answer["type"]
    plans = [call.user for call in vendors.calls if call.prompt == "supervisor/plan"]
    assert len(plans) == asked
    assert answer.get("reason", THEME) in plans[-1]
    assert sum("supervisor/plan" in call["call_key"] for call in state["calls"]) == asked
    assert state["next_action"] == "end"


async def test_long_feedback_stands_once_in_the_next_plans_prompt(contest: Contest, vendors: Vendors) -> None:
    reason = " ".join(f"Point {number} of the report lacks its source and its date." for number in range(8))
    verdict = {"reason": reason, "evidence": [], "percent": 40}
    vendors.reply(json.dumps(verdict), prompt="evaluator/metric")

    await contest.run(THEME, min_rounds=2, max_rounds=2, learn=False)

    again = [call.user for call in vendors.calls if call.prompt == "supervisor/plan"][-1]
    assert again.count("clarity_coherence 40.0/100: Point 0 of the report lacks") == 1
