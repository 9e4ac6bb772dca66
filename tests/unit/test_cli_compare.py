"""Two runs side by side."""

import json
import shutil
from pathlib import Path

import pytest

from fakes.contests import LARGE_CONTEXT, write_workspace
from fakes.terminal import Terminal, run_before
from fakes.vendors import Vendors

QUESTION = "How does resume go on after a crash, and which calls are repeated?"
OTHER = (
    "What does a team do when a source fails, when its time is over, when its model refuses, when its documents hold "
    "nothing on the question that it was asked?"
)


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> Path:
    """A workspace with a run of two teams on all documents, then one of one team on a single document."""
    workspace = tmp_path_factory.mktemp("compared") / "workspace"
    write_workspace(workspace, reads=LARGE_CONTEXT)
    options = ("--source", "local", "--rounds", "2", "--no-learn", "--no-synthesis")
    single = ("--docs", shared_documents / "teams.md", "--team", "alpha", "--thread", "second")
    runs = [
        ("run", QUESTION, "--docs", shared_documents, "--thread", "first", *options),
        ("run", OTHER, *single, *options),
    ]
    with Vendors() as vendors:
        assert [result.code for result in run_before(workspace, vendors.base_url, *runs)] == [0, 0]
    return workspace


@pytest.fixture
def terminal(
    workspace: Path,
    two_runs: Path,
    vendors: Vendors,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Terminal:
    shutil.copytree(two_runs, workspace)
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    return Terminal(workspace, capsys.readouterr)


def test_two_runs_are_shown_with_their_questions_teams_rounds_criteria_cost_and_sources(terminal: Terminal) -> None:
    result = terminal("compare", "first", "latest")

    assert (result.code, result.err) == (0, "")
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert "A first B second" in lines
    assert any(line.startswith("Question How does") for line in lines)
    assert {*QUESTION.split(), *OTHER.split()} <= {*result.out.split()}  # folded where both are wider than the screen
    assert "Teams Alpha, Beta Alpha" in lines
    assert any(line.startswith("Beta, round 1 ") and line.endswith("/100 –") for line in lines)
    assert any(line.startswith("Criteria met ") and line.count(" of ") == 2 for line in lines)
    assert any(line.startswith("Used ") and line.count("tokens") == 2 for line in lines)
    only_a = result.out.partition("Cited by A only")[2]
    assert "resume.md" in only_a
    assert "teams.md" not in only_a


def test_as_json_both_sides_have_the_same_fields_and_sources_that_only_one_has(terminal: Terminal) -> None:
    both = json.loads(terminal("compare", "second", "first", "--json").out)
    status = json.loads(terminal("status", "first", "--json").out)

    assert both["a"].keys() == both["b"].keys()
    assert both["a"]["execution"]["thread_id"] == "second"
    assert [team["team_id"] for team in both["b"]["teams"]] == ["alpha", "beta"]
    assert both["b"]["usage"] == status["usage"]
    assert [each["score"] for each in both["b"]["rounds"]] == [row["score"] for row in status["rounds"]]
    assert both["b"]["criteria"]["all"] >= both["b"]["criteria"]["met"] >= 0
    assert any(source["url"].endswith("resume.md") for source in both["b"]["only_here"])
    assert not any(source["url"].endswith("teams.md") for source in both["b"]["only_here"])


def test_a_run_is_not_compared_with_itself_or_with_none(terminal: Terminal) -> None:
    same, unknown = terminal("compare", "second", "latest"), terminal("compare", "first", "third")

    assert (same.code, unknown.code) == (2, 2)
    assert "'second' and 'latest' are both thread second: name two" in same.err
    assert "thread 'third' has no run" in unknown.err


def test_a_run_without_a_report_is_compared_and_no_source_is_called_the_others_alone(
    terminal: Terminal, documents: Path, vendors: Vendors
) -> None:
    vendors.fail(status=400)
    assert terminal("run", QUESTION, "--docs", documents, "--source", "local", "--thread", "none").code == 2

    result = terminal("compare", "first", "none")

    assert result.code == 0
    assert "Failed" in result.out
    assert "Cited by" not in result.out
