"""A lease gives one process the right to work on a thread; it ends when the process dies."""

import asyncio
import os
import re
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from filelock import FileLock, Timeout

from contend.errors import InputError, ThreadBusy
from contend.models.record import NO_IDS, THREAD_CHARACTERS, is_identifier
from contend.settings import Settings
from contend.stores.files import writing

_READABLE_CHARACTERS = 40

_LOOK_SECONDS = 0.1
"""Longer than a look at a lease holds it, or a holder takes to let go."""


def checked_thread(thread_id: str) -> str:
    """The thread id, if it has 1 to 255 printable characters.

    Raises:
        InputError: it is none.
    """
    if not (0 < len(thread_id) <= THREAD_CHARACTERS and thread_id.isprintable()) or thread_id in NO_IDS:
        raise InputError(f"thread {thread_id[:80]!r}: use 1 to {THREAD_CHARACTERS} printable characters (a UUID fits)")
    return thread_id


def thread_name(thread_id: str) -> str:
    """The name of a thread's files and folders: its id if that is a valid file name, else one derived from it."""
    if is_identifier(thread_id):
        return thread_id
    readable = re.sub(r"[^A-Za-z0-9]+", "-", thread_id)[:_READABLE_CHARACTERS].strip("-")
    return f"thread-{readable}.{sha256(thread_id.encode()).hexdigest()[:16]}"


def thread_argument(thread_id: str) -> str:
    """The thread id, quoted for a shell."""
    return shlex.quote(thread_id)


def resume_command(thread_id: str) -> str:
    """The command that resumes the thread's run."""
    return f"contend resume {thread_argument(thread_id)}"


@dataclass
class Lease:
    """A lease that is held."""

    notices: list[str] = field(default_factory=list)
    """What happened to the checkpoint server meanwhile, one line each."""
    taken_by: str | None = None
    """Who took over the thread, if the lease was lost."""


@asynccontextmanager
async def lease(settings: Settings, thread_id: str) -> AsyncIterator[Lease]:
    """Hold the thread's lease during the block: in Redis if checkpoints are there, else by a file lock.

    Raises:
        ThreadBusy: another process or task holds it; names its PID.
        StoreError: the Redis server can't be used, or the lock cannot be written.
    """
    if settings.checkpointer == "redis":
        from contend.stores.redis_server import redis_lease  # noqa: PLC0415 - only where it is used

        async with redis_lease(settings, thread_id) as redis:
            yield redis
        return
    lock = await asyncio.to_thread(_acquire, settings.folder, thread_id)
    try:
        yield Lease()
    finally:
        await asyncio.to_thread(_release, lock)


async def is_leased(settings: Settings, thread_id: str) -> bool:
    """Whether a process is working on the thread."""
    if settings.checkpointer == "redis":
        from contend.stores.redis_server import is_redis_leased  # noqa: PLC0415 - only where it is used

        return await is_redis_leased(settings, thread_id)
    return await asyncio.to_thread(_is_locked, settings.folder, thread_id)


def _is_locked(folder: Path, thread_id: str) -> bool:
    path = _path(folder, thread_id)
    if not path.exists():
        return False
    lock = FileLock(path, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        return True
    _remove(path)
    lock.release()
    return False


def _acquire(folder: Path, thread_id: str) -> FileLock:
    path = _path(folder, thread_id)
    # A lease is taken and let go by different threads of the pool.
    lock = FileLock(path, timeout=_LOOK_SECONDS, poll_interval=_LOOK_SECONDS / 5, thread_local=False)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout as error:
            raise ThreadBusy(f"thread {thread_id} is being worked on{_holder(path)}: wait for it or stop it") from error
        _pid_file(path).write_text(str(os.getpid()), "utf-8")
    return lock


def _release(lock: FileLock) -> None:
    path = Path(lock.lock_file)
    _pid_file(path).unlink(missing_ok=True)
    _remove(path)
    lock.release()


def _remove(path: Path) -> None:
    """Remove the file of a lock that is held: FileLock does not lock a file that was unlinked."""
    with suppress(PermissionError):  # Windows removes no open file; there it stays
        path.unlink(missing_ok=True)


def _holder(path: Path) -> str:
    try:
        return f" by process {int(_pid_file(path).read_text('utf-8'))}"
    except (OSError, ValueError):
        return ""


def _path(folder: Path, thread_id: str) -> Path:
    return folder / "leases" / f"{thread_name(thread_id)}.lock"


def _pid_file(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix('.lock')}.pid")
