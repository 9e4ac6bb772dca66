"""The record while other processes hold it, die with it, or the disk refuses it."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from filelock import FileLock, Timeout

from contend.errors import StoreError, StoreLocked
from contend.models.task import CallUsage, ExecutionRow
from contend.stores.record import RecordStore
from contend.stores.record_file import RecordFile, make_record
from fakes.disk import file_size_limit
from fakes.record_rows import make_earlier_record

WRITER = """
import asyncio, sys
from pathlib import Path
from contend.models.task import ExecutionRow
from contend.stores.record import RecordStore

async def write(path, name, count):
    store = RecordStore(Path(path), lock_seconds=240)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(count)):
        await store.start_execution(ExecutionRow(execution_id=f"{name}-{number}", thread_id=name, theme="hum"))
    await store.close()

asyncio.run(write(*sys.argv[1:]))
"""

STEADY_WRITER = """
import asyncio, sys
from pathlib import Path
from contend.models.task import ExecutionRow
from contend.stores.record import RecordStore

async def write(path):
    store = RecordStore(Path(path), lock_seconds=240)
    for number in range(1_000_000):
        await store.start_execution(ExecutionRow(execution_id="steady", thread_id="steady", theme="hum"))
        if number == 0:
            print("writing", flush=True)

asyncio.run(write(sys.argv[1]))
"""

HOLDER = """
import sys, time, duckdb
connection = duckdb.connect(sys.argv[1])
print("holding", flush=True)
time.sleep(float(sys.argv[2]))
"""

READER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
print("reading", flush=True)
sys.stdin.read()
"""

CUT_OFF = """
import asyncio, os, signal, sys
from pathlib import Path
from contend.models.task import ExecutionRow
from contend.stores.record import RecordStore

async def write(path):
    store = RecordStore(Path(path))
    await store.start_execution(ExecutionRow(execution_id="kept", thread_id="t", theme="hum"))
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(write(sys.argv[1]))
"""

LEAVER = """
import asyncio, sys
from pathlib import Path
from contend.models.task import CallUsage
from contend.stores.record import RecordStore

call = CallUsage(call_key="k", role="writer", model="m", input_tokens=1, output_tokens=1, milliseconds=1)
asyncio.run(RecordStore(Path(sys.argv[1])).save_usage("run", "a", 1, [call]))
"""

CALL = CallUsage(call_key="k", role="writer", model="m", input_tokens=1, output_tokens=1, milliseconds=1)


def execution(execution_id: str = "mine", *, theme: str = "hum") -> ExecutionRow:
    return ExecutionRow(execution_id=execution_id, thread_id="thread", theme=theme)


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - code of this test


@contextmanager
def running(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A child that has said its first line; killed at the end."""
    with start(code, *arguments) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline()
            yield child
        finally:
            child.kill()


def has_log(path: Path) -> bool:
    return path.with_name(f"{path.name}.wal").stat().st_size > 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "contend.duckdb"


async def test_two_processes_write_at_once_while_a_third_reads(path: Path) -> None:
    reader, counts = RecordStore(path, lock_seconds=240), [0]
    with running(WRITER, path, "one", 400) as one, running(WRITER, path, "two", 400) as two:
        for writer in (one, two):
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        while one.poll() is None or two.poll() is None:
            counts.append(len(await reader.executions(limit=1000)))
            await asyncio.sleep(0.3)

    rows = await reader.executions(limit=1000)
    assert (one.returncode, two.returncode, len(rows)) == (0, 0, 800)
    assert counts == sorted(counts)
    first = {name: min(row.created_at for row in rows if row.thread_id == name) for name in ("one", "two")}
    last = {name: max(row.created_at for row in rows if row.thread_id == name) for name in ("one", "two")}
    assert max(first.values()) < min(last.values()), "they did not write at the same time"
    await reader.close()


async def test_two_processes_write_to_a_record_of_an_earlier_release_at_once(path: Path) -> None:
    make_earlier_record(path)
    with running(WRITER, path, "one", 20) as one, running(WRITER, path, "two", 20) as two:
        for writer in (one, two):
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        codes = (one.wait(240), two.wait(240))

    store = RecordStore(path)
    rows = await store.executions(limit=1000)
    await store.close()
    assert (codes, len(rows)) == ((0, 0), 41)
    assert {row.published for row in rows} == {None}


async def test_a_record_of_an_earlier_release_is_read_beside_a_process_that_only_reads_it(path: Path) -> None:
    make_earlier_record(path)
    store = RecordStore(path, lock_seconds=0.1)
    with running(READER, path):
        (row,) = await store.executions()
    await store.close()

    assert (row.winner_team_id, row.published) == ("a", None)


async def test_a_record_that_another_process_made_meanwhile_is_not_begun_anew(path: Path) -> None:
    store = RecordStore(path)
    await store.start_execution(execution())
    await store.close()

    with duckdb.connect() as engine:
        make_record(path, engine)

    assert await store.execution("mine") is not None
    await store.close()
    assert {*path.parent.iterdir()} == {path, path.with_name("contend.duckdb.lock")}


def test_a_process_that_has_the_record_keeps_others_from_looking_at_it(path: Path) -> None:
    """DuckDB reads a file's head before it locks it: whoever looked while another wrote lost what that wrote."""
    file, turn = RecordFile(path, lock_seconds=1), FileLock(f"{path}.lock", timeout=0)
    file.connection()
    with pytest.raises(Timeout):
        turn.acquire()

    file.let_go()
    with turn, pytest.raises(StoreLocked, match="is held by another process"):
        file.connection()

    file.connection()
    file.let_go()


async def test_a_steady_writer_lets_others_in(path: Path) -> None:
    store = RecordStore(path, lock_seconds=240)
    with running(STEADY_WRITER, path):
        await store.start_execution(execution())

    assert await store.execution("mine") is not None
    await store.close()


async def test_a_held_file_is_told_with_its_holder_within_the_bound(path: Path) -> None:
    with running(HOLDER, path, 60) as holder:
        with pytest.raises(StoreLocked, match=rf"{path} is held by process {holder.pid}, .*record_lock_seconds"):
            await RecordStore(path, lock_seconds=0.5).executions()
        assert holder.poll() is None


async def test_waiting_for_a_held_file_does_not_stop_the_event_loop(path: Path) -> None:
    store = RecordStore(path, lock_seconds=0.6)
    with running(HOLDER, path, 60):
        writing, turns = asyncio.create_task(store.start_execution(execution())), 0
        while not writing.done():
            await asyncio.sleep(0)
            turns += 1

    assert isinstance(writing.exception(), StoreLocked)
    assert turns > 20


async def test_a_file_that_is_let_go_in_time_is_written(path: Path) -> None:
    store = RecordStore(path, lock_seconds=240)
    with running(HOLDER, path, 1):
        await store.start_execution(execution())

    assert await store.execution("mine") is not None
    await store.close()


async def test_queued_writes_wait_until_the_file_is_let_go(path: Path) -> None:
    store = RecordStore(path, lock_seconds=0.2)
    with running(HOLDER, path, 60):
        await store.save_usage("run", "a", 1, [CALL])
        with pytest.raises(StoreLocked):
            await store.start_execution(execution())

    assert (await store.usage("run")).requests == 1
    assert await store.execution("mine") is None
    await store.close()


async def test_closing_while_the_file_is_held_tells_and_can_be_tried_again(path: Path) -> None:
    store = RecordStore(path, lock_seconds=0.2)
    with running(HOLDER, path, 60) as holder:
        await store.save_usage("run", "a", 1, [CALL])
        with pytest.raises(StoreLocked, match=f"process {holder.pid}"):
            await store.close()

    await store.close()
    assert (await store.usage("run")).requests == 1
    await store.close()


async def test_what_was_committed_survives_a_kill(path: Path) -> None:
    with start(CUT_OFF, path) as child:
        assert child.wait() == -signal.SIGKILL
    assert has_log(path)

    store = RecordStore(path)
    assert await store.execution("kept") is not None
    await store.start_execution(execution())
    await store.close()


async def test_a_process_that_ends_without_closing_loses_no_queued_write(path: Path) -> None:
    with start(LEAVER, path) as child:
        assert child.wait() == 0

    store = RecordStore(path)
    assert (await store.usage("run")).requests == 1
    await store.close()


async def test_a_full_disk_is_told_and_what_stood_before_is_kept(path: Path) -> None:
    store = RecordStore(path)
    await store.start_execution(execution("before"))
    await store.close()
    with file_size_limit(100_000), pytest.raises(StoreError, match=f"record {path}"):
        await store.start_execution(execution(theme=os.urandom(200_000).hex()))

    assert [row.execution_id for row in await store.executions()] == ["before"]
    await store.start_execution(execution("after"))
    assert len(await store.executions()) == 2
    await store.close()


async def test_a_full_disk_without_room_for_the_tables_is_told_and_they_are_made_later(path: Path) -> None:
    duckdb.connect(path).close()
    store = RecordStore(path, lock_seconds=1)
    with file_size_limit(1000), pytest.raises(StoreError, match="cannot be opened; free disk"):
        await store.executions()

    assert await store.executions() == []
    await store.close()


async def test_a_full_disk_loses_no_queued_write(path: Path) -> None:
    store = RecordStore(path)
    await store.start_execution(execution("before"))
    await store.close()
    with file_size_limit(100_000):
        await store.save_usage("run", os.urandom(200_000).hex(), 1, [CALL])
        with pytest.raises(StoreError, match="did not take the usage of team"):
            await store.close()

    assert (await store.usage("run")).requests == 1
    await store.close()
