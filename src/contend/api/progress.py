"""How far a research is, from what its run told."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import get_args

from contend.api.models import ProgressInfo, RoundNode, RunNode, ShownNode, TeamProgress
from contend.models import events
from contend.models.events import AnyEvent
from contend.models.record import utc_now
from contend.models.task import RunUsage

OF_RUN: tuple[ShownNode, ...] = get_args(RunNode)
OF_ROUND: tuple[ShownNode, ...] = get_args(RoundNode)
_END_STATUSES = frozenset({"completed", "failed", "timeout"})

_AFTER_STEP: dict[str, ShownNode] = {
    "plan": "researcher",
    "search": "writer",
    "research": "researcher",
    "write": "reviewer",
    "review": "supervisor",
    "graph": "researcher",
}


_DONE_BY: dict[type[AnyEvent], tuple[ShownNode, ...]] = {
    events.RunStarted: ("open_run",),
    events.CriteriaSet: ("set_criteria",),
    events.ReportMerged: ("synthesize",),
    events.WinnerPicked: ("pick_winner",),
    events.ReportPublished: ("publish",),
    events.Learned: ("learn",),
    events.RunDone: ("finish_run",),
    events.RoundStarted: ("brief",),
    events.RoundSubmitted: ("submit",),
    events.RoundScored: ("score_metric", "evaluate"),
}
"""What ran where this has happened."""
_STEP_NODES: dict[str, ShownNode] = {
    "plan": "supervisor",
    "search": "researcher",
    "research": "researcher",
    "graph": "researcher",
    "write": "writer",
    "review": "reviewer",
}


def _done_by(event: AnyEvent) -> tuple[ShownNode, ...]:
    match event:
        case events.StepDone():
            return (_STEP_NODES[event.step],)
        case events.RoundJudged(asked_judge=True):
            return ("judge",)
    return _DONE_BY.get(type(event), ())


def _follow(team: TeamProgress, event: AnyEvent) -> None:
    """Where the team is once this has happened."""
    match event:
        case events.TeamStarted():
            team.status = "running"
        case events.RoundStarted():
            team.status, team.current_node = "running", "supervisor"
            team.round_number, team.current_iteration = event.round_number, 0
            team.max_rounds = max(team.max_rounds, event.round_number)
        case events.StepDone():
            team.status = "running"
            team.current_iteration = max(1, team.current_iteration if event.step == "research" else event.iteration)
            is_accepted = event.step == "review" and not event.feedback
            is_last = event.step in {"plan", "research"} and not event.actions
            team.current_node = "submit" if is_accepted else "writer" if is_last else _AFTER_STEP[event.step]
        case events.RoundSubmitted():
            team.current_node = "score_metric"
        case events.RoundScored():
            team.current_node = "judge"
        case events.RoundJudged():
            team.current_node = "brief" if event.exit_reason is None else "judge"
        case events.QuestionAsked():
            team.status, team.current_node = "waiting", "supervisor"
        case events.TeamDone():
            team.status = event.status


@dataclass
class _RunProgress:
    """A fold over events."""

    start: events.RunStarted | None = None
    node: ShownNode = "open_run"
    done: bool = False
    teams: dict[str, TeamProgress] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    """The team that asked, by the question's id."""
    seen: set[ShownNode] = field(default_factory=set)
    """The nodes of the run that ran."""
    seen_in_round: dict[str, set[ShownNode]] = field(default_factory=dict)
    """Those of each team's current round."""
    last_team: str = ""
    spent: RunUsage = field(default_factory=RunUsage)
    last_at: datetime | None = None
    idle: timedelta = field(default_factory=timedelta)

    def follow(self, event: AnyEvent) -> None:
        if isinstance(event, events.RunResumed):
            self._go_on(event)
        self.spent, self.last_at = event.spent or self.spent, event.at
        self.node = _node_after(event) or self.node
        self.done = self.done or isinstance(event, events.RunDone)
        if isinstance(event, events.StepChosen):
            self._send(event.teams)
        self._note(event)
        if isinstance(event, events.QuestionAsked):
            self.questions[event.question_id] = event.team_id
        team = self.teams.get(getattr(event, "team_id", None) or "")
        if team and not isinstance(event, events.WinnerPicked | events.ReportPublished):
            _follow(team, event)
            self.last_team = team.team_id
            if {each.status for each in self.teams.values()} <= _END_STATUSES:
                self.node = "synthesize"
                self.seen.add("team")

    def _send(self, teams: Iterable[str]) -> None:
        """Further teams play."""
        most = self.start.options.get("max_rounds", 1) if self.start else 1
        for team_id in teams:
            self.last_team = self.teams.setdefault(team_id, TeamProgress(team_id=team_id, max_rounds=most)).team_id

    def _note(self, event: AnyEvent) -> None:
        """Record which nodes have run. A step without an event has not run."""
        done = _done_by(event)
        self.seen.update(name for name in done if name in OF_RUN)
        if team_id := getattr(event, "team_id", None):
            fresh = isinstance(event, events.RoundStarted)
            in_round = set[ShownNode]() if fresh else self.seen_in_round.get(team_id, set())
            self.seen_in_round[team_id] = in_round | {name for name in done if name in OF_ROUND}

    def _go_on(self, event: events.RunResumed) -> None:
        # Whether it waited, was stopped or its process ended: nobody worked since the event before.
        self.idle += event.at - (self.last_at or event.at)
        for question_id in event.answers:
            if team := self.teams.get(self.questions.get(question_id, "")):
                team.status = "running"


_NODE_AFTER: dict[type[AnyEvent], ShownNode] = {
    events.RunStarted: "set_criteria",
    events.CriteriaSet: "team",
    events.ReportMerged: "pick_winner",
    events.ReportPublished: "learn",
    events.Learned: "finish_run",
    events.RunDone: "finish_run",
}
_NODE_AFTER_STEP: dict[str, ShownNode] = {"send": "team", "merge": "synthesize", "publish": "pick_winner"}
_NODE_OF_QUESTION: dict[str, ShownNode] = {"report": "approve_report", "playbook": "approve_delta"}


def _node_after(event: AnyEvent) -> ShownNode | None:
    """What the run is at once this has happened."""
    if isinstance(event, events.QuestionAsked):
        return _NODE_OF_QUESTION.get(event.asked)
    if isinstance(event, events.StepChosen):
        return _NODE_AFTER_STEP[event.step]
    if isinstance(event, events.WinnerPicked):
        return "publish" if event.team_id else "finish_run"
    return _NODE_AFTER.get(type(event))


def progress_of(history: Iterable[AnyEvent], *, is_going: bool = True) -> ProgressInfo:
    """How far a run is, from all that it told so far. One that waits or has stopped has no end in sight."""
    run = _RunProgress()
    for event in history:
        if isinstance(event, events.RunStarted):  # a further question on the thread is a run of its own
            most = event.options.get("max_rounds", 1)
            teams = {team_id: TeamProgress(team_id=team_id, max_rounds=most) for team_id in event.teams}
            run = _RunProgress(event, teams=teams)
        run.follow(event)
    for each in run.teams.values():
        if each.status == "running" and not is_going:
            each.status = "interrupted"
    options = run.start.options if run.start else {}
    team = run.teams.get(run.last_team)
    playing = run.node == "team" and team is not None
    past, to_come = _around(run, team if playing else None, options)
    return ProgressInfo(
        current_iteration=team.current_iteration if team else 0,
        max_iterations=options.get("max_iterations", 1),
        current_node=team.current_node if playing and team else run.node,
        nodes_completed=past,
        nodes_remaining=to_come,
        teams=[*run.teams.values()],
        spent=run.spent,
        estimated_completion_time=_end(run) if is_going else None,
    )


def _around(
    run: _RunProgress, team: TeamProgress | None, options: dict[str, int]
) -> tuple[list[ShownNode], list[ShownNode]]:
    """The nodes that ran and those to come, of the run, and of the round that the team plays."""
    if run.done:
        return [name for name in OF_RUN if name in run.seen], []
    left_out = {name for name, option in (("synthesize", "synthesis"), ("learn", "learn")) if not options.get(option)}
    nodes = [name for name in OF_RUN if name not in left_out]
    place = nodes.index(run.node) if run.node in nodes else nodes.index("publish")
    past, to_come = [name for name in nodes[:place] if name in run.seen], nodes[place + 1 :]
    if team is None:
        return past, to_come
    here = OF_ROUND.index(team.current_node)
    in_round = run.seen_in_round.get(team.team_id, set())
    return [*past, *(name for name in OF_ROUND[:here] if name in in_round)], [*OF_ROUND[here + 1 :], *to_come]


def _end(run: _RunProgress) -> datetime | None:
    """When the run may end: the calls to come at the pace of those made; None before the first."""
    if run.done or run.start is None or run.last_at is None or not run.spent.requests:
        return None
    calls, likely = run.spent.requests, sum(run.start.calls) / 2
    to_come = (likely if calls < likely else run.start.calls[1]) - calls
    return utc_now() + max(0.0, to_come) / calls * (run.last_at - run.start.at - run.idle)
