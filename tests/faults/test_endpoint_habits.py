"""An endpoint of any habit gives a report, or one line with the true cause and what to set."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakes.contests import Contest, write_workspace
from fakes.habits import HABITS, HabitServer
from fakes.terminal import CommandResult, Terminal
from fakes.vendors import Vendors

THEME = "How does resume work after a kill?"
OF_CONTEXT = {"context_as_text": "4,096", "context_of_provider": "8,192", "context_as_count": "1,048,576"}


@pytest.fixture(scope="module")
def habits() -> Iterator[HabitServer]:
    with HabitServer() as server:
        yield server


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


@pytest.fixture
def run(
    terminal: Terminal, habits: HabitServer, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], CommandResult]:
    """A quick run with one team on an endpoint of a habit."""
    how = ["--source", "local", "--depth", "quick", "--team", "skeptic", "--model", "m1"]

    def run_on(habit: str) -> CommandResult:
        monkeypatch.setenv("OPENAI_BASE_URL", habits.url(habit))
        return terminal("run", THEME, "--docs", documents, *how)

    return run_on


@pytest.mark.parametrize("habit", [habit for habit in HABITS if habit not in OF_CONTEXT])
def test_an_endpoint_of_any_habit_gives_a_report(run: Callable[[str], CommandResult], habit: str) -> None:
    result = run(habit)

    assert result.code in {0, 1}, result.out
    assert "failed" not in result.out


@pytest.mark.parametrize(("habit", "size"), OF_CONTEXT.items())
def test_a_prompt_over_the_context_is_one_line_with_its_size_and_what_to_set(
    run: Callable[[str], CommandResult], habit: str, size: str
) -> None:
    result = run(habit)

    text = " ".join(result.out.split())
    assert result.code == 2
    assert f"longer than the model's context of {size} tokens" in text
    assert all(setting in text for setting in ("num_ctx", "llama.cpp -c", "--max-model-len"))


async def test_a_run_whose_teams_all_failed_on_the_endpoint_begins_again(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    write_workspace(workspace)
    contest = Contest(workspace, documents, vendors.base_url)
    vendors.fail(status=402, message="Insufficient Balance")
    lost = await contest.run(THEME, thread_id="again", max_calls=400)
    vendors.heal()

    outcome = await contest.resume("again")
    once_more = await contest.resume("again")

    assert (lost.status, outcome.status) == ("failed", "completed")
    assert outcome.execution_id == lost.execution_id
    assert outcome.summary is not None
    assert {status.status for status in outcome.summary.team_statuses} == {"completed"}
    assert not once_more.went_on


@pytest.mark.parametrize("theme", [THEME, "再開の仕組みは何ですか"])
def test_counts_that_are_roughly_right_stop_nothing(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    """The loopback server counts a token for four characters, whatever the language."""
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)

    result = terminal("run", theme, "--docs", documents, "--source", "local", "--depth", "quick")

    assert result.code in {0, 1}, result.out
