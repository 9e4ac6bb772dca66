"""Read a reply of the requested type from a model's text, whatever surrounds it."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import ValidationError

from contend.models.replies import Reply
from contend.text import clean, shorten

R = TypeVar("R", bound=Reply)

_MAX_REPLY_CHARACTERS = 2_000_000
_MOST_STARTS = 300
"""How many places in a text are tried as the start of JSON; after that the model must repair its reply."""
_MOST_MENDED_CHARACTERS, _MOST_MENDED_BRACKETS = 100_000, 1_500
"""The repair library takes minutes for a text of nothing but brackets."""
_DEEPEST_WRAPPING = 4
_MOST_FAULTS = 3
_WHOLE_NUMBER = re.compile(r"(\d{1,9})\s?(?:%|/\s?100)?")
_TYPES: dict[str, type] = {"array": list, "string": str, "null": type(None)}
_DECODER = json.JSONDecoder()


class UnreadableReply(ValueError):  # noqa: N818 - named by what it is
    """The text is no reply of the requested type; the message says why, short enough to show to the model.

    `has_json`: it holds JSON of some shape.
    """

    def __init__(self, message: str, *, has_json: bool = True) -> None:
        super().__init__(message)
        self.has_json = has_json


def read_reply(text: str, reply_type: type[R], *, may_mend: bool = True, may_adapt: bool = False) -> tuple[R, bool]:
    """The reply, and whether it was repaired; control characters and lone surrogates are dropped.

    The whole text is searched: after reasoning, in fences and tags, within a list or an object. The last match counts.
    JSON that was cut off is not repaired, because the missing part would be a guess. With `may_adapt`, if nothing fits,
    the writing of names, lists and numbers is adapted to the schema and unknown fields are dropped; nothing is added.

    Raises:
        UnreadableReply: blank, over 2,000,000 characters, without JSON, or of another type.
    """
    if len(text) > _MAX_REPLY_CHARACTERS:
        raise UnreadableReply(f"the reply has {len(text):,} characters; at most {_MAX_REPLY_CHARACTERS:,} are read")
    bare = clean(text).strip()
    if not bare:
        raise UnreadableReply("the reply is empty")
    values = [*_values_in(bare)]
    fitting = [reply for value in values for reply in _fitting(value, reply_type)]
    if fitting:
        return fitting[-1], False
    mended = [*_mended(bare)] if may_mend else []
    adapted = [values, mended] if may_mend and may_adapt else []
    for found, lenient in ((mended, False), *((each, True) for each in adapted)):
        if fitting := [reply for value in found for reply in _fitting(value, reply_type, lenient=lenient)]:
            return fitting[-1], True
    raise _fault(bare, values, reply_type)


def _values_in(text: str) -> Iterator[Any]:
    """The outermost JSON objects and lists of a text, in order."""
    place = 0
    for _ in range(_MOST_STARTS):
        place = min((at for bracket in "{[" if (at := text.find(bracket, place)) >= 0), default=-1)
        if place < 0:
            return
        try:
            value, place = _DECODER.raw_decode(text, place)
        except ValueError:
            place += 1
        except RecursionError:
            return
        else:
            yield value


def _mended(text: str) -> Iterator[Any]:
    """Repair faulty JSON between the first and the last brace, if braces are balanced."""
    body = text[text.find("{") : text.rfind("}") + 1]
    closes = body.count("{") == body.count("}") and body.count("[") == body.count("]")
    if not body or not closes or len(body) > _MOST_MENDED_CHARACTERS or body.count("{") > _MOST_MENDED_BRACKETS:
        return
    import json_repair  # noqa: PLC0415 - rarely needed

    with suppress(ValueError, RecursionError):
        yield json_repair.loads(body)


def _fitting(value: Any, reply_type: type[R], depth: int = 0, *, lenient: bool = False) -> Iterator[R]:  # noqa: ANN401 - JSON
    """Candidates for the reply: the value itself, then values inside it (list items, fields, JSON strings)."""
    if isinstance(value, dict) and value:  # an empty one would match any type without required fields
        try:
            shaped = _adapted(value, _schema(reply_type), _schema(reply_type).get("$defs", {})) if lenient else value
            text = json.dumps(_clean_strings(shaped), ensure_ascii=False)
            yield reply_type.model_validate_json(text, extra="ignore" if lenient else None)
        except (ValidationError, RecursionError):
            pass
        else:
            return
    if depth < _DEEPEST_WRAPPING:
        for inner in _inner_values(value):
            yield from _fitting(inner, reply_type, depth + 1, lenient=lenient)


@lru_cache(maxsize=256)
def _schema(reply_type: type[Reply]) -> Mapping[str, Any]:
    return reply_type.model_json_schema()


def _adapted(value: Any, schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """The value with field names, choices, lists and whole numbers written as the schema has them."""
    match schema:
        case {"$ref": _}:
            value = _adapted(value, _resolved(schema, shapes), shapes)
        case {"anyOf": choices} | {"oneOf": choices}:
            value = _adapted(value, max(choices, key=lambda choice: _likeness(value, choice, shapes)), shapes)
        case {"properties": fields} if isinstance(value, dict):
            names = {_plain(name): name for name in fields}
            named = {names.get(_plain(key), key): item for key, item in value.items()}
            value = {name: _adapted(item, fields.get(name, {}), shapes) for name, item in named.items()}
        case {"type": "array", "items": items}:
            listed = value if isinstance(value, list) else [] if value is None else [value]
            value = [_adapted(item, items, shapes) for item in listed]
        case {"enum": choices} if isinstance(value, str):
            value = next((choice for choice in choices if _plain(choice) == _plain(value)), value)
        case {"const": str(choice)} if isinstance(value, str) and _plain(choice) == _plain(value):
            value = choice
        case {"type": "integer"} if isinstance(value, str) and (number := _WHOLE_NUMBER.fullmatch(value.strip())):
            value = int(number[1])
    return value


def _resolved(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> Mapping[str, Any]:
    return shapes[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _likeness(value: Any, schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> int:  # noqa: ANN401 - JSON
    """How well a value fits one choice of a union: by its type, and by the fields that it has."""
    schema = _resolved(schema, shapes)
    if not isinstance(value, dict):
        return int(isinstance(value, _TYPES.get(schema.get("type", ""), ())))
    fields = {_plain(name): field for name, field in schema.get("properties", {}).items()}
    named = {_plain(key): item for key, item in value.items() if _plain(key) in fields}
    wrong = any("const" in fields[key] and _plain(fields[key]["const"]) != _plain(item) for key, item in named.items())
    return 0 if wrong else len(named)


def _plain(name: object) -> str:
    return re.sub(r"[\W_]+", "", str(name)).casefold()


def _inner_values(value: Any) -> Iterator[Any]:  # noqa: ANN401 - JSON
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        if isinstance(item, str) and item.lstrip().startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                yield json.loads(item)
        elif isinstance(item, dict | list):
            yield item


def _clean_strings(value: object) -> object:
    """Clean strings after parsing: lone surrogates and NUL may be escaped."""
    match value:
        case str():
            return clean(value)
        case list():
            return [_clean_strings(item) for item in value]
        case dict():
            return {clean(key): _clean_strings(item) for key, item in value.items()}
        case _:
            return value


def _fault(text: str, values: list[Any], reply_type: type[Reply]) -> UnreadableReply:
    """The fault of the largest object in the text, else of the text itself."""
    objects = [value for value in values if isinstance(value, dict)]
    largest = max((json.dumps(_clean_strings(value), ensure_ascii=False) for value in objects), key=len, default="")
    begin = text.find("{")
    try:
        reply_type.model_validate_json(largest or text[max(begin, 0) :])
    except ValidationError as error:
        return UnreadableReply(_explain(error), has_json=begin >= 0)
    return UnreadableReply("the reply has another shape")


def _explain(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, fault['loc'])) or 'reply'}: {fault['msg']}" for fault in faults[:_MOST_FAULTS]]
    rest = len(faults) - _MOST_FAULTS
    return shorten("; ".join([*lines, *([f"and {rest} more"] if rest > 0 else [])]), 600)
