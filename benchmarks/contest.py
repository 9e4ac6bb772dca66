"""What a contest costs beside its models' latency: wall time, CPU, memory, checkpoints, beside an empty graph's.

`python benchmarks/contest.py [--quick]` plays 1, 4 and 16 teams for three rounds against a stub of 200 ms and of 1 s,
each in a process of its own. On a busy machine `--times 3` plays each as often, and gives the least of each figure.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

from contend.app import RunOutcome, run
from contend.models.events import AnyEvent, RoundScored
from contend.models.options import RunOptions
from contend.settings import Settings, load_settings
from contend.settings.files import resource
from contend.stores.checkpoints import checkpoint_file
from floor import Floor
from stub import DOCS, QUERIES, running

ROUNDS = 3
_CASES = ((1, 200), (4, 200), (16, 200), (1, 1000), (4, 1000), (16, 1000))
_QUICK = ((1, 200), (16, 200))
# As the command line sets it.
_ENVIRONMENT = {"LANGSMITH_TRACING": "false", "LANGGRAPH_STRICT_MSGPACK": "true"}
_HEAD = """Contest: {rounds} rounds over the guide's documents, SQLite checkpoints, DuckDB record.
Ideal: the longest chain of calls that wait for each other, times the latency. In brackets: the same rounds with empty
nodes, which only wait.

                                seconds        wall ÷       CPU ms     peak  checkpoint KB
teams  latency  calls  chain    wall   ideal    ideal       a call       MB   a team, round"""
_THEME = "How does contend resume a run after a crash, and what is repeated?"
_ORCHESTRATOR = """[orchestrator]
max_rounds = {rounds}
max_concurrent_teams = {teams}
"""
_OPTIONS = '\n[options]\ndepth = "deep"\n'
# Comparisons of near ties would add a call to some runs and not to others.
_EVALUATOR = "[evaluator]\nnear_tie = 0.0\n"
_TEAM = """team_id = "team-{number}"
name = "Team {number}"
sources = ["local"]
"""


class Row(NamedTuple):
    """Times in seconds; `chain`: as `longest_chain` counts; memory in MB, 2 ** 20."""

    teams: int
    latency: float
    calls: int
    chain: int
    wall: float
    cpu: float
    memory: float
    checkpoint_bytes: int
    floor_cpu: float
    floor_bytes: int

    @property
    def ideal(self) -> float:
        return self.chain * self.latency

    def line(self) -> str:
        ideal, rounds = self.ideal, self.teams * ROUNDS * 1024
        return (
            f"{self.teams:5} {self.latency * 1000:5.0f} ms {self.calls:6} {self.chain:6} {self.wall:7.2f} {ideal:7.2f}"
            f" {self.wall / ideal:8.2f}"
            f" {self.cpu / self.calls * 1000:9.1f} ({self.floor_cpu / self.calls * 1000:.1f})"
            f" {self.memory:8.0f} {self.checkpoint_bytes / rounds:9.0f} ({self.floor_bytes / rounds:.0f})"
        )


def least(rows: Sequence[Row]) -> Row:
    """The row nearest to its ideal, with the least CPU a call and memory of all: other work on a machine only adds."""
    best = min(rows, key=lambda row: row.wall / row.ideal)
    cpu = min(row.cpu / row.calls for row in rows) * best.calls
    return best._replace(cpu=cpu, memory=min(row.memory for row in rows))


class Spent(NamedTuple):
    wall: float
    cpu: float


@dataclass
class Call:
    """A model call of a team, or of the run as a whole where `team` is ""; in seconds."""

    team: str
    start: float
    end: float = 0.0


class CallTimes(BaseCallbackHandler):
    """When each call of a chat model began and ended."""

    run_inline = True

    def __init__(self) -> None:
        self.calls: dict[UUID, Call] = {}

    def on_chat_model_start(
        self, *_: object, run_id: UUID, metadata: dict[str, Any] | None = None, **__: object
    ) -> None:
        self.calls[run_id] = Call((metadata or {}).get("team_id", ""), time.perf_counter())

    def on_llm_end(self, *_: object, run_id: UUID, **__: object) -> None:
        self.calls[run_id].end = time.perf_counter()

    on_llm_error = on_llm_end


_times: ContextVar[CallTimes | None] = ContextVar("times of the run's calls", default=None)
register_configure_hook(_times, inheritable=True)


def write_workspace(folder: Path, teams: int) -> None:
    """Config of a contest between teams that are alike."""
    (folder / "config" / "teams").mkdir(parents=True)
    text = _ORCHESTRATOR.format(rounds=ROUNDS, teams=teams)
    for number in range(1, teams + 1):
        name = f"config/teams/team-{number}.toml"
        text += f'\n[[orchestrator.teams]]\nconfig = "{name}"\n'
        (folder / name).write_text(_TEAM.format(number=number), "utf-8")
    (folder / "config" / "orchestrator.toml").write_text(text + _OPTIONS, "utf-8")
    metrics = resource("config/evaluator.toml").read_text("utf-8")
    (folder / "config" / "evaluator.toml").write_text(_EVALUATOR + metrics, "utf-8")


def settings_in(folder: Path, address: str, teams: int) -> Settings:
    """Settings of a fresh workspace whose models are the stub."""
    write_workspace(folder, teams)
    return load_settings(workspace=folder, OPENAI_BASE_URL=address, OPENAI_API_KEY="sk-stub")


async def contest(settings: Settings) -> tuple[RunOutcome, list[AnyEvent]]:
    """Play a contest over the guide to its end, without the learning after it."""
    events: list[AnyEvent] = []
    options = RunOptions(documents=[str(DOCS)], model="stub", learn=False)
    return await run(_THEME, options=options, settings=settings, on_event=events.append), events


def longest_chain(calls: Sequence[Call]) -> int:
    """The most calls of one team and of the run as a whole of which each began when the one before had ended."""
    return max(_one_after_another([each for each in calls if each.team in {"", team}]) for team in _teams_of(calls))


def _teams_of(calls: Sequence[Call]) -> set[str]:
    return {each.team for each in calls}


def _one_after_another(calls: Sequence[Call]) -> int:
    """The most of these that do not overlap: taken in the order in which they end."""
    count, free = 0, 0.0
    for call in sorted(calls, key=lambda call: call.end):
        if call.start >= free:
            count, free = count + 1, call.end
    return count


async def timed(work: Awaitable[object]) -> Spent:
    wall, cpu = time.perf_counter(), time.process_time()
    await work
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


async def measure(teams: int, latency: float, folder: Path) -> Row:
    """Play the contest once for warmth and once for the figures; then the same graph with empty nodes."""
    with running(0) as stub:
        await contest(settings_in(folder / "warm", stub.address, 1))
    with running(latency) as stub:
        settings = settings_in(folder / "contest", stub.address, teams)
        _times.set(times := CallTimes())
        playing = asyncio.ensure_future(contest(settings))
        spent = await timed(playing)
    memory = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    outcome, events = playing.result()
    if outcome.status != "completed":
        raise SystemExit(f"the contest ended {outcome.status}: {outcome.message}")
    metrics = next(len(event.metrics) for event in events if isinstance(event, RoundScored))
    empty = load_settings(workspace=folder / "floor")
    floor = await timed(Floor(teams, ROUNDS, len(QUERIES), metrics, latency).run(empty))
    return Row(
        teams=teams,
        latency=latency,
        calls=outcome.usage.requests,
        chain=longest_chain([*times.calls.values()]),
        wall=spent.wall,
        cpu=spent.cpu,
        memory=memory,
        checkpoint_bytes=checkpoint_file(settings.folder).stat().st_size,
        floor_cpu=floor.cpu,
        floor_bytes=checkpoint_file(empty.folder).stat().st_size,
    )


def played(teams: int, latency_ms: int) -> Row:
    """A row measured in a process of its own: imports, memory and warmth of one are not those of another."""
    command = [sys.executable, __file__, "--row", str(teams), str(latency_ms)]
    ended = subprocess.run(command, env=os.environ | _ENVIRONMENT, check=True, stdout=subprocess.PIPE)
    return Row(*json.loads(ended.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two rows")
    parser.add_argument("--times", type=int, default=1, help="plays of each row, of which the least figures count")
    parser.add_argument("--row", type=int, nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.row:
        teams, latency_ms = chosen.row
        with TemporaryDirectory() as folder:
            print(json.dumps(asyncio.run(measure(teams, latency_ms / 1000, Path(folder)))))
        return
    print(_HEAD.format(rounds=ROUNDS), flush=True)
    for teams, latency_ms in _QUICK if chosen.quick else _CASES:
        print(least([played(teams, latency_ms) for _ in range(chosen.times)]).line(), flush=True)


if __name__ == "__main__":
    main()
