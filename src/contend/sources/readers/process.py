"""Documents read in a process apart, which is ended when one of them takes too much memory or time.

What reads PDF, Word and HTML files can be neither stopped nor bounded in a thread, and anybody may have written them. A
process is started at the first document, reads further ones, and ends when none comes for a while.
"""

import json
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import LifoQueue
from typing import Any

from contend.sources.readers.document import Document, Unreadable

MOST_BYTES = 1_000_000_000
"""Of a process's address space, with the 200 MB that Python and the readers themselves take."""
MOST_CHARACTERS = 10_000_000
"""Of one document's text."""
MOST_SECONDS = 75.0
"""For one document; a reader that minds the time itself stops after four fifths, and gives what it has read by then."""

_MAIN = "from contend.sources.readers.child import serve; serve()"
KEPT_VARIABLES = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR")
"""No key reaches a process that reads what anybody wrote."""

_MOST_PROCESSES = 2
# The one that was used last is the first to be used again: another starts only where two documents are read at once.
_places: "LifoQueue[_Child | None]" = LifoQueue()
for _ in range(_MOST_PROCESSES):
    _places.put(None)


def read_apart(
    kind: str,
    content: bytes,
    path: Path,
    *,
    most_seconds: float = MOST_SECONDS,
    most_pages: int | None = None,
    charset: str = "",
) -> Document:
    """A document as its reader gives it: `kind` is the end of a file's name, or `web` for a page of `charset`.

    Blocks; two are read at once.

    Raises:
        Unreadable: what the reader says, or it took more than 1 GB or `most_seconds`.
    """
    request = {
        "kind": kind,
        "name": str(path),
        "size": len(content),
        "most_seconds": 0.8 * most_seconds,
        "most_pages": most_pages,
        "charset": charset,
    }
    with _child() as child:
        answer = child.answer(request, content, most_seconds)
    if "unreadable" in answer:
        raise Unreadable(answer["unreadable"])
    return Document(*answer["document"])


@contextmanager
def _child() -> "Iterator[_Child]":
    """An idle process or a new one, kept for the next document."""
    child = _places.get()
    try:
        if child is None or not child.runs:
            child = _Child()
        yield child
    finally:
        _places.put(child)


class _Child:
    """A process that reads one document after another."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._has_answered = False
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter; `-P`: no module of the working directory
            [sys.executable, "-P", "-c", _MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ},
        )
        self._end = weakref.finalize(self, _end_process, self._process)

    @property
    def runs(self) -> bool:
        return self._end.alive and self._process.poll() is None

    def answer(self, request: dict[str, Any], content: bytes, seconds: float) -> dict[str, Any]:
        """What the process says of a document.

        Raises:
            Unreadable: it did not live to say anything.
        """
        began = time.monotonic()
        try:
            return self._exchange(request, content, seconds)
        except (OSError, ValueError):
            self._end()
        if time.monotonic() - began >= seconds:
            raise Unreadable(f"not read within {seconds:g} s")
        if not self._has_answered:
            raise Unreadable("takes more than 1 GB of memory, or breaks what reads it")
        self._start()  # one that waited may have ended just then
        return self.answer(request, content, seconds)

    def _exchange(self, request: dict[str, Any], content: bytes, seconds: float) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 - both are pipes
        assert stdout is not None  # noqa: S101 - the same
        timer = threading.Timer(seconds, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.write(content)
            stdin.flush()
            answer: dict[str, Any] = json.loads(stdout.readline())
        finally:
            timer.cancel()
        self._has_answered = True
        return answer


def _end_process(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
