"""Read documents in a separate process with limits on memory and time.

The readers of PDF, Word and HTML files can be neither stopped nor limited in a thread, and the files are untrusted. A
process starts with the first document, reads further ones, and ends when idle. A request is a line of JSON and the
document's bytes, an answer is a line of JSON.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from queue import LifoQueue
from typing import Any

from contend.sources.readers.document import Document, Unreadable

_MOST_BYTES = 1_000_000_000
"""Of a process's address space, of which Python and the readers take 200 MB."""
_MOST_CHARACTERS = 10_000_000
"""Of a document's text."""
_MOST_SECONDS = 75.0
"""For one document; the PDF reader stops after four fifths of it, and returns what it has read."""
_IDLE_SECONDS = 20.0
_LARGE_KILOBYTES = 300_000
"""A process that took more memory does not return it, and is replaced for the next document."""

_MAIN = f"from {__name__} import serve_readings; serve_readings()"
KEPT_VARIABLES = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR")
"""The environment of the process: it reads untrusted files, so it gets no keys."""

_MOST_PROCESSES = 2
# Last in, first out: a second process starts only if two documents are read at once.
_places: "LifoQueue[_Child | None]" = LifoQueue()
for _ in range(_MOST_PROCESSES):
    _places.put(None)


def read_apart(
    kind: str,
    content: bytes,
    path: Path,
    *,
    most_seconds: float = _MOST_SECONDS,
    most_pages: int | None = None,
    charset: str = "",
) -> Document:
    """Read a document; `kind`: a file suffix, or `web` for a web page in this `charset`.

    Blocking; at most two documents are read at once.

    Raises:
        Unreadable: from the reader, or the document took more than 1 GB or `most_seconds`.
    """
    request = {"kind": kind, "name": str(path), "size": len(content), "charset": charset}
    request |= {"most_seconds": 0.8 * most_seconds, "most_pages": most_pages}
    child = _places.get()
    try:
        is_reused = child is not None and child.runs
        child = child if child and is_reused else _Child()
        began = time.monotonic()
        answer = child.answer(request, content, most_seconds)
        if answer is None and is_reused and time.monotonic() - began < most_seconds:
            child = _Child()  # the idle process may have ended just now
            answer = child.answer(request, content, most_seconds)
    finally:
        _places.put(child)
    if answer is None:
        late = time.monotonic() - began >= most_seconds
        memory = "takes more than 1 GB of memory, or breaks what reads it"
        raise Unreadable(f"not read within {most_seconds:g} s" if late else memory)
    if "unreadable" in answer:
        raise Unreadable(answer["unreadable"])
    return Document(*answer["document"])


class _Child:
    """A process that reads one document after another."""

    def __init__(self) -> None:
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

    def answer(self, request: dict[str, Any], content: bytes, seconds: float) -> dict[str, Any] | None:
        """The answer about a document; None if the process ended before."""
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
        except (OSError, ValueError):
            self._end()
            return None
        finally:
            timer.cancel()
        return answer


def _end_process(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for pipe in filter(None, (process.stdin, process.stdout)):
        with suppress(OSError):
            pipe.close()


def serve_readings() -> None:
    """In the separate process: answer requests until idle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    import contend.sources.readers.pdf  # noqa: PLC0415 - loaded before memory is bounded and counted
    import contend.sources.readers.word  # noqa: F401, PLC0415 - the same

    _bound("RLIMIT_AS", _MOST_BYTES)
    large = max(_LARGE_KILOBYTES, _most_kilobytes())  # the maximum includes the time before this program was loaded
    requests = sys.stdin.buffer
    while select.select([requests], [], [], _IDLE_SECONDS)[0] and (line := requests.readline()):
        request = json.loads(line)
        _bound("RLIMIT_CPU", int(time.process_time() + request["most_seconds"]) + 20)
        answers.write(json.dumps(_answer(request, requests.read(request["size"]))).encode() + b"\n")
        answers.flush()
        if _most_kilobytes() > large:
            return


def _most_kilobytes() -> int:
    import resource  # noqa: PLC0415 - Windows has none

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _bound(name: str, most: int) -> None:
    """Set a limit, as far as the system supports it."""
    import resource  # noqa: PLC0415 - Windows has none

    with suppress(OSError, ValueError):
        what = getattr(resource, name)
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _answer(request: dict[str, Any], content: bytes) -> dict[str, Any]:
    try:
        document = _document(request, content, Path(request["name"]))
    except Unreadable as error:
        return {"unreadable": str(error)}
    except MemoryError:
        return {"unreadable": "takes more than 1 GB of memory to be read"}
    except RecursionError:
        return {"unreadable": "nested too deeply"}
    if len(document.text) > _MOST_CHARACTERS:
        note = f"only the first {_MOST_CHARACTERS:,} characters are read"
        notes = "; ".join(filter(None, [document.note, note]))
        document = document._replace(text=document.text[:_MOST_CHARACTERS], note=notes)
    return {"document": document}


def _document(request: dict[str, Any], content: bytes, path: Path) -> Document:
    # Heavy, or a circular import.
    from contend.sources.readers import READERS, html, pdf, word  # noqa: PLC0415

    match request["kind"]:
        case "web":
            return Document("", html.read_web_page(content, request["charset"]))
        case ".pdf":
            pages = request["most_pages"] or pdf.MOST_PAGES
            return pdf.read_pdf(content, path, most_pages=pages, most_seconds=request["most_seconds"])
        case ".docx":
            return word.read_docx(content, path)
        case kind:
            return READERS[kind](content, path)
