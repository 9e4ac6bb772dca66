"""Runs as the record has them: where one stands, all of them, rankings, ratings, reports; and their deletion."""

import asyncio
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from contend.cli.invocation import COMMAND
from contend.cli.screen import advise, plain_table, print_json, say, show
from contend.cli.stored_runs import from_record, named_thread, stored_run
from contend.cli.text import STATUS, STYLE, WHY_STOPPED, counted, models_text, plain, score_text, usage_text
from contend.cli.words import input_error, tr
from contend.errors import StoreUnwritable
from contend.models.round import ExitReason, LeaderboardEntry
from contend.models.task import ExecutionRow, RunStatus, TeamStatus
from contend.settings import Settings
from contend.stored_runs import StoredRun, is_waiting, report_of, status_of
from contend.stores import write_file
from contend.stores.record import RecordStore
from contend.text import shorten

if TYPE_CHECKING:
    from contend.exports import ReportFormat
    from contend.standings import Standing

_THEME_SHOWN = 200
_SHOWN_ID = 8
_DRAWN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def show_status(thread: str) -> None:
    """Raises: UnknownThread where the record has no run of the thread."""
    run = stored_run(thread)
    if print_json(run.model_dump(mode="json", exclude={"rounds": {"__all__": {"submission"}}})):
        return
    execution = run.execution
    head = Text(plain(execution.theme), style="bold")
    head.append(f"\n{_status_text(execution, run.status)}", style=f"bold {STYLE[run.status]}")
    if run.message and "contend resume" not in run.message:
        head.append(f" · {tr(plain(run.message))}", style="not bold")
    facts = f"{models_text(execution.models)} · {usage_text(run.usage)} · {tr('playbook')} {execution.dataset}"
    show(Group(head, Text(facts, style="dim"), "", _teams(run), ""))
    _advise(run)


def show_runs(limit: int) -> None:
    """The newest first."""
    settings = COMMAND.settings()
    current, threads = from_record(settings, lambda record: _current(record, settings, limit))
    if print_json(current):
        return
    if not current:
        say("No runs yet in {folder}.", folder=settings.folder)
        advise("contend run THEME --docs FOLDER")
        return
    table = plain_table("Thread", "Started", "Status", "Best", "Theme", right={"Best"})
    table.columns[-1].ratio, table.expand = 1, True  # the question has one line, in what the others leave
    for row in current:
        start = f"{row.created_at.astimezone():%Y-%m-%d %H:%M}"
        status = Text(_status_text(row, row.status), style=STYLE[row.status])
        best = "–" if row.winner_team_id is None else score_text(row.best_score)
        table.add_row(
            _short_id(row.thread_id, threads), start, status, best, Text(plain(shorten(row.theme, _THEME_SHOWN)))
        )
    show(table)
    say()
    advise("contend status THREAD", "contend report THREAD")


def show_leaderboard(thread: str) -> None:
    """Raises: UnknownThread."""
    run = stored_run(thread)
    rounds = [row.model_dump(mode="json", exclude={"submission"}) for row in run.rounds]
    if print_json({"thread_id": run.execution.thread_id, "leaderboard": run.leaderboard, "rounds": rounds}):
        return
    show(Group(Text(plain(run.execution.theme), style="bold"), "", _ranking(run), ""))
    _advise(run)


def show_standings(dataset: str) -> None:
    """Print the ratings with their intervals, the best first.

    Raises:
        InputError: the dataset has no run yet.
    """
    from contend.standings import standings

    settings = COMMAND.settings()
    ratings = from_record(settings, lambda record: standings(record, dataset))
    if dataset not in ratings.datasets:
        datasets = ", ".join(ratings.datasets) or "–"
        raise input_error("dataset {dataset}: no run of it in {folder}; there are {datasets}",
                          dataset=repr(dataset), folder=settings.folder, datasets=datasets)  # fmt: skip
    if print_json(ratings):
        return
    if not ratings.teams:
        say("No finished run of {dataset} has two teams to compare yet.", dataset=dataset)
        advise("contend runs")
        return
    figures = ("Rating", "95 %", "Runs", "Won", "Tied", "Lost")
    table = plain_table("#", "Team", *figures, right={"#", *figures})
    for rank, team in enumerate(ratings.teams, start=1):
        table.add_row(str(rank), Text(plain(team.team_name)), *_figures(team))
    show(table)
    say()
    runs, first = counted(ratings.runs, "run"), plain(ratings.teams[0].team_name)
    if ratings.is_clear:
        say("{runs}: {team} is ahead of the others by more than chance.", runs=runs, team=first)
    else:
        say("{runs}: too few to tell the first from the second.", runs=runs)


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
    say("Wrote {file}.", file=out)


def delete_thread(thread: str) -> None:
    """Raises: UnknownThread, ThreadBusy, StoreError."""
    from contend.deletion import Deleted, delete
    from contend.services import open_services

    async def work() -> Deleted:
        async with open_services(COMMAND.settings()) as services:
            return await delete(await named_thread(services.record, thread), services=services)

    deletion = asyncio.run(work())
    if print_json(deletion._asdict()):
        return
    runs, texts = counted(deletion.executions, "run"), counted(deletion.documents, "text")
    what = tr("{runs}, {texts}, its checkpoints and its report", runs=runs, texts=texts)
    say("Deleted thread {thread}: {what}.", thread=deletion.thread_id, what=what)
    say("Copies of the report in other folders and lessons in the playbook are left.")


def _status_text(execution: ExecutionRow, status: RunStatus) -> str:
    word = "waiting" if status == "interrupted" and is_waiting(execution) else status
    return tr(STATUS[word])


async def _current(record: RecordStore, settings: Settings, limit: int) -> tuple[list[ExecutionRow], list[str]]:
    """The newest runs, and the ids of all threads."""
    rows = await record.executions(limit)
    current = [row.model_copy(update={"status": await status_of(settings, row)}) for row in rows]
    return current, await record.threads()


def _short_id(thread: str, threads: list[str]) -> str:
    """As much of a drawn id as names the thread, at least 8 characters; an id that a person gave is shown whole."""
    if not _DRAWN_ID.fullmatch(thread):
        return thread
    others = [each for each in threads if each != thread]
    lengths = range(_SHOWN_ID, len(thread))
    return next((thread[:n] for n in lengths if not any(each.startswith(thread[:n]) for each in others)), thread)


def _teams(run: StoredRun) -> Table:
    entries = {entry.team_id: entry for entry in run.leaderboard}
    table = plain_table("#", "Team", "Status", "Rounds", "Best", "Why", right={"#", "Rounds", "Best"}, fold={"Why"})
    for status in sorted(run.teams, key=lambda team: _place(entries.get(team.team_id))):
        entry, rounds = entries.get(status.team_id), [row for row in run.rounds if row.team_id == status.team_id]
        table.add_row(
            str(entry.rank or "–") if entry else "–",
            Text(plain(status.team_name)),
            Text(*_state(status, run.status)),
            str(len(rounds)),
            score_text(entry.best_score) if entry and entry.rank else "–",
            Text(plain(_why(status, run.exit_reasons.get(status.team_id), run.message))),
        )
    return table


def _state(team: TeamStatus, run: RunStatus) -> tuple[str, str]:
    """The word and its style: in a run that stopped no team runs."""
    if run == "interrupted" and team.status == "running":
        return tr("stopped"), STYLE["interrupted"]
    return tr(team.status), STYLE[team.status]


def _place(entry: LeaderboardEntry | None) -> int:
    return entry.rank if entry and entry.rank else 1_000_000


def _why(status: TeamStatus, reason: ExitReason | None, message: str) -> str:
    """Why a team ended, where the run's message has not said it."""
    if status.error_message:
        return "" if status.error_message in message else status.error_message
    return "" if reason is None else tr(WHY_STOPPED[reason])


def _ranking(run: StoredRun) -> Table:
    most = max((row.round_number for row in run.rounds), default=0)
    rounds = [tr("Round {number}", number=number) for number in range(1, most + 1)]
    table = plain_table("#", "Team", "Best", *rounds, right={"#", "Best", *rounds})
    for entry in run.leaderboard:
        scores: dict[int, Any] = {
            row.round_number: score_text(row.score) for row in run.rounds if row.team_id == entry.team_id
        }
        cells = [scores.get(number, "") for number in range(1, most + 1)]
        best = score_text(entry.best_score) if entry.rank else "–"
        table.add_row(str(entry.rank or "–"), Text(plain(entry.team_name)), best, *cells)
    return table


def _advise(run: StoredRun) -> None:
    thread = run.execution.thread_id
    match run.status:
        case "running":
            say("A process works on it.")
        case "interrupted":
            advise(f"contend resume {thread}")
        case "failed":
            advise("contend doctor")
        case _:
            advise(f"contend report {thread}")


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
