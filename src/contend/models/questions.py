"""Questions to a person, in the shapes that the front ends know, and answers in whichever shape they come back.

agent-chat-ui draws `action_requests` with `args` and answers `{"decisions": [{"type": …}]}`. Agent Inbox reads
`arguments` and answers `[{"type": "accept" | "edit" | "response" | "ignore", "args": …}]`, edited values as strings.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import Field

from contend.models.options import Approval
from contend.models.record import Record

ACTIONS: Mapping[Approval, str] = {
    "plan": "approve_plan",
    "report": "approve_report",
    "playbook": "approve_delta",
}


class Question(Record):
    """A question that waits for a person. `args` may be edited; `problem` says why the last answer was not usable."""

    id: str
    asked: Approval
    execution_id: str
    team_id: str = ""
    description: str
    args: dict[str, Any]
    problem: str = ""


class Decision(Record):
    """A person's answer: approve, edit (with `args`), or reject (with a reason)."""

    type: Literal["approve", "edit", "reject"]
    args: dict[str, Any] = Field(default_factory=dict)
    reason: str = ""


class Unusable(NamedTuple):
    """An answer that cannot be followed, and why."""

    why: str


def payload(
    asked: Approval,
    args: Mapping[str, Any],
    *,
    description: str,
    execution_id: str,
    team_id: str = "",
    problem: str = "",
) -> dict[str, Any]:
    """What an interrupt carries: one action, for both front ends."""
    action = ACTIONS[asked]
    said = f"{description}\n\n{problem}" if problem else description
    return {
        "action_requests": [{"name": action, "args": dict(args), "arguments": dict(args), "description": said}],
        "review_configs": [{"action_name": action, "allowed_decisions": ["approve", "edit", "reject"]}],
        "asked": asked,
        "execution_id": execution_id,
        "team_id": team_id,
        "problem": problem,
    }


def question_of(interrupt_id: str, value: Mapping[str, Any]) -> Question:
    """The question behind an interrupt of ours."""
    request = value["action_requests"][0]
    return Question(
        id=interrupt_id,
        asked=value["asked"],
        execution_id=value["execution_id"],
        team_id=value["team_id"],
        description=request["description"],
        args=request["args"],
        problem=value["problem"],
    )


def decision_of(answer: object) -> Decision | Unusable:
    """An answer in any of the known shapes as a decision."""
    match answer:
        case Decision():
            return answer
        case bool(approved) | {"approved": bool(approved)}:
            return Decision(type="approve") if approved else Decision(type="reject", reason=_reason(answer))
        case {"decisions": [first, *_]} | [first, *_]:
            return decision_of(first)
        case str():
            return _decided(answer, {})
        case {"type": str(word), **rest}:
            return _decided(word, {str(name): value for name, value in rest.items()})
    return Unusable(_UNKNOWN)


_UNKNOWN = (
    "the answer is none of approve, edit, reject: give "
    '"approve", {"type": "edit", "args": {…}} or {"type": "reject", "reason": "…"}'
)


def _decided(word: str, answer: Mapping[str, Any]) -> Decision | Unusable:
    match word.strip().lower():
        case "approve" | "accept" | "yes" | "はい":
            return Decision(type="approve")
        case "edit":
            return _edited(answer)
        case "reject" | "response" | "ignore" | "no" | "いいえ":
            return Decision(type="reject", reason=_reason(answer))
        case _:
            return Unusable(_UNKNOWN)


def _edited(answer: Mapping[str, Any]) -> Decision | Unusable:
    found = answer.get("edited_action", answer.get("args"))
    if isinstance(found, Mapping):
        found = found.get("args", found.get("arguments", found))
    if not isinstance(found, Mapping) or not found:
        return Unusable("an edit needs the edited values under args")
    return Decision(type="edit", args={str(name): _plain(value) for name, value in found.items()})


def _plain(value: object) -> object:
    """Edited lists and tables come back as strings from front ends that only know text fields."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _reason(answer: object) -> str:
    if not isinstance(answer, Mapping):
        return ""
    said = answer.get("reason") or answer.get("message") or answer.get("args") or ""
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
