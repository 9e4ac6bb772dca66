"""What the HTTP API takes and gives. Each model that a client sends or gets first carries an example."""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field

from contend.approval import Question
from contend.models.evaluation import MetricScore
from contend.models.options import RunOptions
from contend.models.record import Identifier, QuestionText, Record, Score, ThreadId, UtcDatetime, utc_now
from contend.models.research import SearchResult
from contend.models.round import ExitReason, LeaderboardEntry
from contend.models.task import Publication, RunStatus, RunUsage, TeamStatus
from contend.report import StatementChanges
from contend.settings import CheckpointerType
from contend.stored_runs import JudgedCriterion

ResearchStatus = Literal["started", "processing", "completed", "failed", "interrupted"]
RunNode = Literal["open_run", "set_criteria", "team", "synthesize", "pick_winner", "publish", "learn", "finish_run"]
RoundNode = Literal[
    "brief", "supervisor", "researcher", "writer", "reviewer", "submit", "score_metric", "evaluate", "judge"
]
"""In the order in which they come; a round's loops go back from the reviewer to the supervisor."""

ShownNode = Literal[RunNode, RoundNode, "approve_report", "approve_delta"]
"""Those that a run's events tell of: the research graph's nodes by the roles they play, others by name."""

RESEARCH_STATUS: dict[RunStatus, ResearchStatus] = {
    "running": "processing",
    "completed": "completed",
    "partial": "completed",
    "failed": "failed",
    "interrupted": "interrupted",
}
"""By the status of its run; a run that waits, was stopped or cancelled is interrupted."""
_WHOLE = Annotated[int, Field(ge=0)]


def example(text: str) -> ConfigDict:
    """The JSON as a model's example."""
    return ConfigDict(json_schema_extra={"example": json.loads(text)})


class ResearchRequest(Record):
    """A research to start. The server's own checkpointer keeps it, whatever `checkpointer_type` says."""

    model_config = example('{"theme": "Why do long bridges hum in the wind?", "max_iterations": 5}')

    theme: QuestionText
    max_iterations: int = Field(default=5, ge=1, le=10)
    enable_human_intervention: bool = False
    checkpointer_type: Literal["memory", "sqlite", "redis", "postgres"] | None = None
    options: RunOptions | None = None

    def run_options(self) -> RunOptions:
        """The request as options of a run: a person's word on the plan, where intervention is wanted."""
        options = self.options or RunOptions()
        values = options.model_dump(exclude_none=True)
        if self.enable_human_intervention:
            values["approve"] = list(dict.fromkeys(["plan", *(options.approve or [])]))
        # What is not said follows from the depth; the default is what readers of the format know.
        if "max_iterations" in self.model_fields_set:
            values.setdefault("max_iterations", self.max_iterations)
        return RunOptions.model_validate(values)


class ResearchResponse(Record):
    """Where a research stands. A partial run is completed, with what is missing in the message."""

    model_config = example(
        '{"research_id": "0b9f3c6e-4f43-4b2c-9a3a-0f6f2f1f7a55", "status": "started", '
        '"message": "the teams are at work", "created_at": "2026-01-15T10:00:00Z", '
        '"estimated_completion_time": null}'
    )

    research_id: ThreadId
    """The id of the thread: a UUID, or the name that a run of the command line was given."""
    status: ResearchStatus
    message: str
    created_at: UtcDatetime = Field(default_factory=utc_now)
    estimated_completion_time: UtcDatetime | None = None

    @property
    def is_going(self) -> bool:
        """Whether it waits in the queue or is at work."""
        return self.status in {"started", "processing"}

    @property
    def is_over(self) -> bool:
        return self.status in {"completed", "failed"}


class TeamProgress(Record):
    """Where one team is. `status` is pending until it has begun, interrupted where the research has stopped."""

    team_id: Identifier
    status: Literal["pending", "running", "waiting", "interrupted", "completed", "failed", "timeout"] = "pending"
    round_number: _WHOLE = 0
    max_rounds: int = Field(ge=1)
    current_iteration: _WHOLE = 0
    current_node: ShownNode = "brief"


class ProgressInfo(Record):
    """How far a research is. Iterations are loops of the research graph in the current round.

    Of several teams the one is shown that was heard of last; `teams` has them all. `nodes_completed` and
    `nodes_remaining` are of the run, and within `team` of this team's round. The end is estimated from the model calls
    made so far, as soon as there are some.
    """

    model_config = example(
        '{"current_iteration": 1, "max_iterations": 5, "current_node": "writer", '
        '"nodes_completed": ["supervisor", "researcher"], "nodes_remaining": ["reviewer"]}'
    )

    current_iteration: _WHOLE
    max_iterations: int = Field(ge=1)
    current_node: ShownNode
    nodes_completed: list[ShownNode] = Field(default_factory=list)
    nodes_remaining: list[ShownNode] = Field(default_factory=list)
    teams: list[TeamProgress] = Field(default_factory=list)
    spent: RunUsage = Field(default_factory=RunUsage)
    estimated_completion_time: UtcDatetime | None = None


class ResearchStatistics(Publication):
    """The result of a research. Numbers are rounded down to integers."""

    model_config = example(
        '{"iterations": 3, "sources_collected": 14, "processing_time_seconds": 95, "published": "team", '
        '"published_score": 0.874}'
    )

    iterations: _WHOLE
    sources_collected: _WHOLE
    processing_time_seconds: _WHOLE

    @classmethod
    def of(cls, *, iterations: int, urls: Sequence[str], seconds: float) -> Self:
        """Each address counts once."""
        return cls(iterations=iterations, sources_collected=len(set(urls)), processing_time_seconds=int(seconds))


class ResearchItem(ResearchResponse, Publication):
    """A research in the history. `outcome` tells a partial run from a completed one; null before it has begun.

    `winner_team_id` and `best_score` are the best team's; `published` says whether its report is published or the
    editor's merge of several, and `published_score` what judges gave that. Of those that are interrupted, a person is
    asked where `waiting` is true; the others go on by …/resume. `progress` is told while the teams are at work.
    """

    model_config = example(
        '{"research_id": "0b9f3c6e-4f43-4b2c-9a3a-0f6f2f1f7a55", "status": "completed", '
        '"message": "all teams delivered", "created_at": "2026-01-15T10:00:00Z", '
        '"theme": "Why do long bridges hum in the wind?", "outcome": "completed", "waiting": false, '
        '"progress": null, "finished_at": "2026-01-15T10:04:00Z", "winner_team_id": "scholar", '
        '"best_score": 0.874, "published": "editor", "published_score": 0.912, "dataset": "default"}'
    )

    theme: str
    outcome: RunStatus | None = None
    waiting: bool = False
    progress: ProgressInfo | None = None
    finished_at: UtcDatetime | None = None
    winner_team_id: Identifier | None = None
    best_score: Score | None = None
    dataset: Identifier = "default"


class ResearchPage(Record):
    """A page of the history, the newest first; `total` counts all that match."""

    total: _WHOLE
    items: list[ResearchItem]


class ResearchDetails(ResearchItem):
    """A research as it stands: teams, ranking, cost, open questions."""

    execution_id: str = ""
    models: dict[str, str] = Field(default_factory=dict)
    teams: list[TeamStatus] = Field(default_factory=list)
    leaderboard: list[LeaderboardEntry] = Field(default_factory=list)
    exit_reasons: dict[str, ExitReason] = Field(default_factory=dict)
    usage: RunUsage = Field(default_factory=RunUsage)
    questions: list[Question] = Field(default_factory=list)
    has_report: bool = False


class Estimate(Record):
    """What a research might cost, at least and at most; nothing was started or spent. `usd` null: no price is known."""

    model_config = example(
        '{"teams": ["scout", "scholar"], "sources": ["tavily", "arxiv"], '
        '"sources_off": {"local": "no documents are given"}, "models": {"writer": "gpt-5"}, "calls": [31, 96], '
        '"tokens": [140000, 610000], "usd": [0.4, 2.1]}'
    )

    teams: list[Identifier]
    sources: list[str]
    sources_off: dict[str, str]
    models: dict[str, str]
    calls: list[int] = Field(min_length=2, max_length=2)
    tokens: list[int] = Field(min_length=2, max_length=2)
    usd: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    warnings: list[str] = Field(default_factory=list)
    left_out: list[str] = Field(default_factory=list)


class Questions(Record):
    """The questions that wait for a person."""

    questions: list[Question]


class Answers(Record):
    """Answers: `decision` for all open questions, or `answers` by question id or team.

    A decision is "approve", {"type": "edit", "args": {…}} or {"type": "reject", "reason": "…"}.
    """

    model_config = example(
        '{"decision": null, "answers": {"scholar": "approve", "scout": {"type": "reject", "reason": "too broad"}}}'
    )

    decision: str | dict[str, Any] | None = None
    answers: dict[str, str | dict[str, Any]] | None = None


class RoundScore(Record):
    """A round of a team with its verdict. `score` null: not judged, or unscored."""

    team_id: Identifier
    team_name: str
    round_number: int
    score: Score | None
    metrics: list[MetricScore]
    feedback: str
    exit_reason: ExitReason | None
    reasoning: str


class Leaderboard(Publication):
    """The ranking of a run, and every round that was handed in; whose report is published, and its score."""

    research_id: ThreadId
    theme: str
    leaderboard: list[LeaderboardEntry]
    rounds: list[RoundScore]


class Side(Record):
    """One of two researches beside each other; each criterion with what judges found of the published report."""

    research: ResearchDetails
    statistics: ResearchStatistics
    rounds: list[RoundScore]
    criteria: list[JudgedCriterion]
    sources: list[SearchResult]
    executive_summary: str
    key_findings: list[str]


class ResearchComparison(Record):
    """Two researches side by side. Sources are those that the reports cite, told apart by their addresses.

    `statements`: what the reports say differently; null where one of the two has no ledger of statements.
    """

    same_question: bool
    first: Side
    second: Side
    common_sources: list[str]
    only_first: list[str]
    only_second: list[str]
    statements: StatementChanges | None = None


class MergeChanges(Record):
    """What the editor's published report says otherwise than the best team's, which is the `first` of `statements`.

    `document`: the team's report, under …/documents.
    """

    team_id: Identifier
    team_name: str
    document: str
    statements: StatementChanges


class Health(Record):
    """`teams`: those that may be named; `problems`: what keeps a research with a language model from working."""

    model_config = example(
        '{"status": "ok", "version": "0.1.0", "checkpointer": "sqlite", "language_model": true, "demo": true, '
        '"teams": ["scout"], "problems": []}'
    )

    status: Literal["ok"]
    version: str
    checkpointer: CheckpointerType
    language_model: bool
    demo: bool
    teams: list[Identifier] = Field(default_factory=list)
    problems: list[str] = Field(default_factory=list)


class Problem(Record):
    """What was wrong with a request: one line with field, value and remedy."""

    model_config = example('{"detail": "theme: String should have at least 1 character", "field": "theme"}')

    detail: str
    field: str | None = None
