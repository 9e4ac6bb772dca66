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
from fakes.kilns import action, fixes, looks, prompts_of, script, step
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"
CONFIG: Any = {"configurable": {"thread_id": "alone"}}
FEEDBACK = "Say which calls are repeated."


def _never_accepts(vendors: Vendors, *, times: int | None = None) -> None:
    vendors.reply(fixes(FEEDBACK), prompt="research/review", **({} if times is None else {"times": times}))


@pytest.mark.parametrize(("values", "loops"), [({}, 2), ({"max_iterations": 1}, 1), ({"max_iterations": 3}, 3)])
async def test_a_report_that_is_never_accepted_is_handed_in_after_the_last_iteration(
    contest: Contest, services: Services, vendors: Vendors, values: dict[str, int], loops: int
) -> None:
    _never_accepts(vendors)
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver())

    final = await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(**values))

    state = (await graph.aget_state(CONFIG)).values
    reviewed = ["research/review", "research/revise"] * (loops - 1)
    # A review of the last draft could change nothing.
    assert vendors.prompts() == ["evaluator/criteria", "research/injection", "research/write", *reviewed]
    assert (state["iteration_count"], state["next_action"]) == (loops, "end")
    assert len(state["calls"]) == len(vendors.calls) - 1
    assert final["report"]["theme"] == THEME


async def test_a_teams_own_number_of_iterations_comes_before_the_runs(contest: Contest, vendors: Vendors) -> None:
    _never_accepts(vendors)

    await contest.run(THEME, teams=["alpha"], max_rounds=1, max_iterations=3, learn=False)

    assert vendors.prompts().count("research/review") == 1
    assert vendors.prompts().count("research/revise") == 1


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
    assert (vendors.prompts().count("research/write"), vendors.prompts().count("research/revise")) == (1, 1)


async def test_an_accepted_report_ends_the_research(contest: Contest, services: Services, vendors: Vendors) -> None:
    vendors.reply(fixes(accept=True), prompt="research/review")
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver())

    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options())

    state = (await graph.aget_state(CONFIG)).values
    assert vendors.prompts() == ["evaluator/criteria", "research/injection", "research/write", "research/review"]
    assert (state["iteration_count"], state["next_action"]) == (1, "end")


@pytest.mark.parametrize(
    ("actions", "steps"),
    [
        ([], ["supervise", "screen", "write", "supervise"]),
        (
            [action("search", "leases of threads")],
            ["search", "collect", "review", "supervise", "screen", "write", "supervise"],
        ),
    ],
    ids=["back to the writer", "a further search"],
)
async def test_feedback_goes_to_the_writer_and_what_a_reviewer_wants_is_searched_first(
    contest: Contest, services: Services, vendors: Vendors, actions: list[dict[str, Any]], steps: list[str]
) -> None:
    _never_accepts(vendors)
    if actions:
        vendors.reply(looks(*actions), prompt="research/review", times=1)
    graph = build_research_graph(services).compile()
    taken: list[str] = []

    async for update in graph.astream(
        {"theme": THEME}, context=contest.options(max_iterations=5), stream_mode="updates"
    ):
        taken += update

    first = taken.index("review") + 1
    assert taken[first : first + len(steps)] == steps
    drafts = [call.user for call in vendors.calls if call.prompt in {"research/write", "research/revise"}]
    assert [FEEDBACK in draft for draft in drafts[:2]] == [False, True]


async def test_a_plan_names_an_action_once(stepping: Contest, services: Services, vendors: Vendors) -> None:
    words = ["resume checkpoint", "leases of threads", "resume checkpoint"]
    script(vendors, step(*(action("search", each) for each in words)))
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver(), interrupt_after=["supervise"])

    await graph.ainvoke({"theme": THEME}, CONFIG, context=stepping.options())

    assert (await graph.aget_state(CONFIG)).values["task_plan"]["search_queries"] == words[:2]


@pytest.mark.parametrize("build", [build_research_graph, build_team_graph], ids=["alone", "in a team"])
async def test_a_research_begins_with_every_key_of_its_state(
    stepping: Contest, services: Services, build: Callable[[Services], Any]
) -> None:
    graph = build(services).compile(checkpointer=InMemorySaver())

    await graph.ainvoke({"theme": THEME}, CONFIG, context=stepping.options(approve=["plan"]))

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
        "iteration_count": 0,
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
    texts = " ".join(" ".join(path.read_text("utf-8").split()) for path in contest.documents.iterdir())
    assert all(each.summary != each.title and each.summary.split(". ")[0][:60] in texts for each in sources)


@pytest.mark.parametrize(
    ("answer", "asked"),
    [({"type": "approve"}, 2), ({"type": "reject", "reason": "再開だけを調べてください"}, 3)],
    ids=["approved", "rejected"],
)
async def test_a_persons_word_on_the_plan_stays_in_the_state_and_the_question_is_closed(
    stepping: Contest, services: Services, vendors: Vendors, answer: dict[str, str], asked: int
) -> None:
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"theme": THEME}, CONFIG, context=stepping.options(approve=["plan"], max_iterations=1))
    waiting = (await graph.aget_state(CONFIG)).values

    await graph.ainvoke(Command(resume=answer), CONFIG)

    state = (await graph.aget_state(CONFIG)).values
    assert waiting["human_input_required"] is True
    assert state["human_input_required"] is False
    assert json.loads(state["human_input"])["type"] == answer["type"]
    steps = prompts_of(vendors, "researcher/step")
    assert len(steps) == asked
    assert answer.get("reason", THEME) in steps[1]
    assert state["next_action"] == "end"


async def test_parts_and_first_actions_are_approved_also_where_all_documents_are_read_whole(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(approve=["plan"], max_iterations=1))
    waiting = await graph.aget_state(CONFIG)

    edited = {"type": "edit", "args": {"investigation_points": ["What is repeated", "What is kept"]}}
    await graph.ainvoke(Command(resume=edited), CONFIG)

    (asked,) = waiting.interrupts
    assert asked.value["action_requests"][0]["args"]["investigation_points"] == [THEME]
    assert "researcher/step" not in vendors.prompts()
    (write_prompt,) = prompts_of(vendors, "research/write")
    assert ("What is repeated" in write_prompt, "What is kept" in write_prompt) == (True, True)


async def test_what_judges_found_stands_once_in_the_next_rounds_first_step(stepping: Contest, vendors: Vendors) -> None:
    what = " ".join(f"Point {number} of the report lacks its source and its date." for number in range(8))
    vendors.malform(lambda reply: _with_fix(reply, what), prompt="evaluator/verdicts")

    await stepping.run(THEME, min_rounds=2, max_rounds=2, learn=False, teams=["alpha"])

    (again,) = [each for each in prompts_of(vendors, "researcher/step") if "step 1 of at most 20, in round 2" in each]
    assert again.count("Point 0 of the report lacks") == 1


def _with_fix(reply: str, what: str) -> str:
    verdicts = json.loads(reply)
    verdicts["metrics"][0]["fixes"] = [{"where": "summary 1", "what": what}]
    return json.dumps(verdicts, ensure_ascii=False)
