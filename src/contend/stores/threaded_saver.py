"""Asynchronous methods of a checkpointer that call its synchronous ones in threads."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

T = TypeVar("T")


class SyncCalls(BaseCheckpointSaver[Any]):
    """Calls the synchronous methods of `_saver`, as LangGraph's synchronous runs do."""

    _saver: BaseCheckpointSaver[Any]

    async def _in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.to_thread(work, *arguments)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._in_thread(self._saver.get_tuple, config)

    async def alist(self, config: RunnableConfig | None, **which: Any) -> AsyncIterator[CheckpointTuple]:  # noqa: ANN401 - passed on
        for checkpoint in await self._in_thread(lambda: list(self._saver.list(config, **which))):
            yield checkpoint

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self._in_thread(self._saver.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self._in_thread(self._saver.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await self._in_thread(self._saver.delete_thread, thread_id)


class ThreadedSaver(SyncCalls):
    """Makes a checkpointer asynchronous that has only synchronous methods or is bound to another event loop."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver

    def get_next_version(self, current: Any, channel: None) -> Any:  # noqa: ANN401 - the saver's own
        return self._saver.get_next_version(current, channel)
