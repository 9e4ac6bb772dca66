"""A loopback server that replays what services once answered, and the recordings to replay."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event, Lock
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

import pytest

from fakes.loopback import LoopbackServer


class Recording(NamedTuple):
    """A recorded answer and the query parameters it was an answer to."""

    name: str
    status: int
    body: bytes
    query: dict[str, str]


def recordings(folder: str) -> list[Path]:
    """The files of a folder of recordings; without them the test is skipped, in CI it fails."""
    data = os.environ.get("CONTEND_DATA")
    if data:
        return sorted((Path(data) / folder).glob("*.json"))
    if os.environ.get("CI"):
        pytest.fail("CONTEND_DATA is not set: recorded answers are needed in CI")
    pytest.skip("set CONTEND_DATA to the folder of recorded answers")


def arxiv_recordings() -> list[Recording]:
    """Every recorded answer of arXiv's API."""
    recorded = []
    for path in recordings("arxiv_recordings"):
        answer = json.loads(path.read_text("utf-8"))
        query = dict(parse_qsl(urlsplit(answer["url"]).query))
        recorded.append(Recording(path.stem, answer["status_code"], answer["body"].encode(), query))
    return recorded


def tavily_searches() -> list[dict[str, Any]]:
    """Every recorded Tavily search as an answer; recorded tool messages (title, url, snippet) are given its shape."""
    cookbook, messages = sorted(recordings("tavily_recordings"), reverse=True)
    answers = [item["response"] for item in json.loads(cookbook.read_text("utf-8")) if "query" in item["response"]]
    for message in json.loads(messages.read_text("utf-8")):
        if message["tool"] == "web_search":
            results = [{**item, "content": item.pop("snippet")} for item in json.loads(message["content"])]
            answers.append({"query": message["thread"], "results": results})
    return answers


@dataclass(frozen=True)
class HttpRequest:
    """One request: its path, query parameters or JSON body, headers, and when it came and was answered (monotonic)."""

    path: str
    query: dict[str, str]
    body: dict[str, Any]
    headers: dict[str, str]
    at: float


@dataclass(frozen=True)
class Answer:
    """What to send: whole, never (`hang`), cut in the middle, a byte at a time, or on and on (`endless`)."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    hang: bool = False
    cut: bool = False
    drip_seconds: float = 0.0
    endless: bool = False

    @property
    def slow(self) -> bool:
        """Whether it is counted as at work until its end, and not only until it is sent."""
        return bool(self.hang or self.drip_seconds or self.endless)


def as_json(value: object, *, status: int = 200, **headers: str) -> Answer:
    named_headers = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(json.dumps(value).encode(), status, {"Content-Type": "application/json", **named_headers})


class Replay:
    """The server, in threads of this process. `answer` decides by the request; it may be replaced at any time.

    `whole` counts the answers of which all was sent.
    """

    def __init__(self, answer: Callable[[HttpRequest], Answer]) -> None:
        self.answer = answer
        self.requests: list[HttpRequest] = []
        self.answered_at: list[float] = []
        self.most_at_once = 0
        self.whole = 0
        self.over = Event()
        self._at_once = 0
        self._lock = Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.replay = self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.stop()

    def take(self, request: HttpRequest) -> Answer:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.requests.append(request)
        return self.answer(request)

    def done(self) -> None:
        with self._lock:
            self._at_once -= 1
            self.answered_at.append(time.monotonic())


class _Server(LoopbackServer):
    replay: Replay


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        replay = self.server.replay
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = replay.take(HttpRequest(parts.path, dict(parse_qsl(parts.query)), body, headers, time.monotonic()))
        try:
            replay.whole += self._send(answer)
        except OSError:
            pass  # the client went away, as tests of deadlines mean it to
        finally:
            if answer.slow:
                replay.done()

    do_POST = do_GET  # noqa: N815 - the name the server calls

    def log_message(self, *_: object) -> None:
        pass

    def _send(self, answer: Answer) -> bool:
        """Whether all of it was sent."""
        over = self.server.replay.over
        over.wait(30 if answer.hang else answer.seconds)
        if answer.hang:
            return False
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name != "Content-Length":
                self.send_header(name, value)
        if not answer.endless:
            self.send_header("Content-Length", answer.headers.get("Content-Length", str(len(answer.body))))
        if not answer.slow:
            # Noted before it is sent: who has the answer may ask again before this thread has its next turn.
            self.server.replay.done()
        self.end_headers()
        while answer.endless and not over.is_set():
            self.wfile.write(answer.body)
        for byte in answer.body if answer.drip_seconds else b"":
            self.wfile.write(bytes([byte]))
            if over.wait(answer.drip_seconds):
                return False
        if not answer.drip_seconds:
            self.wfile.write(answer.body[: len(answer.body) // 2] if answer.cut else answer.body)
        return not answer.cut and not answer.endless
