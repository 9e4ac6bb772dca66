"""What became of each team, and the summary and status that follow from it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import Field

from contend.contest.state import ContestState
from contend.models.options import TeamConfig
from contend.models.record import Record
from contend.models.round import ExitReason, LeaderboardEntry, Round, best_round, ranked
from contend.models.rows import RoundRow
from contend.models.task import ExecutionSummary, RoundResult, RunUsage, TeamStatus
from contend.services import Services
from contend.team_kinds import team_kind

BUDGETS: frozenset[ExitReason] = frozenset({"max_tokens", "max_usd", "max_minutes", "max_calls"})


class TeamOutcome(Record):
    """One team at its end: status, finished rounds, and why it stopped."""

    team: TeamConfig
    status: TeamStatus
    rounds: list[Round] = Field(default_factory=list)
    exit_reason: ExitReason | None = None
    sources_off: dict[str, str] = Field(default_factory=dict)
    spent: RunUsage | None = None
    """What a team that forfeits had spent, its unfinished round too."""
    pairwise_key: float | None = None

    @property
    def may_win(self) -> bool:
        return team_kind(self.team.kind).may_win

    @property
    def best(self) -> Round | None:
        return best_round(self.rounds)

    @property
    def score(self) -> float | None:
        return self.best.score if self.best else None

    @property
    def document(self) -> str | None:
        """The id of the best submission."""
        return self.best.submission if self.best else None

    @property
    def usage(self) -> RunUsage:
        return self.spent or RunUsage.of([call for each in self.rounds for call in each.calls])


def standings(outcomes: Sequence[TeamOutcome]) -> list[LeaderboardEntry]:
    return ranked(
        LeaderboardEntry.of(
            outcome.team.team_id,
            outcome.team.name,
            {each.round_number: each.score for each in outcome.rounds},
            outcome.pairwise_key,
        )
        for outcome in outcomes
    )


def outcomes_of(state: ContestState) -> list[TeamOutcome]:
    """The outcomes in the order in which the teams were entered, whichever ended first."""
    by_team = {outcome["team"]["team_id"]: TeamOutcome.model_validate(outcome) for outcome in state["outcomes"]}
    keys = state.get("pairwise", {})
    return [
        by_team[team["team_id"]].model_copy(update={"pairwise_key": keys.get(team["team_id"])})
        for team in state["teams"]
        if team["team_id"] in by_team
    ]


def winner_of(outcomes: Sequence[TeamOutcome]) -> TeamOutcome | None:
    """The first in the ranking of those that may win."""
    return next(iter(in_the_running(outcomes)), None)


def in_the_running(outcomes: Sequence[TeamOutcome]) -> list[TeamOutcome]:
    """The teams that may win, in rank order."""
    by_id = {outcome.team.team_id: outcome for outcome in outcomes}
    return [by_id[entry.team_id] for entry in standings(outcomes) if entry.rank is not None]


def partial_notes(
    outcomes: Sequence[TeamOutcome], winner: TeamOutcome | None, budgets: Collection[ExitReason]
) -> list[str]:
    """A line for each thing that keeps the run from being complete; `budgets`: those that are used up."""
    notes = _failures(outcomes)
    if winner is None or winner.best is None:
        return notes
    notes += [f"{limit} was reached: the best submission until then is published" for limit in sorted(budgets)]
    if not winner.may_win:
        notes += [winner.best.feedback] if winner.best.feedback else []
    elif winner.score is None:
        notes.append("unscored: no submission could be scored")
    return notes


def rounds_on_record(rows: Sequence[RoundRow]) -> list[Round]:
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


def _failures(outcomes: Sequence[TeamOutcome]) -> list[str]:
    """A line for each reason: teams that one endpoint failed are named together."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for outcome in outcomes:
        status = outcome.status
        if status.status != "completed":
            reason = (status.status, status.error_message or "no reason given")
            by_reason.setdefault(reason, []).append(status.team_id)
    return [f"{_list_of(teams)} {status}: {why}" for (status, why), teams in by_reason.items()]


def _list_of(teams: Sequence[str]) -> str:
    return f"team {teams[0]}" if len(teams) == 1 else f"teams {', '.join(teams[:-1])} and {teams[-1]}"


def summary_of(
    task: dict[str, Any], outcomes: Sequence[TeamOutcome], winner: TeamOutcome | None, texts: Mapping[str, str]
) -> ExecutionSummary:
    """The execution when its teams are done. `texts` says by team in short what its best submission does."""
    return ExecutionSummary(
        task_id=task["task_id"],
        user_prompt=task["user_prompt"],
        team_results=[
            _result(outcome, best, texts[outcome.team.team_id]) for outcome in outcomes if (best := outcome.best)
        ],
        team_statuses=[outcome.status for outcome in outcomes],
        best_team_id=winner.team.team_id if winner else None,
        best_score=winner.score if winner else None,
        total_execution_time_seconds=max(0.001, active_seconds(outcomes)),
    )


async def whole_summary(services: Services, state: ContestState) -> ExecutionSummary | None:
    """The execution's summary, each team's best submission whole: the state holds only what it comes to."""
    if not (in_short := state.get("summary")):
        return None
    summary = ExecutionSummary.model_validate(in_short)
    documents = {outcome.team.team_id: outcome.document for outcome in outcomes_of(state)}
    whole = []
    for result in summary.team_results:
        content = (await services.require_submission(documents[result.team_id])).content
        whole.append(result.model_copy(update={"submission_content": content}))
    return summary.model_copy(update={"team_results": whole})


def _result(outcome: TeamOutcome, best: Round, text: str) -> RoundResult:
    return RoundResult(
        team_id=outcome.team.team_id,
        team_name=outcome.team.name,
        round_number=best.round_number,
        submission_content=text,
        evaluation_score=best.score,
        evaluation_feedback=best.feedback,
        usage=best.usage,
        execution_time_seconds=max(0.001, best.seconds),
        completed_at=best.completed_at,
    )


def active_seconds(outcomes: Sequence[TeamOutcome]) -> float:
    """Teams run at the same time: the run took as long as its longest team."""
    return max((sum(each.seconds for each in outcome.rounds) for outcome in outcomes), default=0.0)
