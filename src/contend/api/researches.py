"""Researches of the HTTP API: runs of the Agent Server's queue, and what the record has of them and of all others."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

from contend import app, deletion
from contend.agent_server import DEMO, server_services
from contend.api.models import (
    ProgressInfo,
    ResearchDetails,
    ResearchItem,
    ResearchPage,
    ResearchRequest,
    ResearchResponse,
    ResearchStatus,
)
from contend.api.progress import progress_of
from contend.app import DryRun, RunOutcome
from contend.approval import Question, chosen_answers
from contend.contest.state import input_options
from contend.demo import demo_options, demo_question, has_demo
from contend.errors import InputError, ThreadBusy, UnknownThread
from contend.models.rows import ExecutionRow, KeptEvent
from contend.models.task import RunStatus
from contend.services import Services
from contend.stored_runs import is_waiting, message_of, read_run, status_of
from contend.stores.leases import checked_thread, is_leased

GRAPH = "contend"
_QUEUED = "waits for a place in the queue"
_OPENING = "is checked and opened"
_AT_WORK = "the teams are at work"
_BEFORE_BEGIN: Mapping[str, tuple[ResearchStatus, str]] = {
    "pending": ("started", _QUEUED),
    "running": ("processing", _OPENING),
    "interrupted": ("interrupted", "stopped before it began: nothing is spent, and it can go on"),
}
"""A research that is not on record yet, by the state of its run at the server."""
_MOST_UNOPENED = 100


@dataclass(frozen=True)
class Researches:
    """Researches of one workspace. The server's own client starts, queues and cancels; there is no other job runner."""

    services: Services
    client: LangGraphClient

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
        thread = str(uuid4()) if research_id is None else (await self._finished(research_id)).research_id
        await self._run(thread, request.theme, input_options(request.run_options()), input={"theme": request.theme})
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
        known = await self.services.record.latest_execution(thread) or (await self._at_server(thread)).get("run")
        if not known:
            await self.dry_run(request)
            with suppress(ThreadBusy):  # the same request came twice at once
                context = input_options(request.run_options())
                await self._run(thread, request.theme, context, input={"theme": request.theme})
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
        await self._run(thread, theme, input_options(options), demo=True, input={"theme": theme})
        return ResearchResponse(research_id=thread, status="started", message=_QUEUED)

    async def details(self, research_id: str) -> ResearchDetails:
        """Where a research stands.

        Raises:
            UnknownThread: there is none.
        """
        thread = checked_thread(research_id)
        row = await self.services.record.latest_execution(thread)
        at_server = await self._at_server(thread)
        if row is None:
            return _of_server(thread, at_server)
        run = await read_run(self.services.record, self.services.settings, thread)
        item = await self._with_progress(_item(row, run.status, at_server))
        return ResearchDetails(
            **item.model_dump(),
            execution_id=row.execution_id,
            models=row.models,
            teams=run.teams,
            leaderboard=run.leaderboard,
            exit_reasons=run.exit_reasons,
            usage=run.usage,
            questions=await self._questions(thread) if item.waiting else [],
            has_report=run.status in {"completed", "partial"},
        )

    async def page(self, *, search: str, limit: int, offset: int) -> ResearchPage:
        """The history, the newest first; researches that have not begun stand at its head."""
        rows, total = await self.services.record.history(search=search, limit=limit, offset=offset)
        busy = await self._threads(status="busy")
        items = [
            await self._with_progress(
                _item(
                    row,
                    await status_of(self.services.settings, row),
                    await self._at_server(row.thread_id) if row.thread_id in busy else None,
                )
            )
            for row in rows
        ]
        unopened = await self._unopened(search, busy)
        return ResearchPage(total=total + len(unopened), items=items if offset else [*unopened, *items])

    async def progress(self, research_id: str) -> ProgressInfo:
        """How far the newest run of a research is.

        Raises:
            UnknownThread: there is none.
        """
        details = await self.details(research_id)
        if details.progress is not None:
            return details.progress
        events = await self.all_events(details.research_id)
        return progress_of([each.event for each in events], is_going=False)

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
        given = chosen_answers(outcome.questions, decision, answers)
        if not given:
            raise InputError("answers: none is given: give `decision`, or `answers` by question id or team")
        await self._run(outcome.thread_id, outcome.theme, None, command={"resume": given})
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
        asked = await self._never_begun(details)
        if not asked:
            await self._goes_on(research_id)
        await self._run(details.research_id, details.theme, asked.get("context"), input=asked.get("input"))
        return await self.response(details.research_id)

    async def cancel(self, research_id: str) -> ResearchResponse:
        """Stop a research where it is; it can go on later. One that is stopped or waits stays as it is.

        Raises:
            ThreadBusy: it is finished, or a process of the command line works on it.
        """
        details = await self.details(research_id)
        run = await self._latest_run(details.research_id)
        if run and run["status"] in {"pending", "running"}:
            with suppress(NotFoundError, ConflictError):  # it ended meanwhile
                await self.client.runs.cancel(details.research_id, run["run_id"], wait=True)
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
        with suppress(ValueError, NotFoundError):  # a run of the command line: the server has no thread
            await self.client.threads.delete(str(UUID(details.research_id)))

    async def all_events(self, research_id: str) -> list[KeptEvent]:
        """All that the runs of its thread told."""
        found: list[KeptEvent] = []
        while batch := await self.services.record.events(research_id, after=found[-1].number if found else 0):
            found += batch
        return found

    async def response(self, research_id: str) -> ResearchResponse:
        """Its status in short, which is looked at again and again.

        Raises:
            UnknownThread: there is none.
        """
        thread = checked_thread(research_id)
        row, at_server = await self.services.record.latest_execution(thread), await self._at_server(thread)
        if row is None:
            found: ResearchItem = _of_server(thread, at_server)
        else:
            found = _item(row, await status_of(self.services.settings, row), at_server)
        return ResearchResponse.model_validate(found.model_dump(include=set(ResearchResponse.model_fields)))

    async def _questions(self, thread: str) -> list[Question]:
        with suppress(UnknownThread):  # its checkpoints are gone
            return (await self.outcome(thread)).questions
        return []

    async def _finished(self, research_id: str) -> ResearchDetails:
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

    async def _never_begun(self, details: ResearchDetails) -> Mapping[str, Any]:
        """What a run was asked that was taken out of the queue: it stands nowhere else, for no step of it is saved."""
        with suppress(UnknownThread):
            await self.outcome(details.research_id)
            return {}
        run = await self._latest_run(details.research_id) if details.outcome is None else None
        return (run or {}).get("kwargs") or {}

    async def _run(
        self,
        thread: str,
        theme: str,
        context: dict[str, Any] | None,
        *,
        demo: bool = False,
        **asked: Any,  # noqa: ANN401 - the SDK's
    ) -> None:
        """Queue a run. Threads that began elsewhere are made known to the server."""
        try:
            UUID(thread)
        except ValueError as error:
            raise InputError(
                f"research {thread}: a run that the command line named goes on there: `contend resume {thread}`"
            ) from error
        kind = DEMO if demo else {"contend": "research"}
        known = await self.client.threads.create(
            thread_id=thread, if_exists="do_nothing", graph_id=GRAPH, metadata={**kind, "theme": theme}
        )
        demo = DEMO.items() <= (known.get("metadata") or {}).items()
        try:
            await self.client.runs.create(
                thread,
                GRAPH,
                **asked,
                context=context,
                metadata=DEMO if demo else None,
                durability="sync",
                multitask_strategy="reject",
            )
        except (ConflictError, UnprocessableEntityError) as error:
            raise ThreadBusy(f"research {thread} is at work already: somebody was there first") from error

    async def _at_server(self, thread: str) -> Mapping[str, Any]:
        """The thread and its latest run as the server has them: {} of threads that it does not know."""
        try:
            UUID(thread)
            known = await self.client.threads.get(thread)
        except (ValueError, NotFoundError):
            return {}
        return {"thread": known, "run": await self._latest_run(thread)}

    async def _latest_run(self, thread: str) -> Mapping[str, Any] | None:
        with suppress(ValueError, NotFoundError):
            UUID(thread)
            runs = await self.client.runs.list(thread, limit=1)
            return runs[0] if runs else None
        return None

    async def _threads(self, **of: Any) -> dict[str, Mapping[str, Any]]:  # noqa: ANN401 - the SDK's
        """Researches that the server has, the newest first, by id."""
        found = await self.client.threads.search(limit=_MOST_UNOPENED, sort_by="created_at", sort_order="desc", **of)
        return {thread["thread_id"]: thread for thread in found if "contend" in (thread.get("metadata") or {})}

    async def _unopened(self, search: str, busy: Mapping[str, Mapping[str, Any]]) -> list[ResearchItem]:
        """Researches that the server has and the record not: in the queue, or stopped there."""
        on_record = set(await self.services.record.threads())
        known = {**busy} | await self._threads(metadata={"contend": "research"})
        found = [await self._at_server(thread) for thread in known if thread not in on_record]
        items = [_of_server(each["thread"]["thread_id"], each) for each in found if each]
        return [
            ResearchItem.model_validate(item.model_dump(include=set(ResearchItem.model_fields)))
            for item in items
            if search.casefold() in item.theme.casefold()
        ]

    async def _with_progress(self, item: ResearchItem) -> ResearchItem:
        if item.status != "processing":
            return item
        progress = progress_of([each.event for each in await self.all_events(item.research_id)])
        end = progress.estimated_completion_time
        return item.model_copy(update={"progress": progress, "estimated_completion_time": end})

    def _check_checkpointer(self, request: ResearchRequest) -> None:
        ours = self.services.settings.checkpointer
        if request.checkpointer_type not in {None, ours}:
            raise InputError(
                f"checkpointer_type: {request.checkpointer_type!r} is not this server's, {ours!r}: leave it out"
            )


def _item(row: ExecutionRow, status: RunStatus, at_server: Mapping[str, Any] | None) -> ResearchItem:
    """A run of the record; what the server has in its queue for the thread is newer."""
    run = (at_server or {}).get("run") or {}
    # The server ends a run a moment after its last node wrote the end into the record.
    is_newer = row.finished_at is None or not run or datetime.fromisoformat(str(run["created_at"])) > row.finished_at
    queued = run.get("status") if is_newer else None
    values = row.model_dump(include={"theme", "finished_at", "winner_team_id", "best_score", "dataset", "created_at"})
    item = ResearchItem.model_validate(
        {
            **values,
            **ResearchResponse.of(
                row.thread_id, status, message_of(row, status) or _AT_WORK, created_at=row.created_at
            ).model_dump(),
            "outcome": status,
            "waiting": is_waiting(row),
        }
    )
    if queued == "pending":
        return item.model_copy(update={"status": "started", "message": _QUEUED, "waiting": False})
    if queued == "running" and status != "running":
        return item.model_copy(update={"status": "processing", "message": _AT_WORK, "waiting": False})
    return item


def _of_server(thread: str, at_server: Mapping[str, Any]) -> ResearchDetails:
    """A research that has not begun, was stopped before, or was refused when it was to begin."""
    if not at_server:
        raise UnknownThread(f"research {thread!r}: there is none; see GET /research")
    known, run = at_server["thread"], at_server["run"] or {}
    values, queued = known.get("values") or {}, run.get("status", "")
    refused = values.get("message") or f"its run ended before it began ({queued or 'never asked'})"
    status, message = _BEFORE_BEGIN.get(queued, ("failed", refused))
    return ResearchDetails(
        research_id=thread,
        status=status,
        message=message,
        created_at=known["created_at"],
        theme=(known.get("metadata") or {}).get("theme") or values.get("theme") or "",
        outcome="failed" if status == "failed" else None,
    )
