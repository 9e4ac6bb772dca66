"""What the options of `contend run` and `contend resume` say: a run's options, answers to its questions."""

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from contend.cli.words import input_error, tr
from contend.errors import SeveralQuestions
from contend.models.options import RunOptions
from contend.settings import checked


def run_options(flags: Mapping[str, Any]) -> RunOptions:
    """What the flags of a run say; document paths absolute, names also separated by commas.

    Raises:
        InputError: a value is not usable.
    """
    least, most = _rounds(flags["rounds"])
    instructions = flags["instructions"]
    values = {
        **flags,
        "documents": [str(path.expanduser().absolute()) for path in flags["documents"] or []] or None,
        "instructions": None if instructions is None else _instructions(instructions),
        **{name: _names(flags[name]) for name in ("teams", "sources", "approve")},
        "min_rounds": least,
        "max_rounds": most,
    }
    is_set = {name: value for name, value in values.items() if value is not None and name != "rounds"}
    return checked(RunOptions, is_set, "run")


def _instructions(path: Path) -> str:
    text = file_text(path, "--instructions ")
    if not text.strip():
        raise input_error("--instructions {file}: holds nothing: write what the report has to be, or leave it out",
                          file=path)  # fmt: skip
    return text


def _rounds(rounds: str | None) -> tuple[int | None, int | None]:
    if rounds is None:
        return None, None
    least, colon, most = rounds.partition(":")
    try:
        return int(least), int(most if colon else least)
    except ValueError:
        raise input_error("--rounds {rounds}: give MIN:MAX, such as 1:3, or one number", rounds=repr(rounds)) from None


def _names(texts: Sequence[str] | None) -> list[str] | None:
    names = [name.strip() for text in texts or [] for name in text.split(",")]
    return [name for name in names if name] or None


def file_text(path: Path, option: str = "") -> str:
    """The text of a file that a command was given, as the value of an option where one is named.

    Raises:
        InputError: it cannot be read, or is no UTF-8.
    """
    try:
        return path.expanduser().read_text("utf-8-sig")
    except OSError as error:
        raise input_error("{file}: cannot be read: {why}", file=f"{option}{path}", why=error.strerror) from error
    except UnicodeDecodeError as error:
        raise input_error("{file}: not UTF-8 text: save it as UTF-8", file=f"{option}{path}") from error


class PersonAnswers(NamedTuple):
    """A decision for the one open question, or decisions by question."""

    decision: object
    by_question: dict[str, object]


def answers_of(*, approve: bool, edit: Path | None, reject: str | None, answer: Sequence[str]) -> PersonAnswers:
    """What the options say. `answer` holds `QUESTION=approve`, `QUESTION=reject:WHY` or `QUESTION=edit:FILE`.

    Raises:
        InputError: two options answer the same question, or one can't be read.
    """
    answers: list[object] = ["approve"] if approve else []
    answers += [] if edit is None else [_edit(edit)]
    answers += [] if reject is None else [_reject(reject)]
    if len(answers) > 1 or (answers and answer):
        raise input_error("give one of --approve, --edit, --reject; where several questions wait, --answer for each")
    by_question = [_answer_by_name(text) for text in answer]
    twice = [name for name, times in Counter(name for name, _ in by_question).items() if times > 1]
    if twice:
        raise input_error("--answer: {name} has two answers: give one", name=", ".join(twice))
    return PersonAnswers(answers[0] if answers else None, dict(by_question))


def _answer_by_name(text: str) -> tuple[str, object]:
    question, equals, word = text.partition("=")
    kind, _, rest = word.partition(":")
    match kind:
        case "approve" if question and equals:
            return question, "approve"
        case "reject" if question:
            return question, _reject(rest)
        case "edit" if question and rest:
            return question, _edit(Path(rest))
    raise input_error(
        "--answer {answer}: give QUESTION=approve, QUESTION=reject:WHY or QUESTION=edit:FILE", answer=repr(text)
    )


def _reject(why: str) -> dict[str, object]:
    return {"type": "reject", "reason": why}


def _edit(path: Path) -> dict[str, object]:
    """The edited values of a JSON or TOML file; names left out keep their values."""
    text = file_text(path, "--edit ")
    try:
        values: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise input_error("--edit {path}: neither JSON nor, as .toml, TOML: {why}", path=path, why=error) from error
    if not isinstance(values, Mapping):
        raise input_error("--edit {path}: give an object with the edited values", path=path)
    return {"type": "edit", "args": dict(values)}


def several_questions(several: SeveralQuestions) -> str:
    """What a person does about it at the terminal."""
    first, second, *_ = several.names
    return tr(
        "{count} questions are open, and an edit or a reason fits one of them: {all} approves all, {each} answers each",
        count=len(several.names),
        all="--approve",
        each=f'--answer {first}=approve --answer "{second}=reject:WHY"',
    )
