"""Loading what a run needs: the graph and its libraries, thousands of modules."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Import in the block: what it loads stays, and looking it through for garbage would take a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        # DuckDB complains of what is left at the interpreter's end.
        atexit.register(gc.unfreeze)
