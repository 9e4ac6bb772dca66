"""How many known facts of a folder of documents a plan's searches bring before a model, and at how many tokens.

`python benchmarks/reading.py FOLDER KEY`. KEY is a TOML file, as `reading_fastify.toml` and `reading_npm.toml` beside
this one: a question, a plan's queries, those of a model that saw what they found and looks for what is missing, and
facts, each with the files that hold it and the words that stand together in the passage that states it. A fact counts
where one passage of one of its files holds all of its words. The queries are searched as a team searches them, and what
they find is offered as to a team's model that chooses.
"""

import argparse
import asyncio
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from contend.models.research import FoundPassage
from contend.research.evidence import Evidence, merge_evidence, select_evidence
from contend.research.graph import HITS
from contend.sources.local import LocalDocuments
from contend.text import estimate_tokens

SIZES = (8_000, 12_000, 20_000, 32_000, 40_000)
BEFORE_GAPS_TOKENS = 30_000
CHOSEN_TOKENS = 8_000


class Fact(NamedTuple):
    asks: str
    file: list[str]
    says: list[str]

    def stands_in(self, hit: FoundPassage) -> bool:
        text = " ".join(hit.text.split())
        of_file = unquote(hit.result.url).endswith(tuple(f"/{name}" for name in self.file))
        return of_file and all(words in text for words in self.says)


def evidence(query: str, place: int, hit: FoundPassage) -> Evidence:
    return {
        "id": f"{hit.result.url} {hit.text}",
        "url": hit.result.url,
        "title": hit.result.title,
        "heading": hit.heading,
        "published": hit.result.published_date,
        "tokens": estimate_tokens(hit.text),
        "weight": 1.0,
        "queries": {query: place},
    }


async def searched(source: LocalDocuments, queries: Iterable[str]) -> tuple[list[Evidence], dict[str, FoundPassage]]:
    """The pool after all queries, and the hits by their ids."""
    pool: list[Evidence] = []
    hits: dict[str, FoundPassage] = {}
    for query in queries:
        for place, hit in enumerate(await source.search(query, limit=HITS), start=1):
            each = evidence(query, place, hit)
            pool, hits[each["id"]] = merge_evidence(pool, [each]), hit
    return pool, hits


def known(facts: Sequence[Fact], hits: Sequence[FoundPassage]) -> list[Fact]:
    return [fact for fact in facts if any(fact.stands_in(hit) for hit in hits)]


def chosen(facts: Sequence[Fact], hits: Sequence[FoundPassage]) -> list[Fact]:
    """What the smallest passages that state a fact hold together, as far as they fit: a choice without a mistake."""
    left, facts_in = CHOSEN_TOKENS, []
    for hit in sorted(hits, key=lambda hit: estimate_tokens(hit.text) / (len(known(facts, [hit])) or 1e-9)):
        new = [fact for fact in known(facts, [hit]) if fact not in facts_in]
        if new and estimate_tokens(hit.text) <= left:
            left -= estimate_tokens(hit.text)
            facts_in += new
    return facts_in


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("key", type=Path)
    given = parser.parse_args()
    key = tomllib.loads(given.key.read_text("utf-8"))
    facts = [Fact(**fact) for fact in key["facts"]]
    source = LocalDocuments([given.folder])
    entries = await source.catalogue()
    print(f"{len(entries)} documents, {sum(entry.tokens for entry in entries):,} tokens, {len(facts)} facts")
    pool, hits = await searched(source, [key["question"], *key["queries"]])
    print("offered    facts   passages")
    for size in SIZES:
        shown = [hits[each["id"]] for each in select_evidence(pool, pinned_ids=[], tokens=size)]
        print(f"{size:7,}  {len(known(facts, shown)) / len(facts):6.1%}   {len(shown):8}", flush=True)
    first = select_evidence(pool, pinned_ids=[], tokens=BEFORE_GAPS_TOKENS)
    pool, hits = await searched(source, [key["question"], *key["queries"], *key["gaps"]])
    both = [
        hits[each["id"]] for each in select_evidence(pool, pinned_ids=[each["id"] for each in first], tokens=SIZES[-1])
    ]
    print(
        f"{SIZES[-1]:,} in all, the last {SIZES[-1] - BEFORE_GAPS_TOKENS:,} after searches for gaps: "
        f"{len(known(facts, both)) / len(facts):.1%}"
    )
    again = [hits[each["id"]] for each in select_evidence(pool, pinned_ids=[], tokens=SIZES[-1])]
    new = [hit for hit in again if hit not in shown]
    more = sum(estimate_tokens(hit.text) for hit in new)
    print(f"and {more:,} tokens that searches for gaps found: {len(known(facts, [*shown, *new])) / len(facts):.1%}")
    best = chosen(facts, [*shown, *new])
    print(f"{CHOSEN_TOKENS:,} tokens chosen of both without a mistake: {len(best) / len(facts):.1%}")
    for fact in facts:
        if fact not in known(facts, [*shown, *new]):
            print(f"missed: {fact.asks}")


if __name__ == "__main__":
    asyncio.run(main())
