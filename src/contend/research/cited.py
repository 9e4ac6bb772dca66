"""What a report of somebody else's cites, retrieved by contend's own sources: only then does it count."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from pydantic import ValidationError

from contend.errors import SourceError
from contend.models.research import CitedSentence, Found, SearchResult
from contend.report import Reference
from contend.report.plain import plain_title
from contend.research.gathering import SUMMARY_CHARACTERS
from contend.research.reading import PASSAGES_A_QUERY
from contend.retrieval import HybridIndex
from contend.services import Services
from contend.sources.passages import TextPiece
from contend.sources.source_set import FullText
from contend.text import ADDRESS, clean, file_name, shorten

MOST_REFERENCES = 60
_ALL = 10**9
_NOWHERE = "it has neither a web address nor the name of a document of this run"


class Retrieved(NamedTuple):
    """A cited document, and its text in passages."""

    result: SearchResult
    text: FullText

    def nearest(self, sentence: CitedSentence) -> list[TextPiece]:
        return self.text.nearest(sentence.text, PASSAGES_A_QUERY)


class CitedDocuments(NamedTuple):
    """The documents by the keys of their references, and the reason by key for each that was not retrieved."""

    documents: dict[str, Retrieved]
    missing: dict[str, str]


async def retrieve(
    services: Services, references: Mapping[str, Reference], *, documents: Sequence[str], execution_id: str
) -> CitedDocuments:
    """Each reference once: own documents by name, pages as those of searches are read."""
    own = await _own_documents(services, documents, execution_id)
    keys = list(references)[:MOST_REFERENCES]
    answers = await asyncio.gather(*(_one(services, references[key], own) for key in keys))
    by_key = dict(zip(keys, answers, strict=True))
    missing = {key: answer for key, answer in by_key.items() if isinstance(answer, str)}
    missing |= {key: f"over {MOST_REFERENCES} references" for key in references if key not in keys}
    return CitedDocuments({key: each for key, each in by_key.items() if isinstance(each, Retrieved)}, missing)


async def _one(services: Services, reference: Reference, own: Mapping[str, list[Found]]) -> Retrieved | str:
    """The document, or why there is none."""
    if urlsplit(reference.address).scheme in {"http", "https"}:
        return await _page(services, reference)
    name = _own_name(reference, own)
    return await asyncio.to_thread(_document, own[name]) if name else _NOWHERE


async def _page(services: Services, reference: Reference) -> Retrieved | str:
    try:
        page = await services.sources.full_texts.read(reference.address)
        result = _result(reference, shorten(clean(page.pieces[0].text, single_line=True), SUMMARY_CHARACTERS))
    except SourceError as error:
        return str(error)
    except ValidationError:
        return "its address cannot be read"
    return Retrieved(result, page)


def _result(reference: Reference, summary: str) -> SearchResult:
    title = plain_title(ADDRESS.sub("", reference.text.split("\n", maxsplit=1)[0])).strip(" -–—:.,;()<>*")
    return SearchResult(
        title=title[:500] or reference.address[:500], summary=summary, source="web", url=reference.address
    )


async def _own_documents(services: Services, documents: Sequence[str], execution_id: str) -> dict[str, list[Found]]:
    """The sections of the run's own documents, by the names of their files."""
    if not documents:
        return {}
    sections: dict[str, list[Found]] = {}
    for each in await services.sources.whole(documents, execution_id, _ALL):
        sections.setdefault(file_name(each.result.url), []).append(each)
    return sections


def _own_name(reference: Reference, own: Mapping[str, Any]) -> str:
    """The document that a reference names, by its address or in its text; of several the longest name."""
    text = f"{unquote(Path(urlsplit(reference.address).path).name)}\n{reference.text}".casefold()
    return max((name for name in own if name.casefold() in text), key=len, default="")


def _document(sections: Sequence[Found]) -> Retrieved:
    pieces = [TextPiece(each.heading, each.text) for each in sections]
    index = HybridIndex([f"{piece.heading}\n{piece.text}" for piece in pieces])
    return Retrieved(sections[0].result, FullText(pieces, index))
