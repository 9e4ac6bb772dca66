"""How things are said and shown on a terminal: scores, money, times, tables.

Outside text stands on one line, without control characters, and is never read as markup.
"""

import errno
import json
import os
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.cells import cell_len
from rich.console import Console, JustifyMethod, OverflowMethod, RenderableType
from rich.table import Table
from rich.text import Text

from contend.cli import COMMAND, input_error, is_japanese, tr
from contend.models.round import ExitReason
from contend.models.task import Publication, RunUsage
from contend.text import clean, shown_score

STOP_REASONS: Mapping[ExitReason, str] = {
    "max_tokens": "the tokens are used up",
    "max_usd": "the money is used up",
    "max_minutes": "the minutes are used up",
    "max_calls": "the calls are used up",
    "deadline": "its time is over",
    "max_rounds": "all rounds played",
    "target_score": "target score reached",
    "criteria_met": "nothing is left to mend",
    "plateau": "no gain any more",
    "budget_reserve": "the budget's reserve is reached",
    "judge": "the judge sees no gain in another round",
    "one_round": "a search has one round",
    "failed": "failed",
}
STATUS: Mapping[str, str] = {
    "running": "Running",
    "completed": "Completed",
    "partial": "Partly done",
    "failed": "Failed",
    "interrupted": "Stopped",
    "waiting": "Waiting",
}
STYLE: Mapping[str, str] = {
    "running": "cyan",
    "completed": "green",
    "partial": "yellow",
    "failed": "red",
    "timeout": "red",
    "interrupted": "yellow",
    "pending": "dim",
}
NO_MODEL = "a search of your documents; no language model"
TO_SET_ONE = "Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, and teams compete for a report."
_MINUTE = 60
_REMEDIES = {
    errno.ENOSPC: "free disk space",
    errno.EDQUOT: "free disk space",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.EROFS: "name another folder, or make it writable",
}


def plain(text: str) -> str:
    """Outside text on one line, without what a terminal would obey."""
    return clean(text, single_line=True)


def short_path(path: str) -> str:
    """From the folder where the command was given, where it lies below."""
    return str(Path(path).relative_to(Path.cwd())) if Path(path).is_relative_to(Path.cwd()) else path


def score_text(score: float | None) -> str:
    return shown_score(score, "ja" if is_japanese() else "en")


def winner_text(name: str, score: float | None) -> str:
    """Who comes first; without a score nobody has won."""
    if score is None:
        return tr("{name} comes first, unscored", name=plain(name))
    return tr("{name} wins with {score}", name=plain(name), score=score_text(score))


def outcome_text(name: str, score: float | None, publication: Publication) -> str:
    """Whose report is published, where it is the editor's; and the best team."""
    if publication.published != "editor":
        return winner_text(name, score)
    merged = score_text(publication.published_score)
    return tr("Published: editor's merge {merged}; best team {name} {score}",
              merged=merged, name=plain(name), score=score_text(score))  # fmt: skip


def usage_text(usage: RunUsage) -> str:
    """Calls, tokens and cost."""
    if not usage.requests:
        return tr("no model calls")
    cost = tr("cost unknown") if usage.cost_usd is None else f"${usage.cost_usd:,.4f}"
    tokens = counted(usage.input_tokens + usage.output_tokens, "token")
    cached = tr("{share} of the input cached", share=f"{usage.cached_share:.0%}") if usage.cached_tokens else ""
    return " · ".join(filter(None, (counted(usage.requests, "model call"), tokens, cached, cost)))


def models_text(models: Mapping[str, str]) -> str:
    """The models by role; one word where all roles share one; where their replies are recorded ones, since when."""
    if replies := models.get("replies"):
        return tr("model replies: {replies}", replies=plain(replies))
    names = set(models.values())
    if not names:
        return tr(NO_MODEL)
    if len(names) == 1:
        return plain(names.pop())
    return ", ".join(f"{role} {plain(name)}" for role, name in models.items())


def duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), _MINUTE)
    return f"{minutes}:{rest:02d}"


def counted(number: int, thing: str) -> str:
    """The number with what is counted, in English by its plural."""
    if is_japanese():
        return tr(f"{{count}} {thing}", count=f"{number:,}")
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


_ENGLISH_TEMPLATES = (
    "imported from {what}",
    "rolled back to version {what}",
    "{count} added",
    "{count} edited",
    "{count} removed",
    "{count} updated",
    "{count} retired",
    "{count} rated",
    "{count} skipped",
)


def translate_stored(words: str) -> str:
    """Why a version was made or what a change did, which is kept in English, in the reader's language."""
    for template in _ENGLISH_TEMPLATES:
        if match := re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>.+)", template), words):
            return tr(template, **match.groupdict())
    return tr(words)


def summary_text(words: str) -> str:
    """What learning from a run did to a playbook, which is kept in English, in the reader's language."""
    return ", ".join(map(translate_stored, words.split(", ")))


def system_fault(error: OSError) -> str:
    """What the operating system refused, of which file where it says so, and what to do."""
    what = error.filename or tr("an output or file")
    remedy = tr(_REMEDIES.get(error.errno or 0, "mend its rights or its path"))
    return f"{what}: {error.strerror or error}: {remedy}"


Cell = str | Text | tuple[str, str]
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
    """The command with the workspace that was given, so that it finds the same runs when it is typed.

    One that names a workspace keeps it.
    """
    folder = COMMAND.workspace or os.environ.get("CONTEND_WORKSPACE")
    if not folder or not command.startswith("contend ") or " --workspace " in command:
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


def plain_table(
    *names: str, rows: Iterable[Sequence[Cell]] = (), right: Collection[str] = (), fold: Collection[str] = ()
) -> Table:
    """A table without lines. Columns keep to one line, unless they may `fold`; figures stand at the `right`.

    A cell is outside text, also with its style, or text that is ready.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        justify: JustifyMethod = "right" if name in right else "left"
        overflow: OverflowMethod = "fold" if name in fold else "ellipsis"
        table.add_column(tr(name), justify=justify, no_wrap=name not in fold, overflow=overflow)
    for row in rows:
        table.add_row(*map(_text_of, row))
    return table


def _text_of(cell: Cell) -> Text:
    if isinstance(cell, Text):
        return cell
    text, style = (cell, "") if isinstance(cell, str) else cell
    return Text(plain(text), style=style)


def facts_table(facts: Iterable[tuple[str, Cell]], *, no_wrap: bool = False) -> Table:
    """Names and values; a name that repeats is shown once."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="ellipsis" if no_wrap else "fold", no_wrap=no_wrap)
    before = ""
    for name, value in facts:
        table.add_row("" if name == before else name, _text_of(value))
        before = name
    return table


def hanging(mark: str, text: Text) -> Table:
    """Text that wraps behind its mark, word by word."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(mark, text)
    return table


def say_item(mark: str, text: str) -> None:
    """Outside text behind its mark: on a screen it wraps word by word, in a pipe it stays one line."""
    if screen().is_terminal:
        show(hanging(mark, Text(plain(text))))
    else:
        say(f"{mark} {plain(text)}")


def file_text(path: Path, option: str = "") -> str:
    """The text of a file that a command was given, as the value of an option where one is named.

    Raises:
        InputError: it cannot be read, or is no UTF-8.
    """
    try:
        return path.expanduser().read_text("utf-8-sig")
    except OSError as error:
        raise input_error("{file}: cannot be read: {why}", file=f"{option}{path}", why=error.strerror) from error
    except UnicodeDecodeError as error:
        raise input_error("{file}: not UTF-8 text: save it as UTF-8", file=f"{option}{path}") from error
