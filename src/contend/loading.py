"""Loading heavy modules without a look for garbage among them."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def loading() -> Iterator[None]:
    """Modules are imported meanwhile; what is there afterwards is never looked through for garbage.

    It stays to the end, and to look through it takes a tenth of a second each time: a fifth of a start.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        _unfreeze_at_exit()
        if was_on:
            gc.enable()


@cache
def _unfreeze_at_exit() -> None:
    """At the exit it is garbage too, and DuckDB complains on standard error of what is not freed."""
    atexit.register(gc.unfreeze)
