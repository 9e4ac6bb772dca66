"""What steps have brought in finished runs, and what of it `auto` names."""

import pytest

from contend.gains import FEWEST_RUNS, Gain, RunPlayed, TeamPlayed, expected, gains


def test_rounds_teams_and_merges_gain_over_what_was_there_before_them() -> None:
    first = TeamPlayed({1: 0.70, 2: 0.74, 3: 0.72}, {1: 900, 2: 500, 3: 300})
    second = TeamPlayed({1: 0.80}, {1: 1_000})
    run = RunPlayed([first, second], merged=0.83, merge_tokens=700)

    assert gains([run]) == [
        Gain(step="round", times=2, points=2.0, low=-1.9, high=5.9, tokens=400),
        Gain(step="teams", times=1, points=6.0, tokens=1_000),
        Gain(step="merge", times=1, points=3.0, tokens=700),
    ]


def test_a_merge_that_was_not_published_brought_nothing_and_one_that_nobody_made_does_not_count() -> None:
    alone = RunPlayed([TeamPlayed({1: 0.9}, {1: 10})], merged=None, merge_tokens=0)
    dropped = RunPlayed([TeamPlayed({1: 0.9}, {1: 10})], merged=None, merge_tokens=50)

    assert gains([alone]) == []
    assert gains([alone, dropped]) == [Gain(step="merge", times=1, points=0.0, tokens=50)]


@pytest.mark.parametrize("more", [-1, 0])
def test_runs_enough_speak_before_what_is_shipped(more: int) -> None:
    times = FEWEST_RUNS + more
    own = gains([RunPlayed([TeamPlayed({1: 0.5}, {1: 1}), TeamPlayed({1: 0.6}, {1: 1})], None, 0)] * times)

    gain = expected(own, "teams")

    assert (gain.is_shipped, gain.points) == ((True, 1.0) if more else (False, 10.0))
