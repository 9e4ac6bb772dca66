"""Deleting a thread: its checkpoints, its rows of the record, its texts and its report. What it taught stays."""

import asyncio
import shutil
from collections.abc import Iterable
from typing import NamedTuple

from contend.errors import UnknownThread
from contend.models.evaluation import Submission
from contend.services import Services
from contend.stores.checkpoints import has_checkpoints, open_checkpointer
from contend.stores.documents import text_id
from contend.stores.leases import checked_thread, lease


class Deleted(NamedTuple):
    """What was removed. `documents` counts submissions and passages that no other thread uses."""

    thread_id: str
    executions: int
    documents: int


async def delete(thread_id: str, *, services: Services) -> Deleted:
    """Remove all of a thread but the lessons in the playbook. Texts that other threads use stay.

    Raises:
        UnknownThread: nothing is known of this thread.
        ThreadBusy: somebody works on it.
        StoreError: a store could not be changed.
    """
    thread = checked_thread(thread_id)
    if await services.record.latest_execution(thread) is None:
        raise UnknownThread(f"thread {thread!r} has no run: see `contend runs`")
    async with lease(services.settings, thread):
        by_thread = await services.record.submission_documents()
        own = await _texts(services, by_thread.pop(thread, []))
        others = await _texts(services, [document for documents in by_thread.values() for document in documents])
        drafts = await services.record.draft_documents(thread)
        await services.documents.delete((own | drafts) - others)
        await asyncio.to_thread(shutil.rmtree, services.folder / "results" / thread, ignore_errors=True)
        if has_checkpoints(services.settings):
            async with open_checkpointer(services.settings) as saver:
                await saver.adelete_thread(thread)
        executions = await services.record.delete_thread(thread)
        for execution_id in executions:
            await asyncio.to_thread(shutil.rmtree, services.run_folder / execution_id, ignore_errors=True)
    return Deleted(thread, len(executions), len(own - others))


async def _texts(services: Services, submissions: Iterable[str]) -> set[str]:
    """The ids of submissions and of the texts of passages that they were written from."""
    texts = {document: await services.documents.get(document) for document in set(submissions)}
    passages = [Submission.model_validate_json(text).passages for text in texts.values()]
    return texts.keys() | {text_id(passage.id) for of_text in passages for passage in of_text}
