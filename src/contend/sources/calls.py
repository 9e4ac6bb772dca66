"""Calls to services that others run: connections, retries, a queue for one call at a time, answers that are shared."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

import tenacity

from contend.connections import certificates, proxy_for
from contend.errors import InputError, SourceError, is_passing, seconds_to_wait
from contend.text import host_of

if TYPE_CHECKING:
    import httpx


T = TypeVar("T")
_MOST_ATTEMPTS = 3
_CHECK_SECONDS = 3.0


async def why_unreachable(url: str, *, seconds: float = _CHECK_SECONDS) -> str | None:
    """None if a connection to the address (or to the proxy in front of it) opens, else why not.

    Nothing is asked of the service: arXiv counts each request.
    """
    try:
        proxy = await asyncio.to_thread(proxy_for, url)
    except InputError as error:
        return str(error)
    server = urlsplit(proxy.url if proxy else url)
    port = server.port or (443 if server.scheme == "https" else 80)
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(server.hostname, port)
    except TimeoutError:
        return f"no answer from {server.hostname} within {seconds:g} s"
    except OSError as error:
        return f"no connection to {server.hostname} ({_reason(error)})"
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return None


def _reason(error: OSError) -> str:
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or "unreachable"


class TransientError(SourceError):
    """A failure that may pass; `after` is how many seconds the service asks to wait, where it says so."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message, transient=True)
        self.after = after


@asynccontextmanager
async def http_client(address: str, seconds: float, **options: Any) -> "AsyncIterator[httpx.AsyncClient]":  # noqa: ANN401 - the client's own
    """A client for one call of so many seconds, and what comes of its connection as an error of ours.

    Connections live as long as the call: none is bound to an event loop or left for someone to close. Errors come
    without their cause: what httpx raises can hold the request, and with it a key.

    Raises:
        TransientError: no connection, or no whole answer in time.
        SourceError: an answer that cannot be read, or proxy or certificates that the environment names wrongly.
    """
    host = host_of(address)
    try:
        client = await asyncio.to_thread(_client, address, **options)
    except InputError as error:
        raise SourceError(str(error)) from None
    import httpx  # noqa: PLC0415 - heavy, and loaded by now, off the event loop

    try:
        async with asyncio.timeout(seconds), client as http:
            yield http
    except TimeoutError:
        raise TransientError(f"no whole answer from {host} in time") from None
    except (httpx.DecodingError, httpx.TooManyRedirects) as error:
        raise SourceError(f"{host} gave an unusable answer ({type(error).__name__})") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise TransientError(f"no connection to {host} ({type(error).__name__})") from None


def _client(address: str, **options: Any) -> "httpx.AsyncClient":  # noqa: ANN401 - the client's own
    import httpx  # noqa: PLC0415 - heavy

    proxy = proxy_for(address)
    return httpx.AsyncClient(verify=certificates(), proxy=proxy.url if proxy else None, trust_env=False, **options)


def refuse_if_busy(service: str, response: "httpx.Response") -> None:
    """Pass by any answer but those that ask for patience.

    Raises:
        TransientError: with the seconds that the service asks to wait, where it says so.
    """
    if is_passing(response.status_code):
        wait = seconds_to_wait(response.headers)
        asks = "" if wait is None else f", asks to wait {wait:.0f} s"
        raise TransientError(
            f"{service} is busy or down (HTTP {response.status_code}{asks}): try again later", after=wait
        )


def retry_rules(seconds: float, *, first_wait_seconds: float) -> dict[str, Any]:
    """For tenacity: three attempts at most, and none that would begin after so many seconds in total.

    Between them twice as long each time, and at least what the service asks for.
    """
    doubling = tenacity.wait_exponential(multiplier=first_wait_seconds)

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        after = error.after if isinstance(error, TransientError) else None
        return max(doubling(state), after or 0.0)

    return {
        "retry": tenacity.retry_if_exception_type(TransientError),
        "stop": tenacity.stop_after_attempt(_MOST_ATTEMPTS) | tenacity.stop_before_delay(seconds),
        "wait": wait,
        "reraise": True,
    }


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
        self._failed_at, self._failure = 0.0, ""

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
            if self._failed_at > since:
                raise TransientError(self._failure)
            sleep(self._free_at - time.monotonic())
            ends_at = time.monotonic() + self._deadline
            retrying = tenacity.Retrying(sleep=sleep, **retry_rules(self._deadline, first_wait_seconds=self._interval))
            try:
                result: T = retrying(self._attempt, attempt, ends_at)
            except TransientError as error:
                self._failed_at, self._failure = time.monotonic(), str(error)
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


class SharedAnswers(Generic[T]):
    """Answers by key, for whoever asks next; those who ask at the same time share one call. Failures are not kept."""

    def __init__(self, *, keep_seconds: float = 900.0, most: int = 500) -> None:
        self._keep_seconds = keep_seconds
        self._most = most
        self._cache: dict[Hashable, tuple[T, float]] = {}
        self._calls: dict[tuple[asyncio.AbstractEventLoop, Hashable], _Call[T]] = {}

    async def get(self, key: Hashable, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The answer kept under `key`, else the one that `ask` gives; its errors reach all who wait for it."""
        if key in self._cache and time.monotonic() < self._cache[key][1]:
            return self._cache[key][0]
        here = (asyncio.get_running_loop(), key)
        call = self._calls.get(here)
        if call is None:
            call = self._calls[here] = _Call(asyncio.create_task(self._answer(key, ask)))
        call.waiting += 1
        try:
            # One who goes away must not end the call for the others.
            return await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            if not call.waiting:
                del self._calls[here]
                call.task.cancel()

    async def _answer(self, key: Hashable, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        value = await ask()
        self._cache.pop(key, None)
        self._cache[key] = value, time.monotonic() + self._keep_seconds
        while len(self._cache) > self._most:
            del self._cache[next(iter(self._cache))]
        return value
