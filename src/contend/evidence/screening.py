"""Which held passages speak to AI systems: known by code's signals and a model's word, asked about once in a run."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import suppress

from contend.checks.injection import BY_MODEL, certain_signals, excerpt_of, worth_asking
from contend.errors import ModelError
from contend.evidence.pool import Evidence, EvidencePool
from contend.models.task import CallUsage

MOST_EXCERPTS = 60
"""Most excerpts in one call. For any beyond that, the code's own signals decide."""

Verdicts = MutableMapping[str, "asyncio.Future[bool]"]
"""Whether a model takes a passage for one that speaks to AI systems, by id: a run's teams share what was asked."""

AskAbout = Callable[[Sequence[str], Sequence[str]], Awaitable[tuple[set[str], CallUsage]]]
"""Takes ids and excerpts; returns the ids of passages that address AI systems, and the cost of the call."""


async def screen_held(
    pool: EvidencePool, texts: Mapping[str, str], verdicts: Verdicts, ask: AskAbout
) -> tuple[EvidencePool, CallUsage | None]:
    """Mark each held passage, and return the cost of asking. One such passage marks its whole document.

    `texts`: of held passages that nobody has looked at. A model is asked once in a run about a passage with a signal
    that code is not certain of; where the call fails, code's word stands.
    """
    new = [each for each in pool["passages"] if each["id"] in texts]
    signals, doubtful = await asyncio.to_thread(_by_code, new, texts)
    by_model, usage = await _by_model(doubtful, verdicts, ask)
    signals |= {each: [BY_MODEL] for each in by_model}
    speaking = [each for each in pool["passages"] if each.get("speaks_to_ai") or each["id"] in signals]
    urls, looked_at = {each["url"] for each in speaking}, {*texts}
    passages = [
        _marked(each, speaks=each["url"] in urls, signals=signals.get(each["id"]))
        if each["id"] in looked_at or "speaks_to_ai" in each or each["url"] in urls
        else each
        for each in pool["passages"]
    ]
    return {**pool, "passages": passages}, usage


def unscreened(pool: EvidencePool) -> list[str]:
    """Held passages that have not been screened yet."""
    held = {*pool["held"]}
    return [each["id"] for each in pool["passages"] if each["id"] in held and "signals" not in each]


def _marked(each: Evidence, *, speaks: bool, signals: Sequence[str] | None) -> Evidence:
    own = [*signals] if signals is not None else each.get("signals", [])
    return {**each, "speaks_to_ai": speaks, "signals": own}


def _by_code(new: Sequence[Evidence], texts: Mapping[str, str]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The signals of passages that speak to AI systems, by id, and excerpts of those to ask about."""
    whole = [(each, f"{each['title']}\n\n{each['heading']}\n\n{texts[each['id']]}") for each in new]
    signals = {each["id"]: names for each, text in whole if (names := certain_signals(text))}
    speaking = {each["url"] for each in new if each["id"] in signals}
    doubtful = [(each["id"], text) for each, text in whole if each["url"] not in speaking and worth_asking(text)]
    return signals, {each: excerpt_of(text) for each, text in doubtful[:MOST_EXCERPTS]}


async def _by_model(
    doubtful: Mapping[str, str], verdicts: Verdicts, ask: AskAbout
) -> tuple[set[str], CallUsage | None]:
    """The ids of passages that address AI systems. The first team asks; the others wait for its answer."""
    # In the order of ids, so that teams that found the same in another order share the call.
    own = sorted(each for each in doubtful if each not in verdicts)
    usage = await _asked(own, doubtful, verdicts, ask) if own else None
    # Shielded: a team that is cancelled while it waits does not take the answer from the others.
    answers = {each: await asyncio.shield(verdicts[each]) for each in doubtful if each in verdicts}
    return {each for each, speaks in answers.items() if speaks}, usage


async def _asked(
    own: Sequence[str], excerpts: Mapping[str, str], verdicts: Verdicts, ask: AskAbout
) -> CallUsage | None:
    loop = asyncio.get_running_loop()
    futures = {each: loop.create_future() for each in own}
    verdicts.update(futures)
    speaking: set[str] | None = None
    usage = None
    try:
        with suppress(ModelError):
            speaking, usage = await ask(own, [excerpts[each] for each in own])
    finally:
        for each, future in futures.items():
            if speaking is None:  # it failed, or its team is cancelled: somebody may ask again
                verdicts.pop(each, None)
            future.set_result(each in (speaking or ()))
    return usage


def speaking_of(pool: EvidencePool) -> dict[str, list[str]]:
    """By the address of each document that speaks to AI systems, the signals by which it is known."""
    return by_address((each["url"], each.get("signals", [])) for each in pool["passages"] if each.get("speaks_to_ai"))


def by_address(signals: Iterable[tuple[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Signals of passages by the address of their document, each once."""
    of_address: dict[str, list[str]] = {}
    for url, names in signals:
        of_address[url] = list(dict.fromkeys([*of_address.get(url, []), *names]))
    return of_address
