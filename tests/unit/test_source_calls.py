import asyncio
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenacity import Retrying

from contend.errors import retry_after
from contend.sources.calls import Queue, SharedAnswers, TransientError, retry_rules


class Counter:
    def __init__(self) -> None:
        self.asked = 0

    async def ask(self) -> int:
        self.asked += 1
        return self.asked


async def test_an_answer_is_forgotten_when_it_is_old() -> None:
    answers: SharedAnswers[int] = SharedAnswers(keep_seconds=0.05)
    counter = Counter()

    first = await answers.get("key", counter.ask)
    await asyncio.sleep(0.1)

    assert [first, await answers.get("key", counter.ask)] == [1, 2]


async def test_the_oldest_answer_makes_room_for_a_new_one() -> None:
    answers: SharedAnswers[int] = SharedAnswers(most=2)
    counter = Counter()
    for key in "abc":
        await answers.get(key, counter.ask)

    assert await answers.get("c", counter.ask) == 3
    assert await answers.get("a", counter.ask) == 4


async def test_a_call_that_nobody_waits_for_ends() -> None:
    answers: SharedAnswers[None] = SharedAnswers()
    end = asyncio.Event()

    async def ask() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            end.set()

    only = asyncio.create_task(answers.get("key", ask))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    only.cancel()

    async with asyncio.timeout(60):
        await end.wait()


async def test_a_newcomer_does_not_join_a_call_that_was_given_up() -> None:
    answers: SharedAnswers[int] = SharedAnswers()

    async def never() -> int:
        await asyncio.sleep(30)
        return 0

    only = asyncio.create_task(answers.get("key", never))
    await asyncio.sleep(0)
    only.cancel()
    await asyncio.gather(only, return_exceptions=True)

    assert await answers.get("key", Counter().ask) == 1


async def test_calls_in_a_line_keep_the_interval_from_ones_end_to_the_next_ones_start() -> None:
    line = Queue("test", interval_seconds=0.1, deadline_seconds=60)
    times: list[float] = []

    def attempt(_: float) -> None:
        times.append(time.monotonic())
        time.sleep(0.05)
        times.append(time.monotonic())

    await asyncio.gather(*(line.call(attempt) for _ in range(3)))

    assert times[2] - times[1] >= 0.1
    assert times[4] - times[3] >= 0.1


async def test_time_in_the_line_does_not_count_against_the_deadline() -> None:
    line = Queue("test", interval_seconds=0, deadline_seconds=2)

    def attempt(left: float) -> float:
        time.sleep(0.3)
        return left

    left = await asyncio.gather(*(line.call(attempt) for _ in range(8)))

    assert min(left) > 0.3


def waits(error: TransientError, *, seconds: float) -> list[float]:
    """How long a call that always fails waits between its attempts, without the waiting."""
    waited: list[float] = []

    def fail() -> None:
        raise error

    with pytest.raises(TransientError, match="busy"):
        Retrying(sleep=waited.append, **retry_rules(seconds, first_wait_seconds=1))(fail)
    return waited


def test_a_call_is_made_three_times_at_most_with_a_longer_wait_each_time() -> None:
    assert waits(TransientError("busy"), seconds=60) == [1, 2]


def test_a_service_is_left_alone_as_long_as_it_asks_for() -> None:
    assert waits(TransientError("busy", after=7), seconds=60) == [7, 7]


def test_nobody_waits_for_an_attempt_that_would_begin_after_the_deadline() -> None:
    assert waits(TransientError("busy", after=6), seconds=5) == []


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("3", 3), (" 0.5 ", 0.5), ("\x1f3", 3), ("-3", None), ("soon", None), ("nan", None), ("", None), (None, None)],
)
def test_retry_after_is_a_number_of_seconds_or_nothing(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


def test_retry_after_may_be_a_date() -> None:
    wait = retry_after(formatdate(time.time() + 60, usegmt=True))

    assert wait is not None
    assert 55 < wait <= 60


def test_a_retry_after_in_the_past_is_now() -> None:
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0


@given(st.text())
def test_no_retry_after_is_too_odd(header: str) -> None:
    wait = retry_after(header)

    assert wait is None or wait >= 0
