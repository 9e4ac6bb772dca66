"""The contest's team node: one team's graph within the cap and the deadline; a failure is that team's forfeit alone."""

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from langgraph.errors import NodeError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from contend.contest.outcomes import TeamOutcome, kept_rounds
from contend.contest.state import ContestUpdate
from contend.errors import BudgetExhausted, ContendError
from contend.models.events import TeamDone, TeamStarted
from contend.models.options import ResolvedOptions, RunOptions, TeamConfig
from contend.models.round import ExitReason
from contend.models.rows import RoundStatusRow
from contend.models.task import RunUsage, TeamStatus
from contend.models.task import TeamState as Ended
from contend.services import Services, tell
from contend.team.rounds import FinishedRound
from contend.team.state import TeamInput, TeamState

_LOG = logging.getLogger(__name__)
TeamRunner = CompiledStateGraph[TeamState, RunOptions, TeamInput, TeamState]


@dataclass(frozen=True)
class Teams:
    """The teams of a contest."""

    services: Services

    async def team(self, state: TeamInput, graph: TeamRunner) -> ContestUpdate:
        """One team's rounds, once a slot is free; the deadline runs from then on."""
        options, team = ResolvedOptions.model_validate(state["options"]), TeamConfig.model_validate(state["team"])
        execution_id = state["execution_id"]
        async with self.services.slots(execution_id, options.max_concurrent_teams):
            await self.services.recall(execution_id)
            await self.services.record.save_team_status(execution_id, _running(team))
            tell(TeamStarted(execution_id=execution_id, team_id=team.team_id, team_name=team.name))
            async with self.services.clock(execution_id).limit(team.team_id, options.timeout_per_team_seconds):
                final = await graph.ainvoke(state)
            outcome = TeamOutcome(
                team=team,
                status=_running(team, rounds=len(final["rounds"])).to("completed"),
                rounds=[FinishedRound.model_validate(finished) for finished in final["rounds"]],
                exit_reason=final["decision"]["exit_reason"],
                sources_off=final.get("sources_off", {}),
            )
            return await self._close(execution_id, outcome)

    async def forfeit(self, state: TeamInput, error: NodeError) -> Command[Literal["find_near_ties"]]:
        """A team that fails touches no other. Its state is out of reach: what it did comes from record and ledger."""
        team, execution_id, record = (
            TeamConfig.model_validate(state["team"]),
            state["execution_id"],
            self.services.record,
        )
        rounds = kept_rounds(
            await record.submissions(execution_id, team.team_id), await record.evaluations(execution_id, team.team_id)
        )
        status = _running(team, rounds=len(rounds))
        reason: ExitReason
        ended, message = _ending(error.error, state["options"]["timeout_per_team_seconds"])
        if isinstance(error.error, BudgetExhausted) and rounds:
            status, reason = status.to("completed"), error.error.limit
        else:
            status, reason = status.to(ended, error_message=message), "failed"
        await self._keep_reason(execution_id, team.team_id, reason, message)
        spent = await self._spent(execution_id, team.team_id)
        outcome = TeamOutcome(team=team, status=status, rounds=rounds, exit_reason=reason, spent=spent)
        # A failed node's edges are not followed: without this, teams that all fail would end the graph silently.
        return Command(update=dict(await self._close(execution_id, outcome)), goto="find_near_ties")

    async def _spent(self, execution_id: str, team_id: str) -> RunUsage:
        """What its calls cost. They are recorded: in a run that goes on, a forfeit is told again by another process."""
        await self.services.recall(execution_id)
        calls = self.services.ledgers.of(execution_id).calls_of(team_id)
        for number, made in calls.items():
            await self.services.record.save_usage(execution_id, team_id, number, made)
        return RunUsage.of([call for made in calls.values() for call in made])

    async def _keep_reason(self, execution_id: str, team_id: str, reason: ExitReason, why: str) -> None:
        """Why a team ended within a round stands with its last one."""
        rounds = [row for row in await self.services.record.rounds(execution_id) if row.team_id == team_id]
        if rounds:
            last = RoundStatusRow(
                execution_id=execution_id,
                team_id=team_id,
                round_number=rounds[-1].round_number,
                decision="stop",
                reasoning=why,
                exit_reason=reason,
                active_seconds=rounds[-1].active_seconds or 0.0,
            )
            await self.services.record.save_round_status(last)

    async def _close(self, execution_id: str, ended: TeamOutcome) -> ContestUpdate:
        status = ended.status.model_copy(
            update={"started_at": await self._started_at(execution_id, ended.team.team_id) or ended.status.started_at}
        )
        outcome = ended.model_copy(update={"status": status})
        await self.services.record.save_team_status(execution_id, status)
        await self.services.record.flush()
        tell(
            TeamDone(
                execution_id=execution_id,
                team_id=status.team_id,
                status=status.status,
                error_message=status.error_message,
            )
        )
        return {"outcomes": [outcome.model_dump(mode="json")]}

    async def _started_at(self, execution_id: str, team_id: str) -> datetime | None:
        """When it first began, also where it goes on in another process."""
        statuses = await self.services.record.team_statuses(execution_id)
        return next((known.started_at for known in statuses if known.team_id == team_id), None)


def _running(team: TeamConfig, *, rounds: int = 0) -> TeamStatus:
    pending = TeamStatus(team_id=team.team_id, team_name=team.name, current_round=rounds)
    return pending.to("running")


def _ending(error: BaseException, seconds: int) -> tuple[Ended, str]:
    if isinstance(error, TimeoutError):
        return "timeout", f"not done within {seconds} seconds"
    if isinstance(error, ContendError):
        return "failed", str(error)
    _LOG.error("a team failed for a reason that is not contend's own", exc_info=error)
    return "failed", f"{type(error).__name__}: {error}"
