"""Researches of the HTTP API: runs of the Agent Server's queue, and what the record has of them and of all others."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID, uuid4

from langgraph_sdk import get_client

from contend import app, deletion
from contend.agent_server import server_services
from contend.api.models import (
    RESEARCH_STATUS,
    ProgressInfo,
    ResearchDetails,
    ResearchItem,
    ResearchPage,
    ResearchRequest,
    ResearchResponse,
    ResearchStatus,
)
from contend.api.progress import progress_of
from contend.api.queue import ServerQueue, ServerThread
from contend.app import DryRun, RunOutcome
from contend.approval import Question, chosen_answers
from contend.contest.state import input_options
from contend.demo import demo_options, demo_question, has_demo
from contend.errors import InputError, ThreadBusy, UnknownThread
from contend.models.events import AnyEvent
from contend.models.task import ExecutionRow, RunStatus
from contend.services import Services
from contend.stored_runs import is_waiting, message_of, read_run, status_of
from contend.stores.leases import checked_thread, is_leased

_Response = TypeVar("_Response", bound=ResearchResponse)
_QUEUED = "waits for a place in the queue"
_OPENING = "is checked and opened"
_AT_WORK = "the teams are at work"
_BEFORE_BEGIN: Mapping[str, tuple[ResearchStatus, str]] = {
    "pending": ("started", _QUEUED),
    "running": ("processing", _OPENING),
    "interrupted": ("interrupted", "stopped before it began: nothing is spent, and it can go on"),
}
"""A research that is not on record yet, by the state of its run at the server."""


@dataclass(frozen=True)
class Researches:
    """Researches of one workspace."""

    services: Services
    queue: ServerQueue

    async def dry_run(self, request: ResearchRequest) -> DryRun:
        """What a research would do and might cost.

        Raises:
            InputError: it would be refused.
        """
        self._check_checkpointer(request)
        return await app.dry_run(request.theme, options=request.run_options(), services=self.services)

    async def start(self, request: ResearchRequest, *, research_id: str | None = None) -> ResearchResponse:
        """Check and queue a research, on a thread of its own or, as a further question, on a finished one.

        Raises:
            InputError: it is refused; nothing was spent.
            ThreadBusy: the thread has a run that is not finished.
        """
        await self.dry_run(request)
        thread = str(uuid4()) if research_id is None else (await self._require_finished(research_id)).research_id
        await self._queue(thread, request)
        return ResearchResponse(research_id=thread, status="started", message=_QUEUED)

    async def start_once(self, request: ResearchRequest, research_id: str) -> ResearchResponse:
        """Check and queue a research under an id of the caller's; one that is known stays as it is.

        Raises:
            InputError: it is refused, or the id is no UUID; nothing was spent.
        """
        try:
            thread = str(UUID(research_id))
        except ValueError as error:
            raise InputError(f"research {research_id}: an id of your own is a UUID") from error
        at_server = await self.queue.find(thread)
        if await self.services.record.latest_execution(thread) is None and not (at_server and at_server.run):
            await self.dry_run(request)
            with suppress(ThreadBusy):  # the same request came twice at once
                await self._queue(thread, request)
        return await self.response(thread)

    async def start_demo(self) -> ResearchResponse:
        """Play the recorded demo: no key, nothing spent.

        Raises:
            InputError: this install has no demo, or the workspace's own config does not fit it.
        """
        if not has_demo():
            raise InputError("demo: this install has none; play it in a clone of contend, by `make demo`")
        theme, options = await asyncio.to_thread(demo_question), demo_options()
        await app.dry_run(theme, options=options, services=await server_services(demo=True))
        thread = str(uuid4())
        await self.queue.run(thread, theme, input_options(options), demo=True, input={"theme": theme})
        return ResearchResponse(research_id=thread, status="started", message=_QUEUED)

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
            return _of_server(thread, at_server)
        item = await self._with_progress(_item(run.execution, run.status, at_server))
        return ResearchDetails(
            **item.model_dump(),
            execution_id=run.execution.execution_id,
            models=run.execution.models,
            **run.model_dump(include={"teams", "leaderboard", "exit_reasons", "usage"}),
            questions=await self._questions(thread) if item.waiting else [],
            has_report=run.status in {"completed", "partial"},
        )

    async def page(self, *, search: str, limit: int, offset: int) -> ResearchPage:
        """The history, the newest first; researches that have not begun stand at its head."""
        rows, total = await self.services.record.history(search=search, limit=limit, offset=offset)
        on_record = {*await self.services.record.threads()}
        at_server = await self.queue.newest(on_record)
        statuses = [await status_of(self.services.settings, row) for row in rows]
        items = [
            await self._with_progress(_item(row, status, at_server.get(row.thread_id)))
            for row, status in zip(rows, statuses, strict=True)
        ]
        to_begin = [_of_server(thread, at_server[thread]) for thread in at_server if thread not in on_record]
        matches = [_as(ResearchItem, each) for each in to_begin if search.casefold() in each.theme.casefold()]
        return ResearchPage(total=total + len(matches), items=items if offset else [*matches, *items])

    async def progress(self, research_id: str) -> ProgressInfo:
        """How far the newest run of a research is.

        Raises:
            UnknownThread: there is none.
        """
        details = await self.details(research_id)
        if details.progress is not None:
            return details.progress
        return progress_of(await self.all_events(details.research_id), is_going=False)

    async def outcome(self, research_id: str) -> RunOutcome:
        """The state of a research's run, from its checkpoint.

        Raises:
            UnknownThread: there is none.
        """
        return await app.status(checked_thread(research_id), services=self.services)

    async def answer(
        self, research_id: str, decision: object, answers: Mapping[str, object] | None
    ) -> ResearchResponse:
        """Give a person's answers; the research goes on. Of two clients that answer at once, one wins.

        Raises:
            InputError: an answer is not usable, or its question is not open.
            ThreadBusy: somebody else has answered meanwhile.
        """
        outcome = await self._goes_on(research_id)
        by_question = chosen_answers(outcome.questions, decision, answers)
        if not by_question:
            raise InputError("answers: none is given: give `decision`, or `answers` by question id or team")
        await self.queue.run(outcome.thread_id, outcome.theme, None, command={"resume": by_question})
        return await self.response(outcome.thread_id)

    async def resume(self, research_id: str) -> ResearchResponse:
        """Go on with a research that stopped in the middle.

        Raises:
            InputError: it is finished, or waits for an answer.
            ThreadBusy: somebody works on it.
        """
        details = await self.details(research_id)
        if details.waiting:
            raise InputError(f"research {research_id}: {details.message}: answer at …/answers")
        if details.status in {"completed", "failed"}:
            raise ThreadBusy(f"research {research_id} is {details.outcome}: ask a further question instead")
        unbegun = await self._unbegun_run(details)
        if not unbegun:
            await self._goes_on(research_id)
        await self.queue.run(details.research_id, details.theme, unbegun.get("context"), input=unbegun.get("input"))
        return await self.response(details.research_id)

    async def cancel(self, research_id: str) -> ResearchResponse:
        """Stop a research where it is; it can go on later. One that is stopped or waits stays as it is.

        Raises:
            ThreadBusy: it is finished, or a process of the command line works on it.
        """
        details = await self.details(research_id)
        at_server = await self.queue.find(details.research_id)
        if at_server and at_server.is_going:
            await self.queue.cancel(at_server)
        elif details.status in {"completed", "failed"}:
            raise ThreadBusy(f"research {research_id} is {details.outcome}: there is nothing to cancel")
        elif await is_leased(self.services.settings, details.research_id):
            raise ThreadBusy(f"research {research_id} is worked on by another process: stop it there, by Ctrl-C")
        return await self.response(details.research_id)

    async def delete(self, research_id: str) -> None:
        """Delete all that is kept of a research but the lessons in the playbook.

        Raises:
            UnknownThread: there is none.
            ThreadBusy: it is in the queue or at work.
        """
        details = await self.details(research_id)
        if details.status in {"started", "processing"}:
            raise ThreadBusy(f"research {research_id} is at work: cancel it first")
        if details.outcome is not None:
            await deletion.delete(details.research_id, services=self.services)
        await self.queue.delete(details.research_id)

    async def all_events(self, research_id: str) -> list[AnyEvent]:
        """All that the runs of its thread told."""
        events: list[AnyEvent] = []
        last = 0
        while batch := await self.services.record.events(research_id, after=last):
            events += [each.event for each in batch]
            last = batch[-1].number
        return events

    async def response(self, research_id: str) -> ResearchResponse:
        """Its status in short, which is looked at again and again.

        Raises:
            UnknownThread: there is none.
        """
        thread = checked_thread(research_id)
        row, at_server = await self.services.record.latest_execution(thread), await self.queue.find(thread)
        if row is None:
            return _as(ResearchResponse, _of_server(thread, at_server))
        return _as(ResearchResponse, _item(row, await status_of(self.services.settings, row), at_server))

    async def _queue(self, thread: str, request: ResearchRequest) -> None:
        context = input_options(request.run_options())
        await self.queue.run(thread, request.theme, context, input={"theme": request.theme})

    async def _questions(self, thread: str) -> list[Question]:
        with suppress(UnknownThread):  # its checkpoints are gone
            return (await self.outcome(thread)).questions
        return []

    async def _require_finished(self, research_id: str) -> ResearchDetails:
        details = await self.details(research_id)
        if details.status not in {"completed", "failed"}:
            raise ThreadBusy(f"research {research_id} is {details.status}: wait for its end, or cancel it")
        return details

    async def _goes_on(self, research_id: str) -> RunOutcome:
        """Where a research stands that nobody works on, once it is sure that it can go on."""
        details = await self.details(research_id)
        if details.status in {"started", "processing"}:
            raise ThreadBusy(f"research {research_id} is at work: wait for its end, or cancel it")
        return await app.check_goes_on(details.research_id, services=self.services)

    async def _unbegun_run(self, details: ResearchDetails) -> Mapping[str, Any]:
        """What a run was given that was taken out of the queue: it stands nowhere else, for no step of it is saved."""
        with suppress(UnknownThread):
            await self.outcome(details.research_id)
            return {}
        at_server = await self.queue.find(details.research_id) if details.outcome is None else None
        return (at_server.run if at_server else {}).get("kwargs") or {}

    async def _with_progress(self, item: ResearchItem) -> ResearchItem:
        if item.status != "processing":
            return item
        progress = progress_of(await self.all_events(item.research_id))
        end = progress.estimated_completion_time
        return item.model_copy(update={"progress": progress, "estimated_completion_time": end})

    def _check_checkpointer(self, request: ResearchRequest) -> None:
        ours = self.services.settings.checkpointer
        if request.checkpointer_type not in {None, ours}:
            raise InputError(
                f"checkpointer_type: {request.checkpointer_type!r} is not this server's, {ours!r}: leave it out"
            )


async def server_researches() -> Researches:
    """Of this process, by the server's own client: in the same process, without a network."""
    return Researches(await server_services(), ServerQueue(get_client()))


def _item(row: ExecutionRow, status: RunStatus, at_server: ServerThread | None) -> ResearchItem:
    """A run of the record; what the server has in its queue for the thread is newer."""
    run = at_server.run if at_server else {}
    # The server ends a run a moment after its last node wrote the end into the record.
    is_newer = row.finished_at is None or not run or datetime.fromisoformat(str(run["created_at"])) > row.finished_at
    run_status = at_server.run_status if at_server and is_newer else ""
    values = row.model_dump(include={"theme", "finished_at", "winner_team_id", "best_score", "dataset", "created_at"})
    item = ResearchItem.model_validate(
        {
            **values,
            "research_id": row.thread_id,
            "status": RESEARCH_STATUS[status],
            "message": message_of(row, status) or _AT_WORK,
            "outcome": status,
            "waiting": is_waiting(row),
        }
    )
    if run_status == "pending":
        return item.model_copy(update={"status": "started", "message": _QUEUED, "waiting": False})
    if run_status == "running" and status != "running":
        return item.model_copy(update={"status": "processing", "message": _AT_WORK, "waiting": False})
    return item


def _of_server(thread: str, at_server: ServerThread | None) -> ResearchDetails:
    """A research that has not begun, was stopped before, or was refused when it was to begin."""
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


def _as(kind: type[_Response], item: ResearchItem) -> _Response:
    """As much of a research as the kind tells."""
    return kind.model_validate(item.model_dump(include=set(kind.model_fields)))
