"""The process that reads documents for another: one request after another on its standard input, an answer to each.

A request is a line of JSON and the document's bytes, an answer a line of JSON.
"""

import json
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from contend.sources.readers import READERS
from contend.sources.readers.document import Document, Unreadable
from contend.sources.readers.html import read_web_page
from contend.sources.readers.pdf import MOST_PAGES, read_pdf
from contend.sources.readers.process import MOST_BYTES, MOST_CHARACTERS
from contend.sources.readers.word import read_docx

_IDLE_SECONDS = 20.0
_LARGE_KILOBYTES = 300_000
"""A process that once took as much does not give it back: the next document gets a new one."""


def serve() -> None:
    """Answer requests until none comes for a while."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks ends this one
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _bound(resource.RLIMIT_AS, MOST_BYTES)
    large = max(_LARGE_KILOBYTES, _most_kilobytes())  # it counts from before this program was loaded
    requests = sys.stdin.buffer
    while select.select([requests], [], [], _IDLE_SECONDS)[0] and (line := requests.readline()):
        request = json.loads(line)
        _bound(resource.RLIMIT_CPU, int(time.process_time() + request["most_seconds"]) + 20)
        answers.write(json.dumps(_answer(request, requests.read(request["size"]))).encode() + b"\n")
        answers.flush()
        if _most_kilobytes() > large:
            return


def _most_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _bound(what: int, most: int) -> None:
    """As far as the system lets: some know no bound on memory."""
    try:
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    except (OSError, ValueError):
        pass


def _answer(request: dict[str, Any], content: bytes) -> dict[str, Any]:
    try:
        return {"document": _bounded(_document(request, content, Path(request["name"])))}
    except Unreadable as error:
        return {"unreadable": str(error)}
    except MemoryError:
        return {"unreadable": "takes more than 1 GB of memory to be read"}
    except RecursionError:
        return {"unreadable": "nested too deeply"}


def _document(request: dict[str, Any], content: bytes, path: Path) -> Document:
    match request["kind"]:
        case "web":
            return Document("", read_web_page(content, request["charset"]))
        case ".pdf":
            pages = request["most_pages"] or MOST_PAGES
            return read_pdf(content, path, most_pages=pages, most_seconds=request["most_seconds"])
        case ".docx":
            return read_docx(content, path)
        case kind:
            return READERS[kind](content, path)


def _bounded(document: Document) -> Document:
    if len(document.text) <= MOST_CHARACTERS:
        return document
    note = f"only the first {MOST_CHARACTERS:,} characters are read"
    return document._replace(text=document.text[:MOST_CHARACTERS], note="; ".join(filter(None, [document.note, note])))
