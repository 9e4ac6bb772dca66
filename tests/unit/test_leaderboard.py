from typing import NamedTuple

from hypothesis import strategies as st

from contend.models.round import LeaderboardEntry, LiveLeaderboard

RUN = "run"


class ScoredRound(NamedTuple):
    team_id: str
    round_number: int
    score: float | None


SCORED_ROUNDS = st.builds(
    ScoredRound,
    team_id=st.sampled_from("abcd"),
    round_number=st.integers(1, 4),
    score=st.none() | st.sampled_from([0.0, 0.5, 0.8, 1.0]),
)


def board_of(*rounds: ScoredRound) -> LiveLeaderboard:
    board = LiveLeaderboard()
    board.enter(RUN, [(team_id, team_id.upper()) for team_id in "abcd"])
    for team_id, round_number, score in rounds:
        board.add_submission(RUN, team_id, round_number)
        board.add_score(RUN, team_id, round_number, score)
    return board


def line_of(board: LiveLeaderboard, team_id: str) -> LeaderboardEntry:
    return next(entry for entry in board.leaderboard(RUN) if entry.team_id == team_id)


def test_entered_teams_stand_without_a_rank() -> None:
    assert [(entry.team_name, entry.rank) for entry in board_of().leaderboard(RUN)] == [
        ("A", None),
        ("B", None),
        ("C", None),
        ("D", None),
    ]


def test_an_unknown_execution_has_an_empty_leaderboard() -> None:
    assert LiveLeaderboard().leaderboard(RUN) == []


def test_a_submission_without_a_score_has_a_rank_and_no_score() -> None:
    board = board_of()
    board.add_submission(RUN, "b", 1)

    assert (line_of(board, "b").rank, line_of(board, "b").best_score) == (1, None)


def test_a_worse_later_round_leaves_the_best_score() -> None:
    best = line_of(board_of(ScoredRound("a", 1, 0.8), ScoredRound("a", 2, 0.5)), "a")

    assert (best.best_score, best.best_round, best.latest_round, best.scored_round) == (0.8, 1, 2, 2)


def test_of_equally_good_rounds_the_later_is_the_best() -> None:
    assert line_of(board_of(ScoredRound("a", 1, 0.8), ScoredRound("a", 2, 0.8)), "a").best_round == 2


def test_an_unscored_later_round_is_no_scored_round() -> None:
    best = line_of(board_of(ScoredRound("a", 1, 0.8), ScoredRound("a", 2, None)), "a")

    assert (best.best_score, best.latest_round, best.scored_round) == (0.8, 2, 1)


def test_a_round_scored_again_keeps_the_last_score() -> None:
    assert line_of(board_of(ScoredRound("a", 1, 0.8), ScoredRound("a", 1, 0.5)), "a").best_score == 0.5


def test_a_round_submitted_again_keeps_its_score() -> None:
    board = board_of(ScoredRound("a", 1, 0.8))
    board.add_submission(RUN, "a", 1)

    assert line_of(board, "a").best_score == 0.8


def test_entering_again_keeps_what_is_known() -> None:
    board = board_of(ScoredRound("a", 1, 0.8))
    board.enter(RUN, [("a", "Alpha")])

    assert (line_of(board, "a").team_name, line_of(board, "a").best_score) == ("Alpha", 0.8)


def test_a_pairwise_key_decides_between_equal_scores() -> None:
    board = board_of(ScoredRound("a", 1, 0.8), ScoredRound("b", 1, 0.8))
    board.set_pairwise(RUN, {"a": 0.0, "b": 1.0})

    assert [entry.team_id for entry in board.leaderboard(RUN)][:2] == ["b", "a"]


def test_pairwise_keys_set_again_replace_all_earlier_ones() -> None:
    board = board_of(ScoredRound("a", 1, 0.8), ScoredRound("b", 1, 0.8))
    board.set_pairwise(RUN, {"b": 1.0})
    board.set_pairwise(RUN, {"a": 1.0})

    assert [entry.team_id for entry in board.leaderboard(RUN)][:2] == ["a", "b"]
