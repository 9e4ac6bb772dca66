"""What a run tells while it goes: one definition for terminal, API, page, stream and callbacks."""

import json
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, TypeAdapter

from contend.models.evaluation import Criterion, MetricScore
from contend.models.options import Approval
from contend.models.record import Record, Score, UtcDatetime, utc_now
from contend.models.research import Part, ResearchPlan
from contend.models.round import ExitReason, LeaderboardEntry
from contend.models.task import Publication, RunStatus, RunUsage, TeamStage

MOST_HITS = 10
"""So many hits of a search are told."""


class Event(Record):
    """The root: when it happened, in which execution, and what the run's model calls had cost by then."""

    by_node: ClassVar[bool] = True
    """Whether a node tells it: one that is run again after a crash tells it again, and it is kept once."""

    execution_id: str
    at: UtcDatetime = Field(default_factory=utc_now)
    spent: RunUsage | None = None

    @property
    def key(self) -> str:
        """The same for the same event told twice: what happened to whom, without what is a record of its own."""
        values = self.model_dump(mode="json", exclude={"document", "at"} if self.by_node else None)
        plain = {name: value for name, value in values.items() if not isinstance(value, dict | list)}
        return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:32]


class RunStarted(Event):
    """`options` are those in effect; `calls`: about how many model calls are to come, at least and at most."""

    type: Literal["run_started"] = "run_started"
    thread_id: str
    theme: str
    teams: list[str]
    sources: list[str]
    sources_off: dict[str, str]
    models: dict[str, str]
    warnings: list[str] = Field(default_factory=list)
    options: dict[str, Any] = Field(default_factory=dict)
    calls: tuple[int, int] = (0, 0)


class Detail(Event):
    """What a page shows, and a terminal has no room for."""


class RunStopped(Detail):
    """The run stopped in the middle: cancelled, or its process was told to end. It can go on."""

    by_node: ClassVar[bool] = False
    type: Literal["run_stopped"] = "run_stopped"
    message: str


class RunResumed(Detail):
    """The run goes on; `answers` are the decisions by question id, where a person answered."""

    by_node: ClassVar[bool] = False
    type: Literal["run_resumed"] = "run_resumed"
    answers: dict[str, Any] = Field(default_factory=dict)


class CriteriaSet(Detail):
    """What a report on this question has to do, for judges, and the parts of the question, for teams."""

    type: Literal["criteria_set"] = "criteria_set"
    parts: list[str] = Field(default_factory=list)
    criteria: list[Criterion]
    failure: str = ""


class TeamStarted(Event):
    type: Literal["team_started"] = "team_started"
    team_id: str
    team_name: str


class OfRound(Event):
    """In a round of a team."""

    team_id: str
    round_number: int


class RoundStarted(OfRound):
    type: Literal["round_started"] = "round_started"


class Hit(Record):
    """What a search found, as its source names it."""

    title: str
    url: str
    published_date: str | None = None


class SearchDone(Detail):
    """One action in one source, a search, a find or a read: how many sections it gave, and the first documents."""

    type: Literal["search_done"] = "search_done"
    team_id: str
    round_number: int
    kind: Literal["search", "find", "read"] = "search"
    query: str
    source: str
    count: int
    hits: list[Hit] = Field(default_factory=list, max_length=MOST_HITS)


class StepDone(OfRound):
    """A step of the research in a round: planned, researched, searched, wrote, reviewed; or one of a graph's own.

    `iteration` counts the round's drafts from 1, of `research` its steps. `plan` is what was planned; `parts`, `held`
    and `held_tokens` how far the parts of the question are and what the team holds after a step, of `room` tokens that
    it may hold, and `thought` why; `actions`, of a plan too, how many follow;
    `document` the id of the draft's text that was written; `feedback` the reviewer's word, "" where the draft was
    accepted.
    """

    type: Literal["step_done"] = "step_done"
    step: Literal["plan", "research", "search", "write", "review", "graph"]
    detail: str = ""
    iteration: int = 0
    plan: ResearchPlan | None = None
    parts: list[Part] = Field(default_factory=list)
    held: int = 0
    held_tokens: int = 0
    room: int = 0
    actions: int = 0
    thought: str = ""
    document: str = ""
    feedback: str = ""


class SourceOff(Event):
    type: Literal["source_off"] = "source_off"
    team_id: str
    source: str
    reason: str


class DocumentsRead(Event):
    """How far the reading of many own documents is: `read` of `files` that are new or changed."""

    type: Literal["documents_read"] = "documents_read"
    read: int
    files: int


class DocumentsLeftOut(Event):
    """The own documents that are no part of the answer, or not whole: names and the reason, a line for each reason."""

    type: Literal["documents_left_out"] = "documents_left_out"
    files: list[str]


class RoundSubmitted(OfRound):
    """`document` is the id of the submission."""

    type: Literal["round_submitted"] = "round_submitted"
    characters: int
    document: str = ""


class RoundScored(OfRound):
    """`usage` is what the round cost; `feedback` the judges' words to the team."""

    type: Literal["round_scored"] = "round_scored"
    score: Score | None
    metrics: list[MetricScore]
    usage: RunUsage
    leaderboard: list[LeaderboardEntry]
    feedback: str = ""


class RoundJudged(OfRound):
    """The decision after a round; `exit_reason` None: another round follows."""

    type: Literal["round_judged"] = "round_judged"
    exit_reason: ExitReason | None
    reasoning: str
    asked_judge: bool


class TeamDone(Event):
    type: Literal["team_done"] = "team_done"
    team_id: str
    status: TeamStage
    error_message: str | None = None


class StepChosen(Event):
    """What follows with the depth `auto` once teams have ended, and why, in the run's language.

    `publish`: no further team, and no editor; `send`: `teams` play, too; `merge`: an editor merges the reports.
    """

    type: Literal["step_chosen"] = "step_chosen"
    step: Literal["publish", "send", "merge"]
    reason: str
    teams: list[str] = Field(default_factory=list)


class WinnerPicked(Event, Publication):
    """The best team, with its score, and whose report is to be published."""

    type: Literal["winner_picked"] = "winner_picked"
    team_id: str | None
    score: Score | None
    leaderboard: list[LeaderboardEntry]


class ReportMerged(Event):
    """The editor merged the teams' reports; `published`: whether that report is not worse than the best team's.

    `taken`: what it took of each team's report; `best_score`: the best team's; `preferred`: which of both reports
    judges preferred, once for each order in which they were shown; `metrics`: what judges found of the merged one.
    """

    type: Literal["report_merged"] = "report_merged"
    score: Score | None
    published: bool
    reports: int = 0
    taken: dict[str, str] = Field(default_factory=dict)
    best_score: Score | None = None
    preferred: list[Literal["editor", "winner", "tie"]] = Field(default_factory=list)
    metrics: list[MetricScore] = Field(default_factory=list)
    failure: str = ""


class ReportPublished(Event, Publication):
    """`team_id` is the best team's."""

    type: Literal["report_published"] = "report_published"
    team_id: str
    sources: int
    files: list[str]


class Learned(Event):
    type: Literal["learned"] = "learned"
    dataset: str
    playbook_version: int
    summary: str
    lessons: list[str] = Field(default_factory=list)


class QuestionAsked(Event):
    """A question waits for a person: the run pauses until it is answered."""

    type: Literal["question_asked"] = "question_asked"
    question_id: str
    asked: Approval
    team_id: str
    description: str
    args: dict[str, Any] = Field(default_factory=dict)
    problem: str = ""


class RunDone(Event):
    type: Literal["run_done"] = "run_done"
    status: RunStatus
    message: str
    usage: RunUsage


RoundEvent = RoundStarted | StepDone | RoundSubmitted | RoundScored | RoundJudged
TeamEvent = TeamStarted | TeamDone | RoundEvent
SourceEvent = SourceOff | DocumentsRead | DocumentsLeftOut
EndEvent = StepChosen | WinnerPicked | ReportMerged | ReportPublished | Learned | RunDone
ShownEvent = RunStarted | TeamEvent | SourceEvent | QuestionAsked | EndEvent
"""What a terminal shows, too."""

AnyEvent = Annotated[ShownEvent | RunStopped | RunResumed | CriteriaSet | SearchDone, Field(discriminator="type")]
ANY_EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
"""Reads an event from its JSON."""


class KeptEvent(Record):
    """An event of a run."""

    number: int = Field(ge=1)
    """By which a client goes on where it was."""
    event: AnyEvent
