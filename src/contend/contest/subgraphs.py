"""The contest's nodes that run a graph: a team within the cap and the deadline, and the learning from all of them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.runnables import RunnableConfig
from langgraph.errors import NodeError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from contend.contest.state import ContestState, ContestUpdate, ContestView, TeamOutcome
from contend.contest.stepping import route_after_team
from contend.errors import BudgetExhausted, ContendError
from contend.langgraph_compat import cause
from contend.learning.graph import LearningState, LearnInput, LearnOutput
from contend.learning.reflector import PlayedRound
from contend.models.events import Learned, TeamDone, TeamStarted
from contend.models.options import ResolvedOptions, TeamConfig
from contend.models.playbook import CurationResult
from contend.models.record import Record
from contend.models.round import ExitReason, Round, RoundRow, RoundStatusRow
from contend.models.task import CallUsage, TeamStage, TeamStatus
from contend.preflight import ENOUGH_STEPS
from contend.run_context import RunContext
from contend.services import Services
from contend.team.rounds import lean
from contend.team.state import TeamInput, TeamState
from contend.text import WORDS

_LOG = logging.getLogger(__name__)
LearnRunner = CompiledStateGraph[LearningState, None, LearnInput, LearnOutput]
TeamRunner = CompiledStateGraph[TeamState, Record, TeamInput, TeamState]


@dataclass(frozen=True)
class SubgraphNodes:
    """The graphs of teams and of learning: slot, deadline and the mapping of states stand around them here."""

    services: Services

    async def team(self, state: TeamInput, graph: TeamRunner) -> ContestUpdate:
        """One team's rounds, once a slot is free; the deadline runs from then on."""
        run, team = await self.services.run(state), TeamConfig.model_validate(state["team"])
        async with run.slots:
            await self.services.record.save_team_status(run.execution_id, await self._running(run, team))
            self.services.tell(TeamStarted(execution_id=run.execution_id, team_id=team.team_id, team_name=team.name))
            async with run.clock.limit(team.team_id, run.options.timeout_per_team_seconds):
                final = await graph.ainvoke(state, _config(f"team {team.team_id}", run, team_id=team.team_id))
            outcome = TeamOutcome(
                team=team,
                status=(await self._running(run, team)).to("completed"),
                rounds=lean(await run.rounds_of(final["rounds"])),
                exit_reason=final["decision"]["exit_reason"],
                sources_off=final.get("sources_off", {}),
            )
            return await self._close(run, outcome)

    async def forfeit(self, state: TeamInput, error: NodeError) -> Command[Literal["choose_step", "find_near_ties"]]:
        """A team that fails touches no other. Its state is out of reach: what it did comes from record and ledger."""
        team, run = TeamConfig.model_validate(state["team"]), await self.services.run(state)
        rounds = _rounds_on_record(await self.services.record.rounds(run.execution_id, team.team_id))
        running, why = await self._running(run, team), cause(error)
        stage, reason, message = _ending(why, run.options.timeout_per_team_seconds)
        delivers = isinstance(why, BudgetExhausted) and rounds
        status = running.to("completed") if delivers else running.to(stage, error_message=message)
        await self._keep_reason(run, status, reason, message)
        await self._keep_calls(run, team.team_id)
        outcome = TeamOutcome(team=team, status=status, rounds=rounds, exit_reason=reason)
        # A failed node's edges are not followed: without this, teams that all fail would end the graph silently.
        return Command(update=dict(await self._close(run, outcome)), goto=await route_after_team(state))

    async def _keep_calls(self, run: RunContext, team_id: str) -> None:
        """What its calls cost, on record: those of the round that it did not finish, too."""
        for number, of_round in run.ledger.calls_of(team_id).items():
            await self.services.record.save_usage(run.execution_id, team_id, number, of_round)
        # A call that teams share was told to the first alone, and this may be that one.
        await self.services.record.save_usage(run.execution_id, "", 0, run.ledger.calls_of("").get(0, []))

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

    async def _close(self, run: RunContext, outcome: TeamOutcome) -> ContestUpdate:
        status = outcome.status
        await self.services.record.save_team_status(run.execution_id, status)
        await self.services.record.flush()
        about = status.model_dump(include={"team_id", "status", "error_message"})
        run.end_team(status.team_id)
        self.services.tell(TeamDone(execution_id=run.execution_id, **about))
        return {"outcomes": [outcome.model_dump(mode="json")]}

    async def _running(self, run: RunContext, team: TeamConfig) -> TeamStatus:
        """The team at work since it first began and in the round it had come to, also in another process."""
        status = TeamStatus(team_id=team.team_id, team_name=team.name).to("running")
        statuses = await self.services.record.team_statuses(run.execution_id)
        earlier = next((each for each in statuses if each.team_id == team.team_id), status)
        began = earlier.started_at or status.started_at
        return status.model_copy(update={"current_round": earlier.current_round, "started_at": began})

    async def learn(self, state: ContestState, graph: LearnRunner) -> ContestUpdate:
        """Reflect on the run and curate the dataset's playbook; the report is done by now."""
        run = await self.services.run(state)
        learn_input = await learn_input_of(self.services, state, run.options.dataset)
        learn_input["approve"] = "playbook" in run.options.approve
        lessons = await graph.ainvoke(learn_input, _config("learn", run))
        result = CurationResult.model_validate(lessons["result"])
        texts = [item.content for item in result.delta_items if item.operation != "DELETE" and item.content]
        about = result.model_dump(include={"dataset", "playbook_version", "summary"})
        self.services.tell(Learned(execution_id=run.execution_id, lessons=texts, **about))
        await run.keep_calls([CallUsage.model_validate(call) for call in lessons["usage"]])
        return {"lessons": lessons}

    async def go_on_without_learning(self, state: ContestState, error: NodeError) -> Command[Literal["finish_run"]]:
        """The report is done all the same; the run is partial and says why."""
        words = WORDS[state["options"]["language"]].notes
        notes = [*state["notes"], words.learning_failed.format(why=cause(error))]
        return Command(update={"notes": notes}, goto="finish_run")


def _config(name: str, run: RunContext, **about: str) -> RunnableConfig:
    """The config of a subgraph: its name in traces, and a step limit of its own."""
    tags = [f"team:{about['team_id']}"] if about else []
    metadata = {"execution_id": run.execution_id, **about}
    return {"recursion_limit": ENOUGH_STEPS, "run_name": name, "tags": tags, "metadata": metadata}


def _ending(error: BaseException, seconds: int) -> tuple[TeamStage, ExitReason, str]:
    if isinstance(error, TimeoutError):
        return "timeout", "deadline", f"not done within {seconds} seconds"
    if isinstance(error, BudgetExhausted):
        return "failed", error.limit, str(error)
    if isinstance(error, ContendError):
        return "failed", "failed", str(error)
    _LOG.error("a team failed for a reason that is not contend's own", exc_info=error)
    return "failed", "failed", f"{type(error).__name__}: {error}"


def _rounds_on_record(rows: Sequence[RoundRow]) -> list[Round]:
    """The rounds of a team that forfeits, from the record: its state is out of reach then."""
    return [
        Round(
            round_number=row.round_number,
            submission=row.role_records["submission"],
            score=row.score,
            feedback=row.feedback,
            metrics=row.metrics,
            seconds=0.0,
            completed_at=row.evaluated_at or row.submitted_at,
        )
        for row in rows
    ]


async def learn_input_of(services: Services, state: ContestState, dataset: str) -> LearnInput:
    """What the learning graph is asked with."""
    outcomes, options = ContestView(state).outcomes, ResolvedOptions.model_validate(state["options"])
    reasons = _reasons(await services.record.rounds(state["execution_id"]))
    submissions = [await services.require_submission(each.document) for each in outcomes if each.document]
    return LearnInput(
        execution_id=state["execution_id"],
        dataset=dataset,
        language=options.language,
        theme=state["theme"],
        rounds=[each.model_dump(mode="json") for outcome in outcomes for each in _played_rounds(outcome, reasons)],
        withheld=state.get("withheld"),
        bullets=[bullet["id"] for bullet in state["bullets"]],
        # What the teams' best submissions were written from.
        sources=sorted({passage.id for submission in submissions for passage in submission.passages}),
    )


def _reasons(rows: Sequence[RoundRow]) -> dict[tuple[str, int], list[str]]:
    """What judges wrote of each round, by team and number."""
    return {
        (row.team_id, row.round_number): [
            f"{metric.name}: {metric.reason}" for metric in row.metrics if metric.reason and metric.weight
        ]
        for row in rows
    }


def _played_rounds(outcome: TeamOutcome, reasons: Mapping[tuple[str, int], list[str]]) -> list[PlayedRound]:
    return [
        PlayedRound(
            team_id=outcome.team_id,
            round_number=each.round_number,
            score=each.score,
            feedback=each.feedback,
            used=each.bullets_used,
            metrics={metric.name: metric.score for metric in each.metrics if metric.weight},
            queries=each.queries,
            judged=reasons.get((outcome.team_id, each.round_number), []),
            submission=each.submission,
            exit_reason=outcome.exit_reason if each is outcome.rounds[-1] else None,
        )
        for each in outcome.rounds
    ]
