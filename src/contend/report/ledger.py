"""The ledger of a published report: what each statement rests on, in which words and by which sum."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from contend.checks.proof import Proof, beside, passage_of, refutations, said_by, sums_of
from contend.models.record import Language, Record
from contend.models.research import ClaimKind, Draft, Passage, Refutation, ResearchReport
from contend.report.build import addresses_in, presentable
from contend.report.plain import plain_text
from contend.text import WORDS


class Origin(NamedTuple):
    """The ids of the teams whose reports say a statement, and of those that found it independently, if several did.

    Independently: by an action of their own, before other teams' evidence was offered to them.
    """

    teams: Sequence[str] = ()
    found_by: Sequence[str] = ()


class LedgerPassage(Record):
    """A passage that statements rest on, as it was read. `id`: a hash of its text and one of its address.

    `text`: "" in ledgers of earlier releases for one that holds orders to AI systems. `read_at`: when the run retrieved
    it, as `2026-11-28T06:43:00Z`; "" in reports of releases that did not keep it.
    """

    id: str
    url: str
    title: str
    heading: str
    published: str | None
    read_at: str = ""
    text: str


class LedgerCheck(Record):
    """What was checked of a statement, by code or, as `judge`, by the judges' model; `detail`: what was found."""

    check: Literal["quotes", "sums", "figures", "judge"]
    outcome: Literal["holds", "refuted", "doubted"]
    detail: str = ""


class LedgerStatement(Record):
    """A printed statement at its place in the draft.

    `passages`: ids; `says`: what code checks, for a row its cells; `beside`: the names of the row's columns; `sums`:
    each with its value; `doubt`: why the statement is marked in print; `checks`: those that were made, in their order;
    `teams` and `found_by`: see `Origin`; `found`: the latter in words.
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
    checks: list[LedgerCheck] = Field(default_factory=list)
    teams: list[str] = Field(default_factory=list)
    found_by: list[str] = Field(default_factory=list)
    found: str = ""


class PublishedReport(ResearchReport):
    """A report with its ledger. It also loads as a `ResearchReport`.

    `question`: what the reader asked; `teams`: the ids of those that handed in a report; `elsewhere`: others wrote it,
    as `Draft` has it.
    """

    former_fields: ClassVar[frozenset[str]] = frozenset()
    question: str = ""
    teams: list[str] = Field(default_factory=list)
    elsewhere: bool = False
    statements: list[LedgerStatement] = Field(default_factory=list)
    passages: list[LedgerPassage] = Field(default_factory=list)


NO_ORIGINS: Mapping[str, Origin] = MappingProxyType({})


def with_ledger(
    report: ResearchReport,
    draft: Draft,
    passages: Sequence[Passage],
    *,
    question: str,
    printed: Collection[str],
    doubts: Mapping[str, str],
    judged: Collection[str],
    teams: Sequence[str] = (),
    origins: Mapping[str, Origin] = NO_ORIGINS,
    language: Language = "en",
) -> PublishedReport:
    """The report with what its printed statements rest on, and what code refutes of them.

    `passages`: with their texts; `question`: what the reader asked, whose figures carry; `printed`: the statements of
    the draft that stand in the report, by their texts; `doubts`: why statements are marked, by their texts; `judged`:
    those that judges have read; `teams`: those with a report; `origins`: of statements by their places in what is
    `presentable` of the draft.
    """
    found = WORDS[language].agreement.found
    by_id = {each.id: each for each in passages}
    placed = [each for each in presentable(draft).placed_sentences() if each.sentence.text in printed]
    cited = [
        by_id[each] for each in dict.fromkeys(one for at in placed for one in at.sentence.passages) if each in by_id
    ]
    known = addresses_in(cited, (source.url for source in report.sources))

    def said(text: str) -> str:
        return plain_text(text, known)

    unproven = PublishedReport(**report.model_dump(), question=question, teams=[*teams], elsewhere=draft.elsewhere)
    unproven.passages = [
        LedgerPassage(
            **each.model_dump(include={"id", "url", "published", "read_at", "text"}),
            title=said(each.title),
            heading=said(each.heading),
        )
        for each in cited
    ]
    unproven.statements = [
        LedgerStatement(
            place=each.place,
            text=said(each.sentence.text),
            says=said(said_by(each)),
            beside=beside(each),
            **each.sentence.model_dump(include={"kind", "basis", "quotes", "passages"}),
            sums=[*map(str, sums_of(each.sentence.basis))],
            doubt=doubts.get(each.sentence.text, ""),
            teams=[*origin.teams],
            found_by=[*origin.found_by],
            found=found.format(count=len(origin.found_by), teams=len(teams)) if origin.found_by else "",
        )
        for each in placed
        for origin in [origins.get(each.place, Origin())]
    ]
    statements = [
        each.model_copy(
            update={"refuted": refuted, "checks": [*_checks(each, refuted, judged=at.sentence.text in judged)]}
        )
        for each, at in zip(unproven.statements, placed, strict=True)
        for refuted in [refutations(proof_in(unproven, each))]
    ]
    return unproven.model_copy(update={"statements": statements})


def _checks(statement: LedgerStatement, refuted: Sequence[Refutation], *, judged: bool) -> Iterator[LedgerCheck]:
    rules: dict[Literal["quotes", "sums", "figures"], set[str]] = {"figures": {"figure"}}
    rules |= {"quotes": {"quote"}} if statement.quotes else {}
    rules |= {"sums": {"sum", "input"}} if statement.sums else {}
    for check, names in rules.items():
        detail = "; ".join(each.detail for each in refuted if each.rule in names)
        yield LedgerCheck(check=check, outcome="refuted" if detail else "holds", detail=detail)
    if statement.doubt and not refuted:
        yield LedgerCheck(check="judge", outcome="doubted", detail=statement.doubt)
    elif judged and not refuted:
        yield LedgerCheck(check="judge", outcome="holds")


def proof_in(report: PublishedReport, statement: LedgerStatement) -> Proof:
    """A statement of a ledger with all that it rests on there."""
    by_id = {each.id: each for each in report.passages}
    sources = [Passage(**by_id[each].model_dump()) for each in statement.passages if each in by_id]
    others = (line for each in report.statements if each is not statement for line in (each.text, *each.sums))
    return Proof(
        text=statement.says,
        kind=statement.kind,
        basis=statement.basis,
        quotes=[(passage_of(words, sources), words) for words in statement.quotes],
        sources=sources,
        around=f"{report.question}\n{statement.beside}",
        others="\n".join(others),
        elsewhere=report.elsewhere,
    )
