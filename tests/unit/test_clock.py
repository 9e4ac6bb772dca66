import asyncio

import pytest

from contend.clock import RunClock
from fakes.now import Now


@pytest.fixture
def now() -> Now:
    return Now()


def test_a_team_that_waits_uses_no_time_while_the_others_work(now: Now) -> None:
    clock = RunClock(now)
    clock.go("alpha")
    clock.go("beta")
    now.seconds = 5
    clock.wait("alpha")
    now.seconds = 20

    assert (clock.seconds, clock.team_seconds("alpha"), clock.team_seconds("beta")) == (20, 5, 20)


def test_a_run_in_which_all_wait_stands_still_until_one_goes_on(now: Now) -> None:
    clock = RunClock(now)
    for team in ("alpha", "beta"):
        clock.go(team)
    now.seconds = 5
    clock.wait("alpha")
    now.seconds = 8
    clock.wait("beta")
    now.seconds = 1000

    assert clock.seconds == 8

    clock.go("alpha")
    now.seconds = 1001

    assert (clock.seconds, clock.team_seconds("alpha"), clock.team_seconds("beta")) == (9, 6, 8)


async def test_a_team_that_is_done_while_the_last_other_waits_leaves_the_run_standing_still(now: Now) -> None:
    clock = RunClock(now)
    clock.go("alpha")
    async with clock.limit("beta", 100):
        clock.wait("alpha")
        now.seconds = 3
    now.seconds = 50

    assert clock.seconds == 3


def test_a_clock_goes_on_from_the_latest_reading_of_another(now: Now) -> None:
    earlier = RunClock(now)
    earlier.go("alpha")
    now.seconds = 4
    alpha = earlier.reading("alpha")
    now.seconds = 10
    beta = earlier.reading("beta")

    clock = RunClock(now)
    clock.go("alpha", alpha)
    clock.go("beta", beta)
    clock.go("alpha", alpha)
    now.seconds = 12

    assert (clock.seconds, clock.team_seconds("alpha"), clock.team_seconds("beta")) == (12, 6, 2)


def test_its_own_readings_count_once(now: Now) -> None:
    clock = RunClock(now)
    clock.go("alpha")
    now.seconds = 4

    clock.go("alpha", clock.reading("alpha"))

    assert (clock.seconds, clock.team_seconds("alpha")) == (4, 4)


async def _work_around_a_wait(clock: RunClock, now: Now, *, until: float) -> None:
    async with clock.limit("alpha", 15):
        now.seconds = 10
        clock.wait("alpha")
        now.seconds = 1000
        clock.go("alpha")
        now.seconds = until
        clock.go("alpha")
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)


async def test_a_team_is_stopped_once_its_seconds_are_used_those_before_a_wait_too(now: Now) -> None:
    with pytest.raises(TimeoutError):
        await _work_around_a_wait(RunClock(now), now, until=1005)


async def test_a_team_that_waited_keeps_the_time_it_had_left(now: Now) -> None:
    clock = RunClock(now)

    await _work_around_a_wait(clock, now, until=1004)

    assert clock.team_seconds("alpha") == 14
