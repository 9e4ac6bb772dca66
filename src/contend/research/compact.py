"""Planning, writing and reviewing by a model that reads little: short shapes, few passages, one sentence at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

from contend.errors import DraftError
from contend.models.replies import DraftReply, PlanReply, ReviewReply, SentenceReply, draft_reply
from contend.models.research import CitedSentence, Draft, Passage, ResearchPlan, flat_section
from contend.models.round import Round
from contend.models.task import CallUsage, title_of
from contend.prompts.research import (
    NumberedLesson,
    PassageAtHand,
    PlanPrompt,
    ReviewPrompt,
    RoundBefore,
    ShownPassage,
    WritePrompt,
)
from contend.research.ask import (
    agent,
    max_iterations,
    rejection_reason,
    scope,
    searched_sources,
    stance_of,
    team_of,
)
from contend.research.planted import PlantedFilter, guard_of
from contend.research.state import ResearchState
from contend.services import Services
from contend.text import clean, shorten

AT_HAND = 4
AT_HAND_CHARACTERS = 240
"""Of so many passages of the own documents, the planner sees the beginnings."""

_TOLD_APART = 80
"""So many characters tell one feedback from another."""


async def plan(services: Services, state: ResearchState) -> tuple[ResearchPlan, CallUsage]:
    """What to find out, and what to search for."""
    answer = await (await agent(services, state, "supervisor")).structured(
        PlanPrompt(
            **_briefing(services, state),
            **await _planning(services, state),
            at_hand=await _at_hand(services, state),
        ),
        PlanReply,
        scope=scope(state, "supervisor", step="again" if state.get("human_input") else ""),
    )
    made = ResearchPlan(
        theme=title_of(state["theme"]),
        investigation_points=answer.value.investigation_points,
        search_queries=list(dict.fromkeys(answer.value.search_queries)),
        source_priority={name: place for place, name in enumerate(team_of(state).sources, start=1)},
        plan_text=answer.value.plan_text,
    )
    return made, answer.usage


async def write(
    services: Services, state: ResearchState, offered: Sequence[Passage], best_draft: str
) -> tuple[Draft, CallUsage]:
    """The draft, whole, also where there is one before it.

    Raises:
        DraftError: a part of the draft holds no text.
    """
    bullets, guard = state.get("bullets", []), guard_of(state, offered)
    answer = await (await agent(services, state, "writer")).structured(
        WritePrompt(
            **_briefing(services, state),
            points=_points(state),
            passages=ShownPassage.numbered(offered),
            best_draft=best_draft,
            feedback=state.get("feedback") or "",
            bullets=[NumberedLesson(number=at, content=each["content"]) for at, each in enumerate(bullets, start=1)],
        ),
        draft_reply(len(offered), len(bullets)),
        scope=scope(state, "writer", step=str(state["iteration_count"]), passages=offered),
        faults=lambda reply: faults_of(reply, guard),
    )
    return draft_of(answer.value, offered, bullets, (state["task_plan"] or {}).get("theme", "")), answer.usage


async def review(services: Services, state: ResearchState, offered: Sequence[Passage]) -> tuple[ReviewReply, CallUsage]:
    """Whether the draft is accepted, what is missing, what else to search for."""
    answer = await (await agent(services, state, "reviewer")).structured(
        ReviewPrompt(
            theme=state["theme"],
            points=_points(state),
            draft=state["current_draft"] or "",
            passages=ShownPassage.numbered(offered),
            iteration=state["iteration_count"],
            max_iterations=max_iterations(state),
        ),
        ReviewReply,
        scope=scope(state, "reviewer", step=str(state["iteration_count"])),
    )
    return answer.value, answer.usage


def draft_of(
    reply: DraftReply, offered: Sequence[Passage], bullets: Sequence[Mapping[str, Any]], title: str = ""
) -> Draft:
    """The draft with passage ids for numbers; numbers that were not offered are dropped.

    Raises:
        DraftError: a part of the draft holds no text.
    """
    parts = {name: _cited(getattr(reply, name), offered) for name in ("summary", "findings", "analysis", "limits")}
    for name in ("summary", "findings", "analysis"):
        if not parts[name]:
            raise DraftError(f"the writer's {name} holds no text")
    used = [bullets[number - 1]["id"] for number in dict.fromkeys(reply.bullets) if 1 <= number <= len(bullets)]
    body = flat_section([sentence.model_dump() for sentence in parts["analysis"]])
    return Draft.model_validate(
        {
            "title": title,
            "summary": parts["summary"],
            "findings": parts["findings"],
            "sections": [body],
            "limits": parts["limits"],
            "bullets_used": used,
        }
    )


def faults_of(reply: DraftReply, guard: PlantedFilter) -> str:
    """What the writer says because a source orders it, a line each; "" where it says nothing of the kind."""
    parts = ("summary", "findings", "analysis", "limits")
    placed = [(f"{name} {number}", each) for name in parts for number, each in enumerate(getattr(reply, name), start=1)]
    faults = [(place, guard.fault(each.text, each.sources)) for place, each in placed]
    return "\n".join(f"{place}: {fault}" for place, fault in faults if fault)


def _cited(sentences: Sequence[SentenceReply], offered: Sequence[Passage]) -> list[CitedSentence]:
    cited = []
    for sentence in sentences:
        numbers = [number for number in dict.fromkeys(sentence.sources) if 1 <= number <= len(offered)]
        if text := clean(sentence.text, single_line=True):
            cited.append(CitedSentence(text=text, passages=[offered[number - 1].id for number in numbers]))
    return cited


def _points(state: ResearchState) -> list[str]:
    return [*(state.get("task_plan") or {}).get("investigation_points", [])]


def _briefing(services: Services, state: ResearchState) -> dict[str, Any]:
    return {
        "theme": state["theme"],
        "instructions": state["options"]["instructions"],
        "brief": state.get("brief", ""),
        "stance": stance_of(services, state),
    }


async def _planning(services: Services, state: ResearchState) -> dict[str, Any]:
    team = team_of(state)
    rounds = await (await services.run(state)).rounds_of(state.get("history", []))
    history = [
        RoundBefore(
            round_number=past.round_number, score=past.score, feedback=past.feedback, uncovered=[*past.uncovered]
        )
        for past in rounds
    ]
    return {
        "query_hints": team.query_hints,
        "feedback": rejection_reason(state) or _latest_feedback(state, rounds),
        "sources": searched_sources(state),
        "round_number": state["round_number"],
        "history": history,
    }


def _latest_feedback(state: ResearchState, rounds: Sequence[Round]) -> str:
    """The judges' latest feedback, as far as the brief does not show it, shortened or not."""
    feedback = rounds[-1].feedback.strip() if rounds else ""
    return "" if feedback[:_TOLD_APART] in state.get("brief", "") else feedback


async def _at_hand(services: Services, state: ResearchState) -> list[PassageAtHand]:
    """What the own documents say nearest to the question: a plan made blind asks about something else."""
    if "local" not in searched_sources(state):
        return []
    source = await services.sources.ready("local", state["options"]["documents"], state["execution_id"])
    hits = await source.search(state["theme"], limit=AT_HAND)
    return [PassageAtHand(title=hit.result.title, text=shorten(hit.text, AT_HAND_CHARACTERS)) for hit in hits]
