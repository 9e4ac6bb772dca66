"""Calls to external services: connections, retries, a queue with one call at a time, shared answers."""

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
    """None if a connection to the address, or to its proxy, opens; else why not.

    Sends no request, because arXiv counts requests.
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
    """A failure that may pass; `after`: seconds that the service asks to wait, if it says so."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message, transient=True)
        self.after = after


@asynccontextmanager
async def http_client(address: str, seconds: float, **options: Any) -> "AsyncIterator[httpx.AsyncClient]":  # noqa: ANN401 - the client's own
    """A client for one call with a time limit in seconds; its errors become ours.

    Connections live as long as the call, so none is bound to an event loop or left open. Errors have no cause, because
    httpx's errors may contain the request with its key.

    Raises:
        TransientError: no connection, or no complete answer in time.
        SourceError: an unreadable answer, or an unusable proxy or certificate in the environment.
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
    """Check that a service is not busy or down.

    Raises:
        TransientError: it is; with the seconds that it asks to wait, if it says so.
    """
    if is_passing(response.status_code):
        wait = seconds_to_wait(response.headers)
        asks = "" if wait is None else f", asks to wait {wait:.0f} s"
        raise TransientError(
            f"{service} is busy or down (HTTP {response.status_code}{asks}): try again later", after=wait
        )


def retry_rules(seconds: float, *, first_wait_seconds: float) -> dict[str, Any]:
    """Arguments for tenacity: at most three attempts, none of which starts later than `seconds` in total.

    The wait doubles each time, and is at least what the service asks for.
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
    """Runs one call at a time on its own thread, from any event loop.

    If a call fails for good, calls that waited meanwhile fail with it, instead of one after the other.
    """

    def __init__(self, name: str, *, interval_seconds: float, deadline_seconds: float) -> None:
        """`interval_seconds`: time between the end of an attempt and the start of the next, of any call.

        `deadline_seconds`: for all attempts of a call together, once it is its turn.
        """
        self._interval = interval_seconds
        self._deadline = deadline_seconds
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"contend-{name}")
        self._free_at = 0.0
        self._failed_at, self._failure = 0.0, ""

    async def call(self, attempt: Callable[[float], T]) -> T:
        """Run `attempt` with the seconds it has left, and again after a TransientError; returns its result.

        Raises:
            SourceError: the last error of `attempt`.
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
    """A cache of answers by key; concurrent callers share one call. Failures are not cached."""

    def __init__(self, *, keep_seconds: float = 900.0, most: int = 500) -> None:
        self._keep_seconds = keep_seconds
        self._most = most
        self._cache: dict[Hashable, tuple[T, float]] = {}
        self._calls: dict[tuple[asyncio.AbstractEventLoop, Hashable], _Call[T]] = {}

    async def get(self, key: Hashable, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The cached answer, else that of `ask`; its errors reach all who wait for it."""
        if key in self._cache and time.monotonic() < self._cache[key][1]:
            return self._cache[key][0]
        here = (asyncio.get_running_loop(), key)
        call = self._calls.get(here)
        if call is None:
            call = self._calls[here] = _Call(asyncio.create_task(self._answer(key, ask)))
        call.waiting += 1
        try:
            # One caller's cancellation must not cancel the call for the others.
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
