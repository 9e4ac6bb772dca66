"""Planning, writing and reviewing by a model that reads little: short shapes, few passages, one sentence at a time."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from contend.errors import DraftError
from contend.models.replies import DraftReply, PlanReply, ReviewReply, SentenceReply, draft_reply
from contend.models.research import CitedSentence, Draft, Passage, ResearchPlan, flat_section
from contend.models.task import CallUsage, title_of
from contend.prompts.research import (
    EarlierRound,
    NumberedLesson,
    PassageAtHand,
    PlanPrompt,
    ReviewPrompt,
    ShownPassage,
    WritePrompt,
)
from contend.research.ask import (
    ask,
    max_iterations,
    plan_rejection,
    searched_sources,
    stance_of,
    team_of,
)
from contend.research.drafts import ids_of_lessons, ids_of_passages
from contend.research.evidence import numbers_of
from contend.research.planted import PlantedFilter, guard_of
from contend.research.state import ResearchState
from contend.services import Services
from contend.text import clean, shorten

AT_HAND = 4
AT_HAND_CHARACTERS = 240
"""Of so many passages of the own documents, the planner sees the beginnings."""

_PARTS = ("summary", "findings", "analysis", "limits")


async def plan(services: Services, state: ResearchState) -> tuple[ResearchPlan, CallUsage]:
    """What to find out, and what to search for."""
    rounds = await (await services.run(state)).rounds_of(state.get("history", []))
    prompt = PlanPrompt(
        **_briefing(services, state),
        query_hints=team_of(state).query_hints,
        feedback=plan_rejection(state) or (rounds[-1].feedback if rounds else ""),
        sources=searched_sources(state),
        round_number=state["round_number"],
        history=[EarlierRound(**past.model_dump(include={*EarlierRound.model_fields})) for past in rounds],
        at_hand=await _at_hand(services, state),
    )
    step = "again" if state.get("human_input") else ""
    answer = await ask(services, state, "supervisor", prompt, PlanReply, step=step)
    research_plan = ResearchPlan(
        theme=title_of(state["theme"]),
        investigation_points=answer.value.investigation_points,
        search_queries=list(dict.fromkeys(answer.value.search_queries)),
        source_priority=numbers_of(team_of(state).sources),
        plan_text=answer.value.plan_text,
    )
    return research_plan, answer.usage


async def write(
    services: Services, state: ResearchState, passages: Sequence[Passage], best_draft: str
) -> tuple[Draft, CallUsage]:
    """The draft, whole, also where there is one before it.

    Raises:
        DraftError: a part of the draft holds no text.
    """
    bullets, guard = state.get("bullets", []), guard_of(state, passages)
    prompt = WritePrompt(
        **_briefing(services, state),
        points=_points(state),
        passages=ShownPassage.of_passages(passages),
        best_draft=best_draft,
        feedback=state.get("feedback") or "",
        bullets=[NumberedLesson(number=at, content=each["content"]) for at, each in enumerate(bullets, start=1)],
    )
    shape, step = draft_reply(len(passages), len(bullets)), str(state["iteration_count"])
    mend = partial(faults_of, guard=guard)
    answer = await ask(services, state, "writer", prompt, shape, step=step, passages=passages, faults=mend)
    return draft_of(answer.value, passages, bullets, (state["task_plan"] or {}).get("theme", "")), answer.usage


async def review(
    services: Services, state: ResearchState, passages: Sequence[Passage]
) -> tuple[ReviewReply, CallUsage]:
    """Whether the draft is accepted, what is missing, what else to search for."""
    prompt = ReviewPrompt(
        theme=state["theme"],
        points=_points(state),
        draft=state["current_draft"] or "",
        passages=ShownPassage.of_passages(passages),
        iteration=state["iteration_count"],
        max_iterations=max_iterations(state),
    )
    answer = await ask(services, state, "reviewer", prompt, ReviewReply, step=str(state["iteration_count"]))
    return answer.value, answer.usage


def draft_of(
    reply: DraftReply, passages: Sequence[Passage], bullets: Sequence[Mapping[str, Any]], title: str = ""
) -> Draft:
    """The draft with passage ids for numbers; numbers that were not offered are dropped.

    Raises:
        DraftError: a part of the draft holds no text.
    """
    parts = {name: _sentences(getattr(reply, name), passages) for name in _PARTS}
    for name in _PARTS[:-1]:
        if not parts[name]:
            raise DraftError(f"the writer's {name} holds no text")
    sections = [flat_section(parts.pop("analysis"))]
    return Draft(title=title, **parts, sections=sections, bullets_used=ids_of_lessons(reply.bullets, bullets))


def faults_of(reply: DraftReply, guard: PlantedFilter) -> str:
    """What the writer says because a source orders it, a line each; "" where it says nothing of the kind."""
    return "\n".join(
        f"{name} {number}: {fault}"
        for name in _PARTS
        for number, each in enumerate(getattr(reply, name), start=1)
        if (fault := guard.fault(each.text, each.sources))
    )


def _sentences(sentences: Sequence[SentenceReply], passages: Sequence[Passage]) -> list[CitedSentence]:
    ids = [passage.id for passage in passages]
    texts = ((clean(each.text, single_line=True), each) for each in sentences)
    return [CitedSentence(text=text, passages=ids_of_passages(each, ids)) for text, each in texts if text]


def _points(state: ResearchState) -> list[str]:
    return [*(state.get("task_plan") or {}).get("investigation_points", [])]


def _briefing(services: Services, state: ResearchState) -> dict[str, Any]:
    return {
        "theme": state["theme"],
        "instructions": state["options"]["instructions"],
        "brief": state.get("brief", ""),
        "stance": stance_of(services, state),
    }


async def _at_hand(services: Services, state: ResearchState) -> list[PassageAtHand]:
    """What the own documents say nearest to the question: a plan made blind asks about something else."""
    if "local" not in searched_sources(state):
        return []
    source = await services.sources.ready("local", state["options"]["documents"], state["execution_id"])
    hits = await source.search(state["theme"], limit=AT_HAND)
    return [PassageAtHand(title=hit.result.title, text=shorten(hit.text, AT_HAND_CHARACTERS)) for hit in hits]
