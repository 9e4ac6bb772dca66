"""Theme and instructions at every door: what is too long is refused before anything is spent."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import StateGraph
from pydantic import ValidationError

from contend.contest.graph import build_contest_graph
from contend.errors import InputError, StoreError
from contend.learning.graph import build_learn_graph
from contend.models.options import RunOptions
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.team.graph import build_team_graph
from fakes.contests import Contest
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
LONGEST = "bridges-" * 1000
Build = Callable[[Services], StateGraph[Any, Any, Any, Any]]


async def invoke(contest: Contest, build: Build, values: dict[str, object], **options: object) -> dict[str, Any]:
    services = contest.services()
    try:
        graph = build(services).compile()
        return await graph.ainvoke(values, context=contest.options(max_rounds=1, learn=False, **options))
    finally:
        await services.aclose()


async def test_code_refuses_a_theme_over_8000_characters_and_names_the_way(contest: Contest, vendors: Vendors) -> None:
    with pytest.raises(InputError, match=r"theme has 8,001 characters, at most 8,000 are allowed.*--instructions FILE"):
        await contest.run(LONGEST + "橋")

    assert not vendors.calls
    assert not (contest.workspace / "contend.duckdb").exists()


async def test_the_contests_graph_refuses_a_theme_over_8000_characters(contest: Contest, vendors: Vendors) -> None:
    state = await invoke(contest, build_contest_graph, {"theme": LONGEST + "橋"})

    assert state["status"] == "failed"
    assert state["message"].startswith("theme has 8,001 characters, at most 8,000 are allowed")
    assert not vendors.calls


async def test_a_record_that_cannot_be_kept_is_no_answer_to_the_question(contest: Contest, vendors: Vendors) -> None:
    (contest.workspace / "contend.duckdb").write_bytes(b"no database" * 2000)

    services = contest.services()
    graph = build_contest_graph(services).compile()

    with pytest.raises(StoreError, match=r"contend\.duckdb"):
        await graph.ainvoke({"theme": THEME}, context=contest.options(learn=False))

    with suppress(StoreError):  # what is queued for it
        await services.aclose()
    assert not vendors.calls


@pytest.mark.parametrize("build", [build_team_graph, build_research_graph], ids=["team", "research"])
async def test_a_part_alone_refuses_a_theme_over_8000_characters(
    contest: Contest, vendors: Vendors, build: Build
) -> None:
    state = await invoke(contest, build, {"theme": LONGEST + "橋"})

    assert state["messages"][-1].text.startswith("theme has 8,001 characters, at most 8,000 are allowed")
    assert not vendors.calls


@pytest.mark.parametrize("values", [{"theme": f"  {LONGEST}\n"}, {"messages": [HumanMessage(LONGEST)]}])
async def test_a_question_of_8000_characters_is_asked_whole_and_heads_its_report_cut(
    contest: Contest, vendors: Vendors, values: dict[str, object]
) -> None:
    state = await invoke(contest, build_research_graph, values)

    assert LONGEST.startswith(state["report"]["theme"].removesuffix("…"))
    assert len(state["report"]["theme"]) <= 500
    prompts = [call.user for call in vendors.calls if call.prompt in {"researcher/step", "research/write"}]
    assert prompts
    assert all(LONGEST in user for user in prompts)


async def test_a_contest_keeps_the_whole_of_a_long_question_as_its_task(contest: Contest) -> None:
    outcome = await contest.run(LONGEST, max_rounds=1, learn=False)

    assert outcome.summary is not None
    assert outcome.summary.user_prompt == outcome.theme == LONGEST
    assert outcome.report is not None
    assert len(outcome.report.theme) <= 500


async def test_a_chat_message_over_8000_characters_is_refused(contest: Contest, vendors: Vendors) -> None:
    state = await invoke(contest, build_contest_graph, {"messages": [HumanMessage(LONGEST + "か")]})

    assert state["status"] == "failed"
    assert state["message"].startswith("theme has 8,001 characters, at most 8,000 are allowed")
    assert "--instructions FILE" in state["message"]
    assert not vendors.calls


async def test_learning_alone_refuses_a_question_over_8000_characters(contest: Contest, vendors: Vendors) -> None:
    services = contest.services()
    graph = build_learn_graph(services.learn_nodes).compile()

    with pytest.raises(InputError, match="theme has 8,001 characters"):
        await graph.ainvoke({"theme": LONGEST + "橋"})

    await services.aclose()
    assert not vendors.calls


async def test_a_question_of_marks_that_take_long_to_clean_is_refused_by_its_length_first(contest: Contest) -> None:
    theme = "a" + "\u0301\u0323" * 200_000

    with pytest.raises(InputError, match="theme has 400,001 characters"):
        await contest.run(theme)


@pytest.mark.parametrize(
    ("build", "teams"), [(build_contest_graph, 2), (build_research_graph, 1)], ids=["contest", "research"]
)
async def test_instructions_stand_between_delimiters_in_every_teams_prompts(
    stepping: Contest, vendors: Vendors, build: Build, teams: int
) -> None:
    await invoke(stepping, build, {"theme": THEME}, instructions="Write for </text> engineers.")

    calls = [call for call in vendors.calls if call.prompt in {"researcher/step", "research/write"}]
    assert len({call.model for call in calls}) == teams
    assert len({call.prompt for call in calls}) == 2
    for call in calls:
        assert "Write for" not in call.system
        assert call.user.count(">Write for (tag) engineers.</instructions-") == 1


async def test_options_hold_instructions_of_20000_characters_and_no_more() -> None:
    assert RunOptions(instructions=" " + "橋" * 20_000).instructions == "橋" * 20_000
    with pytest.raises(ValidationError, match="at most 20000 characters"):
        RunOptions(instructions="橋" * 20_001)


async def test_a_context_with_instructions_over_20000_characters_is_refused(contest: Contest, vendors: Vendors) -> None:
    services = contest.services()
    graph = build_contest_graph(services).compile()

    with pytest.raises(ValidationError, match="at most 20000 characters"):
        await graph.ainvoke({"theme": THEME}, context={"instructions": "x" * 20_001})  # type: ignore[arg-type]  # as the SDK sends it

    await services.aclose()
    assert not vendors.calls
