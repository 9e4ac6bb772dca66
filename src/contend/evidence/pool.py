"""The evidence of a team: what its actions brought, what of it the team holds, and how far each part is.

All that was found stays in the pool, under the same number for all of a run. What is held stays held until the model
gives it up by name, and can come back. Plain data and pure functions: a pool lies among the run's documents.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from contend.models.evaluation import Submission
from contend.models.record import utc_stamp
from contend.models.research import FoundPassage, Part, Passage
from contend.stores.documents import passage_id, text_id
from contend.text import canonical_url, compact_tables, estimate_tokens

MOST_RESULTS = 20
"""How many documents are listed in addition to those with held passages."""

ActionKind = Literal["search", "find", "read"]
Actor = Literal["researcher", "reviewer", "editor", "draft"]
"""Who requested an action. `draft` stands for code that checks what a draft says is not found."""


class Evidence(TypedDict):
    """A passage by its text's id in the document store.

    `place`: the number of its section in its document, 0 where none is known; `tokens`: about as many as its text has;
    `found_by`: the words of the actions that brought it. `read_at`: when an action first brought it, as `utc_stamp`.
    `signals`: by which of them it is known to speak to AI systems, none for others, and not there before anybody has
    looked; `orders`: its sentences that do.
    """

    id: str
    url: str
    source: str
    title: str
    heading: str
    place: int
    published: str | None
    tokens: int
    found_by: list[str]
    read_at: NotRequired[str]
    signals: NotRequired[list[str]]
    orders: NotRequired[list[str]]


class Action(TypedDict):
    """One action: `source` searched, found in or read from; `text` as in `ActionReply`; `parts` by number."""

    kind: ActionKind
    source: str
    text: str
    parts: list[int]
    by: Actor


class ActionResult(Action):
    """What an action brought, by passage ids: those `shown` whole, those `listed` for want of room, those `known`.

    `known`: held already, or shown above; `total`: how many sections hold the words of a find, or are in the
    document of a reading.
    """

    shown: list[str]
    listed: list[str]
    known: list[str]
    total: int
    problem: str


class Step(TypedDict):
    """A step of the research: what the researcher thought and decided, and what its actions brought."""

    number: int
    round: int
    thought: str
    held: list[str]
    given_up: list[str]
    results: list[ActionResult]


class EvidencePool(TypedDict):
    """Everything a team has found. Passages and documents are numbered by their position in the lists, from 1.

    `offered`: the ids that other teams' evidence brought in any round, before an action of the team's own did.
    `steps_from` and `held_then`: where the prompt at hand begins, and what was held there. `whole`: all own documents
    are held, word for word. `unread`: the reason by address of each page that was to be read and was not.
    """

    passages: list[Evidence]
    documents: list[str]
    held: list[str]
    offered: list[str]
    parts: list[dict[str, Any]]
    steps: list[Step]
    steps_from: int
    held_then: list[str]
    results: list[dict[str, Any]]
    summarized_by: dict[str, str]
    unread: dict[str, str]
    whole: bool


def empty_pool(parts: Sequence[str]) -> EvidencePool:
    """Nothing found yet. `parts`: what the question asks for."""
    return {
        "passages": [],
        "documents": [],
        "held": [],
        "offered": [],
        "parts": [Part(text=text).model_dump(mode="json") for text in parts],
        "steps": [],
        "steps_from": 0,
        "held_then": [],
        "results": [],
        "summarized_by": {},
        "unread": {},
        "whole": False,
    }


def as_evidence(hit: FoundPassage, text: str, action: str) -> tuple[Evidence, dict[str, Any]]:
    """A passage that an action brought, and its document's result. `text`: the id of its text; `action`: its words."""
    result = hit.result.model_dump(mode="json", exclude_none=True, exclude={"summary"})
    evidence: Evidence = {
        "id": passage_id(text, canonical_url(hit.result.url)),
        "url": hit.result.url,
        "source": hit.result.source,
        "title": hit.result.title,
        "heading": hit.heading,
        "place": hit.place,
        "published": hit.result.published_date,
        "tokens": estimate_tokens(compact_tables(hit.text)),
        "found_by": [action] if action else [],
        "read_at": utc_stamp(),
    }
    # The title stands in place of the summary: the document store holds the text that it begins.
    return evidence, {**result, "summary": hit.result.title}


def with_hits(pool: EvidencePool, hits: Iterable[tuple[Evidence, Mapping[str, Any], str]]) -> EvidencePool:
    """The pool with what was found: each passage with its document's result and the id of its text.

    A passage that is found again keeps its number and every action that found it. Addresses that lead to one document
    are one.
    """
    by_id = {each["id"]: each for each in pool["passages"]}
    results = {canonical_url(result["url"]): dict(result) for result in pool["results"]}
    summarized_by, documents = dict(pool["summarized_by"]), dict.fromkeys(pool["documents"])
    for passage, result, text in hits:
        address = canonical_url(passage["url"])
        url = results.setdefault(address, {**result})["url"]
        documents.setdefault(url)
        summarized_by.setdefault(url, text)
        first: Evidence = {**passage, "url": url}
        before = by_id.get(passage["id"], first)
        actions = dict.fromkeys([*before["found_by"], *passage["found_by"]])
        by_id[passage["id"]] = {**before, "found_by": [*actions]}
    return {
        **pool,
        "passages": [*by_id.values()],
        "results": [*results.values()],
        "summarized_by": summarized_by,
        "documents": [*documents],
    }


def with_catalogue(pool: EvidencePool, urls: Iterable[str]) -> EvidencePool:
    """The pool with the documents of a catalogue under the first numbers."""
    return {**pool, "documents": list(dict.fromkeys([*urls, *pool["documents"]]))}


def hold(pool: EvidencePool, ids: Iterable[str], *, room: int) -> tuple[EvidencePool, list[str]]:
    """The pool with these passages held, too, as far as they fit `room` tokens; and those that do not fit.

    Nothing that is held goes for them. A passage that speaks to AI systems is not held.
    """
    held, beyond, sizes = [*pool["held"]], [], sizes_of(pool)
    speaking = {each["id"] for each in pool["passages"] if each.get("signals")}
    tokens = held_tokens(pool)
    for each in dict.fromkeys(ids):
        if each in held or each not in sizes or each in speaking:
            continue
        if tokens + sizes[each] > room:
            beyond.append(each)
            continue
        held.append(each)
        tokens += sizes[each]
    return {**pool, "held": held}, beyond


def give_up(pool: EvidencePool, ids: Iterable[str]) -> EvidencePool:
    """The pool without these among what is held. They stay in it, and can be held again."""
    gone = {*ids}
    return {**pool, "held": [each for each in pool["held"] if each not in gone]}


def sizes_of(pool: EvidencePool) -> dict[str, int]:
    """The tokens of each passage, by id."""
    return {each["id"]: each["tokens"] for each in pool["passages"]}


def held_tokens(pool: EvidencePool) -> int:
    """What the held passages take together."""
    sizes = sizes_of(pool)
    return sum(sizes[each] for each in pool["held"])


def numbers_of(ids: Sequence[str]) -> dict[str, int]:
    """The number of each, from 1."""
    return {each: number for number, each in enumerate(ids, start=1)}


def passage_numbers(pool: EvidencePool) -> dict[str, int]:
    """The number of each passage, by id."""
    return numbers_of([each["id"] for each in pool["passages"]])


def numbered_ids(pool: EvidencePool, ids: Iterable[str]) -> dict[int, str]:
    """These ids by their numbers in the pool."""
    numbers = passage_numbers(pool)
    return {numbers[each]: each for each in dict.fromkeys(ids) if each in numbers}


def parts_of(pool: EvidencePool) -> list[Part]:
    """What the question asks for, and how far the team is."""
    return [Part.model_validate(each) for each in pool["parts"]]


def with_parts(pool: EvidencePool, parts: Iterable[Part]) -> EvidencePool:
    """The pool with these parts."""
    return {**pool, "parts": [each.model_dump(mode="json") for each in parts]}


def as_passage(each: Evidence) -> Passage:
    """The passage without its text."""
    return Passage.model_validate({name: value for name, value in each.items() if name in Passage.model_fields})


def passages_of(pool: EvidencePool, ids: Iterable[str]) -> list[Passage]:
    """The passages of these ids, each once and in their order, without their texts."""
    by_id = {each["id"]: each for each in pool["passages"]}
    return [as_passage(by_id[each]) for each in dict.fromkeys(ids) if each in by_id]


def in_reading_order(pool: EvidencePool, ids: Iterable[str]) -> list[str]:
    """The ids by document, as documents were found or stand in the catalogue, and within one by place."""
    documents, by_id = numbers_of(pool["documents"]), {each["id"]: each for each in pool["passages"]}
    chosen = [by_id[each] for each in dict.fromkeys(ids) if each in by_id]
    return [each["id"] for each in sorted(chosen, key=lambda each: (documents[each["url"]], each["place"]))]


def results_for(pool: EvidencePool, ids: Iterable[str]) -> list[dict[str, Any]]:
    """The documents of these passages, then the first of the others."""
    results = {result["url"]: result for result in pool["results"]}
    own = {each.url: results[each.url] for each in passages_of(pool, ids) if each.url in results}
    others = [result for url, result in results.items() if url not in own]
    return [*own.values(), *others[: max(0, MOST_RESULTS - len(own))]]


def actions_for(pool: EvidencePool, part: int) -> list[ActionResult]:
    """The actions that were made for a part, by its number."""
    return [result for step in pool["steps"] for result in step["results"] if part in result["parts"]]


def first_actions(pool: EvidencePool, ids: Iterable[str]) -> dict[str, str]:
    """The words of the action that found each passage first, by id; of those that an action of the team's found."""
    wanted, offered = {*ids}, {*pool["offered"]}
    return {
        each["id"]: each["found_by"][0]
        for each in pool["passages"]
        if each["id"] in wanted and each["found_by"] and each["id"] not in offered
    }


def own_passages(pool: EvidencePool, ids: Iterable[str]) -> list[str]:
    """The ids among these that the team found by an action of its own; documents read whole count as its own."""
    found = first_actions(pool, ids := [*ids])
    read = {each["id"] for each in pool["passages"] if pool["whole"] and each["url"].startswith("file:")}
    return [each for each in ids if each in found or each in read]


def evidence_of_submission(submission: Submission) -> list[Evidence]:
    """What a submission's team holds, for another team or a later run."""
    sources = {result.url: result.source for result in submission.results}
    return [
        {
            "id": each.id,
            "url": each.url,
            "source": sources.get(each.url, "local"),
            "title": each.title,
            "heading": each.heading,
            "place": each.place,
            "published": each.published,
            "tokens": each.tokens,
            "found_by": [],
            "read_at": each.read_at,
        }
        for each in submission.passages
    ]


def with_evidence(pool: EvidencePool, passages: Iterable[Evidence]) -> EvidencePool:
    """The pool with passages that somebody else found; their documents are results, too."""
    return with_hits(pool, ((each, _result_of(each), text_id(each["id"])) for each in passages))


def with_offered(pool: EvidencePool, passages: Iterable[Evidence]) -> EvidencePool:
    """The pool with what other teams hold, offered where no action of this team's own has found it before."""
    pool = with_evidence(pool, passages := [*passages])
    own = {*pool["held"], *(each["id"] for each in pool["passages"] if each["found_by"])}
    new = [each["id"] for each in passages if each["id"] not in own]
    return {**pool, "offered": list(dict.fromkeys([*pool["offered"], *new]))}


def _result_of(each: Evidence) -> dict[str, Any]:
    day = {"published_date": each["published"]} if each["published"] else {}
    return {"title": each["title"], "summary": each["title"], "source": each["source"], "url": each["url"], **day}


def parts_after_report(pool: EvidencePool, not_found: Iterable[int]) -> list[Part]:
    """The parts with their states after a report that says something about the parts in `not_found` is not told.

    Of documents that were read whole there is no other word on a part than the report's.
    """
    lacking = {*not_found}
    parts = parts_of(pool)
    if pool["whole"]:
        parts = [part.model_copy(update={"state": "answered"}) for part in parts]
    return [
        part.model_copy(update={"state": "partly"}) if number in lacking and part.state == "answered" else part
        for number, part in enumerate(parts, start=1)
    ]
