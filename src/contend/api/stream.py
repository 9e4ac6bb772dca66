"""The event stream of a research: server-sent events that a client takes up again where it lost them."""

import asyncio
import json
from collections.abc import AsyncIterator

from contend.api.models import ResearchResponse
from contend.api.researches import Researches
from contend.models.events import KeptEvent

_SOON, _LATE = 0.25, 2.0
"""Seconds between looks at the record: while something is told, and after a while of silence."""

_SILENCE = 15.0
"""Seconds after which a comment keeps the connection open."""


async def event_stream(researches: Researches, research_id: str, *, after: int) -> AsyncIterator[str]:
    """All events with a number above `after`, then those to come, until the run is at its end.

    Between them stands an event `status`, without an id, each time the status has changed: it is never told again.
    """
    status: ResearchResponse | None = None
    pause = silent = 0.0
    while True:
        current = await researches.response(research_id)
        events = await researches.services.record.events(research_id, after=after)
        for each in events:
            yield event_message(each)
            after = each.number
        if current != status:
            yield f"event: status\ndata: {current.model_dump_json()}\n\n"
            status, silent = current, 0.0
        if not events and current.status in {"completed", "failed"}:
            return
        pause = _SOON if events else min(_LATE, max(_SOON, pause * 1.5))
        silent = 0.0 if events else silent + pause
        if silent >= _SILENCE:
            yield ": nothing new\n\n"
            silent = 0.0
        await asyncio.sleep(pause)


def event_message(each: KeptEvent) -> str:
    """An event as it is sent: its number as id, its type as name, and for all events team and round."""
    values = each.event.model_dump(mode="json")
    data = {"id": each.number, "team_id": "", "round_number": 0, **values}
    return f"id: {each.number}\nevent: {values['type']}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
