"""One ranking rule wherever a ranking is shown: prompt, live table, winner, report, command."""

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contend.cli.live import Board
from contend.contest.state import ContestState, ContestView, TeamOutcome
from contend.models.options import EvaluatorConfig, MetricConfig, ResolvedOptions, TeamConfig
from contend.models.round import LeaderboardEntry, LiveLeaderboard, Round, RoundPromptConfig, RoundPromptContext
from contend.models.task import TeamStatus
from contend.prompts import PromptBuilderSettings, PromptLibrary, UserPromptBuilder
from contend.report import ReportHead, head_markdown
from contend.settings import ROLES
from contend.stores.record import RecordStore
from fakes.rankings import Place, Rounds, by_the_rule
from fakes.record_rows import RUN, evaluation, execution, submission
from fakes.terminal import Terminal

NAMES = ("a", "b", "B", "a-1", "_", "c", "d", "e", "f", "g", "h", "i")
LIBRARY = PromptLibrary(None)
OPTIONS = ResolvedOptions(
    models=dict.fromkeys(ROLES, "large"), evaluator=EvaluatorConfig(metrics=[MetricConfig(name="coverage")])
)

# Few different scores, some apart by less than any rounding shows: ties and near ties are what matters.
SCORES = st.none() | st.sampled_from([0.0, 0.5, 0.5 + 1e-15, 0.8, 0.8 - 1e-12, 1.0])
TEAMS = st.dictionaries(
    st.sampled_from(NAMES), st.dictionaries(st.integers(1, 4), SCORES, max_size=4), min_size=1, max_size=12
)
KEYS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.0, 0.5, 1.0]), max_size=4)


def board_of(teams: Mapping[str, Rounds], keys: Mapping[str, float]) -> LiveLeaderboard:
    board = LiveLeaderboard()
    board.enter(RUN, [(team, team.upper()) for team in teams])
    for team, rounds in teams.items():
        for number, score in rounds.items():
            board.add_submission(RUN, team, number)
            board.add_score(RUN, team, number, score)
    board.set_pairwise(RUN, {team: key for team, key in keys.items() if team in teams})
    return board


def places(entries: list[LeaderboardEntry]) -> list[Place]:
    return [Place(entry.rank, entry.team_id, entry.best_score) for entry in entries]


def outcome_of(team: str, rounds: Rounds, key: float | None) -> TeamOutcome:
    return TeamOutcome(
        team=TeamConfig(team_id=team, name=team.upper(), sources=["local"]),
        status=TeamStatus(team_id=team, team_name=team.upper(), status="completed"),
        rounds=[
            Round(round_number=number, submission="x", score=score, feedback="", metrics=[], seconds=0)
            for number, score in sorted(rounds.items())
        ],
        pairwise_key=key,
    )


@settings(deadline=None)
@given(TEAMS, KEYS)
def test_the_live_ranking_follows_the_rule(teams: dict[str, Rounds], keys: dict[str, float]) -> None:
    assert places(board_of(teams, keys).leaderboard(RUN)) == by_the_rule(teams, keys)


@settings(deadline=None)
@given(TEAMS, KEYS)
def test_the_outcomes_and_the_winner_follow_the_rule(teams: dict[str, Rounds], keys: dict[str, float]) -> None:
    outcomes = [outcome_of(team, rounds, keys.get(team)) for team, rounds in teams.items()]

    expected = by_the_rule(teams, keys)

    entered = [outcome.team.model_dump() for outcome in outcomes]
    rows = [outcome.model_dump(mode="json", exclude={"pairwise_key"}) for outcome in outcomes]
    view = ContestView(ContestState(outcomes=rows, teams=entered, pairwise=keys))
    winner = view.winner
    assert places(view.standings) == expected
    assert (winner.team.team_id if winner else None) == (expected[0].team_id if expected[0].rank else None)


@settings(deadline=None)
@given(TEAMS, KEYS, st.sampled_from(NAMES), st.integers(1, 12))
def test_a_prompt_shows_the_first_of_the_ranking_and_the_teams_place_among_all(
    teams: dict[str, Rounds], keys: dict[str, float], own: str, shown: int
) -> None:
    rows = "{% for e in leaderboard %}{{ [e.rank, e.team_id, e.best_score, e.is_own] }};{% endfor %}"
    settings = PromptBuilderSettings(
        team_user_prompt=rows + "|{{ current_team_rank }}|{{ team_position_message }}",
        round_prompt=RoundPromptConfig(max_leaderboard_display_teams=shown, estimated_prompt_tokens=100_000),
    )
    context = RoundPromptContext(
        user_prompt="Why?", round_number=2, round_history=[], team_id=own, team_name=own, execution_id=RUN
    )

    prompt = UserPromptBuilder(settings, board_of(teams, keys)).build_team_prompt(context)

    expected = by_the_rule(teams, keys)
    ranking, rank, position = prompt.split("|")
    place = next((place.rank for place in expected if place.team_id == own), None)
    assert ranking.split(";")[:-1] == [str([*entry, entry.team_id == own]) for entry in expected[:shown]]
    assert rank == str(place)
    text = f"place {place} of {len(expected)}" if place else f"no place in the ranking yet ({len(expected)} teams)"
    assert text in position
    assert not re.search(r"[-−]|\b0\.0 points", position)


@settings(deadline=None)
@given(TEAMS, KEYS)
def test_the_live_table_and_the_report_keep_the_order_of_the_ranking(
    teams: dict[str, Rounds], keys: dict[str, float]
) -> None:
    ranking, expected = board_of(teams, keys).leaderboard(RUN), by_the_rule(teams, keys)
    board = Board()
    board.rank(ranking)

    table = head_markdown(ReportHead(status="completed", leaderboard=ranking), "en").splitlines()

    assert [(row.rank, row.team_id, row.best) for row in board.rows()] == expected
    assert [line.split(" | ")[0] for line in table if re.match(r"\| (\d+|–) ", line)] == [
        f"| {place.rank or '–'}" for place in expected
    ]


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


async def write_record(path: Path, teams: Mapping[str, Rounds], keys: Mapping[str, float]) -> None:
    store = RecordStore(path)
    await store.start_execution(execution(thread_id="first"))
    for team, rounds in teams.items():
        await store.save_team_status(RUN, TeamStatus(team_id=team, team_name=team.upper()))
        for number, score in rounds.items():
            await store.save_submission(submission(number, team_id=team))
            await store.save_evaluation(evaluation(score, number, team_id=team))
    await store.set_pairwise(RUN, dict(keys))
    await store.close()


TIES: dict[str, Rounds] = {
    "level": {1: 0.8, 2: 0.5},
    "later": {1: 0.3, 2: 0.8},
    "above": {1: 0.8 + 1e-12},
    "chosen": {1: 0.9},
    "passed": {1: 0.91},
    "open": {1: None, 2: None},
    "early": {1: None},
    "absent": {},
}
COMPARED = {"chosen": 1.0, "passed": 0.0}


def test_the_command_shows_ties_as_the_rule_has_them(terminal: Terminal) -> None:
    asyncio.run(write_record(terminal.workspace / "contend.duckdb", TIES, COMPARED))

    output = terminal("leaderboard", "first").out.splitlines()
    entries = json.loads(terminal("leaderboard", "first", "--json").out)["leaderboard"]

    expected = by_the_rule(TIES, COMPARED)
    assert [place.team_id for place in expected] == [
        "chosen", "passed", "above", "later", "level", "open", "early", "absent",
    ]  # fmt: skip
    assert [Place(entry["rank"], entry["team_id"], entry["best_score"]) for entry in entries] == expected
    rows = [line.split()[:3] for line in output if re.match(r" *(\d|–) +[A-Z]", line)]
    assert [row[1].lower() for row in rows] == [place.team_id for place in expected]
    assert [row[2] for row in rows] == [
        "90.0/100", "91.0/100", "80.0/100", "80.0/100", "80.0/100", "未採点", "未採点", "–",
    ]  # fmt: skip


def test_the_record_answers_the_place_of_each_team_by_the_rule(terminal: Terminal) -> None:
    path = terminal.workspace / "contend.duckdb"
    asyncio.run(write_record(path, TIES, COMPARED))

    async def asked() -> list[int | None]:
        store = RecordStore(path)
        try:
            ranks = {entry.team_id: entry.rank for entry in await store.leaderboard(RUN)}
            return [ranks[place.team_id] for place in by_the_rule(TIES, COMPARED)]
        finally:
            await store.close()

    assert asyncio.run(asked()) == [1, 2, 3, 4, 5, 6, 7, None]
