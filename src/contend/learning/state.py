"""The state of the learning graph: JSON-plain, ids and short texts only."""

from typing import Annotated, Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from contend.models.record import Language


class LearnInput(TypedDict, total=False):
    """What a run hands over. Left out: dataset `default`, English, a new execution id, no rounds."""

    execution_id: SkipJsonSchema[str]
    dataset: Annotated[str, Field(description="The playbook to learn into; `default` where left out.")]
    language: Annotated[Language, Field(description="Language of the prompts; English where left out.")]
    theme: Annotated[str, Field(description="The question that was researched, up to 8,000 characters.")]
    rounds: Annotated[list[dict[str, Any]], Field(description="The rounds that were played, each a `PlayedRound`.")]
    bullets: Annotated[list[str], Field(description="Ids of the bullets that the teams had.")]
    withheld: Annotated[
        dict[str, Any] | None, Field(description="The bullets that one team went without: `team_id` and `bullets`.")
    ]
    approve: Annotated[bool, Field(description="Whether a person sees the delta before it is applied.")]
    compact: Annotated[bool, Field(description="Whether texts are cut to what a small model reads.")]
    sources: Annotated[
        list[str], Field(description="Ids of the documents that the teams read: lessons may not copy from them.")
    ]


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
    approved: bool
    """A person has seen the operations."""


class LearnOutput(TypedDict, total=False):
    result: dict[str, Any]
    usage: list[dict[str, Any]]


LearnUpdate = LearningState
"""A node's partial update: any of the state's keys."""


FRESH: LearnUpdate = {
    "reflection": {},
    "delta": [],
    "skipped": [],
    "result": {},
    "usage": [],
    "problem": "",
    "approved": False,
}
"""A further run on a thread: nothing of the one before stays."""
