"""The state of the learning graph: JSON-plain, ids and short texts only."""

from typing import Any

from typing_extensions import TypedDict

from contend.models.record import Language


class LearnInput(TypedDict, total=False):
    """What a run hands over. Left out: dataset `default`, English, a new execution id, no rounds."""

    execution_id: str
    dataset: str
    language: Language
    theme: str
    rounds: list[dict[str, Any]]
    """Of `PlayedRound`."""
    bullets: list[str]
    """Ids of the bullets that the teams had."""
    approve: bool
    """Whether a person sees the delta before it is applied."""
    sources: list[str]
    """Ids of the documents that the teams read: lessons may not copy from them."""


class LearningState(LearnInput, total=False):
    reflection: dict[str, Any]
    """A `ReflectionResult`."""
    delta: list[dict[str, Any]]
    """Of `DeltaContextItem`: what is proposed, then what is approved."""
    skipped: list[dict[str, Any]]
    """Of `Skipped`: operations refused before the delta was applied."""
    result: dict[str, Any]
    """A `CurationResult`."""
    usage: list[dict[str, Any]]
    """Of `CallUsage`."""
    problem: str
    """Why a person's last answer was not usable."""


class LearnOutput(TypedDict, total=False):
    result: dict[str, Any]
    usage: list[dict[str, Any]]


class ReflectUpdate(TypedDict, total=False):
    execution_id: str
    reflection: dict[str, Any]
    usage: list[dict[str, Any]]


class CurateUpdate(TypedDict, total=False):
    delta: list[dict[str, Any]]
    skipped: list[dict[str, Any]]
    usage: list[dict[str, Any]]


class ApproveUpdate(TypedDict, total=False):
    delta: list[dict[str, Any]]
    skipped: list[dict[str, Any]]
    reflection: dict[str, Any]
    approve: bool
    problem: str


class ApplyUpdate(TypedDict):
    result: dict[str, Any]
