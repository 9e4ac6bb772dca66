"""A thread's deletion on the terminal."""

import asyncio
from pathlib import Path

from contend.cli.screen import say, say_json
from contend.cli.words import counted
from contend.deletion import Deleted, delete
from contend.services import Services
from contend.settings import load_settings


def delete_thread(thread: str, *, workspace: Path | None, as_json: bool) -> None:
    """Raises: UnknownThread, ThreadBusy, StoreError."""
    deleted = asyncio.run(_delete(thread, workspace))
    if as_json:
        say_json(deleted._asdict())
        return
    runs, texts = counted(deleted.executions, "run"), counted(deleted.documents, "text")
    say(f"Deleted thread {deleted.thread_id}: {runs}, {texts}, its checkpoints and its report.")
    say("Files that `--out` copied elsewhere and lessons in the playbook are left.")


async def _delete(thread: str, workspace: Path | None) -> Deleted:
    services = await asyncio.to_thread(lambda: Services(load_settings(workspace=workspace)))
    try:
        return await delete(thread, services=services)
    finally:
        await services.aclose()
