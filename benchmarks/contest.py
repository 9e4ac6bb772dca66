"""What a contest costs beside its models' latency: wall time, CPU, memory, checkpoints, beside an empty graph's.

`python benchmarks/contest.py [--quick]` plays 1, 4 and 16 teams for three rounds against a stub of 200 ms and of 1 s.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 3
_CASES = ((1, 200), (4, 200), (16, 200), (1, 1000), (4, 1000), (16, 1000))
_QUICK = ((1, 200), (16, 200))
# As the command line sets it.
_ENVIRONMENT = {"LANGSMITH_TRACING": "false", "LANGGRAPH_STRICT_MSGPACK": "true"}
_HEAD = """Contest: {rounds} rounds over the guide's documents, SQLite checkpoints, DuckDB record.
Ideal: the longest chain of one team's calls, times the latency. In brackets: the same graph with empty nodes.

                         seconds              wall ÷       CPU ms     peak  checkpoint KB
teams  latency  calls    wall  ideal           ideal       a call       MB   a team, round"""


@dataclass(frozen=True)
class Row:
    """Times in seconds; `chain` is the most calls that one team makes one after another; memory in MB, 2 ** 20."""

    teams: int
    latency: float
    calls: int
    chain: int
    wall: float
    cpu: float
    memory: float
    checkpoint_bytes: int
    floor_wall: float
    floor_cpu: float
    floor_bytes: int

    def line(self) -> str:
        ideal, rounds = self.chain * self.latency, self.teams * ROUNDS * 1024
        return (
            f"{self.teams:5} {self.latency * 1000:5.0f} ms {self.calls:6} {self.wall:7.2f} {ideal:6.2f}"
            f" {self.wall / ideal:8.2f} ({self.floor_wall / ideal:.2f})"
            f" {self.cpu / self.calls * 1000:7.1f} ({self.floor_cpu / self.calls * 1000:.1f})"
            f" {self.memory:8.0f} {self.checkpoint_bytes / rounds:9.0f} ({self.floor_bytes / rounds:.0f})"
        )


def play(teams: int, latency_ms: int) -> Row:
    """One row, in a process of its own: imports, memory and warmth of one row are not those of another."""
    script = str(Path(__file__).with_name("contest_row.py"))
    chosen = ["--teams", str(teams), "--latency-ms", str(latency_ms)]
    environment = os.environ | _ENVIRONMENT
    done = subprocess.run([sys.executable, script, *chosen], env=environment, stdout=subprocess.PIPE, check=True)
    return Row(**json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two rows")
    cases = _QUICK if parser.parse_args().quick else _CASES
    print(_HEAD.format(rounds=ROUNDS))
    for teams, latency_ms in cases:
        print(play(teams, latency_ms).line(), flush=True)


if __name__ == "__main__":
    main()
