"""Structured drafts: from a writer's reply, as prompts show them, revised, and whole in the report."""

import re
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.checks import citation_numbers
from contend.models.replies import ReportReply, RevisionReply
from contend.models.research import (
    CitedSentence,
    Draft,
    ItemList,
    Paragraph,
    Passage,
    SearchResult,
    Section,
    Table,
    TableCell,
    TableRow,
)
from contend.report.build import build_report, published_lines, sum_lines
from contend.report.plain import with_joined_marks
from contend.report.reading import read_draft
from contend.report.references import published_markdown
from contend.stores import content_id, passage_id
from contend.writing import (
    draft_of,
    faults_of,
    faults_of_revision,
    length_of,
    not_found_words,
    over_limit,
    revise,
    shown_draft,
    target_length,
    with_passages,
    without,
)

PASSAGES = [Passage(id=f"p{number}", url=f"https://a.org/{number}", title="A") for number in (1, 2, 3)]
NUMBERED = {number: passage.id for number, passage in enumerate(PASSAGES, start=1)}
RESULTS = [SearchResult(title="A", summary="A.", source="web", url=passage.url) for passage in PASSAGES]
BULLETS = [{"id": "b-1"}, {"id": "b-2"}]


def statement_reply(text: str, *sources: int, kind: str = "stated", basis: str = "") -> dict[str, Any]:
    return {"text": text, "sources": list(sources), "kind": kind, "basis": basis}


def row(*cells: str, sources: tuple[int, ...] = (1,)) -> dict[str, Any]:
    return {"cells": list(cells), "sources": list(sources), "kind": "stated", "basis": ""}


def cell(text: str, *sources: int) -> dict[str, Any]:
    return {"text": text, "sources": list(sources)}


TABLE = {
    "type": "table",
    "columns": ["Bridge", "Hertz"],
    "rows": [row("West", "0.2"), row("East", "0.9", sources=(3,))],
}
OF_CELLS: dict[str, Any] = {
    "type": "table",
    "columns": ["Bridge", "Hertz", "Cost | £"],
    "rows": [
        {**row(sources=()), "cells": [cell("West"), cell("0.2", 1), cell("240", 3, 2)]},
        {
            **row(sources=(1, 3)),
            "cells": [cell("East"), cell("0.9", 3), cell("")],
            "kind": "derived",
            "basis": "3 * 0.3",
        },
    ],
}
"""A row whose cells name all that it rests on, and one that rests on the first passage as a whole, too."""
REPLY: dict[str, Any] = {
    "title": "Humming bridges",
    "sources_by_name": False,
    "own_headings": False,
    "opening_heading": "",
    "reader_limit": None,
    "summary": [statement_reply("Bridges hum in the wind.", 1)],
    "findings": [statement_reply("Dampers quieten most of them.", 2)],
    "sections": [
        {
            "heading": "Causes",
            "blocks": [{"type": "paragraph", "sentences": [statement_reply("Vortices are shed.", 1, 2)]}, TABLE],
        },
        {
            "heading": "Costs",
            "blocks": [
                {
                    "type": "list",
                    "items": [statement_reply("Twelve dampers cost 240.", 3, kind="derived", basis="12 * 20")],
                }
            ],
        },
    ],
    "limits": [statement_reply("Prices of 2026 are not known.", kind="not_found", basis="2: damper price 2026")],
    "lessons": [2, 9],
}


def draft(**changed: object) -> Draft:
    return draft_of(ReportReply.model_validate({**REPLY, **changed}), NUMBERED, BULLETS)


def revision(**changed: object) -> RevisionReply:
    unchanged = {"not_done": [], "summary": None, "findings": None, "sections": [], "limits": None, "lessons": []}
    return RevisionReply.model_validate({**unchanged, **changed})


def test_a_draft_names_passages_by_id_and_used_lessons() -> None:
    assert [(each.place, each.sentence.passages) for each in draft().placed_sentences()] == [
        ("summary 1", ["p1"]), ("finding 1", ["p2"]), ("1.1.1", ["p1", "p2"]), ("1.2.1", ["p1"]), ("1.2.2", ["p3"]),
        ("2.1.1", ["p3"]), ("limit 1", []),
    ]  # fmt: skip
    assert draft().bullets_used == ["b-2"]


def test_a_finding_on_what_speaks_for_and_against_may_rest_on_many_passages() -> None:
    numbers = range(1, 17)
    passages = [Passage(id=f"p{number}", url=f"https://a.org/{number}", title="A") for number in numbers]
    reply = ReportReply.model_validate(
        {**REPLY, "findings": [statement_reply("West: it is quiet, and costly.", *numbers)]}
    )

    (finding,) = draft_of(reply, {number: each.id for number, each in enumerate(passages, start=1)}, BULLETS).findings

    assert finding.passages == [passage.id for passage in passages]


def test_a_draft_is_shown_with_places_passages_kinds_and_what_they_rest_on() -> None:
    assert shown_draft(draft(), {"p1": 1, "p2": 5, "p3": 7}) == (
        "Title: Humming bridges\n\n## Summary\nsummary 1: Bridges hum in the wind. [P1]\n\n## Findings\n"
        "finding 1: Dampers quieten most of them. [P5]\n\n## Section 1: Causes\n1.1 paragraph\n"
        "1.1.1: Vortices are shed. [P1][P5]\n"
        "1.2 table: Bridge | Hertz\n1.2.1: West | 0.2 (row [P1])\n1.2.2: East | 0.9 (row [P7])\n\n"
        "## Section 2: Costs\n2.1 list\n"
        "2.1.1: Twelve dampers cost 240. [P7] (derived, 12 * 20)\n\n## Limits\n"
        "limit 1: Prices of 2026 are not known. (not_found, 2: damper price 2026)"
    )


def test_a_draft_is_shown_with_how_it_is_printed() -> None:
    form = {"own_headings": True, "opening_heading": "1. What to do", "sources_by_name": True}

    assert shown_draft(draft().model_copy(update=form), {}).splitlines()[1:4] == [
        "Sources: listed by file name at the end",
        "Headings: those of the sections alone are printed",
        "Heading above summary and findings: 1. What to do",
    ]


def with_cells(**changed: object) -> Draft:
    return draft(sections=[{"heading": "Causes", "blocks": [OF_CELLS]}], **changed)


def test_a_row_rests_on_what_its_cells_name_and_what_it_names_as_a_whole() -> None:
    rows = [each.sentence for each in with_cells().placed_sentences() if each.place.startswith("1.1.")]

    assert [each.passages for each in rows] == [["p1", "p3", "p2"], ["p3", "p1"]]
    assert rows[0].text == "Bridge: West; Hertz: 0.2; Cost | £: 240"


def test_a_cell_is_shown_with_its_passages_and_its_row_with_those_that_no_cell_names() -> None:
    text = shown_draft(with_cells(), {"p1": 1, "p2": 5, "p3": "?"})

    assert "1.1.1: West | 0.2 [P1] | 240 [?][P5]\n" in text
    assert "1.1.2: East | 0.9 [?] |  (row [P1], derived, 3 * 0.3)\n" in text
    assert shown_draft(with_cells(), {}, basis=False).splitlines()[-4] == "1.1.2: East | 0.9 |  (derived)"


def test_cells_that_are_their_text_alone_read_as_cells_without_passages_in_replies_and_in_stored_drafts() -> None:
    stored = draft().model_dump()
    for each in stored["sections"][0]["blocks"][1]["rows"]:
        each["cells"] = [one["text"] for one in each["cells"]]

    assert Draft.model_validate(stored) == draft()
    assert draft().rows()["1.2.1"] == TableRow(cells=[TableCell(text="West"), TableCell(text="0.2")], passages=["p1"])


TARGET = target_length("brief", parts=1)


def printed_text(report_draft: Draft) -> str:
    """The Markdown up to the references and the words on the run."""
    urls = {passage.id: f"file:///docs/{passage.id}.md" for passage in PASSAGES}
    passages = [passage.model_copy(update={"url": urls[passage.id]}) for passage in PASSAGES]
    results = [SearchResult(title="A", summary="A.", source="local", url=url) for url in urls.values()]
    report = build_report(report_draft, passages, results, theme="Why?", language="en")
    markdown = published_markdown(report, "## About this run", "en", folders=[Path("/docs")])
    return re.split("## (?:About this run|References)", markdown, maxsplit=1)[0]


@pytest.mark.parametrize("by_name", [False, True])
def test_the_length_of_a_draft_is_that_of_its_markdown_as_it_is_printed(*, by_name: bool) -> None:
    form = {"own_headings": True, "opening_heading": "1. What to do", "sources_by_name": by_name, "limits": []}
    report_draft = draft(findings=[*REPLY["findings"] * 2, statement_reply("Thus.")]).model_copy(update=form)

    length = length_of(report_draft, TARGET)

    assert length["draft_words"] == len(printed_text(report_draft).split())
    assert (
        length_of(report_draft.model_copy(update={"title": ""}), TARGET)["draft_characters"]
        == length["draft_characters"] - 14
    )
    parts = {part.name: part.words for part in length["draft_parts"]}
    assert parts["section 2"] == len(printed_text(report_draft).partition("## Costs")[2].partition("##")[0].split()) + 2
    assert sum(parts.values()) == length["draft_words"]


def test_passages_of_one_document_are_one_source_in_the_length_of_a_draft() -> None:
    once, other = [passage_id(content_id(text), "file:///docs/a.md") for text in ("first", "second")]
    elsewhere = passage_id(content_id("first"), "file:///docs/b.md")

    def words(*passages: str) -> int:
        report_draft = draft().model_copy(update={"sources_by_name": True, "own_headings": True})
        summary = [report_draft.summary[0].model_copy(update={"passages": [*passages]})]
        return length_of(report_draft.model_copy(update={"summary": summary}), TARGET)["draft_words"]

    assert [words(once, other) - words(once), words(once, elsewhere) - words(once)] == [0, 2]


def test_marks_have_as_many_characters_in_the_length_of_a_draft_as_are_printed() -> None:
    ids = [f"p{number}" for number in range(1, 12)]
    summary = [CitedSentence(text="風で鳴る。", passages=each) for each in (["p1"], ids, ["p10", "p2"], ["p10"])]

    def characters(sentences: list[CitedSentence]) -> int:
        return length_of(draft().model_copy(update={"summary": sentences}), TARGET)["draft_characters"]

    bare = [each.model_copy(update={"passages": []}) for each in summary]
    assert characters(summary) - characters(bare) == len("[1][1–11][2,10][10]")


WORDS_OF_A_LINE = st.lists(st.text("abXZ09", min_size=1, max_size=3), min_size=1, max_size=3).map(" ".join)
LINES = st.builds(str.__add__, WORDS_OF_A_LINE, st.sampled_from(["", ".", "?", '."', ": x"]))
CODE = st.sampled_from(["", "", "\n```\na = 1\n\n  # b [1]\n```", "\n````\n```\n````"])
IDS = st.lists(st.sampled_from([passage.id for passage in PASSAGES]), unique=True)
STATEMENTS = st.lists(
    st.builds(CitedSentence, text=st.builds(str.__add__, LINES, CODE), passages=IDS, goes_on=st.booleans()),
    min_size=1,
    max_size=3,
)


def tables_of(columns: int) -> st.SearchStrategy[Table]:
    cells = st.builds(TableCell, text=st.just("") | LINES, passages=IDS)
    kinds = st.sampled_from(["stated", "derived", "not_found"])
    rows = st.builds(TableRow, cells=st.lists(cells, min_size=columns, max_size=columns), passages=IDS, kind=kinds)
    names = st.lists(WORDS_OF_A_LINE, min_size=columns, max_size=columns)
    return st.builds(Table, columns=names, rows=st.lists(rows, min_size=1, max_size=3))


BLOCKS: st.SearchStrategy[Any] = st.one_of(
    st.builds(Paragraph, sentences=STATEMENTS),
    st.builds(ItemList, items=STATEMENTS),
    st.integers(1, 3).flatmap(tables_of),
)
SECTIONS = st.builds(Section, heading=st.just("") | WORDS_OF_A_LINE, blocks=st.lists(BLOCKS, min_size=1, max_size=2))


@given(
    st.builds(
        Draft,
        title=WORDS_OF_A_LINE,
        summary=STATEMENTS,
        findings=STATEMENTS,
        sections=st.lists(SECTIONS, min_size=1, max_size=2),
        limits=st.just([]) | STATEMENTS,
        sources_by_name=st.booleans(),
        own_headings=st.booleans(),
        opening_heading=st.just("") | WORDS_OF_A_LINE,
    )
)
def test_a_draft_has_as_many_words_as_its_markdown_whatever_it_has_and_however_it_is_headed(made: Draft) -> None:
    assert length_of(made, TARGET)["draft_words"] == len(printed_text(made).split())


def test_a_draft_that_is_longer_than_its_reader_allows_goes_back_with_its_length_as_printed() -> None:
    words = length_of(draft(), TARGET)["draft_words"]

    assert over_limit(draft(reader_limit=None)) == over_limit(draft(reader_limit=words)) == ""
    fault = over_limit(draft(reader_limit=words - 1))
    assert fault.startswith(f"the report has {words} words as it is printed (title: ")
    assert f"its reader allows {words - 1}" in fault


@pytest.mark.parametrize(("parts", "words"), [(0, 1500), (2, 1500), (5, 2250), (8, 3000), (20, 3000)])
def test_a_question_of_many_parts_has_up_to_twice_the_length(parts: int, words: int) -> None:
    assert target_length("standard", parts) == {"words": words, "characters": 2 * words}


@pytest.mark.parametrize(
    ("limit", "target", "of", "left", "is_full"),
    [(None, 100, 100, 26, False), (None, 40, 40, -34, True), (74, 100, 74, 0, True)],
    ids=["room", "too_long", "at_the_readers_limit"],
)
def test_what_is_left_is_of_the_readers_limit_or_else_of_the_target_length(
    limit: int | None, target: int, of: int, left: int, *, is_full: bool
) -> None:
    length = length_of(draft(reader_limit=limit), {"words": target, "characters": 2 * target})

    assert (length["limit"], length["room_left"], length["is_full"]) == (of, left, is_full)


def test_a_japanese_draft_is_held_against_its_readers_limit_in_characters() -> None:
    japanese = {"summary": [statement_reply("橋は風で鳴る。", 1)]}
    characters = length_of(draft(**japanese), TARGET)["draft_characters"]

    assert over_limit(draft(**japanese, reader_limit=characters)) == ""
    assert over_limit(draft(**japanese, reader_limit=characters - 1)).startswith(f"the report has {characters} char")


def test_a_revision_is_held_against_the_limit_that_its_first_draft_names() -> None:
    before = draft(reader_limit=length_of(draft(), TARGET)["draft_words"])

    longer = revise(
        before, revision(findings=[statement_reply("Dampers quieten most of them, and not all.", 2)]), [], []
    )

    assert over_limit(before) == ""
    assert over_limit(longer)


def test_what_a_rounds_revisions_declined_stays_with_the_draft_until_it_is_judged() -> None:
    once = revise(draft(), revision(not_done=["1.1.1: no passage gives a year."]), NUMBERED, BULLETS)

    twice = revise(once, revision(not_done=["2.1.1: there is no room."]), NUMBERED, BULLETS)

    assert twice.declined == ["1.1.1: no passage gives a year.", "2.1.1: there is no room."]


def test_a_revision_changes_what_it_names_and_nothing_else() -> None:
    section = {"heading": "Noise", "blocks": [{"type": "paragraph", "sentences": [statement_reply("Slats sing.", 2)]}]}

    after = revise(
        draft(),
        revision(
            findings=[statement_reply("New.", 1)],
            sections=[{"number": 2, "section": None}, {"number": 0, "section": section}],
        ),
        PASSAGES,
        BULLETS,
    )

    assert after.summary == draft().summary
    assert after.limits == draft().limits
    assert [each.text for each in after.findings] == ["New."]
    assert [section.heading for section in after.sections] == ["Causes", "Noise"]
    assert after.sections[0] == draft().sections[0]


def test_a_revision_that_takes_every_section_away_leaves_them() -> None:
    gone = [{"number": number, "section": None} for number in (1, 2)]

    assert revise(draft(), revision(sections=gone), NUMBERED, BULLETS).sections == draft().sections


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (
            statement_reply("Bridges hum.", 4),
            "summary 1: passage 4 is not among those shown",
        ),
        (
            statement_reply("Bridges hum [P2].", 2),
            "summary 1: [P2] stands in the text: name passages in `sources` only",
        ),
        (statement_reply("Bridges hum [2].", 2), "summary 1: [2] stands in the text: name passages in `sources` only"),
        (statement_reply("Bridges hum."), "summary 1: it is stated and names no passage"),
        (statement_reply("So it is 240.", kind="derived"), "summary 1: it is derived and names no passage"),
    ],
)
def test_a_writer_is_told_what_is_wrong_with_its_reply(statement: dict[str, Any], fault: str) -> None:
    reply = ReportReply.model_validate({**REPLY, "summary": [statement]})

    assert faults_of(reply, NUMBERED, 2).startswith(fault)
    assert faults_of_revision(revision(summary=[statement]), draft(), NUMBERED, 2).startswith(fault)


@pytest.mark.parametrize("basis", ["", "damper price", "3: damper price", "0: damper price", "2:", "2: ?!"])
def test_what_is_not_found_names_its_part_and_the_words_to_search_for(basis: str) -> None:
    statement = statement_reply("Unknown.", kind="not_found", basis=basis)

    assert "`basis` is no part (1 to 2) with key words" in faults_of_revision(
        revision(limits=[statement]), draft(), 3, 2
    )


@pytest.mark.parametrize("quotes", [[], ["0.2 Hz"], ["0.2 Hz", "0.2 Hz"]])
def test_what_sources_disagree_on_quotes_both_sides(quotes: list[str]) -> None:
    statement = statement_reply("0.2 or 0.9 Hz.", 1, 2, kind="disputed") | {"quotes": quotes}

    told = faults_of(ReportReply.model_validate({**REPLY, "summary": [statement]}), NUMBERED, 2)
    assert told.startswith("summary 1: it is disputed: `quotes` holds the words of each side")


def test_what_a_draft_calls_not_found_is_looked_for_once_by_part_and_words() -> None:
    limits = [
        statement_reply(f"Unknown {at}.", kind="not_found", basis=basis)
        for at, basis in enumerate(["2: damper price", "1：ダンパーの価格", "2: damper price ", "as it is said"])
    ]

    assert not_found_words(draft(limits=limits)) == [(2, "damper price"), (1, "ダンパーの価格")]


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        (
            [cell("West"), cell("0.2", 4)],
            "1.1.1: passage 4 is not among those shown: name passages by the numbers in their tags, such as P1",
        ),
        ([cell("West"), cell("0.2 [1]", 1)], "1.1.1: [1] stands in the text: name passages in `sources` only"),
        ([cell("West"), cell("0.2")], "1.1.1: it is stated and names no passage"),
        ([cell("West"), cell("0.2", 1)], ""),
    ],
)
def test_a_writer_is_told_what_is_wrong_with_a_cell(cells: list[dict[str, Any]], fault: str) -> None:
    table = {**TABLE, "rows": [{**row(sources=()), "cells": cells}]}
    reply = ReportReply.model_validate({**REPLY, "sections": [{"heading": "Causes", "blocks": [table]}]})

    assert faults_of(reply, NUMBERED, 2)[: len(fault) or None] == fault


@pytest.mark.parametrize(
    "statement",
    [
        statement_reply("Use `x[0]`.", 1),
        statement_reply("I would wait.", kind="judgement"),
        statement_reply("Unknown.", kind="not_found", basis="2: damper price"),
        statement_reply("0.2 or 0.9 Hz.", 1, 2, kind="disputed") | {"quotes": ["0.2 Hz", "0.9 Hz"]},
    ],
)
def test_code_judgement_and_what_is_not_found_are_no_faults(statement: dict[str, Any]) -> None:
    assert faults_of(ReportReply.model_validate({**REPLY, "summary": [statement]}), NUMBERED, 2) == ""


def test_a_section_that_the_draft_does_not_have_is_a_fault_of_a_revision() -> None:
    assert faults_of_revision(revision(sections=[{"number": 7, "section": None}]), draft(), NUMBERED, 2) == (
        "the draft has no section 7"
    )


def keep(place: str) -> dict[str, str]:
    return {"keep": place}


def revised_section(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"number": 1, "section": {"heading": "Causes", "blocks": list(blocks)}}]


def test_a_revision_writes_only_what_changes_and_keeps_the_rest_by_its_place() -> None:
    text = {"type": "paragraph", "sentences": [statement_reply("Wind sheds vortices.", 2), keep("1.1.1")]}
    table = {**TABLE, "rows": [keep("1.2.2"), row("West", "0.3")]}

    after = revise(draft(), revision(sections=revised_section(text, table)), NUMBERED, BULLETS)

    (paragraph, bridges), before = after.sections[0].blocks, draft()
    assert isinstance(paragraph, Paragraph)
    assert isinstance(bridges, Table)
    assert [each.text for each in paragraph.sentences] == ["Wind sheds vortices.", "Vortices are shed."]
    assert paragraph.sentences[1] == before.sections[0].statements()[0]
    assert bridges.rows[0] == before.rows()["1.2.2"]
    assert bridges.rows[1].texts() == ["West", "0.3"]
    assert after.sections[1:] == before.sections[1:]


def test_a_revision_keeps_statements_of_summary_and_findings_by_place_and_may_change_the_title() -> None:
    changed = statement_reply("Most dampers help.", 2)
    reply = revision(title="Quiet bridges", summary=[keep("summary 1"), keep("1.1.1")], findings=[changed])

    after = revise(draft(), reply, NUMBERED, BULLETS)

    assert after.title == "Quiet bridges"
    assert [each.text for each in after.summary] == ["Bridges hum in the wind.", "Vortices are shed."]
    assert after.summary[0] == draft().summary[0]
    assert [each.text for each in after.findings] == ["Most dampers help."]
    assert faults_of_revision(reply, draft(), NUMBERED, 2) == ""


def test_a_part_that_keeps_what_is_not_there_or_is_too_long_with_it_goes_back() -> None:
    long = draft(findings=[statement_reply("Bridges hum. " * 60, 1)])
    unknown, too_long = revision(summary=[keep("finding 9")]), revision(summary=[keep("finding 1"), keep("summary 1")])
    own = statement_reply("Bridges hum, it is " * 10, 1)

    assert faults_of_revision(unknown, long, NUMBERED, 2) == "there is no sentence or item finding 9 to keep"
    assert revise(long, unknown, NUMBERED, BULLETS).summary == long.summary
    assert "the summary has" not in faults_of_revision(too_long, long, NUMBERED, 2)
    assert "at most 850 fit" in faults_of_revision(revision(summary=[own, keep("finding 1")]), long, NUMBERED, 2)


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ({"type": "paragraph", "sentences": [keep("9.1.1")]}, "there is no sentence or item 9.1.1 to keep"),
        ({"type": "list", "items": [keep("1.2.1")]}, "there is no sentence or item 1.2.1 to keep"),
        ({**TABLE, "rows": [keep("1.1.1")]}, "there is no row of 2 cells 1.1.1 to keep"),
        ({**TABLE, "columns": ["Bridge"], "rows": [keep("1.2.1")]}, "there is no row of 1 cells 1.2.1 to keep"),
    ],
)
def test_what_cannot_be_kept_is_a_fault_and_then_leaves_the_section_as_it_was(
    block: dict[str, Any], fault: str
) -> None:
    reply = revision(sections=revised_section(block))

    assert faults_of_revision(reply, draft(), NUMBERED, 2) == fault
    assert revise(draft(), reply, NUMBERED, BULLETS).sections == draft().sections


def test_a_row_that_no_longer_fits_takes_nothing_of_the_draft_with_it() -> None:
    text = {"type": "paragraph", "sentences": [keep("1.1.1"), statement_reply("Wind sheds vortices.", 2)]}
    wider = {**TABLE, "columns": ["Bridge", "Hertz", "Year"], "rows": [keep("1.2.1"), row("East", "0.9", "2026")]}
    moved = {**TABLE, "columns": ["Cost"], "rows": [keep("1.2.2"), row("240")]}
    costs = {"number": 2, "section": {"heading": "Costs", "blocks": [moved]}}

    gone = [{"number": number, "section": None} for number in (1, 2)]
    takes_in = revised_section({"type": "list", "items": [keep("2.1.1")]}, wider)

    for changes in (revised_section(text, wider), [costs], [gone[0], costs], [*takes_in, gone[1]]):
        assert revise(draft(), revision(sections=changes), NUMBERED, BULLETS).sections == draft().sections


def test_a_table_needs_as_many_cells_as_columns() -> None:
    table = {**TABLE, "rows": [row("West")]}

    with pytest.raises(ValueError, match="row 1 has 1 cells for 2 columns"):
        draft(sections=[{"heading": "Causes", "blocks": [table]}])


def test_a_table_stands_in_the_report_with_the_marks_of_each_row_behind_its_name() -> None:
    body = build_report(draft(), PASSAGES, RESULTS, theme="Why?", language="en").detailed_analysis

    assert "### Causes\n\nVortices are shed[1][2].\n\n| Bridge | Hertz |\n|---|---|\n" in body
    assert "| West[1] | 0.2 |\n| East[3] | 0.9 |" in body
    assert "### Costs\n\n- Twelve dampers cost 240[3][=12×20]." in body


def test_each_cell_has_its_marks_behind_it_and_the_name_of_a_row_those_that_no_cell_has() -> None:
    body = build_report(with_cells(), PASSAGES, RESULTS, theme="Why?", language="en").detailed_analysis

    assert body.splitlines()[2:] == [
        "| Bridge | Hertz | Cost \\| £ |",
        "|---|---|---|",
        "| West | 0.2[1] | 240[2][3] |",
        "| East[1] | 0.9[3][=3×0.3] |  |",
    ]


def test_the_heading_of_the_opening_is_one_line() -> None:
    reply = ReportReply.model_validate({**REPLY, "opening_heading": "1. What\n\n## to do CANARY-7731"})

    report_draft = draft_of(reply, NUMBERED, [])

    assert report_draft.opening_heading == "1. What ## to do CANARY-7731"
    assert "Heading above summary and findings: 1. What ## to do CANARY-7731" in shown_draft(
        report_draft.model_copy(update={"own_headings": True}), {}
    )


def test_the_heading_of_the_opening_opens_no_link_in_the_report() -> None:
    report_draft = draft().model_copy(update={"opening_heading": "1. [What to do](https://evil.example)"})

    report = build_report(report_draft, PASSAGES, RESULTS, theme="Why?", language="en")

    assert report.opening_heading == "1. What to do (address not in the sources)"


def test_a_total_rests_on_the_other_rows_of_its_table_without_marks_of_its_own() -> None:
    total = {**row("Both", "1.1", sources=()), "kind": "derived", "basis": "0.2 + 0.9"}
    reply = {**REPLY, "sections": [{"heading": "Hum", "blocks": [{**TABLE, "rows": [*TABLE["rows"], total]}]}]}

    report_draft = draft(sections=reply["sections"])

    assert faults_of(ReportReply.model_validate(reply), NUMBERED, 2) == ""
    assert report_draft.sections[0].statements()[2].passages == ["p1", "p3"]
    body = build_report(report_draft, PASSAGES, RESULTS, theme="Why?", language="en").detailed_analysis
    assert body.splitlines()[-3:] == ["| West[1] | 0.2 |", "| East[3] | 0.9 |", "| Both | 1.1[=0.2+0.9] |"]
    alone = [{"heading": "Hum", "blocks": [{**TABLE, "rows": [total]}]}]
    assert "1.1.1: it is derived and names no passage" in faults_of(
        ReportReply.model_validate({**reply, "sections": alone}), NUMBERED, 2
    )
    changes = [{"number": 1, "section": {"heading": "Hum", "blocks": [{**TABLE, "rows": [{"keep": "1.2.1"}, total]}]}}]
    assert faults_of_revision(revision(sections=changes), draft(), NUMBERED, 2) == ""


def test_a_total_that_a_revision_keeps_needs_rows_that_it_rests_on() -> None:
    total = {**row("Both", "1.1", sources=()), "kind": "derived", "basis": "0.2 + 0.9"}
    before = draft(sections=[{"heading": "Hum", "blocks": [{**TABLE, "rows": [*TABLE["rows"], total]}]}])

    def faults(*rows: dict[str, Any]) -> str:
        change = {"number": 1, "section": {"heading": "Hum", "blocks": [{**TABLE, "rows": [*rows]}]}}
        return faults_of_revision(revision(sections=[change]), before, NUMBERED, 2)

    assert faults({"keep": "1.1.1"}, {"keep": "1.1.3"}) == faults(row("North", "2"), {"keep": "1.1.3"}) == ""
    assert "1.1.1: it is derived and names no passage" in faults({"keep": "1.1.3"})
    assert "1.1.2: it is derived and names no passage" in faults({"keep": "1.1.3"}, total)


@pytest.mark.parametrize(
    ("last", "column", "mark", "printed"),
    [
        (
            row("North", "not told", sources=()) | {"kind": "not_found", "basis": "1: north bridge hum"},
            "Bridge",
            "[1]",
            "| North‡ | not told |",
        ),
        (
            row("Both", "1.1", sources=()) | {"kind": "derived", "basis": "0.2 + 0.9"},
            "Bridge[1]",
            "",
            "| Both | 1.1[=0.2+0.9] |",
        ),
    ],
    ids=["not_above_a_row_that_nothing_answers", "above_a_total"],
)
def test_what_the_rows_rest_on_is_printed_once(last: dict[str, Any], column: str, mark: str, printed: str) -> None:
    table = {**TABLE, "rows": [row("West", "0.2"), row("East", "0.9"), last]}

    body = build_report(
        draft(sections=[{"heading": "Hum", "blocks": [table]}]), PASSAGES, RESULTS, theme="Why?", language="en"
    ).detailed_analysis

    assert body.splitlines()[2:] == [
        f"| {column} | Hertz |",
        "|---|---|",
        f"| West{mark} | 0.2 |",
        f"| East{mark} | 0.9 |",
        printed,
    ]


def test_a_column_that_is_calculated_throughout_says_so_in_its_head_and_no_cell_of_it_does() -> None:
    rows = [
        row("West", "0.4", "0.2 in all") | {"kind": "derived", "basis": "0.2 * 2; 0.4 / 2"},
        row("East", "1.8", "a fifth") | {"kind": "derived", "basis": "0.9 * 2"},
    ]
    table = {"type": "table", "columns": ["Bridge", "Twice", "Once"], "rows": rows}

    summed = draft(sections=[{"heading": "Hum", "blocks": [table]}])

    body = build_report(summed, PASSAGES, RESULTS, theme="Why?", language="en").detailed_analysis

    assert body.splitlines()[2] == "| Bridge[1] | Twice *(calculated)* | Once |"
    assert body.splitlines()[4:] == ["| West | 0.4 | 0.2 in all[calc.1] |", "| East | 1.8 | a fifth |"]
    assert sum_lines(summed, "en") == ["calc.1: 0.2 * 2 = 0.4; 0.4 / 2 = 0.2", "East: 0.9 * 2 = 1.8"]


def test_what_all_rows_of_a_table_rest_on_is_printed_once_and_reads_back_for_each() -> None:
    rows = [row("West", "0.2", sources=(2, 1)), row("East", "0.9", sources=(1, 2))]
    table = {**TABLE, "rows": [{**each, "cells": [cell("West"), cell("0.2", 3)]} for each in rows]}
    common = draft(sections=[{"heading": "Causes", "blocks": [table]}])

    report = build_report(common, PASSAGES, RESULTS, theme="Why?", language="en")

    assert report.detailed_analysis.splitlines()[2:] == [
        "| Bridge[1][2] | Hertz |", "|---|---|", "| West | 0.2[3] |", "| West | 0.2[3] |",
    ]  # fmt: skip
    lines = published_lines(common, PASSAGES, RESULTS)
    assert [mark.number for line in lines for mark in line.marks] == citation_numbers(report)
    (table_read,) = read_draft(report.to_markdown()).draft.tables().values()
    assert [len(table_read.statement(each).passages) for each in table_read.rows] == [3, 3]


def test_what_the_first_row_rests_on_is_not_all_that_another_does() -> None:
    table = {**TABLE, "rows": [row("West", "0.2", sources=(1,)), row("East", "0.9", sources=(1, 3))]}
    report = build_report(
        draft(sections=[{"heading": "Causes", "blocks": [table]}]), PASSAGES, RESULTS, theme="Why?", language="en"
    )

    assert "| West[1] | 0.2 |\n| East[1][3] | 0.9 |" in report.detailed_analysis


def test_what_a_cell_of_a_row_names_is_not_printed_again_for_the_row() -> None:
    rows = [{**row(sources=(1,)), "cells": [cell("西橋", 1), cell("0.2"), cell("240万円", 2, 1)]}]
    table = {**OF_CELLS, "columns": ["橋の名前", "周波数（Hz）", "費用"], "rows": rows}
    named = draft(sections=[{"heading": "原因", "blocks": [table]}])

    body = build_report(named, PASSAGES, RESULTS, theme="Why?", language="ja").detailed_analysis

    assert body.splitlines()[2:] == [
        "| 橋の名前 | 周波数（Hz） | 費用 |",
        "|---|---|---|",
        "| 西橋[1] | 0.2 | 240万円[1][2] |",
    ]


def test_a_cell_that_holds_a_sign_alone_stands_in_the_report_and_reads_back() -> None:
    rows = [{**row(sources=()), "cells": [cell("✓", 1), cell("–", 2), cell("+ 7 %")]}]
    signs = draft(sections=[{"heading": "Causes", "blocks": [{**OF_CELLS, "rows": rows}]}])

    report = build_report(signs, PASSAGES, RESULTS, theme="Why?", language="en")

    assert "| ✓[1] | –[2] | + 7 % |" in report.detailed_analysis
    (table,) = read_draft(report.to_markdown()).draft.tables().values()
    assert table.rows[0].texts() == ["✓", "–", "+ 7 %"]


def test_a_table_that_cites_nothing_has_no_marks() -> None:
    table = {**TABLE, "rows": [row("West", "0.2", sources=())]}
    uncited = draft(sections=[{"heading": "Causes", "blocks": [table]}])

    body = build_report(uncited, PASSAGES, RESULTS, theme="Why?", language="ja").detailed_analysis

    assert body == "### Causes\n\n| Bridge | Hertz |\n|---|---|\n| West | 0.2 |"


@pytest.mark.parametrize("column", [False, True])
def test_a_table_reads_back_from_its_report_also_from_one_whose_sources_have_a_column(column: bool) -> None:
    markdown = build_report(draft(), PASSAGES, RESULTS, theme="Why?", language="ja").to_markdown("ja")
    if column:
        markdown = markdown.replace("| Bridge | Hertz |\n|---|", "| Bridge | Hertz | 出典 |\n|---|---|")
        markdown = markdown.replace("| West[1] | 0.2 |", "| West | 0.2 | [1] |").replace(
            "| East[3] | 0.9 |", "| East | 0.9 | [3] |"
        )

    (table,) = read_draft(markdown).draft.tables().values()

    assert table.columns == ["Bridge", "Hertz"]
    assert [row.texts() for row in table.rows] == [["West", "0.2"], ["East", "0.9"]]
    assert [table.statement(row).passages for row in table.rows] == [["https://a.org/1"], ["https://a.org/3"]]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_cells_read_back_from_their_report_with_their_sources(language: Literal["en", "ja"]) -> None:
    named = with_cells(summary=[statement_reply("Bridges hum.", 1, 2, 3)])
    markdown = build_report(named, PASSAGES, RESULTS, theme="Why?", language=language).to_markdown(language)

    (table,) = read_draft(with_joined_marks(markdown)).draft.tables().values()

    first, second, third = (f"https://a.org/{number}" for number in (1, 2, 3))
    assert table.columns == ["Bridge", "Hertz", "Cost | £"]
    assert [row.passages_by_cell() for row in table.rows] == [
        [[], [first], [second, third], []], [[first], [third], [], []],
    ]  # fmt: skip


def test_passages_that_take_the_place_of_others_take_it_in_cells_too() -> None:
    changed = with_passages(with_cells(), lambda _: {"p3": ["q1", "q2"], "p1": ["p1"]})

    assert [row.passages_by_cell() for row in changed.rows().values()] == [
        [[], ["p1"], ["q1", "q2"], []], [[], ["q1", "q2"], [], ["p1"]],
    ]  # fmt: skip


def test_a_draft_without_one_row_keeps_what_the_cells_of_the_others_name() -> None:
    rest = without(with_cells(), lambda each: "East" in each.text)

    assert rest
    assert [row.passages_by_cell() for row in rest.rows().values()] == [[[], ["p1"], ["p3", "p2"], []]]


words = st.text(st.sampled_from("abc鳴橋風XYZ012(),"), max_size=8).map(
    lambda text: f"Wind {text}a hums along the cables of the long bridge over the river in the west"
)
ids = st.lists(st.sampled_from(["p1", "p2", "p3"]), max_size=2, unique=True)
sentences = st.builds(CitedSentence, text=words, passages=ids)
paragraphs = st.builds(Paragraph, sentences=st.lists(sentences, min_size=1, max_size=3))
lists = st.builds(ItemList, items=st.lists(sentences, min_size=1, max_size=3))
table_cells = st.builds(TableCell, text=words, passages=ids)
rows = st.builds(TableRow, cells=st.lists(table_cells, min_size=2, max_size=2), passages=ids)
tables = st.builds(Table, columns=st.lists(words, min_size=2, max_size=2), rows=st.lists(rows, min_size=1, max_size=3))
sections = st.builds(Section, heading=words, blocks=st.lists(paragraphs | lists | tables, min_size=1, max_size=3))
drafts = st.builds(
    Draft,
    title=words,
    summary=st.lists(sentences, min_size=1, max_size=3),
    findings=st.lists(sentences, min_size=1, max_size=4),
    sections=st.lists(sections, min_size=1, max_size=3),
    limits=st.lists(sentences, max_size=3),
)


@given(drafts)
def test_every_sentence_item_and_cell_of_a_draft_stands_in_its_report(made: Draft) -> None:
    markdown = build_report(made, PASSAGES, RESULTS, theme="Why?", language="en").to_markdown()

    cells = [
        cell
        for section in made.sections
        for block in section.blocks
        if isinstance(block, Table)
        for cells in (block.columns, *(row.texts() for row in block.rows))
        for cell in cells
    ]
    plain = [each.text for each in made.sentences() if not each.text.startswith(tuple(f"{cell}: " for cell in cells))]
    for text in [*plain, *cells, *(section.heading for section in made.sections)]:
        assert text in markdown


@given(drafts)
def test_the_marks_of_the_published_lines_are_those_of_the_report_in_their_order(made: Draft) -> None:
    report = build_report(made, PASSAGES, RESULTS, theme="Why?", language="en")

    marks = [mark for line in published_lines(made, PASSAGES, RESULTS) for mark in line.marks]

    assert [mark.number for mark in marks] == citation_numbers(report)
    cited = [report.sources[mark.number - 1].url for mark in marks]
    assert [{passage.url for passage in mark.passages} for mark in marks] == [{url} for url in cited]


def kept_whole(section: Section, number: int) -> dict[str, Any]:
    """The section as a reply that keeps each of its statements."""
    blocks: list[dict[str, Any]] = []
    for at, block in enumerate(section.blocks, start=1):
        places = [keep(f"{number}.{at}.{item}") for item in range(1, len(block.statements()) + 1)]
        match block:
            case Paragraph():
                blocks.append({"type": "paragraph", "sentences": places})
            case ItemList():
                blocks.append({"type": "list", "items": places})
            case Table():
                blocks.append({"type": "table", "columns": block.columns, "rows": places})
    return {"number": number, "section": {"heading": section.heading, "blocks": blocks}}


@given(drafts)
def test_a_revision_that_keeps_every_statement_changes_nothing(made: Draft) -> None:
    reply = revision(sections=[kept_whole(section, number) for number, section in enumerate(made.sections, start=1)])

    assert faults_of_revision(reply, made, NUMBERED, 2) == ""
    assert revise(made, reply, NUMBERED, BULLETS) == made


@given(drafts, st.lists(st.tuples(st.booleans(), words, st.integers(0, 99)), min_size=1, max_size=12))
def test_what_a_revision_writes_and_keeps_stands_in_its_order_word_for_word(
    made: Draft, wanted: list[tuple[bool, str, int]]
) -> None:
    old = [(each.place, each.sentence) for each in made.placed_sentences() if not each.row]
    sentences, expected = [], []
    for keeps, text, at in wanted:
        place, before = old[at % len(old)]
        sentences.append(keep(place) if keeps else statement_reply(text, 2))
        expected.append(before if keeps else CitedSentence(text=text, passages=["p2"]))
    block = {"type": "list", "items": sentences}

    after = revise(made, revision(sections=revised_section(block)), NUMBERED, BULLETS)

    assert after.sections == [Section(heading="Causes", blocks=[ItemList(items=expected)]), *made.sections[1:]]
