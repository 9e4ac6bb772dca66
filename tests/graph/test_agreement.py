"""Which teams say a statement of the published report, and what is printed where they contradict each other."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from contend.models.research import ResearchReport
from contend.report import read_draft
from fakes.chat_replies import report_reply, whole
from fakes.contests import Contest, preferring, write_workspace
from fakes.kilns import prompts_of
from fakes.vendors import Vendors

THEME = "Where is the vault, how long are backups kept, and what do they cost?"
VAULT: dict[str, Any] = {"text": "The vault is in Oslo.", "sources": [1], "quotes": ["vault stands in Oslo"]}
SAME = {"text": "Oslo has the vault.", "sources": [1], "quotes": ["The vault stands in Oslo, below"]}
BY_HANDBOOK = {"text": "Backups are kept for 90 days.", "sources": [2], "quotes": ["kept for 90 days"]}
BY_NOTICE = {"text": "Backups are kept for 30 days.", "sources": [3], "quotes": ["for 30 days only"]}
POINT = {"point": "How long backups are kept", "why": "The notice is the newer text.", "decided": "A"}


@pytest.fixture
def contest(workspace: Path, tmp_path: Path, vendors: Vendors) -> Contest:
    """Both teams read all of the documents and quote the vault's place; on backups they contradict each other."""
    write_workspace(workspace)
    documents = tmp_path / "vault"
    documents.mkdir()
    (documents / "1-vault.md").write_text("# Vault\n\nThe vault stands in Oslo, below the harbour.\n", "utf-8")
    (documents / "2-handbook.md").write_text("# Handbook\n\nBackups are kept for 90 days.\n", "utf-8")
    (documents / "3-notice.md").write_text("# Notice\n\nBackups stay for 30 days only.\n", "utf-8")
    for team, vault, backups in (("alpha", VAULT, BY_HANDBOOK), ("beta", SAME, BY_NOTICE)):
        vendors.reply(report_reply([vault], [vault, backups]), prompt="research/write", model=team)
    defaults = {"learn": False, "max_rounds": 1, "max_iterations": 1, "teams": ["alpha", "beta"]}
    return Contest(workspace, documents, vendors.base_url, defaults=defaults)


def keep(place: str, *teams: str) -> dict[str, Any]:
    return {"keep": place, "teams": list(teams)}


def merges(vendors: Vendors, *summary: dict[str, Any], **more: object) -> None:
    """The editor's report: these in its summary and findings; judges prefer it."""
    own = {"text": "Merged: they cost 4 kroner by our estimate.", "sources": [], "kind": "judgement"}
    opening = [*summary, {**whole(own), "basis": "proposed: 4", "teams": []}]
    report = json.loads(report_reply([VAULT], title="Merged: backups", taken=[], **more))
    report |= {"summary": opening, "findings": opening}
    report["sections"][0]["blocks"][0]["sentences"] = opening
    vendors.reply(json.dumps({"actions": [], "report": report}), prompt="research/merge")
    preferring(vendors, merged=True)


def ledger(contest: Contest) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(next((contest.workspace / "results").rglob("report.json")).read_text("utf-8"))
    return loaded


def told(report: dict[str, Any], place: str) -> tuple[set[str], set[str], str]:
    """The teams that say a statement of the ledger, those that found it independently, and the words on it."""
    (statement,) = [each for each in report["statements"] if each["place"] == place]
    return {*statement["teams"]}, {*statement["found_by"]}, statement["found"]


BOTH = {"alpha", "beta"}


async def test_a_merged_report_says_whose_its_statements_are_and_where_teams_disagreed_with_the_words_of_both(
    contest: Contest, vendors: Vendors
) -> None:
    sides = ["A finding 2", "B finding 2"]
    merges(vendors, keep("A summary 1", "B"), keep("A finding 2"), disagreements=[{**POINT, "sides": sides}])

    outcome = await contest.run(THEME, synthesis=True)

    report, markdown = ledger(contest), outcome.markdown or ""
    assert report["teams"]
    assert told(report, "summary 1") == (BOTH, BOTH, "found independently by 2 of 2 teams")
    assert [len(each) for each in told(report, "summary 2")] == [1, 0, 0]
    assert told(report, "summary 3") == (set(), set(), "")
    assert report["executive_summary"].startswith(("The vault is in Oslo[1].", "Oslo has the vault[1]."))
    section = markdown.partition("### Where the teams disagreed\n")[2].partition("\n### ")[0]
    assert re.search(r"- \*\*How long backups are kept\*\* \((Alpha, Beta|Beta, Alpha)\): the report follows", section)
    (disagreement,) = report["disagreements"]
    assert [each["place"] for each in disagreement["sides"]] == ["finding 2", "finding 2"]
    assert {each["team_id"]: each["quotes"] for each in disagreement["sides"]}["beta"] == ["for 30 days only"]
    assert disagreement["decided"] == disagreement["sides"][0]["team_id"]
    assert "### Found independently by several teams\n\n- by 2 of 2 teams: 3 statements\n" in markdown
    page = next((contest.workspace / "results").rglob("report.html")).read_text("utf-8")
    assert "<h3>Where the teams disagreed</h3>" in page
    assert "<h3>Found independently by several teams</h3>" in page
    assert ResearchReport.model_validate(report).disagreements
    assert "disagreed" not in " ".join(each.text for each in read_draft(markdown).draft.sentences())
    assert not [each for each in prompts_of(vendors, "pairwise/compare") if "disagreed" in each]


async def test_names_that_cannot_be_right_are_sent_back_and_then_left_out(contest: Contest, vendors: Vendors) -> None:
    by_one = {**whole(BY_HANDBOOK), "text": "Backups: kept for 90 days.", "teams": ["A", "Z"]}
    merges(
        vendors,
        keep("A summary 1"),
        keep("A 7.7.7"),
        by_one,
        disagreements=[
            {**POINT, "sides": ["A finding 2", "B finding 9"]},
            {**POINT, "sides": ["A finding 1", "A finding 2"]},
            {**POINT, "sides": ["A finding 2", "B finding 2"], "decided": "Z"},
            {**POINT, "sides": ["A finding 2", "B finding 2"], "why": "Both are in force.", "decided": ""},
        ],
    )

    outcome = await contest.run(THEME, synthesis=True)

    _, again = [call for call in vendors.calls if call.prompt == "research/merge"]
    fault = again.body["messages"][-1]["content"]
    assert "there is no sentence or item A 7.7.7 to keep" in fault
    assert "disagreement 1: no report has the statement B finding 9" in fault
    assert "disagreement 2: its sides are of one report" in fault
    assert "disagreement 3: report Z is none of its sides" in fault
    report = ledger(contest)
    assert told(report, "summary 2")[0] <= BOTH
    assert told(report, "summary 2")[2] == ""
    assert [each["why"] for each in report["disagreements"]] == ["Both are in force."]
    assert "undecided. Both are in force." in (outcome.markdown or "")


async def test_of_a_teams_own_report_code_says_which_others_quote_the_same_words(
    contest: Contest,
) -> None:
    outcome = await contest.run(THEME, synthesis=False)

    report = ledger(contest)
    assert told(report, "summary 1") == (BOTH, BOTH, "found independently by 2 of 2 teams")
    assert [len(each) for each in told(report, "finding 2")] == [1, 0, 0]
    assert "Where the teams disagreed" not in (outcome.markdown or "")


async def test_whose_a_statement_is_goes_by_its_place_in_print_where_a_refuted_one_before_it_is_left_out(
    contest: Contest, vendors: Vendors
) -> None:
    wrong = {**VAULT, "text": "The vault has 77 doors."}
    for team in ("alpha", "beta"):
        vendors.reply(report_reply([wrong, VAULT], [VAULT]), prompt="research/write", model=team)

    await contest.run(THEME, synthesis=False)

    report = ledger(contest)
    assert "77" not in report["executive_summary"]
    assert told(report, "summary 1") == (BOTH, BOTH, "found independently by 2 of 2 teams")


async def test_a_japanese_report_names_them_in_japanese(contest: Contest, vendors: Vendors) -> None:
    merges(
        vendors,
        keep("A summary 1", "B"),
        disagreements=[{**POINT, "sides": ["A finding 2", "B finding 2"], "decided": ""}],
    )

    outcome = await contest.run(THEME, synthesis=True, language="ja")

    assert "## チームの見解が分かれた点" in (outcome.markdown or "")
    assert "2チーム中2チームが独立に発見" in json.dumps(ledger(contest), ensure_ascii=False)
