"""Read what an OpenAI-compatible server sent: a chat completion, or an error in its own words."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

_NAMES_BY_STATUS = {
    400: ("invalid_request_error", "bad_request", "context_length_exceeded"),
    401: ("authentication_error", "invalid_api_key"),
    402: ("insufficient_quota",),
    403: ("permission_error",),
    404: ("not_found_error", "model_not_found"),
    408: ("request_timeout",),
    429: ("rate_limit_error", "rate_limit_exceeded"),
    500: ("api_error", "server_error", "internal_error", "internal_server_error"),
    504: ("timeout",),
    529: ("overloaded_error",),
}
"""An error's `code`, `type` or `status` in words, by HTTP status."""
_STATUS_BY_NAME = {name: status for status, names in _NAMES_BY_STATUS.items() for name in names}
_WORDS = (
    *("message", "error", "detail", "msg", "errors", "error_message", "error_msg", "description", "reason", "raw"),
    *("base_resp", "status_msg"),  # of MiniMax
)
"""Keys under which an error may hold its text, likeliest first."""
_INTERRUPTED = frozenset({"error", "abort", "network_error", "insufficient_system_resource"})
"""Values of `finish_reason` at OpenRouter, vLLM, Zhipu and DeepSeek."""
_REASONING = ("reasoning_content", "reasoning", "thinking")
_DEEPEST = 8


class ErrorInAnswer(Exception):  # noqa: N818 - named by what it is
    """An error sent with HTTP status 200; `status` is the one it should have had, None if unknown."""

    def __init__(self, body: object) -> None:
        self.body = body
        self.status = error_status(body)
        super().__init__(error_text(body))


class NoCompletion(Exception):  # noqa: N818 - named by what it is
    """An answer with HTTP status 200 that is no chat completion; `may_pass`: a retry may give one."""

    def __init__(self, message: str, *, may_pass: bool) -> None:
        super().__init__(message)
        self.may_pass = may_pass


def text_of(answer: "httpx2.Response") -> str:
    """An answer's text: UTF-8, as JSON and event streams are, whatever it declares; else as declared."""
    try:
        return answer.content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return answer.text


def read_completion(text: str) -> dict[str, Any]:
    """Read a chat completion, sent whole or as a stream, into OpenAI's format.

    Raises:
        ErrorInAnswer: it is an error.
        NoCompletion: it is something else, or has no choices.
    """
    body = _streamed(text) if text.lstrip().startswith(("data:", "event:", ":")) else json_of(text)
    if not isinstance(body, dict):
        # It was cut off if it is empty or begins as JSON does.
        cut = text.lstrip()[:1] in {"", "{", "["}
        raise NoCompletion(f"it begins with {text[:40]!r}" if text else "it is empty", may_pass=cut or body is not None)
    choices = [choice for choice in body.get("choices") or () if isinstance(choice, dict)]
    if not choices and (body.get("error") or error_text(body)):
        raise ErrorInAnswer(body)
    if not choices:
        raise NoCompletion("it has no choices", may_pass=True)
    choice = choices[0]
    if error := _interruption(body, choice):
        raise ErrorInAnswer({"error": error})
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    content = _content(choice, message)
    plain = {"role": "assistant", "content": content, "refusal": _text(message.get("refusal"))}
    logprobs = choice.get("logprobs") if isinstance(choice.get("logprobs"), dict) else None
    plain_choice = {**choice, "message": plain, "logprobs": logprobs}
    # LangChain raises for any `error`, also for an empty one beside a whole reply.
    return {**body, "error": None, "choices": [plain_choice], "usage": _usage(body.get("usage"))}


def _interruption(body: Mapping[str, Any], choice: Mapping[str, Any]) -> object:
    """Why a reply ended in the middle, as a gateway says of the provider behind it; None if it did not."""
    if error := choice.get("error"):
        return error
    reason = choice.get("finish_reason")
    if reason in _INTERRUPTED:
        return body.get("error") or f"the reply was interrupted: {reason}"
    return body.get("error") if reason is None and error_text(body.get("error")) else None


def _content(choice: Mapping[str, Any], message: Mapping[str, Any]) -> str:
    """The reply, wherever the server put it; the reasoning if there is nothing else and it was not cut off."""
    calls = [call.get("function") for call in message.get("tool_calls") or () if isinstance(call, dict)]
    arguments = [call.get("arguments") for call in (*calls, message.get("function_call")) if isinstance(call, dict)]
    places = [message.get("content"), *arguments, message.get("parsed"), choice.get("text")]
    if choice.get("finish_reason") != "length":
        places += [message.get(name) for name in _REASONING]
    return next((text for place in places if (text := _text(place)).strip()), "")


def _text(value: object) -> str:
    """A text, the text parts of a list, or an object as JSON."""
    match value:
        case str():
            return value
        case dict():
            return json.dumps(value, ensure_ascii=False)
        case list():
            parts = [part for part in value if isinstance(part, dict)]
            return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        case _:
            return ""


def _usage(usage: object) -> dict[str, Any] | None:
    """Token counts; None unless both can be read. Servers name cached tokens in two ways."""
    names = ("prompt_tokens", "completion_tokens")
    counts = [_count(usage.get(name)) for name in names] if isinstance(usage, dict) else [None]
    numbers = [count for count in counts if count is not None]
    if len(numbers) < len(names):
        return None
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    fields = [details.get("cached_tokens") if isinstance(details, dict) else None]
    fields += [usage.get("prompt_cache_hit_tokens") if isinstance(usage, dict) else None]
    cached = next((count for each in fields if (count := _count(each)) is not None), 0)
    if cached > numbers[0]:  # gateways before Anthropic's models count the rest of the prompt alone
        numbers[0] += cached
    counts_by_name = dict(zip(names, numbers, strict=True))
    return {**counts_by_name, "total_tokens": sum(numbers), "prompt_tokens_details": {"cached_tokens": cached}}


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return max(0, int(float(value)))
    except (ValueError, OverflowError):
        return None


def _streamed(text: str) -> dict[str, Any]:
    """Join the chunks of a stream with one choice."""
    message: dict[str, str] = {}
    whole: dict[str, Any] = {}
    reason, arguments, tokens = None, "", list[Any]()
    for chunk in _chunks(text):
        whole |= {key: value for key, value in chunk.items() if value is not None and key != "choices"}
        for choice in chunk.get("choices") or ():
            part = choice.get("delta") or choice.get("message") or {}
            for name in ("content", "refusal", *_REASONING):
                message[name] = message.get(name, "") + _text(part.get(name))
            for call in (*(part.get("tool_calls") or ()), {"function": part.get("function_call")}):
                arguments += _text((call.get("function") or {}).get("arguments"))
            reason = choice.get("finish_reason") or reason
            tokens += (choice.get("logprobs") or {}).get("content") or ()
    if not (any(message.values()) or arguments or reason):
        return whole
    calls = {"tool_calls": [{"function": {"arguments": arguments}}]} if arguments else {}
    choice = {"index": 0, "message": message | calls, "finish_reason": reason, "logprobs": {"content": tokens}}
    return whole | {"choices": [choice]}


def _chunks(text: str) -> Iterator[dict[str, Any]]:
    # `splitlines` would also split at line separators within JSON strings.
    for line in re.split(r"\r\n|\n|\r", text):
        chunk = json_of(line.removeprefix("data:")) if line.startswith("data:") else None
        if isinstance(chunk, dict):
            yield chunk


def error_text(body: object, depth: int = 0) -> str:
    """The text of an error, whether under any usual key, in a list, or in JSON within a string."""
    if isinstance(body, str):
        inner = json_of(body) if body.lstrip().startswith(("{", "[")) and depth < _DEEPEST else None
        return (inner is not None and error_text(inner, depth + 1)) or body.strip()
    if depth >= _DEEPEST:
        return ""
    if isinstance(body, Sequence):
        return "; ".join(filter(None, (error_text(item, depth + 1) for item in body)))
    if not isinstance(body, Mapping):
        return ""
    # A gateway's own words say less than those of the provider behind it.
    texts = [error_text(body[name], depth + 1) for name in _WORDS if body.get(name)]
    inner_texts = [error_text(body["metadata"], depth + 1)] if isinstance(body.get("metadata"), dict) else []
    place = ".".join(map(str, body["loc"])) + ": " if isinstance(body.get("loc"), list) else ""
    messages = dict.fromkeys(filter(None, [*texts[:1], *inner_texts]))
    return place + ": ".join(messages) if messages else ""


def error_status(body: object) -> int | None:
    """The HTTP status that an error names by number or word; None if it names none."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return None
    for value in (error.get("code"), error.get("status"), error.get("type")):
        number = _count(value)
        if number is not None and 400 <= number < 600:  # noqa: PLR2004 - HTTP's errors
            return number
        if isinstance(value, str) and value.lower() in _STATUS_BY_NAME:
            return _STATUS_BY_NAME[value.lower()]
    return None


def json_of(text: str | bytes) -> object:
    """Parsed JSON, also with bare control characters in its strings; None if it is none."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
