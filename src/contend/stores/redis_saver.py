"""LangGraph's Redis saver as contend uses it: plain values, one client, one-line errors.

Adds what it lacks: rolling back runs, copying threads, pruning history.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint import base
from langgraph.checkpoint.redis.aio import AsyncRedisSaver
from langgraph.checkpoint.redis.jsonplus_redis import JsonPlusRedisSerializer
from langgraph.checkpoint.redis.key_registry import CheckpointKeyRegistry
from langgraph.checkpoint.redis.util import to_storage_safe_id, to_storage_safe_str
from redis.asyncio import Redis
from redisvl.exceptions import RedisSearchError
from redisvl.query import CountQuery, FilterQuery
from redisvl.query.filter import Tag

from contend.errors import CheckpointError
from contend.settings import Settings
from contend.stores.checkpoints import CheckpointPlace, ManagedSaver, PlainSerializer, latest
from contend.stores.leases import resume_command
from contend.stores.redis_server import check_redis, is_away, open_redis, redis_errors

_CONNECTIONS = 32
_OPERATION_SECONDS = 30.0
"""How long a save or read may take, with the wait for a connection and retries.

Connections have shorter timeouts, which notice a silent server; this limit leaves time for a busy process.
"""

_PAGE = 500
_RUN_SECONDS = 7 * 24 * 3600
"""How long the writes of a run are remembered; a run is rolled back while it is running."""

_AWAY_SECONDS = 3.0
"""How long a server that did not answer is not asked again, so that a failing run does not wait once per graph."""

_REVIVABLE_MODULES = (("langchain_core", "messages"), ("langgraph", "types"), ("langchain", "schema", "messages"))
_SET = ("builtins", "set")


class PlainRedisSerializer(PlainSerializer, JsonPlusRedisSerializer):
    """The same restrictions as on SQLite, in the library's JSON."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:  # noqa: ANN401 - any state
        # As LangGraph's other savers store an error; this library would store only its attributes.
        return super().dumps_typed(repr(obj) if isinstance(obj, BaseException) else obj)

    def _revive_if_needed(self, obj: Any) -> Any:  # noqa: ANN401 - the library's signature
        # The library would import whatever module a stored dict names.
        if isinstance(obj, dict) and obj.get("type") == "constructor" and not _may_revive(obj.get("id")):
            return {name: self._revive_if_needed(value) for name, value in obj.items()}
        return super()._revive_if_needed(obj)


def _may_revive(name: object) -> bool:
    if not isinstance(name, list) or not all(isinstance(part, str) for part in name):
        return False
    return tuple(name) == _SET or any(tuple(name[: len(prefix)]) == prefix for prefix in _REVIVABLE_MODULES)


class RedisSaver(ManagedSaver, AsyncRedisSaver):  # type: ignore[misc]  # aprune without its further options
    """Each operation has a time limit and fails with a CheckpointError."""

    root_namespace = to_storage_safe_str("")

    def __init__(self, client: Redis, settings: Settings) -> None:
        minutes = settings.checkpoint_ttl_minutes
        super().__init__(
            redis_client=client, ttl={"default_ttl": minutes, "refresh_on_read": True} if minutes else None
        )
        self.serde = PlainRedisSerializer()
        self._address = settings.redis_address
        self._away = ""
        self._away_until = 0.0

    async def asetup(self) -> None:
        with redis_errors(self._address):
            try:
                await super().asetup()
            except RedisSearchError as error:
                # Another process created the index at the same time.
                if "already exists" not in str(error):
                    raise
                await super().asetup()

    async def aget_tuple(self, config: RunnableConfig) -> base.CheckpointTuple | None:
        with self._thread_errors(config):
            async with asyncio.timeout(_OPERATION_SECONDS):
                return await super().aget_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the library's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[base.CheckpointTuple]:
        # The library has no `before`, and takes the root namespace "" for any namespace.
        namespace = (config or {}).get("configurable", {}).get("checkpoint_ns")
        end = base.get_checkpoint_id(before) if before else None
        most = limit if namespace is None and end is None else None
        count = 0
        with self._thread_errors(config):
            async for snapshot in super().alist(config, filter=filter, limit=most):
                if count == limit:
                    return
                at = snapshot.config["configurable"]
                if namespace in {None, at["checkpoint_ns"]} and (end is None or at["checkpoint_id"] < end):
                    count += 1
                    yield snapshot

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: base.Checkpoint,
        metadata: base.CheckpointMetadata,
        new_versions: base.ChannelVersions,
        stream_mode: str = "updates",
        **_: Any,  # noqa: ANN401 - as the class above has it
    ) -> RunnableConfig:
        with self._thread_errors(config):
            async with asyncio.timeout(_OPERATION_SECONDS):
                # In the library's default mode a cancelled save saves once more, past any deadline.
                return await super().aput(config, checkpoint, metadata, new_versions, stream_mode=stream_mode)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        with self._thread_errors(config):
            async with asyncio.timeout(_OPERATION_SECONDS):
                await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        with self._thread_errors(None):
            # The library deletes 10,000 entries of a thread at a time.
            while await self._entries(thread_id):
                await super().adelete_thread(thread_id)

    async def _note_writes(self, place: CheckpointPlace, task_id: str, numbers: Sequence[int]) -> None:
        run, registry = place.run, _registry(place)
        keys: dict[Any, Any] = {
            self._make_redis_checkpoint_writes_key(*place[:3], task_id, number): registry for number in numbers
        }
        async with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.hset(_writes_of(run), mapping=keys)
            pipeline.expire(_writes_of(run), _RUN_SECONDS)
            await pipeline.execute()

    async def _places(self, field: Literal["thread_id", "run_id"], value: str) -> list[CheckpointPlace]:
        fields = ["thread_id", "checkpoint_ns", "checkpoint_id", "run_id", "source"]
        query = FilterQuery(filter_expression=Tag(field) == to_storage_safe_id(value), return_fields=fields)
        with self._thread_errors(None):
            pages = self.checkpoints_index.paginate(query, page_size=_PAGE)
            return [CheckpointPlace(*(row.get(each, "") for each in fields)) async for page in pages for row in page]

    async def _remove(self, places: Collection[CheckpointPlace], runs: Sequence[str] = ()) -> None:
        with self._thread_errors(None):
            for run in runs:
                for write, registry in (await self._redis.hgetall(_writes_of(run))).items():
                    await self._redis.zrem(registry, write)
                    await self._redis.unlink(write)
                await self._redis.unlink(_writes_of(run))
            for place in places:
                writes = await self._redis.zrange(_registry(place), 0, -1)
                await self._redis.unlink(self._make_redis_checkpoint_key(*place[:3]), _registry(place), *writes)
            for thread, namespace in {place[:2] for place in places}:
                await self._redis.unlink(self._make_redis_checkpoint_latest_key(thread, namespace))
            for thread in {place.thread for place in places}:
                await self._point(thread)

    async def _point(self, thread: str) -> None:
        """Point each namespace's key at its latest checkpoint."""
        for place in latest(await self._places("thread_id", thread)):
            pointer = self._make_redis_checkpoint_latest_key(*place[:2])
            await self._redis.set(pointer, self._make_redis_checkpoint_key(*place[:3]))
            await self._apply_ttl_to_keys(pointer)

    async def _entries(self, thread_id: str) -> int:
        """The number of a thread's checkpoints and writes."""
        of_thread = CountQuery(Tag("thread_id") == to_storage_safe_id(thread_id))
        return sum(
            [int(await index.query(of_thread)) for index in (self.checkpoints_index, self.checkpoint_writes_index)]
        )

    @contextmanager
    def _thread_errors(self, config: RunnableConfig | None) -> Iterator[None]:
        thread = (config or {}).get("configurable", {}).get("thread_id")
        then = f"; the run stands at its last saved step: go on with `{resume_command(thread)}`" if thread else ""
        if time.monotonic() < self._away_until:
            raise CheckpointError(self._away + then)
        try:
            with redis_errors(self._address, then):
                yield
        except CheckpointError as error:
            if is_away(error):
                self._away, self._away_until = str(error).removesuffix(then), time.monotonic() + _AWAY_SECONDS
            raise


def _registry(place: CheckpointPlace) -> str:
    """The key of the set with a checkpoint's writes."""
    return CheckpointKeyRegistry.make_write_keys_zset_key(*place[:3])


def _writes_of(run: str) -> str:
    return f"contend:writes_of_run:{run}"


@asynccontextmanager
async def open_redis_saver(settings: Settings) -> AsyncIterator[RedisSaver]:
    """The saver on the configured server, with its indexes created.

    Raises:
        StoreError: the server can't be used; says why.
    """
    await check_redis(settings)
    async with open_redis(settings, connections=_CONNECTIONS) as client:
        saver = RedisSaver(client, settings)
        await saver.asetup()
        yield saver
