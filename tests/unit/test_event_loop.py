"""Synchronous calls on event loops of their own."""

import asyncio
from collections.abc import AsyncGenerator
from contextvars import ContextVar

import pytest

from contend import event_loop

LANGUAGE: ContextVar[str] = ContextVar("language", default="en")


async def numbers(ended: list[int], *, most: int = 3) -> AsyncGenerator[int]:
    try:
        for number in range(most):
            yield number
            await asyncio.sleep(0)
    finally:
        ended.append(most)


async def language() -> str:
    return LANGUAGE.get()


def test_a_generators_parts_come_as_they_are_made() -> None:
    ended: list[int] = []

    assert [*event_loop.iterate(numbers(ended))] == [0, 1, 2]
    assert ended == [3]


def test_a_generator_that_is_left_early_is_stopped() -> None:
    ended: list[int] = []
    parts = event_loop.iterate(numbers(ended, most=1_000_000_000))

    assert next(parts) == 0
    parts.close()
    assert ended == [1_000_000_000]


def test_an_error_comes_where_the_parts_are_read() -> None:
    async def failing() -> AsyncGenerator[int]:
        yield 1
        raise ValueError("odd")

    parts = event_loop.iterate(failing())

    assert next(parts) == 1
    with pytest.raises(ValueError, match="odd"):
        next(parts)


async def test_a_coroutine_runs_beside_the_loop_of_its_caller_in_the_callers_context() -> None:
    token = LANGUAGE.set("ja")
    try:
        assert event_loop.run(language()) == "ja"
    finally:
        LANGUAGE.reset(token)
