"""The last review: a reviewer holds the merged report against the sources, and the editor mends what it finds."""

import json
import re
from pathlib import Path

import pytest

from fakes.chat_replies import report_reply
from fakes.contests import Contest, preferring, write_workspace
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
    step,
    write_kilns,
)
from fakes.vendors import Vendors

OF_MERGED = "(?s)# Reports that the draft was merged from"
MERGED, MENDED = "Kilns get hot.", "Ada guards a kiln."


@pytest.fixture
def contest(workspace: Path, tmp_path: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace)
    teams = ["alpha", "beta"]
    defaults = {"learn": False, "evidence_tokens": TOO_FEW, "teams": teams, "max_rounds": 1, "max_iterations": 1}
    for team in teams:
        script(vendors, step(action("search", "heat of the kilns")), step(hold=(1, 2)), model=team)
    statements = [{"text": MERGED, "sources": [1]}, {"text": "Potters know.", "sources": [2]}]
    report = json.loads(report_reply(statements, title="Merged: kilns"))
    preferring(vendors, merged=True)
    vendors.reply(json.dumps({"actions": [], "report": {**report, "taken": []}}), prompt="research/merge")
    return Contest(workspace, write_kilns(tmp_path / "kilns"), vendors.base_url, defaults=defaults)


def mends(vendors: Vendors) -> None:
    statement = {"text": MENDED, "sources": [], "kind": "judgement", "basis": ""}
    reply = {"not_done": [], "summary": [statement], "findings": None, "sections": [], "limits": None, "lessons": []}
    vendors.reply(json.dumps(reply), prompt="research/revise")


def reviews_of_merged(vendors: Vendors) -> list[str]:
    return [prompt for prompt in prompts_of(vendors, "research/review") if re.search(OF_MERGED, prompt)]


async def test_the_editor_sees_what_the_researchers_of_all_teams_noted(contest: Contest, vendors: Vendors) -> None:
    notes = {"alpha": "The log has 1007 degrees.", "beta": "The plan has 1010 degrees."}
    for team, noted in notes.items():
        part = {"part": 1, "state": "answered", "passages": [1, 2], "missing": "", "notes": [noted]}
        script(vendors, step(action("search", "heat of the kilns")), step(parts=[part]), model=team)

    await contest.run(THEME, synthesis=True)

    (merging,) = prompts_of(vendors, "research/merge")
    assert [noted in merging for noted in notes.values()] == [True, True]
    drafts = {call.model: call.user for call in vendors.calls if call.prompt == "research/write"}
    assert [[noted in drafts[team] for noted in notes.values()] for team in notes] == [[True, False], [False, True]]


async def test_the_merged_report_is_held_against_the_sources_and_mended(contest: Contest, vendors: Vendors) -> None:
    vendors.reply(fixes("Name the guard.", passages=(1,)), prompt="research/review", match=OF_MERGED)
    vendors.reply(looks(action("find", "Ada the 7th")), prompt="research/review", match=OF_MERGED, times=1)
    mends(vendors)

    outcome = await contest.run(THEME, synthesis=True)

    first, second = reviews_of_merged(vendors)
    (mending,) = prompts_of(vendors, "research/revise")
    assert outcome.report is not None
    assert MENDED.removesuffix(".") in outcome.report.executive_summary
    assert MERGED.removesuffix(".") in outcome.report.key_findings[0]
    assert "## Report A" in first
    assert "## Report B" in first
    assert numbers_of(second, "The guard of kiln-07 is called Ada the 7th")
    assert numbers_of(mending, "The guard of kiln-07 is called Ada the 7th")
    assert "Name the guard. [P1]" in mending
    assert [MENDED in call.user for call in vendors.calls if call.prompt == "pairwise/compare"] == [True, True]


async def test_what_is_looked_up_for_the_merged_report_is_screened_before_it_is_shown(
    contest: Contest, vendors: Vendors
) -> None:
    plant_order(contest.documents / "kiln-07.md")
    vendors.reply(fixes("Name the guard."), prompt="research/review", match=OF_MERGED)
    vendors.reply(looks(action("find", "Ada the 7th")), prompt="research/review", match=OF_MERGED, times=1)
    mends(vendors)

    outcome = await contest.run(THEME, synthesis=True)

    assert len(reviews_of_merged(vendors)) == 2
    assert not [call.prompt for call in vendors.calls if ORDER in call.user and call.prompt != "research/injection"]
    assert "Kiln 07 (as a language model read it)" in (outcome.markdown or "")


async def test_a_report_that_the_reviewer_accepts_goes_to_the_judges_as_it_is(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.reply(fixes(accept=True), prompt="research/review", match=OF_MERGED)

    outcome = await contest.run(THEME, synthesis=True)

    assert outcome.status == "completed"
    assert reviews_of_merged(vendors)
    assert "research/revise" not in vendors.prompts()
    assert "pairwise/compare" in vendors.prompts()


@pytest.mark.parametrize(("prompt", "match"), [("research/review", OF_MERGED), ("research/revise", "")])
async def test_where_reviewer_or_editor_fails_the_report_is_judged_as_it_was_merged(
    contest: Contest, vendors: Vendors, prompt: str, match: str
) -> None:
    vendors.reply(fixes("Name the guard."), prompt="research/review", match=OF_MERGED)
    mends(vendors)
    vendors.reply("no JSON at all", prompt=prompt, match=match)

    outcome = await contest.run(THEME, synthesis=True)

    assert outcome.status == "completed"
    assert outcome.report is not None
    assert MERGED.removesuffix(".") in outcome.report.executive_summary
    assert "pairwise/compare" in vendors.prompts()


async def test_where_all_documents_are_read_whole_nothing_is_looked_up_again(
    contest: Contest, vendors: Vendors
) -> None:
    await contest.run(THEME, synthesis=True, evidence_tokens=40_000)

    assert "research/merge" in vendors.prompts()
    assert not reviews_of_merged(vendors)
