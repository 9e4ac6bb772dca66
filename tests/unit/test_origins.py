"""What code takes of the teams that are named for a statement, and which found it independently."""

import pytest

from contend.contest.agreement import ReportedBy, agreement_of, with_teams
from contend.models.evaluation import Submission
from contend.models.research import (
    CitedSentence,
    ClaimKind,
    Draft,
    Paragraph,
    Passage,
    ResearchReport,
    SearchResult,
    Section,
    Table,
    TableCell,
    TableRow,
)
from contend.report import Origin

TEXT = "The bridge hums at 0.2 hertz. Dampers were added in 2026 by its owners.\n\n| West | 0.2 |\n| East | 0.9 |"
HUM = Passage(id="hum", url="file:///hum.md", title="Hum", place=1, text=TEXT)
AGAIN = Passage(id="again", url="file:///hum.md", title="Hum", place=1, text=TEXT)
COST = Passage(id="cost", url="file:///cost.md", title="Cost", place=1, text="It costs 240 pounds.")
RESULT = SearchResult(title="Hum", summary="Hum", source="local", url="file:///hum.md")
REPORT = ResearchReport(
    theme="Hum", executive_summary="It hums.", key_findings=["It hums."], detailed_analysis="It hums.", sources=[RESULT]
)


def says(*quotes: str, passage: str = "hum", kind: ClaimKind = "stated", teams: tuple[str, ...] = ()) -> CitedSentence:
    return CitedSentence(text="It hums.", passages=[passage], quotes=[*quotes], kind=kind, teams=[*teams])


def draft(statement: CitedSentence) -> Draft:
    return Draft(
        summary=[statement], findings=[statement], sections=[Section(blocks=[Paragraph(sentences=[statement])])]
    )


def report(statement: CitedSentence, *held: Passage, own: tuple[str, ...] = ()) -> Submission:
    passages = [each.model_copy(update={"text": ""}) for each in held]
    return Submission(content="-", report=REPORT, draft=draft(statement), passages=passages, own=[*own])


def origin(statement: CitedSentence, *others: Submission, own: str | None = "t1") -> Origin:
    """Of a statement that the first team found by an action of its own, and others have in their reports."""
    reports = [report(says("hums at 0.2 hertz"), HUM, own=("hum",)), *others]
    by_team = {f"t{number}": each for number, each in enumerate(reports, start=1)}
    return agreement_of(draft(statement), [HUM, COST], by_team, own).origins["summary 1"]


def test_of_the_teams_that_an_editor_names_those_are_dropped_that_hold_none_of_the_statements_passages() -> None:
    reports = {
        letter: ReportedBy(f"t{letter}", letter, report(says("x", passage=each.id), each))
        for letter, each in {"A": HUM, "B": AGAIN, "C": COST}.items()
    }
    named = says("hums", teams=("A", "B", "C", "Z"))

    (statement, *_) = with_teams(draft(named), reports).summary

    assert statement.teams == ["tA", "tB"], "B holds the same section of the document"


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("bridge hums at", True),
        ("hertz. Dampers were", True),
        ("The bridge ... hertz", True),
        ("The bridge ... in 2026", False),
        ("Dampers were added in 2026", False),
        ("it does not hum", False),
    ],
)
def test_a_team_says_the_same_where_it_quotes_the_same_words(quote: str, *, found: bool) -> None:
    origin_of_it = origin(says("hums at 0.2 hertz"), report(says(quote), HUM, own=("hum",)))

    assert origin_of_it == (Origin(["t1", "t2"], ["t1", "t2"]) if found else Origin(["t1"], []))


@pytest.mark.parametrize(("cells", "found"), [("West | 0.2", True), ("East | 0.9", False)])
def test_a_row_is_the_same_where_its_cells_stand_in_one_row(cells: str, *, found: bool) -> None:
    row = TableRow(cells=[TableCell(text="West")], passages=["hum"], quotes=[cells])
    table = Section(blocks=[Table(columns=["Bridge"], rows=[row])])
    other = report(says("x"), HUM, own=("hum",))
    other = other.model_copy(update={"draft": draft(says("x")).model_copy(update={"sections": [table]})})

    assert bool(origin(says("West | 0.2"), other).found_by) == found


def test_what_was_offered_before_it_was_found_is_not_found_independently() -> None:
    offered = report(says("bridge hums at 0.2"), HUM)

    assert origin(says("hums at 0.2 hertz"), offered) == Origin(["t1", "t2"], [])


def test_teams_that_the_editor_names_found_it_if_they_cite_its_passage_by_other_words() -> None:
    other = report(says("Dampers were added"), HUM, own=("hum",))
    elsewhere = report(says("It costs 240", passage="cost"), HUM, COST, own=("cost",))
    named = says("hums at 0.2 hertz", teams=("t1", "t2", "t3"))

    assert origin(named, other, elsewhere, own=None) == Origin(["t1", "t2", "t3"], ["t1", "t2"])


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("stated", True), ("disputed", True), ("derived", True),
        ("judgement", False), ("not_found", False), ("lead_in", False),
    ],
)  # fmt: skip
def test_only_what_passages_say_or_what_follows_from_them_is_found(kind: ClaimKind, *, found: bool) -> None:
    other = report(says("hums at 0.2 hertz"), HUM, own=("hum",))

    assert bool(origin(says("hums at 0.2 hertz", kind=kind), other).found_by) == found
