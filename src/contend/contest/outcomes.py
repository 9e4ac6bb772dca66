"""What became of each team, and the summary and status that follow from it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import Field

from contend.contest.state import ContestState
from contend.models.options import TeamConfig
from contend.models.record import Record
from contend.models.round import ExitReason, LeaderboardEntry, Round, best_round, ranked
from contend.models.rows import RoundRow
from contend.models.task import ExecutionSummary, RoundResult, RunStatus, RunUsage, TeamStatus
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
    def usage(self) -> RunUsage:
        return self.spent or RunUsage.of([call for finished in self.rounds for call in finished.calls])

    def entry(self) -> LeaderboardEntry:
        scores = {each.round_number: each.score for each in self.rounds}
        return LeaderboardEntry.of(self.team.team_id, self.team.name, scores, self.pairwise_key)


def standings(outcomes: Sequence[TeamOutcome]) -> list[LeaderboardEntry]:
    return ranked(outcome.entry() for outcome in outcomes)


def outcomes_of(state: ContestState) -> list[TeamOutcome]:
    """The outcomes in the order in which the teams were entered, whichever ended first."""
    by_team = {outcome["team"]["team_id"]: TeamOutcome.model_validate(outcome) for outcome in state["outcomes"]}
    keys = state.get("pairwise", {})
    ended = [by_team[team["team_id"]] for team in state["teams"] if team["team_id"] in by_team]
    return [outcome.model_copy(update={"pairwise_key": keys.get(outcome.team.team_id)}) for outcome in ended]


def winner_of(outcomes: Sequence[TeamOutcome]) -> TeamOutcome | None:
    """The first in the ranking of those that may win."""
    return next(iter(in_the_running(outcomes)), None)


def in_the_running(outcomes: Sequence[TeamOutcome]) -> list[TeamOutcome]:
    """The teams that may win, in rank order."""
    by_id = {outcome.team.team_id: outcome for outcome in outcomes}
    return [by_id[entry.team_id] for entry in standings(outcomes) if entry.rank is not None]


def status_of(
    outcomes: Sequence[TeamOutcome], winner: TeamOutcome | None, ended: Collection[ExitReason]
) -> tuple[RunStatus, list[str]]:
    """The run's status and a line for each thing that keeps it from being complete; `ended` are used-up budgets."""
    notes = _failures(outcomes)
    if winner is None:
        return "failed", notes
    notes += [f"{limit} was reached: the best submission until then is published" for limit in sorted(ended)]
    if not winner.may_win:
        notes += [winner.best.feedback] if winner.best and winner.best.feedback else []
    elif winner.best is not None and winner.best.score is None:
        notes.append("unscored: no submission could be scored")
    return ("partial" if notes else "completed"), notes


def kept_rounds(rows: Sequence[RoundRow]) -> list[Round]:
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
    return [f"{_named(teams)} {ended}: {why}" for (ended, why), teams in by_reason.items()]


def _named(teams: Sequence[str]) -> str:
    return f"team {teams[0]}" if len(teams) == 1 else f"teams {', '.join(teams[:-1])} and {teams[-1]}"


def summary_of(
    task: dict[str, Any], outcomes: Sequence[TeamOutcome], winner: TeamOutcome | None, texts: Mapping[str, str]
) -> ExecutionSummary:
    """The execution when its teams are done. `texts` says by team in short what its best submission does."""
    best = winner.best if winner else None
    return ExecutionSummary(
        task_id=task["task_id"],
        user_prompt=task["user_prompt"],
        team_results=[_result(outcome, texts) for outcome in outcomes if outcome.best is not None],
        team_statuses=[outcome.status for outcome in outcomes],
        best_team_id=winner.team.team_id if winner else None,
        best_score=best.score if best else None,
        total_execution_time_seconds=max(0.001, active_seconds(outcomes)),
    )


async def whole_summary(services: Services, state: ContestState) -> ExecutionSummary | None:
    """The execution's summary, each team's best submission whole: the state holds only what it comes to."""
    if not (stored := state.get("summary")):
        return None
    summary = ExecutionSummary.model_validate(stored)
    best = {outcome.team.team_id: outcome.best for outcome in outcomes_of(state)}
    whole = []
    for result in summary.team_results:
        played = best[result.team_id]
        content = (await services.require_submission(played.submission if played else None)).content
        whole.append(result.model_copy(update={"submission_content": content}))
    return summary.model_copy(update={"team_results": whole})


def _result(outcome: TeamOutcome, texts: Mapping[str, str]) -> RoundResult:
    best = outcome.rounds[0] if outcome.best is None else outcome.best
    return RoundResult(
        team_id=outcome.team.team_id,
        team_name=outcome.team.name,
        round_number=best.round_number,
        submission_content=texts[outcome.team.team_id],
        evaluation_score=best.score,
        evaluation_feedback=best.feedback,
        usage=best.usage,
        execution_time_seconds=max(0.001, best.seconds),
        completed_at=best.completed_at,
    )


def active_seconds(outcomes: Sequence[TeamOutcome]) -> float:
    """Teams run at the same time: the run took as long as its longest team."""
    return max((sum(finished.seconds for finished in outcome.rounds) for outcome in outcomes), default=0.0)
