"""What a team's rounds leave behind: rows of the record, lines of the live leaderboard, events.

A node that ended is not run again after a crash: its rows are committed before its checkpoint is written.
"""

from contend.models.evaluation import EvaluationResult
from contend.models.events import RoundJudged, RoundScored, RoundSubmitted
from contend.models.round import Round
from contend.models.rows import EvaluationRow, RoundStatusRow, SubmissionRow
from contend.models.submission import Submission
from contend.models.task import TeamStatus
from contend.services import Services
from contend.team.rounds import NextStep
from contend.team.view import TeamView


async def record_round_start(services: Services, view: TeamView, number: int) -> None:
    """Which round the team plays from now on."""
    status = TeamStatus(team_id=view.team.team_id, team_name=view.team.name, current_round=number)
    await services.record.save_team_status(view.execution_id, status.to("running"))
    await services.record.flush()


async def record_submission(
    services: Services, view: TeamView, submission: Submission, *, document: str, brief: str
) -> None:
    """Into the record before anybody scores it, so that no later failure loses it."""
    await services.record.save_submission(
        SubmissionRow(
            **view.key,
            team_name=view.team.name,
            submission=submission.content,
            messages=[{"role": "user", "content": brief}, {"role": "assistant", "content": submission.content}],
            role_records={
                "supervisor": {"points": submission.points, "queries": submission.queries},
                "researcher": {"sources": [result.url for result in submission.results]},
                "reviewer": {"feedback": submission.feedback},
                "submission": document,
            },
        )
    )
    view.run.board.submitted(view.execution_id, view.team.team_id, view.round_number)
    services.tell(
        RoundSubmitted(
            **view.key,
            characters=len(submission.content),
            document=document,
        )
    )


async def record_evaluation(services: Services, view: TeamView, result: EvaluationResult, done: Round) -> None:
    # First, because it waits for nobody: it is committed with the evaluation.
    await services.record.save_usage(view.execution_id, view.team.team_id, view.round_number, done.calls)
    await services.record.save_evaluation(
        EvaluationRow(
            **view.key,
            team_name=view.team.name,
            score=result.overall,
            feedback=result.feedback,
            details={"metrics": [metric.model_dump(mode="json") for metric in result.metrics]},
        )
    )
    view.run.board.scored(view.execution_id, view.team.team_id, view.round_number, result.overall)
    services.tell(
        RoundScored(
            **view.key,
            score=result.overall,
            metrics=result.metrics,
            usage=done.usage,
            leaderboard=view.run.board.leaderboard(view.execution_id),
            feedback=done.feedback,
        )
    )


async def record_decision(
    services: Services, view: TeamView, decision: NextStep, *, asked_judge: bool, seconds: float
) -> None:
    await services.record.save_round_status(
        RoundStatusRow(
            **view.key,
            decision="stop" if decision.step == "stop" else "continue",
            reasoning=decision.reasoning,
            confidence=decision.confidence,
            exit_reason=decision.exit_reason,
            started_at=view.round_started,
            active_seconds=seconds,
        )
    )
    await services.record.flush()
    services.tell(
        RoundJudged(
            **view.key,
            exit_reason=decision.exit_reason,
            reasoning=decision.reasoning,
            asked_judge=asked_judge,
        )
    )


async def record_end(services: Services, view: TeamView, best: Round | None, problem: str) -> None:
    """How a team on its own ended."""
    team, record = view.team, services.record
    running = TeamStatus(team_id=team.team_id, team_name=team.name, current_round=view.round_number).to("running")
    status = running.to("failed", error_message=problem) if problem else running.to("completed")
    await record.save_team_status(view.execution_id, status)
    await record.set_execution_status(
        view.execution_id,
        "failed" if best is None else "partial" if problem else "completed",
        problem or f"team {team.team_id} delivered",
        winner_team_id=team.team_id if best else None,
        best_score=best.score if best else None,
    )
