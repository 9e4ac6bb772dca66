"""A disk that is full, read-only or something else than a folder: the cause in one line, and the run goes on later.

A limit on the size of files stands in for a full disk: it holds for root and others alike, and needs no mount.
"""

import resource
from pathlib import Path

import pytest

from contend.cli.outcome import leave_files
from contend.cli.ui import system_fault
from contend.errors import InputError
from contend.sources.local import list_files
from fakes.children import Child, contend_child
from fakes.contests import write_workspace
from fakes.disk import file_size_limit
from fakes.terminal import CONTEND, Terminal, child_of
from fakes.vendors import Vendors

THEME = "How does resume work after a kill?"
NO_FOLDERS = Path("/proc")
"""Where nobody, root included, can make a file or folder."""


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


def fill_disk(child: Child) -> None:
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))


@pytest.mark.parametrize("moment", ["run_started", "step_done", "round_submitted", "winner_picked"])
def test_a_disk_that_fills_up_stops_the_run_which_goes_on_when_there_is_space(
    workspace: Path, documents: Path, vendors: Vendors, moment: str
) -> None:
    write_workspace(workspace)
    command = ["run", THEME, "--docs", documents, "--source", "local", "--rounds", "1", "--thread", "full"]
    vendors.latency = 0.1
    with contend_child(workspace, *command, base_url=vendors.base_url) as child:
        child.until(moment)
        fill_disk(child)
        stopped = child.end()

    assert stopped["exit_code"] == 2
    assert "defect" not in stopped["message"]
    assert str(workspace) in stopped["message"]
    assert "contend resume full" in stopped["message"]
    assert stopped["message"].count("\n") == 0

    vendors.latency = 0.0
    with contend_child(workspace, "resume", "full", base_url=vendors.base_url) as child:
        outcome = child.end()

    assert outcome["exit_code"] == 0, outcome["message"]
    assert outcome["summary"]["completed_teams"] == 2


def test_a_disk_that_is_full_when_the_report_is_left_leaves_no_half_of_it(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("report.md", "report.html", "report.json")]
    for file in files:
        Path(file).write_text("word " * 1000, "utf-8")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(InputError, match=r"--out .*: File too large; the report is in"):
            leave_files(files, tmp_path / "out", THEME)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert list((tmp_path / "out").iterdir()) == []


DRY_AND_REAL = pytest.mark.parametrize("how", [[], ["--dry-run"]], ids=["run", "dry-run"])


@DRY_AND_REAL
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--workspace", NO_FOLDERS / "contend"], "workspace /proc cannot be written"),
        (["--out", NO_FOLDERS / "contend"], "--out /proc cannot be written"),
        (["--out", "a-file/below"], "a-file is a file: name a folder"),
        (["--workspace", "a-file"], "a-file is a file: name a folder"),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused_before_anything_starts(
    terminal: Terminal, documents: Path, how: list[str], options: list[str | Path], words: str
) -> None:
    Path("a-file").write_text("no folder")

    result = terminal("run", THEME, "--docs", documents, "--source", "local", *options, *how)

    assert result.code == 2
    assert result.err.count("\n") == 1
    assert words in result.err
    assert terminal.files() == []


@pytest.mark.parametrize(
    "command", [["runs"], ["status", "any"], ["delete", "any"], ["playbook", "show", "default"], ["config", "show"]]
)
def test_every_command_says_that_a_workspace_is_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    (tmp_path / "a-file").write_text("no folder")

    output = Terminal(tmp_path / "a-file", capsys.readouterr)(*command)

    assert (output.code, output.out) == (2, "")
    assert "a-file is a file: name a folder" in output.err


@DRY_AND_REAL
def test_too_little_space_is_refused_before_anything_starts(
    terminal: Terminal, documents: Path, how: list[str]
) -> None:
    with file_size_limit(1_000_000):
        result = terminal("run", THEME, "--docs", documents, "--source", "local", *how)

    assert result.code == 2
    assert "has no 20 MB left" in result.err
    assert not terminal.workspace.exists()


def test_a_full_device_behind_standard_output_is_named_with_the_way_to_go_on(workspace: Path, documents: Path) -> None:
    command = ["run", THEME, "--docs", documents, "--source", "local", "--thread", "full", "--workspace", workspace]

    with child_of(["bash", "-c", f'exec "{CONTEND}" "$@" >/dev/full', "contend", *command]) as child:
        _, output = child.communicate(timeout=240)

    assert child.returncode == 2
    assert "No space left on device" in output
    assert "defect" not in output


def test_what_the_system_refuses_is_named_and_is_no_defect() -> None:
    with pytest.raises(OSError, match="No such file") as excinfo:
        (NO_FOLDERS / "contend").mkdir()

    assert system_fault(excinfo.value) == "/proc/contend: No such file or directory: mend its rights or its path"


def test_a_folder_whose_links_lead_in_a_circle_is_searched_all_the_same(terminal: Terminal, documents: Path) -> None:
    (documents / "one.md").symlink_to("two.md")
    (documents / "two.md").symlink_to("one.md")

    result = terminal("run", THEME, "--docs", documents, "--source", "local", "--dry-run")

    assert result.code == 0
    assert "one.md, two.md (a link that leads in a circle)" in result.out


def test_folders_of_the_system_with_links_that_nobody_may_follow_are_searched_all_the_same() -> None:
    _, left_out = list_files([Path("/proc/1")])

    assert left_out
