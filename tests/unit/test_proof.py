"""What code refutes of a draft: quotes, figures, dates, identifiers and sums; it judges no prose."""

import pytest

from contend.models.research import (
    CitedSentence,
    ClaimKind,
    Draft,
    ItemList,
    Passage,
    Section,
    Table,
    TableCell,
    TableRow,
)
from contend.writing import prove, refuted_in

FERRY = Passage(
    id="ferry",
    url="file:///ferry.md",
    title="The ferry Tern",
    heading="Costs › Winter 2025",
    published="2026-03-02",
    text=(
        "A year of Tern cost 10.07 million kroner in 2025; in 2024 it had been 9.4 million. "
        "Alken needs 13.7 million.\n\n"
        "The yard delivers within 14 months of the order. It pays 40,000 kroner a day for delay, 2 million at most.\n\n"
        "The connection of 2.4 MW will be ready on 1 March 2028 at the earliest; none of its pylons is planned yet.\n\n"
        "Costs by item, in thousand kroner:\n\n"
        "| Item | Alken | Tern |\n|---|---|---|\n| Fuel | 4,620 | 1,480 |\n| Crew | 6,900 | 6,900 |\n\n"
        "Fuel taken in, in litres:\n\n| Boat | March |\n|---|---|\n| Tern | 5,180 |\n\n"
        "Crossings by year:\n\n| Boat | 2023 | 2024 |\n|---|---|---|\n| Tern | 1,912 | 2,044 |\n"
    ),
)
STAFF = Passage(
    id="staff", url="file:///staff.md", title="Crew", text="Eleven masters serve; two hold the certificate."
)
QUESTION = "Should we order Tern by 30 April 2027, with 48 million kroner at the bank?"


def statement(text: str, *quotes: str, kind: ClaimKind = "stated", basis: str = "", of: str = "ferry") -> CitedSentence:
    return CitedSentence(text=text, passages=[of] if of else [], quotes=[*quotes], kind=kind, basis=basis)


def rules(*statements: CitedSentence, table: Table | None = None) -> list[list[str]]:
    """What is refuted of each of these items, and of the rows of a table behind them."""
    blocks = [*([ItemList(items=[*statements])] if statements else []), *([table] if table else [])]
    opening = [CitedSentence(text="It is weighed below.", kind="lead_in")]
    draft = Draft(summary=opening, findings=opening, sections=[Section(heading="All", blocks=blocks)])
    proven = prove(draft, [FERRY, STAFF], around=QUESTION)
    body = [each.sentence for each in proven.placed_sentences() if each.section]
    return [[refutation.rule for refutation in each.refuted] for each in body]


@pytest.mark.parametrize(
    "held",
    [
        statement(
            "A year of Tern cost 10.07 million kroner in 2025.", "A year of Tern cost 10.07 million kroner in 2025"
        ),
        statement("Winter 2025: 10,070,000 kroner.", "a year of tern cost 10.07 MILLION kroner"),
        statement("It is about winter 2025.", "Costs › Winter 2025"),
        statement(
            "Of delay 40,000 kroner a day, 2 million at most.", "It pays 40,000 kroner a day ... 2 million at most"
        ),
        statement("In March Tern took in 5.18 m³.", "Tern | 5,180"),
        statement("In 2024 Tern made 2,044 crossings, 1,912 in 2023.", "Tern | 1,912 | 2,044"),
        statement("It was 9.4, or 10.07 million.", "been 9.4 million", "cost 10.07 million kroner", kind="disputed"),
        statement("Tern saves 3.63 million kroner a year.", kind="derived", basis="13.7 - 10.07"),
        statement("That is 26 percent.", kind="derived", basis="(13.7 - 10.07) / 13.7"),
        statement(
            "Ordered on 30 April 2027, it comes on 30 June 2028.", kind="derived", basis="2027-04-30 + 14 months"
        ),
        statement("The delay is paid for 50 days.", kind="derived", basis="2000000 / 40000"),
        statement("Begin with a reserve of 1.5 million.", kind="judgement", basis="proposed: 1.5 million", of=""),
        statement("The 48 million at the bank suffice.", kind="judgement", of=""),
        statement(
            "It saves 3.63 million, so set 1.5 million aside.",
            kind="derived",
            basis="13.7 - 10.07; proposed: 1.5 million",
        ),
        statement("Two reserves of 1.7 million are 3.4.", kind="derived", basis="2 * 1.7; proposed: 1.7 million"),
        statement("Two reasons speak for it in part 2.", kind="lead_in", of=""),
        statement(
            "Whether 30 April 2027 can move is not told.", kind="not_found", basis="1: extension of April", of=""
        ),
    ],
    ids=lambda each: each.text,
)
def test_what_its_quotes_sums_or_reader_carry_is_left_alone(held: CitedSentence) -> None:
    assert rules(held) == [[]]


def test_a_sum_may_go_on_from_the_result_of_the_sum_before_it() -> None:
    ordered = statement("It comes on 30 June 2028.", kind="derived", basis="2027-04-30 + 14 months")
    after = statement("30 June 2028 is 121 days later.", kind="derived", basis="2028-06-30 - 2028-03-01")

    assert rules(ordered, after) == [[], []]
    assert rules(after) == [["input"]]


def test_what_another_statement_says_is_not_scaled_by_a_word_of_the_passages() -> None:
    more = statement("Tern cost 0.27 more, in millions.", kind="derived", basis="10.07 - 9.4")

    assert rules(more, statement("Set 269,500 kroner aside.", kind="judgement", of=""))[0] == ["sum"]


FAULTS = {
    "a wrong figure": (
        statement("A year of Tern cost 10.7 million.", "A year of Tern cost 10.07 million kroner"),
        "figure",
    ),
    "a stale figure given as current": (
        statement("In 2025 a year cost 9.4 million.", "A year of Tern cost 10.07 million kroner in 2025"),
        "figure",
    ),
    "a right figure from the wrong passage": (
        statement("Alken needs 13.7 million.", "Eleven masters", of="staff"),
        "figure",
    ),
    "a text that differs from its sum": (
        statement("Tern saves 32 percent.", kind="derived", basis="(13.7 - 10.07) / 13.7 * 100"),
        "sum",
    ),
    "a sum with an invented input": (statement("It saves 3.1 million.", kind="derived", basis="13.7 - 10.6"), "input"),
    "the year of another column": (statement("In 2023 Tern made 2,044 crossings.", "Tern | 2,044"), "figure"),
    "the caption's unit exchanged": (statement("Tern took in 5,180 ml in March.", "Tern | 5,180"), "figure"),
    "an invented fact as judgement": (statement("Passengers fall by 9 % a year.", kind="judgement", of=""), "figure"),
    "a fact without a source": (statement("The bank adds 4.5 million.", kind="judgement", of=""), "figure"),
    "a side of a dispute that nothing quotes": (
        statement("It was 9.4, or 13.7 million.", "been 9.4 million", "cost 10.07 million kroner", kind="disputed"),
        "figure",
    ),
    "a wrong day": (statement("Ready on 1 March 2027.", "ready on 1 March 2028 at the earliest"), "figure"),
    "a certificate that nobody has": (
        statement("Two hold ISO-27001.", "two hold the certificate", of="staff"),
        "figure",
    ),
    "knowledge from outside": (statement("Tern carries 120 cars.", "A year of Tern cost"), "figure"),
    "a quote that nobody wrote": (statement("Pylons are planned.", "its pylons are planned for autumn"), "quote"),
}


@pytest.mark.parametrize(("faulty", "rule"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_that_code_can_see_is_refuted(faulty: CitedSentence, rule: str) -> None:
    ((first, *_),) = rules(faulty)

    assert first == rule


def row(*texts: str, quote: str) -> TableRow:
    return TableRow(cells=[TableCell(text=text) for text in texts], passages=["ferry"], quotes=[quote])


def test_a_row_is_carried_by_the_cells_of_one_row_and_a_cell_of_another_is_refuted() -> None:
    rows = [
        row("Fuel", "4,620", "1,480", quote="Fuel | 4,620 | 1,480"),
        row("2", "Crew", "6,900,000", quote="Crew | 6,900"),
        row("Fuel", "6,900", "1,480", quote="Fuel | 4,620 | 1,480"),
        row("Fuel", "6,900", "", quote="Fuel | 6,900"),
    ]
    table = Table(columns=["Item", "Alken 2025", "Tern"], rows=[rows[0], rows[2], rows[3]])

    assert rules(table=table) == [[], ["figure"], ["quote", "figure"]]
    assert rules(table=Table(columns=["No.", "Item", "Kroner"], rows=[rows[0], rows[1]])) == [[], []]


@pytest.mark.parametrize(
    "text",
    [
        "The master of Alken holds the certificate.",  # another name
        "Some of its pylons are planned.",  # a negation less
        "The connection has been made ready.",  # a plan told as done
    ],
)
def test_prose_is_left_to_whoever_reads_it(text: str) -> None:
    assert rules(statement(text, "two hold the certificate", of="staff")) == [[]]


def test_statements_without_quotes_are_held_against_all_of_their_passages() -> None:
    assert rules(statement("Alken needs 13.7 million."), statement("Alken needs 14.7 million.")) == [[], ["figure"]]


def test_what_is_mended_is_refuted_no_more() -> None:
    wrong = statement("A year of Tern cost 10.7 million.", "A year of Tern cost 10.07 million kroner")
    draft = Draft(summary=[wrong], findings=[wrong], sections=[Section(blocks=[ItemList(items=[wrong])])])
    proven = prove(draft, [FERRY], around=QUESTION)
    right = wrong.model_copy(update={"text": "A year of Tern cost 10.07 million."})

    assert [each.place for each in refuted_in(proven)] == ["summary 1", "finding 1", "1.1.1"]
    assert (
        refuted_in(prove(proven.model_copy(update={"summary": [right]}), [FERRY], around=QUESTION))[0].place
        == "finding 1"
    )


def test_what_a_sum_is_reckoned_from_may_be_told_and_a_number_may_stand_below_its_unit() -> None:
    told = statement("Of 13.7 million Tern takes 10.07, so 3.63 remain.", kind="derived", basis="13.7 - 10.07")
    million = TableRow(
        cells=[TableCell(text="Tern"), TableCell(text="10.07")], passages=["ferry"], quotes=["10.07 million"]
    )

    less = statement("That is −3.63 million.", kind="derived", basis="10.07 - 13.7")
    rounded = statement("Tern took 74 percent.", kind="derived", basis="10.07 / 13.7; 0.735 * 100")
    day = statement("Ask by 30 March 2027.", kind="judgement", basis="proposed: 30 March 2027", of="")
    again = statement("A tenth is 0.363.", kind="derived", basis="3.63 / 10")

    assert rules(told, less, again, rounded, day) == [[], [], [], [], []]
    assert rules(told, table=Table(columns=["Ferry", "Million kroner"], rows=[million])) == [[], []]
