"""The record that all others are: strict, and equal to itself after a trip through JSON."""

from datetime import UTC, datetime
from functools import cache
from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

_DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10))}
"""What Windows takes for a device, whatever its case."""

NO_IDS = {"__empty__", str(UUID(int=0))}
"""What the Redis saver stores for an id that is not there."""


def _refuse_reserved_name(name: str) -> str:
    if name.upper() in _DEVICES or name in NO_IDS:
        raise PydanticCustomError("reserved_name", "a reserved name: choose another")
    return name


IDENTIFIER_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$"
Identifier = Annotated[str, StringConstraints(pattern=IDENTIFIER_PATTERN), AfterValidator(_refuse_reserved_name)]
"""Ids used in file names and keys, such as team ids and datasets. They cannot look like command options."""

IDENTIFIER_RULE = "use 1 to 64 letters, digits, '_' or '-', no '-' first and no reserved name"
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)


def is_identifier(name: str) -> bool:
    """Whether it is an `Identifier`."""
    try:
        return bool(_IDENTIFIER.validate_python(name))
    except ValidationError:
        return False


THREAD_CHARACTERS = 255
ThreadId = Annotated[str, StringConstraints(min_length=1, max_length=THREAD_CHARACTERS)]

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Stripped and not blank."""

FunctionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
"""`module:function`: a function of the user's own, in a Python file of the workspace."""

QUESTION_CHARACTERS = 8_000
TITLE_CHARACTERS = 500

QuestionText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=QUESTION_CHARACTERS)]
"""What a run is asked: 1 to 8,000 characters after stripping."""

Theme = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=TITLE_CHARACTERS)]
"""What heads a plan and a report: the question, or a title for a long one."""

Score = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
"""0.0 to 1.0, finite. Shown as `/100` with one decimal."""

Language = Literal["en", "ja"]


def utc_now() -> datetime:
    return datetime.now(UTC)


def utc_stamp() -> str:
    """Now, as `2026-11-28T06:43:00Z`."""
    return f"{utc_now():%Y-%m-%dT%H:%M:%SZ}"


UtcDatetime = Annotated[AwareDatetime, AfterValidator(lambda moment: moment.astimezone(UTC))]
"""Timezone-aware, kept in UTC."""


class Record(BaseModel):
    """Refuses unknown fields, and numbers that are none: TOML and the command line know `nan` and `inf`."""

    model_config = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False)


class ReloadedRecord(Record):
    """A record that is read from dumps: computed fields, and those of earlier releases, are dropped on the way in."""

    former_fields: ClassVar[frozenset[str]] = frozenset()
    """What dumps of earlier releases have, and nothing reads any more."""

    @model_validator(mode="before")
    @classmethod
    def _drop_former_fields(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        dropped = _dropped(cls).intersection(data)
        return {key: value for key, value in data.items() if key not in dropped} if dropped else data


@cache
def _dropped(kind: type[ReloadedRecord]) -> frozenset[str]:
    return kind.former_fields.union(kind.model_computed_fields)
