"""A team's state, read once: the records that its nodes work with."""

from datetime import datetime
from typing import NamedTuple

from typing_extensions import TypedDict

from contend.llm import Scope
from contend.models.options import ResolvedOptions, Role, TeamConfig
from contend.models.round import Round, RoundPromptContext, RoundState
from contend.run_context import RunContext
from contend.services import Services
from contend.team.rounds import TeamLimits
from contend.team.state import TeamState
from contend.team_kinds import TeamKind, team_kind


class RoundKey(TypedDict):
    """Which round it is that a row or an event is of."""

    execution_id: str
    team_id: str
    round_number: int


class TeamView(NamedTuple):
    """The validated parts of a TeamState. `round_number` is the round being played, 0 before the first.

    `round_started` None: a process that did not keep it began the round.
    """

    run: RunContext
    team: TeamConfig
    theme: str
    round_number: int
    rounds: list[Round]
    round_started: datetime | None

    @classmethod
    async def of(cls, services: Services, state: TeamState) -> "TeamView":
        """Raises StoreError as `Services.run` does."""
        began, run = state.get("round_started"), await services.run(state)
        return cls(
            run,
            TeamConfig.model_validate(state["team"]),
            state["theme"],
            state.get("round_number", 0),
            await run.rounds_of(state.get("rounds", [])),
            datetime.fromisoformat(began) if began else None,
        )

    @property
    def kind(self) -> TeamKind:
        return team_kind(self.team.kind)

    @property
    def options(self) -> ResolvedOptions:
        return self.run.options

    @property
    def execution_id(self) -> str:
        return self.run.execution_id

    @property
    def key(self) -> RoundKey:
        """That of the round being played."""
        return RoundKey(execution_id=self.execution_id, team_id=self.team.team_id, round_number=self.round_number)

    def scope(self, role: Role) -> Scope:
        return Scope(role=role, language=self.options.language, **self.key)


async def prompt_context(
    services: Services, view: TeamView, round_number: int, *, for_judge: bool = False
) -> RoundPromptContext:
    """What the prompt builder needs for a round: own rounds before it, with their texts.

    For the judge with titles and summaries whole. Metrics that weigh nothing are left out: whether the words of a
    plan's points stand in a report does not tell whether it answers them.
    """
    submissions = [await services.require_submission(past.submission) for past in view.rounds]
    history = [
        RoundState(
            round_number=past.round_number,
            submission_content=submission.content,
            summary=f"{submission.report.theme}\n\n{submission.report.executive_summary}" if for_judge else "",
            evaluation_score=past.score,
            score_details={
                "feedback": past.feedback,
                "metrics": {metric.name: metric.score for metric in past.metrics if metric.weight},
            },
        )
        for past, submission in zip(view.rounds, submissions, strict=True)
    ]
    return RoundPromptContext(
        user_prompt=view.theme,
        round_number=round_number,
        round_history=history,
        team_id=view.team.team_id,
        team_name=view.team.name,
        execution_id=view.execution_id,
        store=view.run.board,
    )


def limits_of(view: TeamView) -> TeamLimits:
    ledger = view.run.ledger
    return TeamLimits(
        hard_stop=ledger.exhausted(),
        share_left=ledger.share_left(),
        time_used=ledger.clock.team_seconds(view.team.team_id),
        max_rounds=view.kind.max_rounds,
    )
