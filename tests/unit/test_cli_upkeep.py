"""init, delete and the search of a playbook, on the command line."""

import json
import re
import shutil
from pathlib import Path

import pytest

from contend.report import head_markdown
from contend.settings.files import load_config
from fakes.reports import finished_report, run_head
from fakes.servers import changes, fresh_repository
from fakes.terminal import Terminal, run_before
from fakes.vendors import Vendors

QUESTION = "How does resume go on after a crash, and which calls are repeated?"


@pytest.fixture
def terminal(
    workspace: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    """Set to a language model, unless a test takes the address away."""
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    return Terminal(workspace, capsys.readouterr)


@pytest.fixture(scope="module")
def bridges_run(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> Path:
    """A workspace with a finished run on thread `first` that taught the dataset bridges."""
    workspace = tmp_path_factory.mktemp("bridges") / "workspace"
    options = ("--docs", shared_documents, "--source", "local", "--rounds", "2:3", "--thread", "first")
    with Vendors() as vendors:
        (result,) = run_before(workspace, vendors.base_url, ("run", QUESTION, *options, "--dataset", "bridges"))
    assert result.code == 0
    return workspace


@pytest.fixture
def copied_terminal(terminal: Terminal, bridges_run: Path) -> Terminal:
    """A copy of it."""
    shutil.copytree(bridges_run, terminal.workspace)
    return terminal


def test_init_writes_a_workspace_that_loads(terminal: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "mine"

    result = terminal("init", folder)

    assert result.code == 0
    # What to do next is done there, and not in the workspace that is in effect.
    assert result.out.count(f" --workspace {folder}\n") == 2
    assert f"--workspace {terminal.workspace}" not in result.out
    config = load_config(folder)
    assert all(str(path).startswith(str(folder)) for path in config.files.values())
    assert (folder / "prompts" / "research" / "write.ja.md.j2").is_file()
    assert (folder / ".env.example").is_file()
    assert ".env" in (folder / ".gitignore").read_text("utf-8").splitlines()


def test_git_shows_of_a_workspace_what_its_owner_wrote(
    terminal: Terminal, tmp_path: Path, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    terminal("init", folder)
    before = changes(fresh_repository(folder))
    (folder / ".env").write_text("OPENAI_API_KEY=secret\n", "utf-8")
    monkeypatch.chdir(folder)

    Terminal(folder, lambda: ("", ""))("run", "How does resume work after a kill?", "--docs", documents, "--no-learn")

    assert (folder / "contend.duckdb").is_file()
    assert changes(folder) == before == ""


def test_init_leaves_a_gitignore_that_is_there(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("node_modules\n", "utf-8")

    for options in ([], ["--force"]):
        result = terminal("init", tmp_path, *options)
        assert result.code == 0
        assert ".gitignore" not in result.out

    assert (tmp_path / ".gitignore").read_text("utf-8") == "node_modules\n"


def test_init_overwrites_nothing_unless_forced(terminal: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    terminal("init", folder)
    mine = folder / "config" / "models.toml"
    mine.write_text('default = "mine"\n', "utf-8")

    result = terminal("init", folder)

    assert result.code == 2
    assert "would be overwritten" in result.err
    assert mine.read_text("utf-8") == 'default = "mine"\n'
    assert terminal("init", folder, "--force").code == 0
    assert 'default = "mine"' not in mine.read_text("utf-8")


def test_delete_leaves_nothing_of_the_thread(copied_terminal: Terminal) -> None:
    assert (copied_terminal.workspace / "results" / "first").is_dir()

    result = copied_terminal("delete", "first")

    assert result.code == 0
    assert "Deleted thread first: 1 run" in result.out
    assert copied_terminal("status", "first").code == 2
    assert not (copied_terminal.workspace / "results" / "first").exists()


def test_a_playbook_is_searched(copied_terminal: Terminal) -> None:
    result = copied_terminal("playbook", "search", "bridges", "search each point")

    assert result.code == 0
    assert "on trial" in result.out
    assert copied_terminal("playbook", "search", "rivers", "rounds").code == 2


def test_any_text_is_scored(terminal: Terminal, documents: Path) -> None:
    good = terminal("evaluate", documents / "resume.md", "--theme", QUESTION, "--model", "strict")
    other = terminal("evaluate", documents / "teams.md", "--theme", QUESTION, "--model", "strict", "--json")

    assert good.code == 0
    assert re.search(r"point_coverage +– ", good.out)
    assert "Overall" in good.out
    overall = float(good.out.split("Overall ")[1].split("/")[0]) / 100
    assert overall > json.loads(other.out)["overall"]


def test_a_text_without_citations_is_told_what_it_is_held_to(terminal: Terminal, documents: Path) -> None:
    output = terminal("evaluate", documents / "resume.md", "--theme", "How does resume work?").out

    assert "Overall 50.0/100\ncapped: nothing is cited" in output


def test_a_report_of_contend_is_scored_by_its_own_references(terminal: Terminal, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    report.write_text(f"{finished_report().to_markdown()}\n\n{head_markdown(run_head(), 'en')}\n", "utf-8")

    result = terminal("evaluate", report, "--theme", QUESTION, "--model", "strict", "--json")

    metrics = {metric["name"]: metric for metric in json.loads(result.out)["metrics"]}
    assert (result.code, metrics["citation_validity"]["score"]) == (0, 1.0)
    assert metrics["citation_support"]["score"] is None
    assert metrics["citation_support"]["reason"] == "no statement cites a passage that is at hand"


def test_a_text_ends_with_1_where_a_metric_that_applies_fails(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    vendors.fail(prompt="evaluator/verdicts", status=401)

    assert terminal("evaluate", documents / "resume.md", "--theme", QUESTION, "--model", "strict").code == 1


def test_an_empty_text_and_a_missing_file_are_refused(terminal: Terminal, tmp_path: Path) -> None:
    empty = tmp_path / "empty.md"
    empty.write_text("  ", "utf-8")

    assert "is empty" in terminal("evaluate", empty, "--theme", QUESTION).err
    assert "cannot be read" in terminal("evaluate", tmp_path / "missing.md", "--theme", QUESTION).err


def test_a_damaged_playbook_goes_back_by_the_very_command_that_its_error_names(
    copied_terminal: Terminal,
) -> None:
    before = copied_terminal("playbook", "show", "bridges", "--json").out
    playbook = copied_terminal.workspace / "playbooks" / "bridges.json"
    playbook.write_text("{ torn", "utf-8")

    advice = re.search(r"`contend (playbook rollback bridges \d+)`", copied_terminal("playbook", "show", "bridges").err)
    assert advice is not None
    again = copied_terminal(*advice[1].split())

    assert (again.code, again.err) == (0, "")
    assert "as it was in version 1, now version 2" in again.out
    bullets = [
        json.loads(each)["bullets"] for each in (before, copied_terminal("playbook", "show", "bridges", "--json").out)
    ]
    assert bullets[0] == bullets[1]
    assert "rolled back to version 1" in copied_terminal("playbook", "history", "bridges").out
    assert playbook.with_suffix(".damaged.json").read_text("utf-8") == "{ torn"


def test_a_finished_run_teaches_another_dataset_once(copied_terminal: Terminal) -> None:
    first, again = (copied_terminal("learn", "rivers", "--from", name) for name in ("first", "latest"))

    assert (first.code, again.code) == (0, 0)
    assert "Playbook rivers: 1 added, now version 1." in first.out
    assert again.out == first.out
    assert len(json.loads(copied_terminal("playbook", "show", "rivers", "--json").out)["bullets"]) == 1


def test_labelled_questions_are_answered_before_and_after_and_tested_in_turns(
    terminal: Terminal, tmp_path: Path
) -> None:
    labels = tmp_path / "labels.jsonl"
    questions = [{"question": f"What is {number} + 2?", "answer": str(number + 2)} for number in range(40)]
    labels.write_text("\n".join(map(json.dumps, questions)), "utf-8")

    result = terminal("learn", "sums", "--from", labels, "--format", "number")
    tested = terminal(
        "playbook", "ab", "sums", "--labels", labels, "--versions", "0,0", "--format", "number", "--limit", "5"
    )

    assert result.code == 0, result.err
    assert re.search(r"Before: 100\.0% of \d+ right, after: 100\.0% \(number\)\.", result.out)
    assert "0 gained, 0 lost, p = 1.000" in result.out
    assert tested.out.count("5 of 5 right (100.0%, number)") == 4
    assert "control, version 0 twice: 0 gained, 0 lost" in tested.out


def test_what_cannot_be_learned_from_is_one_line(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{}\n")

    for source, message in (
        (tmp_path / "bad.jsonl", "line 1"),
        ("nowhere", "--from nowhere: neither a file nor a thread with a run"),
        (tmp_path / "x.jsonl", "cannot be"),
    ):
        result = terminal("learn", "sums", "--from", source)
        assert result.code == 2
        assert message in result.err
        assert result.err.count("\n") == 1
