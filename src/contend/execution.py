"""One execution as its first node opens it: under which ids it goes, and its rows in the record."""

import json
from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID, uuid4

from langgraph.runtime import Runtime

from contend.models.options import ResolvedOptions, RunOptions, TeamConfig
from contend.models.rows import ExecutionRow
from contend.models.task import TeamStatus
from contend.preflight import Opening
from contend.services import Services
from contend.stores.leases import checked_thread


def thread_of(runtime: Runtime[RunOptions]) -> str | None:
    """The run's thread, as it runs: never from state, which may have been written by others. None without one.

    Raises:
        InputError: its id is not fit for file names.
    """
    here = runtime.execution_info
    return None if here is None or here.thread_id is None else checked_thread(here.thread_id)


def identity(runtime: Runtime[RunOptions]) -> tuple[str, str]:
    """Execution id and thread id; without a checkpointer a run is its own thread.

    The execution id is a UUID4 drawn from the node's own task: a crash inside this node opens no second execution.
    """
    here, thread_id = runtime.execution_info, thread_of(runtime)
    if here is None or thread_id is None:
        execution_id = str(uuid4())
        return execution_id, execution_id
    seed = f"{thread_id}/{here.checkpoint_id}/{here.task_id}"
    return str(UUID(bytes=sha256(seed.encode()).digest()[:16], version=4)), thread_id


async def enter(
    services: Services, opening: Opening, teams: Sequence[TeamConfig], *, execution_id: str, thread_id: str
) -> None:
    """On record, with the teams that play, and on the live leaderboard.

    Raises:
        StoreError: the record can't be written.
    """
    for team in teams:
        await services.record.save_team_status(execution_id, TeamStatus(team_id=team.team_id, team_name=team.name))
    await services.record.start_execution(
        ExecutionRow(
            execution_id=execution_id,
            thread_id=thread_id,
            theme=opening.theme,
            options_fingerprint=options_fingerprint(opening.options),
            dataset=opening.options.dataset,
            models=opening.options.models_told,
        )
    )
    services.board.enter(execution_id, [(team.team_id, team.name) for team in teams])


def options_fingerprint(options: ResolvedOptions) -> str:
    """Eight hex digits: equal where every option of two runs is."""
    return sha256(json.dumps(options.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()[:8]
