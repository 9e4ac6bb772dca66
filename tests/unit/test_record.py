import asyncio
import math
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from contend.errors import StoreError
from contend.models.evaluation import EvaluationResult, MetricScore
from contend.models.round import LeaderboardEntry, ranked
from contend.models.rows import EvaluationRow, ExecutionRow, RoundStatusRow, SubmissionRow
from contend.models.task import CallUsage, RunUsage, TeamStatus
from contend.stores.leaderboard import LiveLeaderboard
from contend.stores.record import RecordStore
from contend.stores.record_file import RecordFile
from contend.stores.record_thread import Job, RecordThread

RUN = "run"
NAN = math.nan


def execution(
    execution_id: str = RUN, *, thread_id: str = "thread", created_at: datetime | None = None
) -> ExecutionRow:
    return ExecutionRow(
        execution_id=execution_id,
        thread_id=thread_id,
        theme="橋はなぜ鳴る？",
        options_fingerprint="5eed",
        models={"writer": "small"},
        created_at=created_at or datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    )


def submission(round_number: int = 1, *, team_id: str = "a", text: str = "Bridges hum.") -> SubmissionRow:
    return SubmissionRow(
        execution_id=RUN, team_id=team_id, team_name=team_id.upper(), round_number=round_number, submission=text
    )


def evaluation(score: float | None, round_number: int = 1, *, team_id: str = "a") -> EvaluationRow:
    return EvaluationRow(
        execution_id=RUN,
        team_id=team_id,
        team_name=team_id.upper(),
        round_number=round_number,
        score=score,
        feedback="Say why.",
        details={"metrics": []},
    )


def decision(reasoning: str = "No gain.") -> RoundStatusRow:
    return RoundStatusRow(
        execution_id=RUN,
        team_id="a",
        round_number=1,
        decision="stop",
        reasoning=reasoning,
        confidence=0.75,
        exit_reason="plateau",
        active_seconds=1.5,
    )


def call(key: str, *, tokens: int = 10, cost_usd: float | None = 0.5) -> CallUsage:
    return CallUsage(
        call_key=key,
        role="writer",
        model="small",
        input_tokens=tokens,
        output_tokens=1,
        cost_usd=cost_usd,
        milliseconds=7,
    )


def rows_in(path: Path, table: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path)) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - names of this test


def spoil(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("not a database " * 500)


def seen_by_another_process(path: Path, table: str, *, seconds: float) -> bool:
    """Whether the table has a row within the time, while this process leaves the file alone."""
    count = f"SELECT count(*) FROM {table}"  # noqa: S608 - names of this test
    code = f"import duckdb; print(duckdb.connect({str(path)!r}).execute({count!r}).fetchone()[0])"
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)  # noqa: S603 - our own
        if told.stdout.strip() not in {b"", b"0"}:
            return True
    return False


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workspace" / "contend.duckdb"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[RecordStore]:
    opened = RecordStore(path, lock_seconds=5.0)
    yield opened
    await opened.close()


async def test_without_a_file_reads_are_empty_and_make_none(store: RecordStore, path: Path) -> None:
    assert await store.executions() == []
    assert await store.execution(RUN) is None
    assert await store.leaderboard(RUN) == []
    assert await store.usage(RUN) == RunUsage()
    assert not path.parent.exists()


async def test_without_a_file_there_is_nothing_to_delete_and_none_is_made(store: RecordStore, path: Path) -> None:
    assert await store.delete_thread("thread") == 0
    assert not path.parent.exists()


async def test_closing_an_unused_store_makes_no_file(path: Path) -> None:
    await RecordStore(path).close()

    assert not path.parent.exists()


async def test_a_started_execution_reads_back_as_written(store: RecordStore) -> None:
    await store.start_execution(execution())

    assert await store.execution(RUN) == execution()


async def test_an_execution_started_again_keeps_when_it_was_created(store: RecordStore) -> None:
    await store.start_execution(execution())
    await store.start_execution(execution(created_at=datetime(2026, 5, 5, tzinfo=UTC)))

    assert await store.executions() == [execution()]


async def test_a_finished_execution_has_its_winner_and_when_it_finished(store: RecordStore) -> None:
    await store.start_execution(execution())
    await store.set_execution_status(RUN, "completed", "done", winner_team_id="a", best_score=0.5)

    row = await store.execution(RUN)
    assert row is not None
    assert (row.status, row.message, row.winner_team_id, row.best_score) == ("completed", "done", "a", 0.5)
    assert row.finished_at is not None
    assert timedelta(0) <= datetime.now(UTC) - row.finished_at < timedelta(minutes=1)


async def test_a_later_status_keeps_the_winner(store: RecordStore) -> None:
    await store.start_execution(execution())
    await store.set_execution_status(RUN, "running", winner_team_id="a", best_score=0.5)
    await store.set_execution_status(RUN, "partial", "nothing learned")

    row = await store.execution(RUN)
    assert row is not None
    assert (row.winner_team_id, row.best_score) == ("a", 0.5)


async def test_an_interrupted_execution_is_not_finished(store: RecordStore) -> None:
    await store.start_execution(execution())
    await store.set_execution_status(RUN, "interrupted", "stopped")

    row = await store.execution(RUN)
    assert row is not None
    assert row.finished_at is None


async def test_the_newest_executions_come_first_and_the_list_is_cut(store: RecordStore) -> None:
    for day in (1, 3, 2):
        await store.start_execution(execution(f"day-{day}", created_at=datetime(2026, 1, day, tzinfo=UTC)))

    assert [row.execution_id for row in await store.executions(limit=2)] == ["day-3", "day-2"]


async def test_a_threads_latest_execution_is_its_newest(store: RecordStore) -> None:
    await store.start_execution(execution("late", created_at=datetime(2026, 1, 2, tzinfo=UTC)))
    await store.start_execution(execution("early", created_at=datetime(2026, 1, 1, tzinfo=UTC)))
    await store.start_execution(execution("other", thread_id="other", created_at=datetime(2026, 1, 3, tzinfo=UTC)))

    latest = await store.latest_execution("thread")
    assert latest is not None
    assert latest.execution_id == "late"


async def test_an_unknown_thread_has_no_latest_execution(store: RecordStore) -> None:
    await store.start_execution(execution())

    assert await store.latest_execution("unknown") is None


async def test_times_come_back_in_utc(store: RecordStore) -> None:
    tokyo = datetime(2026, 1, 2, 12, 0, tzinfo=timezone(timedelta(hours=9)))
    await store.start_execution(execution(created_at=tokyo))

    row = await store.execution(RUN)
    assert row is not None
    assert row.created_at.isoformat() == "2026-01-02T03:00:00+00:00"


async def test_a_submission_reads_back_as_written(store: RecordStore) -> None:
    row = SubmissionRow(
        execution_id=RUN,
        team_id="a",
        team_name="懐疑派",
        round_number=1,
        submission="# 橋\n\n\0 “風” 🌉",
        messages=[{"role": "user", "content": "なぜ？"}],
        role_records={"reviewer": {"feedback": "もっと", "depth": [1, None]}},
    )
    await store.save_submission(row)

    assert await store.submissions(RUN, "a") == [row]


async def test_a_number_that_json_lacks_becomes_null_and_the_submission_stays(store: RecordStore) -> None:
    await store.save_submission(submission().model_copy(update={"messages": [{"score": NAN}]}))

    assert (await store.submissions(RUN, "a"))[0].messages == [{"score": None}]


async def test_a_teams_evaluations_come_by_round(store: RecordStore) -> None:
    await store.save_evaluation(evaluation(None, 2))
    await store.save_evaluation(evaluation(0.1 + 0.2, 1))
    await store.save_evaluation(evaluation(0.9, 1, team_id="b"))

    assert [row.score for row in await store.evaluations(RUN, "a")] == [0.1 + 0.2, None]


def test_an_evaluation_row_keeps_score_feedback_and_metrics_of_a_result() -> None:
    metric = MetricScore(name="coverage", score=0.5, weight=1.0, evidence=["hum"])
    result = EvaluationResult(overall=0.5, metrics=[metric], feedback="Say why.")

    row = EvaluationRow.of(result, execution_id=RUN, team_id="a", team_name="A", round_number=2)

    assert (row.score, row.feedback, row.round_number) == (0.5, "Say why.", 2)
    assert [MetricScore.model_validate(item) for item in row.details["metrics"]] == [metric]


async def test_a_submission_written_again_stands_once_with_the_later_text(store: RecordStore) -> None:
    await store.save_submission(submission(text="first"))
    await store.save_submission(submission(text="second"))

    assert [row.submission for row in await store.submissions(RUN, "a")] == ["second"]


async def test_an_evaluation_written_again_stands_once_with_the_later_score(store: RecordStore) -> None:
    await store.save_evaluation(evaluation(0.5))
    await store.save_evaluation(evaluation(0.6))

    assert [row.score for row in await store.evaluations(RUN, "a")] == [0.6]


async def test_a_team_status_written_again_stands_once_with_the_later_status(store: RecordStore) -> None:
    pending = TeamStatus(team_id="a", team_name="A")
    failed = pending.to("running").to("failed", error_message="no source is on")
    await store.save_team_status(RUN, pending)
    await store.save_team_status(RUN, failed)

    assert await store.team_statuses(RUN) == [failed]


async def test_a_decision_written_again_stands_once(store: RecordStore, path: Path) -> None:
    await store.save_round_status(decision("one"))
    await store.save_round_status(decision("two"))
    await store.close()

    assert len(rows_in(path, "round_status")) == 1


async def test_a_call_told_again_counts_once(store: RecordStore) -> None:
    await store.save_usage(RUN, "a", 1, [call("a/1/writer", tokens=10), call("a/1/judge", tokens=5)])
    await store.save_usage(RUN, "a", 1, [call("a/1/writer", tokens=20)])

    assert await store.usage(RUN) == RunUsage(requests=2, input_tokens=25, output_tokens=2, cost_usd=1.0)


async def test_one_unknown_price_makes_the_cost_unknown(store: RecordStore) -> None:
    await store.save_usage(RUN, "a", 1, [call("one"), call("two", cost_usd=None)])

    assert (await store.usage(RUN)).cost_usd is None


async def test_rounds_before_a_round_leave_out_that_round_and_other_teams(store: RecordStore) -> None:
    for number in (2, 1, 3):
        await store.save_submission(submission(number, text=f"round {number}"))
    await store.save_submission(submission(1, team_id="b"))

    states = await store.rounds_before(RUN, "a", 3)
    assert [state.submission_content for state in states] == ["round 1", "round 2"]


async def test_a_rounds_state_has_its_score_and_feedback(store: RecordStore) -> None:
    await store.save_submission(submission())
    await store.save_evaluation(evaluation(0.5))

    (state,) = await store.rounds_before(RUN, "a", 2)
    assert (state.evaluation_score, state.feedback, state.score_details["metrics"]) == (0.5, "Say why.", [])


async def test_a_round_that_nobody_judged_is_listed_without_score_and_decision(store: RecordStore) -> None:
    await store.save_submission(submission())

    (row,) = await store.rounds(RUN)
    assert (row.score, row.evaluated_at, row.decision) == (None, None, None)


async def test_a_finished_round_is_listed_with_score_and_decision(store: RecordStore) -> None:
    await store.save_submission(submission())
    await store.save_evaluation(evaluation(0.5))
    await store.save_round_status(decision())

    (row,) = await store.rounds(RUN)
    assert (row.score, row.feedback, row.decision, row.exit_reason) == (0.5, "Say why.", "stop", "plateau")
    assert (row.reasoning, row.confidence, row.active_seconds) == ("No gain.", 0.75, 1.5)
    assert row.evaluated_at is not None


@pytest.mark.parametrize("score", [NAN, math.inf, -math.inf, -0.01, 1.01])
def test_a_row_refuses_a_score_that_is_none(score: float) -> None:
    with pytest.raises(ValidationError):
        evaluation(score)


@pytest.mark.parametrize("score", [NAN, math.inf, -math.inf, -0.01, 1.01])
async def test_the_tables_refuse_a_score_that_is_none(store: RecordStore, score: float) -> None:
    forged = evaluation(0.5).model_copy(update={"score": score})

    with pytest.raises(StoreError, match=r"did not take the evaluation of team a, round 1: .*CHECK"):
        await store.save_evaluation(forged)
    assert await store.evaluations(RUN, "a") == []


async def test_the_tables_refuse_a_best_score_that_is_none(store: RecordStore) -> None:
    await store.start_execution(execution())

    with pytest.raises(StoreError, match="CHECK"):
        await store.set_execution_status(RUN, "completed", best_score=NAN)


async def test_a_bad_write_loses_no_queued_one(store: RecordStore) -> None:
    await store.save_usage(RUN, "a", 1, [call("before")])
    await store.save_round_status(decision().model_copy(update={"confidence": 7.0}))
    await store.save_usage(RUN, "a", 1, [call("after")])

    assert (await store.usage(RUN)).requests == 2


async def test_a_bad_write_fails_alone_among_writes_at_the_same_time(store: RecordStore) -> None:
    bad = evaluation(0.5).model_copy(update={"score": NAN})
    outcomes = await asyncio.gather(
        store.save_evaluation(evaluation(0.5, team_id="b")),
        store.save_evaluation(bad),
        store.save_evaluation(evaluation(0.6, team_id="c")),
        return_exceptions=True,
    )

    assert [type(outcome) for outcome in outcomes] == [type(None), StoreError, type(None)]
    assert [entry.team_id for entry in await store.leaderboard(RUN)] == []
    assert len(await store.evaluations(RUN, "c")) == 1


async def test_what_is_not_json_is_refused_at_once(store: RecordStore) -> None:
    with pytest.raises(StoreError, match=r"the submission of team a, round 1, which is not JSON"):
        await store.save_submission(submission().model_copy(update={"messages": [object()]}))


async def test_the_leaderboard_is_cut_and_a_teams_rank_is_not(store: RecordStore) -> None:
    for team_id, score in (("a", 0.3), ("b", 0.9), ("c", 0.6)):
        await store.save_submission(submission(team_id=team_id))
        await store.save_evaluation(evaluation(score, team_id=team_id))

    assert [entry.team_id for entry in await store.leaderboard(RUN, limit=2)] == ["b", "c"]
    assert await store.team_rank(RUN, "a") == 3


async def test_a_team_without_a_submission_has_no_rank(store: RecordStore) -> None:
    await store.save_team_status(RUN, TeamStatus(team_id="a", team_name="A"))

    assert [entry.team_name for entry in await store.leaderboard(RUN)] == ["A"]
    assert await store.team_rank(RUN, "a") is None


async def test_pairwise_outcomes_decide_between_equal_scores(store: RecordStore) -> None:
    for team_id in ("a", "b"):
        await store.save_submission(submission(team_id=team_id))
        await store.save_evaluation(evaluation(0.8, team_id=team_id))
    await store.set_pairwise(RUN, {"a": 0.0, "b": 1.0})

    assert await store.team_rank(RUN, "b") == 1


async def test_pairwise_outcomes_set_again_replace_all_earlier_ones(store: RecordStore, path: Path) -> None:
    await store.set_pairwise(RUN, {"a": 1.0})
    await store.set_pairwise(RUN, {"b": 2.0, "c": 1.0})
    await store.set_pairwise(RUN, {"b": 2.0})
    await store.close()

    assert rows_in(path, "pairwise") == [(RUN, "b", 2.0)]


class Standing(NamedTuple):
    scores: list[float | None]
    pairwise_key: float | None

    def entry(self, team_id: str) -> LeaderboardEntry:
        scored = {number: score for number, score in enumerate(self.scores, start=1) if score is not None}
        best = max(scored.values(), default=None)
        return LeaderboardEntry(
            team_id=team_id,
            team_name=team_id.upper(),
            best_score=best,
            best_round=max((number for number, score in scored.items() if score == best), default=None),
            latest_round=len(self.scores),
            scored_round=max(scored, default=0),
            pairwise_key=self.pairwise_key,
        )


STANDINGS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "B", "a-1", "_"]),
    st.builds(
        Standing,
        scores=st.lists(st.none() | st.sampled_from([0.0, 0.5, 0.5 + 1e-15, 1.0]), max_size=3),
        pairwise_key=st.none() | st.sampled_from([0.0, 1.0]),
    ),
    max_size=6,
)


async def _play(store: RecordStore, live: LiveLeaderboard, execution_id: str, standings: dict[str, Standing]) -> None:
    live.enter(execution_id, [(team_id, team_id.upper()) for team_id in standings])
    for team_id, standing in standings.items():
        await store.save_team_status(execution_id, TeamStatus(team_id=team_id, team_name=team_id.upper()))
        for number, score in enumerate(standing.scores, start=1):
            of_run = {"execution_id": execution_id}
            await store.save_submission(submission(number, team_id=team_id).model_copy(update=of_run))
            live.submitted(execution_id, team_id, number)
            await store.save_evaluation(evaluation(score, number, team_id=team_id).model_copy(update=of_run))
            live.scored(execution_id, team_id, number, score)
    keys = {team_id: each.pairwise_key for team_id, each in standings.items() if each.pairwise_key is not None}
    await store.set_pairwise(execution_id, keys)
    live.set_pairwise(execution_id, keys)


@pytest.fixture(scope="module")
def shared_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranking") / "contend.duckdb"


@settings(max_examples=30, deadline=None)
@given(standings=STANDINGS)
def test_the_records_leaderboard_is_the_ranking_rule_and_equals_the_live_one(
    shared_path: Path, standings: dict[str, Standing]
) -> None:
    execution_id, live = str(uuid4()), LiveLeaderboard()

    async def play() -> list[LeaderboardEntry]:
        store = RecordStore(shared_path)
        await _play(store, live, execution_id, standings)
        return await store.leaderboard(execution_id)

    recorded = asyncio.run(play())

    assert recorded == ranked(standing.entry(team_id) for team_id, standing in standings.items())
    assert recorded == live.leaderboard(execution_id)


async def test_a_deleted_thread_leaves_no_row_and_other_threads_stay(store: RecordStore, path: Path) -> None:
    await store.start_execution(execution())
    await store.start_execution(execution("again"))
    await store.start_execution(execution("kept", thread_id="other"))
    await store.save_team_status(RUN, TeamStatus(team_id="a", team_name="A"))
    await store.save_submission(submission())
    await store.save_evaluation(evaluation(0.5))
    await store.save_round_status(decision())
    await store.save_usage(RUN, "a", 1, [call("one")])
    await store.set_pairwise(RUN, {"a": 1.0})

    assert await store.delete_thread("thread") == 2
    await store.close()
    tables = ("team_status", "pairwise", "round_history", "leader_board", "round_status", "usage")
    assert [rows_in(path, table) for table in tables] == [[]] * 6
    assert [row[0] for row in rows_in(path, "execution")] == ["kept"]


async def test_closing_writes_what_is_queued_and_lets_go_of_the_file(store: RecordStore, path: Path) -> None:
    await store.save_usage(RUN, "a", 1, [call("one")])
    await store.close()

    assert len(rows_in(path, "usage")) == 1


async def test_a_closed_store_opens_again_when_it_is_used(store: RecordStore) -> None:
    await store.start_execution(execution())
    await store.close()

    assert await store.execution(RUN) is not None


async def test_queued_writes_reach_the_file_without_anybody_asking(store: RecordStore, path: Path) -> None:
    await store.save_usage(RUN, "a", 1, [call("one")])

    assert await asyncio.to_thread(seen_by_another_process, path, "usage", seconds=10)


def test_a_store_serves_one_event_loop_after_another(path: Path) -> None:
    store = RecordStore(path)
    asyncio.run(store.start_execution(execution()))

    assert asyncio.run(store.execution(RUN)) == execution()
    asyncio.run(store.close())


async def test_two_stores_of_one_process_share_a_file(store: RecordStore, path: Path) -> None:
    other = RecordStore(path)
    await asyncio.gather(store.start_execution(execution("one")), other.start_execution(execution("two")))

    assert len(await store.executions()) == 2
    await other.close()


async def test_a_durable_write_whose_caller_is_cancelled_is_written(store: RecordStore) -> None:
    writing = asyncio.create_task(store.save_submission(submission()))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing

    assert len(await store.submissions(RUN, "a")) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_defect_on_the_records_thread_leaves_nobody_waiting(path: Path) -> None:
    thread, done = RecordThread(RecordFile(path, lock_seconds=1.0)), Future[None]()
    thread.submit(Job(what="a defect", work=lambda _: 1 / 0, creates=True, writes=True, done=done))

    with pytest.raises(StoreError, match="a defect was given up"):
        await asyncio.wrap_future(done)


async def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    spoil(path)

    with pytest.raises(StoreError, match=rf"record {path} cannot be opened; .*move it away"):
        await RecordStore(path).executions()


async def test_a_workspace_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "contend.duckdb"

    with pytest.raises(StoreError, match=rf"record {path} cannot be made; mend the folder's rights"):
        await RecordStore(path).start_execution(execution())


def test_sql_reaches_no_other_file_and_cannot_allow_itself_to(path: Path) -> None:
    file = RecordFile(path, lock_seconds=1.0)
    connection = file.connection()

    with pytest.raises(duckdb.PermissionException):
        connection.execute("SELECT * FROM read_text('/etc/hostname')")
    with pytest.raises(duckdb.InvalidInputException, match="locked"):
        connection.execute("SET enable_external_access = true")
    file.let_go()
