"""The contest's team node: one team's graph within the cap and the deadline; a failure is that team's forfeit alone."""

import logging
from dataclasses import dataclass
from typing import Literal

from langgraph.errors import NodeError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from contend.contest.outcomes import TeamOutcome, rounds_on_record
from contend.contest.state import ContestUpdate
from contend.errors import BudgetExhausted, ContendError
from contend.langgraph_compat import cause
from contend.models.events import TeamDone, TeamStarted
from contend.models.options import TeamConfig
from contend.models.record import Record
from contend.models.round import ExitReason
from contend.models.rows import RoundStatusRow
from contend.models.task import RunUsage, TeamStage, TeamStatus
from contend.run_context import RunContext
from contend.services import Services
from contend.team.rounds import lean
from contend.team.state import TeamInput, TeamState

_LOG = logging.getLogger(__name__)
TeamRunner = CompiledStateGraph[TeamState, Record, TeamInput, TeamState]


@dataclass(frozen=True)
class Teams:
    """The teams of a contest."""

    services: Services

    async def team(self, state: TeamInput, graph: TeamRunner) -> ContestUpdate:
        """One team's rounds, once a slot is free; the deadline runs from then on."""
        run, team = await self.services.run(state), TeamConfig.model_validate(state["team"])
        execution_id = run.execution_id
        async with run.slots:
            await self.services.record.save_team_status(execution_id, await self._running(execution_id, team))
            self.services.tell(TeamStarted(execution_id=execution_id, team_id=team.team_id, team_name=team.name))
            async with run.clock.limit(team.team_id, run.options.timeout_per_team_seconds):
                final = await graph.ainvoke(state)
            outcome = TeamOutcome(
                team=team,
                status=(await self._running(execution_id, team)).to("completed"),
                rounds=lean(await run.rounds_of(final["rounds"])),
                exit_reason=final["decision"]["exit_reason"],
                sources_off=final.get("sources_off", {}),
            )
            return await self._close(execution_id, outcome)

    async def forfeit(self, state: TeamInput, error: NodeError) -> Command[Literal["find_near_ties"]]:
        """A team that fails touches no other. Its state is out of reach: what it did comes from record and ledger."""
        team, run = TeamConfig.model_validate(state["team"]), await self.services.run(state)
        execution_id = run.execution_id
        rounds = rounds_on_record(await self.services.record.rounds(execution_id, team.team_id))
        running = await self._running(execution_id, team)
        why = cause(error)
        stage, reason, message = _ending(why, run.options.timeout_per_team_seconds)
        delivers = isinstance(why, BudgetExhausted) and rounds
        status = running.to("completed") if delivers else running.to(stage, error_message=message)
        await self._keep_reason(run, status, reason, message)
        spent = await self._spent(run, team.team_id)
        outcome = TeamOutcome(team=team, status=status, rounds=rounds, exit_reason=reason, spent=spent)
        # A failed node's edges are not followed: without this, teams that all fail would end the graph silently.
        return Command(update=dict(await self._close(execution_id, outcome)), goto="find_near_ties")

    async def _spent(self, run: RunContext, team_id: str) -> RunUsage:
        """What its calls cost. They are recorded: in a run that goes on, a forfeit is told again by another process."""
        calls = run.ledger.calls_of(team_id)
        for number, of_round in calls.items():
            await self.services.record.save_usage(run.execution_id, team_id, number, of_round)
        # A call that teams share was told to the first alone, and this may be that one.
        await self.services.record.save_usage(run.execution_id, "", 0, run.ledger.calls_of("").get(0, []))
        return RunUsage.of([call for of_round in calls.values() for call in of_round])

    async def _keep_reason(self, run: RunContext, status: TeamStatus, reason: ExitReason, why: str) -> None:
        """Why a team ended within a round stands with that round; what was decided after the one before stays."""
        rounds = [row for row in await self.services.record.rounds(run.execution_id) if row.team_id == status.team_id]
        decisions = {row.round_number: row.decision for row in rounds}
        number = max(1, status.current_round)
        if decisions.get(number) == "stop":
            return
        number += decisions.get(number) == "continue"
        before = sum(row.active_seconds or 0.0 for row in rounds if row.round_number < number)
        row = RoundStatusRow(
            execution_id=run.execution_id,
            team_id=status.team_id,
            round_number=number,
            decision="stop",
            reasoning=why,
            exit_reason=reason,
            active_seconds=max(0.0, run.clock.team_seconds(status.team_id) - before),
        )
        await self.services.record.save_round_status(row)

    async def _close(self, execution_id: str, outcome: TeamOutcome) -> ContestUpdate:
        status = outcome.status
        await self.services.record.save_team_status(execution_id, status)
        await self.services.record.flush()
        self.services.tell(
            TeamDone(
                execution_id=execution_id,
                team_id=status.team_id,
                status=status.status,
                error_message=status.error_message,
            )
        )
        return {"outcomes": [outcome.model_dump(mode="json")]}

    async def _running(self, execution_id: str, team: TeamConfig) -> TeamStatus:
        """The team at work since it first began and in the round it had come to, also in another process."""
        statuses = await self.services.record.team_statuses(execution_id)
        earlier = next((status for status in statuses if status.team_id == team.team_id), None)
        running = TeamStatus(
            team_id=team.team_id, team_name=team.name, current_round=earlier.current_round if earlier else 0
        ).to("running")
        return running.model_copy(update={"started_at": (earlier and earlier.started_at) or running.started_at})


def _ending(error: BaseException, seconds: int) -> tuple[TeamStage, ExitReason, str]:
    if isinstance(error, TimeoutError):
        return "timeout", "deadline", f"not done within {seconds} seconds"
    if isinstance(error, BudgetExhausted):
        return "failed", error.limit, str(error)
    if isinstance(error, ContendError):
        return "failed", "failed", str(error)
    _LOG.error("a team failed for a reason that is not contend's own", exc_info=error)
    return "failed", "failed", f"{type(error).__name__}: {error}"
