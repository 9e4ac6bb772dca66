"""How long contests wait for each other's record: two processes play in one workspace, a third reads their ranking.

`python benchmarks/sharing.py [--quick]` plays against a stub of 200 ms, in a loop of reads without a pause to speak of.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from contend.app import run
from contend.models.options import RunOptions
from contend.services import Services
from contend.settings import load_settings
from contend.stores.record import RecordStore
from contest import ROUNDS
from contest_row import settings_in
from stub import DOCS, running

_LATENCY = 0.2
_THREADS = ("one", "other")
_PAUSE_SECONDS = 0.02
_THEME = "How does contend resume a run after a crash, and what is repeated?"


@dataclass
class Waits:
    """Seconds that each operation took, the waiting for other processes included."""

    seconds: list[float] = field(default_factory=list)

    @property
    def longest(self) -> float:
        return max(self.seconds, default=0.0)

    def line(self, who: str) -> str:
        count, total = len(self.seconds), sum(self.seconds)
        return f"{who:28} {count:6} {total / max(1, count) * 1000:9.1f} ms {self.longest * 1000:9.1f} ms"


class TimedRecord(RecordStore):
    """A record that notes how long whoever waits for it waits."""

    def __init__(self, path: Path, *, lock_seconds: float) -> None:
        super().__init__(path, lock_seconds=lock_seconds)
        self.waits = Waits()

    async def _done(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the record is asked
        began = time.perf_counter()
        try:
            return await super()._done(*given, **named)
        finally:
            self.waits.seconds.append(time.perf_counter() - began)


async def play(folder: Path, address: str, thread: str) -> Waits:
    """A contest in this process."""
    settings = load_settings(workspace=folder, OPENAI_BASE_URL=address, OPENAI_API_KEY="sk-stub")
    services = Services(settings)
    services.record = record = TimedRecord(folder / "contend.duckdb", lock_seconds=settings.record_lock_seconds)
    options = RunOptions(documents=[str(DOCS)], model="stub", learn=False)
    outcome = await run(_THEME, thread_id=thread, options=options, services=services)
    await services.aclose()
    if outcome.status != "completed":
        raise SystemExit(f"the contest ended {outcome.status}: {outcome.message}")
    return record.waits


async def read_on(folder: Path, contests: Sequence[subprocess.Popen[str]]) -> Waits:
    """Read both rankings again and again until the contests end."""
    record = TimedRecord(folder / "contend.duckdb", lock_seconds=load_settings().record_lock_seconds)
    while any(contest.poll() is None for contest in contests):
        for thread in _THREADS:
            latest = await record.latest_execution(thread)
            if latest is not None:
                await record.leaderboard(latest.execution_id)
            await asyncio.sleep(_PAUSE_SECONDS)
    await record.close()
    return record.waits


async def rows_of(folder: Path) -> int:
    """The rounds on record, judged and decided."""
    record = RecordStore(folder / "contend.duckdb")
    executions = await record.executions()
    rounds = [row for execution in executions for row in await record.rounds(execution.execution_id)]
    await record.close()
    return sum(row.evaluated_at is not None and row.decision is not None for row in rounds)


def started(command: list[str]) -> "subprocess.Popen[str]":
    """A child that is traced nowhere."""
    environment = os.environ | {"LANGSMITH_TRACING": "false"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def share(folder: Path, teams: int) -> None:
    """Play, read and print; every round must be on record."""
    with running(_LATENCY) as stub:
        settings_in(folder, stub.address, teams)
        command = [sys.executable, __file__, "--play", str(folder), stub.address]
        contests = [started([*command, thread]) for thread in _THREADS]
        reader = asyncio.run(read_on(folder, contests))
    for thread, contest in zip(_THREADS, contests, strict=True):
        said, _ = contest.communicate()
        if contest.returncode:
            raise SystemExit(f"contest {thread} ended with {contest.returncode}")
        print(Waits(**json.loads(said)).line(f"contest {thread}, writes"))
    print(reader.line("the third process, reads"))
    kept, played = asyncio.run(rows_of(folder)), len(_THREADS) * teams * ROUNDS
    if kept != played:
        raise SystemExit(f"{kept} of {played} rounds are on record")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two teams in each contest, not eight")
    parser.add_argument("--play", nargs=3, metavar=("FOLDER", "ADDRESS", "THREAD"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.play:
        folder, address, thread = chosen.play
        sys.stdout.write(json.dumps(asdict(asyncio.run(play(Path(folder), address, thread)))))
        return
    teams = 2 if chosen.quick else 8
    print(f"Record: two contests of {teams} teams and {ROUNDS} rounds in one workspace, and a process that reads.")
    print(f"{'':28} {'waits':>6} {'mean':>12} {'longest':>12}")
    with TemporaryDirectory() as folder:
        share(Path(folder), teams)


if __name__ == "__main__":
    main()
