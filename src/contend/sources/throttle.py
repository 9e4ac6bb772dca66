"""Politeness to services that others run: when to ask again, one at a time, nothing twice at once."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential,
)

from contend.errors import SourceError
from contend.retry_after import is_passing, wanted_wait

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
_MOST_ATTEMPTS = 3


class TransientError(SourceError):
    """A failure that may pass; `after` is how many seconds the service asks to wait, where it says so."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message, transient=True)
        self.after = after


@contextmanager
def passing_failures(host: str) -> Iterator[None]:
    """What comes of a connection in the block as an error of ours.

    Without its cause: what httpx raises can hold the request, and with it a key.

    Raises:
        TransientError: no connection, or no whole answer in time.
        SourceError: an answer that cannot be read.
    """
    import httpx  # noqa: PLC0415 - heavy, and loaded by now

    try:
        yield
    except TimeoutError:
        raise TransientError(f"no whole answer from {host} in time") from None
    except (httpx.DecodingError, httpx.TooManyRedirects) as error:
        raise SourceError(f"{host} gave an unusable answer ({type(error).__name__})") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise TransientError(f"no connection to {host} ({type(error).__name__})") from None


def refuse_if_busy(service: str, response: "httpx.Response") -> None:
    """Pass by any answer but those that ask for patience.

    Raises:
        TransientError: with the seconds that the service asks to wait, where it says so.
    """
    if is_passing(response.status_code):
        wait = wanted_wait(response.headers)
        asks = "" if wait is None else f", asks to wait {wait:.0f} s"
        raise TransientError(
            f"{service} is busy or down (HTTP {response.status_code}{asks}): try again later", after=wait
        )


def retry_rules(seconds: float, *, first_wait_seconds: float) -> dict[str, Any]:
    """For tenacity: three attempts at most, and none that would begin after so many seconds in total.

    Between them twice as long each time, and at least what the service asks for.
    """
    doubling = wait_exponential(multiplier=first_wait_seconds)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        after = error.after if isinstance(error, TransientError) else None
        return max(doubling(state), after or 0.0)

    return {
        "retry": retry_if_exception_type(TransientError),
        "stop": stop_after_attempt(_MOST_ATTEMPTS) | stop_before_delay(seconds),
        "wait": wait,
        "reraise": True,
    }


class _Failure(NamedTuple):
    at: float
    message: str


class Queue:
    """One call at a time, on a thread of its own, whatever event loop it comes from.

    Those who waited while a call failed for good share its failure, instead of each finding out in turn.
    """

    def __init__(self, name: str, *, interval_seconds: float, deadline_seconds: float) -> None:
        """`interval_seconds` pass between the end of one attempt and the next one's start, whoever makes it.

        `deadline_seconds` holds for all attempts of a call together, from the moment it is its turn.
        """
        self._interval = interval_seconds
        self._deadline = deadline_seconds
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"contend-{name}")
        self._free_at = 0.0
        self._failure = _Failure(0.0, "")

    async def call(self, attempt: Callable[[float], T]) -> T:
        """What `attempt` returns; it is given the seconds it has left, and again after a TransientError.

        Raises:
            SourceError: as `attempt` raised it last.
        """
        since, given_up = time.monotonic(), Event()

        def sleep(seconds: float) -> None:
            if given_up.wait(max(0.0, seconds)):
                raise CancelledError

        def take_turn() -> T:
            if self._failure.at > since:
                raise TransientError(self._failure.message)
            sleep(self._free_at - time.monotonic())
            ends_at = time.monotonic() + self._deadline
            retrying = Retrying(sleep=sleep, **retry_rules(self._deadline, first_wait_seconds=self._interval))
            try:
                result: T = retrying(self._attempt, attempt, ends_at)
            except TransientError as error:
                self._failure = _Failure(time.monotonic(), str(error))
                raise
            return result

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, take_turn)
        finally:
            given_up.set()

    def _attempt(self, attempt: Callable[[float], T], ends_at: float) -> T:
        try:
            return attempt(ends_at - time.monotonic())
        finally:
            self._free_at = time.monotonic() + self._interval


@dataclass
class _Call(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class _Kept(NamedTuple, Generic[T]):
    value: T
    until: float


class SharedAnswers(Generic[T]):
    """Answers by key, for whoever asks next; those who ask at the same time share one call. Failures are not kept."""

    def __init__(self, *, keep_seconds: float = 900.0, most: int = 500) -> None:
        self._keep_seconds = keep_seconds
        self._most = most
        self._kept: dict[Hashable, _Kept[T]] = {}
        self._calls: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, _Call[T]]] = WeakKeyDictionary()

    async def get(self, key: Hashable, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The answer kept under `key`, else the one that `ask` gives; its errors reach all who wait for it."""
        entry = self._kept.get(key)
        if entry is not None and time.monotonic() < entry.until:
            return entry.value
        calls = self._calls.setdefault(asyncio.get_running_loop(), {})
        call = calls.get(key)
        if call is None:
            call = calls[key] = _Call(asyncio.create_task(self._answer(key, ask)))
        call.waiting += 1
        try:
            # One who goes away must not end the call for the others.
            return await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            if not call.waiting:
                del calls[key]
                call.task.cancel()

    async def _answer(self, key: Hashable, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        value = await ask()
        self._kept.pop(key, None)
        self._kept[key] = _Kept(value, time.monotonic() + self._keep_seconds)
        while len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        return value
