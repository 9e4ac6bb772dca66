"""Whether what is cited shows it: by proof, and for statements that quote nothing by the judges' model."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contend.models.evaluation import CitationWord
from contend.models.research import CitedSentence, Passage, Refutation
from contend.team.support import Citations, CitedStatement
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


TWISTED = "A killed process loses its workspace and begins again from nothing."
SAYS_OTHERWISE = "resume reads this checkpoint and goes on from there"


def asked_about_citations(vendors: Vendors) -> list[str]:
    return [call.user for call in vendors.calls if call.prompt == "citation/check"]


def judged(
    vendors: Vendors, verdict: str, *, quote: str = SAYS_OTHERWISE, reason: str = "They say it goes on."
) -> None:
    """The judge's word on the first statement that quotes nothing."""
    answer = {"number": 1, "reason": reason, "quote": quote, "verdict": verdict}
    vendors.reply(json.dumps({"citations": [answer]}), prompt="citation/check")


@pytest.mark.parametrize(
    ("verdict", "quote", "shown"),
    [
        ("stated", SAYS_OTHERWISE, True),
        ("derived", SAYS_OTHERWISE, True),
        ("stated", "", False),
        ("stated", "it loses its workspace", False),
        ("contradicted", SAYS_OTHERWISE, False),
        ("absent", "", False),
    ],
)
async def test_a_judge_is_asked_about_what_quotes_nothing_and_its_word_counts_with_a_quote_that_stands(
    contest: Contest, vendors: Vendors, verdict: str, quote: str, *, shown: bool
) -> None:
    vendors.malform(with_findings({"text": TWISTED, "sources": [1]}), prompt="research/write")
    judged(vendors, verdict, quote=quote)

    outcome = await contest.run(THEME, max_rounds=1, learn=False)

    (call,) = asked_about_citations(vendors)
    support = metrics_of(rounds_of(contest)[0])["citation_support"]
    to_check = without_marks((outcome.markdown or "").partition("Citations to check")[2])
    assert TWISTED in call
    assert "The command resume reads this checkpoint" in call
    assert (TWISTED in support.evidence) is not shown
    assert (TWISTED in to_check) is not shown


async def test_the_ledger_says_the_same_of_judges_where_another_process_publishes(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.malform(with_findings({"text": TWISTED, "sources": [1]}), prompt="research/write")
    judged(vendors, "stated")
    waiting = await contest.run(THEME, thread_id="asked", max_rounds=1, learn=False, approve=["report"])

    outcome = await contest.resume("asked", "approve")

    assert (waiting.status, outcome.status) == ("interrupted", "completed")
    report = json.loads(next((contest.workspace / "results").rglob("report.json")).read_text("utf-8"))
    (stated,) = [each for each in report["statements"] if each["text"] == TWISTED]
    assert {"check": "judge", "outcome": "holds", "detail": ""} in stated["checks"]


HUM, SING = (Passage(id=each, url=f"https://{each}.example", title=each, text="It hums 8 Hz.") for each in ("a", "b"))


def statement(*, word: CitationWord | None = None, **fields: object) -> CitedStatement:
    sentence = CitedSentence.model_validate({"text": "It is 8.", "passages": ["a", "b"], **fields})
    return CitedStatement("summary 1", sentence, (HUM, SING), word)


REFUTED = [Refutation(rule="figure", detail="9")]


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (statement(), None),
        (statement(quotes=["hums 8 Hz"]), 1.0),
        (statement(kind="derived", basis="2 * 4"), 1.0),
        (statement(kind="derived", basis="as summary 2 says"), None),
        (statement(word=CitationWord("stated")), 1.0),
        (statement(quotes=["hums 8 Hz"], word=CitationWord("partly", "The unit.")), 0.5),
        (statement(quotes=["hums 8 Hz"], word=CitationWord("contradicted", "It is 9.")), 0.0),
        (statement(refuted=REFUTED, word=CitationWord("stated")), 0.0),
    ],
)
def test_a_statement_is_refuted_by_code_shown_by_a_quote_doubted_by_a_judge_or_not_judged(
    given: CitedStatement, value: float | None
) -> None:
    assert given.value == value
    assert bool(given.reason("en")) == (value is not None and value < 1)


def test_a_judges_word_is_for_a_statement_its_sum_and_its_passages() -> None:
    plain, reckoned = statement(kind="derived"), statement(kind="derived", basis="2 * 4")
    turned = replace(plain, passages=plain.passages[::-1])

    assert plain.key == turned.key != reckoned.key
    words = {plain.key: CitationWord("absent", "Nothing of it.")}
    assert [each.value for each in Citations([plain, reckoned], 0).with_words(words).statements] == [0.0, 1.0]


@pytest.mark.parametrize("verdict", ["contradicted", "absent"])
async def test_a_sentence_that_is_not_said_is_sent_back_with_the_judges_reason_and_doubted_once(
    contest: Contest, vendors: Vendors, verdict: str
) -> None:
    vendors.malform(with_findings({"text": TWISTED, "sources": [1]}), prompt="research/write")
    judged(vendors, verdict, reason="They say that it goes on.")

    outcome = await contest.run(THEME, max_rounds=1, learn=False)

    its_words = f" In the source: “{SAYS_OTHERWISE}”" if verdict == "contradicted" else ""
    reason = f"They say that it goes on.{its_words}"
    assert f"What it cites does not say this ({reason})." in rounds_of(contest)[0].feedback
    report, _, to_check = without_marks(outcome.markdown or "").partition("Citations to check")
    assert f"{TWISTED} ⚠" in report
    assert to_check.count(TWISTED.rstrip(".")) == 1
    assert reason in to_check


async def test_a_sentence_said_in_part_counts_half_is_sent_back_with_what_is_missing_and_carries_no_sign(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.malform(with_findings({"text": TWISTED, "sources": [1]}), prompt="research/write")
    reason = "That it begins anew is not there."
    judged(vendors, "partly", quote="", reason=reason)

    outcome = await contest.run(THEME, max_rounds=1, learn=False)

    row = rounds_of(contest)[0]
    support = metrics_of(row)["citation_support"]
    report, _, to_check = without_marks(outcome.markdown or "").partition("Citations to check")
    assert support.partly == {TWISTED: reason}
    assert TWISTED not in support.evidence
    assert f"says only a part of this ({reason})." in row.feedback
    assert re.search(rf"{re.escape(TWISTED.rstrip('.'))}.*\(said in part: {reason}\)", to_check)
    assert f"{TWISTED} ⚠" not in report


async def test_a_judge_shows_a_statement_by_a_source_in_another_language(
    contest: Contest, documents: Path, vendors: Vendors
) -> None:
    for name in ("resume.md", "teams.md", "scores.html"):
        (documents / name).unlink()
    text = "A call that was under way when the process was killed is made again."
    vendors.malform(with_findings({"text": text, "sources": [1]}), prompt="research/write")
    judged(vendors, "stated", quote="実行中だった呼び出しだけをやり直します")

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
    assert "It has other words" in reason
    files = [file.read_text("utf-8") for file in (contest.workspace / "results").rglob("report.*")]
    assert len(files) == len(outcome.files)
    assert not [text for text in files if re.search(r"evil|CANARY|doi:", text)]


UNQUOTED = (
    "The captain gave a command and the ship goes on to Japan.",
    "Engineers read a file about bridges and hold a meeting afterwards.",
    "Nobody may copy the workspace while another program reads that file.",
    "Their process writes much more text into a file than anybody reads.",
    "A killed process loses its workspace and begins again from nothing.",
    "The machine goes to sleep when its owner reads a book.",
    "The file of the last run lies beside the command.",
)


async def test_a_judge_is_asked_about_all_that_quotes_nothing_at_once_with_each_passage_whole_and_once(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.malform(with_findings(*({"text": text, "sources": [1]} for text in UNQUOTED)), prompt="research/write")

    await contest.run(THEME, max_rounds=1, learn=False)

    (call,) = asked_about_citations(vendors)
    assert set(UNQUOTED) <= set(re.findall(r"<sentence-[0-9a-f]{8}>(.*?)</sentence-", call))
    assert call.count("The command resume reads this checkpoint") == 1


async def test_where_the_judge_of_citations_fails_nobody_has_judged_what_quotes_nothing(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.malform(with_findings({"text": TWISTED, "sources": [1]}), prompt="research/write")
    vendors.fail(prompt="citation/check", status=401)

    outcome = await contest.run(THEME, max_rounds=1, learn=False)

    support = metrics_of(rounds_of(contest)[0])["citation_support"]
    assert len(asked_about_citations(vendors)) == 1
    assert "judged by nobody: 1" in support.reason
    assert (support.score, support.evidence) == (1.0, [])
    assert "⚠" not in (outcome.markdown or "")
    (ledger,) = (contest.workspace / "results").rglob("report.json")
    told = [each for each in json.loads(ledger.read_text("utf-8"))["statements"] if each["text"] == TWISTED]
    assert told
    assert "judge" not in [check["check"] for each in told for check in each["checks"]]


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
async def test_a_statement_counts_as_it_is_shown_least(
    contest: Contest, vendors: Vendors, parts: tuple[str, str]
) -> None:
    await contest.run(THEME, max_rounds=1, learn=False)
    (prompt,) = [call.user for call in vendors.calls if call.prompt == "research/write"]
    text = "The command resume reads this checkpoint and goes on from there."
    numbers = (numbers_of(prompt, words) for words in (text, "Each team has a stance of its own"))
    right, wrong = ([whole({"text": text, "sources": own, "quotes": [text]})] for own in numbers)
    vendors.malform(
        lambda reply: json.dumps(json.loads(reply) | dict(zip(parts, (right, wrong), strict=True))),
        prompt="research/write",
    )

    await contest.run(THEME, max_rounds=1, learn=False)

    before, after = (metrics_of(event)["citation_support"].evidence for event in rounds_of(contest))
    assert (before, after) == ([], [text])


async def test_a_sentence_that_cites_nothing_costs_support_unless_it_names_a_limit(
    contest: Contest, vendors: Vendors
) -> None:
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
    judged(vendors, "absent", reason="Nothing of cheese.")

    outcome = await contest.run(THEME, max_rounds=1, learn=False, synthesis=False)

    report, _, to_check = (outcome.markdown or "").partition("Citations to check")
    of_name, of_value = ("", r"\[\d+\]") if by_cell else (r"\[\d+\]", "")
    cells = rf"The moon{of_name} \| Green cheese from Gouda{of_value}"
    assert re.search(rf"^\| {cells} ⚠ \|$", report, re.MULTILINE)
    assert re.search(rf"^- {cells}", to_check, re.MULTILINE)
    assert "Body: The moon" not in to_check
