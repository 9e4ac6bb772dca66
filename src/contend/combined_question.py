"""Several open questions as one, for front ends: they show one question, and answer without saying which they mean.

LangGraph tells of each team's question by itself, as soon as that team waits, and a chat shows only the last of them.
So the Agent Server's graphs tell of all once, when the run waits, with an `action_request` for each: who answers has
seen them all. Each can be answered by its own id all the same.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from typing import Any

from langgraph.types import Interrupt, StateSnapshot

from contend.approval import combined_id, in_order

_INTERRUPT = "__interrupt__"


def combined(interrupts: Sequence[Interrupt]) -> Interrupt:
    """What one or several open questions are shown as. A request's `question_id` and `team_id` say whose it is."""
    if len(interrupts) == 1:
        return interrupts[0]
    interrupts = in_order(interrupts)
    requests = [
        {**request, "question_id": each.id, "team_id": each.value["team_id"]}
        for each in interrupts
        for request in each.value["action_requests"]
    ]
    configs = {config["action_name"]: config for each in interrupts for config in each.value["review_configs"]}
    value = {
        **interrupts[0].value,
        "action_requests": requests,
        "review_configs": [*configs.values()],
        "team_id": "",
        "problem": "",
    }
    return Interrupt(value, id=combined_id([each.id for each in interrupts]))


def with_one_question(snapshot: StateSnapshot) -> StateSnapshot:
    """A snapshot whose open questions are one, at the last task that asks: older front ends look there."""
    asking = [task.id for task in snapshot.tasks if task.interrupts]
    if not snapshot.interrupts or not asking:
        return snapshot
    together = (combined(snapshot.interrupts),)
    tasks = tuple(
        task._replace(interrupts=together if task.id == asking[-1] else ()) if task.interrupts else task
        for task in snapshot.tasks
    )
    return snapshot._replace(tasks=tasks, interrupts=together)


async def asked_once(parts: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """A stream whose questions come at its end, as one; those of graphs within are left as they are."""
    asked: dict[str, Interrupt] = {}
    last: dict[str, Any] = {}
    ended: list[Any] = []
    async for part in parts:
        if questions := _asked_in(part):
            asked |= {each.id: each for each in questions}
            last[part[-2]] = part
        elif _ended_asking(part):
            ended.append(part)
        else:
            yield part
    together = [combined([*asked.values()])] if asked else []
    for part in ended:
        # By these the server keeps what its thread waits for.
        is_last = part is ended[-1]
        part[-1]["payload"]["interrupts"] = [asdict(each) for each in together] if is_last and together else []
        yield part
    for part in last.values():
        yield (*part[:-1], {**part[-1], _INTERRUPT: tuple(together)})


def _asked_in(part: object) -> Sequence[Interrupt]:
    """The questions in a part of a stream of several modes: (mode, chunk), or (namespace, mode, chunk)."""
    match part:
        case (str(), {"__interrupt__": tuple(asked)}) | ((), str(), {"__interrupt__": tuple(asked)}):
            return asked
    return ()


def _ended_asking(part: object) -> bool:
    """Whether a part says of a task that it ended by a question."""
    match part:
        case ("debug", {"type": "task_result", "payload": {"interrupts": [_, *_]}}) | (
            (),
            "debug",
            {"type": "task_result", "payload": {"interrupts": [_, *_]}},
        ):
            return True
    return False
