"""A team's rounds: what its nodes see of them, what they leave in record and events, and what follows a round."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from contend.clock import Reading
from contend.models.evaluation import EvaluationResult, MetricScore, Submission
from contend.models.events import Event, RoundJudged, RoundScored, RoundSubmitted
from contend.models.options import ResolvedOptions, TeamConfig
from contend.models.record import Record, Score
from contend.models.round import (
    EvaluationRow,
    ExitReason,
    Judgment,
    Round,
    RoundPromptContext,
    RoundState,
    RoundStatusRow,
    SubmissionRow,
    best_round,
)
from contend.models.task import TeamStatus
from contend.preflight import is_alone
from contend.registry import TeamKind, team_kind
from contend.run_context import RunContext
from contend.services import Services
from contend.stores import RecordDocuments
from contend.team.shortfall import Shortfall
from contend.team.state import TeamState
from contend.text import WORDS, count_text, shown_score

_ROUNDING = 1e-9
"""0.35 - 0.34 is a little less than 0.01."""


class NextStep(Record):
    """What follows a round. `exit_reason` None: another round, or the judge decides.

    `mends_only`: that round only mends what judges named: it looks for nothing, and nobody reviews it.
    """

    step: Literal["go_on", "ask_judge", "stop"]
    reasoning: str
    exit_reason: ExitReason | None = None
    mends_only: bool = False
    confidence: Score | None = None


class TeamView(NamedTuple):
    """A TeamState, read once. `round_number` is the round being played, 0 before the first.

    `rounds_in_state`: as the state stores them; `started_at` None: a process that did not keep it began the round;
    `is_alone`: no contest closes the team.
    """

    run: RunContext
    team: TeamConfig
    theme: str
    round_number: int
    rounds_in_state: list[dict[str, Any]]
    rounds: list[Round]
    started_at: datetime | None
    is_alone: bool
    submissions: RecordDocuments[Submission]
    tell: Callable[[Event], None]

    @classmethod
    async def of(cls, services: Services, state: TeamState) -> "TeamView":
        """Read the state, and let the team's clock go on from there. Raises StoreError, see `Services.run`."""
        run, team, rounds = await services.run(state), TeamConfig.model_validate(state["team"]), state.get("rounds", [])
        run.clock.go(team.team_id, state.get("clock"))
        return cls(
            run,
            team,
            state["theme"],
            state.get("round_number", 0),
            rounds,
            await run.rounds_of(rounds),
            datetime.fromisoformat(began) if (began := state.get("round_started")) else None,
            is_alone(state),
            services.submissions,
            services.tell,
        )

    @property
    def kind(self) -> TeamKind:
        return team_kind(self.team.kind)

    @property
    def options(self) -> ResolvedOptions:
        return self.run.options

    @property
    def key(self) -> dict[str, Any]:
        """Which round is being played, for rows and events."""
        return {"execution_id": self.run.execution_id, "team_id": self.team.team_id, "round_number": self.round_number}

    @property
    def clock(self) -> Reading:
        """Active seconds so far: what earlier processes counted, and what passed in this one."""
        return self.run.clock.reading(self.team.team_id)

    async def keep(self, new_round: Round) -> list[dict[str, Any]]:
        """The rounds for the state, with this one in its place. Raises StoreError, see `RunContext.keep_round`."""
        before = [past for past in self.rounds_in_state if past["round_number"] != new_round.round_number]
        return [*before, await self.run.keep_round(new_round)]

    def running(self, number: int) -> TeamStatus:
        status = TeamStatus(team_id=self.team.team_id, team_name=self.team.name, current_round=number)
        return status.to("running")

    async def prompt_context(self, round_number: int, *, for_judge: bool = False) -> RoundPromptContext:
        """What the prompt builder needs for a round: own rounds before it, with their texts.

        For the judge with titles and summaries whole. Metrics that weigh nothing are left out: whether the words of a
        plan's points stand in a report does not tell whether it answers them.
        """
        submissions = await self.submissions.get_many([past.submission for past in self.rounds])
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
            for past, submission in zip(self.rounds, submissions, strict=True)
        ]
        return RoundPromptContext(
            user_prompt=self.theme,
            round_number=round_number,
            round_history=history,
            team_id=self.team.team_id,
            team_name=self.team.name,
            execution_id=self.run.execution_id,
            store=self.run.board,
        )

    def decide(self, rounds: Sequence[Round], shortfall: Shortfall) -> NextStep:
        """What follows these rounds, as far as it needs no call; `shortfall`: what the last of them leaves open."""
        ledger, options = self.run.ledger, self.options
        if options.mends_only and self.team.kind == "graph":  # which plays a whole round, or none
            options = options.model_copy(update={"max_rounds": 1})
        return decide(
            rounds,
            options,
            shortfall=shortfall,
            hard_stop=ledger.exhausted_limit(),
            remaining_share=ledger.remaining_share(),
            active_seconds=ledger.clock.team_seconds(self.team.team_id),
            max_rounds=self.kind.max_rounds,
        )

    # What a node records is committed before its checkpoint is written: one that ended is not run again after a crash.

    async def record_start(self, number: int) -> None:
        """Which round the team plays from now on."""
        await self.run.record.save_team_status(self.run.execution_id, self.running(number))
        await self.run.record.flush()

    async def record_submission(self, submission: Submission, *, document: str, brief: str) -> None:
        """Into the record before anybody scores it, so that no later failure loses it."""
        row = SubmissionRow(
            **self.key,
            team_name=self.team.name,
            submission=submission.content,
            messages=[{"role": "user", "content": brief}, {"role": "assistant", "content": submission.content}],
            role_records={
                "supervisor": {"points": submission.points, "queries": submission.queries},
                "researcher": {"sources": [result.url for result in submission.results]},
                "reviewer": {"feedback": submission.feedback},
                "submission": document,
            },
        )
        await self.run.record.save_submission(row)
        self.run.board.add_submission(**self.key)
        self.tell(RoundSubmitted(**self.key, characters=len(submission.content), document=document))

    async def record_evaluation(self, result: EvaluationResult, new_round: Round) -> None:
        # First, because it waits for nobody: it is committed with the evaluation.
        await self.run.record.save_usage(**self.key, calls=new_round.calls)
        row = EvaluationRow(
            **self.key,
            team_name=self.team.name,
            score=result.overall,
            feedback=result.feedback,
            details={"metrics": [metric.model_dump(mode="json") for metric in result.metrics]},
        )
        await self.run.record.save_evaluation(row)
        self.run.board.add_score(**self.key, score=result.overall)
        event = RoundScored(
            **self.key,
            score=result.overall,
            metrics=result.metrics,
            usage=new_round.usage,
            leaderboard=self.run.board.leaderboard(self.run.execution_id),
            feedback=new_round.feedback,
        )
        self.tell(event)

    async def record_decision(self, decision: NextStep, *, asked_judge: bool, seconds: float) -> None:
        why = {"exit_reason": decision.exit_reason, "reasoning": decision.reasoning}
        row = RoundStatusRow(
            **self.key,
            **why,
            decision="stop" if decision.step == "stop" else "continue",
            confidence=decision.confidence,
            started_at=self.started_at,
            active_seconds=seconds,
        )
        await self.run.record.save_round_status(row)
        await self.run.record.flush()
        self.tell(RoundJudged(**self.key, **why, asked_judge=asked_judge))

    async def record_end(self, best: Round | None, problem: str) -> None:
        """How a team on its own ended."""
        team_id, record = self.team.team_id, self.run.record
        running = self.running(self.round_number)
        status = running.to("failed", error_message=problem) if problem else running.to("completed")
        await record.save_team_status(self.run.execution_id, status)
        await record.set_execution_status(
            self.run.execution_id,
            "failed" if best is None else "partial" if problem else "completed",
            problem or f"team {team_id} delivered",
            winner_team_id=team_id if best else None,
            best_score=best.score if best else None,
        )


def decide(  # noqa: PLR0911 - one return for each reason, in the order that holds
    rounds: Sequence[Round],
    options: ResolvedOptions,
    *,
    shortfall: Shortfall | None = None,
    hard_stop: ExitReason | None = None,
    remaining_share: float = 1.0,
    active_seconds: float = 0.0,
    max_rounds: int | None = None,
) -> NextStep:
    """Hard stops, then the rounds that must be played, then the stops without a call; else the judge is asked.

    Where further rounds only mend, what is left to mend decides in the judge's place; with the depth `auto` what the
    last round leaves open, where it was judged by criteria.

    `shortfall`: what the last round leaves open; `hard_stop`: the hard budget that is used up; `remaining_share`: 0.0
    to 1.0 of the budgets; `max_rounds`: what this kind of team plays at most.
    """
    count, judgment, words = len(rounds), options.judgment, WORDS[options.language].steps
    by_rule = _by_rule(shortfall or Shortfall(), options)
    if hard_stop is not None:
        return _stop(hard_stop, f"{hard_stop} reached after round {count}")
    if active_seconds >= options.timeout_per_team_seconds:
        return _stop("deadline", f"the team's {options.timeout_per_team_seconds} active seconds are used")
    if max_rounds is not None and count >= max_rounds:
        return _stop("one_round", "a search has one round")
    if count < options.min_rounds:
        reasoning = words.least_rounds.format(round=count, least=options.min_rounds)
        return NextStep(step="go_on", reasoning=reasoning)
    if by_rule and by_rule.step == "stop":
        return by_rule
    if count >= options.max_rounds:
        return _stop("max_rounds", f"round {count} of at most {options.max_rounds}")
    best = max((each.score for each in rounds if each.score is not None), default=None)
    if judgment.target_score is not None and best is not None and best >= judgment.target_score:
        return _stop("target_score", f"{shown_score(best)} reaches the target")
    if on_plateau(rounds, min_improvement=judgment.min_improvement, patience=judgment.patience):
        return _stop("plateau", f"no gain in the last {count_text(judgment.patience, 'rounds')}")
    if remaining_share < judgment.budget_reserve:
        return _stop("budget_reserve", f"{remaining_share:.0%} of a budget is left, which is kept back")
    return by_rule or NextStep(step="ask_judge", reasoning="the round judge decides")


def _by_rule(shortfall: Shortfall, options: ResolvedOptions) -> NextStep | None:
    """What follows by what is left to mend; None where the judge is asked."""
    words, language = WORDS[options.language].steps, options.language
    if options.mends_only:
        left, all_done = shortfall.for_mending(language), words.nothing_to_mend
    elif options.depth == "auto" and shortfall.is_judged:
        left = shortfall.for_revision(language)
        all_done = words.criteria_met.format(criteria=len(shortfall.verdicts))
    else:
        return None
    if not left:
        return _stop("criteria_met", all_done)
    mends_only = options.mends_only or not shortfall.needs_research
    return NextStep(step="go_on", reasoning=words.still_open.format(what=left), mends_only=mends_only)


def after_judgment(judgment: Judgment, *, confidence_threshold: float) -> NextStep:
    """The judge's word; a stop it is not sure of is not followed."""
    if judgment.should_continue or judgment.confidence < confidence_threshold:
        return NextStep(step="go_on", reasoning=judgment.reasoning, confidence=judgment.confidence)
    return NextStep(step="stop", reasoning=judgment.reasoning, exit_reason="judge", confidence=judgment.confidence)


def lean(rounds: Sequence[Round]) -> list[Round]:
    """The rounds as the state keeps them: of their metrics what later nodes read. The record has all of it."""
    best = best_round(rounds)
    return [
        each.model_copy(update={"metrics": [_lean(metric, of_best=each is best) for metric in each.metrics]})
        for each in rounds
    ]


def _lean(metric: MetricScore, *, of_best: bool) -> MetricScore:
    reason = "" if metric.score is not None else metric.reason
    # The sentences that the best submission's sources do not say are named in the report.
    evidence = metric.evidence if of_best and metric.name == "citation_support" else []
    return metric.model_copy(update={"reason": reason, "evidence": evidence, "fixes": []})


def on_plateau(rounds: Sequence[Round], *, min_improvement: float, patience: int) -> bool:
    """Whether the last `patience` rounds brought no gain of `min_improvement` over the best before them."""
    if len(rounds) <= patience:
        return False
    before = max(each.score or 0.0 for each in rounds[:-patience])
    since = max(each.score or 0.0 for each in rounds[-patience:])
    return since - before < min_improvement - _ROUNDING


def _stop(reason: ExitReason, reasoning: str) -> NextStep:
    return NextStep(step="stop", reasoning=reasoning, exit_reason=reason)
