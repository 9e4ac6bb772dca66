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
from contend.models.events import AnyEvent


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

    def show(self, event: AnyEvent) -> None:
        self._board.apply(event)
        told = json.dumps(event.model_dump(mode="json"), ensure_ascii=False) if self._as_json else line_of(event)
        say(told)
        sys.stdout.flush()

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
