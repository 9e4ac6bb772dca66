"""The ledger of a published report: what each statement rests on, in which words and by which sum."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import Field

from contend.checks.injection import PlantedText
from contend.checks.proof import beside, said_by, sums_of
from contend.models.record import Record
from contend.models.research import ClaimKind, Draft, Passage, Refutation, ResearchReport
from contend.report.plain import plain_text
from contend.text import addresses, without_sentences


class LedgerPassage(Record):
    """A passage that statements rest on, as it was read. `id`: the hash of its text, and one of its address.

    `text`: "" where it holds orders to AI systems, which are repeated nowhere.
    """

    id: str
    url: str
    title: str
    heading: str
    published: str | None
    text: str


class LedgerStatement(Record):
    """A statement at its place. `passages`: ids; `sums`: each with its value; `doubt`: why it is marked in print.

    `says`: what code holds against its passages, of a row its cells; `beside`: the names of the row's columns. One that
    code refutes does not open a report, and stands here all the same.
    """

    place: str
    text: str
    says: str
    beside: str = ""
    kind: ClaimKind
    basis: str = ""
    quotes: list[str] = Field(default_factory=list)
    passages: list[str] = Field(default_factory=list)
    sums: list[str] = Field(default_factory=list)
    refuted: list[Refutation] = Field(default_factory=list)
    doubt: str = ""


class PublishedReport(ResearchReport):
    """A report with its ledger; it loads as a `ResearchReport`, too. `question`: what was asked."""

    former_fields: ClassVar[frozenset[str]] = frozenset()
    question: str = ""
    statements: list[LedgerStatement] = Field(default_factory=list)
    passages: list[LedgerPassage] = Field(default_factory=list)


def with_ledger(
    report: ResearchReport,
    draft: Draft,
    passages: Sequence[Passage],
    *,
    question: str,
    doubts: Mapping[str, str],
) -> PublishedReport:
    """`passages`: with their texts; `doubts`: why statements are marked, by their texts."""
    by_id = {each.id: each for each in passages}
    cited = [by_id[each] for each in draft.passages() if each in by_id]
    planted = PlantedText(
        [(each.url, f"{each.heading}\n\n{each.text}") for each in cited],
        speaking={each.url for each in cited if each.speaks_to_ai},
    )
    known = {address for each in cited for address in addresses(f"{each.title}\n{each.text}")} | {
        source.url for source in report.sources
    }

    def said(text: str) -> str:
        return without_sentences(plain_text(text, known), planted.in_sentence)

    statements = [
        LedgerStatement(
            place=each.place,
            text=said(each.sentence.text),
            says=said(said_by(each)),
            beside=beside(each),
            **each.sentence.model_dump(include={"kind", "basis", "quotes", "passages", "refuted"}),
            sums=[*map(str, sums_of(each.sentence.basis))],
            doubt=doubts.get(each.sentence.text, ""),
        )
        for each in draft.placed_sentences()
    ]
    return PublishedReport(
        **report.model_dump(),
        question=question,
        statements=statements,
        passages=[
            LedgerPassage(
                **each.model_dump(include={"id", "url", "published"}),
                title=said(each.title),
                heading=said(each.heading),
                text=each.text if without_sentences(each.text, planted.in_sentence) == each.text else "",
            )
            for each in cited
        ],
    )
