"""A run's report in the format that is asked for."""

import asyncio
from pathlib import Path
from typing import Literal

import typer

from contend.errors import InputError, UnknownThread
from contend.models.research import ResearchReport
from contend.models.rows import ExecutionRow
from contend.report import to_bibtex
from contend.settings import Settings, load_settings
from contend.stores.files import write_file
from contend.stores.leases import checked_thread
from contend.stores.record import RecordStore

Format = Literal["md", "html", "json", "bibtex"]


def export_report(thread: str, *, kind: Format, out: Path | None, workspace: Path | None) -> None:
    """Print or write the report of a thread's latest run.

    Raises:
        UnknownThread: there is no such thread.
        InputError: its latest run has no report, or the file can't be written.
    """
    settings = load_settings(workspace=workspace)
    text = _text(settings, checked_thread(thread), kind)
    if out is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    try:
        write_file(out.expanduser(), text)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written: {error.strerror}") from error
    typer.echo(f"Wrote {out}.")


def _text(settings: Settings, thread: str, kind: Format) -> str:
    folder = settings.folder / "results" / thread
    execution = asyncio.run(_latest(settings, thread))
    try:
        report = ResearchReport.model_validate_json((folder / "report.json").read_text("utf-8"))
    except FileNotFoundError:
        raise _missing(thread, execution, settings) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / 'report.json'} cannot be read: it was changed or damaged") from error
    if execution is not None and report.generated_at < execution.created_at:
        raise _missing(thread, execution, settings)
    return to_bibtex(report) if kind == "bibtex" else (folder / f"report.{kind}").read_text("utf-8")


def _missing(thread: str, execution: ExecutionRow | None, settings: Settings) -> InputError:
    if execution is None:
        return UnknownThread(f"thread {thread!r} has no run in {settings.folder}: see `contend runs`")
    return InputError(f"thread {thread!r} has no report, its run is {execution.status}: see `contend status {thread}`")


async def _latest(settings: Settings, thread: str) -> ExecutionRow | None:
    record = RecordStore(settings.folder / "contend.duckdb", lock_seconds=settings.record_lock_seconds)
    try:
        return await record.latest_execution(thread)
    finally:
        await record.close()
