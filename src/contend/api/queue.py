"""The Agent Server's queue, by the server's own client: it starts, queues and cancels; there is no other job runner."""

from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, NamedTuple
from uuid import UUID

from httpx import HTTPStatusError
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

from contend.agent_server import DEMO
from contend.errors import InputError, ThreadBusy

GRAPH = "contend"
_MOST_THREADS = 100
_ENDED_MEANWHILE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)


class ServerThread(NamedTuple):
    """A thread as the server has it, and its newest run, {} before the first."""

    thread: Mapping[str, Any]
    run: Mapping[str, Any]

    @property
    def run_status(self) -> str:
        return str(self.run.get("status", ""))

    @property
    def is_going(self) -> bool:
        """Whether its run is in the queue or at work."""
        return self.run_status in {"pending", "running"}

    @property
    def theme(self) -> str:
        values = self.thread.get("values") or {}
        return str((self.thread.get("metadata") or {}).get("theme") or values.get("theme") or "")


@dataclass(frozen=True)
class ServerQueue:
    """Threads and runs of the Agent Server. It knows threads by UUIDs; the command line has others, too."""

    client: LangGraphClient

    async def find(self, thread_id: str) -> ServerThread | None:
        """None of threads that the server does not know."""
        if _is_uuid(thread_id):
            with suppress(NotFoundError):
                return await self._with_run(await self.client.threads.get(thread_id))
        return None

    async def newest(self, on_record: Container[str]) -> dict[str, ServerThread]:
        """The newest threads in the queue or at work, and those of researches that are not on record, by id."""
        busy = await self._threads(status="busy")
        researches = await self._threads(metadata={"contend": "research"})
        threads = busy | {thread_id: thread for thread_id, thread in researches.items() if thread_id not in on_record}
        return {thread_id: await self._with_run(thread) for thread_id, thread in threads.items()}

    async def run(
        self,
        thread_id: str,
        theme: str,
        context: Mapping[str, Any] | None,
        *,
        demo: bool = False,
        **question_or_answer: Any,  # noqa: ANN401 - the SDK's
    ) -> None:
        """Queue a run on a thread, by `input` or `command`. Threads that began elsewhere are made known to the server.

        Raises:
            InputError: the thread's id is no UUID.
            ThreadBusy: the thread has a run that is not finished.
        """
        if not _is_uuid(thread_id):
            raise InputError(
                f"research {thread_id}: a run that the command line named goes on there: `contend resume {thread_id}`"
            )
        kind = DEMO if demo else {"contend": "research"}
        thread = await self.client.threads.create(
            thread_id=thread_id, if_exists="do_nothing", graph_id=GRAPH, metadata={**kind, "theme": theme}
        )
        is_demo = DEMO.items() <= (thread.get("metadata") or {}).items()
        try:
            await self.client.runs.create(
                thread_id,
                GRAPH,
                **question_or_answer,
                context=context,
                metadata=DEMO if is_demo else None,
                durability="sync",
                multitask_strategy="reject",
            )
        except (ConflictError, UnprocessableEntityError) as error:
            raise ThreadBusy(f"research {thread_id} is at work already: somebody was there first") from error

    async def cancel(self, at_server: ServerThread) -> None:
        try:
            await self.client.runs.cancel(at_server.thread["thread_id"], at_server.run["run_id"], wait=True)
        except HTTPStatusError as error:  # whoever waits gets no error of the SDK's own
            if error.response.status_code not in _ENDED_MEANWHILE:
                raise

    async def delete(self, thread_id: str) -> None:
        if _is_uuid(thread_id):
            with suppress(NotFoundError):  # a run of the command line: the server has no thread
                await self.client.threads.delete(thread_id)

    async def _threads(self, **filters: Any) -> dict[str, Mapping[str, Any]]:  # noqa: ANN401 - the SDK's
        threads = await self.client.threads.search(
            limit=_MOST_THREADS, sort_by="created_at", sort_order="desc", **filters
        )
        return {thread["thread_id"]: thread for thread in threads if "contend" in (thread.get("metadata") or {})}

    async def _with_run(self, thread: Mapping[str, Any]) -> ServerThread:
        runs: list[Any] = []
        with suppress(NotFoundError):  # deleted meanwhile
            runs = await self.client.runs.list(thread["thread_id"], limit=1)
        return ServerThread(thread, runs[0] if runs else {})


def _is_uuid(thread_id: str) -> bool:
    with suppress(ValueError):
        return bool(UUID(thread_id))
    return False
