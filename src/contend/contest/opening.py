"""The contest's first node: options settled into state, what an earlier run left emptied, the teams entered."""

import asyncio
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal
from uuid import UUID, uuid4

from langchain_core.messages import AIMessage
from langgraph.errors import NodeError
from langgraph.runtime import Runtime
from langgraph.types import Command, Overwrite, Send

from contend.contest.state import ContestState, ContestUpdate
from contend.errors import InputError
from contend.learning.selection import select_bullets
from contend.models.events import RunStarted
from contend.models.options import RunOptions
from contend.models.research import ResearchReport
from contend.models.rows import ExecutionRow
from contend.models.task import OrchestratorTask, TeamStatus
from contend.preflight import Opening, asked_of, open_asked, question_in_chat
from contend.services import Services, tell
from contend.stores.leases import checked_thread
from contend.team.state import TeamInput
from contend.text import shorten, without_marks

EARLIER_CHARACTERS = 1200
"""What teams see of the thread's last report."""

EMPTY: ContestUpdate = {
    "run_options": None,
    "outcomes": Overwrite([]),
    "near_ties": [],
    "comparisons": Overwrite([]),
    "pairwise": {},
    "winner": None,
    "submission": None,
    "problem": "",
    "notes": [],
    "lessons": None,
    "status": "running",
    "message": "",
    "report": None,
    "summary": None,
    "files": [],
}
"""A second message on a thread is a new run: nothing of the run before stays."""


@dataclass(frozen=True)
class OpeningNode:
    """Opens a run. All that can be refused is refused here, before anything is spent."""

    services: Services

    async def open_run(self, state: ContestState, runtime: Runtime[RunOptions]) -> ContestUpdate:
        opening = await open_asked(self.services, state, _given(state, runtime))
        question = question_in_chat(state)
        execution_id, thread_id = _identity(runtime)
        await self._enter(opening, execution_id, thread_id)
        return {
            **EMPTY,
            "theme": opening.theme,
            "messages": question,
            "asked": {**asked_of(state, question), "theme": opening.theme},
            "earlier": _earlier(state),
            "given": opening.given.model_dump(mode="json", exclude_none=True),
            "options": opening.options.model_dump(mode="json"),
            "task": self._task(opening, execution_id),
            "execution_id": execution_id,
            "fingerprint": opening.fingerprint,
            "teams": [team.model_dump(mode="json") for team in opening.teams],
            "sources_off": opening.sources_off,
            "warnings": opening.warnings,
            "bullets": await self._bullets(opening),
        }

    async def refuse(self, state: ContestState, error: NodeError) -> Command[Literal["__end__"]]:
        """Bad input ends the run with its one line, where a server would only say that something went wrong."""
        if not isinstance(error.error, InputError):
            raise error.error
        said, question = str(error.error), question_in_chat(state)
        kept: ContestUpdate = {"asked": asked_of(state, question), "earlier": _earlier(state)}
        ended: ContestUpdate = {**EMPTY, **kept, "execution_id": "", "status": "failed", "message": said}
        return Command(update={**ended, "messages": [*question, AIMessage(said)]}, goto="__end__")

    def _task(self, opening: Opening, execution_id: str) -> dict[str, Any]:
        task = OrchestratorTask(
            task_id=UUID(execution_id),
            user_prompt=opening.theme,
            team_configs=[reference.config for reference in self.services.config.orchestrator.teams],
            timeout_seconds=opening.options.timeout_per_team_seconds,
        )
        return task.model_dump(mode="json")

    async def _enter(self, opening: Opening, execution_id: str, thread_id: str) -> None:
        for team in opening.teams:
            pending = TeamStatus(team_id=team.team_id, team_name=team.name)
            await self.services.record.save_team_status(execution_id, pending)
        await self.services.record.start_execution(
            ExecutionRow(
                execution_id=execution_id,
                thread_id=thread_id,
                theme=opening.theme,
                dataset=opening.options.dataset,
                models=dict(opening.options.models),
            )
        )
        self.services.board.enter(execution_id, [(team.team_id, team.name) for team in opening.teams])
        tell(
            RunStarted(
                execution_id=execution_id,
                thread_id=thread_id,
                theme=opening.theme,
                teams=[team.team_id for team in opening.teams],
                sources=opening.sources,
                sources_off=opening.sources_off,
                models=dict(opening.options.models),
                warnings=opening.warnings,
            )
        )

    async def _bullets(self, opening: Opening) -> list[dict[str, Any]]:
        playbook = await self.services.playbooks.load(opening.options.dataset)
        if not playbook.bullets:
            return []
        bullets = await asyncio.to_thread(select_bullets, playbook, opening.theme)
        return [
            {"id": bullet.id, "content": bullet.content, "quarantined": bullet.status == "quarantined"}
            for bullet in bullets
        ]


async def route_to_teams(state: ContestState) -> list[Send]:
    """All teams at the same time, each on its own clock."""
    return [
        Send(
            "team",
            TeamInput(
                theme=state["theme"],
                options=state["options"],
                team=team,
                execution_id=state["execution_id"],
                bullets=state["bullets"],
                sources_off=state["sources_off"],
                earlier=state["earlier"],
            ),
        )
        for team in state["teams"]
    ]


def _earlier(state: ContestState) -> str:
    """What the thread's last report said, without its marks: they number sources of that report."""
    kept = state.get("report")
    if kept is None:
        return state.get("earlier", "")
    report = ResearchReport.model_validate(kept)
    findings = [f"- {finding}" for finding in report.key_findings]
    text = "\n\n".join([report.theme, report.executive_summary, *findings])
    return shorten(without_marks(text), EARLIER_CHARACTERS)


def _given(state: ContestState, runtime: Runtime[RunOptions]) -> RunOptions | None:
    """What a door was asked with, also in a process that goes on; a graph called by itself has its context."""
    given = state.get("run_options")
    return runtime.context if given is None else RunOptions.model_validate(given)


def thread_of(runtime: Runtime[RunOptions]) -> str | None:
    """The run's thread, as it runs: never from state, which may have been written by others. None without one.

    Raises:
        InputError: its id is not fit for file names.
    """
    here = runtime.execution_info
    return None if here is None or here.thread_id is None else checked_thread(here.thread_id)


def _identity(runtime: Runtime[RunOptions]) -> tuple[str, str]:
    """Execution id and thread id; without a checkpointer a run is its own thread.

    The execution id is a UUID4 drawn from the node's own task: a crash inside this node opens no second execution.
    """
    here, thread_id = runtime.execution_info, thread_of(runtime)
    if here is None or thread_id is None:
        execution_id = str(uuid4())
        return execution_id, execution_id
    seed = f"{thread_id}/{here.checkpoint_id}/{here.task_id}"
    return str(UUID(bytes=sha256(seed.encode()).digest()[:16], version=4)), thread_id
