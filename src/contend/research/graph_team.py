"""A team whose rounds a graph of somebody else's plays: asked by one message, its report checked as any other.

What the report cites is retrieved by contend's own sources: only then does it count.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from langgraph.graph import START, StateGraph
from pydantic import ValidationError

from contend.checks.notations import notes_of, unfounded
from contend.errors import DraftError, InputError, SourceError
from contend.evidence import Action, Evidence, EvidencePool, empty_pool
from contend.evidence.actions import LOCAL, place_to_read
from contend.evidence.pool import passages_of
from contend.evidence.screening import orders_of, speaking_of
from contend.graph_teams import GraphRequest, ModelMeter, TeamGraph, reply_of, shown_step
from contend.langgraph_compat import add_node
from contend.models.evaluation import Submission
from contend.models.options import TeamConfig
from contend.models.record import utc_stamp
from contend.models.research import CitedSentence, Draft, FoundPassage, SearchResult
from contend.prompts.research import GraphPrompt
from contend.report import Reference, build_report, read_draft
from contend.report.plain import plain_title
from contend.research.asking import planted_in, screen_pool
from contend.research.looking import action_event, turn_off
from contend.research.state import ResearchInput, ResearchOutput, ResearchState
from contend.research.submitting import SUMMARY_CHARACTERS
from contend.research.work import Research, open_research
from contend.retrieval import HybridIndex
from contend.services import Services
from contend.sources.passages import TextPiece
from contend.sources.source_set import FullText, SourceSet
from contend.stores import DocumentStore, content_id, passage_id
from contend.text import ADDRESS, canonical_url, clean, estimate_tokens, file_name, shorten
from contend.tools import ActionName, lend
from contend.writing import prove, target_length, with_passages, without_planted_text, without_speaking

MOST_CHARACTERS = 100_000
"""Of a report; longer ones are not read."""

_MOST_STEP_EVENTS = 200
_MOST_NAMES = 200
_HITS = 5
PASSAGES_A_SENTENCE = 3
MOST_REFERENCES = 60
_ALL = 10**9
_NOWHERE = "it has neither a web address nor the name of a document of this run"
_HIT_TEXT = "## {hit.result.title}\n\nReference: {reference}, section {place}\n\n{hit.text}"


class RetrievedDocument(NamedTuple):
    """A cited document, and its text in passages."""

    result: SearchResult
    text: FullText


class CitedDocuments(NamedTuple):
    """The documents by the keys of their references, and the reason by key for each that was not retrieved."""

    documents: dict[str, RetrievedDocument]
    missing: dict[str, str]


class GraphState(ResearchState, total=False):
    """`answer`: the id of what the graph replied."""

    answer: str


class GraphTeam:
    """A team that somebody else's graph plays."""

    may_win = True
    max_rounds = None

    def build_graph(self, services: Services) -> "StateGraph[Any, Any, Any, Any]":
        nodes = GraphNodes(services)
        graph = StateGraph(GraphState, input_schema=ResearchInput, output_schema=ResearchOutput)
        add_node(graph, "ask", nodes.ask)
        add_node(graph, "check", nodes.check)
        return graph.add_edge(START, "ask").add_edge("ask", "check")


@dataclass(frozen=True)
class GraphNodes:
    """A round: the graph's part, then what its report rests on."""

    services: Services

    async def ask(self, state: GraphState) -> GraphState:
        """The graph's run for this round; its report goes to the document store."""
        work = await open_research(self.services, state)
        graph = await self.services.graphs.get(self._own(work.team.team_id))
        key = f"{work.team.team_id}/{work.round_number}/graph"
        meter = ModelMeter(work.run.ledger, self.services.config.models.prices, key=key)
        request = GraphRequest(work.run.render(await _prompt(work)), work.question, lend(partial(_act, work)))
        try:
            report = reply_of(await _last_values(work, graph, request, meter))
        finally:
            meter.close()
        if len(report) > MOST_CHARACTERS:
            raise DraftError(f"its report has {len(report):,} characters; at most {MOST_CHARACTERS:,} are read")
        return {
            "answer": await self.services.documents.put(clean(report)),
            "calls": [call.model_dump(mode="json") for call in meter.calls],
            "clock": work.run.clock.reading(work.team.team_id),
            "sources_off": {**state.get("sources_off", {}), **work.run.sources_off},
        }

    async def check(self, state: GraphState) -> GraphState:
        """What the report cites, retrieved and screened; then the submission."""
        work = await open_research(self.services, state)
        report = await asyncio.to_thread(read_draft, await work.documents.get(state["answer"]))
        work.tell_step("search", work.how_many(len(report.references), "references"))
        sources = await retrieve(work, report.references)
        draft, pool = await _ground(work.documents, report.draft, sources)
        work, usages = await screen_pool(work.with_pool(pool), pool["held"])
        submission = await _submission(work, draft, sources)
        text = await work.documents.put(submission.content)
        work.tell_step("write", work.how_many(len(draft.sentences()), "statements"), document=text)
        calls = [*work.calls, *(usage.model_dump(mode="json") for usage in usages)]
        return {"calls": calls, "submission": await work.submissions.put(submission)}

    def _own(self, team_id: str) -> TeamConfig:
        """The team as the workspace has it: what a state says names no code."""
        team = self.services.config.teams.get(team_id)
        if team is None or team.kind != "graph":
            raise InputError(f"team {team_id}: its graph is no longer in the workspace's config/teams")
        return team


async def _last_values(work: Research, graph: TeamGraph, request: GraphRequest, meter: ModelMeter) -> object:
    values: object = None
    steps = count = 0
    async with aclosing(graph.stream(request, meter)) as parts:
        async for mode, data in parts:
            new, count = meter.calls[count:], len(meter.calls)
            # Of a process that is killed here, what was spent is known all the same.
            await work.run.record.save_usage(**work.key, calls=new)
            if mode == "values":
                values = data
            elif mode == "updates" and (step := shown_step(data)) and steps < _MOST_STEP_EVENTS:
                steps += 1
                work.tell_step("graph", step, iteration=steps)
    return values


async def _act(work: Research, kind: ActionName, text: str) -> str:
    """What the team's sources say; one that fails is off for the rest of the run."""
    texts = list[str]()
    for name in work.team.sources if kind == "search" else [LOCAL]:
        if name in work.run.sources_off or name not in work.options.sources:
            continue
        line = clean(text, single_line=True)[:400]
        action = Action(kind=kind, source=name, text=line, parts=[], by="researcher")
        try:
            hits = await _hits(work, action)
        except SourceError as error:
            if kind == "read":
                return str(error)
            turn_off(work.run, name, error, team_id=work.team.team_id, tell=work.tell)
            continue
        work.tell(action_event(work.key, action, hits))
        texts += [
            _HIT_TEXT.format(hit=hit, reference=file_name(hit.result.url) or hit.result.url, place=hit.place)
            for hit in hits
        ]
    return "\n\n".join(texts) or "Nothing was found."


async def _hits(work: Research, action: Action) -> list[FoundPassage]:
    """What an action brings.

    Raises:
        SourceError: the source failed, or there is no such document.
    """
    documents, execution_id, sources = work.options.documents, work.run.execution_id, work.sources
    match action["kind"]:
        case "search":
            source = await sources.ready(action["source"], documents, execution_id)
            return await source.search(action["text"], limit=_HITS)
        case "find":
            return (await sources.find(documents, execution_id, action["text"], limit=_HITS))[0]
        case _:
            reference, _, place = action["text"].strip().rpartition(" ")
            reading = place_to_read(f"1.{place}") if reference else None
            name = reference if reading else action["text"].strip()
            first, last = (reading.first, reading.last) if reading else (1, _HITS)
            for entry in await sources.catalogue(documents, execution_id) if documents else ():
                if name in {entry.url, file_name(entry.url)}:
                    return await sources.read(documents, execution_id, entry.url, first, last)
            raise SourceError(f"there is no document {shorten(name, 100)!r}")


async def _prompt(work: Research) -> GraphPrompt:
    documents = work.options.documents
    entries = await work.sources.catalogue(documents, work.run.execution_id) if documents else []
    return GraphPrompt(
        brief=work.brief,
        stance=work.team.stance,
        documents=[file_name(entry.url) for entry in entries[:_MOST_NAMES]],
        best_report=work.best.content if work.best else "",
        fixes=work.fixes if work.best else "",
        **target_length(work.options.length, parts=1),
    )


async def _ground(store: DocumentStore, draft: Draft, sources: CitedDocuments) -> tuple[Draft, EvidencePool]:
    """The draft by passages: of each document that a sentence cites those nearest to it or with its figures."""
    texts: dict[str, str] = {}
    evidence: dict[str, Evidence] = {}

    def nearest_to(sentence: CitedSentence) -> dict[str, list[str]]:
        documents = {key: sources.documents[key] for key in sentence.passages if key in sources.documents}
        by_document: dict[str, list[str]] = {key: [] for key in documents}
        for key, document in documents.items():
            for piece in pieces_for(sentence.text, document.text):
                each = _evidence(piece, document.result)
                texts[each["id"]], evidence[each["id"]] = piece.text, each
                by_document[key].append(each["id"])
        return by_document

    draft_with_passages = await asyncio.to_thread(with_passages, draft, nearest_to)
    await store.put_many([*texts.values()])
    passages = [*evidence.values()]
    return draft_with_passages, {**empty_pool([]), "passages": passages, "held": [each["id"] for each in passages]}


async def _submission(work: Research, draft: Draft, sources: CitedDocuments) -> Submission:
    pool = work.pool
    whole = await work.with_texts(pool["held"])
    speaking = {each["id"]: each["url"] for each in pool["passages"] if each.get("signals")}
    results = list({each.result.url: each.result for each in sources.documents.values()}.values())
    own = without_planted_text(without_speaking(draft, speaking), planted_in(work, whole))
    own = await asyncio.to_thread(prove, own, whole, around=work.run.asked(work.question))
    language = work.options.language
    report = build_report(own, whole, results, theme=work.question, language=language)
    return Submission(
        content=report.to_markdown(language, folders=await work.sources.paths(work.options.documents)),
        report=report,
        draft=own,
        passages=passages_of(pool, pool["held"]),
        # A graph is offered no other team's evidence.
        own=own.passages(),
        results=results,
        missing=sources.missing,
        speaking=speaking_of(pool),
        orders=orders_of(pool),
    )


def pieces_for(text: str, document: FullText) -> list[TextPiece]:
    """The pieces of a document nearest to a text, and others that have figures of it which these have not."""
    pieces = document.nearest(text, PASSAGES_A_SENTENCE)
    missing = unfounded(text, carriers=notes_of("\n".join(each.text for each in pieces)))
    for piece in document.pieces if missing else ():
        still = unfounded(text, carriers=notes_of(piece.text))
        if found := [each for each in missing if each not in still]:
            pieces.append(piece)
            missing = [each for each in missing if each not in found]
    return pieces


def _evidence(piece: TextPiece, result: SearchResult) -> Evidence:
    return {
        "id": passage_id(content_id(piece.text), canonical_url(result.url)),
        "url": result.url,
        "source": result.source,
        "title": result.title,
        "heading": piece.heading,
        "place": 0,
        "published": result.published_date,
        "tokens": estimate_tokens(piece.text),
        "found_by": [],
        "read_at": utc_stamp(),
    }


async def retrieve(work: Research, references: Mapping[str, Reference]) -> CitedDocuments:
    """Each reference once: own documents by name, pages as those of searches are read."""
    own, documents = defaultdict[str, list[FoundPassage]](list), work.options.documents
    for section in await work.sources.whole(documents, work.run.execution_id, _ALL) if documents else ():
        own[file_name(section.result.url)].append(section)
    answers = await asyncio.gather(
        *(_one(work.sources, each, own) for each in [*references.values()][:MOST_REFERENCES])
    )
    by_key = dict(zip_longest(references, answers, fillvalue=f"over {MOST_REFERENCES} references"))
    missing = {key: answer for key, answer in by_key.items() if isinstance(answer, str)}
    return CitedDocuments({key: each for key, each in by_key.items() if isinstance(each, RetrievedDocument)}, missing)


async def _one(
    sources: SourceSet, reference: Reference, own: Mapping[str, list[FoundPassage]]
) -> RetrievedDocument | str:
    """The document, or why there is none."""
    if urlsplit(reference.address).scheme in {"http", "https"}:
        return await _page(sources, reference)
    # The document that a reference names, by its address or in its text; of several the longest name.
    text = f"{unquote(Path(urlsplit(reference.address).path).name)}\n{reference.text}".casefold()
    name = max((name for name in own if name.casefold() in text), key=len, default="")
    return await asyncio.to_thread(_document, own[name]) if name else _NOWHERE


async def _page(sources: SourceSet, reference: Reference) -> RetrievedDocument | str:
    try:
        page = await sources.full_texts.read(reference.address)
        result = _result(reference, shorten(clean(page.pieces[0].text, single_line=True), SUMMARY_CHARACTERS))
    except SourceError as error:
        return str(error)
    except ValidationError:
        return "its address cannot be read"
    return RetrievedDocument(result, page)


def _result(reference: Reference, summary: str) -> SearchResult:
    title = plain_title(ADDRESS.sub("", reference.text.split("\n", maxsplit=1)[0])).strip(" -–—:.,;()<>*")
    return SearchResult(
        title=title[:500] or reference.address[:500], summary=summary, source="web", url=reference.address
    )


def _document(sections: Sequence[FoundPassage]) -> RetrievedDocument:
    pieces = [TextPiece(each.heading, each.text) for each in sections]
    index = HybridIndex([f"{piece.heading}\n{piece.text}" for piece in pieces])
    return RetrievedDocument(sections[0].result, FullText(pieces, index))
