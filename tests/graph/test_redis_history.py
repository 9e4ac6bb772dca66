"""Checkpoints in Redis that are listed, copied, pruned and rolled back as LangGraph wants it of a saver."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import validate
from langgraph.checkpoint.conformance.initializer import RegisteredCheckpointer

from contend.settings import Settings, load_settings
from contend.stores.redis_saver import open_redis_saver
from fakes.redis_server import RedisServer

NONE = "*0"
"""An empty list, as the wire has it."""


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=[None, 60], ids=["kept", "forgotten after an hour"])
def settings(request: pytest.FixtureRequest, redis: RedisServer, tmp_path: Path) -> Settings:
    return load_settings(workspace=tmp_path, redis_url=redis.url, checkpoint_ttl_minutes=request.param)


async def test_the_saver_passes_langgraphs_own_tests_for_savers(settings: Settings) -> None:
    async def saver_of_a_suite() -> AsyncGenerator[BaseCheckpointSaver[Any]]:
        async with open_redis_saver(settings) as saver:
            yield saver

    report = await validate(RegisteredCheckpointer("redis", saver_of_a_suite))

    failures = {name: result.failures for name, result in report.results.items() if result.failures}
    assert failures == {"list": ["test_list_metadata_custom_keys: Unsupported filter key: score"]}
    assert len(report.results) == 8


async def test_a_run_that_is_rolled_back_saves_nothing_more_and_leaves_no_key(
    settings: Settings, redis: RedisServer
) -> None:
    of_run: Any = {"metadata": {"run_id": "r"}, "configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    metadata: Any = {"source": "input", "step": -1, "parents": {}, "run_id": "r"}
    async with open_redis_saver(settings) as saver:
        saved = await saver.aput(of_run, empty_checkpoint(), metadata, {})
        await saver.aput_writes({**saved, "metadata": {"run_id": "r"}}, [("found", ["a page"])], "task")
        assert redis.say("KEYS", "*:t:*") != NONE

        await saver.adelete_for_runs(["r"])
        await saver.aput(of_run, empty_checkpoint(), metadata, {})
        await saver.aput_writes({**saved, "metadata": {"run_id": "r"}}, [("found", ["a page"])], "task")

        assert await saver.aget_tuple(saved) is None
    assert [redis.say("KEYS", each) for each in ("*:t:*", "contend:writes_of_run:*")] == [NONE] * 2


async def test_a_save_on_its_way_while_its_run_is_rolled_back_is_deleted_too(
    settings: Settings, redis: RedisServer
) -> None:
    of_run: Any = {"metadata": {"run_id": "late"}, "configurable": {"thread_id": "late", "checkpoint_ns": ""}}
    metadata: Any = {"source": "input", "step": -1, "parents": {}, "run_id": "late"}
    async with open_redis_saver(settings) as saver:
        assert redis.say("CLIENT", "PAUSE", "60000", "WRITE") == "+OK"
        save = asyncio.create_task(saver.aput(of_run, empty_checkpoint(), metadata, {}))
        while "blocked_clients:0" in redis.say("INFO", "clients"):
            await asyncio.sleep(0)
            assert not save.done()
        deletion = asyncio.create_task(saver.adelete_for_runs(["late"]))
        await asyncio.wait({deletion}, timeout=0.3)
        assert redis.say("CLIENT", "UNPAUSE") == "+OK"
        await save
        await deletion

        assert await saver.aget_tuple({"configurable": {"thread_id": "late", "checkpoint_ns": ""}}) is None
    assert redis.say("KEYS", "*:late:*") == NONE


async def test_what_a_rolled_back_run_leaves_is_forgotten_when_its_time_is_over(
    settings: Settings, redis: RedisServer
) -> None:
    thread, is_forgotten = f"left {settings.checkpoint_ttl_minutes}", settings.checkpoint_ttl_minutes is not None
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    async with open_redis_saver(settings) as saver:
        for step, run in enumerate(["kept", "gone"]):
            metadata: Any = {"source": "loop", "step": step, "parents": {}, "run_id": run}
            config = await saver.aput({**config, "metadata": {"run_id": run}}, empty_checkpoint(), metadata, {})

        await saver.adelete_for_runs(["gone"])

    names = redis.say("KEYS", f"*:{thread}:*").split("\r\n")[2::2]
    assert len(names) >= 2
    assert [int(redis.say("TTL", name).removeprefix(":")) > 0 for name in names] == [is_forgotten] * len(names)
