import asyncio
from pathlib import Path

from contend.services import Services
from contend.settings import load_settings


async def test_a_team_cancelled_while_a_run_is_recalled_leaves_the_others(workspace: Path) -> None:
    services = Services(load_settings(workspace=workspace))
    cancelled, other = (asyncio.create_task(services.recall("run")) for _ in range(2))
    await asyncio.sleep(0)

    cancelled.cancel()

    await other
    await services.aclose()
