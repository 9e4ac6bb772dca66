import json
import math
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from pydantic import ValidationError

from contend.errors import StoreError
from contend.models.events import StepDone
from contend.models.round import SubmissionRow
from contend.models.task import Publication, RunUsage, TeamStatus
from contend.stores.record import RecordStore
from fakes.record_rows import (
    NAN,
    RUN,
    call,
    decision,
    evaluation,
    execution,
    make_earlier_record,
    rows_in,
    submission,
)


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


async def test_an_event_told_again_keeps_its_place_beside_others_that_are_new(store: RecordStore) -> None:
    first, second, third = (
        StepDone(execution_id=RUN, team_id="alpha", round_number=1, step="plan", iteration=1, detail=detail)
        for detail in ("first", "second", "third")
    )
    await store.start_execution(execution())
    store.save_event(first)
    store.save_event(second)
    await store.flush()
    for event in (third, first, third):
        store.save_event(event)
    await store.flush()

    events = await store.events_of(RUN, "step_done")
    assert [event.detail for event in events if isinstance(event, StepDone)] == ["first", "second", "third"]


async def test_without_a_file_there_is_nothing_to_delete_and_none_is_made(store: RecordStore, path: Path) -> None:
    assert await store.delete_thread("thread") == []
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


async def test_a_status_that_another_has_overtaken_changes_nothing(store: RecordStore) -> None:
    await store.start_execution(execution())
    await store.set_execution_status(RUN, "interrupted", "stopped", only_from=["running"])
    await store.set_execution_status(RUN, "failed", "rolled back")
    await store.set_execution_status(RUN, "interrupted", "stopped again", only_from=["running", "interrupted"])

    row = await store.execution(RUN)
    assert row is not None
    assert (row.status, row.message) == ("failed", "rolled back")


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


async def test_a_submission_reads_back_as_written(store: RecordStore, path: Path) -> None:
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

    (read,) = await store.rounds(RUN, "a")
    assert (read.team_name, read.submission, read.submitted_at) == (row.team_name, row.submission, row.submitted_at)
    assert read.role_records == row.role_records
    await store.close()
    assert json.dumps(row.messages, ensure_ascii=False, separators=(",", ":")) in rows_in(path, "round_history")[0]


async def test_a_number_that_json_lacks_becomes_null_and_the_submission_stays(store: RecordStore, path: Path) -> None:
    await store.save_submission(submission().model_copy(update={"messages": [{"score": NAN}]}))

    await store.close()
    assert '[{"score":null}]' in rows_in(path, "round_history")[0]


async def test_a_teams_rounds_come_by_number_with_their_evaluations(store: RecordStore) -> None:
    for number in (2, 1):
        await store.save_submission(submission(number))
    await store.save_submission(submission(1, team_id="b"))
    await store.save_evaluation(evaluation(None, 2))
    details = {"metrics": [{"name": "coverage", "score": 0.5, "evidence": ["唸る"]}]}
    await store.save_evaluation(evaluation(0.1 + 0.2, 1).model_copy(update={"details": details}))
    await store.save_evaluation(evaluation(0.9, 1, team_id="b"))

    rows = await store.rounds(RUN, "a")
    assert [row.details for row in rows] == [details, {"metrics": []}]
    assert [(row.round_number, row.score, row.feedback) for row in rows] == [
        (1, 0.1 + 0.2, "Say why."),
        (2, None, "Say why."),
    ]


async def test_a_submission_written_again_stands_once_with_the_later_text(store: RecordStore) -> None:
    await store.save_submission(submission(text="first"))
    await store.save_submission(submission(text="second"))

    assert [row.submission for row in await store.rounds(RUN, "a")] == ["second"]


async def test_an_evaluation_written_again_stands_once_with_the_later_score(store: RecordStore) -> None:
    await store.save_submission(submission())
    await store.save_evaluation(evaluation(0.5))
    await store.save_evaluation(evaluation(0.6))

    assert [row.score for row in await store.rounds(RUN, "a")] == [0.6]


async def test_a_team_status_written_again_stands_once_with_the_later_status(store: RecordStore) -> None:
    pending = TeamStatus(team_id="a", team_name="A")
    failed = pending.to("running").to("failed", error_message="no source is on")
    await store.save_team_status(RUN, pending)
    await store.save_team_status(RUN, failed)

    assert await store.team_statuses(RUN) == [failed]


async def test_a_team_that_begins_again_began_when_it_first_did(store: RecordStore) -> None:
    pending = TeamStatus(team_id="a", team_name="A")
    first, again = pending.to("running"), pending.to("running")
    for status in (pending, first, again):
        await store.save_team_status(RUN, status)

    (kept,) = await store.team_statuses(RUN)

    assert kept.started_at == first.started_at != again.started_at


async def test_a_decision_written_again_stands_once(store: RecordStore, path: Path) -> None:
    await store.save_round_status(decision("one"))
    await store.save_round_status(decision("two"))
    await store.close()

    assert len(rows_in(path, "round_status")) == 1


async def test_a_call_told_again_counts_once(store: RecordStore) -> None:
    await store.save_usage(RUN, "a", 1, [call("a/1/writer", tokens=10), call("a/1/judge", tokens=5)])
    await store.save_usage(RUN, "a", 1, [call("a/1/writer", tokens=20)])

    assert await store.usage(RUN) == RunUsage(requests=2, input_tokens=25, output_tokens=2, cost_usd=1.0)


async def test_calls_told_at_once_count_once_by_key_and_the_last_word_holds(store: RecordStore) -> None:
    await store.save_usage(RUN, "a", 1, [call("k", tokens=1), call("other"), call("k", tokens=5)])

    assert {told.call_key: told.input_tokens for told in await store.calls(RUN)} == {"k": 5, "other": 10}


async def test_one_unknown_price_makes_the_cost_unknown(store: RecordStore) -> None:
    await store.save_usage(RUN, "a", 1, [call("one"), call("two", cost_usd=None)])

    assert (await store.usage(RUN)).cost_usd is None


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
    await store.save_submission(submission())
    forged = evaluation(0.5).model_copy(update={"score": score})

    with pytest.raises(StoreError, match=r"did not take the evaluation of team a, round 1: .*CHECK"):
        await store.save_evaluation(forged)
    assert [row.evaluated_at for row in await store.rounds(RUN, "a")] == [None]


async def test_the_tables_refuse_a_best_score_that_is_none(store: RecordStore) -> None:
    await store.start_execution(execution())

    with pytest.raises(StoreError, match="CHECK"):
        await store.set_execution_status(RUN, "completed", best_score=NAN)


async def test_what_is_not_json_is_refused_at_once(store: RecordStore) -> None:
    with pytest.raises(StoreError, match=r"the submission of team a, round 1, which is not JSON"):
        await store.save_submission(submission().model_copy(update={"messages": [object()]}))


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

    assert len(await store.delete_thread("thread")) == 2
    await store.close()
    tables = ("team_status", "pairwise", "round_history", "leader_board", "round_status", "usage")
    assert [rows_in(path, table) for table in tables] == [[]] * 6
    assert [row[0] for row in rows_in(path, "execution")] == ["kept"]


async def test_a_record_of_an_earlier_release_is_read_and_written(store: RecordStore, path: Path) -> None:
    path.parent.mkdir(parents=True)
    make_earlier_record(path)

    (row,) = await store.executions()
    assert (row.best_score, row.published, row.published_score) == (0.5, None, None)

    merge = Publication(published="editor", published_score=0.75)
    await store.set_execution_status("old", "completed", publication=merge)
    await store.start_execution(execution("new", thread_id="other"))

    rows = {row.execution_id: row for row in await store.executions()}
    assert rows["old"].published_fields() == merge.model_dump()
    assert rows["new"].published is None
