"""Open questions of a run, and which answer goes to which: stale and doubtful ones are refused before anything runs."""

from collections.abc import Mapping, Sequence

from langgraph.types import Interrupt

from contend.errors import InputError
from contend.models.questions import Decision, Question, Unusable, decision_of, question_of


def open_questions(interrupts: Sequence[Interrupt]) -> list[Question]:
    return [question_of(interrupt.id, interrupt.value) for interrupt in interrupts]


def chosen_answers(
    questions: Sequence[Question], decision: object, answers: Mapping[str, object] | None
) -> dict[str, dict[str, object]]:
    """Decisions by question id, fit to resume with; empty where nothing is answered.

    Raises:
        InputError: no question waits, several wait for one answer, a question is not open, an answer is not usable.
    """
    given = dict(answers or {})
    if decision is not None:
        given[_only(questions).id] = decision
    known = [question.id for question in questions]
    for question_id in given:
        if question_id not in known:
            shown = ", ".join(known) or "none"
            raise InputError(f"question {question_id!r} is not open: answered before or never asked (open: {shown})")
    return {question_id: _usable(question_id, answer) for question_id, answer in given.items()}


def waiting_line(questions: Sequence[Question]) -> str:
    """What a run says of itself while it waits."""
    about = ", ".join(f"{question.asked} of {question.team_id or 'the run'}" for question in questions)
    return f"waiting for a person: {about}"


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
