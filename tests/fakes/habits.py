"""OpenAI-compatible endpoints with the habits that users report, one a path: `{server.url}/HABIT/v1`.

A reply is made from the JSON schema that was asked for, or that stands in the prompt; a model that is shown none
answers in prose, as real ones do.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, Self

from fakes.loopback import LoopbackServer

PROSE = "Sure! The bridge cost 48 million euros. Let me know if you need anything else."
USAGE = {"prompt_tokens": 900, "completion_tokens": 200, "total_tokens": 1100}
AWAY_SECONDS = 2.2
"""Longer than two hasty repeats take."""
Refusal = tuple[int, Any]


def _error(message: str, **more: object) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more}}


def _format_of(body: dict[str, Any]) -> str | None:
    kind: str | None = (body.get("response_format") or {}).get("type")
    return kind


def _has_system(body: dict[str, Any]) -> bool:
    return any(message["role"] == "system" for message in body["messages"])


REFUSALS: dict[str, Callable[[dict[str, Any], int], Refusal | None]] = {
    "no_format": lambda body, _: (400, _error("'response_format' is not supported")) if _format_of(body) else None,
    "error_as_text": lambda body, _: (
        (400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})
        if _format_of(body) == "json_object"
        else (400, {"error": "Failed to compile json_schema grammar"})
        if _format_of(body)
        else None
    ),
    "unknown_keyword": lambda body, _: (
        (400, _error('Unknown name "additionalProperties": Cannot find field.'))
        if _format_of(body) == "json_schema"
        else None
    ),
    "error_as_detail": lambda body, _: (
        (422, {"detail": [{"loc": ["body", "x"], "msg": "Extra inputs are not permitted"}]})
        if _format_of(body)
        else None
    ),
    "validate_failed": lambda body, _: (
        (400, _error("Failed to generate JSON. Please adjust your prompt.", code="json_validate_failed"))
        if _format_of(body) == "json_schema"
        else None
    ),
    "nothing_said": lambda body, _: (400, {}) if "temperature" in body or _has_system(body) else None,
    "other_limit_name": lambda body, _: (
        (400, _error("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."))
        if "max_tokens" in body
        else None
    ),
    "short_replies": lambda body, _: (
        (400, _error("Invalid max_tokens value, the valid range of max_tokens is [1, 4,096]"))
        if body["max_tokens"] > 4096
        else None
    ),
    "no_temperature": lambda body, _: (
        (400, _error("`temperature` is deprecated for this model.")) if "temperature" in body else None
    ),
    "no_system_role": lambda body, _: (400, _error("System role not supported")) if _has_system(body) else None,
    "roles_alternate": lambda body, _: (
        (400, {"object": "error", "message": "Conversation roles must alternate user/assistant/user/assistant/..."})
        if _has_system(body)
        else None
    ),
    "roles_alternate_500": lambda body, _: (
        (500, _error("Jinja Exception: Conversation roles must alternate user/assistant/...", code=500))
        if _has_system(body)
        else None
    ),
    "schema_fails": lambda body, _: (500, "Internal Server Error") if _format_of(body) == "json_schema" else None,
    "short_replies_beside_context": lambda body, _: (
        (400, _error("`max_tokens` must be less than or equal to `4096`, it is less than the `context_window`"))
        if body["max_tokens"] > 4096
        else None
    ),
    "stream_only": lambda body, _: (
        None if body.get("stream") else (400, _error("enable_thinking must be false for non-streaming calls"))
    ),
    "error_in_200": lambda _, number: (
        (200, {"error": {"message": "Provider returned error", "code": 502}}) if number == 2 else None
    ),
    "error_in_choice": lambda _, number: (
        (200, {"choices": [{"error": {"message": "Upstream idle", "code": 503}, "message": None}]})
        if number == 2
        else None
    ),
    "no_choices": lambda _, number: (200, {"id": "x", "choices": None, "usage": USAGE}) if number == 2 else None,
    "overloaded": lambda _, number: (
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}) if number < 4 else None
    ),
    "loading": lambda _, number: (503, _error("Loading model", code=503)) if number < 4 else None,
    "context_as_text": lambda *_: (
        400,
        {"error": "Trying to keep the first 5321 tokens. However, the model has a context length of only 4096 tokens."},
    ),
    "context_of_provider": lambda *_: (
        400,
        _error("Provider returned error", metadata={"raw": json.dumps(_error("prompt is too long: 9000 > 8192"))}),
    ),
    "context_as_count": lambda *_: (
        400,
        _error("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    ),
}
"""What is answered in place of a reply, by the request and by its number; None where the reply comes."""


def _written_otherwise(reply: dict[str, Any]) -> str:
    """With names in capitals, a field that nobody asked for, and numbers as text."""
    text = json.dumps({**reply, "confidence": "high"})
    return re.sub(r": (\d+)(?=[,}\]])", r': "\1"', re.sub(r'"(\w+)":', lambda name: name[0].title(), text))


def _call(reply: str) -> dict[str, Any]:
    return {"content": None, "tool_calls": [{"id": "1", "function": {"name": "reply", "arguments": reply}}]}


MESSAGES: dict[str, Callable[[str], dict[str, Any]]] = {
    "open_thinking": lambda reply: {"content": f"Okay, they want {{what}}.\n</think>\n\n{reply}"},
    "other_thinking_tag": lambda reply: {"content": f"<reasoning>Okay.</reasoning>\n{reply}"},
    "channels": lambda reply: {
        "content": f"<|channel|>analysis<|message|>We {{think}}.<|end|><|channel|>final<|message|>{reply}<|return|>"
    },
    "boxed": lambda reply: {"content": f"<|begin_of_box|>{reply}<|end_of_box|>"},
    "fenced_after_prose": lambda reply: {"content": f"Here it is:\n```json\n{reply}\n```\nI hope this helps {{you}}!"},
    "list_around": lambda reply: {"content": f"[{reply}]"},
    "object_around": lambda reply: {"content": json.dumps({"reply": json.loads(reply)})},
    "tool_call": _call,
    "tool_call_as_text": lambda reply: {"content": f'<tool_call>{{"name": "reply", "arguments": {reply}}}</tool_call>'},
    "parts": lambda reply: {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": reply}]},
    "reasoning_alone": lambda reply: {"content": "", "reasoning_content": reply},
    "other_writing": lambda reply: {"content": _written_otherwise(json.loads(reply))},
    "faulty_json": lambda reply: {"content": re.sub(r"\}$", ",}", reply)},
}
"""What a reply looks like."""

COUNTS: dict[str, Any] = {
    "counts_as_text": {name: str(count) for name, count in USAGE.items()},
    "no_counts": None,
}
HABITS = ["plain", "format_dropped", "away", "moved", "marked", "empty_error", *REFUSALS, *MESSAGES, *COUNTS]


class HabitServer:
    """The server, in threads of this process."""

    def __init__(self) -> None:
        self.numbers = Counter[str]()
        """Requests so far, by habit."""
        self.began: dict[str, float] = {}
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.habits = self

    def url(self, habit: str) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/{habit}/v1"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()


class _Server(LoopbackServer):
    habits: HabitServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._send(200, json.dumps({"data": [{"id": "m1"}, {"id": "m2"}]}), "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not body.get("messages"):
            self._send(400, json.dumps(_error("messages is missing")), "application/json")
            return
        habit, habits = self.path.split("/")[1], self.server.habits
        habits.numbers[habit] += 1
        if habit == "moved" and "/there/" not in self.path:
            self._send(301, "", "text/html", location=self.path.replace("/v1", "/there/v1"))
            return
        began = habits.began.setdefault(habit, time.monotonic())
        if habit == "away" and habits.numbers[habit] > 1 and time.monotonic() - began < AWAY_SECONDS:
            self.close_connection = True
            return
        refusal = REFUSALS[habit](body, habits.numbers[habit]) if habit in REFUSALS else None
        if refusal:
            self._send(refusal[0], json.dumps(refusal[1]), "application/json")
            return
        reply = _reply_to(body, drops_format=habit == "format_dropped")
        message = MESSAGES[habit](reply) if reply and habit in MESSAGES else {"content": reply or PROSE}
        usage = COUNTS.get(habit, USAGE)
        if body.get("stream"):
            self._send(200, _streamed(str(message["content"]), usage), "text/event-stream")
            return
        if habit == "empty_error":
            answer = {
                "choices": [{"message": message, "logprobs": [{}]}],
                "error": {"code": 0, "message": ""},
                "code": 0,
                "msg": "success",
            }
            self._send(200, json.dumps(answer), "application/json")
            return
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
        mark = "\ufeff" if habit == "marked" else ""
        self._send(200, mark + json.dumps({"id": "x", "choices": [choice], "usage": usage}), "application/json")

    def _send(self, status: int, text: str, content_type: str, *, location: str | None = None) -> None:
        data = text.encode()
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Silent."""


def _reply_to(body: dict[str, Any], *, drops_format: bool) -> str | None:
    text = "\n".join(str(message["content"]) for message in body["messages"])
    schema = None if drops_format else ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
    if schema is None and (shown := re.search(r'^\{"(?:\$defs|additionalProperties)".*\}$', text, re.MULTILINE)):
        schema = json.loads(shown[0])
    return None if schema is None else json.dumps(_instance(schema, schema.get("$defs", {})))


def _instance(schema: dict[str, Any], shapes: dict[str, Any]) -> Any:  # noqa: ANN401, PLR0911 - any JSON, a return for each kind
    match schema:
        case {"$ref": name}:
            return _instance(shapes[name.rpartition("/")[2]], shapes)
        case {"const": value} | {"enum": [value, *_]}:
            return value
        case {"anyOf": choices}:
            return _instance(next(each for each in choices if each.get("type") != "null"), shapes)
        case {"properties": properties}:
            # What it says stands in no passage, so that it quotes none.
            return {name: [] if name == "quotes" else _instance(each, shapes) for name, each in properties.items()}
        case {"type": "array"}:
            return [_instance(schema["items"], shapes)] * max(1, schema.get("minItems", 0))
        case {"type": "integer" | "number"}:
            return (schema.get("minimum", 0) + schema.get("maximum", 100)) // 2 or 1
        case {"type": "string"}:
            return "resume reads the checkpoint".ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]
    return schema.get("type") == "boolean"


def _streamed(text: str, usage: object) -> str:
    deltas = [{"role": "assistant", "content": text[:40]}, {"content": text[40:]}]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in (*chunks, end)) + "data: [DONE]\n\n"
