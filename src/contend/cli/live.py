"""Who shows a run's events: a live view on a terminal, plain lines elsewhere, JSON lines for programs."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contend.cli.board import Board, TeamRow, learned_text
from contend.cli.invocation import COMMAND
from contend.cli.screen import facts_table, note, say, say_line, screen
from contend.cli.text import NO_MODEL, STYLE, counted, duration, models_text, plain, score_text, usage_text, winner_text
from contend.cli.words import tr
from contend.models import events
from contend.models.events import AnyEvent, Detail, RoundEvent, ShownEvent, TeamEvent

_AROUND_ROWS = 11
"""Lines of the view that are no teams."""

_MOST_OFF = 3
_THEME_LINES = 2
_MARGINS = 3
_WIDEST = 110
_REDRAWS_PER_SECOND = 8
_STEPS = {
    "plan": "planned {detail}",
    "search": "found {detail}",
    "choose": "chose {detail}",
    "write": "wrote {detail}",
    "review": "reviewed: {detail}",
    "graph": "ran {detail}",
}


@contextmanager
def view_on(board: Board) -> "Iterator[Lines | LiveView]":
    """The view that fits standard output; log lines and a live view would draw over each other."""
    console = screen()
    logs = logging.getLogger("contend").isEnabledFor(logging.INFO)
    if COMMAND.as_json or logs or not console.is_terminal:
        yield Lines(board)
        return
    view = LiveView(board, console)
    with view.live:
        yield view


class Lines:
    """Each event on a line: words, or JSON."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._reasons: dict[str, str] = {}

    def show(self, event: AnyEvent) -> None:
        self._board.apply(event)
        if COMMAND.as_json:
            say_line(event)
        elif not isinstance(event, Detail):
            say(line_of(self._short(event)))

    def _short(self, event: ShownEvent) -> ShownEvent:
        """A reason for which an earlier team failed is not told again."""
        if not isinstance(event, events.TeamDone) or not event.error_message:
            return event
        first = self._reasons.setdefault(event.error_message, event.team_id)
        return (
            event if first == event.team_id else event.model_copy(update={"error_message": tr("as {team}", team=first)})
        )

    def stopping(self) -> None:
        """The first signal came."""
        note("stopping; once more ends at once")

    def close(self) -> None:
        """A line is done when it is written."""


class LiveView:
    """Shows a board while a run goes; it leaves the screen when the run ends."""

    def __init__(self, board: Board, console: Console) -> None:
        self._board = board
        self._started = time.monotonic()
        self.live = Live(self, console=console, refresh_per_second=_REDRAWS_PER_SECOND, transient=True)

    def close(self) -> None:
        """Give the terminal back."""
        self.live.stop()

    def show(self, event: AnyEvent) -> None:
        self._board.apply(event)
        if isinstance(event, events.DocumentsLeftOut):  # it stays on the screen, which the view does not
            self.live.console.print(line_of(event), style="yellow")

    def stopping(self) -> None:
        self._board.stage = tr("Stopping; Ctrl-C again ends at once")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Drawn anew at each refresh, so that the clock goes on between events."""
        board, width = self._board, min(options.max_width, _WIDEST)
        most = max(1, console.size.height - _AROUND_ROWS)
        stage = f"{board.stage} · {duration(time.monotonic() - self._started)}"
        theme = Text(plain(board.theme) or "…", style="bold")
        theme.truncate(_THEME_LINES * (width - _MARGINS), overflow="ellipsis")
        view = Group(
            theme,
            Text(stage, style="cyan"),
            "",
            team_table(board.rows(), most=most),
            "",
            facts_table(_facts(board), no_wrap=True),
        )
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
        best = "–" if row.rank is None else score_text(row.best)
        table.add_row(
            str(row.rank or "–"),
            Text(plain(row.name), style="bold" if row.rank == 1 else ""),
            Text(best, style="bold green" if row.rank == 1 else ""),
            str(row.round_number or "–"),
            Text(plain(row.doing), style=STYLE[row.state] if row.state != "running" else ""),
        )
    if len(rows) > most:
        table.add_row("", Text(tr("and {count} more", count=len(rows) - most), style="dim"), "", "", "")
    return table


def _facts(board: Board) -> Iterator[tuple[str, str | Text]]:
    on = [name for name in board.sources if name not in board.sources_off]
    if board.models:
        yield tr("Model"), models_text(board.models)
    if on:
        yield tr("Sources"), ", ".join(on)
    for name, reason in list(board.sources_off.items())[:_MOST_OFF]:
        yield tr("Off"), Text(plain(f"{name}: {reason}"), style="yellow")
    yield tr("Used"), usage_text(board.usage)


def line_of(event: ShownEvent) -> str:
    """One line with the local time, who, and what happened."""
    who = "contend"
    if isinstance(event, TeamEvent | events.SourceOff | events.QuestionAsked):
        who = event.team_id or who
    in_round = f"{tr('round {number}', number=event.round_number)}: " if isinstance(event, RoundEvent) else ""
    return f"{event.at.astimezone():%H:%M:%S}  {plain(who):<10}  {plain(in_round + _what(event))}"


def _what(event: ShownEvent) -> str:  # noqa: C901, PLR0911, PLR0912 - a line for each event
    if isinstance(event, RoundEvent):
        return _in_round(event)
    match event:
        case events.RunStarted():
            return _start_text(event)
        case events.DocumentsRead():
            return tr("read {read} of {documents}", read=f"{event.read:,}", documents=counted(event.files, "document"))
        case events.DocumentsLeftOut():
            return tr("left out of the documents, and no part of the answer: {files}", files=_some(event.files))
        case events.TeamStarted():
            return tr("{team} starts", team=event.team_name)
        case events.TeamDone():
            return tr(event.status) + (f": {event.error_message}" if event.error_message else "")
        case events.SourceOff():
            return tr("source {source} is off from here on: {reason}", source=event.source, reason=event.reason)
        case events.WinnerPicked():
            return winner_text(event.team_id, event.score) if event.team_id else tr("no winner")
        case events.ReportMerged(published=True):
            return tr("the merged report is published ({score})", score=score_text(event.score))
        case events.ReportMerged():
            return tr("the merged report is not better than the best team's ({score})", score=score_text(event.score))
        case events.ReportPublished():
            return tr("published the report with {sources}", sources=counted(event.sources, "source"))
        case events.Learned():
            return learned_text(event)
        case events.RunDone():
            return tr(event.status)  # the outcome that follows says why
        case events.QuestionAsked():
            return f"{tr('asks a person: {what}', what=tr(event.asked))}: {event.description}"


def _some(files: list[str]) -> str:
    more = [tr("and {count} more", count=len(files) - _MOST_OFF)] if len(files) > _MOST_OFF else []
    return "; ".join([*files[:_MOST_OFF], *more])


def _start_text(event: events.RunStarted) -> str:
    off = "".join(
        "; " + tr("{source} is off ({reason})", source=name, reason=why) for name, why in event.sources_off.items()
    )
    if not event.models:
        return f"{tr(NO_MODEL)}{off}: {event.theme}"
    what = tr("{teams} on {sources}", teams=counted(len(event.teams), "team"), sources=", ".join(event.sources))
    return f"{what}{off}: {event.theme}"


def _in_round(event: RoundEvent) -> str:
    match event:
        case events.RoundStarted():
            return tr("begins")
        case events.StepDone():
            return tr(_STEPS[event.step], detail=event.detail)
        case events.RoundSubmitted():
            return tr("submitted {length}", length=counted(event.characters, "character"))
        case events.RoundScored():
            if not event.metrics:
                return tr("quotes are not scored")
            metrics = ", ".join(f"{metric.name} {score_text(metric.score)}" for metric in event.metrics)
            return f"{tr('scored {score}', score=score_text(event.score))} ({metrics}){_unsupported_text(event)}"
        case events.RoundJudged():
            return f"{tr('goes on') if event.exit_reason is None else tr('ends')}: {event.reasoning}"


def _unsupported_text(event: events.RoundScored) -> str:
    """The sentences that their sources do not say."""
    doubtful = [each for metric in event.metrics if metric.name == "citation_support" for each in metric.evidence]
    if not doubtful:
        return ""
    return "; " + tr(
        "not said by what it cites: {sentences}", sentences=" ".join(f"“{plain(each)}”" for each in doubtful)
    )
