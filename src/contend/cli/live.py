"""What a run's events tell, and who shows it: a live view on a terminal, plain lines elsewhere, JSON for programs."""

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contend.cli import COMMAND, tr, ui
from contend.models import events
from contend.models.events import AnyEvent, Detail, RoundEvent, ShownEvent, TeamEvent
from contend.models.round import LeaderboardEntry
from contend.models.task import RunUsage, TeamStage
from contend.stored_runs import StoredRun, is_waiting
from contend.text import shorten


@dataclass
class TeamRow:
    """One team's line. `best` and the `scores` by round are 0.0 to 1.0; `doing` says what it is at."""

    team_id: str
    name: str
    rank: int | None = None
    best: float | None = None
    round_number: int = 0
    doing: str = field(default_factory=lambda: tr("not begun"))
    state: TeamStage = "pending"
    scores: dict[int, float | None] = field(default_factory=dict)

    def cells(self) -> tuple[str, Text, str, str]:
        """Rank, name, best score, round."""
        best = "–" if self.rank is None else ui.score_text(self.best)
        return str(self.rank or "–"), Text(ui.plain(self.name)), best, str(self.round_number or "–")


@dataclass
class Board:
    """A fold over events; nothing else is known of the run. `reason`: why the depth `auto` went on as it did."""

    theme: str = ""
    teams: dict[str, TeamRow] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    sources_off: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    usage: RunUsage = field(default_factory=RunUsage)
    stage: str = field(default_factory=lambda: tr("Opening"))
    learned: events.Learned | None = None
    merge: events.ReportMerged | None = None
    reason: str = ""
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

    def apply(self, event: AnyEvent) -> None:  # noqa: C901, PLR0912 - a line for each event
        self.began = True
        self.usage = event.spent or self.usage
        match event:
            case events.RunStarted():
                self._start(event)
            case events.CriteriaSet():
                self.stage = tr("Competing")
            case events.DocumentsRead():
                documents, files = f"{event.read:,}", f"{event.files:,}"
                self.stage = tr("Reading documents: {read} of {files}", read=documents, files=files)
            case events.StepChosen():
                self.reason = event.reason
                for team_id in event.teams:
                    self.team(team_id)
            case events.WinnerPicked():
                self.rank(event.leaderboard)
                self.stage = _publishing_text(event)
            case events.ReportMerged():
                self.stage, self.merge = tr("Publishing the report"), event
            case events.ReportPublished():
                self.stage = tr("Learning from the run")
            case events.Learned():
                self.learned = event
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
        self.stage = tr("Setting the criteria") if event.models else tr("Competing")
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
                is_last = event.step in {"plan", "research"} and not event.actions
                row.doing = tr("writes ({detail})" if is_last else _NOW[event.step], detail=event.detail)
            case events.RoundSubmitted():
                row.doing = tr("is scored ({length})", length=ui.counted(event.characters, "character"))
            case events.RoundScored():
                row.doing = tr("is judged: is another round worth it?")
                row.scores[event.round_number] = event.score
                self.rank(event.leaderboard)
            case events.RoundJudged():
                reason = event.exit_reason
                row.doing = tr("goes on") if reason is None else tr("done: {why}", why=tr(ui.STOP_REASONS[reason]))
            case events.TeamDone():
                self._end(row, event)

    def _end(self, row: TeamRow, event: events.TeamDone) -> None:
        row.state = event.status
        if event.status != "completed":
            row.doing = f"{tr(event.status)}: {event.error_message or tr('no reason given')}"
        if not any(each.state in {"pending", "running"} for each in self.teams.values()):
            self.stage = tr("Making the report of the best")


_NOW = {
    "plan": "searches ({detail})",
    "search": "reads ({detail})",
    "research": "looks further ({detail})",
    "write": "reviews its draft ({detail})",
    "review": "reviewed: {detail}",
    "graph": "runs its graph ({detail})",
}


def _publishing_text(event: events.WinnerPicked) -> str:
    if event.published != "editor":
        return tr("Publishing the report")
    return tr("Publishing the editor's merge ({score})", score=ui.score_text(event.published_score))


def board_of(run: StoredRun) -> Board:
    """What the record knows of a run: events tell only what comes from now on."""
    board = Board(run.execution.theme, models=run.execution.models, usage=run.usage, stage=tr("Going on"), began=True)
    for status in run.teams:
        row, reason = board.team(status.team_id), run.exit_reasons.get(status.team_id)
        row.name, row.state, row.doing = status.team_name, status.status, tr(status.status)
        if status.error_message:
            row.doing += f": {status.error_message}"
        elif status.status == "running" and run.status == "interrupted":  # in a run that stopped no team runs
            row.doing = tr("waiting" if is_waiting(run.execution) else "stopped")
        elif reason is not None:
            row.doing = tr("done: {why}", why=tr(ui.STOP_REASONS[reason]))
    for played in run.rounds:
        if played.evaluated_at is not None:
            board.team(played.team_id).scores[played.round_number] = played.score
    board.rank(run.leaderboard)
    return board


def learned_text(event: events.Learned) -> str:
    """What changed in the playbook."""
    return tr(
        "playbook {dataset}, version {version}: {summary}",
        dataset=event.dataset,
        version=event.playbook_version,
        summary=ui.summary_text(event.summary),
    )


_AROUND_ROWS = 11
"""Lines of the view that are no teams."""

_MOST_OFF = 3
_THEME_LINES = 2
_THEME_CHARACTERS = 160
"""Of a question in a line of the log."""
_MARGINS = 3
_WIDEST = 110
_REDRAWS_PER_SECOND = 8
_STEPS = {
    "plan": "planned {detail}",
    "search": "found {detail}",
    "research": "researched: {detail}",
    "write": "wrote {detail}",
    "review": "reviewed: {detail}",
    "graph": "ran {detail}",
}


@contextmanager
def view_on(board: Board) -> "Iterator[LineView | LiveView]":
    """The view that fits standard output; log lines and a live view would draw over each other."""
    console = ui.screen()
    logs = logging.getLogger("contend").isEnabledFor(logging.INFO)
    if COMMAND.as_json or logs or not console.is_terminal:
        yield LineView(board)
        return
    view = LiveView(board, console)
    with view.live:
        yield view


class LineView:
    """Each event on a line: words, or JSON."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._reasons: dict[str, str] = {}

    def show(self, event: AnyEvent) -> None:
        self._board.apply(event)
        if COMMAND.as_json:
            ui.say_line(event)
        elif not isinstance(event, Detail):
            ui.say(line_of(self._short(event)))

    def _short(self, event: ShownEvent) -> ShownEvent:
        """A reason for which an earlier team failed is not told again."""
        if not isinstance(event, events.TeamDone) or not event.error_message:
            return event
        first = self._reasons.setdefault(event.error_message, event.team_id)
        as_first = event.model_copy(update={"error_message": tr("as {team}", team=first)})
        return event if first == event.team_id else as_first

    def stopping(self) -> None:
        """The first signal came."""
        ui.note("stopping; once more ends at once")

    def close(self) -> None:
        """A line is done when it is written."""


class LiveView:
    """Shows a board while a run goes; it leaves the screen when the run ends."""

    def __init__(self, board: Board, console: Console) -> None:
        self._board = board
        self._began = time.monotonic()
        self.live = Live(self, console=console, refresh_per_second=_REDRAWS_PER_SECOND, transient=True)

    def close(self) -> None:
        """Give the terminal back."""
        self.live.stop()

    def show(self, event: AnyEvent) -> None:
        self._board.apply(event)
        # These stay on the screen, which the view does not.
        if isinstance(event, events.DocumentsLeftOut):
            self.live.console.print(line_of(event), style="yellow")
        elif isinstance(event, events.StepChosen):
            self.live.console.print(line_of(event))

    def stopping(self) -> None:
        self._board.stage = tr("Stopping; Ctrl-C again ends at once")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Drawn anew at each refresh, so that the clock goes on between events."""
        board, width = self._board, min(options.max_width, _WIDEST)
        most = max(1, console.size.height - _AROUND_ROWS)
        stage = f"{board.stage} · {ui.duration(time.monotonic() - self._began)}"
        theme = Text(ui.plain(board.theme) or "…", style="bold")
        theme.truncate(_THEME_LINES * (width - _MARGINS), overflow="ellipsis")
        teams, facts = team_table(board.rows(), most=most), ui.facts_table(_facts(board), no_wrap=True)
        view = Group(theme, Text(stage, style="cyan"), "", teams, "", facts)
        yield from console.render(Padding(view, (1, 1, 0, 1)), options.update(width=width))


def team_table(rows: list[TeamRow], *, most: int) -> Table:
    """Rank, team, best score, round, what it is at; at most `most` teams."""
    table = Table(box=None, expand=True, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("#", justify="right", width=2)
    table.add_column(tr("Team"), no_wrap=True, overflow="ellipsis", max_width=20)
    table.add_column(tr("Best"), justify="right", width=8)
    table.add_column(tr("Round"), justify="right", width=5)
    table.add_column(tr("Now"), no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows[:most]:
        rank, name, best, number = row.cells()
        name.style, color = ("bold", "bold green") if row.rank == 1 else ("", "")
        doing = Text(ui.plain(row.doing), style=ui.STYLE[row.state] if row.state != "running" else "")
        table.add_row(rank, name, Text(best, style=color), number, doing)
    if len(rows) > most:
        table.add_row("", Text(tr("and {count} more", count=len(rows) - most), style="dim"), "", "", "")
    return table


def _facts(board: Board) -> Iterator[tuple[str, str | Text]]:
    on = [name for name in board.sources if name not in board.sources_off]
    if board.models:
        yield tr("Model"), ui.models_text(board.models)
    if on:
        yield tr("Sources"), ", ".join(on)
    for name, reason in list(board.sources_off.items())[:_MOST_OFF]:
        yield tr("Off"), Text(ui.plain(f"{name}: {reason}"), style="yellow")
    yield tr("Used"), ui.usage_text(board.usage)


def line_of(event: ShownEvent) -> str:
    """One line with the local time, who, and what happened."""
    who = "contend"
    if isinstance(event, TeamEvent | events.SourceOff | events.QuestionAsked):
        who = event.team_id or who
    in_round = f"{tr('round {number}', number=event.round_number)}: " if isinstance(event, RoundEvent) else ""
    return f"{event.at.astimezone():%H:%M:%S}  {ui.plain(who):<10}  {ui.plain(in_round + _what(event))}"


def _what(event: ShownEvent) -> str:  # noqa: C901, PLR0911, PLR0912 - a line for each event
    score = ui.score_text(getattr(event, "score", None))
    match event:
        case events.RoundStarted():
            return tr("begins")
        case events.StepDone():
            return tr(_STEPS[event.step], detail=tr(event.detail))
        case events.RoundSubmitted():
            return tr("submitted {length}", length=ui.counted(event.characters, "character"))
        case events.RoundScored():
            if not event.metrics:
                return tr("a search is not scored")
            metrics = ", ".join(f"{metric.name} {ui.score_text(metric.score)}" for metric in event.metrics)
            return f"{tr('scored {score}', score=score)} ({metrics}){_unsupported_text(event)}"
        case events.RoundJudged():
            return f"{tr('goes on') if event.exit_reason is None else tr('ends')}: {_decision_text(event)}"
        case events.RunStarted():
            return _start_text(event)
        case events.DocumentsRead():
            files = ui.counted(event.files, "document")
            return tr("read {read} of {documents}", read=f"{event.read:,}", documents=files)
        case events.DocumentsLeftOut():
            return tr("left out of the documents, and no part of the answer: {files}", files=_first_few(event.files))
        case events.TeamStarted():
            return tr("{team} starts", team=event.team_name)
        case events.TeamDone():
            return tr(event.status) + (f": {event.error_message}" if event.error_message else "")
        case events.SourceOff():
            return tr("source {source} is off from here on: {reason}", source=event.source, reason=event.reason)
        case events.StepChosen():
            return event.reason
        case events.WinnerPicked():
            return ui.outcome_text(event.team_id, event.score, event) if event.team_id else tr("no winner")
        case events.ReportMerged(published=True):
            return tr("the merged report is chosen ({score})", score=score)
        case events.ReportMerged(reports=0):
            return tr("the reports are not merged") + (f": {event.failure}" if event.failure else "")
        case events.ReportMerged() if event.score is not None and event.score >= (event.best_score or 0.0):
            return tr("judges prefer the best team's report to the merged one ({score})", score=score)
        case events.ReportMerged():
            return tr("the merged report is not better than the best team's ({score})", score=score)
        case events.ReportPublished():
            merged = "published the editor's merge with {sources}"
            text = merged if event.published == "editor" else "published the report with {sources}"
            return tr(text, sources=ui.counted(event.sources, "source"))
        case events.Learned():
            return learned_text(event)
        case events.RunDone():
            return tr(event.status)  # the outcome that follows says why
        case events.QuestionAsked():
            return f"{tr('asks a person: {what}', what=tr(event.asked))}: {event.description}"


def _decision_text(event: events.RoundJudged) -> str:
    """Why it goes on and a judge's words, which are in the run's language, or the rule that stopped it."""
    return event.reasoning if event.exit_reason in {None, "judge"} else tr(ui.STOP_REASONS[event.exit_reason])


def _first_few(files: list[str]) -> str:
    more = [tr("and {count} more", count=len(files) - _MOST_OFF)] if len(files) > _MOST_OFF else []
    return "; ".join([*files[:_MOST_OFF], *more])


def _start_text(event: events.RunStarted) -> str:
    sources_off = event.sources_off.items()
    off = "".join("; " + tr("{source} is off ({reason})", source=name, reason=why) for name, why in sources_off)
    theme = shorten(event.theme, _THEME_CHARACTERS)
    if not event.models:
        return f"{tr(ui.NO_MODEL)}{off}: {theme}"
    what = tr("{teams} on {sources}", teams=ui.counted(len(event.teams), "team"), sources=", ".join(event.sources))
    return f"{what}{off}: {theme}"


def _unsupported_text(event: events.RoundScored) -> str:
    """The sentences that their sources do not say."""
    doubtful = [each for metric in event.metrics if metric.name == "citation_support" for each in metric.evidence]
    if not doubtful:
        return ""
    sentences = " ".join(tr("“{text}”", text=ui.plain(each)) for each in doubtful)
    return "; " + tr("not said by what it cites: {sentences}", sentences=sentences)
