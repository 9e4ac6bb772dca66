"""A research without a language model: no plan but the question's own parts, no draft but quotes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.graph import START, StateGraph

from contend import quotes
from contend.langgraph_compat import add_node
from contend.models.evaluation import Submission
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
from contend.research.ask import folders, hand_in, how_many, tell_step
from contend.research.state import AT_BEGIN, ResearchInput, ResearchOutput, ResearchState, ResearchUpdate
from contend.services import Services
from contend.stores.documents import passage_id
from contend.text import WORDS, shorten

WHOLE_TOKENS = 200_000
"""Documents of so many tokens are looked through whole; of more, the sections that a search finds."""

_HITS = 100
_PLAN = "The parts of the question, as it sets them apart."
_POINT = 500


class QuotesTeam:
    """A team that needs no language model: it quotes, in one round, and nobody scores quotes."""

    may_win = False
    max_rounds = 1

    def build_graph(self, services: Services) -> StateGraph[Any, Any, Any, Any]:
        graph = StateGraph(ResearchState, input_schema=ResearchInput, output_schema=ResearchOutput)
        add_node(graph, "quote", QuotesNode(services).quote)
        return graph.add_edge(START, "quote")


@dataclass(frozen=True)
class QuotesNode:
    """A round of a team that quotes."""

    services: Services

    async def quote(self, state: ResearchState) -> ResearchUpdate:
        """The passages that answer each part of the question, as a submission."""
        points = [shorten(part, _POINT) for part in quotes.parts_of(state["theme"])]
        plan = ResearchPlan(
            theme=title_of(state["theme"]),
            investigation_points=points[:MOST_POINTS],
            search_queries=points[:MOST_POINTS],
            source_priority={"local": 1},
            plan_text=_PLAN,
        )
        first: ResearchState = {**state, "iteration_count": 1}
        tell_step(self.services, first, "plan", how_many(state, len(points), "parts"), plan=plan)
        answers = await asyncio.to_thread(_answers, state["theme"], await _passages(self.services, state))
        submission = await _submission(self.services, state, plan, answers)
        detail = how_many(state, sum(len(answer.quotes) for answer in answers), "quotes")
        text = await self.services.documents.put(submission.content)
        tell_step(self.services, first, "write", detail, document=text)
        return {
            **AT_BEGIN,
            "task_plan": plan.model_dump(mode="json"),
            "next_action": "end",
            "iteration_count": 1,
            **await hand_in(self.services, state, submission),
        }


async def _passages(services: Services, state: ResearchState) -> list[FoundPassage]:
    documents, execution_id = state["options"]["documents"], state["execution_id"]
    if whole := await services.sources.whole(documents, execution_id, WHOLE_TOKENS):
        return whole
    source = await services.sources.ready("local", documents, execution_id)
    hits = [hit for part in quotes.parts_of(state["theme"]) for hit in await source.search(part, limit=_HITS)]
    return list({(hit.result.url, hit.heading, hit.text): hit for hit in hits}.values())


def _answers(question: str, hits: Sequence[FoundPassage]) -> list[quotes.QuotedAnswer]:
    sources = [quotes.SourceText(hit.result.url, hit.result.title, hit.heading, hit.text) for hit in hits]
    return quotes.answers_of(question, quotes.units_of(sources))


async def _submission(
    services: Services, state: ResearchState, plan: ResearchPlan, answers: Sequence[quotes.QuotedAnswer]
) -> Submission:
    language = state["options"]["language"]
    report = quotes.quoted_report(state["theme"], answers, language)
    units = list(dict.fromkeys(quote.unit for answer in answers for quote in (*answer.quotes, *answer.nearest)))
    texts = await services.documents.put_many([quotes.said_by(unit) for unit in units])
    ids = {unit: passage_id(text, unit.source.url) for unit, text in zip(units, texts, strict=True)}
    nothing = not any(answer.quotes for answer in answers)
    return Submission(
        content=report.to_markdown(language, folders=await folders(services, state)),
        report=report,
        draft=_draft(answers, {unit: [document] for unit, document in ids.items()}, report.executive_summary),
        passages=[
            Passage(id=document, url=unit.source.url, title=unit.source.title, heading=unit.source.heading)
            for unit, document in ids.items()
        ],
        results=report.sources,
        points=plan.investigation_points,
        queries=plan.search_queries,
        feedback=WORDS[language].not_answered if nothing else "",
    )


def _draft(answers: Sequence[quotes.QuotedAnswer], ids: dict[quotes.Unit, list[str]], summary: str) -> Draft:
    """The quotes as a draft has them: the best of each part as findings, all of them as sections."""

    def sentences_of(selection: Sequence[quotes.Quote]) -> list[CitedSentence]:
        return [CitedSentence(text=quotes.said_by(quote.unit), passages=ids[quote.unit]) for quote in selection]

    opening = [CitedSentence(text=summary, kind="judgement")]
    findings = sentences_of([answer.quotes[0] for answer in answers if answer.quotes])
    parts = ((answer.part, sentences_of(answer.quotes or answer.nearest)) for answer in answers)
    sections = [Section(heading=part, blocks=[ItemList(items=items)]) for part, items in parts if items]
    plain = Section(blocks=[ItemList(items=opening)])
    return Draft(summary=opening, findings=findings or opening, sections=sections or [plain])
