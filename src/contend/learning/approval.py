"""The delta before a person: the question, and what the answer makes of the state."""

from typing import Any

from pydantic import TypeAdapter, ValidationError

from contend.learning.state import ApproveUpdate, LearningState
from contend.models.playbook import DeltaContextItem, ReflectionResult, Skipped
from contend.models.questions import Decision, Unusable, decision_of, payload

_DELTA = TypeAdapter(list[DeltaContextItem])


def delta_question(state: LearningState) -> dict[str, Any]:
    """The interrupt's payload: the operations, which may be edited."""
    dataset = state.get("dataset", "default")
    return payload(
        "playbook",
        {"operations": state["delta"]},
        description=f"{len(state['delta'])} changes to the playbook {dataset!r}",
        execution_id=state["execution_id"],
        problem=state.get("problem", ""),
    )


def answered(state: LearningState, answer: object) -> ApproveUpdate:
    """The answer followed; one that can't be followed leaves the question open and says why."""
    match decision_of(answer):
        case Unusable(why):
            return {"problem": why}
        case Decision(type="edit") as decision:
            return _edited(decision)
        case Decision(type="reject") as decision:
            return _rejected(state, decision.reason)
    return {"approve": False, "problem": ""}


def _edited(decision: Decision) -> ApproveUpdate:
    try:
        delta = _DELTA.validate_python(decision.args.get("operations"))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        return {"problem": f"operations.{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"}
    return {"delta": [item.model_dump(mode="json") for item in delta], "approve": False, "problem": ""}


def _rejected(state: LearningState, reason: str) -> ApproveUpdate:
    """Nothing of this run enters the playbook, votes included."""
    refused = Skipped(bullet_id=None, reason=f"a person rejected the changes: {reason or 'no reason given'}")
    return {
        "delta": [],
        "skipped": [*state.get("skipped", []), refused.model_dump(mode="json")],
        "reflection": ReflectionResult().model_dump(mode="json"),
        "approve": False,
        "problem": "",
    }
