"""The lease on a thread by a locked file: one holder, and no file stays behind."""

import asyncio
from pathlib import Path

import pytest

from contend.errors import ThreadBusy
from contend.settings import Settings, load_settings
from contend.stores import is_leased, lease


@pytest.fixture
def settings(workspace: Path) -> Settings:
    return load_settings(workspace=workspace)


async def test_a_lease_that_was_let_go_leaves_no_file(settings: Settings) -> None:
    async with lease(settings, "held"):
        assert await is_leased(settings, "held")

    assert not await is_leased(settings, "held")
    assert [*(settings.folder / "leases").iterdir()] == []


async def test_a_look_at_what_a_killed_process_held_leaves_no_lease(settings: Settings) -> None:
    lock_file = settings.folder / "leases" / "killed.lock"
    lock_file.parent.mkdir(parents=True)
    lock_file.touch()

    assert not await is_leased(settings, "killed")
    assert not lock_file.exists()


async def test_a_refused_second_holder_leaves_the_lease_to_the_first(settings: Settings) -> None:
    async with lease(settings, "held"):
        for _ in range(2):
            with pytest.raises(ThreadBusy, match=r"held is being worked on by process \d+"):
                async with lease(settings, "held"):
                    pass
        assert await is_leased(settings, "held")


async def test_of_many_that_come_and_go_at_once_one_at_a_time_holds_the_lease(settings: Settings) -> None:
    holders: list[int] = []
    most: list[int] = []

    async def work(number: int) -> None:
        for _ in range(10):
            try:
                async with lease(settings, "wanted"):
                    holders.append(number)
                    most.append(len(holders))
                    await asyncio.sleep(0)
                    holders.remove(number)
            except ThreadBusy:
                await asyncio.sleep(0.001)

    await asyncio.gather(*(work(number) for number in range(8)))

    assert max(most) == 1
