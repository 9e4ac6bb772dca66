"""What a graph's state says: its report as Markdown, and a line on each of its steps."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, ValidationError

from contend.errors import GraphError
from contend.models.research import ResearchReport
from contend.text import clean, shorten

_KEYS = ("report", "structured_response")
_TEXTS = ("report", "markdown", "text")
_OF_MODELS = {"ai", "assistant", "AIMessage", "AIMessageChunk"}
_NOTHING = (
    "its graph ended without a report: it leaves Markdown as `report`, as `structured_response`, or as the last "
    "message of a model"
)
_STEP_CHARACTERS = 120


def reply_of(values: object) -> str:
    """The report in the last state: `report` or `structured_response`, else the last message of a model.

    Each may be Markdown, a record with Markdown in it, or a report of contend's own.

    Raises:
        GraphError: there is none.
    """
    state = _plain(values)
    if not isinstance(state, Mapping):
        state = {"report": state}
    texts = [*(_markdown(state.get(key)) for key in _KEYS), _last_text(state.get("messages"))]
    if not (text := next(filter(None, texts), "")):
        raise GraphError(_NOTHING)
    return text


def shown_step(update: object) -> str:
    """Which nodes ran, and which tools a model called there."""
    changes = update.items() if isinstance(update, Mapping) else ()
    return "; ".join(
        shorten(clean(_step_text(str(node), change), single_line=True), _STEP_CHARACTERS) for node, change in changes
    )


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, BaseModel) else value


def _markdown(value: object) -> str:
    record = _plain(value)
    if isinstance(record, str):
        return record.strip()
    if not isinstance(record, Mapping):
        return ""
    try:
        return ResearchReport.model_validate(record).to_markdown()
    except ValidationError:
        return next((each.strip() for key in _TEXTS if isinstance(each := record.get(key), str)), "")


def _last_text(messages: object) -> str:
    texts = (_text(message) for message in reversed(_list(messages)) if _field(message, "type", "role") in _OF_MODELS)
    return next(filter(None, texts), "")


def _text(message: object) -> str:
    if isinstance(message, BaseMessage):
        return str(message.text).strip()
    content = _field(message, "content")
    blocks = [content] if isinstance(content, str) else _list(content)
    texts = (block if isinstance(block, str) else _field(block, "text") for block in blocks)
    return "".join(text for text in texts if isinstance(text, str)).strip()


def _step_text(node: str, change: object) -> str:
    calls = ", ".join(_calls(_list(_field(change, "messages"))))
    return f"{node}: {calls}" if calls else node


def _calls(messages: Sequence[object]) -> Iterator[str]:
    for message in messages:
        for call in _list(_field(message, "tool_calls")):
            arguments = json.dumps(_field(call, "args"), ensure_ascii=False, default=str)
            yield f"{_field(call, 'name')}({arguments})"


def _field(record: object, *names: str) -> Any:  # noqa: ANN401 - of others' records anything
    for name in names:
        value = record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)
        if value is not None:
            return value
    return None


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else []
