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


def as_one_question(interrupts: Sequence[Interrupt]) -> Interrupt:
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
    task_ids = [task.id for task in snapshot.tasks if task.interrupts]
    if not snapshot.interrupts or not task_ids:
        return snapshot
    question = (as_one_question(snapshot.interrupts),)
    tasks = tuple(
        task._replace(interrupts=question if task.id == task_ids[-1] else ()) if task.interrupts else task
        for task in snapshot.tasks
    )
    return snapshot._replace(tasks=tasks, interrupts=question)


async def with_question_last(parts: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """A stream whose questions come at its end, as one; those of graphs within are left as they are."""
    interrupts: dict[str, Interrupt] = {}
    last_parts: dict[str, Any] = {}
    task_results: list[Any] = []
    async for part in parts:
        if questions := _questions_in(part):
            interrupts |= {each.id: each for each in questions}
            last_parts[part[-2]] = part
        elif _is_result_of_question(part):
            task_results.append(part)
        else:
            yield part
    question = [as_one_question([*interrupts.values()])] if interrupts else []
    for part in task_results:
        # By these the server keeps what its thread waits for.
        is_last = part is task_results[-1]
        part[-1]["payload"]["interrupts"] = [asdict(each) for each in question] if is_last else []
        yield part
    for part in last_parts.values():
        yield (*part[:-1], {**part[-1], _INTERRUPT: tuple(question)})


def _questions_in(part: object) -> Sequence[Interrupt]:
    """The questions in a part of a stream of several modes: (mode, chunk), or (namespace, mode, chunk)."""
    match part:
        case (str(), {"__interrupt__": tuple(questions)}) | ((), str(), {"__interrupt__": tuple(questions)}):
            return questions
    return ()


def _is_result_of_question(part: object) -> bool:
    """Whether a part says of a task that it ended by a question."""
    match part:
        case ("debug", {"type": "task_result", "payload": {"interrupts": [_, *_]}}) | (
            (),
            "debug",
            {"type": "task_result", "payload": {"interrupts": [_, *_]}},
        ):
            return True
    return False
