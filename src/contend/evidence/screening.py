"""Find passages that speak to AI systems, by code's signals and by a model, which is asked once per passage and run."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from contend.checks.injection import certain_signals, is_telling, orders_in
from contend.checks.notations import bare
from contend.errors import ModelError
from contend.evidence.pool import Evidence, EvidencePool, give_up, parts_of, with_parts
from contend.models.research import Passage
from contend.models.task import CallUsage
from contend.stores import write_file
from contend.text import file_name

BY_MODEL = "model"
"""The signal of a passage that a language model, not code, found to speak to AI systems."""

Orders = Mapping[str, Sequence[str]]
"""Sentences that speak to AI systems, by the id of their passage or the address of their document."""

AskAbout = Callable[[Sequence[Passage]], Awaitable[tuple[dict[str, list[str]], CallUsage]]]
"""Asks a model about passages with texts. Returns the sentences it quotes, by passage id, and the cost of the call."""


class Screening:
    """A model's answers about the passages of a run, shared by all teams and kept in a file for a resumed run."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._said: dict[str, list[str]] | None = None
        self._asked: dict[str, asyncio.Future[None]] = {}

    async def orders(self, passages: Sequence[Passage], ask: AskAbout, *, room: int) -> tuple[Orders, list[CallUsage]]:
        """The sentences that speak to AI systems, by passage id, and the cost of the calls.

        Each passage is asked about once, in calls with at most `room` tokens of passages. If another team is already
        asking, this waits for its answer. If that call fails, the next team asks again.
        """
        said = await self._recalled()
        new = [each for each in passages if each.id not in said and each.id not in self._asked]
        usages = await self._ask(sorted(new, key=lambda each: (each.url, each.place, each.id)), said, ask, room)
        # Shielded: if a waiting team is cancelled, the others still get the answer.
        for each in passages:
            if each.id in self._asked:
                await asyncio.shield(self._asked[each.id])
        return {each.id: said[each.id] for each in passages if said.get(each.id)}, usages

    def close(self) -> None:
        """Cancel the calls that are still open."""
        for answer in self._asked.values():
            answer.cancel()

    async def _ask(
        self, passages: Sequence[Passage], said: dict[str, list[str]], ask: AskAbout, room: int
    ) -> list[CallUsage]:
        usages, loop = list[CallUsage](), asyncio.get_running_loop()
        own = {each.id: loop.create_future() for each in passages}
        self._asked |= own
        try:
            with suppress(ModelError):
                for batch in _batches(passages, room):
                    quotes, usage = await ask(batch)
                    usages.append(usage)
                    said |= {each.id: _standing(quotes.get(each.id, ()), each) for each in batch}
                    await asyncio.to_thread(write_file, self._file, json.dumps(said, ensure_ascii=False))
        finally:
            for name, answer in own.items():
                del self._asked[name]
                if not answer.done():
                    answer.set_result(None)
        return usages

    async def _recalled(self) -> dict[str, list[str]]:
        if self._said is None:
            text = await asyncio.to_thread(_text_of, self._file)
            self._said = json.loads(text) if self._said is None else self._said  # another team may have read it
        return self._said


def _text_of(file: Path) -> str:
    return file.read_text("utf-8") if file.exists() else "{}"


def _batches(passages: Sequence[Passage], room: int) -> Iterator[list[Passage]]:
    batch, tokens = list[Passage](), 0
    for each in passages:
        if batch and tokens + each.tokens > room:
            yield batch
            batch, tokens = [], 0
        batch.append(each)
        tokens += each.tokens
    if batch:
        yield batch


def _whole(passage: Passage) -> str:
    return f"{passage.title}\n\n{passage.heading}\n\n{passage.text}"


def _standing(quotes: Iterable[str], passage: Passage) -> list[str]:
    """The quotes that really are in the passage, its title or its heading."""
    return [each for each in dict.fromkeys(quotes) if _stands_in(each, _whole(passage))]


def _stands_in(order: str, text: str) -> bool:
    return is_telling(key := bare(order)) and key in bare(text)


async def screened(
    pool: EvidencePool, passages: Sequence[Passage], screening: Screening, ask: AskAbout, *, room: int
) -> tuple[EvidencePool, list[CallUsage]]:
    """Screen these passages: the pool with their signals and orders, and the cost of the calls.

    Passages that speak to AI systems are given up. `passages`: with their texts. If a document's title speaks to AI
    systems, all its passages count as such, and the document is named by its file or address. A passage that code is
    certain of is not asked about; if a call fails, only those are marked.
    """
    by_code = await asyncio.to_thread(_by_code, passages)
    doubtful = [each for each in passages if each.id not in by_code]
    by_model, usages = await screening.orders(doubtful, ask, room=room)
    found = {**by_code, **{name: ((BY_MODEL,), orders) for name, orders in by_model.items()}}
    marks = {each.id: found.get(each.id, ((), ())) for each in passages}
    titles = {
        each.url: marks[each.id] for each in passages if any(_stands_in(one, each.title) for one in marks[each.id][1])
    }
    marked = [_marked(each, titles.get(each["url"]) or marks.get(each["id"])) for each in pool["passages"]]
    results = [
        {**each, "title": file_name(each["url"]) or each["url"][:500]} if each["url"] in titles else each
        for each in pool["results"]
    ]
    return _without_speaking({**pool, "passages": marked, "results": results}), usages


def _by_code(passages: Sequence[Passage]) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
    texts = {each.id: _whole(each) for each in passages}
    return {name: (signals, orders_in(text)) for name, text in texts.items() if (signals := certain_signals(text))}


def _marked(each: Evidence, found: tuple[Sequence[str], Sequence[str]] | None) -> Evidence:
    return each if found is None else {**each, "signals": [*found[0]], "orders": [*found[1]]}


def _without_speaking(pool: EvidencePool) -> EvidencePool:
    """The pool without passages that speak to AI systems among the held ones and in the parts."""
    gone = {each["id"] for each in pool["passages"] if each.get("signals")}
    parts = [
        part.model_copy(
            update={
                "passages": (left := [each for each in part.passages if each not in gone]),
                "nearest": [each for each in part.nearest if each not in gone],
                "state": part.state if left or not part.passages else "open",
            }
        )
        for part in parts_of(pool)
    ]
    return with_parts(give_up(pool, gone), parts)


def unscreened(pool: EvidencePool, ids: Iterable[str]) -> list[str]:
    """The ids of those passages that were not screened yet."""
    own_ids = {*ids}
    return [each["id"] for each in pool["passages"] if each["id"] in own_ids and "signals" not in each]


def speaking_of(pool: EvidencePool) -> dict[str, list[str]]:
    """The signals of passages that speak to AI systems, by the address of their document."""
    return by_address((each["url"], each["signals"]) for each in pool["passages"] if each.get("signals"))


def orders_of(pool: EvidencePool) -> dict[str, list[str]]:
    """The sentences that speak to AI systems, by the address of their document."""
    return by_address((each["url"], each["orders"]) for each in pool["passages"] if each.get("signals"))


def by_address(values: Iterable[tuple[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Merge the values of several passages or teams by document address, without repeats."""
    of_address: dict[str, list[str]] = {}
    for url, own in values:
        of_address[url] = list(dict.fromkeys([*of_address.get(url, []), *own]))
    return of_address
