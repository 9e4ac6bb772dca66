"""A published report held against itself and against its documents as they are now: no run, no model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from pydantic import ValidationError

from contend.checks.notations import bare
from contend.checks.proof import Proof, passage_of, refutations
from contend.errors import InputError
from contend.models.record import Language
from contend.models.research import Passage
from contend.report import LedgerPassage, LedgerStatement, PublishedReport
from contend.sources.readers import read_document
from contend.sources.readers.document import Unreadable
from contend.stores.documents import content_id, passage_id
from contend.text import WORDS

State = Literal["holds", "changed", "gone", "broken"]
"""As it was published; its document says it no more; its document is gone; the report itself was changed."""


class StatementCheck(NamedTuple):
    """What became of a statement, and why; `doubt`: what was marked when it was published."""

    place: str
    text: str
    state: State
    reasons: Sequence[str]
    doubt: str = ""


def read_ledger(path: Path) -> PublishedReport:
    """A report's JSON with its statements. Blocking.

    Raises:
        InputError: there is no such file, or it holds no statements.
    """
    try:
        report = PublishedReport.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): name the report.json of a run") from error
    except ValidationError as error:
        fault = error.errors()[0]
        raise InputError(
            f"{path} is no report of contend ({'.'.join(map(str, fault['loc']))}: {fault['msg']}): "
            "name the report.json of a run"
        ) from error
    if not report.statements:
        raise InputError(f"{path} holds no statements: it is of an earlier version, and nothing in it can be verified")
    return report


def verify(report: PublishedReport, language: Language = "en") -> list[StatementCheck]:
    """Each statement: its passages by their hashes, its quotes, figures and sums anew, its documents as they are now.

    Documents of the web are not looked up. Blocking.
    """
    _document.cache_clear()
    passages = {each.id: each for each in report.passages}
    return [_check(each, report, passages, language) for each in report.statements]


def counts(checks: Sequence[StatementCheck]) -> Counter[State]:
    return Counter(each.state for each in checks)


def _check(
    statement: LedgerStatement, report: PublishedReport, passages: Mapping[str, LedgerPassage], language: Language
) -> StatementCheck:
    named = [passages[each] for each in statement.passages if each in passages]
    words = WORDS[language].verifying
    broken = [words.passage_missing.format(passage=each) for each in statement.passages if each not in passages]
    broken += [
        words.passage_changed.format(document=each.title)
        for each in named
        if each.text and each.id not in {content_id(each.text), passage_id(content_id(each.text), each.url)}
    ]
    proof = _proof(statement, report, named)
    found = refutations(proof)
    if found != statement.refuted:
        broken += [WORDS[language].refuted[each.rule].format(detail=each.detail) for each in found]
        broken += [] if found else [words.holds_again]
    if broken:
        return StatementCheck(statement.place, statement.text, "broken", broken, statement.doubt)
    lost = [(each, now) for each in named if (now := _now(each, statement.quotes)) != "holds"]
    states = {now for _, now in lost}
    reasons = [
        (words.document_gone if now == "gone" else words.document_changed).format(document=each.title)
        for each, now in lost
    ]
    state: State = "gone" if "gone" in states else "changed" if states else "holds"
    return StatementCheck(statement.place, statement.text, state, list(dict.fromkeys(reasons)), statement.doubt)


def _proof(statement: LedgerStatement, report: PublishedReport, named: Sequence[LedgerPassage]) -> Proof:
    # What was not kept is read from its document.
    sources = [Passage(**{**each.model_dump(), "text": each.text or _document(each.url) or ""}) for each in named]
    return Proof(
        text=statement.says,
        kind=statement.kind,
        basis=statement.basis,
        quotes=[(passage_of(words, sources), words) for words in statement.quotes],
        sources=sources,
        around=f"{report.question}\n{statement.beside}",
        others="\n".join(
            line for each in report.statements if each is not statement for line in (each.text, *each.sums)
        ),
    )


def _now(passage: LedgerPassage, quotes: Sequence[str]) -> State:
    """What the passage's document says of it today."""
    if not passage.url.startswith("file:"):
        return "holds"
    document = _document(passage.url)
    if document is None:
        return "gone"
    text, was = bare(document), bare(passage.text or document)
    own = [bare(each) for each in quotes if bare(each) in was]
    if own:
        return "holds" if all(each in text for each in own) else "changed"
    return "holds" if all(bare(line) in text for line in passage.text.split("\n")) else "changed"


@cache
def _document(url: str) -> str | None:
    """The text of a local document today; None for one that cannot be read."""
    try:
        return read_document(Path(unquote(urlsplit(url).path))).text
    except (OSError, Unreadable):
        return None
