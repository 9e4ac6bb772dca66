"""Open questions of a run, and which answer goes to which: stale and doubtful ones are refused before anything runs."""

import json
import re
from collections.abc import Mapping, Sequence

from langgraph.types import Interrupt

from contend.errors import InputError, SeveralQuestions
from contend.models.questions import Decision, Question, Unusable, decision_of, question_of

_SHORTEST_NAME = 6
"""Characters of an id that name a question."""

_ID = re.compile(r"[0-9a-f]{32}")


def open_questions(interrupts: Sequence[Interrupt]) -> list[Question]:
    return [question_of(interrupt.id, interrupt.value) for interrupt in interrupts]


def chosen_answers(
    questions: Sequence[Question], decision: object, answers: Mapping[str, object] | None
) -> dict[str, dict[str, object]]:
    """Decisions by question id, fit to resume with; empty where nothing is answered.

    Raises:
        InputError: as `addressed`, or an answer is not usable.
    """
    given = addressed(questions, decision, answers)
    return {question_id: _usable(question_id, answer) for question_id, answer in given.items()}


def addressed(
    questions: Sequence[Question], decision: object, answers: Mapping[str, object] | None
) -> dict[str, object]:
    """Answers as they were given, by question id.

    `answers` names questions by id, the beginning of it, or the team that asks. `decision` answers the others: a bare
    approval or rejection all of them, an edit or a reason one, and a front end's list of decisions each in turn.

    Raises:
        InputError: no question waits, or one is not open or has two answers.
        SeveralQuestions: an edit or a reason could go to several.
    """
    given: dict[str, object] = {}
    for name, answer in (answers or {}).items():
        question_id = _found(questions, name)
        if question_id in given:
            raise InputError(f"question {question_id!r} has two answers: give one")
        given[question_id] = answer
    if decision is not None:
        given |= _shared_out([question for question in questions if question.id not in given], decision)
    return given


def decision_or_answers(questions: Sequence[Question], resume: object) -> tuple[object, dict[str, object] | None]:
    """What a front end resumes with: one decision without a name, or answers by question."""
    teams = {question.team_id for question in questions if question.team_id}
    if isinstance(resume, dict) and resume and all(_ID.fullmatch(str(name)) or name in teams for name in resume):
        return None, resume
    return resume, None


def waiting_line(questions: Sequence[Question]) -> str:
    """What a run says of itself while it waits."""
    about = ", ".join(f"{question.asked} of {question.team_id or 'the run'}" for question in questions)
    return f"waiting for a person: {about}"


def _found(questions: Sequence[Question], name: str) -> str:
    """The id of an open question by its id, the beginning of it, or the one team that asks."""
    meant = [question.id for question in questions if question.id == name] or [
        question.id
        for question in questions
        if question.team_id == name or (len(name) >= _SHORTEST_NAME and question.id.startswith(name))
    ]
    if len(meant) == 1:
        return meant[0]
    shown = ", ".join(question.id for question in questions) or "none"
    if meant:
        raise InputError(f"question {name!r} could be one of several; give an id (open: {shown})")
    raise InputError(f"question {name!r} is not open: answered before or never asked (open: {shown})")


def _shared_out(questions: Sequence[Question], decision: object) -> dict[str, object]:
    """Which questions an answer without a name goes to."""
    if not questions:
        raise InputError("no question is open: this run does not wait for an answer")
    each = decision.get("decisions") if isinstance(decision, Mapping) else decision
    if isinstance(each, list) and len(each) > 1:
        return _in_turn(questions, each)
    if len(questions) > 1:
        _check_fits_all(questions, decision)
    return dict.fromkeys((question.id for question in questions), decision)


def _in_turn(questions: Sequence[Question], decisions: Sequence[object]) -> dict[str, object]:
    if len(questions) != len(decisions):
        raise InputError(f"{len(decisions)} decisions for {len(questions)} open questions: give one for each, or one")
    return {question.id: decision for question, decision in zip(questions, decisions, strict=True)}


def _check_fits_all(questions: Sequence[Question], decision: object) -> None:
    decided = decision_of(decision)
    if isinstance(decided, Unusable):
        raise InputError(decided.why)
    if decided.type == "edit" or decided.reason:
        names = [_name(question, questions) for question in questions]
        example = {names[0]: "approve", names[1]: {"type": "reject", "reason": "…"}}
        raise SeveralQuestions(
            f"{len(questions)} questions are open, and an edit or a reason fits one of them: approve or reject all "
            f"without a reason, or answer each by its name: {json.dumps(example, ensure_ascii=False)}",
            names=names,
        )


def _name(question: Question, questions: Sequence[Question]) -> str:
    """The team's where it asks one question, else the question's id."""
    alone = sum(other.team_id == question.team_id for other in questions) == 1
    return question.team_id if question.team_id and alone else question.id


def _usable(question_id: str, answer: object) -> dict[str, object]:
    match decision_of(answer):
        case Unusable(why):
            raise InputError(f"answer to question {question_id!r}: {why}")
        case Decision() as decision:
            return decision.model_dump(mode="json")
