"""What the HTTP API takes and gives. Each model carries an example."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import ConfigDict, Field

from contend.models.options import RunOptions
from contend.models.record import Question, Record, UtcDatetime, utc_now
from contend.models.task import RunStatus

ResearchStatus = Literal["started", "processing", "completed", "failed", "interrupted"]
CheckpointerType = Literal["memory", "sqlite", "redis"]
ShownNode = Literal[
    "supervisor",
    "researcher",
    "writer",
    "reviewer",
    "open_run",
    "set_criteria",
    "team",
    "find_near_ties",
    "compare_pair",
    "pick_winner",
    "synthesize",
    "score_merged",
    "compare_merged",
    "choose_report",
    "approve_report",
    "publish",
    "learn",
    "finish_run",
    "brief",
    "research",
    "submit",
    "score_metric",
    "evaluate",
    "judge",
    "reflect",
    "curate",
    "approve_delta",
    "apply_delta",
]
"""The research graph's nodes by the roles they play, other nodes by name."""

_ROLES: dict[str, ShownNode] = {
    "quotes": "research",
    "quote": "writer",
    "supervise": "supervisor",
    "approve_plan": "supervisor",
    "search": "researcher",
    "collect": "researcher",
    "read_page": "researcher",
    "choose": "researcher",
    "write": "writer",
    "write_section": "writer",
    "summarize": "writer",
    "review": "reviewer",
}
_STATUS: dict[RunStatus, ResearchStatus] = {
    "running": "processing",
    "completed": "completed",
    "partial": "completed",
    "failed": "failed",
    "interrupted": "interrupted",
}
_WHOLE = Annotated[int, Field(ge=0)]


def _example(**values: Any) -> ConfigDict:  # noqa: ANN401 - any JSON
    return ConfigDict(json_schema_extra={"example": values})


class ResearchRequest(Record):
    """A research to start. Another `checkpointer_type` than the server's is refused."""

    model_config = _example(theme="Why do long bridges hum in the wind?", max_iterations=5)

    theme: Question
    max_iterations: int = Field(default=5, ge=1, le=10)
    enable_human_intervention: bool = False
    checkpointer_type: CheckpointerType | None = None
    options: RunOptions | None = None

    def run_options(self) -> RunOptions:
        """The request as options of a run: a person's word on the plan, where intervention is wanted."""
        given = self.options or RunOptions()
        asked = ["plan", *(given.approve or [])] if self.enable_human_intervention else given.approve
        approve = None if asked is None else list(dict.fromkeys(asked))
        settled = {"max_iterations": given.max_iterations or self.max_iterations, "approve": approve}
        return RunOptions.model_validate({**given.model_dump(exclude_none=True), **settled})


class ResearchResponse(Record):
    """Where a research stands. A partial run is completed, with what is missing in the message."""

    model_config = _example(
        research_id="0b9f3c6e-4f43-4b2c-9a3a-0f6f2f1f7a55",
        status="started",
        message="the teams are at work",
        created_at="2026-01-15T10:00:00Z",
        estimated_completion_time=None,
    )

    research_id: UUID
    status: ResearchStatus
    message: str
    created_at: UtcDatetime = Field(default_factory=utc_now)
    estimated_completion_time: UtcDatetime | None = None

    @classmethod
    def of(cls, research_id: UUID, status: RunStatus, message: str, *, created_at: UtcDatetime) -> Self:
        """The response for a run's status; waiting, stopped and cancelled runs are interrupted."""
        return cls(research_id=research_id, status=_STATUS[status], message=message, created_at=created_at)


class ProgressInfo(Record):
    """How far a research is. Iterations are loops of the research graph in the current round."""

    model_config = _example(
        current_iteration=1,
        max_iterations=5,
        current_node="writer",
        nodes_completed=["supervisor", "researcher"],
        nodes_remaining=["reviewer"],
    )

    current_iteration: _WHOLE
    max_iterations: int = Field(ge=1)
    current_node: ShownNode
    nodes_completed: list[ShownNode] = Field(default_factory=list)
    nodes_remaining: list[ShownNode] = Field(default_factory=list)


class ResearchStatistics(Record):
    """What a research came to. Whole numbers, rounded down."""

    model_config = _example(iterations=3, sources_collected=14, processing_time_seconds=95)

    iterations: _WHOLE
    sources_collected: _WHOLE
    processing_time_seconds: _WHOLE

    @classmethod
    def of(cls, *, iterations: int, urls: Sequence[str], seconds: float) -> Self:
        """Each address counts once."""
        return cls(iterations=iterations, sources_collected=len(set(urls)), processing_time_seconds=int(seconds))


def shown_node(node: str) -> str:
    """A graph's node as the API names it."""
    return _ROLES.get(node, node)
