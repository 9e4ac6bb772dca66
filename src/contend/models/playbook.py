"""The playbook and what the learning loop passes around."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, computed_field

from contend.models.record import ComputingRecord, Identifier, Record, Text, UtcDatetime, utc_now


def _printable(name: str) -> str:
    if not name.isprintable() or not name.strip():
        raise ValueError(f"section {name!r} needs 1 to 64 printable characters")
    return name


SectionName = Annotated[str, StringConstraints(min_length=1, max_length=64), AfterValidator(_printable)]
"""Any 1 to 64 printable characters."""


class Bullet(ComputingRecord):
    """One lesson. Quarantined until it has helped in two runs; quarantined bullets rank lower and are marked."""

    id: Identifier
    section: SectionName
    content: Text
    searchable_text: Text
    helpful: int = Field(default=0, ge=0)
    harmful: int = Field(default=0, ge=0)
    status: Literal["quarantined", "active"] = "quarantined"
    helpful_runs: list[str] = Field(default_factory=list)
    created_at: UtcDatetime = Field(default_factory=utc_now)
    updated_at: UtcDatetime = Field(default_factory=utc_now)
    provenance: str = ""

    @computed_field  # type: ignore[prop-decorator]  # pydantic's own form
    @property
    def confidence(self) -> float:
        """(helpful + 1) / (helpful + harmful + 2): the mean of a Beta(1, 1) prior after the votes."""
        return (self.helpful + 1) / (self.helpful + self.harmful + 2)


class Playbook(Record):
    """A dataset's bullets at one version. Version 0 is the empty playbook that nobody saved yet."""

    dataset: Identifier
    version: int = Field(default=0, ge=0)
    bullets: list[Bullet] = Field(default_factory=list)


GENERAL = "general"
"""The section of lessons in a dataset without sections of its own."""


class Section(Record):
    name: SectionName
    description: str = ""


class Insight(Record):
    """A lesson drawn from a run, before it becomes a bullet."""

    reasoning: str
    error_identification: str
    root_cause_analysis: str
    correct_approach: str
    key_insight: Text


class BulletEvaluation(Record):
    bullet_id: str
    tag: Literal["helpful", "harmful", "neutral"]


class ReflectionResult(Record):
    insights: list[Insight] = Field(default_factory=list)
    bullet_evaluations: list[BulletEvaluation] = Field(default_factory=list)


class DeltaContextItem(Record):
    """One operation on a playbook. ADD has no `bullet_id` yet; DELETE needs no content."""

    operation: Literal["ADD", "UPDATE", "DELETE"]
    bullet_id: str | None = None
    section: str | None = None
    content: str | None = None
    searchable_text: str | None = None
    reasoning: str = ""


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
