"""Which of the new passages come from sources that speak to AI systems: by code's signals, and a model's word."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from contend.checks.injection import BY_MODEL, certain_signals, excerpt_of, worth_asking
from contend.errors import ModelError
from contend.models.replies import InjectionReply
from contend.models.task import CallUsage
from contend.prompts.research import Excerpt, InjectionPrompt
from contend.research.ask import agent, profile, scope
from contend.research.evidence import Evidence, EvidencePool, as_passage
from contend.research.state import ResearchState
from contend.services import Services

MOST_ASKED = 60
"""So many excerpts are asked about at once; what comes after them, code alone decides on."""


class _Screened(NamedTuple):
    """The signals of passages that speak to AI systems, by id, and passages to ask about, with excerpts."""

    signals: dict[str, list[str]]
    doubtful: list[tuple[Evidence, str]]


async def screened(
    services: Services, state: ResearchState, pool: EvidencePool
) -> tuple[EvidencePool, CallUsage | None]:
    """The pool with a word on each new passage, and what asking cost. A source that speaks to AI systems does so whole.

    A model is asked once about all passages with a signal that code is not certain of; a small one is not, and where
    the call fails, code's word stands.
    """
    new = [each for each in pool["passages"] if "speaks_to_ai" not in each]
    texts = await services.documents.get_many(each["id"] for each in new)
    found = await asyncio.to_thread(_screen, new, texts)
    named, usage = await _asked(services, state, found.doubtful)
    signals = {**found.signals, **{each: [BY_MODEL] for each in named}}
    known = [each for each in pool["passages"] if each.get("speaks_to_ai") or each["id"] in signals]
    urls = {each["url"] for each in known}
    passages: list[Evidence] = [
        {**each, "speaks_to_ai": each["url"] in urls, "signals": signals.get(each["id"], each.get("signals", []))}
        for each in pool["passages"]
    ]
    return {**pool, "passages": passages}, usage


def _screen(new: Sequence[Evidence], texts: dict[str, str]) -> _Screened:
    whole = [(each, f"{each['title']}\n\n{each['heading']}\n\n{texts[each['id']]}") for each in new]
    signals = {each["id"]: found for each, text in whole if (found := certain_signals(text))}
    speaking = {each["url"] for each in new if each["id"] in signals}
    doubtful = [(each, text) for each, text in whole if each["url"] not in speaking and worth_asking(text)]
    return _Screened(signals, [(each, excerpt_of(text)) for each, text in doubtful[:MOST_ASKED]])


async def _asked(
    services: Services, state: ResearchState, doubtful: Sequence[tuple[Evidence, str]]
) -> tuple[set[str], CallUsage | None]:
    if not doubtful or profile(state, "reviewer").compact:
        return set(), None
    excerpts = [Excerpt(number=number, text=excerpt) for number, (_, excerpt) in enumerate(doubtful, start=1)]
    as_passages = [as_passage(each) for each, _ in doubtful]
    made = len([each for each in state.get("calls", []) if "/checks/injection/" in each["call_key"]])
    try:
        answer = await (await agent(services, state, "reviewer")).structured(
            InjectionPrompt(excerpts=excerpts),
            InjectionReply,
            scope=scope(state, "reviewer", step=str(made + 1), passages=as_passages),
        )
    except ModelError:
        return set(), None
    numbers = {number for number in answer.value.speaking if 1 <= number <= len(doubtful)}
    return {doubtful[number - 1][0]["id"] for number in numbers}, answer.usage
