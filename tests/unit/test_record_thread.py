import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import duckdb
import pytest

from contend.errors import StoreError, StoreLocked
from contend.stores.record import RecordStore
from contend.stores.record_file import Job, RecordFile, RecordThread, Work
from contend.stores.record_schema import set_pairwise
from fakes.record_rows import NAN, RUN, call, decision, evaluation, execution, rows_in, submission


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workspace" / "contend.duckdb"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[RecordStore]:
    opened = RecordStore(path, lock_seconds=60.0)
    yield opened
    await opened.close()


def spoil(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("not a database " * 500)


def seen_by_another_process(path: Path, table: str, *, seconds: float) -> bool:
    """Whether the table has a row within the time, while this process leaves the file alone."""
    count = f"SELECT count(*) FROM {table}"  # noqa: S608 - names of this test
    code = f"import duckdb; print(duckdb.connect({str(path)!r}).execute({count!r}).fetchone()[0])"
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        process = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)  # noqa: S603 - our own
        if process.stdout.strip() not in {b"", b"0"}:
            return True
    return False


async def test_closing_an_unused_store_makes_no_file(path: Path) -> None:
    await RecordStore(path).close()

    assert not path.parent.exists()


async def test_a_bad_write_loses_no_queued_one(store: RecordStore) -> None:
    await store.save_usage(RUN, "a", 1, [call("before")])
    await store.save_round_status(decision().model_copy(update={"confidence": 7.0}))
    await store.save_usage(RUN, "a", 1, [call("after")])

    assert (await store.usage(RUN)).requests == 2


async def test_a_bad_write_fails_alone_among_writes_at_the_same_time(store: RecordStore, path: Path) -> None:
    bad = evaluation(0.5).model_copy(update={"score": NAN})
    outcomes = await asyncio.gather(
        store.save_evaluation(evaluation(0.5, team_id="b")),
        store.save_evaluation(bad),
        store.save_evaluation(evaluation(0.6, team_id="c")),
        return_exceptions=True,
    )

    assert [type(outcome) for outcome in outcomes] == [type(None), StoreError, type(None)]
    assert [entry.team_id for entry in await store.leaderboard(RUN)] == []
    await store.close()
    assert len(rows_in(path, "leader_board")) == 2


async def test_closing_writes_what_is_queued_and_lets_go_of_the_file(store: RecordStore, path: Path) -> None:
    await store.save_usage(RUN, "a", 1, [call("one")])
    await store.close()

    assert len(rows_in(path, "usage")) == 1


async def test_a_closed_store_opens_again_when_it_is_used(store: RecordStore) -> None:
    await store.start_execution(execution())
    await store.close()

    assert await store.execution(RUN) is not None


async def test_queued_writes_reach_the_file_without_anybody_asking(store: RecordStore, path: Path) -> None:
    await store.save_usage(RUN, "a", 1, [call("one")])

    assert await asyncio.to_thread(seen_by_another_process, path, "usage", seconds=100)


async def test_a_write_that_nobody_waits_for_goes_with_the_next_one(path: Path) -> None:
    thread, done = RecordThread(RecordFile(path, lock_seconds=60.0), moment_seconds=60), Future[None]()
    transactions: list[object] = []

    def note(connection: duckdb.DuckDBPyConnection) -> None:
        transactions.append(connection.execute("SELECT txid_current()").fetchone())

    thread.submit(Job(what="one that nobody waits for", work=note, writes=True, creates=True))
    await asyncio.sleep(0.05)
    thread.submit(Job(what="the next", work=note, future=done, writes=True, creates=True))
    await asyncio.wrap_future(done)

    first, second = transactions
    assert first == second


def test_a_store_serves_one_event_loop_after_another(path: Path) -> None:
    store = RecordStore(path)
    asyncio.run(store.start_execution(execution()))

    assert asyncio.run(store.execution(RUN)) == execution()
    asyncio.run(store.close())


async def test_two_stores_of_one_process_share_a_file(store: RecordStore, path: Path) -> None:
    other = RecordStore(path)
    await asyncio.gather(store.start_execution(execution("one")), other.start_execution(execution("two")))

    assert len(await store.executions()) == 2
    await other.close()


async def test_a_durable_write_whose_caller_is_cancelled_is_written(store: RecordStore) -> None:
    writing = asyncio.create_task(store.save_submission(submission()))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing

    assert len(await store.rounds(RUN, "a")) == 1


def row(team: str) -> Job:
    """A write that nobody waits for."""
    return Job(what=f"the row of team {team}", work=partial(set_pairwise, team, {team: 1.0}), writes=True, creates=True)


async def result(thread: RecordThread, what: str, work: Work[object] | None = None, *, writes: bool = False) -> object:
    done = Future[object]()
    thread.submit(Job(what=what, work=work, future=done, writes=writes, creates=writes))
    return await asyncio.wrap_future(done)


@pytest.mark.parametrize("writes", [True, False])
async def test_a_defect_in_work_on_the_record_is_told_and_costs_no_other_row(
    path: Path, caplog: pytest.LogCaptureFixture, *, writes: bool
) -> None:
    thread = RecordThread(RecordFile(path, lock_seconds=0.05), moment_seconds=60)
    holder = RecordFile(path, lock_seconds=60.0)
    holder.connection()
    thread.submit(row("before"))
    with pytest.raises(StoreLocked):
        await result(thread, "all", lambda _: None, writes=True)
    started = [each for each in threading.enumerate() if each.name == "contend-record"]
    for each in started:
        await asyncio.to_thread(each.join, 10)
    works_on = any(each.is_alive() for each in started)
    holder.let_go()
    assert not works_on, "a write that waits for the file would keep the process from its end"

    thread.submit(row("with it"))
    with pytest.raises(StoreError, match="a defect: ZeroDivisionError: division by zero"):
        await result(thread, "a defect", lambda _: 1 / 0, writes=writes)
    thread.submit(row("after"))

    await result(thread, "closing")
    assert len(rows_in(path, "pairwise")) == 3
    assert [record.levelname for record in caplog.records if record.exc_info] == ["ERROR"]


class Broken(RecordFile):
    """A file with a defect, until it is whole; what `meanwhile` does is done while it is opened."""

    whole = False
    meanwhile: Callable[[], object]

    def connection(self, *, only_reads: bool = False) -> duckdb.DuckDBPyConnection:
        if not self.whole:
            self.meanwhile()
            raise ZeroDivisionError
        return super().connection(only_reads=only_reads)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_defect_that_ends_the_records_thread_leaves_nobody_waiting_and_costs_no_row(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = Broken(path, lock_seconds=60.0)
    thread = RecordThread(file, moment_seconds=60)
    late = Future[object]()
    file.meanwhile = lambda: thread.submit(Job(what="one more", work=lambda _: None, future=late))
    thread.submit(row("before"))
    started = [each for each in threading.enumerate() if each.name == "contend-record"]
    with pytest.raises(StoreError, match="the record's thread ended by a defect"):
        await result(thread, "all", lambda _: None, writes=True)
    for each in started:
        await asyncio.to_thread(each.join)
    with pytest.raises(StoreError, match="the record's thread ended by a defect"):
        late.result(timeout=0)
    file.whole = True
    thread.submit(row("after"))

    await result(thread, "closing")
    assert len(rows_in(path, "pairwise")) == 2
    assert "(1 writes wait)" in caplog.text


async def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    spoil(path)

    with pytest.raises(StoreError, match=rf"record {path} cannot be opened; .*move it away"):
        await RecordStore(path).executions()


async def test_a_workspace_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "contend.duckdb"

    with pytest.raises(StoreError, match=rf"record {path} cannot be made; mend the folder's rights"):
        await RecordStore(path).start_execution(execution())


def test_a_file_that_another_store_of_the_process_holds_is_held(path: Path) -> None:
    holder, other = RecordFile(path, lock_seconds=1.0), RecordFile(path, lock_seconds=0.1)
    holder.connection()

    with pytest.raises(StoreLocked, match="is held by another process"):
        other.connection()

    holder.let_go()
    other.connection()
    other.let_go()


async def test_a_workspace_may_have_an_apostrophe_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "o'neil's" / "contend.duckdb"
    store = RecordStore(path)

    await store.start_execution(execution())

    await store.close()
    assert len(rows_in(path, "execution")) == 1


async def test_a_file_that_took_the_records_place_gets_its_tables(store: RecordStore, path: Path) -> None:
    await store.start_execution(execution())
    await store.close()
    other = path.with_name("other.duckdb")
    duckdb.connect(other).close()
    other.replace(path)

    assert await store.executions() == []


def test_sql_reaches_no_other_file_and_cannot_allow_itself_to(path: Path) -> None:
    file = RecordFile(path, lock_seconds=1.0)
    connection = file.connection()

    with pytest.raises(duckdb.PermissionException):
        connection.execute("SELECT * FROM read_text('/etc/hostname')")
    with pytest.raises(duckdb.InvalidInputException, match="locked"):
        connection.execute("SET enable_external_access = true")
    file.let_go()


@pytest.fixture
def _eager_threads() -> Iterator[None]:
    """Threads take turns at nearly every step, as on a machine with too much to do."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("_eager_threads")
def test_work_that_comes_when_the_records_thread_is_ending_is_done(path: Path) -> None:
    # Without a file its thread ends after each job: another comes while it does.
    thread = RecordThread(RecordFile(path, lock_seconds=1.0))

    def ask(_: int) -> bool:
        done = Future[object]()
        thread.submit(Job(what="a question", work=lambda _: False, future=done))
        return done.result(timeout=100) is None

    with ThreadPoolExecutor(4) as askers:
        assert all(askers.map(ask, range(5_000)))
