"""What a run leaves on the terminal: how it ended, who won, the summary, the files, what to do next."""

import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contend.app import RunOutcome
from contend.approval import ID_SHOWN, Question, name_of
from contend.cli.board import Board, TeamRow
from contend.cli.screen import advise, plain_table, say, show
from contend.cli.text import (
    NO_MODEL,
    STATUS,
    STYLE,
    TO_SET_ONE,
    models_text,
    plain,
    score_text,
    short_path,
    usage_text,
    winner_text,
)
from contend.cli.words import input_error, tr
from contend.contest.closing import ALL_DELIVERED
from contend.models.research import ResearchReport
from contend.readiness import check_folder
from contend.report import with_shown_marks
from contend.sources.local import OWN_REPORTS
from contend.text import normalized


def show_outcome(outcome: RunOutcome, board: Board) -> None:
    """Print the end of a run."""
    if not outcome.went_on:
        status = f"{tr(outcome.status)} ({tr(plain(outcome.message))})"
        say("Nothing to do: thread {thread} is {status}.", thread=outcome.thread_id, status=status)
        _next(outcome, board)
        return
    parts: list[RenderableType] = ["", _headline(outcome, board), ""]
    if board.models:
        parts += [_table(board.rows(), outcome.message), ""]
    if outcome.report is not None:
        summary = Markdown(plain(with_shown_marks(outcome.report.executive_summary)), hyperlinks=False)
        parts += [Text(tr("Summary"), style="bold"), Padding(summary, (0, 0, 0, 2)), ""]
        parts += [] if board.models else [*_quotes(outcome.report), ""]
    if outcome.questions:
        parts += [part for question in outcome.questions for part in _question_parts(question)]
    cost = f"{models_text(board.models)} · {usage_text(outcome.usage)}"
    parts.append(Text("\n".join(filter(None, [cost, *map(plain, board.lesson.splitlines())])), style="dim"))
    show(Group(*parts))
    _next(outcome, board)


def _headline(outcome: RunOutcome, board: Board) -> Text:
    summary = outcome.summary
    status = "waiting" if outcome.questions else outcome.status
    line = Text(tr(STATUS[status]), style=f"bold {STYLE[outcome.status]}")
    if outcome.report is not None and not board.models:
        line.append(f": {tr(NO_MODEL)}", style="bold")
    elif summary is not None and summary.best_team_id is not None:
        names = {status.team_id: status.team_name for status in summary.team_statuses}
        line.append(f": {winner_text(names[summary.best_team_id], summary.best_score)}", style="bold")
    if outcome.status != "completed" or outcome.message != ALL_DELIVERED:
        line.append(f"\n{tr(plain(outcome.message))}", style="default not bold")
    for notice in outcome.notices:
        line.append(f"\n{plain(notice)}", style="yellow not bold")
    return line


def _quotes(report: ResearchReport) -> list[RenderableType]:
    """The best quote of each part: without a language model they are the answer."""
    lines = "\n".join(f"{number}. {plain(each)}" for number, each in enumerate(report.key_findings, start=1))
    return [
        Text(tr("Quotes"), style="bold"),
        Padding(Markdown(lines, hyperlinks=False), (0, 0, 0, 1)),
        Text(tr(TO_SET_ONE)),
    ]


def _table(rows: list[TeamRow], message: str) -> Table:
    table = plain_table("#", "Team", "Best", "Rounds", "End", right={"#", "Best", "Rounds"}, fold={"End"})
    for row in rows:
        best = "–" if row.rank is None else score_text(row.best)
        state = tr(row.state)
        is_in_message = row.doing.removeprefix(f"{state}: ") in message
        end = Text(state if is_in_message else plain(row.doing), style=STYLE[row.state])
        table.add_row(str(row.rank or "–"), Text(plain(row.name)), best, str(row.round_number or "–"), end)
    return table


def _next(outcome: RunOutcome, board: Board) -> None:
    """What to do next and, last of all, where the report lies."""
    if outcome.questions:
        advise(*next_steps(outcome.thread_id, outcome.questions))
    elif outcome.report is not None:
        taught = [f"contend playbook show {board.taught}"] if board.taught else []
        advise(f"contend report {outcome.thread_id}", f"contend leaderboard {outcome.thread_id}", *taught)
    elif outcome.status == "failed":
        advise(f"contend status {outcome.thread_id}", "contend doctor")
    else:
        advise(f"contend resume {outcome.thread_id}")
    if outcome.files:
        say("Report  {file}", file=plain(short_path(outcome.files[0])))


def next_steps(thread_id: str, questions: Sequence[Question]) -> list[str]:
    """The commands that answer."""
    if len(questions) == 1:
        return [f"contend resume {thread_id} {option}" for option in ("--approve", "--edit FILE", '--reject "WHY"')]
    answers = " ".join(f"--answer {name_of(question, questions)}=approve" for question in questions)
    return [f"contend resume {thread_id} --approve", f"contend resume {thread_id} {answers}"]


def _question_parts(question: Question) -> list[RenderableType]:
    name = question.id[:ID_SHOWN]
    head = Text(f"{name}  {plain(question.description)}", style="bold")
    parts: list[RenderableType] = [head]
    for field, value in question.args.items():
        if not value:
            continue
        lines = [f"- {plain(_line(item))}" for item in value] if isinstance(value, list) else [plain(str(value))]
        parts.append(Padding(Text("\n".join([f"{field}:", *lines]), overflow="fold"), (0, 0, 0, 2)))
    return [*parts, ""]


def _line(item: object) -> str:
    if isinstance(item, Mapping):
        return "; ".join(f"{name}: {value}" for name, value in item.items() if value)
    return str(item)


FILES = ("report.md", "report.html", "report.json")
_SLUG_CHARACTERS = 40
_WORD = re.compile(r"[^\W_]+")


def check_out(folder: Path | None, own: Path | None = None) -> Path | None:
    """The folder for a run's files, made sure of before anything is spent. `own` holds those that the run has already.

    Raises:
        InputError: it cannot be written or made, or holds the report of another run.
    """
    if folder is None:
        return None
    path = folder.expanduser().absolute()
    check_folder(path, "--out")
    for name in FILES:
        if (path / name).exists() and not (own and _same(path / name, own / name)):
            raise input_error("--out {folder}: {file} of another run is there: name another folder, or move it away",
                              folder=folder, file=name)  # fmt: skip
    return path


def leave_files(files: Sequence[str], out: Path | None, theme: str) -> list[str]:
    """Copy a report's files into the folder, or into `contend-results/SLUG`, numbered where another run's is there.

    Where nothing was named and that folder cannot be written, the files stay where they are.

    Raises:
        InputError: the folder that was named cannot be written.
    """
    if not files:
        return []
    try:
        folder = out or _own_folder(theme, Path(files[0]).with_name("report.json"))
        folder.mkdir(parents=True, exist_ok=True)
        return [_copied(Path(file), folder) for file in files]
    except OSError as error:
        if out is None:
            return list(files)
        place = Path(files[0]).parent
        raise input_error(
            "--out {folder}: {why}; the report is in {place}", folder=out, why=error.strerror, place=place
        ) from error


def _copied(file: Path, folder: Path) -> str:
    """Whole or not at all: half a report would be taken for another run's."""
    temporary = folder / f".{file.name}.tmp"
    try:
        shutil.copy2(file, temporary)
        return str(temporary.replace(folder / file.name))
    finally:
        temporary.unlink(missing_ok=True)


def _own_folder(theme: str, report: Path) -> Path:
    """A new folder, or the one that holds this very report."""
    name = Path.cwd() / OWN_REPORTS / (slug(theme) or report.parent.name)
    folder, number = name, 1
    while not _same(folder / report.name, report):
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
            break
        number += 1
        folder = name.with_name(f"{name.name}-{number}")
    return folder


def slug(theme: str) -> str:
    """A question as a folder's name: its first words in lower case, joined by hyphens; "" for one without letters."""
    words = "-".join(_WORD.findall(normalized(theme).lower()))
    if len(words) <= _SLUG_CHARACTERS:
        return words
    whole, _, _ = words[: _SLUG_CHARACTERS + 1].rpartition("-")
    return whole or words[:_SLUG_CHARACTERS]


def _same(one: Path, other: Path) -> bool:
    try:
        return one.read_bytes() == other.read_bytes()
    except OSError:
        return False
