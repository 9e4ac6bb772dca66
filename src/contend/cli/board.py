"""What the events of a run tell so far, as a terminal shows it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from contend.cli.text import WHY_STOPPED, counted
from contend.cli.words import tr
from contend.models import events
from contend.models.events import AnyEvent, TeamEvent
from contend.models.round import LeaderboardEntry
from contend.models.task import RunUsage, TeamStage


@dataclass
class TeamRow:
    """One team's line. `best` is 0.0 to 1.0; `doing` says what it is at."""

    team_id: str
    name: str
    rank: int | None = None
    best: float | None = None
    round_number: int = 0
    doing: str = field(default_factory=lambda: tr("waits for a slot"))
    state: TeamStage = "pending"


@dataclass
class Board:
    """A fold over events; nothing else is known of the run."""

    theme: str = ""
    teams: dict[str, TeamRow] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    sources_off: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    usage: RunUsage = field(default_factory=RunUsage)
    stage: str = field(default_factory=lambda: tr("Opening"))
    lesson: str = ""
    taught: str = ""
    began: bool = False

    def rows(self) -> list[TeamRow]:
        """The teams in rank order; those without a rank last, as they were entered."""
        last = len(self.teams) + 1
        return sorted(self.teams.values(), key=lambda row: row.rank or last)

    def rank(self, entries: Iterable[LeaderboardEntry]) -> None:
        for entry in entries:
            row = self.team(entry.team_id)
            row.name, row.rank, row.best = entry.team_name, entry.rank, entry.best_score
            row.round_number = max(row.round_number, entry.latest_round)

    def team(self, team_id: str) -> TeamRow:
        return self.teams.setdefault(team_id, TeamRow(team_id, team_id))

    def apply(self, event: AnyEvent) -> None:  # noqa: C901 - a line for each event
        self.began = True
        match event:
            case events.RunStarted():
                self._start(event)
            case events.DocumentsRead():
                self.stage = tr(
                    "Reading documents: {read} of {files}", read=f"{event.read:,}", files=f"{event.files:,}"
                )
            case events.WinnerPicked():
                self.rank(event.leaderboard)
                self.stage = tr("Publishing the report")
            case events.ReportMerged():
                self.stage = tr("Publishing the report")
            case events.ReportPublished():
                self.stage = tr("Learning from the run")
            case events.Learned():
                self.lesson, self.taught = learned_text(event), event.dataset if event.lessons else ""
            case events.SourceOff():
                self.sources_off[event.source] = event.reason
            case events.RunDone():
                self.usage = event.usage
            case events.QuestionAsked():
                self.stage = tr("Waiting for a person")
                if event.team_id:
                    self.team(event.team_id).doing = tr("asks a person: {what}", what=tr(event.asked))
            case events.TeamStarted() | events.TeamDone() | events.OfRound():
                self._follow(event)

    def _start(self, event: events.RunStarted) -> None:
        self.theme, self.models = event.theme, event.models
        self.sources, self.sources_off = event.sources, dict(event.sources_off)
        self.stage = tr("Competing")
        for team_id in event.teams:
            self.team(team_id)

    def _follow(self, event: TeamEvent) -> None:
        self.stage = tr("Competing")
        row = self.team(event.team_id)
        match event:
            case events.TeamStarted():
                row.name, row.state, row.doing = event.team_name, "running", tr("starts")
            case events.RoundStarted():
                row.round_number, row.state, row.doing = event.round_number, "running", tr("plans")
            case events.StepDone():
                row.doing = tr(_STEPS[event.step], detail=event.detail)
            case events.RoundSubmitted():
                row.doing = tr("is scored ({length})", length=counted(event.characters, "character"))
            case events.RoundScored():
                row.doing = tr("is judged: is another round worth it?")
                self.usage += event.usage
                self.rank(event.leaderboard)
            case events.RoundJudged():
                reason = event.exit_reason
                row.doing = tr("goes on") if reason is None else tr("done: {why}", why=tr(WHY_STOPPED[reason]))
            case events.TeamDone():
                self._end(row, event)

    def _end(self, row: TeamRow, event: events.TeamDone) -> None:
        row.state = event.status
        if event.status != "completed":
            row.doing = f"{tr(event.status)}: {event.error_message or tr('no reason given')}"
        if not any(each.state in {"pending", "running"} for each in self.teams.values()):
            self.stage = tr("Making the report of the best")


_STEPS = {
    "plan": "searches ({detail})",
    "search": "reads ({detail})",
    "choose": "writes ({detail})",
    "write": "reviews its draft ({detail})",
    "review": "reviewed: {detail}",
    "graph": "runs its graph ({detail})",
}


def learned_text(event: events.Learned) -> str:
    """What changed in the playbook, and the lessons that were added or reworded, a line each."""
    head = tr(
        "playbook {dataset}, version {version}: {summary}",
        dataset=event.dataset,
        version=event.playbook_version,
        summary=event.summary,
    )
    return "\n".join([head, *(f"  {lesson}" for lesson in event.lessons)])
