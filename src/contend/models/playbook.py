"""The playbook, and what reflector, curator and whoever answers labelled questions answer and pass around."""

from hashlib import sha256
from typing import Annotated, Any, Literal, get_args

from annotated_types import MaxLen
from pydantic import AfterValidator, Field, StringConstraints, ValidationError, computed_field, model_validator
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema

from contend.models.record import Identifier, Record, ReloadedRecord, Text, UtcDatetime, utc_now
from contend.models.replies import Reply, WholeNumber
from contend.text import shorten


class TolerantReply(Reply):
    """A part of a reply that is read as it is meant.

    Null is nothing, letters of choices are in any case, long text is cut.
    """

    @model_validator(mode="before")
    @classmethod
    def _repair(cls, reply: object) -> object:
        if not isinstance(reply, dict):
            return reply
        empty = {str: "", bool: False}
        kinds = {name: field.annotation for name, field in cls.model_fields.items()}
        left_out = {name: empty[kind] for name, kind in kinds.items() if kind in empty}
        return left_out | {name: _repaired_value(value, cls.model_fields.get(name)) for name, value in reply.items()}


def _repaired_value(value: object, field: FieldInfo | None) -> object:
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
    def _keep_readable_parts(cls, reply: object) -> object:
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
    steers_outside: bool = Field(description="whether it leads to a product, person or action outside research")


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

    number: WholeNumber = Field(ge=1, le=MOST_LESSON_PAIRS)
    polarity: Literal["same", "opposite", "neither"]
    difference: str = Field(max_length=200, description="the number, object or condition that differs; empty if none")
    first_says_second: bool
    second_says_first: bool


class LessonPairsReply(Reply):
    """Which of several pairs of lessons are one lesson."""

    pairs: list[LessonPairReply] = Field(max_length=MOST_LESSON_PAIRS)


def _printable(name: str) -> str:
    if not name.isprintable() or not name.strip():
        raise ValueError(f"section {name!r} needs 1 to 64 printable characters")
    return name


SectionName = Annotated[str, StringConstraints(min_length=1, max_length=64), AfterValidator(_printable)]
"""Any 1 to 64 printable characters."""


LONGEST_LESSON = 60
"""Words of a bullet's content and example together; of Japanese, 2.5 characters count as a word."""


LEAST_HARMFUL_VOTES = 3
GENERAL = "general"
"""The section of lessons in a dataset without sections of its own."""


class Trial(Record, frozen=True):
    """What runs showed of a bullet."""

    shown: int = Field(default=0, ge=0)
    """Runs in which teams had it."""
    withheld: int = Field(default=0, ge=0)
    """Those of them in which one team went without."""
    difference: float | None = Field(default=None, ge=-1, le=1)
    """By how much teams with it scored higher than teams without, -1.0 to 1.0; the mean over these runs."""
    spread: float | None = Field(default=None, ge=0)
    """The sum of these differences' squared distances from their mean; None where it was not kept from the first on."""

    def after(self, difference: float | None) -> "Trial":
        """With one more run; `difference` None where all teams had the bullet."""
        runs = self.shown + 1
        if difference is None:
            return self.model_copy(update={"shown": runs})
        before = self.difference or 0.0
        mean = (before * self.withheld + difference) / (self.withheld + 1)
        spread = self.spread if self.withheld else 0.0
        if spread is not None and self.withheld:
            spread += (difference - before) * (difference - mean)
        return Trial(shown=runs, withheld=self.withheld + 1, difference=mean, spread=spread)


class Bullet(ReloadedRecord):
    """One lesson. Quarantined until it has helped in two runs; quarantined bullets rank lower and are marked."""

    id: Identifier
    section: SectionName
    content: Text
    example: str = ""
    searchable_text: Text
    helpful: int = Field(default=0, ge=0)
    harmful: int = Field(default=0, ge=0)
    status: Literal["quarantined", "active"] = "quarantined"
    helpful_runs: list[str] = Field(default_factory=list)
    created_at: UtcDatetime = Field(default_factory=utc_now)
    updated_at: UtcDatetime = Field(default_factory=utc_now)
    provenance: str = ""
    trial: Trial = Trial()
    conflicts_with: str | None = None
    """The bullet that this one is near to and differs from in polarity, number or object."""
    removal_reason: str = ""
    """Why a model wants it gone, which a person decides."""
    always: bool = False
    """It applies to every question."""

    @model_validator(mode="before")
    @classmethod
    def _written_by_hand(cls, data: object) -> object:
        """A person writes the content alone; what else a bullet has follows from it."""
        if not isinstance(data, dict) or "id" in data or not isinstance(content := data.get("content"), str):
            return data
        key = f"b-{sha256(content.encode()).hexdigest()[:12]}"
        return {"id": key, "section": GENERAL, "searchable_text": content, "status": "active", **data}

    @computed_field  # type: ignore[prop-decorator]  # pydantic's own form
    @property
    def confidence(self) -> float:
        """(helpful + 1) / (helpful + harmful + 2): the mean of a Beta(1, 1) prior after the votes."""
        return (self.helpful + 1) / (self.helpful + self.harmful + 2)

    @property
    def lesson(self) -> str:
        """What teams read: the content, and the example where there is one."""
        return f"{self.content} ({self.example})" if self.example else self.content

    @property
    def is_harmful(self) -> bool:
        """Whether votes say that it does harm: it is not shown any more, and retired."""
        return self.harmful >= LEAST_HARMFUL_VOTES and self.harmful > self.helpful


class Playbook(Record):
    """A dataset's bullets at one version. Version 0 is the empty playbook that nobody saved yet."""

    dataset: Identifier
    version: int = Field(default=0, ge=0)
    bullets: list[Bullet] = Field(default_factory=list)


class PlaybookSection(Record):
    name: SectionName
    description: str = ""


class Observation(Record):
    """What one run showed of a bullet."""

    bullet_id: str
    difference: float | None = Field(default=None, ge=-1, le=1)
    """By how much the teams that had it scored higher than the one that went without; None where all had it."""


class ReflectionResult(Record):
    insights: list[Insight] = Field(default_factory=list)
    bullet_evaluations: list[BulletEvaluation] = Field(default_factory=list)
    observations: list[Observation] = Field(default_factory=list)


Likeness = Literal["same", "opposite", "different"]


class DeltaContextItem(Record):
    """One operation on a playbook. ADD has no `bullet_id` yet; DELETE needs no content."""

    operation: Literal["ADD", "UPDATE", "DELETE"]
    bullet_id: str | None = None
    section: str | None = None
    content: str | None = None
    example: str | None = None
    always: bool = False
    searchable_text: str | None = None
    reasoning: str = ""
    conflicts_with: str | None = None
    readings: dict[str, Likeness] = Field(default_factory=dict)
    """What a language model said of the lesson beside bullets near to it, by their ids."""


class Skipped(Record):
    bullet_id: str | None
    reason: str


class CurationResult(Record):
    """What one curation did to a playbook."""

    delta_items: list[DeltaContextItem] = Field(default_factory=list)
    bullets_before: int = Field(ge=0)
    bullets_after: int = Field(ge=0)
    summary: str
    dataset: Identifier
    playbook_version: int = Field(ge=0)
    skipped: list[Skipped] = Field(default_factory=list)


class PlaybookVersion(Record):
    """One line of a playbook's history: the deltas that made a version, when, for which run and why."""

    version: int = Field(ge=1)
    saved_at: UtcDatetime = Field(default_factory=utc_now)
    execution_id: str | None = None
    reason: str = ""
    delta_items: list[DeltaContextItem] = Field(default_factory=list)
    counters: dict[str, Any] = Field(default_factory=dict)


class BulletChange(Record):
    before: Bullet
    after: Bullet


class PlaybookDiff(Record):
    """What turns one version of a playbook into another."""

    dataset: Identifier
    from_version: int = Field(ge=0)
    to_version: int = Field(ge=0)
    added: list[Bullet] = Field(default_factory=list)
    removed: list[Bullet] = Field(default_factory=list)
    changed: list[BulletChange] = Field(default_factory=list)
