"""Checkpoints in a SQLite file."""

import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import validate
from langgraph.checkpoint.conformance.initializer import RegisteredCheckpointer

from contend.errors import CheckpointError
from contend.stores.checkpoints import PackedSerializer, ThreadedSqliteSaver, open_sqlite_saver

THREAD: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "workspace" / "checkpoints.sqlite"


@pytest.fixture
async def saver(file: Path) -> AsyncIterator[ThreadedSqliteSaver]:
    async with open_sqlite_saver(file, PackedSerializer()) as saver:
        yield saver


async def save(saver: ThreadedSqliteSaver, steps: int) -> list[RunnableConfig]:
    """The configs of so many checkpoints, one after another."""
    configs: list[RunnableConfig] = []
    for step in range(steps):
        before = configs[-1] if configs else THREAD
        metadata: Any = {"source": "loop", "step": step, "parents": {}}
        configs.append(await saver.aput(before, empty_checkpoint(), metadata, {}))
    return configs


async def list_steps(saver: ThreadedSqliteSaver, **given: Any) -> list[int]:  # noqa: ANN401 - as the saver has it
    return [snapshot.metadata["step"] async for snapshot in saver.alist(THREAD, **given)]


async def test_a_thread_can_be_deleted_before_anything_was_saved(saver: ThreadedSqliteSaver) -> None:
    await saver.adelete_thread("t")

    assert await saver.aget_tuple(THREAD) is None


async def test_checkpoints_are_listed_from_the_newest_as_far_as_asked(saver: ThreadedSqliteSaver) -> None:
    configs = await save(saver, 3)

    assert await list_steps(saver) == [2, 1, 0]
    assert await list_steps(saver, limit=2) == [2, 1]
    assert await list_steps(saver, before=configs[1]) == [0]
    assert await list_steps(saver, filter={"step": 1}) == [1]


async def test_writes_of_a_checkpoint_come_back_with_it_in_the_order_of_their_tasks(saver: ThreadedSqliteSaver) -> None:
    (config,) = await save(saver, 1)

    await saver.aput_writes(config, [("found", ["a page"])], "first by id", "2")
    await saver.aput_writes(config, [("found", ["a paper"])], "second by id", "1")

    snapshot = await saver.aget_tuple(config)
    assert snapshot is not None
    assert snapshot.pending_writes == [("second by id", "found", ["a paper"]), ("first by id", "found", ["a page"])]


async def test_the_saver_passes_langgraphs_own_tests_for_savers(file: Path) -> None:
    async def saver_of_a_suite() -> AsyncGenerator[BaseCheckpointSaver[Any]]:
        async with open_sqlite_saver(file, PackedSerializer()) as saver:
            yield saver

    report = await validate(RegisteredCheckpointer("sqlite", saver_of_a_suite))

    assert [result.failures for result in report.results.values()] == [[]] * 8


async def test_a_run_that_is_rolled_back_saves_nothing_more(saver: ThreadedSqliteSaver) -> None:
    (before,) = await save(saver, 1)
    of_run: Any = {"metadata": {"run_id": "r"}, "configurable": before["configurable"]}
    metadata: Any = {"source": "loop", "step": 1, "parents": {}}

    await saver.adelete_for_runs(["r"])
    await saver.aput(of_run, empty_checkpoint(), metadata, {})
    await saver.aput_writes(of_run, [("found", ["a page"])], "task")

    assert await list_steps(saver) == [0]
    snapshot = await saver.aget_tuple(before)
    assert snapshot is not None
    assert snapshot.pending_writes == []


async def test_a_thread_that_cannot_be_copied_whole_leaves_no_copy(saver: ThreadedSqliteSaver, file: Path) -> None:
    await save(saver, 3)
    with closing(sqlite3.connect(file)) as other:
        other.execute(
            "CREATE TRIGGER full BEFORE INSERT ON checkpoints WHEN EXISTS "
            "(SELECT 1 FROM checkpoints WHERE thread_id = 'copy') BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )

    with pytest.raises(CheckpointError, match="disk full"):
        await saver.acopy_thread("t", "copy")

    assert [snapshot async for snapshot in saver.alist({"configurable": {"thread_id": "copy"}})] == []
    assert await list_steps(saver) == [2, 1, 0]


async def test_a_file_of_an_older_release_is_used_as_it_is(file: Path) -> None:
    async with open_sqlite_saver(file, PackedSerializer()) as saver:
        await save(saver, 1)
    with closing(sqlite3.connect(file)) as older:
        older.execute("ALTER TABLE writes DROP COLUMN run_id")

    async with open_sqlite_saver(file, PackedSerializer()) as saver:
        (config,) = await save(saver, 1)
        await saver.aput_writes({**config, "metadata": {"run_id": "r"}}, [("found", ["a page"])], "task")
        await saver.adelete_for_runs(["r"])

        assert await list_steps(saver) == [0, 0]
        snapshot = await saver.aget_tuple(config)
        assert snapshot is not None
        assert snapshot.pending_writes == []


async def test_a_closed_file_holds_all_that_was_saved_in_itself(file: Path) -> None:
    async with open_sqlite_saver(file, PackedSerializer()) as saver:
        await save(saver, 2)

    assert [path.name for path in file.parent.iterdir()] == [file.name]
    async with open_sqlite_saver(file, PackedSerializer()) as again:
        assert await list_steps(again) == [1, 0]
