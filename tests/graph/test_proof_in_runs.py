"""What code refutes goes back to its writer once; no judge clears it, it is struck out in print, and opens nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from fakes.chat_replies import report_reply
from fakes.contests import Contest, metrics_of, rounds_of, write_workspace
from fakes.kilns import prompts_of
from fakes.vendors import Vendors

THEME = "How many units does the plant make a month?"
TOLD = "The plant makes 4,200 units a month."
RIGHT: dict[str, Any] = {"text": TOLD, "sources": [1], "quotes": ["makes 4,200 units a month"]}
WRONG: dict[str, Any] = {
    "text": "The plant makes 4,700 units a month.",
    "sources": [1],
    "quotes": ["makes 4,200 units"],
}


@pytest.fixture
def contest(workspace: Path, tmp_path: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace, ("alpha",))
    documents = tmp_path / "plant"
    documents.mkdir()
    (documents / "plant.md").write_text(f"# Plant\n\n{TOLD}\n", "utf-8")
    defaults = {"learn": False, "max_rounds": 1, "max_iterations": 1, "teams": ["alpha"]}
    return Contest(workspace, documents, vendors.base_url, defaults=defaults)


def mends(vendors: Vendors, **statement: object) -> None:
    reply = {
        "place": "1.1.2",
        "statement": {"kind": "stated", "basis": "", **RIGHT, **statement} if statement else None,
    }
    vendors.reply(json.dumps({"statements": [reply]}), prompt="research/mend")


async def test_a_refuted_statement_goes_back_with_the_reason_and_is_printed_as_it_was_mended(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.reply(report_reply([RIGHT], body=[RIGHT, WRONG]), prompt="research/write")
    mends(vendors, text="A month is 4,200 units.")

    outcome = await contest.run(THEME)

    (prompt,) = prompts_of(vendors, "research/mend")
    assert "## 1.1.2" in prompt
    assert "nothing that it quotes has 4,700" in prompt
    assert "A month is 4,200 units[1]." in (outcome.markdown or "")
    assert "4,700" not in (outcome.markdown or "")


async def test_one_that_stays_refuted_is_struck_out_whatever_judges_say_and_costs_support(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.reply(report_reply([RIGHT], body=[RIGHT, WRONG]), prompt="research/write")
    vendors.reply(json.dumps({"statements": []}), prompt="research/mend")

    outcome = await contest.run(THEME)

    report, _, to_check = (outcome.markdown or "").partition("### Citations to check")
    support = metrics_of(rounds_of(contest)[0])["citation_support"]
    assert outcome.status == "completed"
    assert "~~The plant makes 4,700 units a month[1].~~ ⚠" in report
    assert "nothing that it quotes has 4,700" in to_check
    assert support.score == 0.5
    assert support.evidence == [WRONG["text"]]
    judged = [call.user for call in vendors.calls if call.prompt == "evaluator/verdicts"]
    assert all("«“makes 4,200 units”; refuted by code: nothing that it quotes has 4,700»" in each for each in judged)
    html = next((contest.workspace / "results").rglob("report.html")).read_text("utf-8")
    assert "<s>The plant makes 4,700 units a month" in html


async def test_nothing_refuted_opens_a_report_and_one_that_nothing_carries_can_go(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.reply(report_reply([WRONG], [WRONG], body=[RIGHT, WRONG]), prompt="research/write")
    mends(vendors)

    outcome = await contest.run(THEME)

    assert outcome.report is not None
    assert outcome.report.executive_summary == "The plant makes 4,200 units a month[1]."
    assert outcome.report.key_findings == ["The plant makes 4,200 units a month[1]."]
    assert "4,700" not in (outcome.markdown or "")


async def test_a_report_of_which_nothing_holds_is_struck_out_as_a_whole_and_says_so(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.reply(report_reply([WRONG]), prompt="research/write")

    outcome = await contest.run(THEME)

    report, _, about = (outcome.markdown or "").partition("## References")
    assert report.count("~~The plant makes 4,700 units a month[1].~~ ⚠") == 3
    assert "no statement of the report is carried by its passages" in about
    assert metrics_of(rounds_of(contest)[0])["citation_support"].score == 0.0


async def test_what_a_judge_doubts_by_its_place_is_sent_back_and_marked_and_a_contradiction_needs_its_words(
    contest: Contest, vendors: Vendors
) -> None:
    other = {"text": "It makes them at night.", "sources": [1], "quotes": ["The plant makes"]}
    third = {"text": "It makes no more than that.", "sources": [1], "quotes": ["units a month"]}
    vendors.reply(report_reply([RIGHT], body=[RIGHT, other, third]), prompt="research/write")
    doubts = [
        {"place": "1.1.2", "reason": "Night is not told.", "quote": "", "verdict": "absent"},
        {"place": "1.1.3", "reason": "It may be more.", "quote": "by night and day", "verdict": "contradicted"},
    ]
    vendors.malform(lambda reply: json.dumps(json.loads(reply) | {"doubts": doubts}), prompt="evaluator/verdicts")

    outcome = await contest.run(THEME)

    scored = rounds_of(contest)[0]
    support = metrics_of(scored)["citation_support"]
    assert "What it cites does not say this (Night is not told.)." in scored.feedback
    assert support.evidence == [other["text"]]
    assert support.partly == {third["text"]: "It may be more.", other["text"]: "Night is not told."}
    assert "It makes them at night[1]. ⚠" in (outcome.markdown or "")


async def test_a_judgement_that_a_judge_doubts_is_marked_with_the_reason_as_other_doubts_are(
    contest: Contest, vendors: Vendors
) -> None:
    advice = {"text": "Hire at once.", "sources": [], "kind": "judgement"}
    vendors.reply(report_reply([RIGHT], body=[RIGHT, advice]), prompt="research/write")
    doubts = [{"place": "1.1.2", "reason": "Nothing speaks for haste.", "quote": "", "verdict": "absent"}]
    vendors.malform(lambda reply: json.dumps(json.loads(reply) | {"doubts": doubts}), prompt="evaluator/verdicts")

    outcome = await contest.run(THEME)

    report, _, to_check = (outcome.markdown or "").partition("### Citations to check")
    assert "Hire at once†. ⚠" in report
    assert "Hire at once†. (Nothing speaks for haste.)" in to_check
    ledger = json.loads(next((contest.workspace / "results").rglob("report.json")).read_text("utf-8"))
    assert [each["text"] for each in ledger["statements"] if each["doubt"]] == ["Hire at once."]
