"""The terminal: outside text is shown as it is, never as markup."""

import json
import os
import shlex
import sys
from collections.abc import Collection, Iterable
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console, JustifyMethod, OverflowMethod, RenderableType
from rich.table import Table
from rich.text import Text

from contend.cli.invocation import COMMAND
from contend.cli.text import plain
from contend.cli.words import tr

_PIPED_WIDTH = 160
_WIDEST = 120


def screen() -> Console:
    """Standard output. A pipe gets long lines, so that a row stays one."""
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    return Console(markup=False, highlight=False, emoji=False, width=width)


def show(view: RenderableType) -> None:
    """Print a table or text; into a pipe without the padding that fills a screen's lines."""
    console = screen()
    if console.is_terminal:
        console.print(view, width=min(console.width, _WIDEST))
        return
    with console.capture() as capture:
        console.print(view)
    say("\n".join(line.rstrip() for line in capture.get().splitlines()))


def say(message: str = "", /, **values: object) -> None:
    """A message in the reader's language, or text as it is; at once, for a pipe may lead to somebody who waits."""
    typer.echo(tr(message, **values))
    sys.stdout.flush()


def advise(*commands: str) -> None:
    """What to do next."""
    head = tr("Next")
    for number, command in enumerate(commands):
        say(f"{' ' * cell_len(head) if number else head}  {in_workspace(command)}")


def in_workspace(command: str) -> str:
    """The command with the workspace that was given, so that it finds the same runs when it is typed."""
    folder = COMMAND.workspace or os.environ.get("CONTEND_WORKSPACE")
    if not folder or not command.startswith("contend "):
        return command
    return f"{command} --workspace {shlex.quote(str(folder))}"


def note(message: str, /, **values: object) -> None:
    """As `say`, for the person who waits, also where standard output goes to a program."""
    typer.echo(tr(message, **values), err=True)


def print_json(value: object) -> bool:
    """Print a record or plain values where `--json` was given; whether it was."""
    if COMMAND.as_json:
        say(json.dumps(value, ensure_ascii=False, indent=2, default=_plain_values))
    return COMMAND.as_json


def say_line(value: object) -> None:
    """A line of JSON."""
    say(json.dumps(value, ensure_ascii=False, default=_plain_values))


def _plain_values(value: Any) -> object:  # noqa: ANN401 - a pydantic model
    return value.model_dump(mode="json")


def plain_table(*names: str, right: Collection[str] = (), fold: Collection[str] = ()) -> Table:
    """A table without lines. Columns keep to one line, unless they may `fold`; figures stand at the `right`."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        justify: JustifyMethod = "right" if name in right else "left"
        overflow: OverflowMethod = "fold" if name in fold else "ellipsis"
        table.add_column(tr(name), justify=justify, no_wrap=name not in fold, overflow=overflow)
    return table


def facts_table(facts: Iterable[tuple[str, str | Text]], *, no_wrap: bool = False) -> Table:
    """Names and values; a name that repeats is shown once."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="ellipsis" if no_wrap else "fold", no_wrap=no_wrap)
    before = ""
    for name, value in facts:
        table.add_row("" if name == before else name, value if isinstance(value, Text) else Text(plain(value)))
        before = name
    return table
