"""Synchronous calls of asynchronous code, each on an event loop of its own."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, Literal, TypeVar

T = TypeVar("T")
_AT_WORK = tuple[asyncio.AbstractEventLoop, "asyncio.Task[Any]"]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its result, even if this thread already has a running loop, as in a notebook."""
    with ThreadPoolExecutor(1, thread_name_prefix="contend-call") as thread:
        return thread.submit(copy_context().run, asyncio.run, work).result()


def iterate(parts: AsyncGenerator[T]) -> Iterator[T]:
    """Iterate over an asynchronous generator synchronously; stopping early closes the generator."""
    queue: SimpleQueue[tuple[T] | Literal["end"]] = SimpleQueue()
    started: Future[_AT_WORK] = Future()
    with ThreadPoolExecutor(1, thread_name_prefix="contend-call") as thread:
        work = thread.submit(copy_context().run, asyncio.run, _pump(parts, queue, started))
        work.add_done_callback(lambda _: queue.put("end"))
        try:
            while (part := queue.get()) != "end":
                yield part[0]
        except BaseException:  # the caller left, or was interrupted
            _cancel(started)
            raise
        work.result()


async def _pump(
    parts: AsyncGenerator[T], queue: SimpleQueue[tuple[T] | Literal["end"]], started: Future[_AT_WORK]
) -> None:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in a task
    started.set_result((asyncio.get_running_loop(), task))
    async with aclosing(parts):
        async for part in parts:
            queue.put((part,))


def _cancel(started: Future[_AT_WORK]) -> None:
    loop, task = started.result()
    with suppress(RuntimeError):  # it has ended meanwhile
        loop.call_soon_threadsafe(task.cancel)
