"""Open questions of a run, and which answer goes to which: stale and doubtful ones are refused before anything runs."""

from collections.abc import Mapping, Sequence

from langgraph.types import Interrupt

from contend.errors import InputError
from contend.models.questions import Decision, Question, Unusable, decision_of, question_of

_SHORTEST_NAME = 6
"""Characters of an id that name a question."""


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

    `answers` names questions by id, the beginning of it, or the team that asks.

    Raises:
        InputError: no question waits, several wait for one answer, or a question is not open or has two answers.
    """
    given: dict[str, object] = {}
    for name, answer in (answers or {}).items():
        question_id = _found(questions, name)
        if question_id in given:
            raise InputError(f"question {question_id!r} has two answers: give one")
        given[question_id] = answer
    if decision is not None:
        given[_only(questions).id] = decision
    return given


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


def _only(questions: Sequence[Question]) -> Question:
    match questions:
        case [question]:
            return question
        case []:
            raise InputError("no question is open: this run does not wait for an answer")
        case _:
            shown = ", ".join(f"{question.id} ({question.asked} of {question.team_id})" for question in questions)
            raise InputError(f"{len(questions)} questions are open, name the one you answer (--answer ID=…): {shown}")


def _usable(question_id: str, answer: object) -> dict[str, object]:
    match decision_of(answer):
        case Unusable(why):
            raise InputError(f"answer to question {question_id!r}: {why}")
        case Decision() as decision:
            return decision.model_dump(mode="json")
