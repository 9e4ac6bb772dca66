"""Runs as the record has them: where one stands, all of them, their rankings."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Group
from rich.table import Table
from rich.text import Text

from contend.cli.screen import advise, say, say_json, show
from contend.cli.words import STATUS, STYLE, WHY_STOPPED, plain, said_models, said_usage
from contend.errors import UnknownThread
from contend.models.record import Record
from contend.models.round import ExitReason, LeaderboardEntry
from contend.models.rows import ExecutionRow, RoundRow
from contend.models.task import RunStatus, RunUsage, TeamStatus
from contend.settings import Settings, load_settings
from contend.stores.leases import checked_thread, is_leased
from contend.stores.record import RecordStore
from contend.text import shorten, shown_score

_T = TypeVar("_T")
_THEME_SHOWN = 200


class Standing(Record):
    """A run as it stands. `status` is `interrupted` where the record says running and nobody works on it."""

    execution: ExecutionRow
    status: RunStatus
    message: str
    teams: list[TeamStatus]
    leaderboard: list[LeaderboardEntry]
    rounds: list[RoundRow]
    exit_reasons: dict[str, ExitReason]
    usage: RunUsage


def show_status(thread: str, *, workspace: Path | None, as_json: bool) -> None:
    """Raises: UnknownThread where the record has no run of the thread."""
    standing = _standing(thread, workspace)
    if as_json:
        say_json(standing.model_dump(mode="json", exclude={"rounds": {"__all__": {"submission"}}}))
        return
    execution = standing.execution
    head = Text(plain(execution.theme), style="bold")
    head.append(f"\n{STATUS[standing.status]}", style=f"bold {STYLE[standing.status]}")
    if standing.message and "contend resume" not in standing.message:
        head.append(f" · {plain(standing.message)}", style="not bold")
    facts = f"{said_models(execution.models)} · {said_usage(standing.usage)} · playbook {execution.dataset}"
    show(Group(head, Text(facts, style="dim"), "", _teams(standing), ""))
    _advise(standing)


def show_runs(limit: int, *, workspace: Path | None, as_json: bool) -> None:
    """The newest first."""
    settings = load_settings(workspace=workspace)
    current = _asked(settings, lambda record: _current(record, settings, limit))
    if as_json:
        say_json([row.model_dump(mode="json") for row in current])
        return
    if not current:
        say(f"No runs yet in {settings.folder}.")
        advise("contend run THEME --docs FOLDER")
        return
    table = _plain_table("Thread", "Started", "Status", "Best", "Theme")
    for row in current:
        started = f"{row.created_at.astimezone():%Y-%m-%d %H:%M}"
        status = Text(row.status, style=STYLE[row.status])
        best = "–" if row.winner_team_id is None else shown_score(row.best_score)
        table.add_row(row.thread_id, started, status, best, Text(plain(shorten(row.theme, _THEME_SHOWN))))
    show(table)
    say()
    advise("contend status THREAD", "contend report THREAD")


def show_leaderboard(thread: str | None, *, workspace: Path | None, as_json: bool) -> None:
    """Of the latest run where no thread is given. Raises: UnknownThread."""
    standing = _standing(thread, workspace)
    if as_json:
        rounds = [row.model_dump(mode="json", exclude={"submission"}) for row in standing.rounds]
        entries = [entry.model_dump(mode="json") for entry in standing.leaderboard]
        say_json({"thread_id": standing.execution.thread_id, "leaderboard": entries, "rounds": rounds})
        return
    show(Group(Text(plain(standing.execution.theme), style="bold"), "", _ranking(standing), ""))
    _advise(standing)


def _standing(thread: str | None, workspace: Path | None) -> Standing:
    settings = load_settings(workspace=workspace)
    named = None if thread is None else checked_thread(thread)
    standing = _asked(settings, lambda record: _read(record, settings, named))
    if standing is None:
        what = "no runs yet" if named is None else f"thread {named!r} has no run"
        raise UnknownThread(f"{what} in {settings.folder}: see `contend runs`, or give another --workspace")
    return standing


async def _read(record: RecordStore, settings: Settings, thread: str | None) -> Standing | None:
    latest = await record.executions(limit=1) if thread is None else [await record.latest_execution(thread)]
    execution = next(iter(latest), None)
    if execution is None:
        return None
    status = await _status(settings, execution)
    return Standing(
        execution=execution,
        status=status,
        message=execution.message if status == execution.status else "nobody works on it: the process ended",
        teams=await record.team_statuses(execution.execution_id),
        leaderboard=await record.leaderboard(execution.execution_id),
        rounds=await record.rounds(execution.execution_id),
        exit_reasons=await record.exit_reasons(execution.execution_id),
        usage=await record.usage(execution.execution_id),
    )


async def _current(record: RecordStore, settings: Settings, limit: int) -> list[ExecutionRow]:
    rows = await record.executions(limit)
    return [row.model_copy(update={"status": await _status(settings, row)}) for row in rows]


async def _status(settings: Settings, execution: ExecutionRow) -> RunStatus:
    if execution.status == "running" and not await is_leased(settings, execution.thread_id):
        return "interrupted"
    return execution.status


def _asked(settings: Settings, ask: Callable[[RecordStore], Awaitable[_T]]) -> _T:
    async def asked() -> _T:
        record = RecordStore(settings.folder / "contend.duckdb", lock_seconds=settings.record_lock_seconds)
        try:
            return await ask(record)
        finally:
            await record.close()

    return asyncio.run(asked())


def _teams(standing: Standing) -> Table:
    entries = {entry.team_id: entry for entry in standing.leaderboard}
    table = _plain_table("#", "Team", "Status", "Rounds", "Best", "Why")
    for status in sorted(standing.teams, key=lambda team: _place(entries.get(team.team_id))):
        entry, rounds = entries.get(status.team_id), [row for row in standing.rounds if row.team_id == status.team_id]
        table.add_row(
            str(entry.rank or "–") if entry else "–",
            Text(plain(status.team_name)),
            Text(*_state(status, standing.status)),
            str(len(rounds)),
            shown_score(entry.best_score) if entry and entry.rank else "–",
            Text(plain(_why(status, standing.exit_reasons.get(status.team_id), standing.message))),
        )
    return table


def _state(team: TeamStatus, run: RunStatus) -> tuple[str, str]:
    """The word and its style: in a run that stopped no team runs."""
    if run == "interrupted" and team.status == "running":
        return "stopped", STYLE["interrupted"]
    return team.status, STYLE[team.status]


def _place(entry: LeaderboardEntry | None) -> int:
    return entry.rank if entry and entry.rank else 1_000_000


def _why(status: TeamStatus, reason: ExitReason | None, message: str) -> str:
    """Why a team ended, where the run's message has not said it."""
    if status.error_message:
        return "" if status.error_message in message else status.error_message
    return "" if reason is None else WHY_STOPPED[reason]


def _ranking(standing: Standing) -> Table:
    most = max((row.round_number for row in standing.rounds), default=0)
    table = _plain_table("#", "Team", "Best", *(f"Round {number}" for number in range(1, most + 1)))
    for entry in standing.leaderboard:
        scores: dict[int, Any] = {
            row.round_number: shown_score(row.score) for row in standing.rounds if row.team_id == entry.team_id
        }
        cells = [scores.get(number, "") for number in range(1, most + 1)]
        best = shown_score(entry.best_score) if entry.rank else "–"
        table.add_row(str(entry.rank or "–"), Text(plain(entry.team_name)), best, *cells)
    return table


def _plain_table(*names: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in names:
        numeric = name in {"#", "Rounds", "Best"} or name.startswith("Round")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=name not in {"Theme", "Why"})
    return table


def _advise(standing: Standing) -> None:
    thread = standing.execution.thread_id
    match standing.status:
        case "running":
            say("A process works on it.")
        case "interrupted":
            advise(f"contend resume {thread}")
        case "failed":
            advise("contend doctor")
        case _:
            advise(f"contend report {thread}")
