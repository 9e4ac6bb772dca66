"""What app and Agent Server ask before a run goes on, and how it then stands on record."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from langgraph.graph import START
from langgraph.types import StateSnapshot

from contend.approval import Question, question_event, waiting_line
from contend.contest.state import TeamOutcome
from contend.errors import CheckpointError, InputError, RunChanged, StoreError, UnknownThread
from contend.models.events import RunResumed, RunStopped
from contend.models.options import Depth, MetricConfig, ResolvedOptions, RunOptions
from contend.models.task import RunStatus
from contend.preflight import config_fingerprint
from contend.run_context import options_file
from contend.services import Services
from contend.settings import Settings
from contend.stores import DocumentStore, resume_command
from contend.stores.checkpoints import checkpoints_place
from contend.stores.documents import ids_in
from contend.stores.record import RecordStore

TERMINAL = frozenset({"completed", "partial", "failed"})
_ROLLED_BACK = "rolled back by whoever had started it: nothing is left to go on with; ask the question anew"


def is_finished(snapshot: StateSnapshot) -> bool:
    """Whether the run reached its last node. An empty `next` alone does not tell, nor does an earlier run's status."""
    return snapshot.values.get("status") in TERMINAL and not snapshot.tasks


def lost_every_team(snapshot: StateSnapshot) -> bool:
    """Whether the run ended because every team failed, for example when the endpoint was away; it may be restarted."""
    outcomes = [TeamOutcome.model_validate(outcome) for outcome in snapshot.values.get("outcomes", ())]
    is_failed = is_finished(snapshot) and snapshot.values["status"] == "failed"
    return is_failed and bool(outcomes) and all(outcome.exit_reason == "failed" for outcome in outcomes)


def is_unopened(snapshot: StateSnapshot) -> bool:
    """Whether a run was asked for and cut off before its first node was done: nothing is spent yet."""
    return not {START, "open_run"}.isdisjoint(task.name for task in snapshot.tasks)


async def check_resumable(services: Services, thread_id: str, snapshot: StateSnapshot, *, force: bool = False) -> None:
    """Whether a thread's run may go on from where it stands. One that was not opened yet begins with what stands now.

    `snapshot`: with the states of the graphs within.

    Raises:
        UnknownThread: no run is known under the thread.
        InputError: the thread was copied from another while that one's run was open; or the run uses sources, metrics
            or graphs that were objects of code, and are not given again.
        StoreError: the record does not know the run, or texts that its state names are not in this workspace.
        CheckpointError: the record calls a run unfinished whose checkpoints are gone.
        RunChanged: config, criteria or prompts differ from those it began with, and `force` is not given.
    """
    if is_unopened(snapshot):
        request = RunOptions.model_validate(snapshot.values.get("run_options") or {})
        _check_objects(services, thread_id, sources=request.sources or [], teams=request.teams or [])
        return
    if not snapshot.values.get("execution_id"):
        await _refuse_lost_run(services.record, services.settings, thread_id)
        raise UnknownThread(f"thread {thread_id!r} has no run to go on with: see `contend runs`")
    check_contest(thread_id, snapshot)
    await _check_original(services.record, services.folder, thread_id, snapshot.values["execution_id"])
    await check_at_hand(services, thread_id, snapshot)
    if not force:
        options = ResolvedOptions.model_validate(snapshot.values["options"])
        now = await asyncio.to_thread(config_fingerprint, services.config, services.library, services.folder, options)
        _check_fingerprint(thread_id, snapshot.values["fingerprint"], now)


async def check_at_hand(services: Services, thread_id: str, snapshot: StateSnapshot) -> None:
    """Whether a run's options, and what its state names, are here: texts, sources, metrics and graphs.

    Raises:
        StoreError: its options or texts are not: a team without them would fail.
        InputError: sources, metrics or graphs are not, which code may have given as objects; names them.
    """
    execution_id = snapshot.values["execution_id"]
    texts = await services.documents.missing(_texts_of(snapshot))
    texts = await DocumentStore(services.run_folder / execution_id).missing(texts)
    if texts or not options_file(services.run_folder, execution_id).is_file():
        what = f"{len(texts)} of its texts are" if texts else "its options are"
        raise _begun_elsewhere(services.folder, thread_id, f"{what} not in documents/")
    options = ResolvedOptions.model_validate(snapshot.values["options"])
    metrics = [each for each in options.evaluator.metrics if each.kind == "python"]
    # A team's graph on its own has one team.
    teams = snapshot.values.get("teams") or [snapshot.values["team"]]
    graphs = [team["team_id"] for team in teams if team["kind"] == "graph"]
    _check_objects(services, thread_id, sources=options.sources, metrics=metrics, teams=graphs)


def _check_objects(
    services: Services,
    thread_id: str,
    *,
    sources: Sequence[str],
    metrics: Sequence[MetricConfig] = (),
    teams: Sequence[str],
) -> None:
    missing = {
        "sources": [name for name in sources if name not in services.sources.factories],
        "metrics": [each.name for each in metrics if not services.has_metric(each)],
        "teams": [name for name in teams if name not in services.config.teams],
    }
    if lack := "; ".join(f"{what} {', '.join(names)}" for what, names in missing.items() if names):
        raise InputError(
            f"thread {thread_id!r}: its run needs {lack}, which are not here: give these objects to contend.resume, as "
            "to contend.run, or name them in the workspace's config"
        )


def check_depth(thread_id: str, snapshot: StateSnapshot, depth: Depth | None) -> None:
    """Refuse to go on with an open run under another depth than it began with. `depth`: None where none is named.

    Raises:
        RunChanged: with another one.
    """
    began = snapshot.values.get("options", {}).get("depth")
    if not is_finished(snapshot) and depth and began and depth != began:
        raise RunChanged(f"thread {thread_id!r}: depth: the run began with {began!r}, not {depth!r}: leave it out")


def check_contest(thread_id: str, snapshot: StateSnapshot) -> None:
    """Whether a thread's run is a contest: its parts run on their own threads, too.

    Raises:
        UnknownThread: it is a run of another graph.
    """
    if snapshot.values.get("execution_id") and "fingerprint" not in snapshot.values:
        raise UnknownThread(
            f"thread {thread_id!r} holds a run of another graph, such as `team`: go on with it by that graph, "
            "or give another thread"
        )


async def _check_original(record: RecordStore, folder: Path, thread_id: str, execution_id: str) -> None:
    """A run is on record once, and a copy of its thread would write into it."""
    row = await record.execution(execution_id)
    if row is None:
        raise _begun_elsewhere(folder, thread_id, "the record contend.duckdb does not know it")
    if row.thread_id != thread_id:
        raise InputError(
            f"thread {thread_id!r} is a copy of thread {row.thread_id!r} in the middle of its run: go on with "
            f"{row.thread_id!r}, or ask a new question here"
        )


def _texts_of(snapshot: StateSnapshot) -> set[str]:
    """Ids in a state, and in those of the graphs that its steps run."""
    within = [task.state for task in snapshot.tasks if isinstance(task.state, StateSnapshot)]
    return ids_in(snapshot.values).union(*map(_texts_of, within))


def _begun_elsewhere(workspace: Path, thread_id: str, what: str) -> StoreError:
    return StoreError(
        f"thread {thread_id!r}: {what} in the workspace {workspace}: go on with the run where it began, "
        "or bring contend.duckdb and documents/ of that workspace here; nothing was changed"
    )


async def _refuse_lost_run(record: RecordStore, settings: Settings, thread_id: str) -> None:
    latest = await record.latest_execution(thread_id)
    if latest is None or latest.status not in {"running", "interrupted"}:
        return
    raise CheckpointError(
        f"thread {thread_id!r}: its checkpoints are gone from {checkpoints_place(settings)}; what its teams "
        "handed in stands in the record: see `contend leaderboard`, and ask the question anew"
    )


def _check_fingerprint(thread_id: str, began: Mapping[str, str], now: Mapping[str, str]) -> None:
    names = sorted(name for name in began.keys() | now.keys() if began.get(name) != now.get(name))
    if names:
        raise RunChanged(
            f"thread {thread_id!r}: changed since the run began: {', '.join(names)}; put them back, "
            f"or go on with what stands now by `{resume_command(thread_id)} --force`"
        )


async def note_going_on(
    record: RecordStore, snapshot: StateSnapshot, answers: Mapping[str, object] | None = None
) -> None:
    """A run that goes on is on record as running; `answers` are a person's, by question id."""
    if not is_unopened(snapshot) and not is_finished(snapshot):
        execution_id = snapshot.values["execution_id"]
        record.save_event(RunResumed(execution_id=execution_id, answers=dict(answers or {})))
        await record.set_execution_status(execution_id, "running")


async def note_stop(record: RecordStore, thread_id: str, *, going_on: str = "") -> str:
    """A run that ended in the middle is on record as interrupted; `going_on` says how it goes on, if not by resume.

    Returns its id, to be closed; "" where no run of the thread was at work.
    """
    latest = await record.latest_execution(thread_id)
    if latest is None or latest.status != "running":
        return ""
    message = f"stopped; go on with {going_on or f'`{resume_command(thread_id)}`'}"
    return await _note_end(record, latest.execution_id, "interrupted", message)


async def note_rollback(record: RecordStore, thread_id: str, remaining: str) -> str:
    """A run whose checkpoints its caller had deleted is on record as failed, with what it cost.

    `remaining` is the execution that the thread's checkpoints hold now, "" where they hold none. Returns what
    `note_stop` does.
    """
    latest = await record.latest_execution(thread_id)
    if latest is None or latest.status in TERMINAL or latest.execution_id == remaining:
        return ""
    return await _note_end(record, latest.execution_id, "failed", _ROLLED_BACK)


async def _note_end(record: RecordStore, execution_id: str, status: RunStatus, message: str) -> str:
    record.save_event(RunStopped(execution_id=execution_id, message=message))
    # A run that is rolled back ends at the same time, and may be on record as failed by now.
    await record.set_execution_status(execution_id, status, message, only_from=["running", "interrupted"])
    return execution_id


async def note_waiting(record: RecordStore, questions: Sequence[Question]) -> None:
    """A run that waits for a person is on record as interrupted."""
    for question in questions:
        record.save_event(question_event(question))
    await record.set_execution_status(questions[0].execution_id, "interrupted", waiting_line(questions))
