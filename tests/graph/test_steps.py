"""Research step by step: what is held stays held, what is given up comes back, and every limit ends in a draft."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from contend.evidence import EvidencePool
from contend.llm import LEAST_CONTEXT_TOKENS
from contend.research.graph import build_research_graph
from contend.services import Services
from fakes.chat_replies import with_findings
from fakes.contests import Contest, write_workspace
from fakes.kilns import (
    ORDER,
    THEME,
    TOO_FEW,
    action,
    fixes,
    looks,
    numbers_of,
    plant_order,
    prompts_of,
    script,
    shown,
    step,
    write_kilns,
)
from fakes.vendors import Vendors

CONFIG: Any = {"configurable": {"thread_id": "alone"}}
HEAT = action("search", "heat of the kilns at noon")


@pytest.fixture
def contest(workspace: Path, tmp_path: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace)
    defaults = {"learn": False, "evidence_tokens": TOO_FEW, "teams": ["alpha"], "max_rounds": 1}
    return Contest(workspace, write_kilns(tmp_path / "kilns"), vendors.base_url, defaults=defaults)


@pytest.fixture
def reads_little(contest: Contest) -> Contest:
    """A step shows no more than 2,000 tokens of results. Comes before `services`, which read its settings."""
    write_kilns(contest.documents, kilns=30)
    write_workspace(contest.workspace, reads=LEAST_CONTEXT_TOKENS)
    return contest


async def research(contest: Contest, services: Services, **options: object) -> tuple[dict[str, Any], EvidencePool]:
    """The state after a round's research, and the team's evidence."""
    graph = build_research_graph(services).compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(**options))
    state = (await graph.aget_state(CONFIG)).values
    pool: EvidencePool = json.loads(await (await services.run(state)).documents.get(state["pool"]))
    return state, pool


def held_in(prompt: str) -> str:
    """What a step's prompt says of what is held."""
    return prompt.partition("\nYou hold ")[2].partition("\n- `thought`")[0]


async def test_what_is_held_stays_over_steps_drafts_and_rounds_until_the_model_gives_it_up(
    contest: Contest, vendors: Vendors
) -> None:
    finds = [action("find", f"kiln-0{number}") for number in (7, 8, 9)]
    script(vendors, step(HEAT), step(finds[0], hold=(1, 2, 3)), step(finds[1]), step(finds[2], give_up=(3,)), step())
    script(vendors, step(finds[2]), step(), round_number=2)
    vendors.reply(fixes("Say more."), prompt="research/review")

    await contest.run(THEME, min_rounds=2, max_rounds=2, max_iterations=3)

    steps = prompts_of(vendors, "researcher/step")
    held = [[number for number in (1, 2, 3) if f"P{number} (" in held_in(each)] for each in steps]
    assert held == [[], [], [1, 2, 3], [1, 2, 3], [1, 2], [1, 2], [1, 2]]
    drafts = [call.user for call in vendors.calls if call.prompt in {"research/write", "research/revise"}]
    assert len(drafts) >= 3
    for draft in drafts:
        assert [text in draft for text in _texts(steps[1], 1, 2, 3)] == [True, True, False]


async def test_what_the_researcher_noted_while_reading_is_shown_to_its_next_step_to_writer_and_reviewer(
    contest: Contest, vendors: Vendors
) -> None:
    noted = "The log has 1007 degrees, the plan 1010."
    part = {"part": 1, "state": "partly", "passages": [1], "missing": "", "notes": [noted]}
    script(vendors, step(HEAT), step(HEAT, parts=[part]), step())

    await contest.run(THEME)

    shown_to = [call.prompt for call in vendors.calls if noted in call.user]
    assert shown_to[0] == "researcher/step"
    assert {"research/write", "research/review"} <= {*shown_to}
    assert "evaluator/verdicts" not in shown_to


async def test_what_the_teams_report_draws_on_is_not_given_up_in_a_later_round(
    contest: Contest, vendors: Vendors
) -> None:
    script(vendors, step(HEAT), step(hold=(1, 2)))
    script(vendors, step(give_up=(2,)), round_number=2)

    await contest.run(THEME, min_rounds=2, max_rounds=2)

    (told,) = [call for call in vendors.calls if call.prompt == "researcher/step" and call.turns == 4]
    assert "your team's report draws on passage 2: it stays" in told.body["messages"][-1]["content"]
    (revised,) = prompts_of(vendors, "research/revise")
    assert {1, 2} <= {*shown(revised)}


def _texts(prompt: str, *numbers: int) -> list[str]:
    """The last sentences of passages, which no draft quotes, by their numbers in a prompt."""
    lines = prompt.split("\n")
    at = {number: place for number in numbers for place, line in enumerate(lines) if line.startswith(f"<P{number}-")}
    return [lines[at[number] + 1].split(". ")[-1] for number in numbers]


async def test_what_was_given_up_comes_back_by_a_search(contest: Contest, services: Services, vendors: Vendors) -> None:
    find = action("find", "hot as 1007 degrees")
    script(vendors, step(find), step(HEAT, hold=(1,)), step(find, give_up=(1,)), step(hold=(1,)))

    _, pool = await research(contest, services, max_iterations=1)

    (first,) = (each["id"] for each in pool["passages"][:1])
    (again,) = pool["steps"][2]["results"]
    assert pool["steps"][2]["given_up"] == [first]
    assert first in [*again["shown"], *again["listed"], *again["known"]]
    assert pool["steps"][3]["held"] == [first]
    assert pool["held"] == [first]


async def test_a_prompt_that_began_anew_shows_what_was_given_up_whole_again(
    reads_little: Contest, services: Services, vendors: Vendors
) -> None:
    find, kilns = action("find", "hot as 1007 degrees"), [action("read", str(number)) for number in range(8, 29)]
    searches = [step(*kilns[at : at + 7]) for at in (0, 7, 14)]
    script(vendors, step(find), step(HEAT, hold=(1,)), step(HEAT, give_up=(1,)), *searches, step(find), step(hold=(1,)))

    _, pool = await research(reads_little, services, max_iterations=1)

    assert pool["steps_from"] > 0
    (again,) = pool["steps"][-2]["results"]
    assert again["shown"] == [pool["passages"][0]["id"]]
    last = prompts_of(vendors, "researcher/step")[-1]
    assert 1 in shown(last)


async def test_a_search_leaves_out_only_what_is_held_or_shown_above(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    script(vendors, step(HEAT), step(HEAT, action("find", "kiln-0*"), hold=(1,)), step(hold=(2,)))

    _, pool = await research(contest, services, max_iterations=1)

    (first,), (again, found) = pool["steps"][0]["results"], pool["steps"][1]["results"]
    assert again["shown"] == []
    assert again["known"] == first["shown"]
    assert found["shown"]
    assert not {*found["shown"]} & {*first["shown"]}
    last = prompts_of(vendors, "researcher/step")[-1]
    assert len(shown(last)) == len({*shown(last)})
    assert "\nAlso, as above: P1, P2" in last


async def test_results_that_do_not_fit_are_listed_and_can_be_held_by_number(
    reads_little: Contest, services: Services, vendors: Vendors
) -> None:
    script(vendors, step(*(action("read", str(number)) for number in range(1, 9))), step(hold=(24,)))

    state, pool = await research(reads_little, services, max_iterations=1)

    listed = [each for result in pool["steps"][0]["results"] for each in result["listed"]]
    last = pool["passages"][23]
    assert last["id"] in listed
    (prompt,) = prompts_of(vendors, "researcher/step")[1:]
    first = pool["passages"][0]
    assert f"Tokens of those below: P1 {first['tokens']}, P2 " in prompt
    assert "For want of room only by name; each can be held by its number or read by its place:" in prompt
    assert 24 not in shown(prompt)
    assert f">P24 (8.3, {last['tokens']}) Kiln 08 › Guard<" in prompt
    assert state["passages"] == [last["id"]]
    (draft,) = prompts_of(vendors, "research/write")
    assert "The guard of kiln-08 is called Ada" in draft


async def test_what_is_wanted_beyond_the_room_is_sent_back_once_and_then_named_as_not_held(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    all_of_them = tuple(range(1, 25))
    reads = [action("read", str(number)) for number in range(1, 9)]
    script(vendors, step(*reads), step(HEAT, hold=all_of_them), step())

    _, pool = await research(contest, services, max_iterations=1)

    asked = [call for call in vendors.calls if call.prompt == "researcher/step"]
    assert [call.turns for call in asked] == [2, 2, 4, 2]
    assert "there is room for 2,000: name passages" in asked[2].body["messages"][-1]["content"]
    assert "For these there was no room, and they are not held: P" in asked[3].user
    sizes = {each["id"]: each["tokens"] for each in pool["passages"]}
    assert sum(sizes[each] for each in pool["held"]) <= TOO_FEW
    assert pool["held"] == [each["id"] for each in pool["passages"][: len(pool["held"])]]


async def test_steps_end_with_their_most_in_a_written_draft(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    script(vendors, step(HEAT), step(action("find", "kiln-07"), hold=(1, 2)))

    state, _ = await research(contest, services, max_iterations=1, max_steps=4)

    asked = [each for each in vendors.prompts() if each != "research/injection"]
    assert asked == ["evaluator/criteria", *["researcher/step"] * 4, "research/write"]
    assert "This is the last step: hold what the report needs." in prompts_of(vendors, "researcher/step")[-1]
    assert state["report"]["sources"]


@pytest.mark.parametrize("calls", [6, 8, 10])
async def test_a_budget_that_runs_out_in_mid_loop_leaves_a_written_draft(
    contest: Contest, vendors: Vendors, calls: int
) -> None:
    script(vendors, step(HEAT), step(action("find", "kiln-07"), hold=(1, 2)))

    outcome = await contest.run(THEME, max_calls=calls, min_rounds=1)

    assert outcome.report is not None, outcome.message
    assert len(vendors.calls) <= calls
    assert vendors.prompts().count("research/write") == 1


async def test_words_are_found_as_they_stand_and_sections_are_read_by_place(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    script(vendors, step(action("find", "Ada the 11th"), action("read", "3.2")), step(hold=(1, 2)))

    state, pool = await research(contest, services, max_iterations=1)

    (draft,) = prompts_of(vendors, "research/write")
    assert numbers_of(draft, "Ada the 11th") == [1]
    assert numbers_of(draft, "as hot as 1003 degrees") == [2]
    assert [each["place"] for each in pool["passages"][:2]] == [3, 2]
    assert len(state["passages"]) == 2


async def test_a_reviewer_that_names_actions_gets_their_results_and_what_its_fix_names_is_held(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    script(vendors, step(HEAT), step(hold=(1, 2)))
    vendors.reply(fixes("Name the guard of kiln-07.", passages=(9,)), prompt="research/review")
    vendors.reply(looks(action("find", "Ada the 7th")), prompt="research/review", times=1)

    state, pool = await research(contest, services, max_iterations=2)

    first, second = prompts_of(vendors, "research/review")
    assert "Ada the 7th" not in first
    assert numbers_of(second, "The guard of kiln-07 is called Ada the 7th") == [9]
    (revised,) = prompts_of(vendors, "research/revise")
    assert numbers_of(revised, "Ada the 7th") == [9]
    assert "- summary 1: Name the guard of kiln-07. [P9]" in revised
    assert "New since the draft: P9." in revised
    assert pool["held"] == state["passages"]
    assert len(state["passages"]) == 3


async def test_what_a_reviewer_looks_up_is_screened_before_it_is_shown(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    plant_order(contest.documents / "kiln-07.md")
    script(vendors, step(HEAT), step(hold=(1, 2)))
    vendors.reply(fixes("Name the guard of kiln-07."), prompt="research/review")
    vendors.reply(looks(action("find", "Ada the 7th")), prompt="research/review", times=1)

    _, pool = await research(contest, services, max_iterations=2)

    assert len(prompts_of(vendors, "research/review")) == 2
    assert not [call.prompt for call in vendors.calls if ORDER in call.user and call.prompt != "research/injection"]
    assert [each["orders"] for each in pool["passages"] if each.get("signals")] == [[ORDER]]


async def test_a_reviewer_looks_twice_at_most(contest: Contest, services: Services, vendors: Vendors) -> None:
    script(vendors, step(HEAT), step(hold=(1, 2)))
    vendors.reply(looks(action("find", "Ada the 7th")), prompt="research/review")

    state, _ = await research(contest, services, max_iterations=2, max_calls=15)

    asked = prompts_of(vendors, "research/review")
    assert ["2 more times" in asked[0], "1 more time." in asked[1]] == [True, True]
    assert len(asked) == 4, "told once that no look follows"
    assert state["next_action"] == "end"


async def test_what_is_called_not_found_is_searched_for_by_code_before_the_report_is_handed_in(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    script(vendors, step(HEAT), step(hold=(1, 2)))
    statement = {
        "text": "Who guards kiln-07 is not told.",
        "sources": [],
        "kind": "not_found",
        "basis": "1: guard of kiln-07",
    }
    vendors.malform(with_findings(statement), prompt="research/write")

    state, pool = await research(contest, services, max_iterations=1)

    (looked,) = prompts_of(vendors, "research/revise")
    (number,) = numbers_of(looked, "The guard of kiln-07 is called Ada")
    assert re.search(rf"^New since the draft: .*\bP{number}\b", looked, re.MULTILINE)
    assert re.search(rf"guard of kiln-07.*\[P{number}\]", looked.partition("# What to mend")[2])
    assert len(pool["held"]) > 2
    assert state["next_action"] == "end"
    # What was found is screened before it is written from, and so is what lies nearest to the part.
    assert [each for each in vendors.prompts() if each != "research/injection"][-1] == "research/revise"


async def test_a_search_for_what_is_called_not_found_that_brings_only_what_was_seen_costs_no_call(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    search = action("search", "guard of kiln-07")
    script(vendors, step(search), step(hold=(2,)))
    statement = {
        "text": "Who guards kiln-07 is not told.",
        "sources": [],
        "kind": "not_found",
        "basis": f"1: {search['text']}",
    }
    vendors.malform(with_findings(statement), prompt="research/write")

    state, pool = await research(contest, services, max_iterations=1)

    (looked,) = state["looked"]
    assert looked["results"][0]["shown"], "they are not among what is held"
    assert {*looked["results"][0]["shown"]} <= {*pool["steps"][0]["results"][0]["shown"]}
    assert [each for each in vendors.prompts() if each != "research/injection"][-1] == "research/write"
    assert len(pool["held"]) == 1


async def test_nothing_is_called_not_found_before_every_source_was_searched_for_it(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    script(vendors, step(HEAT, state="not_found"), step(hold=(1,)))

    await research(contest, services, max_iterations=1)

    again = next(call for call in vendors.calls if call.prompt == "researcher/step" and call.turns == 4)
    told = again.body["messages"][-1]["content"]
    assert "part 1 is not to be called not found before it was searched in local" in told


async def test_what_teams_hold_is_offered_by_number_to_one_that_begins_after_them(
    contest: Contest, vendors: Vendors
) -> None:
    orchestrator = contest.workspace / "config" / "orchestrator.toml"
    text = orchestrator.read_text("utf-8")
    # One after the other: nobody waits for what another team may still hand in.
    orchestrator.write_text(text.replace("max_concurrent_teams = 8", "max_concurrent_teams = 1"), "utf-8")
    find = action("find", "Ada the 9th")
    script(vendors, step(find), step(hold=(1,)), model="alpha")
    script(vendors, step(HEAT), step(hold=(1, 2)), model="beta")

    await contest.run(THEME, teams=["alpha", "beta"], max_rounds=1, synthesis=False)

    begun, _ = [call.user for call in vendors.calls if call.prompt == "researcher/step" and call.model == "beta"]
    offered = begun.partition("# What other teams hold")[2].partition("\n# ")[0]
    assert "P1 (9.3, " in offered
    assert "Ada the 9th" not in begun, "its text is not shown"
    (written,) = [call.user for call in vendors.calls if call.prompt == "research/write" and call.model == "beta"]
    assert numbers_of(written, "Ada the 9th")


async def test_what_is_offered_is_what_was_held_when_the_round_began_also_after_a_resume(
    contest: Contest, vendors: Vendors
) -> None:
    contest.defaults = {**contest.defaults, "teams": ["alpha", "beta"], "min_rounds": 2, "max_rounds": 2}

    def play() -> None:
        for team, search in (("alpha", action("find", "Ada the 9th")), ("beta", HEAT)):
            script(vendors, step(search), step(hold=(1,)), model=team)
        script(vendors, step(action("find", "Ada the 3rd")), step(hold=(2,)), model="alpha", round_number=2)
        script(vendors, step(hold=(9,)), model="beta", round_number=2)

    play()
    vendors.hang(prompt="researcher/step", model="beta", match="in round 2")
    run = asyncio.create_task(contest.run(THEME, thread_id="stopped"))
    while not any(event.type == "team_done" and event.team_id == "alpha" for event in contest.events):
        await asyncio.sleep(0.02)
        assert not run.done()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    vendors.heal()
    play()

    outcome = await contest.resume("stopped")

    assert outcome.status == "completed"
    (before,) = [call.user for call in vendors.hung]
    of_beta = [call for call in vendors.calls if call.model == "beta" and call.prompt == "researcher/step"]
    again = of_beta[-1].user
    assert _offered(before)
    assert _offered(again) == _offered(before)
    assert "in round 2" in again


def _offered(prompt: str) -> list[str]:
    return re.findall(
        r"P\d+ \([\d.]+, \d+\)[^\n<]*", prompt.partition("# What other teams hold")[2].partition("\n# ")[0]
    )


async def test_the_editor_looks_into_the_sources_before_it_merges(contest: Contest, vendors: Vendors) -> None:
    for team in ("alpha", "beta"):
        script(vendors, step(HEAT), step(hold=(1,)), model=team)
    look = {"actions": [action("find", "Ada the 7th")], "report": None}
    vendors.reply(json.dumps(look), prompt="research/merge", times=1)

    outcome = await contest.run(THEME, teams=["alpha", "beta"], synthesis=True)

    first, second = prompts_of(vendors, "research/merge")
    assert outcome.status == "completed"
    assert "Ada the 7th" not in first
    assert numbers_of(second, "The guard of kiln-07 is called Ada the 7th")
    assert "1 more time." in first
    assert "`actions` is empty, and `report` holds the report." in second


async def test_a_follow_up_question_begins_with_the_passages_of_the_last_report(
    contest: Contest, vendors: Vendors
) -> None:
    script(vendors, step(action("find", "Ada the 7th")), step(hold=(1,)))
    await contest.run(THEME, thread_id="chat")
    before = len(vendors.calls)

    script(vendors, step())
    await contest.run("And who guards kiln 07?", thread_id="chat")

    (begun,) = [call.user for call in vendors.calls[before:] if call.prompt == "researcher/step"]
    assert numbers_of(begun.partition("# What you held before")[2], "Ada the 7th") == [1]
    (draft,) = [call.user for call in vendors.calls[before:] if call.prompt == "research/write"]
    assert numbers_of(draft, "Ada the 7th") == [1]


async def test_a_judge_knows_passages_by_the_numbers_of_their_team(contest: Contest, vendors: Vendors) -> None:
    script(vendors, step(HEAT), step(action("find", "Ada the 7th"), hold=(2, 5)), step(hold=(7,)))

    await contest.run(THEME)

    (draft,), (verdict,) = prompts_of(vendors, "research/write"), prompts_of(vendors, "evaluator/verdicts")
    heats = [f"gets as hot as {1000 + kiln} degrees" for kiln in range(1, 13)]
    known = {heat: numbers_of(draft, heat) for heat in heats if numbers_of(draft, heat)}
    assert known
    # Behind the last passage stands the submission.
    assert {heat: numbers_of(verdict, heat)[:1] for heat in known} == known
    assert sorted(shown(draft)) != list(range(1, len(shown(draft)) + 1))


async def test_a_documents_number_beside_the_place_that_is_read_is_a_slip_that_costs_nothing(
    contest: Contest, vendors: Vendors
) -> None:
    script(vendors, step(action("read", "7.2", source="7")), step(hold=(1,)))

    await contest.run(THEME)

    _, second = prompts_of(vendors, "researcher/step")
    assert numbers_of(second, "kiln-07 gets as hot as")
    assert "there is no source" not in second
