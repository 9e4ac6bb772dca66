"""Questions with labels: reading them, whether an answer is right, and what kind of error it is. All by code."""

import json
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from hashlib import blake2b
from math import comb
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field, ValidationError

from contend.checks.sums import CalculationError, calculate
from contend.errors import InputError
from contend.models.record import Record, Text
from contend.parsing import parse_json
from contend.settings.files import first_fault
from contend.text import fold, normalize

AnswerForm = Literal["number", "expression", "choice", "json", "text"]
ErrorKind = Literal["unreadable", "sign", "unit", "ratio", "order", "other"]

_DECIMALS = 2
"""A number is right to so many decimals, or to as many as its label has."""
_NEAR = Decimal("0.005")
"""Two numbers are in a ratio where they are within so much of it."""
_MOST_QUESTIONS = 20_000


def _as_text(label: object) -> object:
    return label if label is None or isinstance(label, str) else json.dumps(label, ensure_ascii=False)


class LabelledQuestion(Record):
    """A line of a labelled file: `question` (or `context`) and `answer` (or `target`, `label`)."""

    model_config = ConfigDict(extra="ignore")

    question: Text = Field(max_length=20_000, validation_alias=AliasChoices("question", "context"))
    answer: Annotated[Text, BeforeValidator(_as_text)] = Field(
        max_length=20_000, validation_alias=AliasChoices("answer", "target", "label")
    )

    @property
    def key(self) -> str:
        return blake2b(f"{self.question}\0{self.answer}".encode(), digest_size=8).hexdigest()


class Check(NamedTuple):
    """Whether an answer is right, the kind of error where it is not, and what code computed."""

    right: bool
    kind: ErrorKind | None = None
    value: Decimal | None = None


def read_questions(file: Path) -> list[LabelledQuestion]:
    """The questions of a JSONL file, in order.

    Raises:
        InputError: the file or a line cannot be read; names the line.
    """
    try:
        # Not `splitlines`: a JSON string may hold line separators of Unicode.
        lines = enumerate(file.expanduser().read_text("utf-8-sig").split("\n"), start=1)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 text: save it as UTF-8") from error
    questions = [_question(line, f"{file}, line {number}") for number, line in lines if line.strip()]
    if not questions or len(questions) > _MOST_QUESTIONS:
        raise InputError(f"{file}: holds {len(questions)} questions: give 1 to {_MOST_QUESTIONS:,}, one JSON a line")
    return questions


def _question(line: str, where: str) -> LabelledQuestion:
    try:
        return LabelledQuestion.model_validate_json(line)
    except ValidationError as error:
        raise InputError(f"{where}: {first_fault(error)}: give an object with `question` and `answer`") from error


def check(answer: str, label: str, form: AnswerForm) -> Check:
    """Whether an answer is right."""
    match form:
        case "number" | "expression":
            return _check_number(answer, label, form)
        case "json":
            return _check_json(answer, label)
    own, right = fold(answer).strip(" ."), fold(label).strip(" .")
    if own == right or (form == "choice" and own.rstrip(".):") == right.rstrip(".):")):
        return Check(right=True)
    return Check(right=False, kind="order" if sorted(own.split()) == sorted(right.split()) else "other")


def _check_number(answer: str, label: str, form: AnswerForm) -> Check:
    right = _number(label)
    if right is None:
        raise InputError(f"label {label[:80]!r} is no number: choose another --format")
    value = _computed_value(answer) if form == "expression" else _number(answer)
    if value is None:
        return Check(right=False, kind="unreadable")
    exponent = right.as_tuple().exponent
    decimals = max(_DECIMALS, -exponent if isinstance(exponent, int) else 0)
    if abs(value - right) <= Decimal("0.5").scaleb(-decimals) * Decimal("1.01"):
        return Check(right=True)
    return Check(right=False, kind=_kind(value, right), value=value if form == "expression" else None)


def _computed_value(answer: str) -> Decimal | None:
    """The value of the first side of an equation that is arithmetic: small models add names and results."""
    for side in answer.split("="):
        with suppress(CalculationError):
            return calculate(side)
    return None


def _kind(value: Decimal, right: Decimal) -> ErrorKind:
    if not value or not right:
        return "other"
    if _is_near(-value, right):
        return "sign"
    if any(_is_near(abs(value).scaleb(power), abs(right)) for power in (-9, -6, -3, -2, -1, 1, 2, 3, 6, 9)):
        return "unit"
    if _is_near(1 / value, right) or _is_near(value - 1, right) or _is_near(value + 1, right):
        return "ratio"
    return "other"


def _is_near(value: Decimal, right: Decimal) -> bool:
    return abs(value - right) <= _NEAR * abs(right)


def _check_json(answer: str, label: str) -> Check:
    try:
        right = parse_json(label)
    except ValueError as error:
        raise InputError(f"label {label[:80]!r} is no JSON: choose another --format") from error
    try:
        own = parse_json(answer)
    except ValueError:
        return Check(right=False, kind="unreadable")
    if own == right:
        return Check(right=True)
    is_order = isinstance(own, list) and isinstance(right, list) and sorted(map(str, own)) == sorted(map(str, right))
    return Check(right=False, kind="order" if is_order else "other")


def _number(text: str) -> Decimal | None:
    plain = normalize(text).strip().strip("$€£¥ ").replace(",", "").removesuffix("%").strip()
    try:
        value = Decimal(plain)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def mcnemar(only_first: int, only_second: int) -> float:
    """The two-sided exact p of discordant pairs: as likely as by tossing a coin (McNemar 1947, binomial)."""
    pairs, fewer = only_first + only_second, min(only_first, only_second)
    if not pairs:
        return 1.0
    tail = sum(comb(pairs, number) for number in range(fewer + 1))
    return min(1.0, float(2 * tail / 2**pairs))
