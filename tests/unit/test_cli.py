"""The command line: what each command says, its exit code, and what it leaves."""

import ast
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import NamedTuple

import pytest

from contend.cli import commands
from contend.cli.main import defect, keep_details
from contend.errors import InputError, without_secrets
from contend.models.events import ANY_EVENT, AnyEvent
from contend.models.playbook import Playbook
from contend.models.research import ResearchReport
from contend.prompts import PromptLibrary
from contend.settings import is_loopback, load_settings
from fakes.children import child_environment
from fakes.contests import write_workspace
from fakes.fork_server import Process
from fakes.printing import require_pdf
from fakes.terminal import CommandResult, Terminal, child_of, run_before
from fakes.vendors import Vendors

QUESTION = "How does resume go on after a crash, and which calls are repeated?"
JAPANESE = "強制終了の後、実行はどのように再開されますか"
LONG_JAPANESE = """# 再開の仕組み

実行は各段階の後に保存され、プロセスが強制終了しても、最後に終わった段階の状態は必ずファイルに残っています。
再開コマンドはこの保存内容を読み込み、最後に終わった段階の次から実行を続行し、終わった呼び出しは繰り返しません。
強制終了のときに途中だった呼び出しだけは結果が残っていないため、再開の後にもう一度だけ行われることになります。
複数のチームは同時に動きますが、一つのチームが失敗しても、他のチームの実行や保存された状態には影響しません。
実行の記録はデータベースにも残り、再開の後に同じ行が二度書かれることはなく、順位もそのまま引き継がれます。
"""
HEAVY = ("langgraph", "langchain_core", "langchain_openai", "duckdb", "numpy", "bm25s", "jinja2", "contend.models")


@pytest.fixture
def terminal(
    workspace: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    """Set to a language model, unless a test takes the address away."""
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    return Terminal(workspace, capsys.readouterr)


class FinishedRun(NamedTuple):
    """On thread `first` of a workspace; `said` by the command that ran it."""

    workspace: Path
    result: CommandResult


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> FinishedRun:
    workspace = tmp_path_factory.mktemp("finished") / "workspace"
    local = ("--docs", shared_documents, "--source", "local", "--depth", "standard")
    run = ("run", QUESTION, *local, "--thread", "first")
    with Vendors() as vendors:
        (result,) = run_before(workspace, vendors.base_url, run)
    return FinishedRun(workspace, result)


@pytest.fixture
def copied_terminal(terminal: Terminal, finished_run: FinishedRun) -> Terminal:
    """A copy of that workspace."""
    shutil.copytree(finished_run.workspace, terminal.workspace)
    return terminal


def events_of(out: str) -> tuple[list[AnyEvent], dict[str, object]]:
    """The events of JSON lines, and the outcome that ends them."""
    *lines, last = out.splitlines()
    return [ANY_EVENT.validate_json(line) for line in lines], json.loads(last)


# Help


def imported_by(*arguments: str, prints: str = "Usage: contend") -> set[str]:
    """The modules that are loaded after a command, which did what it is for."""
    script = (
        f"import sys; from contend.cli.main import run_command; run_command({arguments!r}); "
        "sys.stderr.write('\\n'.join(sys.modules))"
    )
    with child_of([sys.executable, "-c", script]) as child:
        out, modules = child.communicate(timeout=240)
    assert prints in out
    return set(modules.splitlines())


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["playbook"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert imported_by(*arguments).isdisjoint(HEAVY)


def test_who_lists_runs_waits_for_no_graphs_and_no_model(finished_run: FinishedRun) -> None:
    modules = imported_by("--workspace", str(finished_run.workspace), "runs", prints=QUESTION[:20])

    assert modules.isdisjoint({"langgraph", "langchain_core", "numpy"})


def test_the_first_help_does_without_pydantic_and_an_event_loop() -> None:
    assert imported_by("--help").isdisjoint({"pydantic", "asyncio"})


# Runs


def test_a_run_tells_its_events_and_ends_with_winner_summary_files_and_what_to_do_next(
    finished_run: FinishedRun,
) -> None:
    workspace, result = finished_run

    assert (result.code, result.err) == (0, "")
    assert "archivist   round 1: planned" in result.out
    assert re.search(
        r"^Completed · Published: editor's merge \d+\.\d/100; best team \w+ \d+\.\d/100$", result.out, re.MULTILINE
    )
    there = f"--workspace {workspace}"
    assert f"Next  contend report first {there}\n      contend leaderboard first {there}\n" in result.out
    assert f"\n      contend playbook show default {there}\n" in result.out


def test_the_end_of_a_run_shows_each_rounds_score_as_a_bar_and_why_its_report_is_published(
    finished_run: FinishedRun,
) -> None:
    events, _, end = finished_run.result.out.partition("\nCompleted · ")
    scored = re.findall(r" round (\d): scored ([\d.]+/100)", events)
    (merged,) = re.findall(r"the merged report is chosen \(([\d.]+/100)\)", events)

    bars = re.findall(r"(\d) +█+\S? +([\d.]+/100)", end)

    assert len(scored) > 2
    assert sorted(bars) == sorted(scored)
    assert re.search(rf"^ +Editor +█+\S? +{merged}  published$", end, re.MULTILINE)
    assert f"\nWhy: the editor's merge scored {merged}, the best team's report " in end


def test_json_lines_are_the_events_and_then_the_outcome(terminal: Terminal, documents: Path) -> None:
    result = terminal("run", QUESTION, "--docs", documents, "--source", "local", "--json")

    events, outcome = events_of(result.out)
    assert (result.code, result.err) == (0, "")
    assert [events[0].type, events[-1].type] == ["run_started", "run_done"]
    assert (outcome["type"], outcome["status"], outcome["exit_code"]) == ("outcome", "completed", 0)
    assert ResearchReport.model_validate(outcome["report"]).sources


def test_a_japanese_theme_is_shown_and_answered_as_it_is(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "再開.md").write_text(LONG_JAPANESE, "utf-8")

    result = terminal("run", JAPANESE, "--docs", tmp_path / "再開.md", "--source", "local", "--thread", "ja")

    assert result.code == 0
    assert JAPANESE in result.out
    assert "再開" in result.out.partition("概要")[2]
    assert "## 概要" in terminal("report", "ja").out
    assert JAPANESE in terminal("runs").out


def test_a_team_that_fails_makes_the_run_partial_and_is_named(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    write_workspace(terminal.workspace)
    vendors.fail(status=400, model="beta", message="planted [bold]failure[/bold]")

    result = terminal("run", QUESTION, "--docs", documents, "--thread", "half")

    assert result.code == 1
    assert "Partly done: Alpha wins" in result.out
    assert "team beta failed" in result.out
    assert "planted [bold]failure[/bold]" in result.out
    assert "beta failed" in terminal("status", "half").out


def test_a_run_without_any_delivery_ends_with_2_and_says_where_to_look(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    write_workspace(terminal.workspace)
    vendors.fail(status=400)

    result = terminal("run", QUESTION, "--docs", documents, "--thread", "none")

    assert result.code == 2
    assert "\nFailed\n" in result.out
    assert "contend status none" in result.out
    assert terminal("report", "none").err.startswith("error: thread 'none' has no report, its run is failed")


def test_out_gets_a_copy_of_the_report_and_nothing_is_learned_where_that_is_not_wanted(
    terminal: Terminal, documents: Path, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "copies"

    result = terminal("run", QUESTION, "--docs", documents, "--source", "local", "--no-learn", "--out", out)

    assert sorted(path.name for path in out.iterdir()) == ["report.html", "report.json", "report.md"]
    assert result.out.endswith("\nReport  deep/copies/report.md\n")
    assert terminal("playbook", "show", "default").code == 2


def test_a_dry_run_counts_calls_and_writes_nothing(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)

    result = terminal("run", QUESTION, "--docs", documents, "--source", "local", "--dry-run")
    as_json = terminal("run", QUESTION, "--docs", documents, "--source", "local", "--dry-run", "--json")

    least, most = json.loads(as_json.out)["calls"]
    assert 0 < least < most
    assert f"{least} to {most} model calls" in result.out
    assert "Archivist; where it leaves something open also Skeptic" in result.out
    assert "unknown: add the model's price" in result.out
    assert (terminal.files(), vendors.calls) == ([], [])


def test_a_dry_run_shows_money_where_prices_are_known(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    models = terminal.workspace / "config" / "models.toml"
    models.parent.mkdir(parents=True)
    models.write_text('default = "m"\n[prices.m]\ninput = 1000\noutput = 1000\n')

    result = terminal("run", QUESTION, "--docs", documents, "--source", "local", "--dry-run", "--json")

    estimate = json.loads(result.out)
    # Tokens are told as whole numbers.
    assert estimate["usd"] == pytest.approx([tokens / 1000 for tokens in estimate["tokens"]], abs=0.0006)


def test_a_dry_run_names_the_criteria_file_and_an_unknown_one_is_refused(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    folder = terminal.workspace / "criteria"
    folder.mkdir(parents=True)
    (folder / "ferry.toml").write_text('[[criteria]]\ntext = "It names the day."\n', "utf-8")
    ask = ("run", QUESTION, "--docs", documents, "--source", "local", "--dry-run")

    result, refused = terminal(*ask, "--criteria", "ferry"), terminal(*ask, "--criteria", "fery")

    assert "criteria/ferry.toml" in result.out
    assert refused.code == 2
    assert "(ferry)" in refused.err


# Going on


def test_a_finished_run_is_not_run_again_by_resume(copied_terminal: Terminal) -> None:
    result = copied_terminal("resume", "first")

    assert result.code == 0
    assert result.out.startswith("Nothing to do: thread first is completed")


@contextmanager
def begun(workspace: Path, documents: Path, vendors: Vendors) -> Iterator[Process]:
    """A run in a child process, in the middle of its first round: its drafts never come."""
    write_workspace(workspace)
    vendors.hang(prompt="research/write")
    environment = child_environment(workspace, OPENAI_BASE_URL=vendors.base_url)
    arguments = ("run", QUESTION, "--docs", str(documents), "--thread", "held", "--json", "--workspace", str(workspace))
    child = Process(*arguments, folder=workspace, environment=environment)
    try:
        assert any('"step": "plan"' in line for line in child.stdout)
        yield child
    finally:
        child.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_run_in_order_and_resume_goes_on(
    terminal: Terminal, documents: Path, vendors: Vendors, number: signal.Signals
) -> None:
    with begun(terminal.workspace, documents, vendors) as child:
        os.kill(child.pid, number)
        *_, last = child.stdout
        err = child.stderr.read()

        assert child.wait() == 130
    assert f"stopped; go on with `contend resume held --workspace {terminal.workspace}`" in err
    assert json.loads(last)["status"] == "interrupted"
    status = terminal("status", "held").out
    assert "contend resume held" in status
    assert re.search(r" stopped$", status, re.MULTILINE)
    assert " running" not in status
    vendors.heal()
    result = terminal("resume", "held")
    assert result.code == 0
    assert "Completed · Published: " in result.out


def test_a_run_at_work_is_not_taken_over_and_once_killed_it_is_shown_as_stopped_and_can_go_on(
    terminal: Terminal, documents: Path, vendors: Vendors
) -> None:
    with begun(terminal.workspace, documents, vendors) as child:
        assert "Running" in terminal("status", "held").out
        assert f"process {child.pid}" in terminal("resume", "held").err
        child.kill()

    result = terminal("status", "held")
    assert "Stopped · nobody works on it: the process ended" in result.out
    assert "contend resume held" in result.out
    assert json.loads(terminal("runs", "--json").out)[0]["status"] == "interrupted"
    assert "unfinished run" in terminal("run", QUESTION, "--docs", documents, "--thread", "held").err


_STUBBORN = """
import asyncio

async def stubborn(on_event=None):
    while True:
        try:
            print("works", flush=True)
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
"""


def test_a_second_signal_ends_a_stubborn_process_at_once(tmp_path: Path) -> None:
    script = f"""{_STUBBORN}
from contend.cli.run import run_until_signal

asyncio.run(run_until_signal(stubborn(), on_stop=lambda: None, at_once=lambda: print("at once", flush=True)))
"""
    (tmp_path / "stubborn.py").write_text(script)

    with child_of([sys.executable, tmp_path / "stubborn.py"]) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "works\n"
        child.terminate()
        assert child.stdout.readline() == "works\n"
        child.terminate()

        assert child.wait(timeout=60) == 130
        assert child.stdout.read() == "at once\n"


def test_a_run_that_ends_at_once_says_how_it_goes_on(tmp_path: Path) -> None:
    script = f"""{_STUBBORN}
from contend.cli.live import Board
from contend.cli.run import _drive
from pathlib import Path

_drive("held", stubborn, Board(began=True), out=None, own=Path())
"""
    (tmp_path / "stubborn.py").write_text(script)

    with child_of([sys.executable, tmp_path / "stubborn.py"]) as child:
        for _ in range(2):
            assert child.stdout is not None
            assert child.stdout.readline() == "works\n"
            child.send_signal(signal.SIGINT)

        assert child.wait(timeout=60) == 130
        assert child.stderr is not None
        assert child.stderr.read().splitlines() == [
            "stopping; once more ends at once",
            "stopped; go on with `contend resume held`",
        ]


# Reading


def test_status_shows_each_team_with_its_rounds_and_score(copied_terminal: Terminal) -> None:
    result = copied_terminal("status", "first")

    assert "Completed" in result.out
    assert re.search(r"^1 +\w+ +1 +█+\S? +\d+\.\d/100  done: ", result.out, re.MULTILINE)
    values = json.loads(copied_terminal("status", "first", "--json").out)
    assert {team["team_id"] for team in values["teams"]} == {"archivist", "skeptic"}


def test_runs_without_any_says_how_to_begin(terminal: Terminal) -> None:
    result = terminal("runs")

    assert result.out.startswith("No runs yet")
    assert "contend run THEME" in result.out
    assert terminal.files() == []


def test_the_leaderboard_is_of_the_latest_run_and_shows_rounds(copied_terminal: Terminal) -> None:
    latest, of_first = copied_terminal("leaderboard"), copied_terminal("leaderboard", "first")

    assert latest.out == of_first.out
    assert "Round 1" in latest.out
    entries = json.loads(copied_terminal("leaderboard", "--json").out)["leaderboard"]
    assert [entry["rank"] for entry in entries] == [1, 2]


def test_teams_are_rated_over_the_runs_of_a_dataset_and_few_runs_are_called_few(copied_terminal: Terminal) -> None:
    output = copied_terminal("standings").out
    standings = json.loads(copied_terminal("standings", "--json").out)

    assert "Rating" in output
    assert "1 run: too few to tell the first from the second." in output
    assert {team["team_id"] for team in standings["teams"]} == {"archivist", "skeptic"}
    assert all(team["low"] < team["rating"] < team["high"] for team in standings["teams"])


def test_what_rounds_teams_and_merges_brought_is_told_of_all_finished_runs(copied_terminal: Terminal) -> None:
    output = copied_terminal("stats").out
    seen = {each["step"]: each for each in json.loads(copied_terminal("stats", "--json").out)}

    assert "a further round" in output
    assert seen["teams"]["times"] == 1
    assert seen["teams"]["tokens"] > 0
    assert "From 20 times on" in output
    assert copied_terminal("standings").out.endswith(output)


def test_standings_of_a_dataset_without_runs_name_those_that_have_some(copied_terminal: Terminal) -> None:
    result = copied_terminal("standings", "nothing")

    assert result.code == 2
    assert "dataset 'nothing': no run of it in" in result.err
    assert "there are default" in result.err


def test_a_report_comes_in_each_format(copied_terminal: Terminal) -> None:
    results = copied_terminal.workspace / "results" / "first"

    assert copied_terminal("report", "first").out == (results / "report.md").read_text("utf-8")
    assert copied_terminal("report", "first", "--format", "html").out.startswith("<!")
    report = ResearchReport.model_validate_json(copied_terminal("report", "first", "--format", "json").out)
    assert copied_terminal("report", "first", "--format", "bibtex").out.count("@misc{") == len(report.sources)


@pytest.mark.parametrize(("kind", "begin"), [("pdf", b"%PDF"), ("docx", b"PK"), ("csv", b"\xef\xbb\xbfrank,team_id")])
def test_a_report_is_saved_as_pdf_word_document_or_table_of_scores(
    copied_terminal: Terminal, tmp_path: Path, kind: str, begin: bytes
) -> None:
    if kind == "pdf":
        require_pdf()
    file = tmp_path / f"report.{kind}"

    assert copied_terminal("report", "first", "--format", kind, "--out", file).out == f"Wrote {file}.\n"
    assert file.read_bytes().startswith(begin)


def test_a_folder_that_is_named_for_a_report_is_refused_as_one(copied_terminal: Terminal, tmp_path: Path) -> None:
    result = copied_terminal("report", "first", "--out", tmp_path)

    assert (result.code, result.err) == (2, f"error: --out {tmp_path}: cannot be written: Is a directory\n")


def test_a_report_goes_into_a_file_that_is_named(copied_terminal: Terminal, tmp_path: Path) -> None:
    result = copied_terminal("report", "first", "--format", "bibtex", "--out", tmp_path / "sources.bib")

    assert result.out == f"Wrote {tmp_path / 'sources.bib'}.\n"
    assert "@misc{" in (tmp_path / "sources.bib").read_text("utf-8")


def test_the_report_of_an_earlier_run_is_not_taken_for_that_of_a_failed_one(
    copied_terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    vendors.fail(status=400)

    assert copied_terminal("run", QUESTION, "--docs", documents, "--source", "local", "--thread", "first").code == 2

    result = copied_terminal("report", "first")
    assert (result.code, result.out) == (2, "")
    assert "has no report, its run is failed" in result.err


def test_a_playbook_shows_what_a_run_taught(copied_terminal: Terminal) -> None:
    playbook = Playbook.model_validate_json(copied_terminal("playbook", "show", "default", "--json").out)

    result = copied_terminal("playbook", "show", "default")

    assert playbook.bullets
    assert f"Playbook default, version {playbook.version}" in result.out
    assert "(on trial)" in result.out


# Config


def test_config_shows_where_values_come_from_and_no_secret(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:sk-planted-password@127.0.0.1:9/v1")
    monkeypatch.setenv("CONTEND_DATASET", "bridges")
    (tmp_path / ".env").write_text("TAVILY_API_KEY=tvly-planted-0123456789\n")

    result, as_json = terminal("config", "show"), terminal("config", "show", "--json")

    values = {value["name"]: (value["value"], value["origin"]) for value in json.loads(as_json.out)}
    assert "planted" not in result.out + as_json.out
    assert values["openai_api_key"] == ("(set, hidden)", "environment OPENAI_API_KEY")
    assert values["openai_base_url"] == ("http://127.0.0.1:9/v1", "environment OPENAI_BASE_URL")
    assert values["tavily_api_key"] == ("(set, hidden)", ".env TAVILY_API_KEY")
    assert values["run.dataset"] == ("bridges", "environment CONTEND_*")
    assert values["run.max_rounds"] == (2, "depth auto")
    assert values["run.min_rounds"] == (1, "config/orchestrator.toml")
    assert values["run.teams"][1] == "config/orchestrator.toml; depth auto enters 3 of them at most"
    assert values["workspace"] == (str(terminal.workspace), "--workspace")


def test_networks_and_folders_are_shown_in_the_configuration(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CONTEND_FETCH_ALLOW", "10.0.0.0/8, fd00::/8")
    monkeypatch.setenv("CONTEND_STARTED_IN", str(tmp_path))

    values = {value["name"]: value["value"] for value in json.loads(terminal("config", "show", "--json").out)}

    assert values["fetch_allow"] == ["10.0.0.0/8", "fd00::/8"]
    assert values["started_in"] == str(tmp_path)


def test_config_shows_the_file_behind_each_prompt(terminal: Terminal) -> None:
    own = terminal.workspace / "prompts" / "research" / "write.md.j2"
    own.parent.mkdir(parents=True)
    own.write_text("Write about {{ head }}.\n")

    rows = json.loads(terminal("config", "show", "--prompts", "--json").out)

    english = {row["name"]: row for row in rows if row["language"] == "en"}
    assert english["research/write"]["path"] == str(own)
    assert "head" in english["research/write"]["variables"]


def test_config_lists_every_prompt_in_both_languages_with_its_variables(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEND_TEAM_USER_PROMPT", "{{ user_prompt }}")

    rows = json.loads(terminal("config", "show", "--prompts", "--json").out)
    output = terminal("config", "show", "--prompts").out

    names = PromptLibrary(None).names()
    assert [(row["name"], row["language"]) for row in rows] == [(name, lang) for name in names for lang in ("en", "ja")]
    assert {row["path"] for row in rows if row["name"] == "team/brief"} == {"setting team_user_prompt"}
    assert {word for row in rows for word in (row["name"], *row["variables"])} <= set(output.split())


# Words


def test_a_secret_that_begins_as_a_shorter_one_is_hidden_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_API_KEY", "vault-of-birds")
    monkeypatch.setenv("B_API_KEY", "vault-of-birds-amaryllis")

    assert without_secrets("refused vault-of-birds-amaryllis") == "refused ***"


def test_an_unexpected_error_is_kept_without_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")

    path = keep_details(RuntimeError("refused sk-planted-0123456789"))

    assert "RuntimeError: refused ***" in path.read_text("utf-8")


def test_an_unexpected_error_is_told_and_kept_without_the_keys_of_the_env_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / ".env").write_text("HOUSE_API_KEY=planted-0123456789\n", "utf-8")
    error = RuntimeError("refused planted-0123456789")

    assert defect(error).startswith("RuntimeError: refused ***; a defect")
    assert "planted-0123456789" not in keep_details(error).read_text("utf-8")


@pytest.mark.parametrize("content", ["OPENAI_API_KEY=x".encode("utf-16"), b"# \xa3\n"], ids=["utf-16", "windows-1252"])
def test_an_env_file_that_is_no_utf_8_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_bytes(content)

    with pytest.raises(InputError, match=r"^\.env: not UTF-8 text: save it as UTF-8"):
        load_settings()


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),  # noqa: S104 - nothing listens here
        ("192.0.2.7", False),
        ("::", False),
        ("example.org", False),
    ],
)
def test_only_loopback_addresses_keep_others_out(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone


def test_the_work_of_each_command_takes_what_the_command_is_given() -> None:
    faults, names = [], []
    declarations = ast.parse(Path(commands.__file__).read_text("utf-8")).body
    for declaration in declarations:
        match declaration:
            case ast.FunctionDef(decorator_list=[ast.Call(args=[_, ast.Constant(value=str(work))])], args=given):
                names.append(declaration)
                module, name = work.split(":")
                takes = signature(getattr(import_module(f"contend.cli.{module}"), name))
                try:
                    takes.bind(**{each.arg: None for each in (*given.args, *given.kwonlyargs)})
                except TypeError as error:
                    faults.append(f"{work}: {error}")

    assert faults == []
    assert names == [each for each in declarations if isinstance(each, ast.FunctionDef)]
    assert names
