"""Who shows a run's events: a live view on a terminal, plain lines elsewhere, JSON lines for programs."""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from contend.cli.board import Board
from contend.cli.lines import line_of
from contend.cli.screen import note, say, screen
from contend.models.events import AnyEvent, TeamDone


class View(Protocol):
    """What a run is shown on."""

    def show(self, event: AnyEvent) -> None: ...

    def stopping(self) -> None:
        """The first signal came."""
        ...

    def close(self) -> None:
        """Give the terminal back."""
        ...


class Lines:
    """Each event on a line: words, or JSON."""

    def __init__(self, board: Board, *, as_json: bool) -> None:
        self._board = board
        self._as_json = as_json
        self._reasons: dict[str, str] = {}

    def show(self, event: AnyEvent) -> None:
        self._board.apply(event)
        if self._as_json:
            say(json.dumps(event.model_dump(mode="json"), ensure_ascii=False))
        else:
            say(line_of(self._short(event)))
        sys.stdout.flush()

    def _short(self, event: AnyEvent) -> AnyEvent:
        """A reason for which an earlier team failed is not told again."""
        if not isinstance(event, TeamDone) or not event.error_message:
            return event
        first = self._reasons.setdefault(event.error_message, event.team_id)
        return event if first == event.team_id else event.model_copy(update={"error_message": f"as {first}"})

    def stopping(self) -> None:
        note("stopping; once more ends at once")

    def close(self) -> None:
        """A line is done when it is written."""


@contextmanager
def view_on(board: Board, *, as_json: bool) -> Iterator[View]:
    """The view that fits standard output; log lines and a live view would draw over each other."""
    console = screen()
    logs = logging.getLogger("contend").isEnabledFor(logging.INFO)
    if as_json or logs or not console.is_terminal:
        yield Lines(board, as_json=as_json)
        return
    from contend.cli.live import LiveView

    with LiveView(board, console) as view:
        yield view
