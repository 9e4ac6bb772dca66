"""Researches of the HTTP API: runs of the Agent Server's queue, and what the record has of them and of all others.

The server's own client starts, queues and cancels; there is no other job runner.
"""

from collections.abc import Container, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from httpx import HTTPStatusError
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

from contend import app
from contend.agent_server import DEMO, DemoName, demo_of, server_services
from contend.api.models import (
    RESEARCH_STATUS,
    ResearchDetails,
    ResearchItem,
    ResearchRequest,
    ResearchResponse,
    ResearchStatus,
)
from contend.api.progress import progress_of
from contend.approval import Question
from contend.contest.state import input_options
from contend.errors import InputError, ThreadBusy, UnknownThread
from contend.models.events import AnyEvent
from contend.models.task import ExecutionRow, RunStatus
from contend.services import Services
from contend.stored_runs import is_waiting, message_of, read_run, status_of
from contend.stores import checked_thread, resume_command
from contend.stores.checkpoints import CHECKPOINTERS

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
        demo: DemoName | None = None,
        **question_or_answer: Any,  # noqa: ANN401 - the SDK's
    ) -> None:
        """Queue a run on a thread, by `input` or `command`. Threads that began elsewhere are made known to the server.

        Raises:
            InputError: the thread's id is no UUID.
            ThreadBusy: the thread has a run that is not finished.
        """
        if not _is_uuid(thread_id):
            raise InputError(
                f"research {thread_id}: a run that the command line named goes on there: `{resume_command(thread_id)}`"
            )
        kind = {**DEMO, "demo": demo} if demo else {"contend": "research"}
        thread = await self.client.threads.create(
            thread_id=thread_id, if_exists="do_nothing", graph_id=GRAPH, metadata={**kind, "theme": theme}
        )
        demo_of_thread = demo_of(thread.get("metadata") or {})
        try:
            await self.client.runs.create(
                thread_id,
                GRAPH,
                **question_or_answer,
                context=context,
                metadata={**DEMO, "demo": demo_of_thread} if demo_of_thread else None,
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


IN_QUEUE = "waits for a place in the queue"
_AT_WORK = "the teams are at work"
_BEFORE_BEGIN: Mapping[str, tuple[ResearchStatus, str]] = {
    "pending": ("started", IN_QUEUE),
    "running": ("processing", "is checked and opened"),
    "interrupted": ("interrupted", "stopped before it began: nothing is spent, and it can go on"),
}
"""A research that is not on record yet, by the state of its run at the server."""


@dataclass(frozen=True)
class Researches:
    """Researches of one workspace."""

    services: Services
    queue: ServerQueue

    async def dry_run(self, request: ResearchRequest) -> app.DryRun:
        """What a research would do and might cost.

        Raises:
            InputError: it would be refused.
        """
        return await app.dry_run(request.theme, options=request.run_options(), services=self.services)

    async def start(self, request: ResearchRequest, *, thread: str | None = None) -> ResearchResponse:
        """Check and queue a research, on a thread of its own or on the one that is named.

        Raises:
            InputError: it is refused; nothing was spent.
            ThreadBusy: the thread has a run that is not finished.
        """
        await self.dry_run(request)
        thread = thread or str(uuid4())
        context = input_options(request.run_options())
        await self.queue.run(thread, request.theme, context, input={"theme": request.theme})
        message = f"{IN_QUEUE}; its checkpoints are kept in {CHECKPOINTERS[self.services.settings.checkpointer].title}"
        return ResearchResponse(research_id=thread, status="started", message=message)

    async def details(self, research_id: str) -> ResearchDetails:
        """Where a research stands.

        Raises:
            UnknownThread: there is none.
        """
        thread = checked_thread(research_id)
        at_server = await self.queue.find(thread)
        try:
            run = await read_run(self.services.record, self.services.settings, thread)
        except UnknownThread:
            return of_server(thread, at_server)
        item = await self.item(run.execution, run.status, at_server)
        return ResearchDetails(
            **item.model_dump(),
            execution_id=run.execution.execution_id,
            models=run.execution.models,
            **run.model_dump(include={"teams", "leaderboard", "exit_reasons", "usage"}),
            questions=await self._questions(thread) if item.waiting else [],
            has_report=run.status in {"completed", "partial"},
        )

    async def response(self, research_id: str) -> ResearchItem:
        """Where a research stands, without what takes time to find out: it is looked at again and again.

        Raises:
            UnknownThread: there is none.
        """
        thread = checked_thread(research_id)
        row, at_server = await self.services.record.latest_execution(thread), await self.queue.find(thread)
        if row is None:
            return of_server(thread, at_server)
        return _of_record(row, await status_of(self.services.settings, row), at_server)

    async def item(self, row: ExecutionRow, status: RunStatus, at_server: ServerThread | None) -> ResearchItem:
        """A research on record, with its progress while the teams are at work."""
        item = _of_record(row, status, at_server)
        if item.status != "processing":
            return item
        progress = progress_of(await self.all_events(item.research_id))
        end = progress.estimated_completion_time
        return item.model_copy(update={"progress": progress, "estimated_completion_time": end})

    async def all_events(self, research_id: str) -> list[AnyEvent]:
        """All that the runs of its thread told."""
        events: list[AnyEvent] = []
        last = 0
        while batch := await self.services.record.events(research_id, after=last):
            events += [each.event for each in batch]
            last = batch[-1].number
        return events

    async def check_goes_on(self, details: ResearchDetails) -> app.RunOutcome:
        """Where a research stands that nobody works on, once it is sure that it can go on.

        Raises:
            ThreadBusy: it is at work.
            ContendError: as `app.check_goes_on`.
        """
        if details.is_going:
            raise ThreadBusy(f"research {details.research_id} is at work: wait for its end, or cancel it")
        return await app.check_goes_on(details.research_id, services=self.services)

    async def unbegun_run(self, details: ResearchDetails) -> Mapping[str, Any]:
        """What a run was given that was taken out of the queue: it stands nowhere else, for no step of it is saved."""
        with suppress(UnknownThread):
            await app.status(details.research_id, services=self.services)
            return {}
        at_server = await self.queue.find(details.research_id) if details.outcome is None else None
        return (at_server.run if at_server else {}).get("kwargs") or {}

    async def _questions(self, thread: str) -> list[Question]:
        with suppress(UnknownThread):  # its checkpoints are gone
            return (await app.status(thread, services=self.services)).questions
        return []


async def server_researches() -> Researches:
    """Of this process, by the server's own client: in the same process, without a network."""
    return Researches(await server_services(), ServerQueue(get_client()))


def _of_record(row: ExecutionRow, status: RunStatus, at_server: ServerThread | None) -> ResearchItem:
    """A run of the record; what the server has in its queue for the thread is newer."""
    run = at_server.run if at_server else {}
    # The server ends a run a moment after its last node wrote the end into the record.
    is_newer = row.finished_at is None or not run or datetime.fromisoformat(str(run["created_at"])) > row.finished_at
    run_status = at_server.run_status if at_server and is_newer else ""
    item = ResearchItem(
        **row.model_dump(include={"theme", "finished_at", "winner_team_id", "best_score", "dataset", "created_at"}),
        **row.published_fields(),
        research_id=row.thread_id,
        status=RESEARCH_STATUS[status],
        message=message_of(row, status) or _AT_WORK,
        outcome=status,
        waiting=is_waiting(row),
    )
    if run_status == "pending":
        return item.model_copy(update={"status": "started", "message": IN_QUEUE, "waiting": False})
    if run_status == "running" and status != "running":
        return item.model_copy(update={"status": "processing", "message": _AT_WORK, "waiting": False})
    return item


def of_server(thread: str, at_server: ServerThread | None) -> ResearchDetails:
    """A research that has not begun, was stopped before, or was refused when it was to begin.

    Raises:
        UnknownThread: the server has none either.
    """
    if at_server is None:
        raise UnknownThread(f"research {thread!r}: there is none; see GET /research")
    run_status = at_server.run_status
    refusal = (at_server.thread.get("values") or {}).get("message")
    end = refusal or f"its run ended before it began ({run_status or 'never asked'})"
    status, message = _BEFORE_BEGIN.get(run_status, ("failed", end))
    return ResearchDetails(
        research_id=thread,
        status=status,
        message=message,
        created_at=at_server.thread["created_at"],
        theme=at_server.theme,
        outcome="failed" if status == "failed" else None,
    )
