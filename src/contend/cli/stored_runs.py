"""Runs as the record has them, by a thread's id, the beginning of it or `latest`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from contend.errors import ContendError, InputError, UnknownThread
from contend.models.record import Record
from contend.models.research import ResearchReport
from contend.models.round import ExitReason, LeaderboardEntry
from contend.models.rows import ExecutionRow, RoundRow
from contend.models.task import RunStatus, RunUsage, TeamStatus
from contend.settings import Settings, load_settings
from contend.stores.leases import checked_thread, is_leased
from contend.stores.record import RecordStore

LATEST = "latest"
"""In place of a thread's id: the thread of the newest run."""

SHORTEST_ID = 4
"""Characters of a thread's id that may name it."""

_T = TypeVar("_T")


class StoredRun(Record):
    """A run as it stands. `status` is `interrupted` where the record says running and nobody works on it."""

    execution: ExecutionRow
    status: RunStatus
    message: str
    teams: list[TeamStatus]
    leaderboard: list[LeaderboardEntry]
    rounds: list[RoundRow]
    exit_reasons: dict[str, ExitReason]
    usage: RunUsage


async def named_thread(record: RecordStore, name: str) -> str:
    """The whole id of the thread that `latest`, an id or the beginning of one id names; an unknown id as it is.

    Raises:
        InputError: several ids begin so, or it is no id.
        UnknownThread: there is no run yet.
    """
    known = await record.threads("" if name == LATEST else checked_thread(name))
    if name == LATEST:
        if not known:
            raise UnknownThread("no runs yet: begin with `contend run THEME`, or give another --workspace")
        return known[0]
    if name in known or not known or len(name) < SHORTEST_ID:
        return name
    if len(known) > 1:
        some = ", ".join(known[:3]) + (", …" if len(known) > 3 else "")  # noqa: PLR2004 - enough to choose
        raise InputError(f"thread {name!r} may be one of {len(known)} ({some}): give more of its id")
    return known[0]


def known_threads(workspace: Path | None) -> list[str]:
    """For a shell's completion: the thread of the newest run first; none where the record cannot be read."""
    try:
        return from_record(load_settings(workspace=workspace), lambda record: record.threads())
    except ContendError:
        return []


def stored_run(thread: str, workspace: Path | None) -> StoredRun:
    """The newest run of a thread, named as `named_thread` takes it. Raises: UnknownThread."""
    settings = load_settings(workspace=workspace)
    return from_record(settings, lambda record: _read(record, settings, thread))


def report_of(settings: Settings, thread: str, execution: ExecutionRow | None) -> ResearchReport | None:
    """The report of a thread's newest run; None where it has none, or only one of an earlier run.

    Raises:
        InputError: its file cannot be read.
    """
    path = settings.folder / "results" / thread / "report.json"
    try:
        report = ResearchReport.model_validate_json(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: it was changed or damaged") from error
    return None if execution is not None and report.generated_at < execution.created_at else report


def unknown_thread(thread: str, settings: Settings) -> UnknownThread:
    where = f"in {settings.folder}: see `contend runs`, or give another --workspace"
    return UnknownThread(f"thread {thread!r} has no run {where}")


async def _read(record: RecordStore, settings: Settings, name: str) -> StoredRun:
    thread = await named_thread(record, name)
    execution = await record.latest_execution(thread)
    if execution is None:
        raise unknown_thread(thread, settings)
    status = await status_of(settings, execution)
    return StoredRun(
        execution=execution,
        status=status,
        message=execution.message if status == execution.status else "nobody works on it: the process ended",
        teams=await record.team_statuses(execution.execution_id),
        leaderboard=await record.leaderboard(execution.execution_id),
        rounds=await record.rounds(execution.execution_id),
        exit_reasons=await record.exit_reasons(execution.execution_id),
        usage=await record.usage(execution.execution_id),
    )


async def status_of(settings: Settings, execution: ExecutionRow) -> RunStatus:
    if execution.status == "running" and not await is_leased(settings, execution.thread_id):
        return "interrupted"
    return execution.status


def from_record(settings: Settings, ask: Callable[[RecordStore], Awaitable[_T]]) -> _T:
    async def read() -> _T:
        record = RecordStore(settings.folder / "contend.duckdb", lock_seconds=settings.record_lock_seconds)
        try:
            return await ask(record)
        finally:
            await record.close()

    return asyncio.run(read())
