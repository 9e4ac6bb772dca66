"""Apply a researcher's step to a team's evidence: hold passages, give them up, update the parts."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from contend.evidence.actions import Desk, unsearched_sources
from contend.evidence.pool import (
    EvidencePool,
    Step,
    actions_for,
    give_up,
    held_tokens,
    hold,
    parts_of,
    sizes_of,
    with_parts,
)
from contend.models.replies import PartReply, StepReply
from contend.models.research import Part
from contend.text import clean

_MOST_FAULTS = 12
_MOST_NOTES = 20
"""Kept of a part, the newest."""


class StepOutcome(NamedTuple):
    """The pool after a step, and the ids of passages that did not fit."""

    pool: EvidencePool
    beyond: list[str]


def after_step(
    pool: EvidencePool, reply: StepReply, *, round_number: int, room: int, pinned: Collection[str] = ()
) -> StepOutcome:
    """Apply a step: first give up passages, then hold new ones, then update the parts.

    `pinned`: the passages that the team's report is based on; they are always kept.
    """
    ids = [each["id"] for each in pool["passages"]]
    given_up = [each for each in _named(reply.give_up, ids) if each in pool["held"] and each not in pinned]
    wanted = [*(each for part in reply.parts for each in _named(part.passages, ids)), *_named(reply.others, ids)]
    before = {*pool["held"]}
    pool, beyond = hold(give_up(pool, given_up), [each for each in wanted if each not in given_up], room=room)
    step = Step(
        number=len(pool["steps"]) + 1,
        round=round_number,
        thought=clean(reply.thought, single_line=True),
        held=[each for each in pool["held"] if each not in before],
        given_up=given_up,
        results=[],
    )
    return StepOutcome(with_parts({**pool, "steps": [*pool["steps"], step]}, _parts(pool, reply.parts, ids)), beyond)


def _parts(pool: EvidencePool, notes: Sequence[PartReply], ids: Sequence[str]) -> Iterator[Part]:
    """The parts, updated by the step. Only held passages count for a part."""
    by_number, held = {note.part: note for note in notes}, {*pool["held"]}
    for number, part in enumerate(parts_of(pool), start=1):
        note = by_number.get(number)
        new = _named(note.passages, ids) if note else []
        counted = [each for each in dict.fromkeys([*part.passages, *new]) if each in held]
        update: dict[str, object] = {"passages": counted}
        if note:
            all_notes = [*part.notes, *(clean(each, single_line=True) for each in note.notes)]
            update |= {
                "state": note.state,
                "missing": clean(note.missing, single_line=True),
                "notes": [*dict.fromkeys(filter(None, all_notes))][-_MOST_NOTES:],
            }
        yield part.model_copy(update=update)


def _named(numbers: Sequence[int], ids: Sequence[str]) -> list[str]:
    return [ids[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(ids)]


def faults_of_step(reply: StepReply, pool: EvidencePool, desk: Desk, *, room: int, pinned: Collection[str] = ()) -> str:
    """What is wrong with the step, one fault per line; "" if nothing is."""
    lines = [*_faults_of_numbers(reply, pool, pinned), *_faults_of_parts(reply, pool, desk)]
    lines += [fault for action in reply.actions if (fault := desk.fault(action))]
    lines += [fault] if (fault := desk.pages_fault(reply.actions)) else []
    if not lines and (over := _over(reply, pool, room)):
        lines.append(over)
    if not reply.done and not reply.actions:
        lines.append("name actions, or say that you are done")
    return "\n".join(lines[:_MOST_FAULTS])


def _faults_of_numbers(reply: StepReply, pool: EvidencePool, pinned: Collection[str]) -> Iterator[str]:
    count, ids = len(pool["passages"]), [each["id"] for each in pool["passages"]]
    named = {*reply.others, *reply.give_up, *(each for part in reply.parts for each in part.passages)}
    if unknown := sorted(each for each in named if not 1 <= each <= count):
        yield f"there is no passage {', '.join(map(str, unknown))}: they are numbered 1 to {count}"
    not_held = [each for each in reply.give_up if 1 <= each <= count and ids[each - 1] not in pool["held"]]
    if not_held:
        yield f"passage {', '.join(map(str, not_held))} is not held, so it cannot be given up"
    needed = [each for each in reply.give_up if 1 <= each <= count and ids[each - 1] in pinned]
    if needed:
        yield f"your team's report draws on passage {', '.join(map(str, needed))}: it stays"


def _faults_of_parts(reply: StepReply, pool: EvidencePool, desk: Desk) -> Iterator[str]:
    """A part may be called not found only after every source was searched for it without success."""
    parts, given_up = parts_of(pool), {*_named(reply.give_up, [each["id"] for each in pool["passages"]])}
    for note in reply.parts:
        if note.part > len(parts):
            yield f"there is no part {note.part}: they are numbered 1 to {len(parts)}"
        elif note.state == "not_found":
            if missing := unsearched_sources(actions_for(pool, note.part), desk.sources):
                yield f"part {note.part} is not to be called not found before it was searched in {', '.join(missing)}"
            if note.passages or {*parts[note.part - 1].passages} - given_up:
                yield f"passages count for part {note.part}: it is partly answered, and `missing` says the rest"


def _over(reply: StepReply, pool: EvidencePool, room: int) -> str:
    """The error for holding more than the room allows, with the sizes involved; "" if it fits."""
    ids, sizes = [each["id"] for each in pool["passages"]], sizes_of(pool)
    wanted = [*(each for part in reply.parts for each in part.passages), *reply.others]
    given_up = {*_named(reply.give_up, ids)}
    new = {each for each in _named(wanted, ids) if each not in pool["held"]}
    gone = sum(sizes[each] for each in given_up if each in pool["held"])
    tokens = held_tokens(pool) - gone + sum(sizes[each] for each in new - given_up)
    if tokens <= room or not new - given_up:
        return ""
    return (
        f"what you hold would have {tokens:,} tokens, and there is room for {room:,}: name passages of at least "
        f"{tokens - room:,} tokens in `give_up`, or hold fewer"
    )
