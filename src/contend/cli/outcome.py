"""What a run leaves on the terminal: how it ended, who won, the summary, the files, what to do next."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from contend.app import RunOutcome
from contend.approval import ID_CHARACTERS, Question, name_of
from contend.cli import input_error, tr, ui
from contend.cli.chart import ends_table, why_text
from contend.cli.live import Board, learned_text
from contend.contest.closing import NO_FAILURE
from contend.errors import StoreUnwritable
from contend.models.research import ResearchReport
from contend.readiness import check_folder
from contend.report import with_joined_marks
from contend.sources.local import OWN_REPORTS
from contend.stores import resume_command, write_file
from contend.stores.leases import thread_argument
from contend.text import clean, normalize


def show_outcome(outcome: RunOutcome, board: Board) -> None:
    """Print the end of a run."""
    if not outcome.went_on:
        status = f"{tr(outcome.status)} ({tr(ui.plain(outcome.message))})"
        ui.say("Nothing to do: thread {thread} is {status}.", thread=outcome.thread_id, status=status)
        _next(outcome, board)
        return
    parts: list[RenderableType] = ["", _headline(outcome, board), *_why(outcome, board), ""]
    if board.models:
        parts += [ends_table(board, outcome.message), ""]
    if outcome.report is not None:
        summary = Markdown(ui.plain(with_joined_marks(outcome.report.executive_summary)), hyperlinks=False)
        parts += [Text(tr("Summary"), style="bold"), Padding(summary, (0, 0, 0, 2)), ""]
        parts += [] if board.models else [*_passages(outcome.report), ""]
    if outcome.questions:
        parts += [part for question in outcome.questions for part in _question_parts(question)]
    cost = f"{ui.models_text(board.models)} · {ui.usage_text(outcome.usage)}"
    parts.append(Text(cost, style="dim"))
    if board.learned:
        parts.append(Text(learned_text(board.learned), style="dim"))
        parts += [ui.hanging("  -", Text(ui.plain(lesson), style="dim")) for lesson in board.learned.lessons]
    ui.show(Group(*parts))
    _next(outcome, board)


def _headline(outcome: RunOutcome, board: Board) -> Text:
    summary = outcome.summary
    status = "waiting" if outcome.questions else outcome.status
    line = Text(tr(ui.STATUS[status]), style=f"bold {ui.STYLE[outcome.status]}")
    if outcome.report is not None and not board.models:
        line.append(f": {tr(ui.NO_MODEL)}", style="bold")
    elif summary is not None and summary.best_team_id is not None:
        names = {status.team_id: status.team_name for status in summary.team_statuses}
        text = ui.outcome_text(names[summary.best_team_id], summary.best_score, summary)
        line.append(f"{' · ' if summary.published == 'editor' else ': '}{text}", style="bold")
    if outcome.status != "completed" or outcome.message != NO_FAILURE:
        line.append(f"\n{tr(ui.plain(outcome.message))}", style="default not bold")
    for notice in outcome.notices:
        line.append(f"\n{ui.plain(notice)}", style="yellow not bold")
    return line


def _why(outcome: RunOutcome, board: Board) -> list[RenderableType]:
    """A line on why this report is published; none without a report or a choice."""
    why = why_text(board) if outcome.report is not None else ""
    return [Text(tr("Why: {reason}", reason=ui.plain(why)))] if why else []


def _passages(report: ResearchReport) -> list[RenderableType]:
    """The nearest passage of each part, which nobody has judged."""
    lines = "\n".join(f"{number}. {ui.plain(each)}" for number, each in enumerate(report.key_findings, start=1))
    return [
        Text(tr("Passages"), style="bold"),
        Padding(Markdown(lines, hyperlinks=False), (0, 0, 0, 1)),
        Text(tr(ui.TO_SET_ONE)),
    ]


def _next(outcome: RunOutcome, board: Board) -> None:
    """What to do next and, last of all, where the report lies."""
    thread = thread_argument(outcome.thread_id)
    if outcome.questions:
        ui.advise(*next_steps(outcome.thread_id, outcome.questions))
    elif outcome.report is not None:
        ranking = [f"contend leaderboard {thread}"] if board.models else []
        playbook = [f"contend playbook show {board.learned.dataset}"] if board.learned and board.learned.lessons else []
        ui.advise(f"contend report {thread}", *ranking, *playbook)
    elif outcome.status == "failed":
        again = [f"contend resume {thread}"] if _lost_every_team(outcome) else []
        ui.advise(f"contend status {thread}", "contend doctor", *again)
    else:
        ui.advise(resume_command(outcome.thread_id))
    if outcome.files:
        ui.say("Report  {file}", file=ui.plain(ui.short_path(outcome.files[0])))


def _lost_every_team(outcome: RunOutcome) -> bool:
    """Whether a resume would let the teams begin again."""
    statuses = outcome.summary.team_statuses if outcome.summary else []
    return bool(statuses) and all(status.status == "failed" for status in statuses)


def next_steps(thread_id: str, questions: Sequence[Question]) -> list[str]:
    """The commands that answer."""
    if len(questions) == 1:
        return [f"{resume_command(thread_id)} {option}" for option in ("--approve", "--edit FILE", '--reject "WHY"')]
    answers = " ".join(f"--answer {name_of(question, questions)}=approve" for question in questions)
    return [
        f"{resume_command(thread_id)} --approve",
        f"{resume_command(thread_id)} {answers}",
    ]


def _question_parts(question: Question) -> list[RenderableType]:
    name = question.id[:ID_CHARACTERS]
    head = Text(f"{name}  {ui.plain(question.description)}", style="bold")
    parts: list[RenderableType] = [head]
    for field, value in question.args.items():
        if not value:
            continue
        lines = [f"- {ui.plain(_line(item))}" for item in value] if isinstance(value, list) else [clean(str(value))]
        parts.append(Padding(Text("\n".join([f"{field}:", *lines]), overflow="fold"), (0, 0, 0, 2)))
    return [*parts, ""]


def _line(item: object) -> str:
    if isinstance(item, Mapping):
        return "; ".join(f"{name}: {value}" for name, value in item.items() if value)
    return str(item)


FILES = ("report.md", "report.html", "report.json")
_OUT_FILE = "out.txt"
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


def remember_out(own: Path, out: Path | None) -> None:
    """Remember the output folder of a run, so that a resume writes to the same place."""
    if out is not None:
        write_file(own / _OUT_FILE, str(out))
    else:
        (own / _OUT_FILE).unlink(missing_ok=True)


def remembered_out(own: Path) -> Path | None:
    """The output folder given for a run, or None."""
    try:
        return Path((own / _OUT_FILE).read_text("utf-8"))
    except FileNotFoundError:
        return None


def leave_files(files: Sequence[str], out: Path | None, theme: str) -> list[str]:
    """Copy a report's files into the folder, or into `contend-results/SLUG`, numbered where another run's is there.

    Where nothing was named and that folder cannot be written, the files stay where they are.

    Raises:
        InputError: the folder that was named cannot be written.
    """
    if not files:
        return []
    names = [Path(file).name for file in files]
    try:
        folder = out or _own_folder(theme, Path(files[0]).with_name("report.json"))
        for file, name in zip(files, names, strict=True):
            write_file(folder / name, Path(file).read_bytes())
    except (OSError, StoreUnwritable) as error:
        if out is None:
            return list(files)
        why, place = getattr(error.__cause__ or error, "strerror", error), Path(files[0]).parent
        raise input_error(
            "--out {folder}: {why}; the report is in {place}", folder=out, why=why, place=place
        ) from error
    return [str(folder / name) for name in names]


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
    words = "-".join(_WORD.findall(normalize(theme).lower()))
    if len(words) <= _SLUG_CHARACTERS:
        return words
    whole, _, _ = words[: _SLUG_CHARACTERS + 1].rpartition("-")
    return whole or words[:_SLUG_CHARACTERS]


def _same(one: Path, other: Path) -> bool:
    try:
        return one.read_bytes() == other.read_bytes()
    except OSError:
        return False
