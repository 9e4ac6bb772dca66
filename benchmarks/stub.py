"""A chat endpoint on the loopback for benchmarks: fixed latency, a ready reply of each shape that contend asks for.

`python benchmarks/stub.py --latency-ms 200 --max-seconds 300` prints `READY <port>`, `ASKED` at the first question to
its model, and ends by itself.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from itertools import count, cycle
from pathlib import Path
from typing import IO, Any, NamedTuple

_HOST = "127.0.0.1"
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_HEAD = "HTTP/1.1 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"

QUERIES = [
    "resume a run after a crash from its checkpoint",
    "judges score and rank the submissions of each round",
    "sources, documents and citations of the report",
    "再開 チェックポイント 文書 採点",
]
"""What each plan searches for: the last one finds documents in Japanese."""

DOCS = Path(__file__).resolve().parents[1] / "docs"
_SENTENCE = re.compile(r'"""([A-Z][^.|\[\n"`{}]{80,180}\.)"""')
_VARIANTS = 50


@lru_cache(maxsize=1)
def prose() -> list[str]:
    """Sentences as long and as varied as what models write: the code's docstrings, which no benchmark reads."""
    files = sorted((DOCS.parent / "src").rglob("*.py"))
    return [sentence for path in files for sentence in _SENTENCE.findall(path.read_text("utf-8"))]


_EMPTY = frozenset(
    {
        *("actions", "bullets", "disagreements", "doubts", "fixes", "insights", "left_out", "lessons", "missing"),
        *("not_done", "operations", "orders", "uncited"),
    }
)
"""Lists that a model leaves empty where it has nothing to say."""

_NULL = frozenset({"fix", "reader_limit"})
"""What it leaves out."""

_METRIC = re.compile(r"^## ([a-z_]+)$", re.MULTILINE)
"""A metric's heading in a judge's prompt."""

_DOCUMENT = re.compile(r"(AI systems; it is data.*\n\n)?<passages-(\w+)>\n((?:.*\n)*?)</passages-\2>")
"""The passages of a document in a writer's prompt; what speaks to AI systems backs no statement alone."""

_SHAPE = re.compile(r'^\{.*"title":"\w+"\}\Z', re.MULTILINE)
"""A reply's JSON schema at the end of a turn."""

_PASSAGE = re.compile(r"^<P(\d+)-.*\n", re.MULTILINE)
"""The line with a passage's number and heading."""

_QUOTABLE = re.compile(r"(?<![\w-])[A-Z][^.|\[\]\n<>`*_#]{40,180}\.(?=\s|$)")

_CITING = frozenset({"ReportReply", "RevisionReply", "MergeReply"})
_USEFUL = 32
"""So many evenly spread passages answer the question, about 4,000 tokens; each statement cites the next of them."""

_STEP = re.compile(r"^# Your part: step (\d+) ", re.MULTILINE)
_CATALOGUED = re.compile(r"^(\d+)\. ", re.MULTILINE)
"""A document in the catalogue, by its number."""
_PART = re.compile(r"^(\d+)\. (?:open|partly|answered|not_found)\b", re.MULTILINE)
"""A part of the question and how far it is, by its number."""
_READ, _LAST_STEP, _MOST_HELD = 7, 5, 60

_CRITERIA = 8
"""The stub makes as many of a question."""

_MOST_ITEMS = 6
_COUNTS = {"sections": 4, "blocks": 2, "sentences": 3, "summary": 3, "citations": 12}
"""A report of about 800 words, of which a judge is asked about a dozen sentences."""

_WANTED = ("tie", "stated", "met", "yes")
"""Chosen where a reply offers them."""


class _Asked(NamedTuple):
    """What a prompt asks about.

    Sentences to cite, with the numbers of their passages; of a judge so many criteria, of which the last `unmet` are
    not met, and metrics by name.
    """

    passages: tuple[tuple[int, str], ...] = ()
    criteria: int = 0
    metrics: tuple[str, ...] = ()
    unmet: int = 0

    @classmethod
    def by(cls, shape: str, prompt: str, unmet: int) -> "_Asked":
        if shape != "VerdictsReply":
            return cls(_sentences_of(prompt) if shape in _CITING else ())
        criteria = _CRITERIA if "\n# Criteria\n" in prompt else 0
        return cls((), criteria, tuple(_METRIC.findall(prompt)), min(unmet, criteria))


def _sentences_of(prompt: str) -> tuple[tuple[int, str], ...]:
    """A sentence of each of so many evenly spread passages."""
    documents = [text for warned, _, text in _DOCUMENT.findall(prompt) if not warned]
    parts = [_PASSAGE.split(text) for text in documents]
    passages = [(int(number), text) for part in parts for number, text in zip(part[1::2], part[2::2], strict=True)]
    offered = [(number, sentence[0]) for number, text in passages if (sentence := _QUOTABLE.search(text))]
    return tuple(offered[place * len(offered) // _USEFUL] for place in range(_USEFUL)) if offered else ()


def _numbers(text: str) -> list[int]:
    return [int(number) for number in _PASSAGE.findall(text)]


class _Sampler:
    """Makes a reply of a JSON schema, as long as a model's: lists of up to six, sentences of other pages."""

    def __init__(self, schema: Mapping[str, Any], variant: int, asked: _Asked) -> None:
        self._shapes = schema.get("$defs", {})
        self._variant = variant
        self._asked = asked
        self._statements = count(variant)
        self._said = cycle(prose()[variant * 7 % len(prose()) :] + prose())

    def made(self, part: Mapping[str, Any], name: str = "") -> object:
        if name in _NULL:
            return None
        match part:
            case {"$ref": reference}:
                value = self.made(self._shapes[reference.rpartition("/")[2]], name)
            case {"anyOf": choices} | {"oneOf": choices}:
                value = self.made(choices[0], name)
            case {"type": "object", "properties": {"quotes": _, "text": _}} if self._asked.passages:
                number, sentence = self._asked.passages[next(self._statements) % _USEFUL]
                value = {"text": sentence, "sources": [number], "quotes": [sentence], "kind": "stated", "basis": ""}
            case {"type": "object"}:
                value = {key: self.made(inner, key) for key, inner in part.get("properties", {}).items()}
            case {"type": "array"}:
                value = self._listed(part, name)
            case _:
                value = self._plain(part, name)
        return value

    def _listed(self, part: Mapping[str, Any], name: str) -> list[object]:
        least = part.get("minItems", 0)
        wanted = _MOST_ITEMS
        count = least if name in _EMPTY else max(least, min(part.get("maxItems", wanted), wanted))
        if name == "metrics" and self._asked.metrics:
            return [{**self._object(part["items"]), "metric": metric} for metric in self._asked.metrics]
        if name == "criteria" and self._asked.criteria:
            count = self._asked.criteria
        made = [self.made(part["items"], name) for _ in range(_COUNTS.get(name, count))]
        numbered = [
            {**each, "number": number} if isinstance(each, dict) and "number" in each else each
            for number, each in enumerate(made, start=1)
        ]
        unmet = self._asked.unmet if name == "criteria" else 0
        return [*numbered[: len(numbered) - unmet], *map(_unmet, numbered[len(numbered) - unmet :])]

    def _object(self, part: Mapping[str, Any]) -> dict[str, Any]:
        made = self.made(part)
        return made if isinstance(made, dict) else {}

    def _plain(self, part: Mapping[str, Any], name: str) -> object:
        match part:
            case {"const": value}:
                return value
            case {"enum": choices}:
                return next((each for each in _WANTED if each in choices), choices[self._variant % len(choices)])
            case {"type": "integer"}:
                return 40 + self._variant if name == "percent" else part.get("minimum", 1)
            case {"type": "string"} if name != "basis":
                return next(self._said)[: part.get("maxLength", 200)].ljust(part.get("minLength", 0), ".")
        return "" if name == "basis" else True


class Shape(NamedTuple):
    """The shape of a reply, and its name."""

    name: str
    schema: Mapping[str, Any]


def shape_in(body: Mapping[str, Any]) -> Shape | None:
    """The reply's shape in a chat completion's body: as a parameter, or at the end of a turn; None without one."""
    parameter = (body.get("response_format") or {}).get("json_schema")
    if parameter:
        return Shape(parameter["name"], parameter["schema"])
    for turn in reversed(body["messages"]):
        if shown := _SHAPE.search(str(turn["content"])):
            schema = json.loads(shown[0])
            return Shape(schema["title"], schema)
    return None


def _unmet(verdict: object) -> object:
    return {**verdict, "verdict": "unmet", "fix": _fix()} if isinstance(verdict, dict) else verdict


def _fix() -> dict[str, object]:
    return {"where": "summary 1", "what": prose()[0][:200]}


def reply_to(request: bytes, unmet: int = 0) -> object:
    """The reply to a chat completion's body, of the reply shape that it names; its length varies the words.

    `unmet`: so many criteria are not met, whatever a report says, and its reviewer wants it mended.
    """
    asked = json.loads(request)
    if (shape := shape_in(asked)) is None:
        raise ValueError("the stub answers requests with a reply shape only")
    # Later turns say what was wrong with a reply.
    prompt = next(turn["content"] for turn in asked["messages"] if turn["role"] == "user")
    if shape.name == "StepReply":
        return _step(prompt)
    about = _Asked.by(shape.name, prompt, unmet)
    reply = _reply(json.dumps(shape.schema, sort_keys=True), len(request) % _VARIANTS, about)
    if unmet and shape.name == "FixesReply" and isinstance(reply, dict):
        return {**reply, "accept": False, "fixes": [{**_fix(), "passages": []}]}
    return reply


def _step(prompt: str) -> object:
    """A researcher searches, then reads documents for a few steps, holds of each step what came, and answers all."""
    number, found = int(_STEP.findall(prompt)[-1]), _numbers(prompt)
    documents = _CATALOGUED.findall(prompt)
    searches = [{"kind": "search", "source": "", "text": query, "parts": [1]} for query in QUERIES]
    pages = documents[(number - 2) * _READ : (number - 1) * _READ] if 1 < number < _LAST_STEP else []
    reads = [{"kind": "read", "source": "", "text": document, "parts": [1]} for document in pages]
    actions = searches if number == 1 else reads
    state, passages = "partly" if actions else "answered", found[:-_MOST_HELD][-_MOST_HELD:]
    parts = sorted({int(part) for part in _PART.findall(prompt)})
    return {
        "thought": prose()[0][:200],
        "parts": [{"part": part, "state": state, "passages": passages, "missing": ""} for part in parts],
        "others": found[-_MOST_HELD:],
        "give_up": [],
        "actions": actions,
        "done": not actions,
    }


@lru_cache(maxsize=4096)
def _reply(schema: str, variant: int, asked: _Asked) -> object:
    shape = json.loads(schema)
    return _Sampler(shape, variant, asked).made(shape)


def response_to(request: bytes, unmet: int = 0) -> bytes:
    """The whole HTTP response to a chat completion's body."""
    message = {"role": "assistant", "content": json.dumps(reply_to(request, unmet)), "refusal": None}
    completion = {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": _usage(request, message["content"]),
    }
    return _response("200 OK", completion)


def _listing(head: bytes) -> bytes:
    """The HTTP response to a GET: the one model, and nothing at any other path."""
    if head.split(b" ", 2)[1].endswith(b"/models"):
        return _response("200 OK", {"object": "list", "data": [{"id": "stub", "object": "model", "owned_by": "stub"}]})
    return _response("404 Not Found", {"error": {"message": "not found"}})


def _response(status: str, value: object) -> bytes:
    body = json.dumps(value).encode()
    return _HEAD.format(status, len(body)).encode() + body


def _usage(request: bytes, reply: str | None) -> dict[str, int]:
    """About as many tokens as a model would count."""
    told = {"prompt_tokens": len(request) // 4, "completion_tokens": len(reply or "") // 4}
    return {**told, "total_tokens": sum(told.values())}


@lru_cache(maxsize=1)
def _note_first() -> None:
    _say("ASKED")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class _Connection(asyncio.Protocol):
    """One client's connection, kept alive; one request at a time, as HTTP/1.1 clients send them."""

    def __init__(self, latency: float, log: IO[bytes] | None, unmet: int) -> None:
        self._latency = latency
        self._unmet = unmet
        self._log = log
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        head, end, body = self._held.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if end and head.startswith(b"GET "):
            self._held = body
            self._answer(_listing(head))
        elif end and length and len(body) >= int(length[1]):
            self._held = b""
            _note_first()
            if self._log:
                self._log.write(body + b"\n")
                self._log.flush()
            asyncio.get_running_loop().call_later(self._latency, self._answer, response_to(body, self._unmet))

    def _answer(self, response: bytes) -> None:
        if isinstance(self._transport, asyncio.Transport) and not self._transport.is_closing():
            self._transport.write(response)


async def serve(latency: float, max_seconds: float, log: Path | None = None, unmet: int = 0) -> None:
    """Answer on a free port until the time is over; `log` takes each request's body as a line."""
    with ExitStack() as stack:
        lines = stack.enter_context(log.open("wb")) if log else None
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(latency, lines, unmet), _HOST, 0, backlog=256)
        _say(f"READY {server.sockets[0].getsockname()[1]}")
        await asyncio.sleep(max_seconds)


class Stub(NamedTuple):
    """A stub in a process of its own."""

    address: str
    lines: IO[str]

    def wait_for_first_request(self) -> None:
        self.lines.readline()


@contextmanager
def running(latency: float, *, log: Path | None = None, unmet: int = 0) -> Iterator[Stub]:
    """A stub that answers after `latency` seconds; it ends with the block. `unmet`: as in `reply_to`."""
    command = [sys.executable, __file__, "--latency-ms", str(latency * 1000), "--unmet", str(unmet)]
    command += ["--log", str(log)] if log else []
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
    parser.add_argument("--log", type=Path, help="a file that takes each request's body as a line")
    parser.add_argument("--unmet", type=int, default=0, help="criteria that no report meets")
    chosen = parser.parse_args()
    asyncio.run(serve(chosen.latency_ms / 1000, chosen.max_seconds, chosen.log, chosen.unmet))


if __name__ == "__main__":
    main()
