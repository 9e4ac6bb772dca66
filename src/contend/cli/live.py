"""The live view of a run: the leaderboard and what each team is at, redrawn from events."""

import time
from collections.abc import Iterator
from typing import Self

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contend.cli.board import Board, TeamRow
from contend.cli.screen import facts_table
from contend.cli.words import STYLE, duration, plain, said_models, said_usage
from contend.models.events import AnyEvent
from contend.text import shown_score

_AROUND_ROWS = 11
"""Lines of the view that are no teams."""

_MOST_OFF = 3
_THEME_LINES = 2
_MARGINS = 3
_WIDEST = 110
_REDRAWS_PER_SECOND = 8


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
        yield "Model", said_models(board.models)
    if on:
        yield "Sources", ", ".join(on)
    for name, reason in list(board.sources_off.items())[:_MOST_OFF]:
        yield "Off", Text(plain(f"{name}: {reason}"), style="yellow")
    yield "Used", said_usage(board.usage)
