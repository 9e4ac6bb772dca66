"""Judges, metrics and models that fail for ever: the others finish, nothing handed in is lost, and the user is told."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fakes.contests import judge_apart, write_workspace
from fakes.terminal import Terminal
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
METRICS = """[[evaluator.metrics]]
name = "coverage"

[[evaluator.metrics]]
name = "relevance"

[[evaluator.metrics]]
name = "citation_validity"
kind = "code"
"""
HANGING = """
[[evaluator.metrics]]
name = "own"
kind = "python"
function = "mine:hangs"
timeout_seconds = 0.3
"""
Record = dict[str, Any]


class RunResult(NamedTuple):
    """What a user has of a run: its exit code and message, its events, what `contend status` says, and the record."""

    code: int
    message: str
    events: list[Record]
    status: str
    record: Record
    summary: Record

    def rounds(self) -> list[tuple[str, int]]:
        return [(row["team_id"], row["round_number"]) for row in self.record["rounds"]]

    def scores(self) -> list[float | None]:
        return [row["score"] for row in self.record["rounds"]]

    def submitted(self) -> list[tuple[str, int]]:
        submissions = [event for event in self.events if event["type"] == "round_submitted"]
        return sorted((event["team_id"], event["round_number"]) for event in submissions)

    def ends(self) -> dict[str, str]:
        return {team["team_id"]: team["status"] for team in self.record["teams"]}


class Contests(NamedTuple):
    """A terminal in a workspace of two teams that run one after the other, on the loopback's models."""

    terminal: Terminal
    documents: Path
    vendors: Vendors

    def play(self, *options: str) -> RunResult:
        flags = ("--docs", self.documents, "--source", "local", "--thread", "faulty", "--no-learn", "--json", *options)
        result = self.terminal("run", THEME, *flags)
        *events, outcome = [json.loads(line) for line in result.out.splitlines()]
        assert result.code == outcome["exit_code"]
        status = " ".join(self.terminal("status", "faulty").out.split())
        record = json.loads(self.terminal("status", "faulty", "--json").out)
        return RunResult(result.code, outcome["message"], events, status, record, outcome["summary"])


@pytest.fixture
def contests(
    workspace: Path,
    documents: Path,
    vendors: Vendors,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Contests:
    write_workspace(workspace, cap=1)
    judge_apart(workspace)
    (workspace / "config" / "evaluator.toml").write_text(METRICS, "utf-8")
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    monkeypatch.setenv("CONTEND_MAX_RETRIES", "0")
    monkeypatch.setenv("COLUMNS", "400")
    return Contests(Terminal(workspace, capsys.readouterr), documents, vendors)


TWICE = [("alpha", 1), ("alpha", 2), ("beta", 1), ("beta", 2)]


def complete(run: RunResult) -> None:
    """Both teams ended by themselves, and every submission is in the record with its place in the ranking."""
    assert run.ends() == {"alpha": "completed", "beta": "completed"}
    assert run.submitted() == run.rounds() == TWICE
    assert [entry["rank"] for entry in run.record["leaderboard"]] == [1, 2]
    assert run.record["execution"]["message"] == run.message


def test_a_round_judge_whose_words_are_unreadable_ends_no_team_and_is_named(contests: Contests) -> None:
    contests.vendors.malform(lambda reply: f"{reply[:20]}<<garbage", prompt="judge/judge")

    run = contests.play("--rounds", "1:2")

    complete(run)
    assert run.code == 0
    assert run.message.startswith("all teams delivered; the round judge failed after 2 rounds, and its team played on")
    assert "gave no usable reply to judge/judge, also after one repair" in run.status


def test_a_round_judge_seven_and_a_half_percent_sure_ends_no_team_and_is_named(contests: Contests) -> None:
    verdict = {"reasoning": "Enough.", "should_continue": False, "confidence_percent": 7.5}
    contests.vendors.reply(json.dumps(verdict), prompt="judge/judge")

    run = contests.play("--rounds", "1:2")

    complete(run)
    assert run.code == 0
    assert "the round judge failed after 2 rounds" in run.status
    assert "confidence_percent" in run.status


def test_an_evaluator_that_breaks_down_in_round_two_leaves_that_round_unscored(contests: Contests) -> None:
    contests.vendors.fail(status=500, prompt="evaluator/metric", after=2, times=2)

    run = contests.play("--rounds", "2")

    complete(run)
    assert run.code == 0
    assert [score is None for score in run.scores()] == [False, True, False, False]
    assert "unscored in 1 of 4 rounds: coverage, relevance" in run.status
    assert "planted failure" in run.status
    assert max(run.record["leaderboard"], key=lambda entry: entry["best_score"])["rank"] == 1


def test_scores_of_250_are_no_scores(contests: Contests) -> None:
    verdict = {"reason": "Splendid.", "evidence": [], "percent": 250}
    contests.vendors.reply(json.dumps(verdict), prompt="evaluator/metric")

    run = contests.play("--rounds", "2")

    complete(run)
    assert run.code == 1
    assert run.scores() == [None] * 4
    assert "unscored: no submission could be scored; unscored in 4 of 4 rounds: coverage, relevance" in run.status
    assert "less than or equal to 100" in run.status
    assert "unscored" in contests.terminal("leaderboard").out


def test_where_nobody_could_be_scored_nobody_is_said_to_have_won(contests: Contests) -> None:
    contests.vendors.fail(status=500, prompt="evaluator/metric")
    options = ("--docs", contests.documents, "--source", "local", "--rounds", "1", "--no-learn")

    output = contests.terminal("run", THEME, *options).out

    assert "contend     alpha comes first, unscored\n" in output
    assert "Partly done: Alpha comes first, unscored\n" in output
    assert "wins with" not in output


def test_a_team_whose_model_is_broken_forfeits_alone(contests: Contests) -> None:
    contests.vendors.fail(status=500, model="beta")

    run = contests.play("--rounds", "2")

    assert run.code == 1
    assert run.ends() == {"alpha": "completed", "beta": "failed"}
    assert run.submitted() == run.rounds() == TWICE[:2]
    assert run.message.startswith("team beta failed: model 'beta' at http://127.0.0.1")
    assert "team beta failed" in run.status


HANGS = """import time
from pathlib import Path


def hangs(given):
    while Path(__file__).exists():
        time.sleep(0.01)
"""


def test_a_metric_that_hangs_is_unscored_and_holds_nobody_up(contests: Contests) -> None:
    own = contests.terminal.workspace / "mine.py"
    own.write_text(HANGS, "utf-8")
    (contests.terminal.workspace / "config" / "evaluator.toml").write_text(METRICS + HANGING, "utf-8")

    run = contests.play("--rounds", "2")

    complete(run)
    assert run.code == 0
    assert None not in run.scores()
    assert "unscored in 4 of 4 rounds: own (the metric's function was not done within 0.3 s)" in run.status
    own.unlink()  # ends its threads: they would hold what DuckDB counts


def test_a_report_says_which_judges_failed(contests: Contests) -> None:
    contests.vendors.fail(status=500, prompt="evaluator/metric", match="Coverage: does")

    run = contests.play("--rounds", "1")

    assert "Note: unscored in 2 of 2 rounds: coverage" in contests.terminal("report", "faulty").out
    assert Counter(score is None for score in run.scores()) == {False: 2}


def test_a_japanese_run_says_in_japanese_what_failed(contests: Contests) -> None:
    contests.vendors.malform(lambda reply: f"{reply[:20]}<<garbage", prompt="judge/judge")
    contests.vendors.fail(status=500, model="beta")

    run = contests.play("--rounds", "1:2", "--language", "ja")

    failures = (
        r"チーム beta が失敗: model 'beta' at .+; 1ラウンドで続行の判定に失敗し、チームはそのまま続けました（.+）"
    )
    assert re.fullmatch(failures, run.message)
    report = contests.terminal("report", "faulty").out
    assert "\n- 注記：チーム beta が失敗: " in report
    assert re.search(r"^- 実行時間：[\d.]+秒$", report, re.MULTILINE)


def test_why_a_team_ended_within_a_round_leaves_the_decision_after_the_one_before(contests: Contests) -> None:
    contests.vendors.fail(status=500, model="beta", prompt="research/revise")

    run = contests.play("--rounds", "2")

    row = next(row for row in run.record["rounds"] if row["team_id"] == "beta")
    assert run.record["exit_reasons"]["beta"] == "failed"
    assert (row["decision"], row["exit_reason"]) == ("continue", None)
    assert row["score"] is not None
    assert row["active_seconds"] > 0
    (began, _) = (event for event in run.events if event["type"] == "round_started" and event["team_id"] == "beta")
    assert row["started_at"] == began["at"]


def test_a_budget_that_ends_a_team_within_a_round_is_its_exit_reason(contests: Contests) -> None:
    run = contests.play("--rounds", "3", "--max-calls", "7")

    assert run.code == 1
    assert set(run.record["exit_reasons"].values()) == {"max_calls"}
    assert "the calls are used up" in run.status


def test_a_team_begins_before_it_ends(contests: Contests) -> None:
    contests.vendors.fail(status=500, model="beta", prompt="research/write")
    contests.vendors.latency = 0.05

    run = contests.play("--rounds", "1")

    assert all(team["started_at"] < team["completed_at"] for team in run.record["teams"])
    assert run.summary["team_statuses"] == run.record["teams"]
    began = {event["team_id"]: event["at"] for event in run.events if event["type"] == "team_started"}
    end_times = {event["team_id"]: event["at"] for event in run.events if event["type"] == "team_done"}
    for team in run.record["teams"]:
        assert team["started_at"] <= began[team["team_id"]] < end_times[team["team_id"]]
