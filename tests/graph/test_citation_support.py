"""Whether what is cited says it: by code, and for doubtful sentences by the judges' model."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contend.checks import Claim, ClaimCheck, DraftClaim, PassageText
from contend.models.evaluation import CitationWord
from contend.team.support import CheckedClaim, Citations
from contend.text import without_marks
from fakes.chat_replies import report_reply, whole, with_findings
from fakes.contests import Contest, judge_apart, metrics_of, rounds_of, write_workspace
from fakes.kilns import numbers_of
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
CHEESE = "The moon is made of green cheese from Gouda."


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace, ("alpha",))
    judge_apart(workspace)
    return Contest(workspace, documents, vendors.base_url, defaults={"learn": False})


def with_limits(*sentences: dict[str, Any]) -> Callable[[str], str]:
    """What makes a writer's reply name these limits."""
    limits = [whole(each) for each in sentences]
    return lambda reply: json.dumps(json.loads(reply) | {"limits": limits}, ensure_ascii=False)


async def test_a_cited_sentence_that_its_source_does_not_say_costs_support_and_is_named(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.malform(with_findings({"text": CHEESE, "sources": [1]}), prompt="research/write")

    await contest.run(THEME, max_rounds=1)

    support = metrics_of(rounds_of(contest)[0])["citation_support"]
    assert support.score is not None
    assert 0 < support.score < 1
    assert CHEESE in support.reason


async def test_technical_sentences_are_published_as_they_were_written(
    contest: Contest, documents: Path, vendors: Vendors
) -> None:
    text = "After a crash, resume asks http://localhost:8000/v1 unless `run[0]` of Vec<String> is set by main()."
    (documents / "default.md").write_text(f"# Resume after a crash of a team\n\n{text}\n", "utf-8")
    vendors.malform(with_findings({"text": text, "sources": [1, 2, 3]}), prompt="research/write")

    outcome = await contest.run(THEME, max_rounds=1, learn=False)

    assert text.removesuffix(".") in (outcome.markdown or "")
    assert metrics_of(rounds_of(contest)[0])["citation_validity"].score == 1.0


async def test_one_right_sentence_is_published(contest: Contest, documents: Path, vendors: Vendors) -> None:
    text = "The plant makes 4,200 units a month."
    (documents / "plant.md").write_text(f"# Plant\n\n{text}\n", "utf-8")
    entry = [{"text": text, "sources": [1]}]
    vendors.reply(report_reply(entry), prompt="research/write")

    outcome = await contest.run("How many units does the plant make a month?", max_rounds=1, learn=False)

    assert outcome.status == "completed"
    assert outcome.report is not None
    assert outcome.report.executive_summary == "The plant makes 4,200 units a month[1]."


# By code it could be either: the words are its source's, the meaning is not.
TWISTED = "A killed process loses its workspace and begins again from nothing."


def asked_about_citations(vendors: Vendors) -> list[str]:
    return [call.user for call in vendors.calls if call.prompt == "citation/check"]


@pytest.mark.parametrize(
    ("verdict", "supported"), [("stated", True), ("derived", True), ("contradicted", False), ("absent", False)]
)
async def test_a_judge_is_asked_about_all_that_code_does_not_see_supported_and_its_word_decides(
    contest: Contest, vendors: Vendors, verdict: str, *, supported: bool
) -> None:
    findings = {"text": TWISTED, "sources": [1]}, {"text": CHEESE, "sources": [1]}
    vendors.malform(with_findings(*findings), prompt="research/write")
    answer = {"number": 1, "reason": "Nothing of beginning anew.", "verdict": verdict}
    vendors.reply(json.dumps({"citations": [answer]}), prompt="citation/check")

    outcome = await contest.run(THEME, max_rounds=1, learn=False)

    (call,) = asked_about_citations(vendors)
    support = metrics_of(rounds_of(contest)[0])["citation_support"]
    to_check = without_marks((outcome.markdown or "").partition("Citations to check")[2])
    assert TWISTED in call
    assert "The command resume reads this checkpoint" in call
    assert (TWISTED in support.evidence, CHEESE in support.evidence) == (not supported, True)
    assert (TWISTED in to_check, CHEESE in to_check) == (not supported, True)
    assert supported or re.search(r"killed process loses .* Nearest in the source: “.{20,}”", to_check)


def test_a_judges_word_is_for_a_sentence_its_calculation_and_its_passages() -> None:
    both = PassageText("a", "A", "It hums."), PassageText("b", "B", "It sings.")

    def checked(expression: str = "", passages: tuple[PassageText, ...] = both) -> CheckedClaim:
        claim = Claim(text="It is 8.", kind="derived", expression=expression)
        return CheckedClaim(DraftClaim("summary 1", claim, passages), ClaimCheck(level="supported", support=0.9))

    citations = Citations([checked(), checked("2 * 4")], 0)

    assert checked().key == checked(passages=both[::-1]).key != checked("2 * 4").key
    claims = citations.with_verdicts({checked().key: CitationWord("absent")}).claims
    assert [each.value for each in claims] == [0.0, 1.0]


@pytest.mark.parametrize("verdict", ["contradicted", "absent"])
async def test_a_sentence_that_is_not_said_is_sent_back_with_the_judges_reason_and_doubted_once(
    contest: Contest, vendors: Vendors, verdict: str
) -> None:
    vendors.malform(with_findings({"text": TWISTED, "sources": [1]}), prompt="research/write")
    reason = "They say that it goes on."
    verdicts = [{"number": 1, "reason": reason, "verdict": verdict}]
    vendors.reply(json.dumps({"citations": verdicts}), prompt="citation/check")

    outcome = await contest.run(THEME, max_rounds=1, learn=False)

    assert f"What it cites does not say this ({reason})." in rounds_of(contest)[0].feedback
    report, _, to_check = without_marks(outcome.markdown or "").partition("Citations to check")
    assert f"{TWISTED} ⚠" in report
    assert to_check.count(TWISTED.rstrip(".")) == 1


async def test_a_sentence_said_in_part_counts_half_is_sent_back_with_what_is_missing_and_carries_no_sign(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.malform(with_findings({"text": TWISTED, "sources": [1]}), prompt="research/write")
    verdict = {"number": 1, "reason": "That it begins anew is not there.", "verdict": "partly"}
    vendors.reply(json.dumps({"citations": [verdict]}), prompt="citation/check")

    outcome = await contest.run(THEME, max_rounds=1, learn=False)

    row = rounds_of(contest)[0]
    support = metrics_of(row)["citation_support"]
    report, _, to_check = without_marks(outcome.markdown or "").partition("Citations to check")
    assert support.partly == {TWISTED: verdict["reason"]}
    assert TWISTED not in support.evidence
    assert f"says only a part of this ({verdict['reason']})." in row.feedback
    assert re.search(rf"{re.escape(TWISTED.rstrip('.'))}.*\(said in part: {verdict['reason']}\)", to_check)
    assert f"{TWISTED} ⚠" not in report


async def test_a_judge_is_asked_about_a_sentence_from_a_source_in_another_language(
    contest: Contest, documents: Path, vendors: Vendors
) -> None:
    for name in ("resume.md", "teams.md", "scores.html"):
        (documents / name).unlink()
    text = "A call that was under way when the process was killed is made again."
    vendors.malform(with_findings({"text": text, "sources": [1]}), prompt="research/write")
    verdicts = [{"number": number, "reason": "So it stands there.", "verdict": "stated"} for number in range(1, 9)]
    vendors.reply(json.dumps({"citations": verdicts}), prompt="citation/check")

    await contest.run(THEME, max_rounds=1, learn=False, language="en")

    assert text in "".join(asked_about_citations(vendors))
    assert text not in metrics_of(rounds_of(contest)[0])["citation_support"].evidence


async def test_citations_to_check_are_the_published_sentences(contest: Contest, vendors: Vendors) -> None:
    wild = "According to [the moon report](https://evil.example/CANARY-99) [[2]](http://evil.example/x), doi:10.1/x: "
    vendors.malform(with_findings({"text": wild + CHEESE, "sources": [1]}), prompt="research/write")

    outcome = await contest.run(THEME, max_rounds=1, learn=False)

    to_check = (outcome.markdown or "").partition("Citations to check")[2]
    (claim,) = re.findall(r"^- (.*green cheese.*)$", to_check, re.MULTILINE)
    statement, _, reason = claim.partition("].")
    assert f"1. {statement}]. ⚠\n" in (outcome.markdown or "")
    assert re.search(r"green cheese from Gouda\[\d$", statement)
    assert "Nearest in the source: “" in reason
    files = [file.read_text("utf-8") for file in (contest.workspace / "results").rglob("report.*")]
    assert len(files) == len(outcome.files)
    assert not [text for text in files if re.search(r"evil|CANARY|doi:", text)]


DOUBTFUL = (
    "The captain gave a command and the ship goes on to Japan.",
    "Engineers read a file about bridges and hold a meeting afterwards.",
    "Nobody may copy the workspace while another program reads that file.",
    "Their process writes much more text into a file than anybody reads.",
    "A killed process loses its workspace and begins again from nothing.",
    "The machine goes to sleep when its owner reads a book.",
    "The file of the last run lies beside the command.",
)


async def test_a_judge_is_asked_about_all_doubtful_citations_at_once_with_each_passage_whole_and_once(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.malform(with_findings(*({"text": text, "sources": [1]} for text in DOUBTFUL)), prompt="research/write")

    await contest.run(THEME, max_rounds=1, learn=False)

    (call,) = asked_about_citations(vendors)
    assert set(DOUBTFUL) <= set(re.findall(r"<sentence-[0-9a-f]{8}>(.*?)</sentence-", call))
    assert call.count("The command resume reads this checkpoint") == 1


async def test_where_the_judge_of_citations_fails_what_code_found_stands(contest: Contest, vendors: Vendors) -> None:
    vendors.malform(with_findings({"text": TWISTED, "sources": [1]}), prompt="research/write")
    vendors.fail(prompt="citation/check", status=401)

    await contest.run(THEME, max_rounds=1, learn=False)

    support = metrics_of(rounds_of(contest)[0])["citation_support"]
    assert len(asked_about_citations(vendors)) == 1
    assert "only near to what they cite, or said in part: 1" in support.reason
    assert support.evidence == []


async def test_a_sentence_repeated_with_its_citation_adds_nothing_to_support(
    contest: Contest, vendors: Vendors
) -> None:
    wrong = {"text": CHEESE, "sources": [1]}
    right = {"text": "The command resume reads this checkpoint and goes on from there.", "sources": [1]}
    for findings in ([wrong, right], [wrong, right, right, right], [wrong, right, {"text": CHEESE, "sources": []}]):
        vendors.heal()
        vendors.malform(with_findings(*findings), prompt="research/write")
        await contest.run(THEME, max_rounds=1)

    scores = (metrics_of(event)["citation_support"].score or 0.0 for event in rounds_of(contest))
    plain, with_filler, without_its_citation = scores
    assert with_filler <= plain
    assert without_its_citation == plain


@pytest.mark.parametrize("parts", [("summary", "findings"), ("findings", "summary")])
async def test_a_sentence_counts_with_its_weakest_citation(
    contest: Contest, vendors: Vendors, parts: tuple[str, str]
) -> None:
    vendors.fail(prompt="citation/check", status=401)
    await contest.run(THEME, max_rounds=1, learn=False)
    (prompt,) = [call.user for call in vendors.calls if call.prompt == "research/write"]
    text = "The command resume reads this checkpoint and goes on from there."
    numbers = (numbers_of(prompt, words) for words in (text, "Each team has a stance of its own"))
    right, wrong = ([whole({"text": text, "sources": own})] for own in numbers)
    vendors.malform(
        lambda reply: json.dumps(json.loads(reply) | dict(zip(parts, (right, wrong), strict=True))),
        prompt="research/write",
    )

    await contest.run(THEME, max_rounds=1, learn=False)

    before, after = (metrics_of(event)["citation_support"].evidence for event in rounds_of(contest))
    assert (before, after) == ([], [text])


async def test_a_sentence_that_cites_nothing_and_that_no_passage_says_costs_support_unless_it_names_a_limit(
    contest: Contest, documents: Path, vendors: Vendors
) -> None:
    (documents / "saikai.txt").unlink()  # whether a text in another language says it, code does not know
    bare = {"text": CHEESE, "sources": []}
    for change in (with_findings(), with_limits(bare), with_findings({**bare, "kind": "stated"})):
        vendors.heal()
        vendors.malform(change, prompt="research/write")
        await contest.run(THEME, max_rounds=1)

    plain, with_limit, with_filler = (metrics_of(event)["citation_support"] for event in rounds_of(contest))
    assert with_limit.score == plain.score
    assert (with_filler.score or 0.0) < (plain.score or 0.0)


@pytest.mark.parametrize("by_cell", [True, False])
async def test_a_doubtful_row_is_signed_in_its_table_and_listed_by_its_cells(
    workspace: Path, documents: Path, vendors: Vendors, by_cell: bool
) -> None:
    write_workspace(workspace)
    judge_apart(workspace)
    contest = Contest(workspace, documents, vendors.base_url)
    cheese = {"text": "Green cheese from Gouda", "sources": [1]}
    of_row = {"cells": ["The moon", cheese if by_cell else cheese["text"]], "sources": [] if by_cell else [1]}
    row = {**of_row, "kind": "stated", "basis": ""}
    table = {"type": "table", "columns": ["Body", "Made of"], "rows": [row]}
    sections = [{"heading": "Bodies", "blocks": [table]}]
    vendors.malform(lambda reply: json.dumps(json.loads(reply) | {"sections": sections}), prompt="research/write")
    verdict = {"number": 1, "reason": "Nothing of cheese.", "verdict": "absent"}
    vendors.reply(json.dumps({"citations": [verdict]}), prompt="citation/check")

    outcome = await contest.run(THEME, max_rounds=1, learn=False, synthesis=False)

    report, _, to_check = (outcome.markdown or "").partition("Citations to check")
    of_name, of_value = ("", r"\[\d+\]") if by_cell else (r"\[\d+\]", "")
    cells = rf"The moon{of_name} \| Green cheese from Gouda{of_value}"
    assert re.search(rf"^\| {cells} ⚠ \|$", report, re.MULTILINE)
    assert re.search(rf"^- {cells}", to_check, re.MULTILINE)
    assert "Body: The moon" not in to_check
