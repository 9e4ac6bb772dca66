"""The record's DuckDB file, opened only when needed, and the thread that does all work on it.

The event loop never waits for it, and each process has one writer.
"""

import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Condition, Thread
from typing import Any, TypeVar

import duckdb
from filelock import FileLock, Timeout
from tenacity import Retrying, retry_if_exception, stop_before_delay, wait_random_exponential

from contend.errors import StoreError, StoreLocked
from contend.stores.record_schema import SCHEMA, do_all

logger = logging.getLogger(__name__)
_T = TypeVar("_T")

# One thread and small blocks: the tables are small. DuckDB's pool costs more to start than it saves, and a block of its
# usual size for each column makes megabytes of a few rows.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {"threads": "1", "default_block_size": "16384"}
# To attach the file to an engine that stays takes a millisecond; to start an engine for it takes twenty.
_CONFINEMENT = """
SET allowed_directories = ['{}'];
SET enable_external_access = false;
SET lock_configuration = true;
"""
_ATTACH = "ATTACH '{}' AS record; USE record"
_ATTACH_TO_READ = "ATTACH '{}' AS record (READ_ONLY); USE record"
_DETACH = "USE memory; DETACH record"
_LOCK_ERROR = re.compile(r"Could not set lock|being used by another process|is already attached")
_FIRST_WAIT_SECONDS = 0.005
_LONGEST_WAIT_SECONDS = 0.05
_IDLE_SECONDS = 0.03
"""Twice what it takes to let the file go and take it again: 14 ms, measured on two cores and a fast disk."""
_LONGEST_HOLD_SECONDS = 0.3
"""Some fifty commits of 6 ms: who waits gets in well within a second, and the pause costs a steady writer a quarter."""
_PAUSE_SECONDS = 2 * _LONGEST_WAIT_SECONDS


_DAMAGED = re.compile(r"Corrupt database file|computed checksum")


class RecordFile:
    """One connection at a time, used from one thread. An open connection locks out other processes.

    DuckDB reads the file's header before it locks the file, and not again: what another process writes in between is
    lost. So contend's processes take turns by a lock file.
    """

    def __init__(self, path: Path, lock_seconds: float) -> None:
        self._path = path
        self._turn = FileLock(f"{path}.lock", timeout=0, thread_local=False)
        self._lock_seconds = lock_seconds
        self._engine: duckdb.DuckDBPyConnection | None = None
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._opened_at = 0.0
        self._is_read_only = False
        self._inode: int | None = None
        """The inode of the file known to have all tables."""

    @property
    def idle_seconds(self) -> float:
        """How long the file may stay open without work."""
        return 0.0 if self._connection is None else _IDLE_SECONDS

    def exists(self) -> bool:
        """Raises: StoreError where the folder cannot be read."""
        try:
            return self._path.exists()
        except OSError as error:
            raise self.failure("cannot be read", error) from error

    def connection(self, *, only_reads: bool = False) -> duckdb.DuckDBPyConnection:
        """The connection; opens the file and creates missing tables if necessary.

        `only_reads`: open it also beside another process that only reads.

        Raises:
            StoreLocked: another process held the file for `lock_seconds`.
            StoreError: the file cannot be opened or made.
        """
        if self._is_read_only and not only_reads:
            self.let_go()
        if self._connection is None:
            self._connection = self._connect(only_reads=only_reads)
            self._opened_at = time.monotonic()
        return self._connection

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Commit at the end, roll back on any error.

        Raises:
            StoreError: the file cannot be opened.
            duckdb.Error: a statement or the commit failed.
        """
        connection = self.connection()
        connection.begin()
        try:
            yield connection
            connection.commit()
        except BaseException:
            try:
                connection.rollback()
            except duckdb.Error:
                # After a failed commit DuckDB may refuse this connection for good.
                self.let_go()
            raise

    def let_go(self) -> None:
        """Close the file for other processes; uncommitted changes are lost."""
        connection, self._connection, self._is_read_only = self._connection, None, False
        if connection is not None:
            try:
                connection.execute(_DETACH)
            except duckdb.Error:
                # What fails here may have damaged the engine too: the next one is new.
                self._stop()
            finally:
                self._turn.release()

    def take_turns(self) -> None:
        """After a while of steady work, pause longer than other processes wait between two tries."""
        if self._connection is not None and time.monotonic() - self._opened_at > _LONGEST_HOLD_SECONDS:
            self.let_go()
            time.sleep(_PAUSE_SECONDS)

    def failure(self, what: str, error: Exception) -> StoreError:
        """A one-line `StoreError` for an error; defects of contend are logged in full."""
        reason = str(error).partition("\n")[0]
        if not isinstance(error, duckdb.Error | OSError | ValueError):
            reason = f"{type(error).__name__}: {reason}"
            logger.error("record %s %s", self._path, what, exc_info=error)
        # Which read meets the damage depends on how the file was filled.
        if _DAMAGED.search(reason):
            return self.damaged(reason)
        return StoreError(f"record {self._path} {what}: {reason}")

    def damaged(self, reason: str) -> StoreError:
        """What to say of a file that cannot be read, or not all of it."""
        remedy = "put a copy back, or move it away: its runs are then listed no more"
        return StoreError(f"record {self._path} is cut or damaged; {remedy} ({reason})")

    def _connect(self, *, only_reads: bool) -> duckdb.DuckDBPyConnection:
        waiting = Retrying(
            retry=retry_if_exception(_is_held),
            stop=stop_before_delay(self._lock_seconds),
            # Jitter, so that processes that wait together do not try together.
            wait=wait_random_exponential(_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS),
            reraise=True,
        )
        try:
            return waiting(self._attach_in_turn, only_reads=only_reads)
        except (duckdb.Error, OSError) as error:
            if _is_held(error):
                process = re.search(r"PID (\d+)", str(error))
                holder = f"process {process[1]}" if process else "another process"
                raise StoreLocked(
                    f"record {self._path} is held by {holder}, also after {self._lock_seconds:g} s: "
                    "wait for it or end it, or raise record_lock_seconds"
                ) from error
            if isinstance(error, OSError):
                raise self.failure("cannot be made; mend the folder's rights", error) from error
            raise self.failure("cannot be opened; free disk, mend its rights or move it away", error) from error

    def _attach_in_turn(self, *, only_reads: bool) -> duckdb.DuckDBPyConnection:
        self._turn.acquire()
        try:
            return self._attach(only_reads=only_reads)
        except BaseException as error:
            # The engine first: as long as it has the file, it may write to it.
            if not _is_held(error):
                self._stop()
            self._turn.release()
            raise

    def _attach(self, *, only_reads: bool) -> duckdb.DuckDBPyConnection:
        """Attach for writing if possible, else for reads only: DuckDB allows a writer no other process."""
        if self._engine is None:
            self._engine = duckdb.connect(":memory:", config=_CONFIG)
            self._engine.execute(_naming(self._path.parent, _CONFINEMENT))
        if not self._path.exists():
            self._inode = make_record(self._path, self._engine)
        # Before attaching: a failure after it would leave the file held.
        inode = self._path.stat().st_ino
        try:
            self._engine.execute(_naming(self._path, _ATTACH))
        except duckdb.Error as error:
            if not (only_reads and _is_held(error)):
                raise
            self._engine.execute(_naming(self._path, _ATTACH_TO_READ))
            self._is_read_only = True
            return self._engine
        if inode != self._inode:
            self._engine.execute(SCHEMA)
            self._inode = inode
        return self._engine

    def _stop(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            with suppress(duckdb.Error):
                engine.close()


def make_record(path: Path, engine: duckdb.DuckDBPyConnection) -> int:
    """Create the file with its tables in one step and return its inode; a file created meanwhile stays.

    DuckDB would overwrite a file that another process creates between its check and its own creation.

    Raises:
        OSError, duckdb.Error: it cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        draft = Path(folder) / path.name
        engine.execute(_naming(draft, _ATTACH))
        engine.execute(SCHEMA)
        engine.execute(_DETACH)
        inode = draft.stat().st_ino
        with suppress(OSError):  # another process was first, or the disk knows no links and DuckDB makes it
            os.link(draft, path)
    return inode


def _naming(path: Path, statement: str) -> str:
    return statement.format(str(path).replace("'", "''"))


def _is_held(error: BaseException) -> bool:
    return isinstance(error, Timeout) or (
        isinstance(error, duckdb.Error) and _LOCK_ERROR.search(str(error)) is not None
    )


Work = Callable[[duckdb.DuckDBPyConnection], _T]


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """A unit of work on the record."""

    what: str
    """For messages."""
    work: Work[Any] | None = None
    """None: close the file."""
    future: Future[Any] | None = None
    """None: nobody waits, and a failure is logged."""
    writes: bool = False
    creates: bool = False
    """It creates the file if missing."""

    def start(self) -> bool:
        """Whether to run it: not if its caller was cancelled, unless it writes."""
        return self.future is None or self.future.set_running_or_notify_cancel() or self.writes

    def settle(self, value: object) -> None:
        if self.future is not None and not self.future.cancelled():
            self.future.set_result(value)

    def fail(self, error: StoreError) -> None:
        if self.future is None:
            logger.warning("%s", error)
        elif not self.future.cancelled():
            self.future.set_exception(error)


class RecordThread:
    """Takes jobs from any thread. Its own thread starts with a job, and closes the file and ends when idle.

    Queued writes are committed together, before reads. Jobs that nobody waits for run with the next one that somebody
    waits for, or after `moment_seconds`, and stay queued while the file cannot be written.
    """

    def __init__(self, file: RecordFile, *, moment_seconds: float = 0.25) -> None:
        self._file = file
        self._moment_seconds = moment_seconds
        self._wake = Condition()
        self._queue: list[Job] = []
        self._pending_writes: list[Job] = []
        self._refusal: StoreError | None = None
        self._thread: Thread | None = None

    def submit(self, job: Job) -> None:
        with self._wake:
            self._queue.append(job)
            if self._thread is None:
                # Not a daemon: the interpreter's exit waits for what is queued.
                self._thread = Thread(target=self._run, name="contend-record")
                self._thread.start()
            self._wake.notify()

    def _run(self) -> None:
        jobs: list[Job] = []
        try:
            while True:
                jobs = self._take()
                if jobs:
                    self._do([job for job in jobs if job.start()])
                    self._file.take_turns()
                    continue
                self._file.let_go()
                if self._ended():
                    return
        except BaseException:
            # Only here: once this thread has ended, the next one owns the queue and the file.
            self._abandon(jobs)
            raise

    def _take(self) -> list[Job]:
        with self._wake:
            moment = self._moment_seconds if self._queue else self._file.idle_seconds
            self._wake.wait_for(lambda: any(job.future is not None for job in self._queue), timeout=moment)
            jobs, self._queue = self._queue, []
        if jobs:
            jobs, self._pending_writes = [*self._pending_writes, *jobs], []
        return jobs

    def _ended(self) -> bool:
        with self._wake:
            if not self._queue:
                self._thread = None
            return self._thread is None

    def _abandon(self, jobs: list[Job]) -> None:
        """After a defect of contend: fail the jobs that somebody waits for, keep the other writes."""
        try:
            self._file.let_go()
        finally:
            with self._wake:
                jobs, self._queue, self._thread = [*jobs, *self._queue], [], None
                unfinished = [job for job in jobs if job.future is None or not job.future.done()]
                self._refuse(unfinished, StoreError("the record's thread ended by a defect of contend's"))

    def _do(self, jobs: list[Job]) -> None:
        writes = [job for job in jobs if job.writes]
        work = [*writes, *(job for job in jobs if job.work and not job.writes)]
        try:
            if work and (any(job.creates for job in work) or self._file.exists()):
                self._file.connection(only_reads=not writes)
                self._commit(writes)
                self._read(work[len(writes) :])
            else:
                for job in work:
                    job.settle(None)
        except StoreError as error:
            self._refuse(work, error)
        self._close([job for job in jobs if job.work is None])

    def _commit(self, jobs: list[Job], *, as_new: bool = True) -> None:
        """Insert in one transaction; fall back to upserts if a row exists.

        If that fails, commit each job on its own, so that a bad one does not affect the others.
        """
        if not jobs:
            return
        try:
            with self._file.transaction() as connection:
                values = do_all((job.work for job in jobs), connection, as_new=as_new)
        except StoreError as error:
            self._refuse(jobs, error)
        except Exception as error:  # noqa: BLE001 - a defect of ours in one's work spoils no other, either
            if as_new and isinstance(error, duckdb.ConstraintException):
                self._commit(jobs, as_new=False)
                return
            if len(jobs) > 1:
                for job in jobs:
                    self._commit([job], as_new=as_new)
                return
            failure = self._file.failure(f"did not take {jobs[0].what}", error)
            if isinstance(error, duckdb.OperationalError | duckdb.FatalException | duckdb.InternalError):
                self._refuse(jobs, failure)
            else:
                jobs[0].fail(failure)
        else:
            for job, value in zip(jobs, values, strict=True):
                job.settle(value)

    def _refuse(self, jobs: list[Job], error: StoreError) -> None:
        """The file failed: fail the jobs that somebody waits for, keep the other writes."""
        self._refusal = error
        self._pending_writes += [job for job in jobs if job.future is None]
        for job in jobs:
            if job.future is not None:
                job.fail(error)
        if self._pending_writes:
            logger.warning("%s (%d writes wait)", error, len(self._pending_writes))

    def _read(self, jobs: list[Job]) -> None:
        for job in jobs:
            try:
                job.settle(job.work(self._file.connection(only_reads=True)) if job.work else None)
            except StoreError as error:
                job.fail(error)
            except Exception as error:  # noqa: BLE001 - the same
                job.fail(self._file.failure(f"did not give {job.what}", error))

    def _close(self, jobs: list[Job]) -> None:
        if not jobs:
            return
        self._file.let_go()
        for job in jobs:
            if self._pending_writes and self._refusal:
                job.fail(self._refusal)
            else:
                job.settle(None)
