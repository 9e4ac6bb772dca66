"""A chat endpoint on the loopback for benchmarks: fixed latency, a ready reply of each shape that contend asks for.

`python benchmarks/stub.py --latency-ms 200 --max-seconds 300` prints `READY <port>`, `ASKED` at the first request, and
ends by itself.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

_HOST = "127.0.0.1"
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_SHAPE = re.compile(rb'"json_schema": ?\{ ?"name": ?"(\w+)"')
_OFFERED = re.compile(rb'"sources": ?\{[^{}]*"items": ?\{[^{}]*?"enum": ?\[([\d, ]+)\]')
_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
_USAGE = {"prompt_tokens": 1500, "completion_tokens": 400, "total_tokens": 1900}

QUERIES = [
    "resume a run after a crash from its checkpoint",
    "judges score and rank the submissions of each round",
    "sources, documents and citations of the report",
    "再開 チェックポイント 文書 採点",
]
"""What each plan searches for: the last one finds documents in Japanese."""

DOCS = Path(__file__).resolve().parents[1] / "docs"
_SENTENCE = re.compile(r"(?<=[.)] )[A-Z][^.`|\n]{40,180}\.(?= [A-Z])")
_VARIANTS = 50


@lru_cache(maxsize=1)
def prose() -> list[str]:
    """Sentences of the guide: as long and as varied as what models write."""
    text = " ".join(" ".join(path.read_text("utf-8").split()) for path in sorted(DOCS.glob("*.md")))
    return _SENTENCE.findall(text)


def _sentences(first: int, count: int, offered: int) -> list[dict[str, Any]]:
    """Sentences that rest on the offered passages in turn."""
    numbers, said = range(first, first + count), prose()
    return [{"text": said[at % len(said)], "sources": [at % offered + 1] if offered else []} for at in numbers]


def _lines(first: int, count: int) -> list[str]:
    return [sentence["text"] for sentence in _sentences(first, count, 0)]


def _replies(offered: int, variant: int) -> dict[str, dict[str, Any]]:
    first = variant * 7
    return {
        "PlanReply": {
            "investigation_points": _lines(first, 4),
            "search_queries": QUERIES,
            "plan_text": " ".join(_lines(first + 4, 2)),
        },
        "DraftReply": {
            "summary": _sentences(first, 3, offered),
            "findings": _sentences(first + 3, 6, offered),
            "analysis": _sentences(first + 9, 12, offered),
            "limits": _sentences(first + 21, 1, offered),
            "bullets": [],
        },
        "ReviewReply": {"feedback": "", "more_queries": [], "accept": True},
        "MetricReply": {"reason": " ".join(_lines(first, 3)), "evidence": _lines(first, 1), "percent": 40 + variant},
        "PairwiseReply": {"reason": " ".join(_lines(first, 2)), "choice": "tie"},
        "CitationReply": {"verdicts": [{"number": 1, "reason": "It says so.", "verdict": "stated"}]},
        "JudgmentReply": {
            "reasoning": " ".join(_lines(first, 2)),
            "should_continue": True,
            "confidence_percent": 80,
        },
        "ReflectionReply": {"insights": [], "bullet_evaluations": []},
        "CurationReply": {"operations": []},
    }


@lru_cache(maxsize=4096)
def _response(shape: str, offered: int, variant: int) -> bytes:
    """The whole HTTP response, made once."""
    message = {"role": "assistant", "content": json.dumps(_replies(offered, variant)[shape]), "refusal": None}
    completion = {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": _USAGE,
    }
    body = json.dumps(completion).encode()
    return _HEAD.format(len(body)).encode() + body


def response_to(request: bytes) -> bytes:
    """The response to a chat completion's body, told by the reply shape that it names; its length varies the words."""
    shape, offered = _SHAPE.search(request), _OFFERED.search(request)
    if shape is None:
        raise ValueError("the stub answers requests with a reply shape only")
    return _response(shape[1].decode(), offered[1].count(b",") + 1 if offered else 0, len(request) % _VARIANTS)


@lru_cache(maxsize=1)
def _note_first() -> None:
    _say("ASKED")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class _Connection(asyncio.Protocol):
    """One client's connection, kept alive; one request at a time, as HTTP/1.1 clients send them."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        head, end, body = self._held.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if end and length and len(body) >= int(length[1]):
            self._held = b""
            _note_first()
            asyncio.get_running_loop().call_later(self._latency, self._answer, response_to(body))

    def _answer(self, response: bytes) -> None:
        if isinstance(self._transport, asyncio.Transport) and not self._transport.is_closing():
            self._transport.write(response)


async def serve(latency: float, max_seconds: float) -> None:
    """Answer on a free port until the time is over."""
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(latency), _HOST, 0, backlog=256)
    _say(f"READY {server.sockets[0].getsockname()[1]}")
    await asyncio.sleep(max_seconds)


class Stub(NamedTuple):
    """A stub in a process of its own."""

    address: str
    lines: IO[str]

    def wait_for_first_request(self) -> None:
        self.lines.readline()


@contextmanager
def running(latency: float) -> Iterator[Stub]:
    """A stub that answers after `latency` seconds; it ends with the block."""
    command = [sys.executable, __file__, "--latency-ms", str(latency * 1000)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines = process.stdout
        if lines is None:
            raise SystemExit("the stub has no standard output")
        try:
            yield Stub(f"http://{_HOST}:{lines.readline().split()[1]}/v1", lines)
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency-ms", type=float, default=200)
    parser.add_argument("--max-seconds", type=float, default=300)
    chosen = parser.parse_args()
    asyncio.run(serve(chosen.latency_ms / 1000, chosen.max_seconds))


if __name__ == "__main__":
    main()
