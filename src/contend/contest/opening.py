"""The contest's first node: options settled into state, what an earlier run left emptied, the teams entered."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from langgraph.errors import NodeError
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from contend.contest.state import ContestState, ContestUpdate
from contend.estimate import estimate_run
from contend.langgraph_compat import cause
from contend.learning.selection import select_bullets, withheld
from contend.models.evaluation import Criterion
from contend.models.events import CriteriaSet, RunStarted
from contend.models.options import RunOptions
from contend.models.research import ResearchReport
from contend.models.task import OrchestratorTask
from contend.preflight import Opening, asked_of, open_question, question_in_chat, refuse
from contend.research.state import EMPTIED
from contend.run_context import identity
from contend.services import Services
from contend.team.criteria import make_criteria
from contend.team.state import TeamInput
from contend.text import shorten, without_marks

_OF_QUOTES = Path("config/teams/quotes.toml")
EARLIER_CHARACTERS = 1200
"""What teams see of the thread's last report."""

_TOLD = {
    "depth", "length", "language", "min_rounds", "max_rounds", "max_iterations", "synthesis", "learn", "approve",
    "dataset", "documents", "instructions", "max_tokens", "max_usd", "max_minutes", "max_calls",
}  # fmt: skip
"""The options that those who follow a run are told."""

EMPTY: ContestUpdate = {
    "run_options": None,
    "criteria": [],
    "criteria_call": None,
    "criteria_failure": "",
    "outcomes": EMPTIED,
    "near_ties": [],
    "comparisons": EMPTIED,
    "pairwise": {},
    "winner": None,
    "submission": None,
    "editing": None,
    "merged_scores": EMPTIED,
    "merged_comparisons": EMPTIED,
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
        opening = await open_question(self.services, state, _request_of(state, runtime))
        question = question_in_chat(state)
        execution_id, thread_id = identity(runtime)
        await self._enter(opening, execution_id, thread_id)
        return {
            **EMPTY,
            "theme": opening.theme,
            "messages": question,
            "asked": {**asked_of(state, question), "theme": opening.theme},
            "earlier": _earlier(state),
            "given": opening.request.model_dump(mode="json", exclude_none=True),
            "options": opening.options.model_dump(mode="json"),
            "task": self._task(opening, execution_id),
            "execution_id": execution_id,
            "fingerprint": opening.fingerprint,
            "teams": [team.model_dump(mode="json") for team in opening.teams],
            "sources_off": opening.sources_off,
            "warnings": opening.warnings,
            **await self._lessons(opening, execution_id),
        }

    async def set_criteria(self, state: ContestState) -> ContestUpdate:
        """What a report on this question has to do, settled before there is one: judges alone read it."""
        run = await self.services.run(state)
        outcome = await make_criteria(self.services, run, theme=state["theme"])
        if outcome.usage is not None:
            await self.services.record.save_usage(run.execution_id, "", 0, [outcome.usage])
        criteria = [Criterion.model_validate(each) for each in outcome.criteria]
        self.services.tell(CriteriaSet(execution_id=run.execution_id, criteria=criteria, failure=outcome.failure))
        return {
            "criteria": outcome.criteria,
            "criteria_call": outcome.usage.model_dump(mode="json") if outcome.usage else None,
            "criteria_failure": outcome.failure,
        }

    async def refuse(self, state: ContestState, error: NodeError) -> Command[Literal["__end__"]]:
        """Bad input ends the run with its one line, where a server would only say that something went wrong."""
        message = str(cause(error))
        outcome: ContestUpdate = {
            "execution_id": "",
            "status": "failed",
            "message": message,
            "earlier": _earlier(state),
        }
        return refuse(state, error, {**EMPTY, **outcome})

    def _task(self, opening: Opening, execution_id: str) -> dict[str, Any]:
        config = self.services.config
        files = dict(zip(config.teams, (reference.config for reference in config.orchestrator.teams), strict=True))
        task = OrchestratorTask(
            task_id=UUID(execution_id),
            user_prompt=opening.theme,
            team_configs=[files.get(team.team_id, _OF_QUOTES) for team in opening.teams],
            timeout_seconds=opening.options.timeout_per_team_seconds,
        )
        return task.model_dump(mode="json")

    async def _enter(self, opening: Opening, execution_id: str, thread_id: str) -> None:
        teams = opening.teams
        run = self.services.open_run(execution_id, opening.options)
        await run.enter(teams, theme=opening.theme, thread_id=thread_id)
        self.services.tell(
            RunStarted(
                execution_id=execution_id,
                thread_id=thread_id,
                theme=opening.theme,
                teams=[team.team_id for team in teams],
                sources=opening.options.sources,
                sources_off=opening.sources_off,
                models=opening.options.models_told,
                warnings=opening.warnings,
                options=opening.options.model_dump(mode="json", include=_TOLD),
                calls=estimate_run(opening, self.services.config.models).calls,
            )
        )

    async def _lessons(self, opening: Opening, execution_id: str) -> ContestUpdate:
        """The lessons of the run, and which of them one team goes without."""
        options, playbooks = opening.options, self.services.playbooks
        playbook = await playbooks.load(options.dataset)
        if not (options.playbook and playbook.bullets):
            return {"bullets": [], "withheld": None}
        bullets = await asyncio.to_thread(select_bullets, playbook, opening.theme, tokens=options.lesson_tokens)
        holdout = (
            withheld(bullets, [team.team_id for team in opening.teams], seed=execution_id) if options.learn else None
        )
        lessons = [
            {"id": bullet.id, "content": bullet.lesson, "quarantined": bullet.status == "quarantined"}
            for bullet in bullets
        ]
        return {"bullets": lessons, "withheld": holdout.model_dump() if holdout else None}


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
                bullets=_lessons_of(team["team_id"], state),
                sources_off=state["sources_off"],
                earlier=state["earlier"],
                criteria=state.get("criteria", []),
            ),
        )
        for team in state["teams"]
    ]


def _lessons_of(team_id: str, state: ContestState) -> list[dict[str, Any]]:
    """The run's lessons without those that this team goes without."""
    holdout = state.get("withheld")
    without = holdout["bullets"] if holdout and holdout["team_id"] == team_id else []
    return [bullet for bullet in state["bullets"] if bullet["id"] not in without]


def _earlier(state: ContestState) -> str:
    """What the thread's last report said, without its marks: they number sources of that report."""
    last_report = state.get("report")
    if last_report is None:
        return state.get("earlier", "")
    report = ResearchReport.model_validate(last_report)
    findings = [f"- {finding}" for finding in report.key_findings]
    text = "\n\n".join([report.theme, report.executive_summary, *findings])
    return shorten(without_marks(text), EARLIER_CHARACTERS)


def _request_of(state: ContestState, runtime: Runtime[RunOptions]) -> RunOptions | None:
    """What an entry point was asked with, also in a process that goes on; a graph called by itself has its context."""
    options = state.get("run_options")
    return runtime.context if options is None else RunOptions.model_validate(options)
