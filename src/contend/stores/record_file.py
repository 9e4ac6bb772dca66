"""The record's DuckDB file: opened when needed, waited for while another process has it, let go again."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from filelock import FileLock, Timeout
from tenacity import Retrying, retry_if_exception, stop_before_delay, wait_random_exponential

from contend.errors import StoreError, StoreLocked
from contend.stores.record_schema import SCHEMA

# One thread and small blocks: the tables are small. DuckDB's pool costs more to start than it saves, and a block of its
# usual size for each column makes megabytes of a few rows.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {"threads": "1", "default_block_size": "16384"}
# To attach the file to an engine that stays takes a millisecond; to start an engine for it takes twenty.
_CONFINED = """
SET allowed_directories = ['{folder}'];
SET enable_external_access = false;
SET lock_configuration = true;
"""
_ATTACH = "ATTACH '{file}' AS record; USE record"
_DETACH = "USE memory; DETACH record"
_LOCKED = re.compile(r"Could not set lock|being used by another process|is already attached")
_FIRST_WAIT_SECONDS = 0.005
_LONGEST_WAIT_SECONDS = 0.05
_IDLE_SECONDS = 0.03
"""Twice what it takes to let the file go and take it again: 14 ms, measured on two cores and a fast disk."""
_LONGEST_HOLD_SECONDS = 0.3
"""Some fifty commits of 6 ms: who waits gets in well within a second, and the pause costs a steady writer a quarter."""
_PAUSE_SECONDS = 2 * _LONGEST_WAIT_SECONDS


class RecordFile:
    """One connection at a time, used from one thread. An open connection locks other processes out.

    DuckDB reads the file's head before it locks it, and not again: what another process writes between the two is lost.
    So contend's processes take turns by a lock of their own.
    """

    def __init__(self, path: Path, lock_seconds: float) -> None:
        self._path = path
        self._turn = FileLock(f"{path}.lock", timeout=0, thread_local=False)
        self._lock_seconds = lock_seconds
        self._engine: duckdb.DuckDBPyConnection | None = None
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._opened_at = 0.0
        self._inode: int | None = None
        """Of the file that has all tables."""

    @property
    def idle_seconds(self) -> float:
        """How long it may stay open without work."""
        return 0.0 if self._connection is None else _IDLE_SECONDS

    def exists(self) -> bool:
        """Raises: StoreError where the folder cannot be read."""
        try:
            return self._path.exists()
        except OSError as error:
            raise self.failure("cannot be read", error) from error

    def connection(self) -> duckdb.DuckDBPyConnection:
        """The open connection, opened and with all tables if need be.

        Raises:
            StoreLocked: another process held the file for `lock_seconds`.
            StoreError: the file cannot be opened or made.
        """
        if self._connection is None:
            self._connection = self._opened()
            self._opened_at = time.monotonic()
        return self._connection

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Commits at the end, rolls back on any error.

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
            self._roll_back(connection)
            raise

    def let_go(self) -> None:
        """Closes the file, so that other processes get in; what was not committed is gone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.execute(_DETACH)
            except duckdb.Error:
                # What fails here may have damaged the engine too: the next one is new.
                self._stop()
            finally:
                self._turn.release()

    def take_turns(self) -> None:
        """Lets waiting processes in after a while of steady work: the pause is longer than any of their waits."""
        if self._connection is not None and time.monotonic() - self._opened_at > _LONGEST_HOLD_SECONDS:
            self.let_go()
            time.sleep(_PAUSE_SECONDS)

    def failure(self, what: str, error: Exception) -> StoreError:
        """A `StoreError` of one line for an error from below."""
        reason = str(error).partition("\n")[0]
        return StoreError(f"record {self._path} {what}: {reason}")

    def _roll_back(self, connection: duckdb.DuckDBPyConnection) -> None:
        try:
            connection.rollback()
        except duckdb.Error:
            # After a failed commit DuckDB may refuse this connection for good.
            self.let_go()

    def _opened(self) -> duckdb.DuckDBPyConnection:
        waiting = Retrying(
            retry=retry_if_exception(_is_held),
            stop=stop_before_delay(self._lock_seconds),
            # Jitter, so that processes that wait together do not try together.
            wait=wait_random_exponential(_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS),
            reraise=True,
        )
        try:
            return waiting(self._attached)
        except (duckdb.Error, OSError) as error:
            if _is_held(error):
                raise self._locked(error) from error
            remedy = (
                "made; mend the folder's rights"
                if isinstance(error, OSError)
                else "opened; free disk, mend its rights or move it away"
            )
            raise self.failure(f"cannot be {remedy}", error) from error

    def _attached(self) -> duckdb.DuckDBPyConnection:
        self._turn.acquire()
        try:
            return self._attach()
        except BaseException as error:
            # The engine first: as long as it has the file, it may write to it.
            if not _is_held(error):
                self._stop()
            self._turn.release()
            raise

    def _attach(self) -> duckdb.DuckDBPyConnection:
        if self._engine is None:
            self._engine = duckdb.connect(":memory:", config=_CONFIG)
            self._engine.execute(_CONFINED.format(folder=_quoted(self._path.parent)))
        if not self._path.exists():
            self._inode = make_record(self._path, self._engine)
        # Looked at first: what fails once the file is attached would leave it held.
        inode = self._path.stat().st_ino
        self._engine.execute(_ATTACH.format(file=_quoted(self._path)))
        if inode != self._inode:
            self._engine.execute(SCHEMA)
            self._inode = inode
        return self._engine

    def _stop(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            with suppress(duckdb.Error):
                engine.close()

    def _locked(self, error: Exception) -> StoreLocked:
        match = re.search(r"PID (\d+)", str(error))
        holder = f"process {match[1]}" if match else "another process"
        return StoreLocked(
            f"record {self._path} is held by {holder}, also after {self._lock_seconds:g} s: "
            "wait for it or end it, or raise record_lock_seconds"
        )


def make_record(path: Path, engine: duckdb.DuckDBPyConnection) -> int:
    """Makes the file, with its tables and whole; one that another process made meanwhile stays. The inode of ours.

    DuckDB begins a file anew that was not there when it looked, also where another process has written to it by then.

    Raises:
        OSError, duckdb.Error: it cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        draft = Path(folder) / path.name
        engine.execute(_ATTACH.format(file=_quoted(draft)))
        engine.execute(SCHEMA)
        engine.execute(_DETACH)
        inode = draft.stat().st_ino
        with suppress(OSError):  # another process was first, or the disk knows no links and DuckDB makes it
            os.link(draft, path)
    return inode


def _is_held(error: BaseException) -> bool:
    return isinstance(error, Timeout) or (isinstance(error, duckdb.Error) and _LOCKED.search(str(error)) is not None)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
