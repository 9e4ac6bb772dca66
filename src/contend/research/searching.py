"""A research without a language model: the question's own parts, and the passages nearest to each."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.graph import START, StateGraph

from contend import search
from contend.checks.injection import certain_signals
from contend.langgraph_compat import add_node
from contend.models.evaluation import Submission
from contend.models.record import utc_stamp
from contend.models.research import (
    MOST_POINTS,
    CitedSentence,
    Draft,
    FoundPassage,
    ItemList,
    Passage,
    ResearchPlan,
    Section,
)
from contend.models.task import title_of
from contend.research.state import AT_BEGIN, ResearchInput, ResearchOutput, ResearchState, ResearchUpdate
from contend.research.submitting import hand_in
from contend.research.work import Research, open_research
from contend.services import Services
from contend.stores import passage_id
from contend.text import WORDS, shorten

_HITS = 30
_MOST_PASSAGES, _MOST_OF_A_PART = 5, 3
"""Of a question, and of each part where it has several."""
_PLAN = "The parts of the question, as it sets them apart."
_POINT = 500


class SearchTeam:
    """A team that needs no language model: it searches, in one round, and nobody scores what it finds."""

    may_win = False
    max_rounds = 1

    def build_graph(self, services: Services) -> StateGraph[Any, Any, Any, Any]:
        graph = StateGraph(ResearchState, input_schema=ResearchInput, output_schema=ResearchOutput)
        add_node(graph, "find_passages", SearchNode(services).find_passages)
        return graph.add_edge(START, "find_passages")


@dataclass(frozen=True)
class SearchNode:
    """A round of a team that searches."""

    services: Services

    async def find_passages(self, state: ResearchState) -> ResearchUpdate:
        """The passages nearest to each part of the question, as a submission."""
        work = await open_research(self.services, state)
        plan, parts = _plan(work.question), search.parts_in(work.question)
        work.tell_step("plan", work.how_many(len(parts), "parts"), plan=plan, actions=len(parts))
        found, speaking = await _find(work, parts)
        submission = await _submission(work, found, plan, speaking)
        work.tell_step("search", work.how_many(sum(len(each.passages) for each in found), "found_passages"))
        return {
            **AT_BEGIN,
            "task_plan": plan.model_dump(mode="json"),
            "next_action": "end",
            "iteration_count": 1,
            **await hand_in(work, submission),
        }


def _plan(theme: str) -> ResearchPlan:
    points = [shorten(part, _POINT) for part in search.parts_in(theme)][:MOST_POINTS]
    return ResearchPlan(
        theme=title_of(theme),
        investigation_points=points,
        search_queries=points,
        source_priority={"local": 1},
        plan_text=_PLAN,
    )


async def _find(work: Research, parts: Sequence[str]) -> tuple[list[search.PartPassages], dict[str, list[str]]]:
    """The passages of each part; and, by the address of each document that had such left out, how they speak to AI."""
    documents, execution_id = work.options.documents, work.run.execution_id
    source = await work.sources.ready("local", documents, execution_id)
    hits = [await source.search(part, limit=_HITS) for part in parts]
    catalogue = await work.sources.catalogue(documents, execution_id)
    editions = [search.Edition(entry.url, entry.title, entry.published) for entry in catalogue]
    return await asyncio.to_thread(_passages, parts, hits, editions)


def _passages(
    parts: Sequence[str], hits: Sequence[Sequence[FoundPassage]], editions: Sequence[search.Edition]
) -> tuple[list[search.PartPassages], dict[str, list[str]]]:
    speaking: dict[str, list[str]] = {}
    honest: list[list[FoundPassage]] = [[] for _ in parts]
    for of_part, own in zip(hits, honest, strict=True):
        for hit in of_part:
            if signals := certain_signals(f"{hit.result.title}\n\n{hit.heading}\n\n{hit.text}"):
                speaking[hit.result.url] = [*signals]
            else:
                own.append(hit)
    most = _MOST_OF_A_PART if parts[1:] else _MOST_PASSAGES
    newest = search.newest_editions(editions)
    found = [search.shown_passages(part, of_part, newest) for part, of_part in zip(parts, honest, strict=True)]
    shown = [
        search.PartPassages(part, search.newest_first(passages, most, newest=newest))
        for part, passages in zip(parts, found, strict=True)
    ]
    return shown, speaking


async def _submission(
    work: Research, found: Sequence[search.PartPassages], plan: ResearchPlan, speaking: dict[str, list[str]]
) -> Submission:
    language = work.options.language
    report = search.search_report(work.question, found, language)
    passages = list(dict.fromkeys(passage for each in found for passage in each.passages))
    texts = await work.documents.put_many([passage.text for passage in passages])
    ids = {passage: passage_id(document, passage.url) for passage, document in zip(passages, texts, strict=True)}
    return Submission(
        content=report.to_markdown(language, folders=await work.sources.paths(work.options.documents)),
        report=report,
        draft=_draft(found, ids, report.executive_summary),
        passages=[
            Passage(id=document, url=passage.url, title=passage.title, heading=passage.heading, read_at=utc_stamp())
            for passage, document in ids.items()
        ],
        results=report.sources,
        points=plan.investigation_points,
        queries=plan.search_queries,
        feedback="" if passages else WORDS[language].nothing_found,
        speaking=speaking,
    )


def _draft(found: Sequence[search.PartPassages], ids: dict[search.NearPassage, str], summary: str) -> Draft:
    """The passages as a draft has them: the first of each part as findings, all of them as sections."""

    def sentences_of(passages: Sequence[search.NearPassage]) -> list[CitedSentence]:
        return [CitedSentence(text=passage.text, passages=[ids[passage]]) for passage in passages]

    opening = [CitedSentence(text=summary)]
    findings = sentences_of([each.passages[0] for each in found if each.passages])
    parts = ((each.part, sentences_of(each.passages)) for each in found)
    sections = [Section(heading=part, blocks=[ItemList(items=items)]) for part, items in parts if items]
    plain = Section(blocks=[ItemList(items=opening)])
    return Draft(summary=opening, findings=findings or opening, sections=sections or [plain])
