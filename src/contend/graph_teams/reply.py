"""What a graph's state says: its report as Markdown, and a line on each of its steps."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress

from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from pydantic import BaseModel, ValidationError

from contend.errors import GraphError
from contend.models.research import ResearchReport
from contend.text import clean, shorten

_KEYS = ("report", "structured_response")
_TEXTS = ("report", "markdown", "text")
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
    last_first = (str(message.text).strip() for message in reversed(_messages_of_models(state)))
    texts = [*(_markdown(state.get(key)) for key in _KEYS), *last_first]
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


def _step_text(node: str, change: object) -> str:
    calls = ", ".join(_calls(change))
    return f"{node}: {calls}" if calls else node


def _calls(change: object) -> Iterator[str]:
    for message in _messages_of_models(change):
        for call in message.tool_calls:
            yield f"{call['name']}({json.dumps(call['args'], ensure_ascii=False, default=str)})"


def _messages_of_models(record: object) -> list[AIMessage]:
    """Those of a state or of what a node changed in it; what LangChain cannot read is left out."""
    record = _plain(record)
    values = record.get("messages") if isinstance(record, Mapping) else None
    messages: list[BaseMessage] = []
    for each in values if isinstance(values, list | tuple) else ():
        # A streamed message that a server has kept is one as any other.
        is_chunk = isinstance(each, Mapping) and each.get("type") == "AIMessageChunk"
        with suppress(ValueError, TypeError, NotImplementedError):
            messages += convert_to_messages([{**each, "type": "ai"} if is_chunk else each])
    return [message for message in messages if isinstance(message, AIMessage)]
