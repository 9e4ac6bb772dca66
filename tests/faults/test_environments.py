"""Whatever the environment lacks or holds, contend works or says in one line what is wrong."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from contend.settings import load_settings
from contend.settings.files import load_config
from fakes.children import MAIN, outside
from fakes.terminal import Terminal

QUESTION = "What does the command resume do?"
# As in a container that runs under a user whom its password file does not know.
UNKNOWN_USER = """
import pwd
def nobody(_): raise KeyError("getpwuid(): uid not found")
pwd.getpwuid = pwd.getpwnam = nobody
"""


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


def contend(code: str, *arguments: str | Path, folder: Path, **variables: str) -> "subprocess.CompletedProcess[bytes]":
    environment = {name: value for name, value in outside(**variables).items() if value}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, check=False)  # noqa: S603 - ours


def test_a_run_without_a_home_folder_keeps_its_things_where_it_is(tmp_path: Path, documents: Path) -> None:
    ran = contend(UNKNOWN_USER + MAIN, "run", QUESTION, "--docs", documents, folder=tmp_path, HOME="")

    assert ran.returncode in {0, 1}, ran.stderr.decode()
    assert (tmp_path / ".local" / "share" / "contend" / "contend.duckdb").exists()


def test_a_run_in_an_ascii_locale_reads_and_writes_other_letters(tmp_path: Path, documents: Path) -> None:
    ascii_only = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ran = contend(MAIN, "run", "再開コマンドは何をしますか", "--docs", documents, folder=tmp_path, **ascii_only)

    assert ran.returncode in {0, 1}, ran.stderr.decode()
    assert "再開コマンド" in ran.stdout.decode("utf-8")
    assert os.fsencode("再開コマンドは何をしますか") in {os.fsencode(path.name) for path in tmp_path.rglob("*")}


def test_a_byte_order_mark_before_toml_or_env_is_no_fault(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "config").mkdir(parents=True)
    (workspace / "config" / "models.toml").write_text('\ufeffdefault = "mine"\n', "utf-8")
    (tmp_path / ".env").write_text("\ufeffCONTEND_MAX_RETRIES=7\n", "utf-8")
    monkeypatch.chdir(tmp_path)

    assert load_config(workspace).models.default == "mine"
    assert load_settings(workspace=workspace).max_retries == 7


def _toml(workspace: Path) -> None:
    (workspace / "config" / "orchestrator.toml").write_text("[options]\ndocuments = " + "[" * 100_000, "utf-8")


def _yaml(workspace: Path) -> None:
    (workspace / "config" / "sections.yaml").write_text("[" * 100_000, "utf-8")


@pytest.mark.parametrize("write", [_toml, _yaml])
def test_a_file_of_nothing_but_brackets_is_refused_in_one_line(
    terminal: Terminal, workspace: Path, write: Callable[[Path], None]
) -> None:
    (workspace / "config").mkdir(parents=True)
    write(workspace)

    result = terminal("doctor")

    assert result.code == 2
    assert "defect" not in result.out + result.err


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "socks4://127.0.0.1:9", "nonsense://"])
def test_a_proxy_that_does_not_work_is_named(
    terminal: Terminal, documents: Path, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://llm.example.org/v1")

    result = terminal("run", QUESTION, "--docs", documents, "--source", "local")

    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "ALL_PROXY" in result.err
