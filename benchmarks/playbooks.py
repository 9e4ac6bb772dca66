"""How fast lessons are found, loaded, saved and curated, by the thousand, and how much memory they take.

`python benchmarks/playbooks.py [--quick]`. Seconds are the processor's. A search is a team's: warm, with the question's
vector given.
"""

import argparse
import asyncio
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from contend.learning.curator import CuratorAgent
from contend.learning.selection import lesson_index
from contend.models.playbook import Bullet, DeltaContextItem, Playbook, ReflectionResult
from contend.prompts import PromptBuilderSettings, UserPromptBuilder
from contend.retrieval import default_embedder
from contend.stores.playbooks import Curation, PlaybookStore
from stub import prose

_QUERIES = 50


def bullets(count: int) -> list[Bullet]:
    """Bullets of a sentence or two of the guide, no two alike."""
    said = prose()
    return [
        Bullet(
            id=f"b-{number}",
            section="general",
            content=f"{said[number % len(said)]} {said[number * 7 % len(said)]}",
            searchable_text=f"lesson {number} {said[number * 3 % len(said)]}",
        )
        for number in range(count)
    ]


async def measured(kept: list[Bullet], folder: Path) -> list[float]:
    """Milliseconds of a search; seconds to save, to load and to curate."""
    store = PlaybookStore(folder)
    began = time.process_time()
    await store.apply("bench", "seed", lambda _: Curation(kept, [], [], {}, ""))
    saved = time.process_time() - began
    began = time.process_time()
    playbook = await PlaybookStore(folder).load("bench")
    loaded = time.process_time() - began
    return [search_milliseconds(playbook), saved, loaded, await curation_seconds(store)]


def search_milliseconds(playbook: Playbook) -> float:
    index = lesson_index(playbook.bullets)
    queries = prose()[:_QUERIES]
    taken = []
    for query, vector in zip(queries, default_embedder().embed(queries), strict=True):
        began = time.perf_counter()
        index.search(query, 16, vector=vector)
        taken.append(time.perf_counter() - began)
    return median(taken) * 1000


async def curation_seconds(store: PlaybookStore) -> float:
    """Six lessons added to the playbook, its index known."""
    curator = CuratorAgent(None, UserPromptBuilder(PromptBuilderSettings()), store)  # type: ignore[arg-type]  # no call
    items = [
        DeltaContextItem(operation="ADD", content=f"When quay {letter} is asked about, read its own log first.")
        for letter in "KLMNOP"
    ]
    began = time.process_time()
    await curator.apply(items, ReflectionResult(), "bench", execution_id="run-1")
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 and 5,000 bullets only")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        _one(args.one)
        return
    print("bullets   search ms   save s   load s   curation s   memory MB")
    for count in [1_000, 5_000] if args.quick else [1_000, 5_000, 10_000, 50_000]:
        # A process each: memory that one size took would count for the next.
        subprocess.run([sys.executable, __file__, "--one", str(count)], check=True)


def _one(count: int) -> None:
    kept = bullets(count)
    with TemporaryDirectory() as folder:
        search, saved, loaded, curated = asyncio.run(measured(kept, Path(folder)))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{count:7,} {search:11.2f} {saved:8.2f} {loaded:8.2f} {curated:12.2f} {memory:11.0f}", flush=True)


if __name__ == "__main__":
    main()
