"""How far a research is, from what its run told."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from contend.api.models import ProgressInfo, ShownNode, TeamProgress
from contend.models.events import (
    AnyEvent,
    CriteriaSet,
    Learned,
    QuestionAsked,
    ReportMerged,
    ReportPublished,
    RoundJudged,
    RoundScored,
    RoundStarted,
    RoundSubmitted,
    RunDone,
    RunResumed,
    RunStarted,
    StepDone,
    TeamDone,
    TeamStarted,
    WinnerPicked,
)
from contend.models.record import utc_now
from contend.models.task import RunUsage

OF_RUN: tuple[ShownNode, ...] = (
    "open_run",
    "set_criteria",
    "team",
    "synthesize",
    "pick_winner",
    "publish",
    "learn",
    "finish_run",
)
OF_ROUND: tuple[ShownNode, ...] = (
    "brief",
    "supervisor",
    "researcher",
    "writer",
    "reviewer",
    "submit",
    "score_metric",
    "evaluate",
    "judge",
)
"""In the order in which they come; a round's loops go back from the reviewer to the supervisor."""

_ENDED = frozenset({"completed", "failed", "timeout"})

_AFTER_STEP: dict[str, ShownNode] = {
    "plan": "researcher",
    "search": "writer",
    "choose": "writer",
    "write": "reviewer",
    "review": "supervisor",
    "graph": "researcher",
}


@dataclass
class _Team:
    """Where one team is."""

    team_id: str
    status: str = "pending"
    round_number: int = 0
    iteration: int = 0
    node: ShownNode = "brief"
    question_id: str = ""

    def follow(self, event: AnyEvent) -> None:
        match event:
            case TeamStarted():
                self.status = "running"
            case RoundStarted():
                self.status, self.node = "running", "supervisor"
                self.round_number, self.iteration = event.round_number, 0
            case StepDone():
                self.status, self.iteration = "running", max(1, event.iteration)
                accepted = event.step == "review" and not event.feedback
                self.node = "submit" if accepted else _AFTER_STEP[event.step]
            case RoundSubmitted():
                self.node = "score_metric"
            case RoundScored():
                self.node = "judge"
            case RoundJudged():
                self.node = "brief" if event.exit_reason is None else "judge"
            case QuestionAsked():
                self.status, self.node, self.question_id = "waiting", "supervisor", event.question_id
            case TeamDone():
                self.status = event.status


@dataclass
class _Run:
    """A fold over events."""

    started: RunStarted | None = None
    node: ShownNode = "open_run"
    done: bool = False
    teams: dict[str, _Team] = field(default_factory=dict)
    last_team: str = ""
    spent: RunUsage = field(default_factory=RunUsage)
    last_at: datetime | None = None
    idle: timedelta = field(default_factory=timedelta)

    def follow(self, event: AnyEvent) -> None:
        if isinstance(event, RunResumed):
            self._go_on(event)
        self.spent, self.last_at = event.spent or self.spent, event.at
        if isinstance(event, RunStarted):
            # A further question on the thread is a run of its own.
            self.__init__(started=event, node="set_criteria", last_at=event.at)  # type: ignore[misc]  # begins anew
            self.teams = {team_id: _Team(team_id) for team_id in event.teams}
        self.node = _node_after(event) or self.node
        self.done = self.done or isinstance(event, RunDone)
        team = self.teams.get(getattr(event, "team_id", None) or "")
        if team and not isinstance(event, WinnerPicked | ReportPublished):
            team.follow(event)
            self.last_team = team.team_id
            if {each.status for each in self.teams.values()} <= _ENDED:
                self.node = "synthesize"

    def _go_on(self, event: RunResumed) -> None:
        # Whether it waited, was stopped or its process ended: nobody worked since the event before.
        self.idle += event.at - (self.last_at or event.at)
        for team in self.teams.values():
            if team.question_id in event.answers:
                team.status = "running"


def _node_after(event: AnyEvent) -> ShownNode | None:  # noqa: PLR0911 - a line for each event
    """What the run is at once this has happened."""
    match event:
        case CriteriaSet():
            return "team"
        case WinnerPicked():
            return "publish" if event.team_id else "finish_run"
        case ReportMerged():
            return "pick_winner"
        case ReportPublished():
            return "learn"
        case Learned() | RunDone():
            return "finish_run"
        case QuestionAsked(asked="report"):
            return "approve_report"
        case QuestionAsked(asked="playbook"):
            return "approve_delta"
    return None


def progress_of(events: Iterable[AnyEvent], *, is_going: bool = True) -> ProgressInfo:
    """How far a run is, from all that it told so far. One that waits or has stopped has no end in sight."""
    run = _Run()
    for event in events:
        run.follow(event)
    options = run.started.options if run.started else {}
    team = run.teams.get(run.last_team)
    playing = run.node == "team" and team is not None
    completed, remaining = _around(run, team if playing else None, options)
    return ProgressInfo(
        current_iteration=team.iteration if team else 0,
        max_iterations=options.get("max_iterations", 1),
        current_node=team.node if playing and team else run.node,
        nodes_completed=completed,
        nodes_remaining=remaining,
        teams=[_told(each, options, is_going=is_going) for each in run.teams.values()],
        spent=run.spent,
        estimated_completion_time=_end(run) if is_going else None,
    )


def _told(team: _Team, options: dict[str, int], *, is_going: bool) -> TeamProgress:
    return TeamProgress.model_validate(
        {
            "team_id": team.team_id,
            "status": "interrupted" if team.status == "running" and not is_going else team.status,
            "round_number": team.round_number,
            "max_rounds": max(options.get("max_rounds", 1), team.round_number),
            "current_iteration": team.iteration,
            "current_node": team.node,
        }
    )


def _around(run: _Run, team: _Team | None, options: dict[str, int]) -> tuple[list[ShownNode], list[ShownNode]]:
    """The nodes that are done and those to come, of the run, and of the round that the team plays."""
    if run.done:
        return [*OF_RUN], []
    left_out = {name for name, option in (("synthesize", "synthesis"), ("learn", "learn")) if not options.get(option)}
    nodes = [name for name in OF_RUN if name not in left_out]
    place = nodes.index(run.node) if run.node in nodes else nodes.index("publish")
    done, to_come = nodes[:place], nodes[place + 1 :]
    if team is None:
        return done, to_come
    here = OF_ROUND.index(team.node)
    return [*done, *OF_ROUND[:here]], [*OF_ROUND[here + 1 :], *to_come]


def _end(run: _Run) -> datetime | None:
    """When the run may end: the calls to come at the pace of those made; None before the first."""
    if run.done or run.started is None or run.last_at is None or not run.spent.requests:
        return None
    expected = sum(run.started.calls) / 2
    expected = expected if run.spent.requests < expected else run.started.calls[1]
    worked = run.last_at - run.started.at - run.idle
    left = max(0.0, expected - run.spent.requests) / run.spent.requests * worked
    return utc_now() + left
