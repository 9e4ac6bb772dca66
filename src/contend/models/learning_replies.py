"""What reflector, curator and whoever answers labelled questions answer. Their replies are read as they are meant."""

from typing import Literal, get_args

from annotated_types import MaxLen
from pydantic import Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema

from contend.models.replies import Reply
from contend.text import shorten


class TolerantReply(Reply):
    """A part of a reply that is read as it is meant.

    Null is nothing, letters of choices are in any case, long text is cut.
    """

    @model_validator(mode="before")
    @classmethod
    def _read_as_meant(cls, reply: object) -> object:
        if not isinstance(reply, dict):
            return reply
        empty = {str: "", bool: False}
        kinds = {name: field.annotation for name, field in cls.model_fields.items()}
        left_out = {name: empty[kind] for name, kind in kinds.items() if kind in empty}
        return left_out | {name: _meant(value, cls.model_fields.get(name)) for name, value in reply.items()}


def _meant(value: object, field: FieldInfo | None) -> object:
    if field is None or not (value is None or isinstance(value, str)):
        return value
    text = value or ""
    if field.annotation is str:
        return shorten(text, _most(field) or len(text))
    choices = get_args(field.annotation)
    return next((choice for choice in choices if str(choice).casefold() == text.strip().casefold()), text)


class ReplyInParts(Reply):
    """Lists whose parts are read one by one, so that one which cannot be read costs no other."""

    unreadable: SkipJsonSchema[list[str]] = Field(default_factory=list)
    """Why parts are left out."""

    @model_validator(mode="before")
    @classmethod
    def _parts_that_can_be_read(cls, reply: object) -> object:
        if not isinstance(reply, dict):
            return reply
        faults: list[str] = []
        lists = {
            name: _usable(field, reply.get(name), faults)
            for name, field in cls.model_fields.items()
            if name != "unreadable"
        }
        return {**reply, **lists, "unreadable": faults}


def _usable(field: FieldInfo, parts: object, faults: list[str]) -> object:
    """The parts of a list that can be read; all of it where none can."""
    if parts is None:
        return []
    if not isinstance(parts, list):
        return parts
    (kind,), most = get_args(field.annotation), _most(field) or len(parts)
    usable: list[TolerantReply] = []
    for number, part in enumerate(parts, start=1):
        try:
            reply = kind.model_validate(part)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            faults.append(f"number {number} cannot be read: {'.'.join(map(str, fault['loc']))}: {fault['msg']}")
            continue
        if len(usable) == most:
            faults.append(f"number {number} is one more than {most}")
        else:
            usable.append(reply)
    return usable or parts


def _most(field: FieldInfo) -> int | None:
    return next((each.max_length for each in field.metadata if isinstance(each, MaxLen)), None)


class Insight(TolerantReply):
    """A lesson drawn from a run, before it becomes a bullet."""

    reasoning: str = Field(max_length=600)
    error_identification: str = Field(max_length=400)
    root_cause_analysis: str = Field(max_length=400)
    correct_approach: str = Field(max_length=400)
    key_insight: str = Field(min_length=8, max_length=400, description="when it applies, and what to do then")


class BulletEvaluation(TolerantReply):
    bullet_id: str = Field(max_length=64)
    tag: Literal["helpful", "harmful", "neutral"]


class ReflectionReply(ReplyInParts):
    """The reflector's lessons and its verdict on the bullets that were used."""

    insights: list[Insight] = Field(max_length=5)
    bullet_evaluations: list[BulletEvaluation] = Field(max_length=16)


class DeltaReply(TolerantReply):
    reasoning: str = Field(max_length=400)
    operation: Literal["ADD", "UPDATE", "DELETE"]
    bullet_id: str = Field(max_length=64)
    section: str = Field(max_length=64)
    content: str = Field(max_length=600, description="when it applies, and what to do then")
    example: str = Field(max_length=400, description="one short example, or empty")
    always: bool = Field(description="whether it applies to every question")
    searchable_text: str = Field(max_length=400)


class CurationReply(ReplyInParts):
    """The curator's operations, at most one for each insight."""

    operations: list[DeltaReply] = Field(max_length=6)


class AnswerReply(TolerantReply):
    """An answer to a labelled question, worked out first."""

    reasoning: str = Field(max_length=1500)
    answer: str = Field(max_length=1000)


class ExpressionReply(TolerantReply):
    """An answer that code computes: the arithmetic is the working.

    Where the key says `answer`, small models compute it themselves.
    """

    expression: str = Field(max_length=300)


MOST_LESSON_PAIRS = 24


class LessonPairReply(TolerantReply):
    """How two lessons stand to one another, polarity first."""

    number: int = Field(ge=1, le=MOST_LESSON_PAIRS)
    polarity: Literal["same", "opposite", "neither"]
    difference: str = Field(max_length=200, description="the number, object or condition that differs; empty if none")
    first_says_second: bool
    second_says_first: bool


class LessonPairsReply(Reply):
    """Which of several pairs of lessons are one lesson."""

    pairs: list[LessonPairReply] = Field(max_length=MOST_LESSON_PAIRS)
