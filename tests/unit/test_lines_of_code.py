"""Lines of code behind a statement, and list items of several statements: reply, draft, print and back."""

from collections.abc import Sequence
from typing import Any

import pytest

from contend.checks.proof import Refutation
from contend.models.replies import MendedReply, ReportReply, RevisionReply, StatementReply
from contend.models.research import Draft, ItemList, Passage, ResearchReport, SearchResult
from contend.report import to_html, with_ledger
from contend.report.build import build_report, published_lines
from contend.report.reading import read_draft
from contend.report.references import published_markdown
from contend.writing import draft_of, faults_of, mended, prove, revise, shown_draft, without
from fakes.reports import run_head

PASSAGES = [
    Passage(id="p1", url="https://a.org/1", title="Guide", text="Set mode to primary. A timeout of 30 s is enough."),
    Passage(id="p2", url="https://a.org/2", title="Notes", text="Both hosts need it."),
]
RESULTS = [SearchResult(title=each.title, summary="A.", source="web", url=each.url) for each in PASSAGES]
NUMBERED = {number: each.id for number, each in enumerate(PASSAGES, start=1)}
CODE = "mode = primary\n\n[limits]\n  timeout = 30  # s"
SET = f"In `app.conf`:\n```ini\n{CODE}\n```"


def statement(text: str, *sources: int, kind: str = "judgement", basis: str = "") -> dict[str, Any]:
    return {"text": text, "sources": [*sources], "quotes": [], "kind": kind, "basis": basis}


def reply(*blocks: dict[str, Any]) -> ReportReply:
    return ReportReply.model_validate(
        {
            "title": "Two hosts",
            "sources_by_name": False,
            "own_headings": True,
            "opening_heading": "",
            "reader_limit": None,
            "summary": [statement("Set it on both.", 2)],
            "findings": [statement("One is primary.", 1)],
            "sections": [{"heading": "Steps", "blocks": [*blocks]}],
            "limits": [],
            "lessons": [],
        }
    )


def items(*entries: object, numbered: bool = False) -> dict[str, Any]:
    return {"type": "list", "numbered": numbered, "items": [*entries]}


def paragraph(*sentences: dict[str, Any]) -> dict[str, Any]:
    return {"type": "paragraph", "sentences": [*sentences]}


def draft(*blocks: dict[str, Any]) -> Draft:
    return draft_of(reply(*blocks), NUMBERED, [])


def report_of(made: Draft) -> ResearchReport:
    return build_report(made, PASSAGES, RESULTS, theme="How?", language="en")


def body(made: Draft) -> str:
    return report_of(made).detailed_analysis.removeprefix("### Steps\n\n")


STEPS = items(
    [statement("Stop it.", 2), statement(SET, 1), statement("Both need it.", 2, kind="stated")],
    statement("Start it.", 1),
    numbered=True,
)


def test_lines_of_code_stand_below_their_statement_which_has_the_marks() -> None:
    made = draft(paragraph(statement("It runs.", 2), statement(SET, 1), statement("It stops.", 2)))

    assert body(made) == f"It runs[1]†. In `app.conf`[2]†:\n```\n{CODE}\n```\nIt stops[1]†."


def test_lines_that_hold_backticks_stand_between_more_of_them() -> None:
    made = draft(paragraph(statement("In `README.md`:\n````\n```\nmake\n```\n````", 1)))

    assert body(made) == "In `README.md`[2]†:\n````\n```\nmake\n```\n````"


def test_an_item_of_several_statements_has_each_with_its_own_marks() -> None:
    lines = CODE.replace("\n", "\n   ").replace("   \n", "\n")

    assert body(draft(STEPS)) == (
        f"1. Stop it[1]†. In `app.conf`[2]†:\n   ```\n   {lines}\n   ```\n   Both need it[1].\n2. Start it[2]†."
    )


def test_a_sentence_may_go_on_in_the_next_statement_behind_a_comma() -> None:
    both = [statement("The guide names it,", 1), statement("but both need it,", 2)]

    assert body(draft(paragraph(*both))) == body(draft(items(both))).removeprefix("- ")
    assert body(draft(items(both))) == "- The guide names it[2]†, but both need it[1]†."
    assert [each.text for each in published_lines(draft(items(both)), PASSAGES, RESULTS)][2:] == [
        "The guide names it[2]†,",
        "but both need it[1]†.",
    ]


def test_prompts_show_them_under_places_of_their_own() -> None:
    shown = shown_draft(draft(STEPS), {"p1": 1, "p2": 2})

    assert f"1.1.2: In `app.conf`: [P1] (same item, judgement)\n```\n{CODE}\n```\n1.1.3: Both need it. [P2]" in shown


def test_the_proof_of_lines_of_code_stands_before_them() -> None:
    quoted = {**statement(SET, 1, kind="stated"), "quotes": ["Set mode to primary"]}

    shown = shown_draft(draft(paragraph(quoted)), {"p1": 1}, proof=True)

    assert f"1.1.1: In `app.conf`: [P1] «“Set mode to primary”»\n```\n{CODE}\n```" in shown


def test_a_report_reads_back_with_its_lines_of_code_and_its_items() -> None:
    made = draft(paragraph(statement(SET, 1)), STEPS)

    read = read_draft(published_markdown(report_of(made), "", "en")).draft

    assert [each.text for each in read.sections[-1].statements()] == [
        f"In `app.conf`:\n```\n{CODE}\n```",
        f"Stop it. In `app.conf`:\n```\n{CODE}\n```",
        "Both need it.",
        "Start it.",
    ]
    (_, steps) = read.sections[-1].blocks
    assert isinstance(steps, ItemList)
    assert [len(each) for each in steps.by_item()] == [2, 1]


def test_a_second_block_of_code_behind_a_sentence_is_read_as_one_of_its_own() -> None:
    (block, other) = (
        read_draft("# Hosts\n\n## Steps\n\nSet it:\n```\na = 1\n```\n```\nb = 2\n```\n").draft.sections[0].blocks
    )

    assert [each.text for each in (*block.statements(), *other.statements())] == [
        "Set it:\n```\na = 1\n```",
        "`b = 2`",
    ]


def test_figures_in_lines_of_code_are_held_against_the_passages() -> None:
    def refuted(code: str, basis: str = "") -> list[Refutation]:
        made = draft(paragraph(statement(f"In `app.conf`:\n```\n{code}\n```", 1, basis=basis)))
        return prove(made, PASSAGES, around="How?").sections[0].statements()[0].refuted

    assert not refuted("timeout = 30")
    assert [each.detail for each in refuted("timeout = 45")] == ["45"]
    assert not refuted("timeout = 45", basis="proposed: 45")


def test_names_in_lines_of_code_may_stand_for_the_readers_own() -> None:
    def refuted(kind: str, quotes: Sequence[str] = ()) -> list[str]:
        one = {**statement("In `app.conf`:\n```\nhost = db2\n```", 1, kind=kind), "quotes": [*quotes]}
        made = prove(draft(paragraph(one)), PASSAGES, around="How?")
        return [each.detail for each in made.sections[0].statements()[0].refuted]

    assert refuted("judgement") == []
    assert refuted("stated", ["Set mode to primary"]) == ["db2"]


def test_refuted_lines_are_no_block_to_copy() -> None:
    made = draft(paragraph(statement("In `app.conf`:\n```\ntimeout = 45\n```", 1)))
    refuted = prove(made, PASSAGES, around="How?")

    assert body(refuted) == "In `app.conf`: ``` timeout = 45 ```[2]†."


def test_a_mended_statement_stays_in_its_item() -> None:
    wrong = items([statement("Stop it.", 2), statement("In `app.conf`:\n```\ntimeout = 45\n```", 1)])
    refuted = prove(draft(wrong), PASSAGES, around="How?")
    anew = {"place": "1.1.2", "statement": statement(SET, 1)}

    made = mended(refuted, MendedReply.model_validate({"statements": [anew]}), NUMBERED)

    assert body(made).startswith("- Stop it[1]†. In `app.conf`[2]†:\n  ```\n  mode")


def test_what_follows_a_removed_beginning_begins_the_item() -> None:
    left = without(draft(items(statement("Wait.", 1), *STEPS["items"])), lambda each: each.text == "Stop it.")

    assert left
    assert body(left).startswith("- Wait[2]†.\n- In `app.conf`[2]†:")


def test_a_revision_keeps_statements_of_an_item_and_puts_them_into_others() -> None:
    change = {"heading": "Steps", "blocks": [items([{"keep": "1.1.4"}, {"keep": "1.1.2"}], {"keep": "1.1.3"})]}
    unchanged = {"not_done": [], "title": None, "summary": None, "findings": None, "limits": None, "lessons": []}
    reply = RevisionReply.model_validate({**unchanged, "sections": [{"number": 1, "section": change}]})

    made = revise(draft(STEPS), reply, NUMBERED, [])

    assert body(made).startswith("- Start it[2]†. In `app.conf`[2]†:")
    assert body(made).endswith("\n- Both need it[1].")


def test_a_statement_that_is_kept_outside_of_a_list_goes_on_in_no_item() -> None:
    change = {"heading": "Steps", "blocks": [{"type": "paragraph", "sentences": [{"keep": "1.1.3"}]}]}
    unchanged = {"not_done": [], "title": None, "summary": None, "findings": None, "limits": None, "lessons": []}
    reply = RevisionReply.model_validate({**unchanged, "sections": [{"number": 1, "section": change}]})

    assert "same item" not in shown_draft(revise(draft(STEPS), reply, NUMBERED, []), {})


def test_in_the_opening_they_stand_in_the_sentence() -> None:
    opening = reply(STEPS).model_copy(update={"findings": [StatementReply.model_validate(statement(SET, 1))]})

    assert "\n" not in report_of(draft_of(opening, NUMBERED, [])).key_findings[0]


@pytest.mark.parametrize(
    "text",
    [
        "```\na = 1\n```",
        "Set:\n```\na = 1\n```\nThen start it.",
        "Set:\n```\na = 1",
        "A:\n```\na\n```\nB:\n```\nb\n```",
    ],
    ids=["no_words", "words_behind", "not_closed", "twice"],
)
def test_code_that_does_not_end_a_statement_goes_back_and_then_stands_in_its_line(text: str) -> None:
    made = reply(paragraph(statement(text, 1)))

    assert "lines of code end a statement" in faults_of(made, NUMBERED, 1)
    assert "\n" not in draft_of(made, NUMBERED, []).sections[0].statements()[0].text


def test_on_the_page_they_are_a_block_below_a_statement_that_opens_its_proof() -> None:
    made = draft(STEPS)
    lines = published_lines(made, PASSAGES, RESULTS)
    printed = {each.statement for each in lines}
    report = with_ledger(report_of(made), made, PASSAGES, question="How?", printed=printed, doubts={}, judged=[])

    page = to_html(report, run_head(), "en", lines=lines)

    opens = page.partition("Stop it")[2].partition("<pre>")[0]
    assert 'aria-describedby="proof-1-1-2"' in opens
    assert "<pre><code>mode = primary\n\n[limits]\n  timeout = 30  # s\n</code></pre>" in page
