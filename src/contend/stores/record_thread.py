"""The thread that does all work on the record, so that the event loop never waits and one process is one writer."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from threading import Condition, Thread
from typing import Any, TypeVar

import duckdb

from contend.errors import StoreError
from contend.stores.record_file import RecordFile
from contend.stores.record_schema import Rows, together

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
Work = Callable[[duckdb.DuckDBPyConnection], _T]


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """Work on the record."""

    what: str
    """For messages."""
    work: Work[Any] | None = None
    done: Future[Any] | None = None
    """Without it nobody waits for the job: its failure is logged."""
    writes: bool = False
    creates: bool = False
    """It makes the file if there is none."""
    closes: bool = False
    """It lets go of the file."""

    def taken(self) -> bool:
        """Whether it is still wanted: a write is, also when its caller was cancelled."""
        return self.done is None or self.done.set_running_or_notify_cancel() or self.writes

    def settle(self, value: object) -> None:
        if self.done is not None and not self.done.cancelled():
            self.done.set_result(value)

    def fail(self, error: StoreError) -> None:
        if self.done is None:
            logger.warning("%s", error)
        elif not self.done.cancelled():
            self.done.set_exception(error)


class RecordThread:
    """Takes jobs from any thread. Its own thread begins with a job and ends, letting go of the file, when idle.

    All writes that are queued are committed at once; reads come after them. Jobs that nobody waits for go with the next
    that somebody waits for, or after `moment_seconds`, and stay queued while the file cannot be written.
    """

    def __init__(self, file: RecordFile, *, moment_seconds: float = 0.25) -> None:
        self._file = file
        self._moment_seconds = moment_seconds
        self._wake = Condition()
        self._queue: list[Job] = []
        self._kept: list[Job] = []
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
                    self._do([job for job in jobs if job.taken()])
                    self._file.take_turns()
                    continue
                self._file.let_go()
                if self._ended():
                    return
        except BaseException:
            # Only here: once this thread has ended, the queue and the file are the next one's.
            self._abandon(jobs)
            raise

    def _take(self) -> list[Job]:
        with self._wake:
            moment = self._moment_seconds if self._queue else self._file.idle_seconds
            self._wake.wait_for(lambda: any(job.done is not None for job in self._queue), timeout=moment)
            jobs, self._queue = self._queue, []
        return jobs

    def _ended(self) -> bool:
        with self._wake:
            if not self._queue:
                self._thread = None
            return self._thread is None

    def _abandon(self, jobs: list[Job]) -> None:
        """After a defect of ours nobody is left waiting for ever."""
        with self._wake:
            jobs_left, self._queue, self._thread = [*jobs, *self._queue], [], None
        self._file.let_go()
        for job in jobs_left:
            if job.done is None or not job.done.done():
                job.fail(StoreError(f"{job.what} was given up: the record's thread ended"))

    def _do(self, jobs: list[Job]) -> None:
        writes = [*self._kept, *(job for job in jobs if job.writes)]
        reads = [job for job in jobs if job.work and not job.writes]
        self._kept = []
        try:
            is_open = self._opened([*writes, *reads])
        except StoreError as error:
            self._refuse([*writes, *reads], error)
        else:
            if is_open:
                self._commit(writes)
                self._read(reads)
        self._close([job for job in jobs if job.closes])

    def _opened(self, jobs: list[Job]) -> bool:
        """Whether there is a file to work on, opened; if not, the jobs give None."""
        if jobs and (any(job.creates for job in jobs) or self._file.exists()):
            self._file.connection()
            return True
        for job in jobs:
            job.settle(None)
        return False

    def _commit(self, jobs: list[Job], *, as_new: bool = True) -> None:
        """All in one transaction, as rows that are new; where some are not, as any.

        If that fails, each in its own, so that a bad one spoils no other.
        """
        if not jobs:
            return
        try:
            with self._file.transaction() as connection:
                values = _done(jobs, connection, as_new=as_new)
        except StoreError as error:
            self._refuse(jobs, error)
        except duckdb.Error as error:
            if as_new and isinstance(error, duckdb.ConstraintException):
                self._commit(jobs, as_new=False)
                return
            if len(jobs) == 1:
                self._fail_write(jobs[0], error)
                return
            for job in jobs:
                self._commit([job], as_new=as_new)
        else:
            for job, value in zip(jobs, values, strict=True):
                job.settle(value)

    def _fail_write(self, job: Job, error: duckdb.Error) -> None:
        failure = self._file.failure(f"did not take {job.what}", error)
        if isinstance(error, duckdb.OperationalError | duckdb.FatalException | duckdb.InternalError):
            self._refuse([job], failure)
        else:
            job.fail(failure)

    def _refuse(self, jobs: list[Job], error: StoreError) -> None:
        """The file is to blame: who waits is told, the other writes stay for the next time."""
        self._refusal = error
        self._kept += [job for job in jobs if job.done is None]
        for job in jobs:
            if job.done is not None:
                job.fail(error)
        if self._kept:
            logger.warning("%s (%d writes wait)", error, len(self._kept))

    def _read(self, jobs: list[Job]) -> None:
        for job in jobs:
            try:
                job.settle(job.work(self._file.connection()) if job.work else None)
            except StoreError as error:
                job.fail(error)
            except (duckdb.Error, ValueError) as error:
                job.fail(self._file.failure(f"did not give {job.what}", error))

    def _close(self, jobs: list[Job]) -> None:
        if not jobs:
            return
        self._file.let_go()
        for job in jobs:
            if self._kept and self._refusal:
                job.fail(self._refusal)
            else:
                job.settle(None)


def _done(jobs: list[Job], connection: duckdb.DuckDBPyConnection, *, as_new: bool) -> list[Any]:
    """What each job's work gave, in turn; rows for the same table that follow each other are written as one."""
    values: list[Any] = []
    for _, run in groupby((job.work for job in jobs), key=lambda work: isinstance(work, Rows)):
        works = list(run)
        for rows in together(work for work in works if isinstance(work, Rows)):
            rows(connection, as_new=as_new)
        values += [None if work is None or isinstance(work, Rows) else work(connection) for work in works]
    return values
