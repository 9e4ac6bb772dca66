"""What the research's agents are asked: their model, their scope, and the values of each prompt."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from contend.llm.model import Model, Scope
from contend.models.options import ResolvedOptions, TeamConfig
from contend.models.research import Passage
from contend.models.task import CallUsage
from contend.prompts import Untrusted
from contend.research.approval import refusal_reason
from contend.research.state import ResearchState, ResearchUpdate, latest_calls
from contend.services import Services
from contend.text import shorten

AT_HAND = 4
AT_HAND_CHARACTERS = 240
"""Of so many passages of the own documents, the planner sees the beginnings."""

_TOLD_APART = 80
"""So many characters tell one feedback from another."""

Asked = Literal["supervisor", "writer", "reviewer"]


def team_of(state: ResearchState) -> TeamConfig:
    return TeamConfig.model_validate(state["team"])


def max_iterations(state: ResearchState) -> int:
    """How often the work may go to research or to the writer: 1 to 10."""
    return team_of(state).max_iterations or int(state["options"]["max_iterations"])


def asked(services: Services, state: ResearchState, role: Asked) -> Model:
    """The model that plays a role for this team."""
    options, execution_id = ResolvedOptions.model_validate(state["options"]), state["execution_id"]
    model = services.model(role, options, execution_id, team=team_of(state))
    # In a process that goes on with the run, calls and minutes of the unfinished round are known from the state alone.
    ledger = services.ledgers.of(execution_id)
    ledger.know(CallUsage.model_validate(call) for call in state.get("calls", []))
    ledger.clock.go(team_of(state).team_id, state.get("clock"))
    return model


def spent(services: Services, state: ResearchState, usage: CallUsage) -> ResearchUpdate:
    """What the round's calls cost with this one, and the run's active time."""
    return {
        "calls": latest_calls(state, usage.model_dump(mode="json")),
        "clock": services.clock(state["execution_id"]).reading(team_of(state).team_id),
    }


def scope(state: ResearchState, role: Asked, *, step: str = "") -> Scope:
    return Scope(
        execution_id=state["execution_id"],
        role=role,
        language=state["options"]["language"],
        team_id=team_of(state).team_id,
        round_number=state["round_number"],
        step=step,
    )


async def values_for(
    services: Services, state: ResearchState, role: Asked, *, offered: Sequence[Passage] = ()
) -> Mapping[str, object]:
    """The values of a role's prompt; whatever came from outside is marked Untrusted."""
    plan = state.get("task_plan") or {}
    points = [Untrusted(point) for point in plan.get("investigation_points", [])]
    shared: dict[str, object] = {"theme": Untrusted(state["theme"])}
    match role:
        case "supervisor":
            at_hand = await _at_hand(services, state)
            return shared | _briefing(services, state) | _planning(state) | {"at_hand": at_hand}
        case "writer":
            best = await services.submission(state.get("best_submission"))
            return (
                shared
                | _briefing(services, state)
                | {
                    "points": points,
                    "passages": _shown(offered),
                    "best_draft": Untrusted(best.content if best else "", label="draft"),
                    "feedback": Untrusted(state.get("feedback") or "", label="feedback"),
                    "bullets": [
                        {"number": number, "content": Untrusted(bullet["content"], label="bullet")}
                        for number, bullet in enumerate(state.get("bullets", []), start=1)
                    ],
                }
            )
        case "reviewer":
            return shared | {
                "points": points,
                "draft": Untrusted(state["current_draft"] or "", label="draft"),
                "passages": _shown(offered),
                "iteration": state["iteration_count"],
                "max_iterations": max_iterations(state),
            }


def _briefing(services: Services, state: ResearchState) -> dict[str, object]:
    return {
        "instructions": Untrusted(state["options"]["instructions"], label="instructions"),
        "brief": state.get("brief", ""),
        "stance": services.stance(team_of(state), state["options"]["language"]),
    }


def _planning(state: ResearchState) -> dict[str, object]:
    team = team_of(state)
    history: list[dict[str, Any]] = [
        {
            **past,
            "feedback": Untrusted(past["feedback"], label="feedback"),
            "uncovered": [Untrusted(point) for point in past["uncovered"]],
        }
        for past in state.get("history", [])
    ]
    return {
        "query_hints": team.query_hints,
        "feedback": Untrusted(refusal_reason(state) or _latest_feedback(state), label="feedback"),
        "sources": [name for name in team.sources if name in state["options"]["sources"]],
        "round_number": state["round_number"],
        "history": history,
    }


def _latest_feedback(state: ResearchState) -> str:
    """The judges' latest feedback, as far as the brief does not show it, shortened or not."""
    history = state.get("history", [])
    feedback = str(history[-1]["feedback"]).strip() if history else ""
    return "" if feedback[:_TOLD_APART] in state.get("brief", "") else feedback


async def _at_hand(services: Services, state: ResearchState) -> list[dict[str, object]]:
    """What the own documents say nearest to the question: a plan made blind asks about something else."""
    if "local" not in team_of(state).sources or "local" not in state["options"]["sources"]:
        return []
    source = await services.ready_source("local", state["options"]["documents"], state["execution_id"])
    found = await source.search(state["theme"], limit=AT_HAND)
    return [
        {
            "title": Untrusted(result.title, label="title"),
            "text": Untrusted(shorten(text, AT_HAND_CHARACTERS), label="passage"),
        }
        for result, text, _ in found
    ]


def _shown(passages: Sequence[Passage]) -> list[dict[str, object]]:
    return [
        {
            "number": number,
            "title": Untrusted(passage.title, label="title"),
            "text": Untrusted(passage.text, label="passage"),
        }
        for number, passage in enumerate(passages, start=1)
    ]
