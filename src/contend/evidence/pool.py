"""A team's evidence pool: what its actions found, what the team holds, and how far each part is answered.

Everything that was found stays in the pool and keeps its number for the whole run. A held passage stays held until the
model gives it up by name, and can be held again. Plain data and pure functions; pools are stored with the run's
documents.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from contend.models.evaluation import Submission
from contend.models.record import utc_stamp
from contend.models.research import FoundPassage, Part, Passage
from contend.stores import passage_id, text_id
from contend.text import canonical_url, compact_tables, estimate_tokens

MOST_RESULTS = 20
_PASSAGE_FIELDS = frozenset(Passage.model_fields)
"""How many documents are listed in addition to those with held passages."""

ActionKind = Literal["search", "find", "read"]
Actor = Literal["researcher", "reviewer", "editor", "draft"]
"""Who requested an action. `draft`: code, which searches for what a draft calls not found."""


class Evidence(TypedDict):
    """A passage. `id`: the id of its text in the document store.

    `place`: the number of its section in its document, 0 if unknown; `tokens`: the estimated size of its text;
    `found_by`: the words of the actions that found it; `read_at`: when it was first found, as `utc_stamp`.
    `signals`: the signals by which it speaks to AI systems, empty if it does not, missing if it was not screened yet;
    `orders`: its sentences that speak to AI systems.
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
    """One action. `source`: where it is done; `text`: as in `ActionReply`; `parts`: by number, those it is for."""

    kind: ActionKind
    source: str
    text: str
    parts: list[int]
    by: Actor


class ActionResult(Action):
    """An action with the ids of the passages it found: `shown` in full, `listed` because there was no room, or `known`.

    `known`: already held, or shown earlier in the prompt; `total`: how many sections contain the words of a find, or
    how many the document of a read has.
    """

    shown: list[str]
    listed: list[str]
    known: list[str]
    total: int
    problem: str


class Step(TypedDict):
    """A step of the research: the researcher's thought and decisions, and the results of its actions."""

    number: int
    round: int
    thought: str
    held: list[str]
    given_up: list[str]
    results: list[ActionResult]


class EvidencePool(TypedDict):
    """Everything a team has found. Passages and documents are numbered by their position in the lists, from 1.

    `offered`: the ids that came from other teams' evidence before an action of this team found them.
    `steps_from`, `held_then`: the step at which the current prompt begins, and what was held then. `whole`: all local
    documents are held in full. `unread`: why a page could not be read, by address.
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
    """An empty pool. `parts`: what the question asks for."""
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
    """A hit's evidence, and the result for its document. `text`: the id of its text; `action`: the action's words."""
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
    # The title replaces the summary, which is the beginning of a text that the document store has.
    return evidence, {**result, "summary": hit.result.title}


def with_hits(pool: EvidencePool, hits: Iterable[tuple[Evidence, Mapping[str, Any], str]]) -> EvidencePool:
    """Add hits to the pool: each is the evidence, the result for its document, and the id of its text.

    A passage that is found again keeps its number, and lists every action that found it. Addresses of the same document
    count as one.
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
    """Add the documents of a catalogue; they get the first numbers."""
    return {**pool, "documents": list(dict.fromkeys([*urls, *pool["documents"]]))}


def hold(pool: EvidencePool, ids: Iterable[str], *, room: int) -> tuple[EvidencePool, list[str]]:
    """Hold these passages as far as `room` tokens allow. Returns the pool, and the ids that did not fit.

    Passages that are already held stay. A passage that speaks to AI systems is never held.
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
    """Stop holding these passages. They stay in the pool and can be held again."""
    gone = {*ids}
    return {**pool, "held": [each for each in pool["held"] if each not in gone]}


def sizes_of(pool: EvidencePool) -> dict[str, int]:
    """The tokens of each passage, by id."""
    return {each["id"]: each["tokens"] for each in pool["passages"]}


def held_tokens(pool: EvidencePool) -> int:
    """The tokens of all held passages together."""
    sizes = sizes_of(pool)
    return sum(sizes[each] for each in pool["held"])


def numbers_of(ids: Sequence[str]) -> dict[str, int]:
    """The number of each id, from 1."""
    return {each: number for number, each in enumerate(ids, start=1)}


def passage_numbers(pool: EvidencePool) -> dict[str, int]:
    """The number of each passage, by id."""
    return numbers_of([each["id"] for each in pool["passages"]])


def numbered_ids(pool: EvidencePool, ids: Iterable[str]) -> dict[int, str]:
    """These ids by their numbers in the pool."""
    numbers = passage_numbers(pool)
    return {numbers[each]: each for each in dict.fromkeys(ids) if each in numbers}


def parts_of(pool: EvidencePool) -> list[Part]:
    """The parts of the question, with how far each is answered."""
    return [Part.model_validate(each) for each in pool["parts"]]


def with_parts(pool: EvidencePool, parts: Iterable[Part]) -> EvidencePool:
    """Replace the parts."""
    return {**pool, "parts": [each.model_dump(mode="json") for each in parts]}


def as_passage(each: Evidence) -> Passage:
    """The passage without its text."""
    return Passage.model_validate({name: value for name, value in each.items() if name in _PASSAGE_FIELDS})


def passages_of(pool: EvidencePool, ids: Iterable[str]) -> list[Passage]:
    """The passages with these ids, without texts; each once, in the given order."""
    by_id = {each["id"]: each for each in pool["passages"]}
    return [as_passage(by_id[each]) for each in dict.fromkeys(ids) if each in by_id]


def in_reading_order(pool: EvidencePool, ids: Iterable[str]) -> list[str]:
    """Sort the ids by document, in the order of the catalogue or of finding, and by place within a document."""
    documents, by_id = numbers_of(pool["documents"]), {each["id"]: each for each in pool["passages"]}
    chosen = [by_id[each] for each in dict.fromkeys(ids) if each in by_id]
    return [each["id"] for each in sorted(chosen, key=lambda each: (documents[each["url"]], each["place"]))]


def results_for(pool: EvidencePool, ids: Iterable[str]) -> list[dict[str, Any]]:
    """The results for the documents of these passages, followed by the first of all others."""
    results = {result["url"]: result for result in pool["results"]}
    url_of = {each["id"]: each["url"] for each in pool["passages"]}
    urls = dict.fromkeys(url_of[each] for each in ids if each in url_of)
    own = {url: results[url] for url in urls if url in results}
    others = [result for url, result in results.items() if url not in own]
    return [*own.values(), *others[: max(0, MOST_RESULTS - len(own))]]


def actions_for(pool: EvidencePool, part: int) -> list[ActionResult]:
    """The actions for a part. `part`: its number, from 1."""
    return [result for step in pool["steps"] for result in step["results"] if part in result["parts"]]


def first_actions(pool: EvidencePool, ids: Iterable[str]) -> dict[str, str]:
    """The words of the action that first found each passage, by id. Passages from other teams are left out."""
    wanted, offered = {*ids}, {*pool["offered"]}
    return {
        each["id"]: each["found_by"][0]
        for each in pool["passages"]
        if each["id"] in wanted and each["found_by"] and each["id"] not in offered
    }


def own_passages(pool: EvidencePool, ids: Iterable[str]) -> list[str]:
    """Those of the ids that the team's own actions found. Local documents that were read whole count as its own."""
    found = first_actions(pool, ids := [*ids])
    read = {each["id"] for each in pool["passages"] if pool["whole"] and each["url"].startswith("file:")}
    return [each for each in ids if each in found or each in read]


def evidence_of_submission(submission: Submission) -> list[Evidence]:
    """The evidence of a submission, to offer it to another team or a later run."""
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
    """Add passages that somebody else found, and the results for their documents."""
    return with_hits(pool, ((each, _result_of(each), text_id(each["id"])) for each in passages))


def with_offered(pool: EvidencePool, passages: Iterable[Evidence]) -> EvidencePool:
    """Add what other teams hold. It counts as `offered` unless an action of this team found it before."""
    pool = with_evidence(pool, passages := [*passages])
    own = {*pool["held"], *(each["id"] for each in pool["passages"] if each["found_by"])}
    new = [each["id"] for each in passages if each["id"] not in own]
    return {**pool, "offered": list(dict.fromkeys([*pool["offered"], *new]))}


def _result_of(each: Evidence) -> dict[str, Any]:
    day = {"published_date": each["published"]} if each["published"] else {}
    return {"title": each["title"], "summary": each["title"], "source": each["source"], "url": each["url"], **day}


def parts_after_report(pool: EvidencePool, not_found: Iterable[int]) -> list[Part]:
    """The states of the parts after a report. `not_found`: the numbers of parts for which it calls something not found.

    Such a part is at most "partly" answered. If all documents were read whole, no step has rated the parts: every other
    part counts as answered.
    """
    lacking = {*not_found}
    parts = parts_of(pool)
    if pool["whole"]:
        parts = [part.model_copy(update={"state": "answered"}) for part in parts]
    return [
        part.model_copy(update={"state": "partly"}) if number in lacking and part.state == "answered" else part
        for number, part in enumerate(parts, start=1)
    ]
