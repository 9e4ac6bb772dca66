"""The record that all others are: strict, and equal to itself after a trip through JSON."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
"""Ids that form file names or keys: team ids, datasets."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Stripped and not blank."""

QUESTION_CHARACTERS = 8_000
TITLE_CHARACTERS = 500

Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=QUESTION_CHARACTERS)]
"""What a run is asked: 1 to 8,000 characters after stripping."""

Theme = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=TITLE_CHARACTERS)]
"""What heads a plan and a report: the question, or a title for a long one."""

Score = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
"""0.0 to 1.0, finite. Shown as `/100` with one decimal."""

Language = Literal["en", "ja"]


def utc_now() -> datetime:
    return datetime.now(UTC)


def _to_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


UtcDatetime = Annotated[AwareDatetime, AfterValidator(_to_utc)]
"""Timezone-aware, kept in UTC."""


class Record(BaseModel):
    """Refuses unknown fields, and numbers that are none: TOML and the command line know `nan` and `inf`."""

    model_config = ConfigDict(extra="forbid", validate_default=True, allow_inf_nan=False)


class ComputingRecord(Record):
    """A record with computed fields; they are dropped on the way in, so that a dump loads again."""

    @model_validator(mode="before")
    @classmethod
    def _drop_computed(cls, data: object) -> object:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if key not in cls.model_computed_fields}
        return data
