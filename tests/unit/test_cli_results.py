"""Where a run leaves its report, and that it takes no other run's place there."""

import json
from pathlib import Path

import pytest

from contend.cli.outcome import slug
from fakes.terminal import CommandResult, Terminal
from fakes.vendors import Vendors

QUESTION = "How does resume go on after a crash?"
SLUG = "how-does-resume-go-on-after-a-crash"
FILES = ["report.html", "report.json", "report.md"]


@pytest.fixture
def terminal(
    workspace: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    return Terminal(workspace, capsys.readouterr)


def _run(terminal: Terminal, documents: Path, *more: str | Path) -> CommandResult:
    options = ("--docs", documents, "--source", "local", "--team", "archivist", "--rounds", "1", "--no-learn")
    return terminal("run", QUESTION, *options, *more)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_report_lies_below_the_working_directory_and_the_last_line_says_so(
    terminal: Terminal, documents: Path, tmp_path: Path
) -> None:
    result = _run(terminal, documents)

    folder = Path("contend-results") / SLUG
    assert result.out.splitlines()[-1] == f"Report  {folder}/report.md"
    assert _names(tmp_path / folder) == FILES


def test_a_second_run_of_the_question_takes_a_folder_of_its_own_and_the_first_one_keeps_its_files(
    terminal: Terminal, documents: Path, tmp_path: Path
) -> None:
    _run(terminal, documents, "--thread", "first")
    before = (tmp_path / "contend-results" / SLUG / "report.json").read_bytes()

    outcome = json.loads(_run(terminal, documents, "--json").out.splitlines()[-1])
    again = terminal("resume", "first")

    assert _names(tmp_path / "contend-results") == [SLUG, f"{SLUG}-2"]
    assert outcome["files"][0] == str(tmp_path / "contend-results" / f"{SLUG}-2" / "report.md")
    assert again.out.splitlines()[-1] == f"Report  contend-results/{SLUG}/report.md"
    assert (tmp_path / "contend-results" / SLUG / "report.json").read_bytes() == before


def test_a_folder_with_another_runs_report_is_refused_before_anything_is_spent(
    terminal: Terminal, documents: Path, vendors: Vendors, tmp_path: Path
) -> None:
    _run(terminal, documents, "--out", tmp_path / "mine", "--thread", "first")
    before = (tmp_path / "mine" / "report.md").read_bytes()
    calls = len(vendors.calls)

    result = _run(terminal, documents, "--out", tmp_path / "mine")
    again = terminal("resume", "first", "--out", tmp_path / "mine")

    assert (result.code, len(vendors.calls)) == (2, calls)
    assert "report.md of another run is there: name another folder" in result.err
    assert again.code == 0
    assert (tmp_path / "mine" / "report.md").read_bytes() == before


def test_a_resume_leaves_the_report_where_the_run_was_told_to(
    terminal: Terminal, documents: Path, tmp_path: Path
) -> None:
    waiting = _run(terminal, documents, "--out", tmp_path / "mine", "--thread", "first", "--approve", "report")

    result = terminal("resume", "first", "--approve")

    assert (waiting.code, result.code) == (3, 0)
    assert _names(tmp_path / "mine") == FILES
    assert not (tmp_path / "contend-results").exists()


def test_reports_of_earlier_runs_are_no_documents_of_the_next(
    terminal: Terminal, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(documents)
    _run(terminal, documents)

    outcome = json.loads(_run(terminal, documents, "--json").out.splitlines()[-1])

    assert (documents / "contend-results" / f"{SLUG}-2").is_dir()
    assert "contend-results" not in json.dumps(outcome["report"]["sources"])


def test_where_nothing_can_be_written_the_report_stays_in_the_workspace(
    terminal: Terminal, documents: Path, tmp_path: Path
) -> None:
    (tmp_path / "contend-results").write_text("a file in the way")

    result = _run(terminal, documents, "--thread", "first")

    assert result.code == 0
    assert result.out.splitlines()[-1] == "Report  workspace/results/first/report.md"


@pytest.mark.parametrize(
    ("theme", "expected"),
    [
        ("Why do long bridges hum in the wind?", "why-do-long-bridges-hum-in-the-wind"),
        ("  ../../etc/passwd\x00 & Co. ", "etc-passwd-co"),
        ("長い橋はなぜ風の中で鳴るのですか？", "長い橋はなぜ風の中で鳴るのですか"),
        ("ＡＢＣ　１２３", "abc-123"),
        (
            "a question of very many words that goes on and on until it has to end somewhere",
            "a-question-of-very-many-words-that-goes",
        ),
        ("橋" * 200, "橋" * 40),
        ("?!…", ""),
    ],
)
def test_a_question_becomes_a_folders_name(theme: str, expected: str) -> None:
    assert slug(theme) == expected
