"""Stopping a run: the first signal lets it end in order, the second ends the process at once."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TypeVar

_T = TypeVar("_T")
_STOPPED = 130


async def until_stopped(work: Awaitable[_T], *, on_stop: Callable[[], None], at_once: Callable[[], None]) -> _T | None:
    """The work's result; None where SIGINT or SIGTERM stopped it.

    `on_stop` is called at the first signal; `at_once` at the second, just before the process ends.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    stopped = False

    def stop(*_: int | FrameType | None) -> None:
        nonlocal stopped
        if stopped:
            at_once()
            os._exit(_STOPPED)
        stopped = True
        # The write to the loop's own pipe wakes it: a signal handler alone would wait for the next event.
        loop.call_soon_threadsafe(on_stop)
        loop.call_soon_threadsafe(task.cancel)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return await task
    except asyncio.CancelledError:
        if not stopped:
            raise
        return None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
