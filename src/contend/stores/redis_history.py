"""What LangGraph's Redis saver lacks or does in part: runs rolled back, threads copied, history shortened."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.redis.aio import AsyncRedisSaver
from langgraph.checkpoint.redis.key_registry import CheckpointKeyRegistry
from langgraph.checkpoint.redis.util import to_storage_safe_id, to_storage_safe_str
from redisvl.query import FilterQuery
from redisvl.query.filter import FilterExpression, Tag

ROOT = to_storage_safe_str("")
_PAGE = 500
_RUN_SECONDS = 7 * 24 * 3600
"""How long it is known which writes a run made; runs are rolled back while they go."""


class _Place(NamedTuple):
    """A checkpoint, as the saver's keys name it."""

    thread: str
    namespace: str
    checkpoint: str


class RedisHistory(AsyncRedisSaver):
    """Checkpoints deleted and copied by themselves, each with its writes and what points to it."""

    async def delete_runs(self, run_ids: Sequence[str]) -> set[str]:
        """The threads that they were on."""
        places: list[_Place] = []
        for run in run_ids:
            # A run that answers a question leaves its answer with a checkpoint of the run that asked.
            made = await self._redis.hgetall(_writes_of(run))
            for write, registry in made.items():
                await self._redis.zrem(registry, write)
            await self._redis.unlink(_writes_of(run), *made)
            places += await self._places(Tag("run_id") == to_storage_safe_id(run))
        await self._remove(places)
        return {place.thread for place in places}

    async def keep_latest(self, thread_id: str) -> None:
        """Keep the latest checkpoint of each namespace."""
        places = await self._places_of(thread_id)
        await self._remove(set(places) - set(_latest(places)))

    async def keep_latest_run(self, thread_id: str) -> None:
        """Keep what was saved since the latest input at the root: ids of checkpoints grow with time."""
        thread = Tag("thread_id") == to_storage_safe_id(thread_id)
        inputs = await self._places(thread & (Tag("checkpoint_ns") == ROOT) & (Tag("source") == "input"))
        began = max((place.checkpoint for place in inputs), default="")
        await self._remove(place for place in await self._places(thread) if place.checkpoint < began)

    async def copy(self, source_thread_id: str, target_thread_id: str) -> None:
        target = to_storage_safe_id(target_thread_id)
        for place in await self._places_of(source_thread_id):
            await self._copy(place, place._replace(thread=target))
        await self._point(target)

    async def note_writes(self, config: RunnableConfig, channels: Iterable[str], task_id: str, run: str) -> None:
        """Remember which writes a run of the Agent Server made: none of the saver's records tells."""
        at = config["configurable"]
        place = _Place(str(at["thread_id"]), str(at.get("checkpoint_ns", "")), str(at["checkpoint_id"]))
        numbers = [WRITES_IDX_MAP.get(channel, number) for number, channel in enumerate(channels)]
        made: dict[Any, Any] = {
            self._make_redis_checkpoint_writes_key(*place, task_id, number): _registry(place) for number in numbers
        }
        async with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.hset(_writes_of(run), mapping=made)
            pipeline.expire(_writes_of(run), _RUN_SECONDS)
            await pipeline.execute()

    async def _places_of(self, thread_id: str) -> list[_Place]:
        return await self._places(Tag("thread_id") == to_storage_safe_id(thread_id))

    async def _places(self, chosen: FilterExpression) -> list[_Place]:
        fields = ["thread_id", "checkpoint_ns", "checkpoint_id"]
        query = FilterQuery(filter_expression=chosen, return_fields=fields)
        pages = self.checkpoints_index.paginate(query, page_size=_PAGE)
        return [_Place(*(row[field] for field in fields)) async for page in pages for row in page]

    async def _remove(self, places: Iterable[_Place]) -> None:
        touched: dict[str, set[str]] = {}
        for place in places:
            touched.setdefault(place.thread, set()).add(place.namespace)
            writes = await self._redis.zrange(_registry(place), 0, -1)
            await self._redis.unlink(self._make_redis_checkpoint_key(*place), _registry(place), *writes)
        for thread, namespaces in touched.items():
            await self._redis.unlink(*(self._make_redis_checkpoint_latest_key(thread, each) for each in namespaces))
            await self._point(thread)

    async def _point(self, thread: str) -> None:
        """A key of each namespace names its latest checkpoint."""
        for latest in _latest(await self._places_of(thread)):
            pointer = self._make_redis_checkpoint_latest_key(latest.thread, latest.namespace)
            await self._redis.set(pointer, self._make_redis_checkpoint_key(*latest))
            await self._apply_ttl_to_keys(pointer)

    async def _copy(self, place: _Place, to: _Place) -> None:
        document = await self._get(self._make_redis_checkpoint_key(*place))
        metadata = json.loads(document["metadata"])
        if "thread_id" in metadata:
            metadata["thread_id"] = to.thread
        metadata.pop("run_id", None)
        own = {"thread_id": to.thread, "run_id": "", "metadata": json.dumps(metadata)}
        await self._put(self._make_redis_checkpoint_key(*to), {**document, **own})
        writes: Any = await self._redis.zrange(_registry(place), 0, -1, withscores=True)
        for write, score in writes:
            made = await self._get(write)
            key = self._make_redis_checkpoint_writes_key(*to, made["task_id"], made["idx"])
            await self._put(key, {**made, "thread_id": to.thread})
            await self._redis.zadd(_registry(to), {key: score})
            await self._apply_ttl_to_keys(_registry(to))

    async def _get(self, key: str) -> dict[str, Any]:
        document = await self._redis.json().get(key)
        return cast("dict[str, Any]", document)

    async def _put(self, key: str, document: dict[str, Any]) -> None:
        await self._redis.json().set(key, "$", document)
        await self._apply_ttl_to_keys(key)


def _latest(places: Iterable[_Place]) -> list[_Place]:
    """The latest of each thread and namespace."""
    return list({place[:2]: place for place in sorted(places)}.values())


def _registry(place: _Place) -> str:
    """The key of the set that names a checkpoint's writes."""
    return CheckpointKeyRegistry.make_write_keys_zset_key(*place)


def _writes_of(run: str) -> str:
    return f"contend:writes_of_run:{run}"
