"""Runs as the record has them, by a thread's id, the beginning of it or `latest`."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from contend.cli.invocation import COMMAND
from contend.cli.words import input_error, speak, tr
from contend.errors import ContendError, UnknownThread
from contend.settings import Settings
from contend.stored_runs import StoredRun, read_run
from contend.stores.leases import checked_thread
from contend.stores.record import RecordStore

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


def known_threads() -> list[str]:
    """For a shell's completion: the thread of the newest run first; none where the record cannot be read."""
    try:
        return from_record(COMMAND.settings(), lambda record: record.threads())
    except ContendError:
        return []


def stored_run(thread: str) -> StoredRun:
    """The newest run of a thread, named as `named_thread` takes it. Raises: UnknownThread."""
    settings = COMMAND.settings()
    return from_record(settings, lambda record: _read(record, settings, thread))


async def _read(record: RecordStore, settings: Settings, name: str) -> StoredRun:
    thread = await named_thread(record, name)
    try:
        run = await read_run(record, settings, thread)
    except UnknownThread as error:
        message = tr("thread {thread} has no run in {folder}: see `contend runs`, or give another --workspace",
                     thread=repr(thread), folder=settings.folder)  # fmt: skip
        raise UnknownThread(message) from error
    speak(run.execution.theme)
    return run


def from_record(settings: Settings, ask: Callable[[RecordStore], Awaitable[_T]]) -> _T:
    async def read() -> _T:
        record = RecordStore(settings.folder / "contend.duckdb", lock_seconds=settings.record_lock_seconds)
        try:
            return await ask(record)
        finally:
            await record.close()

    return asyncio.run(read())
