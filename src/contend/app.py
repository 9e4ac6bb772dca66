"""contend from code: run, resume, status, deletion. The command line and the API stand on these."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, cast
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot
from pydantic import ConfigDict, Field

from contend import run_guard
from contend.approval import Question, chosen_answers, open_questions, question_event, waiting_line
from contend.contest.closing import whole_summary
from contend.contest.graph import EMPTY, build_contest_graph
from contend.contest.state import ContestState, ContestView, input_options
from contend.contest.subgraphs import learn_input_of
from contend.errors import InputError, StoreError, UnknownThread
from contend.estimate import RunEstimate, estimate_run
from contend.extensions import Extensions, Metrics, Sources, Teams, run_request
from contend.langgraph_compat import StoreFailed
from contend.learning.graph import build_learn_graph
from contend.models.evaluation import Submission
from contend.models.events import ANY_EVENT, AnyEvent
from contend.models.options import ResolvedOptions, RunOptions, TeamConfig
from contend.models.playbook import CurationResult
from contend.models.record import Record
from contend.models.research import ResearchReport
from contend.models.task import ExecutionSummary, RunStatus, RunUsage
from contend.preflight import Opening, check_run, checked_run
from contend.readiness import check_ready
from contend.services import Services, open_services
from contend.settings import Settings
from contend.sources.uploads import delete_uploads
from contend.stores import DocumentStore, Lease, checked_thread, lease, resume_command, text_id, thread_name
from contend.stores.checkpoints import has_checkpoints, keep_latest_run, open_checkpointer

OnEvent = Callable[[AnyEvent], None]
EXIT_CODES: Mapping[RunStatus, int] = {"completed": 0, "partial": 1, "failed": 2, "interrupted": 130, "running": 130}


WAITING = 3
"""The exit code of a run that waits for a person."""


class RunOutcome(Record):
    """A run at its end, or where it waits for a person."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    thread_id: str
    """The thread, by which the run is resumed."""
    execution_id: str
    """The run's row in the record; a thread has one for each of its questions."""
    status: RunStatus
    """How it ended; `interrupted` can go on."""
    message: str
    """One line on how it ended: what is missing, and why."""
    theme: str
    """The question."""
    report: ResearchReport | None = None
    """The report in its parts: title, summary, findings, analysis, sources; None if there is none."""
    markdown: str | None = None
    """The report with the facts of the run, as `report.md` has it; None if there is none."""
    summary: ExecutionSummary | None = None
    """Each team's status and best round; None before any team has ended."""
    files: list[str] = Field(default_factory=list)
    """Paths of the report's files."""
    usage: RunUsage = Field(default_factory=RunUsage)
    """Calls, tokens and cost of the whole run."""
    questions: list[Question] = Field(default_factory=list)
    """What waits for a person; answered by `resume`."""
    notices: list[str] = Field(default_factory=list)
    """What happened to the checkpoints' server during the run."""
    went_on: bool = True
    """False where a resume found the run finished and did nothing."""

    @property
    def exit_code(self) -> int:
        return WAITING if self.questions else EXIT_CODES[self.status]


async def run(
    theme: str,
    *,
    thread_id: str | None = None,
    options: RunOptions | None = None,
    sources: Sources | None = None,
    metrics: Metrics = (),
    teams: Teams | None = None,
    services: Services | None = None,
    settings: Settings | None = None,
    on_event: OnEvent | None = None,
) -> RunOutcome:
    """Run a contest on a theme, the question, of 1 to 8,000 characters.

    A new thread id is drawn where none is given; a finished thread may be given again and keeps its chat. `on_event`
    is called with each event.

    `sources` and `teams` are the options of these names, all that the run uses, and may hold objects among the names:
    in `sources=["local", wiki]` what `contend.source` made, which every team searches first; in `teams=["archivist",
    graph]` LangGraph graphs and `GuestTeam`s. `metrics` are measured beside those of the workspace: what
    `contend.metric` made, or objects with `evaluate(context)`. The run keeps only their names.

    Raises:
        InputError: the theme, an option, an object, a config file, the thread, the workspace or the endpoint is not
            usable; nothing was spent or written.
        StoreError: a store can't be used.
    """
    thread = checked_thread(str(uuid4()) if thread_id is None else thread_id)
    options, extensions = run_request(options, sources=sources, metrics=metrics, teams=teams)
    async with open_services(settings, services=services, extensions=extensions) as live:
        opening = await check_run(live, theme, [], options)
        async with _open_thread(live, thread, on_event) as going, lease(live.settings, thread) as thread_lease:
            before = await going.snapshot()
            run_guard.check_contest(thread, before)
            if before.values.get("execution_id") and not (
                run_guard.is_finished(before) or run_guard.is_unopened(before)
            ):
                raise InputError(f"thread {thread!r} has an unfinished run: go on with `{resume_command(thread)}`")
            run_input = {"theme": theme, "run_options": input_options(options)}
            with checked_run(opening):
                outcome = await going.drive(run_input, thread_lease)
        return outcome.model_copy(update={"notices": thread_lease.notices})


async def research(
    theme: str,
    *,
    thread_id: str | None = None,
    options: RunOptions | None = None,
    sources: Sources | None = None,
    metrics: Metrics = (),
    teams: Teams | None = None,
    services: Services | None = None,
    settings: Settings | None = None,
    on_event: OnEvent | None = None,
) -> RunOutcome:
    """One agent's research on a theme: one team, one round, no editor. The same as `run` with the depth `quick`.

    Raises:
        InputError: as `run`; or `options` name another depth.
        StoreError: a store can't be used.
    """
    run_options = options or RunOptions()
    if run_options.depth not in {None, "quick"}:
        raise InputError(f"depth: {run_options.depth!r} is a contest: leave it out, or call contend.run")
    return await run(
        theme,
        thread_id=thread_id,
        # Said outright: a workspace's own number of rounds would win over the depth's.
        options=run_options.model_copy(update={"depth": "quick", "max_rounds": run_options.max_rounds or 1}),
        sources=sources,
        metrics=metrics,
        teams=teams,
        services=services,
        settings=settings,
        on_event=on_event,
    )


async def resume(
    thread_id: str,
    decision: object = None,
    *,
    answers: Mapping[str, object] | None = None,
    force: bool = False,
    sources: Sources | None = None,
    metrics: Metrics = (),
    teams: Teams | None = None,
    services: Services | None = None,
    settings: Settings | None = None,
    on_event: OnEvent | None = None,
) -> RunOutcome:
    """Go on with a thread's run after a crash, a stop or a question; with a finished run, nothing happens.

    A run whose teams all failed begins again, with the options that it was opened with.

    `decision` answers the open question: "approve", or a `Decision`, or what a front end sends; where several wait, a
    bare approval or rejection answers all. `answers` gives decisions by question id or team; those left out wait on.

    `sources`, `metrics` and `teams`: the objects that `run` was given; a run knows them by name, and names among them
    change nothing. One that config names by now may be left out.

    Raises:
        InputError: an answer is not usable, or its question is not open any more; or an object is missing or unusable.
        UnknownThread: no run is known under this thread.
        ThreadBusy: somebody works on it.
        RunChanged: config or prompts changed since it began, and `force` is not given.
        NotReady: the workspace cannot be written, or the endpoint does not answer.
        StoreError: the checkpoints can't be read, or are gone; or it began in another workspace.
    """
    thread, extensions = checked_thread(thread_id), Extensions.of(sources, metrics, teams)
    async with open_services(settings, services=services, extensions=extensions) as live:
        if not has_checkpoints(live.settings):
            raise UnknownThread(f"thread {thread!r} has no run to go on with: see `contend runs`")
        async with _open_thread(live, thread, on_event) as going:
            before = await going.snapshot(subgraphs=True)
            if run_guard.is_finished(before) and not run_guard.lost_every_team(before):
                chosen_answers([], decision, answers)
                return await going.outcome(before, went_on=False)
            await run_guard.check_resumable(live, thread, before, force=force)
            async with lease(live.settings, thread) as thread_lease:
                before = await going.snapshot()
                await going.check_ready_again(before)
                if run_guard.lost_every_team(before):
                    before = await going.begin_again()
                by_question = chosen_answers(open_questions(before.interrupts), decision, answers)
                await run_guard.note_going_on(live.record, before, by_question)
                outcome = await going.drive(Command(resume=by_question) if by_question else None, thread_lease)
        return outcome.model_copy(update={"notices": thread_lease.notices})


async def status(thread_id: str, *, services: Services | None = None, settings: Settings | None = None) -> RunOutcome:
    """Where a thread's run stands, from its checkpoint.

    Raises:
        UnknownThread: no run is known under this thread.
    """
    thread = checked_thread(thread_id)
    async with open_services(settings, services=services) as live, _known_thread(live, thread) as known:
        return await known.standing(await known.snapshot())


async def check_goes_on(thread_id: str, *, services: Services) -> RunOutcome:
    """Where a thread's unfinished run stands, once it is sure that it may go on.

    Raises:
        UnknownThread: no run is known under this thread.
        RunChanged: config or prompts changed since it began.
        CheckpointError: its checkpoints are gone.
        StoreError: it began in another workspace.
    """
    thread = checked_thread(thread_id)
    async with _known_thread(services, thread) as known:
        snapshot = await known.snapshot(subgraphs=True)
        if not run_guard.is_finished(snapshot):
            await run_guard.check_resumable(services, thread, snapshot)
        return await known.standing(snapshot)


async def learn_from(
    thread_id: str, *, dataset: str, services: Services | None = None, settings: Settings | None = None
) -> CurationResult:
    """Learn from a thread's run into a dataset, once for each of the two.

    Raises:
        UnknownThread: no run is known under this thread.
        InputError: the run was a search or is not at its end.
        ModelError: the reflector's model failed.
    """
    thread = checked_thread(thread_id)
    async with open_services(settings, services=services) as live, _known_thread(live, thread) as known:
        snapshot = await known.snapshot()
        known.check_has_run(snapshot)
        if not snapshot.values.get("outcomes"):
            raise InputError(f"thread {thread!r}: no team has ended yet: `{resume_command(thread)}` goes on with it")
        state = cast("ContestState", snapshot.values)
        options = ResolvedOptions.model_validate(state["options"])
        if not options.models:
            raise InputError("this run was a search: there are no scores to learn from")
        live.open_run(state["execution_id"], options, goes_on=True)
        graph = build_learn_graph(live.learn_nodes).compile(name="learn")
        lessons = await graph.ainvoke(await learn_input_of(live, state, dataset))
        return CurationResult.model_validate(lessons["result"])


class DeletedThread(NamedTuple):
    """What was removed. `documents` counts submissions and passages that no other thread uses."""

    thread_id: str
    executions: int
    documents: int


async def delete(thread_id: str, *, services: Services) -> DeletedThread:
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
        own = await _texts(services.documents, by_thread.pop(thread, []))
        others = await _texts(services.documents, chain.from_iterable(by_thread.values()))
        drafts = await services.record.draft_documents(thread)
        await services.documents.delete((own | drafts) - others)
        await asyncio.to_thread(shutil.rmtree, services.folder / "results" / thread_name(thread), ignore_errors=True)
        await asyncio.to_thread(delete_uploads, services.folder, thread)
        if has_checkpoints(services.settings):
            async with open_checkpointer(services.settings) as saver:
                await saver.adelete_thread(thread)
        executions = await services.record.delete_thread(thread)
        for execution_id in executions:
            await asyncio.to_thread(shutil.rmtree, services.run_folder / execution_id, ignore_errors=True)
    return DeletedThread(thread, len(executions), len(own - others))


async def _texts(documents: DocumentStore, submissions: Iterable[str]) -> set[str]:
    """The ids of submissions and of the texts of passages that they were written from."""
    texts = {document: await documents.get(document) for document in set(submissions)}
    passages = [Submission.model_validate_json(text).passages for text in texts.values()]
    return texts.keys() | {text_id(passage.id) for of_text in passages for passage in of_text}


class DryRun(NamedTuple):
    """What a run would do, and what that might cost: nothing was spent or written."""

    opening: Opening
    estimate: RunEstimate

    def summary(self) -> dict[str, Any]:
        """As programs are told: teams and sources by name, `calls`, `tokens` and `usd` at least and at most."""
        opening, names = self.opening, ("sources_off", "left_out", "warnings")
        values = {name: getattr(opening, name) for name in names} | self.estimate._asdict()
        return {"teams": [team.team_id for team in opening.teams], "sources": opening.options.sources, **values}


async def dry_run(
    theme: str,
    *,
    options: RunOptions | None = None,
    sources: Sources | None = None,
    metrics: Metrics = (),
    teams: Teams | None = None,
    services: Services | None = None,
    settings: Settings | None = None,
) -> DryRun:
    """Check what a run checks before it starts, its folder and endpoint too, and estimate what it might cost.

    Raises:
        InputError: as `run`.
    """
    options, extensions = run_request(options, sources=sources, metrics=metrics, teams=teams)
    async with open_services(settings, services=services, extensions=extensions) as live:
        opening = await check_run(live, theme, [], options)
        opening = opening._replace(warnings=[*opening.warnings, *opening.unsure])
        on, documents = opening.options.sources, opening.options.documents
        corpus = await live.sources.corpus_tokens(documents) if "local" in on else 0
        return DryRun(opening, estimate_run(opening, live.config.models, corpus=corpus))


@dataclass(frozen=True)
class _ThreadRun:
    """A thread's run in this process."""

    services: Services
    graph: CompiledStateGraph[Any, Any, Any, Any]
    thread_id: str
    on_event: OnEvent | None = None

    @property
    def config(self) -> RunnableConfig:
        return {"configurable": {"thread_id": self.thread_id}}

    async def snapshot(self, *, subgraphs: bool = False) -> StateSnapshot:
        """Where the thread stands, and with `subgraphs` the graphs within; empty if nothing was asked there."""
        return await self.graph.aget_state(self.config, subgraphs=subgraphs)

    async def check_ready_again(self, snapshot: StateSnapshot) -> None:
        """A run that went on without its endpoint would cost every team its place."""
        if options := snapshot.values.get("options"):
            teams = [TeamConfig.model_validate(team) for team in snapshot.values["teams"]]
            await check_ready(self.services, ResolvedOptions.model_validate(options), teams)

    async def begin_again(self) -> StateSnapshot:
        """Restart the run from its opening, with its original options."""
        fresh = {key: value for key, value in EMPTY.items() if key != "run_options"}
        await self.graph.aupdate_state(self.config, fresh, as_node="open_run")
        return await self.snapshot()

    async def drive(self, run_input: Mapping[str, Any] | Command[Any] | None, thread_lease: Lease) -> RunOutcome:
        """Run to the end, or on from the last checkpoint where nothing new is asked."""
        try:
            async for _, _, event in self.graph.astream(
                run_input, self.config, stream_mode=["custom"], subgraphs=True, durability="sync"
            ):
                if self.on_event is not None:
                    self.on_event(ANY_EVENT.validate_python(event))
        except (asyncio.CancelledError, StoreError, OSError) as error:
            # Whoever took the run over says how it stands; on a full disk nobody can.
            if thread_lease.taken_by is None:
                with suppress(StoreError):
                    self.services.close_run(await run_guard.note_stop(self.services.record, self.thread_id))
            if isinstance(error, StoreFailed):
                raise error.store_error from error
            raise
        snapshot = await self.snapshot()
        if questions := open_questions(snapshot.interrupts):
            await run_guard.note_waiting(self.services.record, questions)
            self.services.close_run(questions[0].execution_id)
            if self.on_event is not None:
                for question in questions:
                    self.on_event(question_event(question))
        elif run_guard.is_finished(snapshot):
            await keep_latest_run(self.graph.checkpointer, self.thread_id)
        return await self.outcome(snapshot)

    async def outcome(self, snapshot: StateSnapshot, *, went_on: bool = True) -> RunOutcome:
        state, questions = cast("ContestState", snapshot.values), open_questions(snapshot.interrupts)
        messages, summary = state.get("messages", []), state.get("summary")
        return RunOutcome(
            thread_id=self.thread_id,
            execution_id=state["execution_id"],
            status="interrupted" if questions else state["status"],
            message=waiting_line(questions) if questions else state.get("message", ""),
            theme=state["theme"],
            report=ResearchReport.model_validate(report) if (report := state.get("report")) else None,
            markdown=str(messages[-1].text) if state.get("report") and messages else None,
            summary=await whole_summary(summary, ContestView(state), self.services.submissions) if summary else None,
            files=state.get("files", []),
            usage=await self.services.record.usage(state["execution_id"]),
            questions=questions,
            went_on=went_on,
        )

    async def standing(self, snapshot: StateSnapshot) -> RunOutcome:
        """How the run stands, also before it is opened."""
        if run_guard.is_unopened(snapshot):
            message = f"stopped before it began; go on with `{resume_command(self.thread_id)}`"
            values = {"execution_id": "", "status": "interrupted", "message": message, "went_on": False}
            return RunOutcome(thread_id=self.thread_id, theme=snapshot.values.get("theme", ""), **values)
        self.check_has_run(snapshot)
        return await self.outcome(snapshot, went_on=False)

    def check_has_run(self, snapshot: StateSnapshot) -> None:
        run_guard.check_contest(self.thread_id, snapshot)
        if not snapshot.values.get("execution_id"):
            raise UnknownThread(f"thread {self.thread_id!r} has no run: see `contend runs`")


@asynccontextmanager
async def _open_thread(
    services: Services, thread_id: str, on_event: OnEvent | None = None
) -> AsyncIterator[_ThreadRun]:
    async with open_checkpointer(services.settings) as saver:
        # Where a run stands is asked for again and again, by a page or a client that follows it.
        graph = services.once(build_contest_graph).compile(checkpointer=saver, name="contend")
        yield _ThreadRun(services, graph, thread_id, on_event)


def _known_thread(services: Services, thread_id: str) -> AbstractAsyncContextManager[_ThreadRun]:
    """Like `_open_thread`, but makes no checkpoints where there are none. Raises UnknownThread."""
    if not has_checkpoints(services.settings):
        raise UnknownThread(f"thread {thread_id!r} has no run: see `contend runs`")
    return _open_thread(services, thread_id)
