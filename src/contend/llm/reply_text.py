"""From the text of a model's answer to a reply in the agreed shape."""

import json
import re
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import ValidationError

from contend.models.replies import Reply
from contend.text import clean, estimate_tokens, shorten

R = TypeVar("R", bound=Reply)

MAX_REPLY_CHARACTERS = 2_000_000
_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_FAULTS_SHOWN = 3


class UnreadableReply(ValueError):  # noqa: N818 - named by what it is
    """The text is not a reply of the agreed shape; the message says why, short enough to show to the model."""


def read_reply(text: str, reply_type: type[R]) -> R:
    """The reply, from plain or fenced JSON; characters that no text should hold are dropped.

    Raises:
        UnreadableReply: blank, over 2,000,000 characters, not JSON, or of another shape.
    """
    if len(text) > MAX_REPLY_CHARACTERS:
        raise UnreadableReply(f"the reply has {len(text):,} characters; at most {MAX_REPLY_CHARACTERS:,} are read")
    bare = _bare(clean(text))
    if not bare:
        raise UnreadableReply("the reply is empty")
    try:
        return reply_type.model_validate_json(_without_hidden(bare) if "\\u" in bare else bare)
    except ValidationError as error:
        raise UnreadableReply(_explain(error)) from error


def _bare(text: str) -> str:
    """The JSON without what small models put around it: their thinking, a code fence."""
    said = text.strip()
    if said.startswith("{"):
        return said
    said = _without_thinking(said).strip()
    fenced = None if said.startswith("{") else _FENCED.search(said)
    return fenced[1].strip() if fenced else said


def _without_thinking(said: str) -> str:
    """A text without what stands between `<think>` and the next `</think>`; a thought that has no end stays."""
    *closed, rest = said.split("</think>")
    return "".join(_before_thought(part) for part in closed) + rest


def _before_thought(part: str) -> str:
    before, opened, _ = part.partition("<think>")
    return before if opened else f"{part}</think>"


def _without_hidden(text: str) -> str:
    """The JSON with its strings cleaned: lone surrogates and NUL hide in escapes. As it is where it isn't JSON."""
    try:
        return json.dumps(_cleaned(json.loads(text)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _cleaned(value: object) -> object:
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item) for item in value]
        case dict():
            return {clean(key): _cleaned(item) for key, item in value.items()}
        case _:
            return value


def _explain(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, fault['loc'])) or 'reply'}: {fault['msg']}" for fault in faults[:_FAULTS_SHOWN]]
    rest = len(faults) - _FAULTS_SHOWN
    return shorten("; ".join([*lines, *([f"and {rest} more"] if rest > 0 else [])]), 600)


@lru_cache(maxsize=256)
def strict_format(reply_type: type[Reply]) -> dict[str, Any]:
    """`response_format` that binds a model to the shape, made once; not to be changed by who gets it."""
    described = {"name": reply_type.__name__, "strict": True, "schema": reply_type.model_json_schema()}
    return {"type": "json_schema", "json_schema": described}


@lru_cache(maxsize=256)
def schema_text(reply_type: type[Reply]) -> str:
    """The shape's JSON schema as text."""
    return json.dumps(reply_type.model_json_schema(), ensure_ascii=False)


@lru_cache(maxsize=256)
def schema_tokens(reply_type: type[Reply]) -> int:
    """About how many tokens an endpoint counts for the shape."""
    return estimate_tokens(schema_text(reply_type))


JSON_FORMAT: dict[str, Any] = {"type": "json_object"}
"""`response_format` of endpoints that know no schemas: the shape is in the prompt instead."""
