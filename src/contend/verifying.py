"""Check a published report against itself and against its documents as they are now, without a run or a model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from pydantic import ValidationError

from contend.checks.notations import bare
from contend.checks.proof import refutations, stands_in
from contend.errors import InputError
from contend.models.record import Language
from contend.models.research import Passage
from contend.report import LedgerPassage, LedgerStatement, PublishedReport, proof_in
from contend.sources.readers import read_document
from contend.sources.readers.document import Unreadable
from contend.stores import content_id, passage_id
from contend.text import WORDS

State = Literal["holds", "changed", "gone", "broken"]
"""Unchanged; its document says something else now; its document is gone; the report itself was changed."""


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
        InputError: there is no such file, or it holds no statements to verify.
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
        raise InputError(f"{path} holds no statements to verify: its run found nothing, or it is of an earlier version")
    return report


def verify(report: PublishedReport, language: Language = "en") -> list[StatementCheck]:
    """Check each statement: passages by hash, quotes, figures and sums again, and the documents as they are now.

    Documents of the web are not looked up. Blocking.
    """
    urls = {each.url for each in report.passages if each.url.startswith("file:")}
    documents = {url: _text_of(url) for url in urls}
    return [_check(each, report, documents, language) for each in report.statements]


Documents = Mapping[str, str | None]
"""The texts of local documents today, by address; None for one that cannot be read."""


def _text_of(url: str) -> str | None:
    try:
        return read_document(Path(unquote(urlsplit(url).path))).text
    except (OSError, Unreadable):
        return None


def _check(
    statement: LedgerStatement, report: PublishedReport, documents: Documents, language: Language
) -> StatementCheck:
    passages = {each.id: each for each in report.passages}
    cited = [passages[each] for each in statement.passages if each in passages]
    words = WORDS[language].verifying
    reasons = [words.passage_missing.format(passage=each) for each in statement.passages if each not in passages]
    reasons += [words.passage_changed.format(document=each.title) for each in cited if not _has_its_hash(each)]
    # What holds orders to AI systems was not kept: only its document can tell.
    if all(each.text for each in cited) and (found := refutations(proof_in(report, statement))) != statement.refuted:
        reasons += [WORDS[language].refuted[each.rule].format(detail=each.detail) for each in found]
        reasons += [] if found else [words.holds_again]
    if reasons:
        return StatementCheck(statement.place, statement.text, "broken", reasons, statement.doubt)
    states = {each.title: _state_now(each, statement.quotes, documents) for each in cited}
    reasons += [words.document_gone.format(document=title) for title, now in states.items() if now == "gone"]
    reasons += [words.document_changed.format(document=title) for title, now in states.items() if now == "changed"]
    state: State = next((each for each in ("gone", "changed") if each in states.values()), "holds")
    return StatementCheck(statement.place, statement.text, state, reasons, statement.doubt)


def _has_its_hash(passage: LedgerPassage) -> bool:
    content = content_id(passage.text)
    return not passage.text or passage.id in {content, passage_id(content, passage.url)}


def _state_now(passage: LedgerPassage, quotes: Sequence[str], documents: Documents) -> State:
    """What the passage's document says of it today: its quotes, or all its lines where it is not quoted."""
    if passage.url not in documents:
        return "holds"
    document = documents[passage.url]
    if document is None:
        return "gone"
    today, then = (Passage(id="", url=passage.url, title="", text=text) for text in (document, passage.text))
    # Words of a heading may be put together of several, as no line of the document has them.
    own = [each for each in quotes if stands_in(each, then)] if passage.text else quotes
    lines = [line for line in passage.text.split("\n") if bare(line)]
    return "holds" if all(stands_in(each, today) for each in own or lines) else "changed"
