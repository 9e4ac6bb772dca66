"""One row of the contest's figures, measured in a process of its own and printed as a line of JSON."""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import asdict
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from typing import NamedTuple

from contend.app import RunOutcome, run
from contend.models.events import AnyEvent, RoundJudged, RoundScored, StepDone
from contend.models.options import RunOptions
from contend.settings import Settings, load_settings, resource
from contend.stores.checkpoints import checkpoint_file
from contest import ROUNDS, Row
from floor import Floor
from stub import DOCS, QUERIES, running

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


class Spent(NamedTuple):
    wall: float
    cpu: float


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


def longest_chain(events: Sequence[AnyEvent]) -> int:
    """Calls one after another of the team with the most: plan, write, review, the metrics as one, the judge."""
    calls: Counter[str] = Counter()
    for event in events:
        match event:
            case StepDone(step="plan" | "write" | "review") | RoundScored() | RoundJudged(asked_judge=True):
                calls[event.team_id] += 1
            case _:
                pass
    return max(calls.values())


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
        chain=longest_chain(events),
        wall=spent.wall,
        cpu=spent.cpu,
        memory=memory,
        checkpoint_bytes=checkpoint_file(settings.folder).stat().st_size,
        floor_wall=floor.wall,
        floor_cpu=floor.cpu,
        floor_bytes=checkpoint_file(empty.folder).stat().st_size,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--teams", type=int, default=1)
    parser.add_argument("--latency-ms", type=float, default=200)
    chosen = parser.parse_args()
    with TemporaryDirectory() as folder:
        row = asyncio.run(measure(chosen.teams, chosen.latency_ms / 1000, Path(folder)))
    sys.stdout.write(json.dumps(asdict(row)) + "\n")


if __name__ == "__main__":
    main()
