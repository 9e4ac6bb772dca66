import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contend.models.round import LeaderboardEntry, LiveLeaderboard, rank_entries
from contend.models.task import TeamStatus
from contend.stores.record import RecordStore
from fakes.record_rows import RUN, evaluation, rows_in, submission


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workspace" / "contend.duckdb"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[RecordStore]:
    opened = RecordStore(path, lock_seconds=5.0)
    yield opened
    await opened.close()


async def test_the_leaderboard_is_cut_and_a_teams_rank_is_not(store: RecordStore) -> None:
    for team_id, score in (("a", 0.3), ("b", 0.9), ("c", 0.6)):
        await store.save_submission(submission(team_id=team_id))
        await store.save_evaluation(evaluation(score, team_id=team_id))

    assert [entry.team_id for entry in await store.leaderboard(RUN, limit=2)] == ["b", "c"]
    assert [entry.rank for entry in await store.leaderboard(RUN) if entry.team_id == "a"] == [3]


async def test_a_team_without_a_submission_has_no_rank(store: RecordStore) -> None:
    await store.save_team_status(RUN, TeamStatus(team_id="a", team_name="A"))

    assert [entry.team_name for entry in await store.leaderboard(RUN)] == ["A"]
    assert [entry.rank for entry in await store.leaderboard(RUN)] == [None]


async def test_pairwise_outcomes_decide_between_equal_scores(store: RecordStore) -> None:
    for team_id in ("a", "b"):
        await store.save_submission(submission(team_id=team_id))
        await store.save_evaluation(evaluation(0.8, team_id=team_id))
    await store.set_pairwise(RUN, {"a": 0.0, "b": 1.0})

    assert (await store.leaderboard(RUN))[0].team_id == "b"


async def test_pairwise_outcomes_set_again_replace_all_earlier_ones(store: RecordStore, path: Path) -> None:
    await store.set_pairwise(RUN, {"a": 1.0})
    await store.set_pairwise(RUN, {"b": 2.0, "c": 1.0})
    await store.set_pairwise(RUN, {"b": 2.0})
    await store.close()

    assert rows_in(path, "pairwise") == [(RUN, "b", "2.0")]


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
            live.add_submission(execution_id, team_id, number)
            await store.save_evaluation(evaluation(score, number, team_id=team_id).model_copy(update=of_run))
            live.add_score(execution_id, team_id, number, score)
    keys = {team_id: each.pairwise_key for team_id, each in standings.items() if each.pairwise_key is not None}
    await store.set_pairwise(execution_id, keys)
    live.set_pairwise(execution_id, keys)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory, loop: asyncio.Runner) -> Iterator[RecordStore]:
    store = RecordStore(tmp_path_factory.mktemp("ranking") / "contend.duckdb")
    yield store
    loop.run(store.close())


@settings(max_examples=20)
@given(standings=STANDINGS)
def test_the_records_leaderboard_is_the_ranking_rule_and_equals_the_live_one(
    shared_store: RecordStore, loop: asyncio.Runner, standings: dict[str, Standing]
) -> None:
    execution_id, live = str(uuid4()), LiveLeaderboard()

    loop.run(_play(shared_store, live, execution_id, standings))
    recorded = loop.run(shared_store.leaderboard(execution_id))

    assert recorded == rank_entries(standing.entry(team_id) for team_id, standing in standings.items())
    assert recorded == live.leaderboard(execution_id)

    goes_on = loop.run(shared_store.board([execution_id]))
    for board in (goes_on, live):
        board.add_submission(execution_id, "a", 4)
        board.add_score(execution_id, "a", 4, 0.5)
    assert goes_on.leaderboard(execution_id) == live.leaderboard(execution_id)
