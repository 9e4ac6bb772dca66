"""Who shows a run's events: a live view on a terminal, plain lines elsewhere, JSON lines for programs."""

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, Self

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contend.cli.board import Board, TeamRow
from contend.cli.screen import facts_table, note, say, screen
from contend.cli.text import NO_MODEL, STYLE, counted, duration, models_text, plain, usage_text, winner_text
from contend.models.events import (
    AnyEvent,
    Detail,
    DocumentsRead,
    Learned,
    QuestionAsked,
    ReportMerged,
    ReportPublished,
    RoundJudged,
    RoundScored,
    RoundStarted,
    RoundSubmitted,
    RunDone,
    RunStarted,
    SourceOff,
    StepDone,
    TeamDone,
    TeamStarted,
    Told,
    WinnerPicked,
)
from contend.text import shown_score

_AROUND_ROWS = 11
"""Lines of the view that are no teams."""

_MOST_OFF = 3
_THEME_LINES = 2
_MARGINS = 3
_WIDEST = 110
_REDRAWS_PER_SECOND = 8
_STEPS = {"plan": "planned", "search": "found", "choose": "chose", "write": "wrote", "review": "reviewed:"}


class View(Protocol):
    """What a run is shown on."""

    def show(self, event: AnyEvent) -> None: ...

    def stopping(self) -> None:
        """The first signal came."""
        ...

    def close(self) -> None:
        """Give the terminal back."""
        ...


@contextmanager
def view_on(board: Board, *, as_json: bool) -> Iterator[View]:
    """The view that fits standard output; log lines and a live view would draw over each other."""
    console = screen()
    logs = logging.getLogger("contend").isEnabledFor(logging.INFO)
    if as_json or logs or not console.is_terminal:
        yield Lines(board, as_json=as_json)
        return
    with LiveView(board, console) as view:
        yield view


class Lines:
    """Each event on a line: words, or JSON."""

    def __init__(self, board: Board, *, as_json: bool) -> None:
        self._board = board
        self._as_json = as_json
        self._reasons: dict[str, str] = {}

    def show(self, event: AnyEvent) -> None:
        if not isinstance(event, Detail):
            self._board.apply(event)
        if self._as_json:
            say(json.dumps(event.model_dump(mode="json"), ensure_ascii=False))
        elif not isinstance(event, Detail):
            say(line_of(self._short(event)))
        sys.stdout.flush()

    def _short(self, event: Told) -> Told:
        """A reason for which an earlier team failed is not told again."""
        if not isinstance(event, TeamDone) or not event.error_message:
            return event
        first = self._reasons.setdefault(event.error_message, event.team_id)
        return event if first == event.team_id else event.model_copy(update={"error_message": f"as {first}"})

    def stopping(self) -> None:
        note("stopping; once more ends at once")

    def close(self) -> None:
        """A line is done when it is written."""


class LiveView:
    """Shows a board while a run goes; it leaves the screen when the run ends."""

    def __init__(self, board: Board, console: Console) -> None:
        self._board = board
        self._started = time.monotonic()
        self._live = Live(self, console=console, refresh_per_second=_REDRAWS_PER_SECOND, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._live.stop()

    def show(self, event: AnyEvent) -> None:
        if not isinstance(event, Detail):
            self._board.apply(event)

    def stopping(self) -> None:
        self._board.stage = "Stopping; Ctrl-C again ends at once"

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
    table.add_column("Team", no_wrap=True, overflow="ellipsis", max_width=20)
    table.add_column("Best", justify="right", width=8)
    table.add_column("Round", justify="right", width=5)
    table.add_column("Now", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows[:most]:
        best = "–" if row.rank is None else shown_score(row.best)
        table.add_row(
            str(row.rank or "–"),
            Text(plain(row.name), style="bold" if row.rank == 1 else ""),
            Text(best, style="bold green" if row.rank == 1 else ""),
            str(row.round_number or "–"),
            Text(plain(row.doing), style=STYLE[row.state] if row.state != "running" else ""),
        )
    if len(rows) > most:
        table.add_row("", Text(f"and {len(rows) - most} more", style="dim"), "", "", "")
    return table


def _facts(board: Board) -> Iterator[tuple[str, str | Text]]:
    on = [name for name in board.sources if name not in board.sources_off]
    if board.models:
        yield "Model", models_text(board.models)
    if on:
        yield "Sources", ", ".join(on)
    for name, reason in list(board.sources_off.items())[:_MOST_OFF]:
        yield "Off", Text(plain(f"{name}: {reason}"), style="yellow")
    yield "Used", usage_text(board.usage)


def line_of(event: Told) -> str:
    """One line with the local time, who, and what happened."""
    who, what = _who_and_what(event)
    return f"{event.at.astimezone():%H:%M:%S}  {plain(who):<10}  {plain(what)}"


def _who_and_what(event: Told) -> tuple[str, str]:
    match event:
        case TeamStarted() | TeamDone() | SourceOff():
            return event.team_id, _of_team(event)
        case RoundStarted() | StepDone() | RoundSubmitted() | RoundScored() | RoundJudged():
            return event.team_id, f"round {event.round_number}: {_in_round(event)}"
        case QuestionAsked():
            return event.team_id or "contend", f"asks a person ({event.asked}): {event.description}"
        case _:
            return "contend", _of_run(event)


def _of_run(
    event: RunStarted | DocumentsRead | WinnerPicked | ReportMerged | ReportPublished | Learned | RunDone,
) -> str:
    match event:
        case RunStarted():
            off = "".join(f"; {name} is off ({reason})" for name, reason in event.sources_off.items())
            what = f"{counted(len(event.teams), 'team')} on {', '.join(event.sources)}" if event.models else NO_MODEL
            return f"{what}{off}: {event.theme}"
        case DocumentsRead():
            return f"read {event.read:,} of {counted(event.files, 'document')}"
        case WinnerPicked():
            return winner_text(event.team_id, event.score) if event.team_id else "no winner"
        case ReportMerged() | ReportPublished():
            return _of_report(event)
        case Learned():
            return f"playbook {event.dataset}, version {event.playbook_version}: {event.summary}"
        case RunDone():
            return event.status  # the outcome that follows says why


def _of_report(event: ReportMerged | ReportPublished) -> str:
    if isinstance(event, ReportPublished):
        return f"published the report with {counted(event.sources, 'source')}"
    fate = "is published" if event.published else "is not better than the best team's"
    return f"the merged report {fate} ({shown_score(event.score)})"


def _of_team(event: TeamStarted | TeamDone | SourceOff) -> str:
    match event:
        case TeamStarted():
            return f"{event.team_name} starts"
        case TeamDone():
            return event.status + (f": {event.error_message}" if event.error_message else "")
        case SourceOff():
            return f"source {event.source} is off from here on: {event.reason}"


def _in_round(event: RoundStarted | StepDone | RoundSubmitted | RoundScored | RoundJudged) -> str:
    match event:
        case RoundStarted():
            return "begins"
        case StepDone():
            return f"{_STEPS[event.step]} {event.detail}"
        case RoundSubmitted():
            return f"submitted {counted(event.characters, 'character')}"
        case RoundScored():
            if not event.metrics:
                return "quotes are not scored"
            metrics = ", ".join(f"{metric.name} {shown_score(metric.score)}" for metric in event.metrics)
            return f"scored {shown_score(event.score)} ({metrics}){_unsupported(event)}"
        case RoundJudged():
            return f"{'goes on' if event.exit_reason is None else 'ends'}: {event.reasoning}"


def _unsupported(event: RoundScored) -> str:
    """The sentences that their sources do not say."""
    doubtful = [said for metric in event.metrics if metric.name == "citation_support" for said in metric.evidence]
    return f"; not said by what it cites: {' '.join(f'“{plain(said)}”' for said in doubtful)}" if doubtful else ""
