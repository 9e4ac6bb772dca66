"""Driving a run from the command line: events to a view, signals to a stop, the outcome to an exit code."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

from contend import app
from contend.cli.answering import Answers, said_several
from contend.cli.asking import checked_out
from contend.cli.board import Board
from contend.cli.closing import show_outcome
from contend.cli.failing import system_fault
from contend.cli.screen import in_workspace, note, say_json
from contend.cli.stopping import until_stopped
from contend.cli.views import view_on
from contend.errors import ContendError, InputError, SeveralQuestions
from contend.models.options import RunOptions
from contend.settings import Settings, load_settings
from contend.stores.record import RecordStore

STOPPED = 130
Job = Callable[[app.OnEvent], Awaitable[app.RunOutcome]]


def run_theme(
    theme: str,
    options: RunOptions,
    *,
    thread: str | None,
    workspace: Path | None,
    replay: Path | None,
    as_json: bool,
    out: Path | None,
) -> int:
    """Run a contest and show it; the exit code.

    Raises:
        ContendError: nothing was begun, or a store failed.
    """
    settings = load_settings(workspace=workspace, replay=replay)
    named = str(uuid4()) if thread is None else thread

    def job(on_event: app.OnEvent) -> Awaitable[app.RunOutcome]:
        return app.run(theme, thread_id=named, options=options, settings=settings, on_event=on_event)

    return _drive(named, job, Board(theme=theme), as_json=as_json, out=checked_out(out))


def resume_thread(
    thread: str, answers: Answers, *, force: bool, workspace: Path | None, as_json: bool, out: Path | None
) -> int:
    """Go on with a thread's run and show it; the exit code.

    Raises:
        ContendError: there is nothing to go on with, or a store failed.
    """
    settings = load_settings(workspace=workspace)

    async def job(on_event: app.OnEvent) -> app.RunOutcome:
        try:
            return await app.resume(
                thread,
                answers.decision,
                answers=answers.by_question,
                force=force,
                settings=settings,
                on_event=on_event,
            )
        except SeveralQuestions as several:
            raise InputError(said_several(several)) from several

    board = asyncio.run(_board_of(settings, thread))
    return _drive(thread, job, board, as_json=as_json, out=checked_out(out))


def _drive(thread: str, job: Job, board: Board, *, as_json: bool, out: Path | None) -> int:
    with view_on(board, as_json=as_json) as view:
        work = until_stopped(job(view.show), on_stop=view.stopping, at_once=view.close)
        try:
            outcome = asyncio.run(work)
        except (ContendError, OSError) as error:
            if isinstance(error, InputError | BrokenPipeError) or not board.began:
                raise
            said = system_fault(error) if isinstance(error, OSError) else str(error)
            raise ContendError(_with_resume(said, thread)) from error
    if outcome is None:
        return _stopped(thread, began=board.began, as_json=as_json)
    if out is not None:
        outcome = outcome.model_copy(update={"files": _copied(outcome.files, out)})
    if as_json:
        say_json({"type": "outcome", "exit_code": outcome.exit_code, **outcome.model_dump(mode="json")}, indent=None)
    else:
        show_outcome(outcome, board)
    return outcome.exit_code


def _with_resume(said: str, thread: str) -> str:
    """What stopped a run, and how it goes on where that is not said yet."""
    if f"contend resume {thread}" in said:
        return said
    return f"{said}; then go on with `{in_workspace(f'contend resume {thread}')}`"


def _stopped(thread: str, *, began: bool, as_json: bool) -> int:
    going_on = in_workspace(f"contend resume {thread}")
    message = f"stopped; go on with `{going_on}`" if began else "stopped before the run began"
    if as_json:
        outcome = {"type": "outcome", "exit_code": STOPPED, "thread_id": thread, "status": "interrupted"}
        say_json({**outcome, "message": message}, indent=None)
    note(message)
    return STOPPED


async def _board_of(settings: Settings, thread: str) -> Board:
    """What the record knows of a run that goes on: events tell only what comes from now on."""
    record = RecordStore(settings.folder / "contend.duckdb", lock_seconds=settings.record_lock_seconds)
    latest = await record.latest_execution(thread)
    board = Board(stage="Going on")
    if latest is not None:
        board.theme, board.models, board.began = latest.theme, latest.models, True
        for status in await record.team_statuses(latest.execution_id):
            row = board.team(status.team_id)
            row.name, row.state, row.doing = status.team_name, status.status, status.error_message or status.status
        board.rank(await record.leaderboard(latest.execution_id))
        board.usage = await record.usage(latest.execution_id)
    await record.close()
    return board


def _copied(files: list[str], folder: Path) -> list[str]:
    if not files:
        return []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [str(shutil.copy2(file, folder)) for file in files]
    except OSError as error:
        raise InputError(f"--out {folder}: {error.strerror}; the report is in {Path(files[0]).parent}") from error
