"""What a person is asked and what the answer does: one pattern for plan, report and playbook.

A node interrupts with `question(…)` and reads the answer by `apply_answer(…)`; an entry point shows the
`open_questions` and finds by `chosen_answers` which answer goes to which. The shapes are those that front ends know:
agent-chat-ui draws `action_requests` with `args` and answers `{"decisions": [{"type": …}]}`; Agent Inbox reads
`arguments` and answers `[{"type": "accept" | "edit" | "response" | "ignore", "args": …}]`, edited values as strings.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from pydantic import ConfigDict, Field, ValidationError

from contend.errors import InputError, SeveralQuestions
from contend.models.events import QuestionAsked
from contend.models.options import Approval
from contend.models.record import Record
from contend.parsing import parse_json
from contend.settings.files import first_fault
from contend.text import ja

if TYPE_CHECKING:
    from langgraph.types import (  # takes a second, and who lists runs or completes a thread's id needs none
        Interrupt,
        StateSnapshot,
    )

T = TypeVar("T")

_SHORTEST_NAME = 6
"""Characters of an id that name a question."""

ID_CHARACTERS = 8
"""Characters of a question's id: enough to name it."""

_ID = re.compile(r"[0-9a-f]{32}")


ACTIONS: Mapping[Approval, str] = {"plan": "approve_plan", "report": "approve_report", "playbook": "approve_delta"}


class Question(Record):
    """A question that waits for a person."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    """By which it is answered."""
    asked: Approval
    """What is to be approved."""
    execution_id: str
    """The run's row in the record."""
    team_id: str = ""
    """The team that asks; empty where the run does."""
    description: str
    """What a person reads first."""
    args: dict[str, Any]
    """What may be edited."""
    problem: str = ""
    """Why the last answer was not usable."""


class Decision(Record):
    """A person's answer: approve, edit (with `args`), reject (with or without a reason), or respond (with a comment).

    `reason` holds a comment, too.
    """

    type: Literal["approve", "edit", "reject", "respond"]
    args: dict[str, Any] = Field(default_factory=dict)
    reason: str = ""


class Unusable(NamedTuple):
    """An answer that cannot be followed, and why."""

    why: str


class Approved(NamedTuple, Generic[T]):
    """What a person approved, as it was or as it was edited."""

    value: T
    decision: Decision


class Rejected(NamedTuple):
    """A person rejected it; the reason may be empty. `is_comment`: they only said what to change."""

    decision: Decision
    is_comment: bool = False


def apply_answer(
    answer: object, proposal: T, *, editable: Collection[str], edit: Callable[[dict[str, Any]], T]
) -> Approved[T] | Rejected | Unusable:
    """What an answer makes of a proposal. `edit` puts edited values in, held to the same limits as ever.

    `edit` refuses by a ValidationError or an InputError.
    """
    try:
        decision = decision_of(answer)
        if decision.type in {"reject", "respond"}:
            rejection = decision.model_copy(update={"type": "reject"})
            return Rejected(rejection, is_comment=decision.type == "respond")
        if decision.type == "approve":
            return Approved(proposal, decision)
        if unknown_names := sorted(decision.args.keys() - set(editable)):
            return Unusable(f"{', '.join(unknown_names)} cannot be edited; edit {', '.join(editable)}")
        return Approved(edit(decision.args), decision)
    except ValidationError as error:
        return Unusable(first_fault(error))
    except InputError as error:
        return Unusable(str(error))


def question(
    kind: Approval,
    args: Mapping[str, Any],
    *,
    description: str,
    execution_id: str,
    team_id: str = "",
    problem: str = "",
) -> dict[str, Any]:
    """What an interrupt carries: one action, for both front ends."""
    action = ACTIONS[kind]
    text = f"{description}\n\n{problem}" if problem else description
    return {
        "action_requests": [{"name": action, "args": dict(args), "arguments": dict(args), "description": text}],
        "review_configs": [{"action_name": action, "allowed_decisions": ["approve", "edit", "reject", "respond"]}],
        "asked": kind,
        "execution_id": execution_id,
        "team_id": team_id,
        "problem": problem,
    }


def decision_of(answer: object) -> Decision:
    """An answer in any of the known shapes as a decision.

    Raises:
        InputError: it has none of them.
    """
    match answer:
        case Decision():
            return answer
        case bool(approved) | {"approved": bool(approved)}:
            return Decision(type="approve") if approved else Decision(type="reject", reason=_reason(answer))
        case {"decisions": [first, *_]} | [first, *_]:
            return decision_of(first)
        case str() if _is_comment(answer):
            return Decision(type="respond", reason=answer.strip())
        case str():
            return _decision_by_word(answer, {})
        case {"type": str(word), **rest}:
            return _decision_by_word(word, {str(name): value for name, value in rest.items()})
    raise InputError(_UNKNOWN_DECISION)


_UNKNOWN_DECISION = (
    "the answer is none of approve, edit, reject, respond: give "
    '"approve", {"type": "edit", "args": {…}} or {"type": "reject", "reason": "…"}, or say what to change'
)


def _is_comment(answer: str) -> bool:
    """Whether a text says what to change. A single word of Latin letters may be an approval that is misspelt."""
    text = answer.strip().lower()
    return text not in {ja.YES, ja.NO} and (len(text.split()) > 1 or (bool(text) and not text.isascii()))


def _decision_by_word(word: str, answer: Mapping[str, Any]) -> Decision:
    match word.strip().lower():
        case "approve" | "approved" | "accept" | "accepted" | "yes" | "ok" | ja.YES:
            return Decision(type="approve")
        case "edit":
            return _edit_decision(answer)
        case "reject" | "rejected" | "ignore" | "no" | ja.NO:
            return Decision(type="reject", reason=_reason(answer))
        case "respond" | "response" | "comment" if reason := _reason(answer).strip():
            return Decision(type="respond", reason=reason)
    raise InputError(_UNKNOWN_DECISION)


def _edit_decision(answer: Mapping[str, Any]) -> Decision:
    values = answer.get("edited_action", answer.get("args"))
    if isinstance(values, Mapping):
        values = values.get("args", values.get("arguments", values))
    if not isinstance(values, Mapping) or not values:
        raise InputError("an edit needs the edited values under args")
    return Decision(type="edit", args={str(name): _plain(value) for name, value in values.items()})


def _plain(value: object) -> object:
    """Edited lists and tables come back as strings from front ends that only know text fields."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def _reason(answer: object) -> str:
    if not isinstance(answer, Mapping):
        return ""
    reason = answer.get("reason") or answer.get("message") or answer.get("args") or ""
    return reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False)


def in_order(interrupts: Iterable["Interrupt"]) -> list["Interrupt"]:
    """By team, as questions are shown and answers are given in turn; they come as teams are done."""
    return sorted(interrupts, key=lambda interrupt: (interrupt.value["team_id"], interrupt.id))


def open_questions(interrupts: Sequence["Interrupt"]) -> list[Question]:
    """The questions behind interrupts of ours."""
    return [
        Question(
            id=each.id,
            description=each.value["action_requests"][0]["description"],
            args=each.value["action_requests"][0]["args"],
            **{name: each.value[name] for name in ("asked", "execution_id", "team_id", "problem")},
        )
        for each in in_order(interrupts)
    ]


def chosen_answers(
    questions: Sequence[Question], decision: object, answers: Mapping[str, object] | None
) -> dict[str, dict[str, object]]:
    """Decisions by question id, fit to resume with; empty where nothing is answered.

    They are checked here, because LangGraph takes an answer to a question that is closed without a word.

    Raises:
        InputError: as `answers_by_question`, or an answer is not usable.
    """
    usable = {}
    for question_id, answer in answers_by_question(questions, decision, answers).items():
        try:
            usable[question_id] = decision_of(answer).model_dump(mode="json")
        except InputError as error:
            raise InputError(f"answer to question {question_id!r}: {error}") from error
    return usable


def answers_by_question(
    questions: Sequence[Question], decision: object, answers: Mapping[str, object] | None
) -> dict[str, object]:
    """Answers as they were given, by question id.

    `answers` names questions by id, the beginning of it, or the team that asks. `decision` answers the others: an edit
    one of them, anything else all, and a front end's list of decisions each in turn.

    Raises:
        InputError: no question waits, or one is not open or has two answers.
        SeveralQuestions: an edit could go to several.
    """
    by_question: dict[str, object] = {}
    for name, answer in (answers or {}).items():
        question_id = _question_id(questions, name)
        if question_id in by_question:
            raise InputError(f"question {question_id!r} has two answers: give one")
        by_question[question_id] = answer
    if decision is not None:
        by_question |= _for_open_questions(
            [question for question in questions if question.id not in by_question], decision
        )
    return by_question


def combined_id(question_ids: Iterable[str]) -> str:
    """The id under which front ends are asked several questions as one: as long as theirs, and none of them."""
    return sha256(" ".join(sorted(question_ids)).encode()).hexdigest()[:32]


def as_one_question(interrupts: Sequence["Interrupt"]) -> "Interrupt":
    """What one or several open questions are shown as. A request's `question_id` and `team_id` say whose it is.

    LangGraph tells of each team's question by itself, as soon as that team waits, and a chat shows only the last of
    them and answers without saying which it means. So the Agent Server's graphs tell of all once, when the run waits:
    who answers has seen them all. Each can be answered by its own id all the same.
    """
    from langgraph.types import Interrupt  # noqa: PLC0415 - heavy

    if len(interrupts) == 1:
        return interrupts[0]
    interrupts = in_order(interrupts)
    requests = [
        {**request, "question_id": each.id, "team_id": each.value["team_id"]}
        for each in interrupts
        for request in each.value["action_requests"]
    ]
    configs = {config["action_name"]: config for each in interrupts for config in each.value["review_configs"]}
    value = {
        **interrupts[0].value,
        "action_requests": requests,
        "review_configs": [*configs.values()],
        "team_id": "",
        "problem": "",
    }
    return Interrupt(value, id=combined_id([each.id for each in interrupts]))


def with_one_question(snapshot: "StateSnapshot") -> "StateSnapshot":
    """A snapshot whose open questions are one, at the last task that asks: older front ends look there."""
    task_ids = [task.id for task in snapshot.tasks if task.interrupts]
    if not snapshot.interrupts or not task_ids:
        return snapshot
    question = (as_one_question(snapshot.interrupts),)
    tasks = tuple(
        task._replace(interrupts=question if task.id == task_ids[-1] else ()) if task.interrupts else task
        for task in snapshot.tasks
    )
    return snapshot._replace(tasks=tasks, interrupts=question)


async def with_question_last(parts: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """A stream whose questions come at its end, as one; those of graphs within are left as they are."""
    interrupts: dict[str, Interrupt] = {}
    last_parts: dict[str, Any] = {}
    task_results: list[Any] = []
    async for part in parts:
        match _of_whole_graph(part):
            case mode, {"__interrupt__": [_, *_] as questions}:
                interrupts |= {each.id: each for each in questions}
                last_parts[mode] = part
            case "debug", {"type": "task_result", "payload": {"interrupts": [_, *_]}}:
                task_results.append(part)
            case _:
                yield part
    question = [as_one_question([*interrupts.values()])] if interrupts else []
    for part in task_results:
        # By these the server keeps what its thread waits for.
        is_last = part is task_results[-1]
        part[-1]["payload"]["interrupts"] = [asdict(each) for each in question] if is_last else []
        yield part
    for part in last_parts.values():
        yield (*part[:-1], {**part[-1], "__interrupt__": tuple(question)})


def _of_whole_graph(part: object) -> tuple[str, object]:
    """Mode and chunk of a part of a stream of several modes, with or without namespaces; of a graph within, none."""
    match part:
        case (str(mode), chunk) | ((), str(mode), chunk):
            return mode, chunk
    return "", None


def decision_or_answers(questions: Sequence[Question], resume: object) -> tuple[object, dict[str, object] | None]:
    """What a front end resumes with: one decision for all that it was shown as one question, or answers by question."""
    if isinstance(resume, dict) and resume.keys() == {combined_id([question.id for question in questions])}:
        return next(iter(resume.values())), None
    teams = {question.team_id for question in questions if question.team_id}
    if isinstance(resume, dict) and resume and all(_ID.fullmatch(str(name)) or name in teams for name in resume):
        return None, resume
    return resume, None


def question_event(question: Question) -> QuestionAsked:
    """What those who follow the run are told."""
    return QuestionAsked(question_id=question.id, **question.model_dump(exclude={"id"}))


WAITING = "waiting for a person: "
"""So begins what a run says of itself while it waits, and only then."""


def waiting_line(questions: Sequence[Question]) -> str:
    """What a run says of itself while it waits."""
    return WAITING + ", ".join(f"{question.asked} of {question.team_id or 'the run'}" for question in questions)


def _question_id(questions: Sequence[Question], name: str) -> str:
    """The id of an open question by its id, the beginning of it, or the one team that asks."""
    matches = [question.id for question in questions if question.id == name] or [
        question.id
        for question in questions
        if question.team_id == name or (len(name) >= _SHORTEST_NAME and question.id.startswith(name))
    ]
    if len(matches) == 1:
        return matches[0]
    open_ids = ", ".join(question.id for question in questions) or "none"
    if matches:
        raise InputError(f"question {name!r} could be one of several; give an id (open: {open_ids})")
    raise InputError(f"question {name!r} is not open: answered before or never asked (open: {open_ids})")


def _for_open_questions(questions: Sequence[Question], decision: object) -> dict[str, object]:
    """Which questions an answer without a name goes to."""
    if not questions:
        raise InputError("no question is open: this run does not wait for an answer")
    each = decision.get("decisions") if isinstance(decision, Mapping) else decision
    if isinstance(each, list) and len(each) > 1:
        if len(questions) != len(each):
            raise InputError(f"{len(each)} decisions for {len(questions)} open questions: give one for each, or one")
        return {question.id: answer for question, answer in zip(questions, each, strict=True)}
    if len(questions) > 1:
        _check_fits_all(questions, decision)
    return dict.fromkeys((question.id for question in questions), decision)


def _check_fits_all(questions: Sequence[Question], decision: object) -> None:
    if decision_of(decision).type == "edit":
        names = [name_of(question, questions) for question in questions]
        example = {names[0]: "approve", names[1]: {"type": "edit", "args": {"…": "…"}}}
        raise SeveralQuestions(
            f"{len(questions)} questions are open, and an edit fits one of them: approve, reject or comment all, "
            f"or answer each by its name: {json.dumps(example, ensure_ascii=False)}",
            names=names,
        )


def name_of(question: Question, questions: Sequence[Question]) -> str:
    """The team's id where it asks one question, else the beginning of the question's."""
    alone = sum(other.team_id == question.team_id for other in questions) == 1
    return question.team_id if question.team_id and alone else question.id[:ID_CHARACTERS]
