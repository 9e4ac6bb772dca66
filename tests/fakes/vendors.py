"""One loopback server that stands in for the vendors: a chat endpoint that answers from the prompt's content.

In a test: `with Vendors() as vendors:` gives `vendors.base_url`, `vendors.calls` (answered), `vendors.hung` (which
never will be) and the faults below.
Alone, for tests that kill processes: `python tests/fakes/vendors.py --port N --log FILE --latency-ms N --max-seconds N`
prints `READY <port>` and writes one JSON line for each finished request. It listens on 127.0.0.1 only.
"""

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event, Lock
from typing import Any, Self, TypedDict, Unpack

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contend.text import estimate_tokens
from fakes.agents import agents_report, next_tool_call
from fakes.chat_replies import PROMPTS, ChatRequest, answer
from fakes.loopback import LoopbackServer

_OWN_TEAM = re.compile(r"<team-[0-9a-f]{8}>([^<]*)</team-[0-9a-f]{8}>[^\n]*← ")
_ROUND = re.compile(r"(?:^# |Plan )[Rr]ound (\d+)|^# ラウンド ?(\d+)|ラウンド ?(\d+) ?の計画", re.MULTILINE)
_SHAPE_IN_PROMPT = re.compile(r"^\{.*\"properties\".*\}$", re.MULTILINE)


@dataclass(frozen=True)
class Call:
    """One finished or refused request. `prompt` is told by the shape that was asked for."""

    model: str
    prompt: str
    system: str
    user: str
    turns: int
    body: dict[str, Any]
    headers: dict[str, str]
    status: int
    at: float
    path: str = ""

    def line(self) -> dict[str, str | int]:
        """What the log keeps. `content` is the same for the same request, whenever it is made."""
        request = _chat_request(self.body)
        team, turn = _OWN_TEAM.search(self.user), _ROUND.search(self.user)
        return {
            "prompt": self.prompt,
            "model": self.model,
            "status": self.status,
            "team": team[1] if team else "",
            "round": next(filter(None, turn.groups()), "") if turn else "",
            "content": sha256(f"{self.model}\n{request.system}\n{request.plain_user_text}".encode()).hexdigest()[:12],
        }


@dataclass
class _Rule:
    """A fault: which requests it meets, how often still (None: always), and what it makes of the answer."""

    spoil: "Callable[[_Answer], None]"
    model: str | None
    prompt: str | None
    match: str | None
    times: int | None
    after: int = 0

    def meets(self, call: Call) -> bool:
        if (self.model or call.model) != call.model or (self.prompt or call.prompt) != call.prompt:
            return False
        if self.match and not re.search(self.match, call.system + "\n" + call.user, re.DOTALL):
            return False
        if self.after > 0:
            self.after -= 1
            return False
        if self.times == 0:
            return False
        self.times = None if self.times is None else self.times - 1
        return True


@dataclass
class _Answer:
    """What will be sent, before a fault spoils it."""

    text: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    raw: bytes | None = None
    finish_reason: str = "stop"
    refusal: str | None = None
    usage: bool = True
    prompt_tokens: int | None = None
    cached: dict[str, Any] = field(default_factory=dict)
    likely: dict[int, float] | None = None
    hang: bool = False
    cut: bool = False
    drip_seconds: float = 0.0
    tool_call: dict[str, Any] | None = None


class Where(TypedDict, total=False):
    """Which requests a fault meets; what is left out fits all."""

    model: str
    prompt: str
    match: str
    times: int
    after: int


class Vendors:
    """The server, in threads of this process. Faults hold for requests that fit `model`, `prompt` and `match`
    (a pattern searched in the prompt), from the `after`-th on, `times` times (None: always). The newest fault wins.
    """

    def __init__(self, *, port: int = 0, latency: float = 0.0, log: Path | None = None) -> None:
        self.latency = latency
        self.models: list[dict[str, Any]] = []
        """What `GET /v1/models` lists."""
        self.context: int | None = None
        """As vLLM, refuse a call whose prompt, with the longest reply it allows, has more tokens."""
        self.answer: Callable[[ChatRequest], str] = answer
        """What a chat request is answered, before faults."""
        self.hung: list[Call] = []
        self.calls: list[Call] = []
        self.most_in_flight = 0
        self._in_flight = 0
        self._rules: list[_Rule] = []
        self._lock = Lock()
        self._over = Event()
        self._answering = Event()
        self._answering.set()
        self._log = log
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.vendors = self

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._answering.set()
        self._server.stop()

    def prompts(self) -> list[str]:
        return [call.prompt for call in self.calls]

    def fail(
        self,
        *,
        status: int,
        message: str = "planted failure",
        code: str | None = None,
        kind: str = "planted",
        param: str | None = None,
        retry_after: str | float | None = None,
        **where: Unpack[Where],
    ) -> None:
        """Answer with an error status."""

        def spoil(reply: _Answer) -> None:
            reply.status = status
            reply.error = {"message": message, "type": kind, "code": code, "param": param}
            reply.headers |= {} if retry_after is None else {"Retry-After": str(retry_after)}

        self._add(spoil, **where)

    def reply(
        self, text: str, *, finish_reason: str = "stop", refusal: str | None = None, **where: Unpack[Where]
    ) -> None:
        """Answer with this text."""

        def spoil(reply: _Answer) -> None:
            reply.text, reply.finish_reason, reply.refusal = text, finish_reason, refusal

        self._add(spoil, **where)

    def malform(self, how: Callable[[str], str], **where: Unpack[Where]) -> None:
        """Answer with what `how` makes of the right reply's text."""

        def spoil(reply: _Answer) -> None:
            reply.text = how(reply.text)

        self._add(spoil, **where)

    def truncate(self, characters: int = 20, **where: Unpack[Where]) -> None:
        """Cut the reply by its length limit."""

        def spoil(reply: _Answer) -> None:
            reply.text, reply.finish_reason = reply.text[:characters], "length"

        self._add(spoil, **where)

    def raw(
        self, body: bytes, *, content_type: str = "text/html", encoding: str = "identity", **where: Unpack[Where]
    ) -> None:
        """Answer 200 with something else than a chat completion."""

        def spoil(reply: _Answer) -> None:
            reply.raw, reply.headers = body, {"Content-Type": content_type, "Content-Encoding": encoding}

        self._add(spoil, **where)

    def hang(self, **where: Unpack[Where]) -> None:
        """Never answer."""
        self._add(lambda reply: setattr(reply, "hang", True), **where)

    def cut(self, **where: Unpack[Where]) -> None:
        """Close the connection in the middle of the answer."""
        self._add(lambda reply: setattr(reply, "cut", True), **where)

    def drip(self, seconds: float, **where: Unpack[Where]) -> None:
        """Send a byte, wait, send another."""
        self._add(lambda reply: setattr(reply, "drip_seconds", seconds), **where)

    def weigh(self, likely: dict[int, float], **where: Unpack[Where]) -> None:
        """Answer with the likeliest percent, and tell the others where log-probabilities are asked for."""

        def spoil(reply: _Answer) -> None:
            reply.likely = likely
            reply.text = re.sub(
                r'(?<="percent": )\d+', str(max(likely, key=lambda percent: likely[percent])), reply.text
            )

        self._add(spoil, **where)

    def count_nothing(self, **where: Unpack[Where]) -> None:
        """Send no usage."""
        self._add(lambda reply: setattr(reply, "usage", False), **where)

    def count(self, *, prompt: int, **where: Unpack[Where]) -> None:
        """Send this as the prompt's number of tokens."""
        self._add(lambda reply: setattr(reply, "prompt_tokens", prompt), **where)

    def tell_cached(self, cached: dict[str, Any], **where: Unpack[Where]) -> None:
        """Send these fields of usage, which say what a cache held of the prompt."""
        self._add(lambda reply: setattr(reply, "cached", cached), **where)

    def hold(self) -> None:
        """Answer nobody until `go_on`."""
        self._answering.clear()

    def go_on(self) -> None:
        self._answering.set()

    def heal(self) -> None:
        """Forget all faults."""
        self._rules.clear()

    def _add(
        self,
        spoil: Callable[[_Answer], None],
        *,
        model: str | None = None,
        prompt: str | None = None,
        match: str | None = None,
        times: int | None = None,
        after: int = 0,
    ) -> None:
        self._rules.insert(0, _Rule(spoil, model, prompt, match, times, after))

    def chat(self, body: dict[str, Any], headers: dict[str, str]) -> tuple[Call, _Answer]:
        with self._lock:
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        request = _chat_request(body)
        of_agent = "tools" in body
        reply = _Answer(agents_report(body) if of_agent else self.answer(request), tool_call=next_tool_call(body))
        call = Call(
            model=str(body.get("model")),
            prompt=PROMPTS.get(request.shape, request.shape),
            system=request.system,
            user=request.user,
            turns=len(body["messages"]),
            body=body,
            headers=headers,
            status=200,
            at=time.monotonic(),
        )
        with self._lock:
            rule = next((rule for rule in self._rules if rule.meets(call)), None)
        if rule:
            rule.spoil(reply)
        if self.context and (tokens := _most_tokens(body)) > self.context:
            reply.status = 400
            reply.error = {"message": f"maximum context length is {self.context} tokens, {tokens} were asked for"}
        if reply.hang:
            self.hung.append(call)
        self._over.wait(1e6 if reply.hang else self.latency)
        self._answering.wait()
        return call, reply

    def note_end(self, call: Call) -> None:
        with self._lock:
            self._in_flight -= 1
            self.calls.append(call)
            if self._log:
                line = {"at": time.time(), **call.line()}
                with self._log.open("a") as log:
                    log.write(json.dumps(line, ensure_ascii=False) + "\n")


def _chat_request(body: dict[str, Any]) -> ChatRequest:
    messages = body["messages"]
    system = "\n".join(message["content"] for message in messages if message["role"] in {"system", "developer"})
    user = next(message["content"] for message in messages if message["role"] == "user")
    schema_format = body.get("response_format", {}).get("json_schema")
    if schema_format is None:
        shape = _SHAPE_IN_PROMPT.search(system) or _SHAPE_IN_PROMPT.search(user)
        schema = json.loads(shape[0]) if shape else {}
        return ChatRequest(schema.get("title", "text"), schema, system, user)
    return ChatRequest(schema_format["name"], schema_format["schema"], system, user)


def _completion(call: Call, reply: _Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    if reply.tool_call:
        message |= {"content": None, "tool_calls": [reply.tool_call]}
    has_logprobs = reply.likely is not None and call.body.get("logprobs")
    prompt_tokens = reply.prompt_tokens or len((call.system + call.user).encode()) // 4 + 1
    reply_tokens = len(reply.text) // 4 + 1
    usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": reply_tokens,
        "total_tokens": prompt_tokens + reply_tokens,
        **reply.cached,
    }
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": call.model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": reply.finish_reason,
                **({"logprobs": {"content": _with_logprobs(reply.text, reply.likely or {})}} if has_logprobs else {}),
            }
        ],
        **({"usage": usage} if reply.usage else {}),
    }


def _with_logprobs(text: str, likely: dict[int, float]) -> list[dict[str, Any]]:
    """The text in three tokens: what stands before the percent, the number, the rest."""
    number = re.search(r'(?<="percent": )\d+', text)
    assert number
    others = [{"token": str(value), "logprob": math.log(share)} for value, share in likely.items()]
    token = {"token": number[0], "logprob": math.log(likely[int(number[0])]), "top_logprobs": others}
    around = [{"token": part, "logprob": 0.0} for part in (text[: number.start()], text[number.end() :])]
    return [around[0], token, around[1]]


class _Server(LoopbackServer):
    vendors: Vendors


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.partition("?")[0].endswith("/chat/completions"):
            self._send(404, {}, b'{"error": {"message": "no such path"}}')
            return
        call, reply = self.server.vendors.chat(body, dict(self.headers))
        sent = reply.raw
        if sent is None:
            sent = json.dumps({"error": reply.error} if reply.error else _completion(call, reply)).encode()
        headers = {"Content-Type": "application/json"} | reply.headers
        # Noted before it is sent: who has the answer finds the call in the list.
        self.server.vendors.note_end(replace(call, status=reply.status, path=self.path))
        if reply.hang:
            self.close_connection = True
        elif reply.cut:
            self._send(reply.status, headers, sent, only=len(sent) // 2)
        else:
            self._send(reply.status, headers, sent, pause=reply.drip_seconds)

    def do_GET(self) -> None:
        models = self.server.vendors.models if self.path == "/v1/models" else []
        body = json.dumps({"object": "list", "data": models}).encode()
        self._send(200, {"Content-Type": "application/json"}, body)

    def _send(
        self, status: int, headers: dict[str, str], body: bytes, *, only: int | None = None, pause: float = 0
    ) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if only is not None:
            self.wfile.write(body[:only])
            self.close_connection = True
            return
        if not pause:
            self.wfile.write(body)
            return
        for at in range(len(body)):
            self.wfile.write(body[at : at + 1])
            if self.server.vendors._over.wait(pause):
                return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Silent."""


def _most_tokens(body: dict[str, Any]) -> int:
    prompt = "".join(str(message["content"]) for message in body["messages"])
    return estimate_tokens(prompt) + int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--latency-ms", type=float, default=0)
    parser.add_argument("--max-seconds", type=float, default=600)
    arguments = parser.parse_args()
    with Vendors(port=arguments.port, latency=arguments.latency_ms / 1000, log=arguments.log) as vendors:
        sys.stdout.write(f"READY {vendors.port}\n")
        sys.stdout.flush()
        time.sleep(arguments.max_seconds)


if __name__ == "__main__":
    main()
