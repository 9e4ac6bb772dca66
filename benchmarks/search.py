"""How fast bullets are found, loaded and saved, by the thousand.

`python benchmarks/search.py [--quick]`. A search's time is the median of many queries whose vector is given.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from contend.models.playbook import Bullet, Playbook
from contend.retrieval import HybridIndex, default_embedder
from contend.stores.playbooks import PlaybookStore
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


def search_milliseconds(kept: list[Bullet]) -> float:
    index = HybridIndex([f"{bullet.searchable_text}\n{bullet.content}" for bullet in kept])
    queries = prose()[:_QUERIES]
    taken = []
    for query, vector in zip(queries, default_embedder().embed(queries), strict=True):
        began = time.perf_counter()
        index.search(query, 8, vector=vector)
        taken.append(time.perf_counter() - began)
    return median(taken) * 1000


async def seconds(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def save_and_load(kept: list[Bullet], folder: Path) -> tuple[float, float]:
    """Seconds to save a first version, and to load it."""
    store = PlaybookStore(folder)
    saved = await seconds(store.save(Playbook(dataset="bench", bullets=kept)))
    return saved, await seconds(PlaybookStore(folder).load("bench"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5,000 bullets only")
    counts = [5_000] if parser.parse_args().quick else [5_000, 50_000]
    print("bullets   search ms   save s   load s")
    for count in counts:
        kept = bullets(count)
        with TemporaryDirectory() as folder:
            saved, loaded = asyncio.run(save_and_load(kept, Path(folder)))
        print(f"{count:7,} {search_milliseconds(kept):11.2f} {saved:8.2f} {loaded:8.2f}", flush=True)


if __name__ == "__main__":
    main()
