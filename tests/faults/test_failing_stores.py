"""A store that fails, or is not at hand: the run stops as a whole or is refused, and nothing is lost or made up."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

import contend
from contend.app import RunOutcome
from contend.errors import StoreError, StoreLocked
from contend.models.events import AnyEvent
from fakes.contests import Contest, write_workspace
from fakes.terminal import Terminal
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace)
    return Contest(workspace, documents, vendors.base_url, defaults={"learn": False, "max_rounds": 1})


async def run_until(contest: Contest, moment: str) -> None:
    """Run on thread `t`, whose record somebody else holds from the first event of this type on."""
    turn = FileLock(contest.workspace / "contend.duckdb.lock", thread_local=False)

    def watch(event: AnyEvent) -> None:
        if event.type == moment:
            turn.acquire()

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTEND_RECORD_LOCK_SECONDS", "0.1")
        services = contest.services()
    with pytest.raises(StoreError, match="is held by another process"):
        await contend.run(THEME, thread_id="t", options=contest.options(), services=services, on_event=watch)
    with suppress(StoreError):  # what is queued is lost, as by a kill
        await services.aclose()
    assert turn.is_locked
    turn.release(force=True)


def assert_is_whole(outcome: RunOutcome) -> None:
    assert (outcome.status, outcome.message) == ("completed", "all teams delivered")
    assert outcome.summary is not None
    assert {team.status for team in outcome.summary.team_statuses} == {"completed"}
    assert outcome.summary.best_score


@pytest.mark.parametrize("moment", ["team_started", "step_done", "round_submitted", "winner_picked"])
async def test_a_record_that_is_held_in_the_middle_stops_the_run_and_no_team_forfeits(
    contest: Contest, moment: str
) -> None:
    await run_until(contest, moment)

    assert_is_whole(await contest.resume("t"))


def _files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


MISSING = {
    "record": (["contend.duckdb"], "contend.duckdb does not know it"),
    "documents": (["documents"], "of its texts are not in documents/"),
    "shared texts": (["documents/??"], "of its texts are not in documents/"),
    "texts of the run": (["documents/runs/*/??"], "of its texts are not in documents/"),
    "options of the run": (["documents/runs/*/options.json"], "its options are not in documents/"),
    "all but checkpoints": (["contend.duckdb", "documents"], "contend.duckdb does not know it"),
}


@pytest.mark.parametrize(("patterns", "words"), MISSING.values(), ids=MISSING)
async def test_a_run_whose_record_or_texts_are_elsewhere_is_refused_and_goes_on_where_it_began(
    contest: Contest, vendors: Vendors, tmp_path: Path, patterns: list[str], words: str
) -> None:
    await run_until(contest, "round_submitted")
    vendors.calls.clear()
    elsewhere = replace(contest, workspace=tmp_path / "elsewhere")
    shutil.copytree(contest.workspace, elsewhere.workspace)
    for path in [path for pattern in patterns for path in elsewhere.workspace.glob(pattern)]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    before = _files(elsewhere.workspace)

    with pytest.raises(StoreError, match=f"^thread 't': .*{words} in the workspace .*nothing was changed$"):
        await elsewhere.resume("t")

    assert not vendors.calls
    assert _files(elsewhere.workspace) == before
    assert_is_whole(await contest.resume("t"))


def _cut(content: bytes) -> bytes:
    return content[: len(content) * 2 // 3]


def _overwrite(content: bytes) -> bytes:
    """Each block after the first three, which DuckDB reads at once."""
    return content[: 4 * 16_384] + bytes(len(content) - 4 * 16_384)


@pytest.mark.parametrize("damage", [_cut, _overwrite])
async def test_a_damaged_record_is_refused_before_the_first_call(
    contest: Contest, vendors: Vendors, damage: Callable[[bytes], bytes]
) -> None:
    await run_until(contest, "winner_picked")
    record = contest.workspace / "contend.duckdb"
    whole = record.read_bytes()
    record.write_bytes(damage(whole))
    vendors.calls.clear()

    for work in (contest.run(THEME), contest.resume("t")):
        with pytest.raises(StoreError, match=r"^record .*contend\.duckdb .* move it away"):
            await work

    assert not vendors.calls
    record.write_bytes(whole)
    assert_is_whole(await contest.resume("t"))


READER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
print(connection.execute("SELECT count(*) FROM execution").fetchone(), flush=True)
sys.stdin.read()
"""


@contextmanager
def reading(record: Path) -> Iterator[int]:
    """A process that has the record open to read, by its id."""
    command = [sys.executable, "-c", READER, str(record)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - code of this test
        assert process.stdout is not None
        assert process.stdout.readline() == "(1,)\n"
        yield process.pid
        process.communicate()


@pytest.mark.parametrize("command", [["runs"], ["status", "t"], ["leaderboard", "t"], ["report", "t"]])
async def test_commands_that_read_work_beside_a_process_that_only_reads_the_record(
    contest: Contest, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    await contest.run(THEME, thread_id="t")
    monkeypatch.setenv("CONTEND_RECORD_LOCK_SECONDS", "0.1")
    with reading(contest.workspace / "contend.duckdb") as process:
        result = await asyncio.to_thread(Terminal(contest.workspace, capsys.readouterr), *command)
        with pytest.raises(StoreLocked, match=f"process {process}"):
            await contest.run(THEME)

    assert (result.code, result.err) == (0, "")
    assert result.out
