"""A team whose rounds a graph of somebody else's plays: asked by one message, its report checked as any other.

What the report cites is retrieved by contend's own sources: only then does it count.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from langgraph.graph import START, StateGraph
from pydantic import ValidationError

from contend.checks.notations import notes_of, unfounded
from contend.errors import DraftError, InputError, SourceError
from contend.evidence import Action, ActionTask, Evidence, EvidencePool, empty_pool, with_texts
from contend.evidence.actions import LOCAL, place_to_read
from contend.evidence.pool import passages_of
from contend.evidence.screening import orders_of, speaking_of
from contend.graph_teams import GraphRequest, ModelMeter, TeamGraph, reply_of, shown_step
from contend.langgraph_compat import add_node
from contend.llm.budget import Ledger
from contend.models.evaluation import Submission
from contend.models.options import TeamConfig
from contend.models.record import utc_stamp
from contend.models.research import CitedSentence, Draft, FoundPassage, SearchResult
from contend.models.round import best_round
from contend.models.task import CallUsage
from contend.prompts.research import GraphPrompt
from contend.report import Reference, build_report, read_draft
from contend.report.plain import plain_title
from contend.research.ask import SUMMARY_CHARACTERS, folders, how_many, round_of, searched_sources, team_of, tell_step
from contend.research.asking import planted_in, screen_pool
from contend.research.looking import action_event, turn_off
from contend.research.state import ResearchInput, ResearchOutput, ResearchState
from contend.research.work import Research, open_research
from contend.retrieval import HybridIndex
from contend.run_context import RunContext
from contend.services import Services
from contend.sources.passages import TextPiece
from contend.sources.source_set import FullText
from contend.stores import content_id, passage_id
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
        team, run = self._own(state), await self.services.run(state)
        run.clock.go(team.team_id, state.get("clock"))
        graph, meter = await self.services.graphs.get(team), self._meter(run.ledger, state)
        message = run.render(await self._prompt(state))
        request = GraphRequest(message, state["theme"], lend(lambda action, text: self._act(state, action, text)))
        try:
            report = reply_of(await self._last_values(state, graph, request, meter))
        finally:
            meter.close()
        if len(report) > MOST_CHARACTERS:
            raise DraftError(f"its report has {len(report):,} characters; at most {MOST_CHARACTERS:,} are read")
        return {
            "answer": await self.services.documents.put(clean(report)),
            "calls": [call.model_dump(mode="json") for call in meter.calls],
            "clock": run.clock.reading(team.team_id),
            "sources_off": {**state.get("sources_off", {}), **run.sources_off},
        }

    async def check(self, state: GraphState) -> GraphState:
        """What the report cites, retrieved and screened; then the submission."""
        first: GraphState = {**state, "iteration_count": 1}
        report = await asyncio.to_thread(read_draft, await self.services.documents.get(state["answer"]))
        tell_step(self.services, first, "search", how_many(state, len(report.references), "references"))
        sources = await retrieve(self.services, state, report.references)
        draft, pool = await self._ground(report.draft, sources)
        work = (await open_research(self.services, state)).with_pool(pool)
        work, usages = await screen_pool(work, pool["held"])
        submission = await self._submission(state, draft, work, sources)
        text = await self.services.documents.put(submission.content)
        tell_step(self.services, first, "write", how_many(state, len(draft.sentences()), "statements"), document=text)
        calls = [*state.get("calls", []), *(usage.model_dump(mode="json") for usage in usages)]
        return {"calls": calls, "submission": await self.services.submissions.put(submission)}

    def _own(self, state: Mapping[str, Any]) -> TeamConfig:
        """The team as the workspace has it: what a state says names no code."""
        team_id = state["team"]["team_id"]
        team = self.services.config.teams.get(team_id)
        if team is None or team.kind != "graph":
            raise InputError(f"team {team_id}: its graph is no longer in the workspace's config/teams")
        return team

    def _meter(self, ledger: Ledger, state: GraphState) -> ModelMeter:
        team_id, number = state["team"]["team_id"], state["round_number"]
        ledger.know(CallUsage.model_validate(call) for call in state.get("calls", []))
        return ModelMeter(ledger, self.services.config.models.prices, key=f"{team_id}/{number}/graph")

    async def _last_values(
        self, state: GraphState, graph: TeamGraph, request: GraphRequest, meter: ModelMeter
    ) -> object:
        values: object = None
        steps = count = 0
        async with aclosing(graph.stream(request, meter)) as parts:
            async for mode, data in parts:
                new, count = meter.calls[count:], len(meter.calls)
                # Of a process that is killed here, what was spent is known all the same.
                key = state["execution_id"], state["team"]["team_id"], state["round_number"]
                await self.services.record.save_usage(*key, new)
                if mode == "values":
                    values = data
                elif mode == "updates" and (step := shown_step(data)) and steps < _MOST_STEP_EVENTS:
                    steps += 1
                    at_step: GraphState = {**state, "iteration_count": steps}
                    tell_step(self.services, at_step, "graph", step)
        return values

    async def _act(self, state: GraphState, action: ActionName, text: str) -> str:
        """What the team's sources say; one that fails is off for the rest of the run."""
        run, texts = await self.services.run(state), list[str]()
        for name in searched_sources(state) if action == "search" else [LOCAL]:
            if name in run.sources_off or name not in run.options.sources:
                continue
            task = _task(state, action, text, name)
            try:
                hits = await self._hits(task, run)
            except SourceError as error:
                if action == "read":
                    return str(error)
                await turn_off(self.services, task, name, error)
                continue
            self.services.tell(action_event(task, hits))
            texts += [
                _HIT_TEXT.format(hit=hit, reference=file_name(hit.result.url) or hit.result.url, place=hit.place)
                for hit in hits
            ]
        return "\n\n".join(texts) or "Nothing was found."

    async def _hits(self, task: ActionTask, run: RunContext) -> list[FoundPassage]:
        """What an action brings.

        Raises:
            SourceError: the source failed, or there is no such document.
        """
        action, documents, sources = task["action"], run.options.documents, self.services.sources
        match action["kind"]:
            case "search":
                source = await sources.ready(action["source"], documents, run.execution_id)
                return await source.search(action["text"], limit=_HITS)
            case "find":
                return (await sources.find(documents, run.execution_id, action["text"], limit=_HITS))[0]
            case _:
                reference, _, place = action["text"].strip().rpartition(" ")
                reading = place_to_read(f"1.{place}") if reference else None
                name = reference if reading else action["text"].strip()
                first, last = (reading.first, reading.last) if reading else (1, _HITS)
                for entry in await sources.catalogue(documents, run.execution_id) if documents else ():
                    if name in {entry.url, file_name(entry.url)}:
                        return await sources.read(documents, run.execution_id, entry.url, first, last)
                raise SourceError(f"there is no document {shorten(name, 100)!r}")

    async def _prompt(self, state: GraphState) -> GraphPrompt:
        documents = state["options"]["documents"]
        entries = await self.services.sources.catalogue(documents, state["execution_id"]) if documents else []
        best = await self.services.submission(state.get("best_submission"))
        return GraphPrompt(
            brief=state["brief"],
            stance=team_of(state).stance,
            documents=[file_name(entry.url) for entry in entries[:_MOST_NAMES]],
            best_report=best.content if best else "",
            fixes=await self._fixes(state) if best else "",
            **target_length(state["options"]["length"], parts=1),
        )

    async def _fixes(self, state: GraphState) -> str:
        """What judges found of the team's best report."""
        best = best_round(await (await self.services.run(state)).rounds_of(state.get("history", [])))
        return best.feedback if best else ""

    async def _ground(self, draft: Draft, sources: CitedDocuments) -> tuple[Draft, EvidencePool]:
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
        await self.services.documents.put_many([*texts.values()])
        passages = [*evidence.values()]
        return draft_with_passages, {**empty_pool([]), "passages": passages, "held": [each["id"] for each in passages]}

    async def _submission(self, state: GraphState, draft: Draft, work: Research, sources: CitedDocuments) -> Submission:
        pool, passages = work.pool, passages_of(work.pool, work.pool["held"])
        whole = await with_texts(self.services.documents, passages)
        speaking = {each["id"]: each["url"] for each in pool["passages"] if each.get("signals")}
        results = list({each.result.url: each.result for each in sources.documents.values()}.values())
        asked = work.run.asked(state["theme"])
        own = without_planted_text(without_speaking(draft, speaking), planted_in(work, whole))
        own = await asyncio.to_thread(prove, own, whole, around=asked)
        language = state["options"]["language"]
        report = build_report(own, whole, results, theme=state["theme"], language=language)
        return Submission(
            content=report.to_markdown(language, folders=await folders(self.services, state)),
            report=report,
            draft=own,
            passages=passages,
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


def _task(state: GraphState, action: ActionName, text: str, source: str) -> ActionTask:
    """An action of the graph's own, as contend's nodes are sent theirs."""
    own = Action(kind=action, source=source, text=clean(text, single_line=True)[:400], parts=[], by="researcher")
    return ActionTask(**round_of(state), number=0, action=own, url="", result={})


async def retrieve(services: Services, state: GraphState, references: Mapping[str, Reference]) -> CitedDocuments:
    """Each reference once: own documents by name, pages as those of searches are read."""
    own, documents = defaultdict[str, list[FoundPassage]](list), state["options"]["documents"]
    for section in await services.sources.whole(documents, state["execution_id"], _ALL) if documents else ():
        own[file_name(section.result.url)].append(section)
    answers = await asyncio.gather(*(_one(services, each, own) for each in [*references.values()][:MOST_REFERENCES]))
    by_key = dict(zip_longest(references, answers, fillvalue=f"over {MOST_REFERENCES} references"))
    missing = {key: answer for key, answer in by_key.items() if isinstance(answer, str)}
    return CitedDocuments({key: each for key, each in by_key.items() if isinstance(each, RetrievedDocument)}, missing)


async def _one(
    services: Services, reference: Reference, own: Mapping[str, list[FoundPassage]]
) -> RetrievedDocument | str:
    """The document, or why there is none."""
    if urlsplit(reference.address).scheme in {"http", "https"}:
        return await _page(services, reference)
    # The document that a reference names, by its address or in its text; of several the longest name.
    text = f"{unquote(Path(urlsplit(reference.address).path).name)}\n{reference.text}".casefold()
    name = max((name for name in own if name.casefold() in text), key=len, default="")
    return await asyncio.to_thread(_document, own[name]) if name else _NOWHERE


async def _page(services: Services, reference: Reference) -> RetrievedDocument | str:
    try:
        page = await services.sources.full_texts.read(reference.address)
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
