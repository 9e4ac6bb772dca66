"""Planning, choosing, writing and reviewing by a model that reads whole passages and writes structure."""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from contend.models.evaluation import Fix, MetricScore, Submission
from contend.models.options import LENGTH_WORDS, Length
from contend.models.replies import (
    ChoiceReply,
    FixesReply,
    ReportReply,
    ResearchPlanReply,
    RevisionReply,
    SectionDraftReply,
    SummaryReply,
)
from contend.models.research import Draft, Passage, ResearchPlan, Section
from contend.models.round import best_round
from contend.models.task import CallUsage
from contend.prompts.research import (
    ChoosePrompt,
    EarlierSearch,
    FixesPrompt,
    MarkedPlace,
    NumberedLesson,
    ReportPrompt,
    ResearchHead,
    ResearchPlanPrompt,
    RevisePrompt,
    SectionPrompt,
    SourceDocument,
    SummarizePrompt,
)
from contend.research.ask import ask, plan_rejection, profile, searched_sources, stance_of, team_of
from contend.research.draft_forms import length_of, over_limit, shown_draft
from contend.research.drafts import draft_of, faults_of, faults_of_revision, revise, section_of, with_summary
from contend.research.evidence import Evidence, EvidencePool, numbers_of, pool_of
from contend.research.planted import guard_of
from contend.research.state import ResearchState, WrittenSection
from contend.services import Services
from contend.sources.catalogue import CatalogueEntry
from contend.text import estimate_tokens, file_name

CHARACTERS_A_WORD = 2
"""Of Japanese, for a word of English."""

_CATALOGUE_TOKENS = 3_000
_HEADING_LIMITS = (40, 20, 12, 8, 5, 3, 0)
"""So many of a document's headings are listed: as many as lets all documents be named."""


async def plan(services: Services, state: ResearchState, best: Submission | None) -> tuple[ResearchPlan, CallUsage]:
    """What to find out, under which headings, and what to search for."""
    pool = await pool_of(services, state)
    prompt = ResearchPlanPrompt(
        **_question(state),
        **await _catalogue(services, state),
        searches=_searches(pool),
        best_draft=shown_draft(best.draft, {}) if best else "",
        fixes=await fixes_for(services, state),
        rejected=plan_rejection(state),
        round_number=state["round_number"],
        stance=stance_of(services, state),
        sources=searched_sources(state),
        query_hints=team_of(state).query_hints,
    )
    step = "again" if state.get("human_input") else ""
    answer = await ask(services, state, "supervisor", prompt, ResearchPlanReply, step=step)
    return _plan_of(answer.value, state, pool), answer.usage


async def choose(
    services: Services,
    state: ResearchState,
    candidates: Sequence[Evidence],
    passages: Sequence[Passage],
    *,
    budget: int,
) -> tuple[ChoiceReply, CallUsage]:
    """Which of the passages serve which point, and what none answers."""
    head, pool = await _head(services, state, passages), await pool_of(services, state)
    prompt = ChoosePrompt(head=head, budget=budget, searches=_searches(pool))
    step = f"choose {len(pool['shown'])} {len(candidates)}"
    answer = await ask(services, state, "writer", prompt, ChoiceReply, step=step, passages=passages)
    return answer.value, answer.usage


async def write(
    services: Services, state: ResearchState, passages: Sequence[Passage], before: Draft | None
) -> tuple[Draft, CallUsage]:
    """A first draft, or `before` with what changes."""
    bullets, step, guard = state.get("bullets", []), str(state["iteration_count"]), guard_of(state, passages)
    values = await _to_write(services, state, passages, with_points=before is None)
    values |= length_values(state["options"]["length"])
    if before is None:
        first = ReportPrompt(**values, outline=outline_of(state))
        drafted = partial(draft_of, passages=passages, bullets=bullets, title=_title(state))
        answer = await ask(
            services,
            state,
            "writer",
            first,
            ReportReply,
            step=step,
            passages=passages,
            faults=lambda reply: faults_of(reply, len(passages), guard) or over_limit(drafted(reply)),
        )
        return drafted(answer.value), answer.usage
    prompt = RevisePrompt(
        **values,
        **length_of(before),
        draft=draft_text(before, passages),
        marks=_marks(state),
        fixes=await fixes_for(services, state),
        new_passages=_new_numbers(state),
    )
    revised = partial(revise, before, passages=passages, bullets=bullets)
    revision = await ask(
        services,
        state,
        "writer",
        prompt,
        RevisionReply,
        step=step,
        passages=passages,
        faults=lambda reply: (
            faults_of_revision(reply, before, len(passages), guard) or over_limit(revised(reply=reply))
        ),
    )
    return revised(reply=revision.value), revision.usage


async def write_section(
    services: Services, state: ResearchState, number: int, passages: Sequence[Passage]
) -> WrittenSection:
    """One section of a long report, at the same time as the others."""
    outline, length = outline_of(state), length_values(state["options"]["length"])
    prompt = SectionPrompt(
        **await _to_write(services, state, passages),
        outline=outline,
        number=number,
        words=round(length["words"] / len(outline)),
        characters=round(length["characters"] / len(outline)),
    )
    step = f"{state['iteration_count']} section {number}"
    mend = partial(faults_of, passage_count=len(passages), guard=guard_of(state, passages), number=number)
    answer = await ask(services, state, "writer", prompt, SectionDraftReply, step=step, passages=passages, faults=mend)
    section, lessons = section_of(answer.value, passages, state.get("bullets", []))
    return {
        "number": number,
        "section": section.model_dump(mode="json"),
        "bullets": lessons,
        "usage": answer.usage.model_dump(mode="json"),
        "failure": "",
    }


async def summarize(
    services: Services, state: ResearchState, passages: Sequence[Passage], sections: Sequence[WrittenSection]
) -> tuple[Draft, CallUsage]:
    """The long report whole: its sections, and what stands around them by who has read them."""
    bodies = [Section.model_validate(each["section"]) for each in sections]
    first = next(each for section in bodies for each in section.statements())
    body = Draft(
        title=_title(state),
        summary=[first],
        findings=[first],
        sections=bodies,
        bullets_used=list(dict.fromkeys(bullet for each in sections for bullet in each["bullets"])),
    )
    head, step = await _head(services, state, passages), f"{state['iteration_count']} summary"
    prompt = SummarizePrompt(head=head, draft=draft_text(body, passages, only_sections=True))
    mend = partial(faults_of, passage_count=len(passages), guard=guard_of(state, passages))
    answer = await ask(services, state, "writer", prompt, SummaryReply, step=step, passages=passages, faults=mend)
    return with_summary(body, answer.value, passages), answer.usage


def writes_by_section(state: ResearchState) -> bool:
    """Whether the next draft is a first one of a long report with several sections."""
    first = not state.get("draft_report") and not state.get("best_submission")
    return first and state["options"]["length"] == "long" and len(outline_of(state)) > 1


def outline_of(state: ResearchState) -> list[str]:
    outline: list[str] = (state.get("task_plan") or {}).get("outline", [])
    return outline


async def review(
    services: Services, state: ResearchState, passages: Sequence[Passage], draft: Draft
) -> tuple[FixesReply, CallUsage]:
    """What to mend in the draft, what to search for, and whether it can be handed in."""
    prompt = FixesPrompt(
        head=await _head(services, state, passages),
        draft=draft_text(draft, passages),
        marks=_marks(state),
        **length_of(draft),
        **length_values(state["options"]["length"]),
    )
    answer = await ask(services, state, "reviewer", prompt, FixesReply, step=str(state["iteration_count"]))
    return answer.value, answer.usage


def fixes_text(reply: FixesReply) -> str:
    """The fixes, a line each with its place."""
    return "\n".join(f"- {fix.where}: {fix.what}" for fix in reply.fixes)


async def fixes_for(services: Services, state: ResearchState) -> str:
    """What to mend in the draft at hand: the reviewer's fixes, else what judges found of the team's best report."""
    if feedback := state.get("feedback"):
        return feedback
    if state.get("draft_report"):
        return ""
    best = best_round(await (await services.run(state)).rounds_of(state.get("history", [])))
    return best.feedback if best else ""


async def gaps_for(services: Services, state: ResearchState) -> list[str]:
    """What the team's last report left open, to search for in its own documents: unmet criteria, or its points.

    They are sentences, not key words: other sources are searched as the supervisor says.
    """
    rounds = await (await services.run(state)).rounds_of(state.get("history", []))
    if not rounds:
        return []
    unmet = [fix.what for metric in rounds[-1].metrics if metric.name == "coverage" for fix in _of_criteria(metric)]
    return list(dict.fromkeys(unmet or rounds[-1].uncovered))


def _of_criteria(coverage: MetricScore) -> Sequence[Fix]:
    """The fixes of unmet criteria lead; those behind them name what passages say that the team has at hand."""
    if not coverage.verdicts:
        return coverage.fixes  # it was judged by its rubric: all of them may name what is to be found
    return coverage.fixes[: sum(verdict != "met" for verdict in coverage.verdicts.values())]


def _plan_of(reply: ResearchPlanReply, state: ResearchState, pool: EvidencePool) -> ResearchPlan:
    """The plan. A point that no query serves is searched by its own words."""
    point_numbers = {number for query in reply.queries for number in query.points}
    alone = [point for number, point in enumerate(reply.points, start=1) if number not in point_numbers]
    queries = [query.query for query in reply.queries]
    if not pool["searches"]:
        queries += alone
    return ResearchPlan(
        theme=reply.title,
        investigation_points=reply.points,
        outline=reply.outline,
        search_queries=list(dict.fromkeys(queries or reply.points))[:20],
        source_priority=numbers_of(team_of(state).sources),
        plan_text=reply.plan_text,
    )


def _question(state: ResearchState) -> dict[str, Any]:
    return {
        "brief": state.get("brief", ""),
        "theme": state["theme"],
        "instructions": state["options"]["instructions"],
    }


def draft_text(draft: Draft, passages: Sequence[Passage], *, only_sections: bool = False) -> str:
    """A draft for a prompt, with the numbers of the passages shown there."""
    numbers = numbers_of([passage.id for passage in passages])
    return shown_draft(draft, numbers, only_sections=only_sections)


async def _head(
    services: Services, state: ResearchState, passages: Sequence[Passage], *, with_points: bool = True
) -> str:
    """What the calls of a loop begin with alike, so that a provider need not read it anew."""
    points = (state.get("task_plan") or {}).get("investigation_points", []) if with_points else []
    head = ResearchHead(**_question(state), points=points, passages=SourceDocument.of_passages(passages))
    return (await services.run(state)).render(head)


async def _to_write(
    services: Services, state: ResearchState, passages: Sequence[Passage], *, with_points: bool = True
) -> dict[str, Any]:
    """What every writer of a part is told, with the lessons that the brief does not show."""
    brief, bullets = state.get("brief", ""), enumerate(state.get("bullets", []), start=1)
    lessons = ((number, each["content"]) for number, each in bullets)
    return {
        "head": await _head(services, state, passages, with_points=with_points),
        "stance": stance_of(services, state),
        "bullets": [NumberedLesson(number=number, content=text) for number, text in lessons if text not in brief],
    }


def _title(state: ResearchState) -> str:
    title: str = (state["task_plan"] or {}).get("theme", "")
    return title


def _marks(state: ResearchState) -> list[MarkedPlace]:
    return [MarkedPlace(place=mark["place"], text=mark["text"]) for mark in state.get("marks", [])]


def length_values(length: Length) -> dict[str, int]:
    """About how long a report is to be, in words and, for Japanese, in characters."""
    words = LENGTH_WORDS[length]
    return {"words": words, "characters": words * CHARACTERS_A_WORD}


def _new_numbers(state: ResearchState) -> list[int]:
    """The passages that joined since this round's draft was written, by number."""
    ids = state.get("written_from", [])
    if not state.get("draft_report") or not ids:
        return []
    return [number for number, each in enumerate(state["passages"], start=1) if each["id"] not in ids]


def _searches(pool: EvidencePool) -> list[EarlierSearch]:
    titles: dict[str, dict[str, None]] = {query: {} for query in pool["searches"]}
    for passage in pool["passages"]:
        for query in passage["queries"]:
            titles.setdefault(query, {})[passage["title"]] = None
    return [EarlierSearch(query=query, titles="; ".join([*each][:6])) for query, each in titles.items()]


async def _catalogue(services: Services, state: ResearchState) -> dict[str, Any]:
    """The own documents, those nearest to the question where all are too many."""
    sources = searched_sources(state)
    if "local" not in sources:
        return {"catalogue": "", "more_documents": 0}
    entries = await services.sources.catalogue(state["options"]["documents"], state["execution_id"])
    whole = sources == ["local"] and sum(entry.tokens for entry in entries) <= profile(state).offered_tokens
    if whole:
        # From headings a plan would guess what documents say that its team is about to read.
        entries = [entry._replace(headings=[]) for entry in entries]
    room = min(_CATALOGUE_TOKENS, profile(state, "supervisor").tokens // 10)
    brief = fit_headings(entries, tokens=room)
    if len(brief) < len(entries):
        nearest = await services.sources.nearest(state["options"]["documents"], state["execution_id"], state["theme"])
        places = {url: place for place, url in enumerate(nearest)}
        brief = fit_headings(sorted(entries, key=lambda entry: places.get(entry.url, len(places))), tokens=room)
    return {
        "catalogue": "\n".join(map(_line, brief)),
        "more_documents": len(entries) - len(brief),
        "whole": whole,
    }


def fit_headings(entries: Sequence[CatalogueEntry], *, tokens: int) -> list[CatalogueEntry]:
    """The documents with as many headings each as lets all be named; the leading ones where even titles are too much.

    `tokens`: what the list may take.
    """
    for headings in _HEADING_LIMITS:
        brief = [entry._replace(headings=entry.headings[:headings]) for entry in entries]
        if sum(estimate_tokens(f"{_line(entry)}\n") for entry in brief) <= tokens:
            return brief
    few = [entry._replace(headings=entry.headings[: _HEADING_LIMITS[-2]]) for entry in entries]
    sizes = accumulate(estimate_tokens(f"{_line(entry)}\n") for entry in few)
    return [entry for entry, size in zip(few, sizes, strict=True) if size <= tokens]


def _line(entry: CatalogueEntry) -> str:
    facts = ", ".join(filter(None, [file_name(entry.url), entry.published, str(entry.tokens)]))
    headings = f": {'; '.join(heading.path for heading in entry.headings)}" if entry.headings else ""
    return f"- {entry.title} ({facts}){headings}"
