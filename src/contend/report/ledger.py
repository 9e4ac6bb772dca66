"""The ledger of a published report: the passages, quotes and sums that each statement rests on."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from contend.checks.proof import Proof, beside, passage_of, refutations, said_by, sums_of
from contend.models.record import Language, Record
from contend.models.research import ClaimKind, Draft, Passage, Refutation, ResearchReport
from contend.report.build import addresses_in, presentable
from contend.report.plain import plain_text
from contend.text import WORDS, WordsAndCode, words_and_code


class Origin(NamedTuple):
    """The ids of the teams whose reports say a statement, and of those that found it independently if several did.

    Independently means by an action of their own, before other teams' evidence was offered to them.
    """

    teams: Sequence[str] = ()
    found_by: Sequence[str] = ()


class LedgerPassage(Record):
    """A passage that statements rest on, as it was read. `id`: a hash of its text and a hash of its address.

    `text`: in ledgers of earlier releases, "" for a passage with orders to AI systems. `read_at`: when the run
    retrieved it, as `2026-11-28T06:43:00Z`; "" in reports of earlier releases.
    """

    id: str
    url: str
    title: str
    heading: str
    published: str | None
    read_at: str = ""
    text: str


class LedgerCheck(Record):
    """A check of a statement, by code or (`judge`) by the judges' model. `detail`: what it found."""

    check: Literal["quotes", "sums", "figures", "judge"]
    outcome: Literal["holds", "refuted", "doubted"]
    detail: str = ""


class LedgerStatement(Record):
    """A printed statement, by its place in the draft.

    `passages`: ids; `says`: the text that code checks, for a row its cells; `beside`: the column names of a row;
    `sums`: each with its value; `doubt`: why the statement is marked in print; `checks`: all checks made, in order;
    `teams`, `found_by`: see `Origin`; `found`: `found_by` in words.
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

    `question`: the reader's question; `teams`: the ids of the teams that handed in a report; `elsewhere`: as in
    `Draft`, somebody else wrote the text.
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
    """Add the ledger to a report: what each printed statement rests on, and what code refutes of it.

    `passages`: with texts; `question`: the reader's question, whose figures count as found; `printed`: the texts of the
    draft's statements that the report prints; `doubts`: why statements are marked, by text; `judged`: the texts of
    those that judges have read; `teams`: the teams with a report; `origins`: by place in the `presentable` draft.
    """
    found = WORDS[language].agreement.found
    by_id = {each.id: each for each in passages}
    placed = [each for each in presentable(draft).placed_sentences() if each.sentence.text in printed]
    cited = [
        by_id[each] for each in dict.fromkeys(one for at in placed for one in at.sentence.passages) if each in by_id
    ]
    known = addresses_in(cited, (source.url for source in report.sources))

    def said(text: str) -> str:
        words, code = words_and_code(text)
        return str(WordsAndCode(plain_text(words, known), code))

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
    """The proof of a statement, from its ledger alone."""
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
