"""The plan before a person: the question, and what the answer makes of the state."""

from typing import Any

from pydantic import ValidationError

from contend.models.questions import Decision, Unusable, decision_of, payload
from contend.models.research import ResearchPlan
from contend.research.state import ResearchState, ResearchUpdate

EDITABLE = ("investigation_points", "search_queries", "plan_text")


def wants_approval(state: ResearchState) -> bool:
    """Plans are approved in round 1 only, before any search; a plan made anew after a rejection is not asked again."""
    return "plan" in state["options"]["approve"] and state["round_number"] == 1 and not state.get("human_input")


def plan_question(state: ResearchState) -> dict[str, Any]:
    """The interrupt's payload: what may be edited, and whose plan it is."""
    plan, team = state["task_plan"] or {}, state["team"]
    return payload(
        "plan",
        {name: plan[name] for name in EDITABLE},
        description=f"Plan of team {team['name']} for: {state['theme']}",
        execution_id=state["execution_id"],
        team_id=team["team_id"],
        problem=state.get("problem", ""),
    )


def answered(state: ResearchState, answer: object) -> ResearchUpdate:
    """The answer followed; one that can't be followed leaves the question open and says why."""
    match decision_of(answer):
        case Unusable(why):
            return {"problem": why}
        case Decision(type="edit") as decision:
            plan = edited_plan(state["task_plan"] or {}, decision)
            return {"problem": plan.why} if isinstance(plan, Unusable) else _settled(decision, plan)
        case Decision(type="reject") as decision:
            return {**_settled(decision, None), "next_action": "research"}
        case decision:
            return _settled(decision, ResearchPlan.model_validate(state["task_plan"]))


def edited_plan(plan: dict[str, Any], decision: Decision) -> ResearchPlan | Unusable:
    """The plan with a person's edits, held to the same limits as any plan."""
    unknown = sorted(decision.args.keys() - set(EDITABLE))
    if unknown:
        return Unusable(f"{', '.join(unknown)} cannot be edited; edit {', '.join(EDITABLE)}")
    try:
        return ResearchPlan.model_validate({**plan, **decision.args})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        return Unusable(f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}")


def refusal_reason(state: ResearchState) -> str:
    """Why a person rejected the plan; empty if nobody did."""
    said = state.get("human_input")
    decision = Decision.model_validate_json(said) if said else None
    return decision.reason if decision and decision.type == "reject" else ""


def _settled(decision: Decision, plan: ResearchPlan | None) -> ResearchUpdate:
    return {
        "human_input": decision.model_dump_json(),
        "human_input_required": False,
        "problem": "",
        "task_plan": plan.model_dump(mode="json") if plan else None,
    }
