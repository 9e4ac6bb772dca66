"""Where others' graphs run and what their model calls cost: a loop in a thread of its own, and a meter.

What blocks the loop, or ends it, stops no run; each call of LangChain's models reserves and settles within the budget.
"""

import asyncio
import atexit
import logging
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from contend.errors import ContendError, GraphError
from contend.llm.budget import Ledger, Reservation, cost_usd
from contend.llm.chat import DEFAULT_OUTPUT_TOKENS
from contend.models.task import CallUsage
from contend.registry import on_daemon_thread
from contend.settings.files import ModelPrice
from contend.text import estimate_tokens

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_ANSWER_SECONDS = 5.0
_END_SECONDS = 0.5
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

        def end(run: "Future[None]") -> None:
            tell(_End(asyncio.CancelledError() if run.cancelled() else run.exception()))

        async def pump() -> None:
            async for part in parts():
                tell(part)

        run = context.run(asyncio.run_coroutine_threadsafe, pump(), there)
        run.add_done_callback(end)
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
        thread = threading.Thread(target=_run, args=(self._loop,), name=_NAME, daemon=True)
        thread.start()
        atexit.register(_end, self._loop, thread)
        return self._loop


class _DaemonThreads(ThreadPoolExecutor):
    """A thread a call, which keeps no process from ending: a pool's would be waited for, also where they hang."""

    def submit(self, fn: Callable[..., T], /, *args: object, **kwargs: object) -> "Future[T]":
        return on_daemon_thread(partial(fn, *args, **kwargs), name=_NAME)


def threads_left() -> bool:
    """Whether a graph's thread is there, which may be blocked for ever."""
    return any(thread.name == _NAME for thread in threading.enumerate())


_PROCESS_ENDS = threading.Event()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """`sys.exit` in a node leaves the loop; the tasks of others go on."""
    while not _PROCESS_ENDS.is_set():
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """Let the interpreter take apart what the thread holds; one that a graph blocks is left as it is."""
    _PROCESS_ENDS.set()
    loop.call_soon_threadsafe(loop.stop)
    thread.join(_END_SECONDS)


ROLE = "graph"
_UNKNOWN_MODEL = "unknown"
_MOST_SECONDS = 60.0


class _OpenCall(NamedTuple):
    reservation: Reservation
    model: str
    input_tokens: int
    began: float


class ModelMeter(BaseCallbackHandler):
    """Reserves before each call and settles after it, on the loop of the run that the ledger belongs to.

    A call that a budget refuses is not made: `refusal` says why, and the graph hears it as an error. `key` begins the
    keys of its calls.
    """

    raise_error = True
    run_inline = True

    def __init__(self, ledger: Ledger, prices: Mapping[str, ModelPrice], *, key: str) -> None:
        """To be made on the run's own loop."""
        self.refusal: ContendError | None = None
        self.calls: list[CallUsage] = []
        self._ledger = ledger
        self._prices = prices
        self._key = key
        self._here = asyncio.get_running_loop()
        self._open: dict[UUID, _OpenCall] = {}
        self._closed = False

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **how: Any,  # noqa: ANN401, ARG002 - LangChain's
    ) -> None:
        input_tokens = sum(estimate_tokens(str(message.text)) for batch in messages for message in batch)
        self._begin(run_id, _name(serialized, metadata), input_tokens)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **how: Any,  # noqa: ANN401, ARG002 - LangChain's
    ) -> None:
        self._begin(run_id, _name(serialized, metadata), sum(map(estimate_tokens, prompts)))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **how: Any) -> None:  # noqa: ANN401, ARG002 - LangChain's
        if call := self._open.pop(run_id, None):
            self._on_run(lambda: self._settle(call, response, run_id))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **how: Any) -> None:  # noqa: ANN401, ARG002 - LangChain's
        if call := self._open.pop(run_id, None):
            self._on_run(lambda: self._ledger.release(call.reservation))

    def close(self) -> None:
        """Let go of what calls hold that were cut off, and refuse those of a thread that nobody can stop."""
        self._closed = True
        for call in [*self._open.values()]:
            self._ledger.release(call.reservation)

    def _begin(self, run_id: UUID, model: str, input_tokens: int) -> None:
        if self._closed:
            raise GraphError("the round is over: no further model call is made")
        tokens = {"input_tokens": input_tokens, "output_tokens": DEFAULT_OUTPUT_TOKENS}
        try:
            reservation = self._on_run(lambda: self._ledger.reserve(**tokens, price=self._prices.get(model)))
        except ContendError as error:
            self.refusal = error
            raise
        self._open[run_id] = _OpenCall(reservation, model, input_tokens, time.monotonic())

    def _settle(self, call: _OpenCall, response: LLMResult, run_id: UUID) -> None:
        generations = [generation for batch in response.generations for generation in batch]
        messages = [each.message for each in generations if isinstance(each, ChatGeneration)]
        usages = [each.usage_metadata for each in messages if isinstance(each, AIMessage) and each.usage_metadata]
        tokens = {
            "input_tokens": sum(each["input_tokens"] for each in usages) if usages else call.input_tokens,
            "output_tokens": sum(
                [each["output_tokens"] for each in usages] or [estimate_tokens(each.text) for each in generations]
            ),
        }
        usage = CallUsage(
            call_key=f"{self._key}/{run_id}",
            role=ROLE,
            model=call.model,
            **tokens,
            cost_usd=cost_usd(self._prices.get(call.model), **tokens),
            milliseconds=round((time.monotonic() - call.began) * 1000),
        )
        self._ledger.settle(call.reservation, usage)
        self.calls.append(usage)

    def _on_run(self, work: Callable[[], T]) -> T:
        """Done on the run's loop: its ledger knows no threads."""

        async def done_there() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(done_there(), self._here).result(_MOST_SECONDS)


def _name(serialized: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None) -> str:
    name = (metadata or {}).get("ls_model_name") or (serialized or {}).get("name")
    return str(name or _UNKNOWN_MODEL)
