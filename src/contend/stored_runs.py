"""Runs as the record has them, for whoever shows them: where one stands, how far it came, its report."""

from typing import Any

from contend.approval import WAITING
from contend.errors import InputError, UnknownThread
from contend.models.evaluation import Criterion, CriterionLevel, MetricScore
from contend.models.events import CriteriaSet, ReportMerged, RoundSubmitted
from contend.models.record import Record
from contend.models.round import ExitReason, LeaderboardEntry, RoundRow
from contend.models.task import ExecutionRow, RunStatus, RunUsage, TeamStatus
from contend.report import PublishedReport
from contend.settings import Settings
from contend.stores import is_leased, thread_name
from contend.stores.record import RecordStore


class StoredRun(Record):
    """A run as it stands. `status` is `interrupted` where the record says running and nobody works on it."""

    execution: ExecutionRow
    status: RunStatus
    message: str
    teams: list[TeamStatus]
    leaderboard: list[LeaderboardEntry]
    rounds: list[RoundRow]
    exit_reasons: dict[str, ExitReason]
    usage: RunUsage

    def without_texts(self) -> dict[str, Any]:
        """As programs are told of it: all but the submissions."""
        return self.model_dump(mode="json", exclude={"rounds": {"__all__": {"submission"}}})


async def read_run(record: RecordStore, settings: Settings, thread: str) -> StoredRun:
    """The newest run of a thread.

    Raises:
        UnknownThread: the record has none.
    """
    execution = await record.latest_execution(thread)
    if execution is None:
        where = f"in {settings.folder}: see `contend runs`, or give another --workspace"
        raise UnknownThread(f"thread {thread!r} has no run {where}")
    status = await status_of(settings, execution)
    return StoredRun(
        execution=execution,
        status=status,
        message=message_of(execution, status),
        teams=await record.team_statuses(execution.execution_id),
        leaderboard=await record.leaderboard(execution.execution_id),
        rounds=await record.rounds(execution.execution_id),
        exit_reasons=await record.exit_reasons(execution.execution_id),
        usage=await record.usage(execution.execution_id),
    )


class JudgedCriterion(Criterion):
    """A demand of the question. `verdict`: what judges found of the published report; None where nobody judged that."""

    verdict: CriterionLevel | None = None


async def judged_criteria(record: RecordStore, run: StoredRun) -> list[JudgedCriterion]:
    """The criteria of a run; none where it has none."""
    told = await record.events_of(run.execution.execution_id, "criteria_set", "report_merged")
    criteria = next((each.criteria for each in reversed(told) if isinstance(each, CriteriaSet)), [])
    merged = next((each.metrics for each in reversed(told) if isinstance(each, ReportMerged)), [])
    metrics = merged if run.execution.published == "editor" else _winners_metrics(run)
    verdicts = {number: verdict for metric in metrics for number, verdict in metric.verdicts.items()}
    return [
        JudgedCriterion(**each.model_dump(), verdict=verdicts.get(str(number)))
        for number, each in enumerate(criteria, start=1)
    ]


def _winners_metrics(run: StoredRun) -> list[MetricScore]:
    best = _winners_round(run)
    return best.metrics if best else []


def _winners_round(run: StoredRun) -> RoundRow | None:
    entry = next((each for each in run.leaderboard if each.team_id == run.execution.winner_team_id), None)
    best = [row for row in run.rounds if entry and (row.team_id, row.round_number) == (entry.team_id, entry.best_round)]
    return best[0] if best else None


async def winners_submission(record: RecordStore, run: StoredRun) -> RoundSubmitted | None:
    """The event that names the best team's best report; None where the run has none."""
    best = _winners_round(run)
    if best is None:
        return None
    submissions = [
        event
        for event in await record.events_of(run.execution.execution_id, "round_submitted")
        if isinstance(event, RoundSubmitted)
        and (event.team_id, event.round_number) == (best.team_id, best.round_number)
    ]
    return submissions[-1] if submissions else None


async def status_of(settings: Settings, execution: ExecutionRow) -> RunStatus:
    """A run that nobody works on is not running, whatever its process left in the record."""
    if execution.status == "running" and not await is_leased(settings, execution.thread_id):
        return "interrupted"
    return execution.status


def message_of(execution: ExecutionRow, status: RunStatus) -> str:
    """What a run says of itself, or why it can't."""
    return execution.message if status == execution.status else "nobody works on it: the process ended"


def is_waiting(execution: ExecutionRow) -> bool:
    """Whether a person is asked; another run that is interrupted was stopped."""
    return execution.status == "interrupted" and execution.message.startswith(WAITING)


def report_of(settings: Settings, execution: ExecutionRow) -> PublishedReport | None:
    """The report of a thread's newest run; None where its folder has none, or one of an earlier run. Blocking.

    Raises:
        InputError: its file cannot be read.
    """
    path = settings.folder / "results" / thread_name(execution.thread_id) / "report.json"
    try:
        report = PublishedReport.model_validate_json(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: it was changed or damaged") from error
    return None if report.generated_at < execution.created_at else report
