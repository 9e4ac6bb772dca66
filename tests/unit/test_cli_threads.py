"""Threads by their whole id, the beginning of it or `latest`; help, completion and `python -m contend`."""

import asyncio
import json
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contend.stores.record import RecordStore
from fakes.record_rows import execution
from fakes.terminal import CONTEND, Terminal, run_child, run_in_own_process

THREADS = (
    "0c9f3a52-7b1e-4f6d-9a55-0d2c1b3e4f50",
    "0c9f3a52-7b1e-4f6d-9a55-0d2c1b3e4f51",
    "7d40c6b2-1111-4222-8333-944455556666",
    "bridges",
    "bridges-again",
)
"""The last one has the newest run."""


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    asyncio.run(_write_runs(workspace))
    return Terminal(workspace, capsys.readouterr)


async def _write_runs(workspace: Path) -> None:
    record = RecordStore(workspace / "contend.duckdb")
    begin = datetime(2026, 5, 1, tzinfo=UTC)
    for number, thread in enumerate(THREADS):
        row = execution(f"run{number}", thread_id=thread, created_at=begin + timedelta(hours=number))
        await record.start_execution(row.model_copy(update={"status": "completed", "finished_at": begin}))
    await record.close()


def _thread_id(terminal: Terminal, name: str) -> str:
    return str(json.loads(terminal("status", name, "--json").out)["execution"]["thread_id"])


@pytest.mark.parametrize(
    ("name", "thread"),
    [
        ("latest", "bridges-again"),
        ("7d40", THREADS[2]),
        ("bridges", "bridges"),
        ("bridges-", "bridges-again"),
        (THREADS[1][:-1] + "1", THREADS[1]),
    ],
)
def test_a_thread_is_named_by_its_id_its_beginning_or_as_the_latest(terminal: Terminal, name: str, thread: str) -> None:
    assert _thread_id(terminal, name) == thread


def test_a_beginning_of_several_ids_is_refused_with_some_of_them(terminal: Terminal) -> None:
    result = terminal("status", "0c9f3a52")

    assert result.code == 2
    assert f"thread '0c9f3a52' may be one of 2 ({THREADS[1]}, {THREADS[0]}): give more of its id" in result.err


def test_less_than_four_characters_name_no_thread_by_its_beginning(terminal: Terminal) -> None:
    assert "thread '7d4' has no run" in terminal("status", "7d4").err


@pytest.mark.parametrize(
    "command",
    [("status",), ("leaderboard",), ("report",), ("resume",), ("delete",)],
    ids=lambda command: command[0],
)
def test_every_command_with_a_thread_takes_a_short_id_and_the_latest(terminal: Terminal, command: tuple[str]) -> None:
    short, latest = terminal(*command, "7d40"), terminal(*command, "latest")

    assert THREADS[2] in short.out + short.err or (short.code, command) == (0, ("leaderboard",))
    assert "bridges-again" in latest.out + latest.err


def test_latest_without_any_run_says_how_to_begin(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = Terminal(workspace, capsys.readouterr)("report", "latest")

    assert output.code == 2
    assert "no runs yet: begin with `contend run THEME`" in output.err


def test_no_run_gets_the_thread_latest(terminal: Terminal) -> None:
    result = terminal("run", "Why do bridges hum?", "--thread", "latest")

    assert result.code == 2
    assert "--thread 'latest'" in result.err


def test_drawn_ids_are_listed_as_short_as_they_are_unique_and_others_whole(terminal: Terminal) -> None:
    threads = re.findall(r"^(\S+) +2026-", terminal("runs").out, re.MULTILINE)

    assert threads == ["bridges-again", "bridges", "7d40c6b2", THREADS[1], THREADS[0]]
    assert [_thread_id(terminal, name) for name in threads] == list(reversed(THREADS))
    assert {row["thread_id"] for row in json.loads(terminal("runs", "--json").out)} == set(THREADS)


# Help and completion


def test_minus_h_is_help_for_every_command(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(workspace, capsys.readouterr)

    for command in ([], ["run"], ["playbook"], ["playbook", "show"]):
        assert "Usage: contend" in terminal(*command, "-h").out
        assert terminal(*command, "-h") == terminal(*command, "--help")


def test_the_help_of_a_run_has_each_choice_in_one_piece_in_80_columns(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    output = Terminal(workspace, capsys.readouterr)("run", "--help").out

    choices = ("auto (default):", "quick:", "standard:", "deep:", "<brief|standard|long>", "<auto|en|ja>")
    assert all(choice in output for choice in choices)


def test_contend_runs_as_a_module_under_its_own_name() -> None:
    result = run_child(sys.executable, "-m", "contend", "run", "-h")

    assert "Usage: contend run" in result.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion(shell: str) -> None:
    # Asked of contend itself: `--show-completion` looks for the shell that it was started from.
    result = run_child(CONTEND, _CONTEND_COMPLETE=f"source_{shell}")

    assert (result.code, result.err) == (0, "")
    assert "_CONTEND_COMPLETE" in result.out


def completions(line: str, **environment: str) -> list[str]:
    """What bash offers for the last word of a line."""
    words = line.split(" ")
    variables = {"_CONTEND_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return run_in_own_process(**variables, **environment).out.split()


def test_commands_options_and_threads_are_completed(terminal: Terminal) -> None:
    where = {"CONTEND_WORKSPACE": str(terminal.workspace)}

    assert completions("contend lead") == ["leaderboard"]
    assert completions("contend run --max-u") == ["--max-usd"]
    assert completions("contend status ", **where) == ["latest", *reversed(THREADS)]
    assert completions("contend status bri", **where) == ["bridges-again", "bridges"]
    assert completions(f"contend report --workspace {terminal.workspace} 7d") == [THREADS[2]]
