"""The three actions on sources (search, find, read): checking them, and adding their results to a pool."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple, cast

from typing_extensions import TypedDict

from contend.evidence.pool import (
    Action,
    ActionResult,
    Actor,
    Evidence,
    EvidencePool,
    as_evidence,
    numbers_of,
    sizes_of,
    with_hits,
)
from contend.models.replies import ActionReply
from contend.models.research import FoundPassage, Passage
from contend.stores import DocumentStore
from contend.text import clean

HITS = 8
"""The most sections that a search or a find returns."""

DRAFT_HITS = 2
"""The most sections shown from a search for what a draft says was not found."""

MOST_READ = 40
"""The most sections that one read returns."""

LOCAL = "local"
"""The source of the user's own documents, the only one that supports `find`."""

_PLACE = re.compile(r"(?P<document>\d{1,6})(?:\.(?P<first>\d{1,6})(?:\s*[-–]\s*(?:\d{1,6}\.)?(?P<last>\d{1,6}))?)?")


class PlaceToRead(NamedTuple):
    """A place in a document: the document's number, and its sections `first` to `last`, from 1. By default, all."""

    document: int
    first: int = 1
    last: int = MOST_READ


def place_to_read(text: str) -> PlaceToRead | None:
    """Parse a place such as `12`, `12.7` or `12.7-9`; None if the text is not a place."""
    match = _PLACE.fullmatch(text.strip())
    if match is None:
        return None
    if match["first"] is None:
        return PlaceToRead(int(match["document"]))
    first, last = int(match["first"]), int(match["last"] or match["first"])
    return PlaceToRead(int(match["document"]), first, min(max(first, last), first + MOST_READ - 1))


_WITHIN = re.compile(r"(?P<document>\d{1,6})\s*:\s*(?P<words>\S.*)", re.DOTALL)
"""A find within one document, such as `12: max_size`."""


class WordsToFind(NamedTuple):
    """Words to find, and the number of the document to look in; 0 for all documents."""

    text: str
    document: int = 0


def words_to_find(text: str, documents: int) -> WordsToFind:
    """Parse the text of a find. `documents`: how many documents there are."""
    match = _WITHIN.fullmatch(text.strip())
    if match and 1 <= int(match["document"]) <= documents:
        return WordsToFind(match["words"], int(match["document"]))
    return WordsToFind(text)


class ActionHit(TypedDict):
    """A passage that an action found: its evidence, the result for its document, and the id of its text."""

    evidence: Evidence
    result: dict[str, Any]
    text: str


class ActionTask(TypedDict):
    """The input of a node that performs one action. `number`: its place in the step; `url`, `result`: what it reads."""

    execution_id: str
    team_id: str
    round_number: int
    number: int
    action: Action
    url: str
    result: dict[str, Any]


class Brought(TypedDict):
    """The result of one action. `number`: the action's place in its step.

    `total`: how many sections contain the words of a find; `problem`: why nothing was found; `url`: the page of a read.
    """

    number: int
    hits: list[ActionHit]
    total: int
    problem: str
    url: str


@dataclass(frozen=True)
class Desk:
    """What a team can do: the sources it may use, the documents it can name, and the most pages it reads in a step."""

    sources: Sequence[str]
    documents: Sequence[str]
    most_pages: int
    source_of: Mapping[str, str]
    """The source of each document returned by a search, by URL. All other documents are local."""

    @property
    def can_find(self) -> bool:
        return LOCAL in self.sources

    def fault(self, action: ActionReply) -> str:
        """Why an action cannot be made; "" if it can."""
        # A model may name the document's number beside its place; that is harmless.
        is_number = action.kind == "read" and action.source.isdigit()
        if action.source and action.source not in self.sources and not is_number:
            return f"there is no source {action.source!r}: choose from {', '.join(self.sources)}"
        if action.kind == "find" and (not self.can_find or action.source not in {"", LOCAL}):
            source = f"{action.source} cannot" if action.source else "no source that is on can"
            return f"{source} be found in, only searched"
        if action.kind == "read":
            place = place_to_read(action.text)
            if place is None:
                return f"{action.text!r} is no place: read 12, 12.7 or 12.7-9, by the numbers of documents and sections"
            if not 1 <= place.document <= len(self.documents):
                return f"there is no document {place.document}: they are numbered 1 to {len(self.documents)}"
        return ""

    def pages_fault(self, replies: Sequence[ActionReply]) -> str:
        """The error for too many pages in one step, or ""."""
        urls = [self._url(each.text) for each in replies if each.kind == "read" and not self.fault(each)]
        pages = [url for url in urls if not url.startswith("file:")]
        return f"at most {self.most_pages} pages are read in a step" if len(pages) > self.most_pages else ""

    def actions(self, replies: Sequence[ActionReply], by: Actor) -> list[Action]:
        """The valid actions. A search without a source becomes one action for each source."""
        return [
            Action(kind=each.kind, source=source, text=clean(each.text, single_line=True), parts=each.parts, by=by)
            for each in replies
            if not self.fault(each)
            for source in self._sources_of(each)
        ]

    def _sources_of(self, action: ActionReply) -> Sequence[str]:
        if action.kind == "read":
            return [self.source_of.get(self._url(action.text), LOCAL)]
        if action.source:
            return [action.source]
        return self.sources if action.kind == "search" else [LOCAL]

    def url_of(self, action: Action) -> str:
        """The URL of the document that an action reads or searches within; "" for any other action."""
        if action["kind"] == "find":
            document = words_to_find(action["text"], len(self.documents)).document
            return self.documents[document - 1] if document else ""
        return self._url(action["text"]) if action["kind"] == "read" else ""

    def _url(self, text: str) -> str:
        place = place_to_read(text)
        return self.documents[place.document - 1] if place and place.document <= len(self.documents) else ""


def desk_of(sources: Sequence[str], pool: EvidencePool, most_pages: int) -> Desk:
    """The desk of a team with these sources and this evidence."""
    return Desk(sources, pool["documents"], most_pages, {each["url"]: each["source"] for each in pool["results"]})


def words_of(action: Action) -> str:
    """An action as one line, used in reports to say how a passage was found."""
    return action["text"] if action["kind"] == "search" else f"{action['kind']} {action['text']}"


def tasks_of(actions: Sequence[Action], desk: Desk, pool: EvidencePool, key: Mapping[str, Any]) -> list[ActionTask]:
    """The tasks to send for these actions. `key` identifies the round. Pages beyond the limit of a step are skipped."""
    results, tasks, pages = {result["url"]: result for result in pool["results"]}, list[ActionTask](), 0
    for number, action in enumerate(actions):
        url = desk.url_of(action)
        is_page = action["kind"] == "read" and bool(url) and not url.startswith("file:")
        pages += is_page
        if not is_page or pages <= desk.most_pages:
            task = {**key, "number": number, "action": action, "url": url, "result": results.get(url, {})}
            tasks.append(cast("ActionTask", task))
    return tasks


async def store_hits(hits: Sequence[FoundPassage], action: Action, documents: DocumentStore) -> list[ActionHit]:
    """Save the texts of what an action found, and return the hits.

    Raises:
        StoreError: a text cannot be written.
    """
    ids = await documents.put_many([hit.text for hit in hits])
    pairs = [(as_evidence(hit, text, words_of(action)), text) for hit, text in zip(hits, ids, strict=True)]
    return [ActionHit(evidence=evidence, result=result, text=text) for (evidence, result), text in pairs]


async def with_texts(documents: DocumentStore, passages: Sequence[Passage]) -> list[Passage]:
    """The passages with their texts.

    Raises:
        StoreError: one cannot be read.
    """
    texts = await documents.get_many(passage.id for passage in passages)
    return [passage.model_copy(update={"text": texts[passage.id]}) for passage in passages]


def with_results(
    pool: EvidencePool, actions: Sequence[Action], brought: Sequence[Brought], *, visible: Collection[str], room: int
) -> tuple[EvidencePool, list[ActionResult]]:
    """Add the results of actions to the pool, and choose what the next prompt shows of each.

    `visible`: the ids that the prompt already shows; they are named and not repeated. `room`: the tokens for new
    passages, filled with the first passage of each action, then the second, and so on. The rest is listed without text;
    of a search by code only the first `DRAFT_HITS` passages count.
    """
    by_number = {each["number"]: each for each in brought}
    ids = {
        number: list(dict.fromkeys(hit["evidence"]["id"] for hit in each["hits"])) for number, each in by_number.items()
    }
    hits = ((hit["evidence"], hit["result"], hit["text"]) for each in brought for hit in each["hits"])
    pool = with_hits({**pool, "unread": _unread(pool["unread"], brought)}, hits)
    lists = [_new(action, ids.get(number, []), visible) for number, action in enumerate(actions)]
    fitting, seen, results = _fitting(pool, lists, room), {*visible}, []
    for number, action in enumerate(actions):
        new = _new(action, ids.get(number, []), seen)
        shown = [each for each in new if each in fitting]
        answer = by_number.get(number, _NOTHING)
        results.append(
            ActionResult(
                **action,
                shown=shown,
                listed=[each for each in new if each not in fitting],
                known=[each for each in ids.get(number, []) if each in seen],
                total=answer["total"],
                problem=answer["problem"],
            )
        )
        seen |= {*shown}
    return pool, results


def _new(action: Action, ids: Sequence[str], visible: Collection[str]) -> list[str]:
    """The passages of an action that are not visible yet."""
    new = [each for each in ids if each not in visible]
    return new[:DRAFT_HITS] if action["by"] == "draft" else new


def _unread(before: Mapping[str, str], brought: Sequence[Brought]) -> dict[str, str]:
    """Why pages could not be read, by URL. A page that was read later is removed."""
    read = {each["url"] for each in brought if each["url"] and not each["problem"]}
    problems = {each["url"]: each["problem"] for each in brought if each["url"] and each["problem"]}
    return {url: why for url, why in {**before, **problems}.items() if url not in read}


_NOTHING = Brought(number=0, hits=[], total=0, problem="", url="")


def _fitting(pool: EvidencePool, lists: Sequence[Sequence[str]], room: int) -> set[str]:
    """Fill the room by taking one passage from each list in turn, skipping those too large to fit."""
    sizes, fit = sizes_of(pool), set[str]()
    for each in (one for row in zip_longest(*lists) for one in row if one):
        if each not in fit and sizes[each] <= room:
            fit.add(each)
            room -= sizes[each]
    return fit


def places_of(pool: EvidencePool) -> dict[str, str]:
    """The place of each passage as prompts show it, by id: `12.7`, or `12` if its section is not known."""
    documents = numbers_of(pool["documents"])
    return {
        each["id"]: f"{documents[each['url']]}.{each['place']}" if each["place"] else str(documents[each["url"]])
        for each in pool["passages"]
    }


def unsearched_sources(results: Sequence[ActionResult], sources: Sequence[str]) -> list[str]:
    """The sources that these actions did not search."""
    tried = {each["source"] for each in results if each["kind"] != "read"}
    return [each for each in sources if each not in tried]
