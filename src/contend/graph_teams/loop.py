"""An event loop in a thread of its own, for code that others wrote: what blocks it, or ends it, stops no run."""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import Any, NamedTuple, TypeVar

from contend.registry import on_daemon_thread

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_ANSWER_SECONDS = 5.0
_NAME = "contend-graphs"


class GraphRaised(Exception):  # noqa: N818 - said of the graph, and caught where it was run
    """What others' code raised there, also what would end the process here."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(repr(error))
        self.error = error


class _End(NamedTuple):
    error: BaseException | None


class GraphLoop:
    """One loop for all graphs of a process, and as long as it: LangChain's clients belong to the loop they met first.

    Where a graph blocks it, the graphs that come later get another one.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    async def stream(self, parts: Callable[[], AsyncIterator[T]], context: Context) -> AsyncGenerator[T]:
        """What the iterator gives there, given here; nothing of the caller's context reaches it but `context`.

        It is cancelled when nobody asks for more. Code that blocks its thread goes on unheard until it returns.

        Raises:
            GraphRaised: whatever the iterator raises.
        """
        there, here = await self._answering(), asyncio.get_running_loop()
        queue: asyncio.Queue[T | _End] = asyncio.Queue()

        def tell(part: T | _End) -> None:
            with suppress(RuntimeError):  # nobody listens any more: the caller's loop is closed
                here.call_soon_threadsafe(queue.put_nowait, part)

        run = context.run(asyncio.run_coroutine_threadsafe, _pump(parts, tell), there)
        try:
            while not isinstance(part := await queue.get(), _End):
                yield part
            if part.error is not None:
                raise GraphRaised(part.error) from part.error
        finally:
            run.cancel()

    async def call(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the work gives
        """What an async function gives there.

        Raises:
            GraphRaised: whatever it raises.
        """

        async def once() -> AsyncIterator[Any]:
            yield await work()

        (result,) = [result async for result in self.stream(once, Context())]
        return result

    async def _answering(self) -> asyncio.AbstractEventLoop:
        """The loop, or a new one in place of one that is blocked."""
        if self._loop is not None:
            answer = asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop)
            with suppress(TimeoutError):
                async with asyncio.timeout(_ANSWER_SECONDS):
                    await asyncio.wrap_future(answer)
                return self._loop
            _LOG.warning("a team's graph blocks its event loop: the next graph gets another one")
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_DaemonThreads())
        threading.Thread(target=_run, args=(self._loop,), name=_NAME, daemon=True).start()
        return self._loop


class _DaemonThreads(ThreadPoolExecutor):
    """A thread a call, which keeps no process from ending: a pool's would be waited for, also where they hang."""

    def submit(self, fn: Callable[..., T], /, *args: object, **kwargs: object) -> "Future[T]":
        return on_daemon_thread(partial(fn, *args, **kwargs), name=_NAME)


async def _pump(parts: Callable[[], AsyncIterator[T]], tell: Callable[[T | _End], None]) -> None:
    error: BaseException | None = None
    try:
        async for part in parts():
            tell(part)
    except BaseException as raised:  # noqa: BLE001 - others' code: whatever it raises belongs to who waits
        error = raised
    tell(_End(error))


def threads_left() -> bool:
    """Whether a graph's thread is there, which may be blocked for ever."""
    return any(thread.name == _NAME for thread in threading.enumerate())


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """`sys.exit` in a node leaves the loop; the tasks of others go on."""
    while True:
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()
