"""Answers to waiting questions, from the command line's options; and the questions, shown."""

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from contend.cli.words import plain
from contend.errors import InputError, SeveralQuestions
from contend.models.questions import Question

ID_SHOWN = 8
"""Characters of a question's id: enough to name it."""


class Answers(NamedTuple):
    """A decision for the one open question, or decisions by question."""

    decision: object
    by_question: dict[str, object]


def answers_of(*, approve: bool, edit: Path | None, reject: str | None, answer: Sequence[str]) -> Answers:
    """What the options say. `answer` holds `QUESTION=approve`, `QUESTION=reject:WHY` or `QUESTION=edit:FILE`.

    Raises:
        InputError: two options answer the same question, or one can't be read.
    """
    given: list[object] = ["approve"] if approve else []
    given += [] if edit is None else [_edit(edit)]
    given += [] if reject is None else [_reject(reject)]
    if len(given) > 1 or (given and answer):
        raise InputError("give one of --approve, --edit, --reject; where several questions wait, --answer for each")
    named = [_named(text) for text in answer]
    twice = [name for name, times in Counter(name for name, _ in named).items() if times > 1]
    if twice:
        raise InputError(f"--answer: {', '.join(twice)} has two answers: give one")
    return Answers(given[0] if given else None, dict(named))


def _named(text: str) -> tuple[str, object]:
    question, equals, word = text.partition("=")
    kind, _, rest = word.partition(":")
    match kind:
        case "approve" if question and equals:
            return question, "approve"
        case "reject" if question:
            return question, _reject(rest)
        case "edit" if question and rest:
            return question, _edit(Path(rest))
    raise InputError(f"--answer {text!r}: give QUESTION=approve, QUESTION=reject:WHY or QUESTION=edit:FILE")


def _reject(why: str) -> dict[str, object]:
    return {"type": "reject", "reason": why}


def _edit(path: Path) -> dict[str, object]:
    """The edited values of a JSON or TOML file; names left out keep their values."""
    try:
        text = path.expanduser().read_text("utf-8")
        values: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise InputError(f"--edit {path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"--edit {path}: neither JSON nor, as .toml, TOML: {error}") from error
    if not isinstance(values, Mapping):
        raise InputError(f"--edit {path}: give an object with the edited values")
    return {"type": "edit", "args": dict(values)}


def shown_questions(questions: Sequence[Question]) -> RenderableType:
    """Each question with what it asks about."""
    return Group(*(part for question in questions for part in _shown(question)))


def said_several(several: SeveralQuestions) -> str:
    """What a person does about it at the terminal."""
    first, second, *_ = several.names
    return (
        f"{len(several.names)} questions are open, and an edit or a reason fits one of them: "
        f'--approve approves all, --answer {first}=approve --answer "{second}=reject:WHY" answers each'
    )


def next_steps(thread_id: str, questions: Sequence[Question]) -> list[str]:
    """The commands that answer."""
    if len(questions) == 1:
        return [f"contend resume {thread_id} {option}" for option in ("--approve", "--edit FILE", '--reject "WHY"')]
    named = " ".join(f"--answer {_name(question, questions)}=approve" for question in questions)
    return [f"contend resume {thread_id} --approve", f"contend resume {thread_id} {named}"]


def _shown(question: Question) -> list[RenderableType]:
    name = question.id[:ID_SHOWN]
    head = Text(f"{name}  {plain(question.description)}", style="bold")
    parts: list[RenderableType] = [head]
    for field, value in question.args.items():
        if not value:
            continue
        lines = [f"- {plain(_line(item))}" for item in value] if isinstance(value, list) else [plain(str(value))]
        parts.append(Padding(Text("\n".join([f"{field}:", *lines]), overflow="fold"), (0, 0, 0, 2)))
    return [*parts, ""]


def _line(item: object) -> str:
    if isinstance(item, Mapping):
        return "; ".join(f"{name}: {value}" for name, value in item.items() if value)
    return str(item)


def _name(question: Question, questions: Sequence[Question]) -> str:
    """The team's id where it asks one question, else the beginning of the question's id."""
    alone = sum(other.team_id == question.team_id for other in questions) == 1
    return question.team_id if question.team_id and alone else question.id[:ID_SHOWN]
