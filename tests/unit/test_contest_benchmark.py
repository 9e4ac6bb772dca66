"""The contest's benchmark: the longest chain of calls that wait for each other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from contest import Call, longest_chain


def test_calls_side_by_side_count_as_one() -> None:
    assert longest_chain([Call("a", 0, 1), Call("a", 0.1, 1.1), Call("a", 1.2, 2.2)]) == 2


def test_calls_of_another_team_are_not_waited_for_and_those_of_the_run_are() -> None:
    run = [Call("", 0, 1), Call("", 5, 6)]
    teams = [Call("a", 1, 2), Call("a", 2, 3), Call("b", 1.5, 1.9), Call("b", 3, 4), Call("b", 4, 5)]

    assert longest_chain([*run, *teams]) == 5
