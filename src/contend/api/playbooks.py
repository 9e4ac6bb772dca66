"""The routes of a dataset's playbook: what was learned, each version of it, and what a person changes of it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field, model_validator

from contend.agent_server import server_services
from contend.api.models import example
from contend.api.requests import CONFLICT, NOT_FOUND, PROBLEMS, LimitedRoute
from contend.errors import PlaybookDamaged, UnknownLesson
from contend.learning.by_hand import PlaybookEditor
from contend.models.playbook import (
    GENERAL,
    Bullet,
    CurationResult,
    Playbook,
    PlaybookDiff,
    PlaybookVersion,
    SectionName,
)
from contend.models.record import IDENTIFIER_RULE, Identifier, Record, Text, UtcDatetime
from contend.stores.playbooks import PlaybookStore

_LATEST_VERSION = 2**31


class PlaybookItem(Record):
    """A playbook in the list. `problem`: why it cannot be read, and the version to go back to; then it counts none."""

    dataset: Identifier
    version: int = Field(default=0, ge=0)
    bullets: int = Field(default=0, ge=0)
    saved_at: UtcDatetime | None = None
    problem: str | None = None


class Playbooks(Record):
    playbooks: list[PlaybookItem]


class PlaybookVersions(Record):
    """Every version of a playbook: its deltas, when, for which run and why; the newest first."""

    dataset: Identifier
    versions: list[PlaybookVersion]


class RetiredLessons(Record):
    """Lessons that were in a version and are in the newest no more, as they were last."""

    dataset: Identifier
    bullets: list[Bullet]


LessonText = Annotated[Text, Field(max_length=2000)]
ExampleText = Annotated[str, Field(max_length=500)]


class Lesson(Record):
    """A lesson of a person's own. `always`: it applies to every question."""

    model_config = example(
        """{"content": "For tide times, trust the harbour's table before any news.", "section": "searching", """
        """"example": "", "always": false}"""
    )

    content: LessonText
    section: SectionName = GENERAL
    example: ExampleText = ""
    always: bool = False


class LessonChange(Record):
    """What of a lesson is to change; what is left out stays."""

    model_config = example("""{"content": "For tide times, trust the harbour's table of the same year."}""")

    content: LessonText | None = None
    section: SectionName | None = None
    example: ExampleText | None = None
    always: bool | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> "LessonChange":
        if not self.model_dump(exclude_none=True):
            raise ValueError("nothing to change: give content, section, example or always")
        return self


async def playbook_store() -> PlaybookStore:
    """Of this process."""
    return (await server_services()).playbooks


Store = Annotated[PlaybookStore, Depends(playbook_store)]
Dataset = Annotated[str, Path(description=f"A playbook's dataset: {IDENTIFIER_RULE}.", min_length=1, max_length=64)]
LessonId = Annotated[str, Path(description="A lesson's id.", min_length=1, max_length=64)]
VersionNumber = Annotated[int, Path(description="A version; 0 is the empty playbook.", ge=0, le=_LATEST_VERSION)]
_BASE = "The version that you take for the newest: where another one is, nothing is changed (409)."
BaseVersion = Annotated[int | None, Query(description=_BASE, ge=0, le=_LATEST_VERSION)]


async def existing_dataset(dataset: Dataset, store: Store) -> str:
    """The dataset, where it has a playbook: but for the first lessons, nobody makes one by a slip in its name."""
    if dataset not in await store.datasets():
        raise UnknownLesson(f"playbook {dataset!r}: there is none; see GET /playbooks")
    return dataset


ExistingDataset = Annotated[str, Depends(existing_dataset)]


async def playbook_editor(dataset: Dataset, store: Store, version: BaseVersion = None) -> PlaybookEditor:
    return PlaybookEditor(store, dataset, version)


Editor = Annotated[PlaybookEditor, Depends(playbook_editor)]
EXISTING = [Depends(existing_dataset)]

router = APIRouter(prefix="/playbooks", tags=["playbooks"], responses=PROBLEMS, route_class=LimitedRoute)


@router.get("")
async def list_playbooks(store: Store) -> Playbooks:
    """All playbooks of the workspace."""
    return Playbooks(playbooks=[await _item(store, dataset) for dataset in await store.datasets()])


@router.get("/{dataset}", responses=NOT_FOUND)
async def get_playbook(dataset: ExistingDataset, store: Store) -> Playbook:
    """A playbook as it is."""
    return await store.load(dataset)


@router.get("/{dataset}/versions", responses=NOT_FOUND)
async def list_playbook_versions(dataset: ExistingDataset, store: Store) -> PlaybookVersions:
    """Every version of a playbook, the newest first."""
    history = await store.history(dataset)
    return PlaybookVersions(dataset=dataset, versions=history[::-1])


@router.get("/{dataset}/versions/{number}", responses=NOT_FOUND)
async def get_playbook_version(dataset: ExistingDataset, number: VersionNumber, store: Store) -> Playbook:
    """A playbook as it was in a version."""
    return await store.load(dataset, version=number)


@router.post("/{dataset}/versions/{number}/rollback", responses=NOT_FOUND | CONFLICT)
async def roll_back_playbook(
    dataset: ExistingDataset, number: VersionNumber, store: Store, version: BaseVersion = None
) -> Playbook:
    """Make the lessons of an old version the newest version, which is undone the same way."""
    return await store.rollback(dataset, number, base_version=version)


@router.get("/{dataset}/diff", responses=NOT_FOUND)
async def compare_playbook_versions(
    dataset: ExistingDataset,
    first: Annotated[int, Query(description="A version; 0 is the empty playbook.", ge=0, le=_LATEST_VERSION)],
    store: Store,
    second: Annotated[int | None, Query(description="Left out: the newest.", ge=0, le=_LATEST_VERSION)] = None,
) -> PlaybookDiff:
    """What turns one version of a playbook into another."""
    return await store.diff(dataset, first, (await store.load(dataset)).version if second is None else second)


@router.get("/{dataset}/retired", responses=NOT_FOUND)
async def list_retired_lessons(dataset: ExistingDataset, store: Store) -> RetiredLessons:
    """The lessons that can be restored."""
    return RetiredLessons(dataset=dataset, bullets=[*(await store.retired_bullets(dataset)).values()])


@router.post("/{dataset}/lessons", responses=CONFLICT)
async def add_lesson(lesson: Lesson, editor: Editor) -> CurationResult:
    """Add a lesson of your own; it is active at once. One that stands there word for word is skipped."""
    return await editor.add(lesson.model_dump())


@router.patch("/{dataset}/lessons/{lesson_id}", responses=NOT_FOUND | CONFLICT, dependencies=EXISTING)
async def edit_lesson(lesson_id: LessonId, change: LessonChange, editor: Editor) -> CurationResult:
    """Change a lesson. A new text starts without votes, because the old votes were for the old text."""
    return await editor.edit(lesson_id, change.model_dump(exclude_none=True))


@router.delete("/{dataset}/lessons/{lesson_id}", responses=NOT_FOUND | CONFLICT, dependencies=EXISTING)
async def retire_lesson(lesson_id: LessonId, editor: Editor) -> CurationResult:
    """Take a lesson out of the playbook; it can be restored."""
    return await editor.remove([lesson_id])


@router.post("/{dataset}/lessons/{lesson_id}/restore", responses=NOT_FOUND | CONFLICT)
async def restore_lesson(dataset: ExistingDataset, lesson_id: LessonId, editor: Editor) -> CurationResult:
    """Bring back a lesson that was retired; what spoke against it no longer counts."""
    bullet = (await editor.store.retired_bullets(dataset)).get(lesson_id)
    if bullet is None:
        raise UnknownLesson(f"lesson {lesson_id!r}: no such one is retired; see GET /playbooks/{dataset}/retired")
    return await editor.restore(bullet)


async def _item(store: PlaybookStore, dataset: str) -> PlaybookItem:
    try:
        playbook, history = await store.load(dataset), await store.history(dataset)
    except PlaybookDamaged as error:
        return PlaybookItem(dataset=dataset, problem=str(error))
    saved_at = history[-1].saved_at if history else None
    return PlaybookItem(dataset=dataset, version=playbook.version, bullets=len(playbook.bullets), saved_at=saved_at)
