"""Runs as the record has them: where one stands, all of them, rankings, ratings, reports; and their deletion.

A run is named by its thread's id, the beginning of it, or `latest`.
"""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from rich.console import Group
from rich.table import Table
from rich.text import Text

from contend.cli import COMMAND, input_error, speak, tr, ui
from contend.cli.chart import ends_table
from contend.cli.live import board_of
from contend.errors import ContendError, StoreUnwritable, UnknownThread
from contend.models.task import ExecutionRow, RunStatus
from contend.settings import Settings
from contend.stored_runs import JudgedCriterion, StoredRun, is_waiting, judged_criteria, read_run, report_of, status_of
from contend.stores import checked_thread, resume_command, write_file
from contend.stores.record import RecordStore
from contend.text import shorten

if TYPE_CHECKING:
    from contend.exports import ReportFormat
    from contend.gains import Gain
    from contend.standings import Standing


LATEST = "latest"
"""In place of a thread's id: the thread of the newest run."""

SHORTEST_ID = 4
"""Characters of a thread's id that may name it."""

_EXAMPLES = 3
"""Threads named where an id's beginning fits several."""

_T = TypeVar("_T")


async def named_thread(record: RecordStore, name: str) -> str:
    """The whole id of the thread that `latest`, an id or the beginning of one id names; an unknown id as it is.

    Raises:
        InputError: several ids begin so, or it is no id.
        UnknownThread: there is no run yet.
    """
    threads = await record.threads("" if name == LATEST else checked_thread(name))
    if name == LATEST:
        if not threads:
            raise UnknownThread(tr("no runs yet: begin with `contend run THEME`, or give another --workspace"))
        return threads[0]
    if name in threads or not threads or len(name) < SHORTEST_ID:
        return name
    if len(threads) > 1:
        examples = ", ".join(threads[:_EXAMPLES]) + (", …" if len(threads) > _EXAMPLES else "")
        raise input_error("thread {name} may be one of {count} ({examples}): give more of its id",
                          name=repr(name), count=len(threads), examples=examples)  # fmt: skip
    return threads[0]


def stored_threads() -> list[str]:
    """For a shell's completion: the thread of the newest run first; none where the record cannot be read."""
    try:
        return from_record(COMMAND.settings(), lambda record: record.threads())
    except ContendError:
        return []


def stored_run(thread: str) -> StoredRun:
    """The newest run of a thread, named as `named_thread` takes it. Raises: UnknownThread."""
    settings = COMMAND.settings()
    return from_record(settings, lambda record: _read(record, settings, thread))


def judged_run(thread: str) -> tuple[StoredRun, list[JudgedCriterion]]:
    """`stored_run`, with the question's criteria and what judges found of the published report."""
    settings = COMMAND.settings()

    async def read(record: RecordStore) -> tuple[StoredRun, list[JudgedCriterion]]:
        run = await _read(record, settings, thread)
        return run, await judged_criteria(record, run)

    return from_record(settings, read)


async def _read(record: RecordStore, settings: Settings, name: str) -> StoredRun:
    thread = await named_thread(record, name)
    try:
        run = await read_run(record, settings, thread)
    except UnknownThread as error:
        raise _no_run(thread, settings) from error
    speak(run.execution.theme)
    return run


def _no_run(thread: str, settings: Settings) -> UnknownThread:
    return UnknownThread(
        tr("thread {thread} has no run in {folder}: see `contend runs`, or give another --workspace",
           thread=repr(thread), folder=settings.folder)
    )  # fmt: skip


def from_record(settings: Settings, ask: Callable[[RecordStore], Awaitable[_T]]) -> _T:
    async def read() -> _T:
        record = RecordStore(settings.folder / "contend.duckdb", lock_seconds=settings.record_lock_seconds)
        try:
            return await ask(record)
        finally:
            await record.close()

    return asyncio.run(read())


_THEME_CHARACTERS = 200
_ID_CHARACTERS = 8
_RANDOM_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def show_status(thread: str) -> None:
    """Raises: UnknownThread where the record has no run of the thread."""
    run = stored_run(thread)
    if ui.print_json(run.without_texts()):
        return
    execution = run.execution
    head = Text(ui.plain(execution.theme), style="bold")
    head.append(f"\n{_status_text(execution, run.status)}", style=f"bold {ui.STYLE[run.status]}")
    if run.message and "contend resume" not in run.message:
        head.append(f" · {tr(ui.plain(run.message))}", style="not bold")
    facts = f"{ui.models_text(execution.models)} · {ui.usage_text(run.usage)} · {tr('playbook')} {execution.dataset}"
    ui.show(Group(head, *_winner(run), Text(facts, style="dim"), "", ends_table(board_of(run), run.message), ""))
    _advise(run)


def show_runs(limit: int) -> None:
    """The newest first."""
    settings = COMMAND.settings()
    current, threads = from_record(settings, lambda record: _current(record, settings, limit))
    if ui.print_json(current):
        return
    if not current:
        ui.say("No runs yet in {folder}.", folder=settings.folder)
        ui.advise("contend run THEME --docs FOLDER")
        return
    cells = [
        (
            _short_id(row.thread_id, threads),
            f"{row.created_at.astimezone():%Y-%m-%d %H:%M}",
            (_status_text(row, row.status), ui.STYLE[row.status]),
            _score_cell(row),
            shorten(row.theme, _THEME_CHARACTERS),
        )
        for row in current
    ]
    table = ui.plain_table("Thread", "Started", "Status", "Report", "Theme", rows=cells, right={"Report"})
    table.columns[-1].ratio, table.expand = 1, True  # the question has one line, in what the others leave
    ui.show(table)
    ui.say()
    ui.advise("contend status THREAD", "contend report THREAD")


def show_leaderboard(thread: str) -> None:
    """Raises: UnknownThread."""
    run = stored_run(thread)
    names, values = ("leaderboard", "rounds"), run.without_texts()
    head = {"thread_id": run.execution.thread_id, **run.execution.published_fields()}
    if ui.print_json({**head, **{name: values[name] for name in names}}):
        return
    ui.show(Group(Text(ui.plain(run.execution.theme), style="bold"), *_winner(run), "", _ranking(run), ""))
    _advise(run)


def show_standings(dataset: str) -> None:
    """Print the ratings with their intervals, the best first, and what each step of a run has brought.

    Raises:
        InputError: the dataset has no run yet.
    """
    from contend.gains import gains_of
    from contend.standings import standings

    settings = COMMAND.settings()
    ratings = from_record(settings, lambda record: standings(record, dataset))
    if dataset not in ratings.datasets:
        datasets = ", ".join(ratings.datasets) or tr("none yet")
        raise input_error("dataset {dataset}: no run of it in {folder}; there are {datasets}",
                          dataset=repr(dataset), folder=settings.folder, datasets=datasets)  # fmt: skip
    if ui.print_json(ratings):
        return
    if not ratings.teams:
        ui.say("No finished run of {dataset} has two teams to compare yet.", dataset=dataset)
        ui.advise("contend runs")
        return
    figures = ("Rating", "95 %", "Runs", "Won", "Tied", "Lost")
    cells = [(str(rank), team.team_name, *_figures(team)) for rank, team in enumerate(ratings.teams, start=1)]
    ui.show(ui.plain_table("#", "Team", *figures, rows=cells, right={"#", *figures}))
    ui.say()
    runs, first = ui.counted(ratings.runs, "run"), ui.plain(ratings.teams[0].team_name)
    if ratings.is_clear:
        ui.say("{runs}: {team} is ahead of the others by more than chance.", runs=runs, team=first)
    else:
        ui.say("{runs}: too few to tell the first from the second.", runs=runs)
    if gains := from_record(settings, gains_of):
        ui.say()
        _show_gains(gains)


def show_stats() -> None:
    """Print what a further round, further teams and a merge have brought over all finished runs of the workspace."""
    from contend.gains import gains_of

    gains = from_record(COMMAND.settings(), gains_of)
    if ui.print_json([each.model_dump(mode="json") for each in gains]):
        return
    if not gains:
        ui.say("No finished run has scores yet.")
        ui.advise("contend runs")
        return
    _show_gains(gains)


def _show_gains(gains: Sequence["Gain"]) -> None:
    """Print what each step has brought, over all finished runs of the workspace."""
    from contend.gains import FEWEST_RUNS

    names = {"round": tr("a further round"), "teams": tr("further teams"), "merge": tr("the editor's merge")}
    figures = ("Points", "95 %", "Times", "Tokens")
    cells = [
        (
            names[each.step],
            f"{each.points:+.1f}",
            "–" if each.low is None else f"{each.low:+.1f} … {each.high:+.1f}",
            str(each.times),
            f"{each.tokens or 0:,}",
        )
        for each in gains
    ]
    ui.show(ui.plain_table("Step", *figures, rows=cells, right={*figures}))
    ui.say()
    ui.say("Mean gain in points of 100. From {count} times on, auto names these; before, what is shipped.",
           count=FEWEST_RUNS)  # fmt: skip


def export_report(thread: str, *, kind: "ReportFormat", out: Path | None) -> None:
    """Print or write the report of a thread's latest run, or as `csv` its scores.

    Raises:
        UnknownThread: there is no such thread.
        InputError: its latest run has no report, the format cannot be made here, or the file can't be written.
        ContendError: making the file failed.
    """
    if out is None and kind in {"pdf", "docx"} and sys.stdout.isatty():
        raise input_error("--format {kind} is no text: give --out FILE", kind=kind)
    content = _report(thread, kind)
    if out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    try:
        write_file(out.expanduser(), content)
    except StoreUnwritable as error:
        why = getattr(error.__cause__, "strerror", error)
        raise input_error("--out {file}: cannot be written: {why}", file=out, why=why) from error
    ui.say("Wrote {file}.", file=out)


def delete_run(thread: str) -> None:
    """Raises: UnknownThread, ThreadBusy, StoreError."""
    from contend.app import DeletedThread, delete
    from contend.services import open_services

    async def work() -> DeletedThread:
        async with open_services(COMMAND.settings()) as services:
            name = await named_thread(services.record, thread)
            try:
                return await delete(name, services=services)
            except UnknownThread as error:
                raise _no_run(name, services.settings) from error

    deletion = asyncio.run(work())
    if ui.print_json(deletion._asdict()):
        return
    runs, texts = ui.counted(deletion.executions, "run"), ui.counted(deletion.documents, "text")
    what = tr("{runs}, {texts}, its checkpoints and its report", runs=runs, texts=texts)
    ui.say("Deleted thread {thread}: {what}.", thread=deletion.thread_id, what=what)
    ui.say("Copies of the report in other folders and lessons in the playbook are left.")


def _status_text(execution: ExecutionRow, status: RunStatus) -> str:
    word = "waiting" if status == "interrupted" and is_waiting(execution) else status
    return tr(ui.STATUS[word])


def _winner(run: StoredRun) -> list[Text]:
    """A line that says whose report is published; empty if no team won."""
    execution = run.execution
    name = next((team.team_name for team in run.teams if team.team_id == execution.winner_team_id), None)
    return [] if name is None else [Text(ui.outcome_text(name, execution.best_score, execution))]


def _score_cell(execution: ExecutionRow) -> str:
    """The published report's score, or the best team's in records that do not name the published report."""
    if execution.published == "editor":
        return tr("editor {score}", score=ui.score_text(execution.published_score))
    return "–" if execution.winner_team_id is None else ui.score_text(execution.best_score)


async def _current(record: RecordStore, settings: Settings, limit: int) -> tuple[list[ExecutionRow], list[str]]:
    """The newest runs, and the ids of all threads."""
    rows = await record.executions(limit)
    current = [row.model_copy(update={"status": await status_of(settings, row)}) for row in rows]
    return current, await record.threads()


def _short_id(thread: str, threads: list[str]) -> str:
    """As much of a drawn id as names the thread, at least 8 characters; an id that a person gave is shown whole."""
    if not _RANDOM_ID.fullmatch(thread):
        return thread
    others = [each for each in threads if each != thread]
    lengths = range(_ID_CHARACTERS, len(thread))
    return next((thread[:n] for n in lengths if not any(each.startswith(thread[:n]) for each in others)), thread)


def _ranking(run: StoredRun) -> Table:
    most = max((row.round_number for row in run.rounds), default=0)
    rounds = [tr("Round {number}", number=number) for number in range(1, most + 1)]
    cells = []
    for entry in run.leaderboard:
        scores = {row.round_number: ui.score_text(row.score) for row in run.rounds if row.team_id == entry.team_id}
        best = ui.score_text(entry.best_score) if entry.rank else "–"
        by_round = [scores.get(number, "") for number in range(1, most + 1)]
        cells.append((str(entry.rank or "–"), entry.team_name, best, *by_round))
    return ui.plain_table("#", "Team", "Best", *rounds, rows=cells, right={"#", "Best", *rounds})


def _advise(run: StoredRun) -> None:
    thread = run.execution.thread_id
    match run.status:
        case "running":
            ui.say("A process works on it.")
        case "interrupted":
            ui.advise(resume_command(thread))
        case "failed":
            ui.advise("contend doctor")
        case _:
            ui.advise(f"contend report {thread}")


def _report(name: str, kind: "ReportFormat") -> bytes:
    from contend.exports import report_file, scores_csv

    run = stored_run(name)
    if kind == "csv":
        return scores_csv(run)
    settings, thread = COMMAND.settings(), run.execution.thread_id
    report = report_of(settings, run.execution)
    if report is None:
        status, command = tr(run.execution.status), f"contend status {thread}"
        raise input_error("thread {thread} has no report, its run is {status}: see `{command}`",
                          thread=repr(thread), status=status, command=command)  # fmt: skip
    return report_file(settings, thread, report, kind)


def _figures(team: "Standing") -> list[str]:
    interval = f"{team.low:.0f}–{team.high:.0f}"
    return [f"{team.rating:.0f}", interval, *map(str, (team.runs, team.wins, team.ties, team.losses))]
