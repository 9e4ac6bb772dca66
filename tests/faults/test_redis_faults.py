"""Redis that fails: before a run nothing is spent, in a run nothing is lost that was saved, and one line says why."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contend.app import RunOutcome
from contend.cli.main import run_command
from contend.errors import CheckpointError, StoreError
from contend.settings import load_settings
from contend.stores.checkpoints import check_checkpointer
from contend.stores.redis_server import open_redis
from fakes.contests import Contest, write_workspace
from fakes.kilns import TOO_FEW, write_kilns
from fakes.redis_server import RedisServer
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
PASSWORD = "sesame-94b1"
KEPT = ("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture
def documents(documents: Path) -> Path:
    """More than a team may hold: it looks for what it needs, step by step."""
    return write_kilns(documents)


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace)
    return Contest(workspace, documents, vendors.base_url, defaults={"evidence_tokens": TOO_FEW})


@contextmanager
def unusable(kind: str, folder: Path) -> Iterator[str]:
    """The address of a server on which no run can keep its checkpoints."""
    if kind == "no modules":
        with RedisServer(folder, modules=False, password=PASSWORD) as server:
            yield server.url
    elif kind == "full":
        with RedisServer(folder, "--maxmemory", "1", password=PASSWORD) as server:
            yield server.url
    elif kind == "replica":
        with (
            RedisServer(folder / "primary", password=PASSWORD) as primary,
            RedisServer(
                folder, "--replicaof", f"127.0.0.1 {primary.port}", "--masterauth", PASSWORD, password=PASSWORD
            ) as server,
        ):
            yield server.url
    else:
        with RedisServer(folder, password=PASSWORD) as server:
            if kind == "down":
                server.kill()
            elif kind == "hanging":
                server.pause()
            yield server.url.replace(PASSWORD, f"wrong-{PASSWORD}") if kind == "wrong password" else server.url


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("down", "cannot be reached: start it, or mend CONTEND_REDIS_URL"),
        ("hanging", "gives no answer: see that it runs and is not overloaded"),
        ("wrong password", "refused the user name or password: mend CONTEND_REDIS_URL"),
        ("no modules", "has no search and JSON modules, which the checkpoints need: use Redis 8 or Redis Stack"),
        ("replica", "is a read-only replica: give its primary's address in CONTEND_REDIS_URL"),
        ("full", "is out of memory: raise its maxmemory or free space"),
    ],
)
async def test_a_redis_that_cannot_keep_checkpoints_is_told_in_one_line_before_anything_is_spent(
    contest: Contest, vendors: Vendors, tmp_path: Path, kind: str, line: str
) -> None:
    with unusable(kind, tmp_path / "redis") as contest.redis_url, pytest.raises(StoreError) as excinfo:
        async with asyncio.timeout(240):
            await contest.run(THEME)

    assert str(excinfo.value).startswith("Redis at redis://127.0.0.1:")
    assert line in str(excinfo.value)
    assert "\n" not in str(excinfo.value)
    assert PASSWORD not in f"{excinfo.value!r} {excinfo.value.__cause__!r}"
    assert not vendors.calls
    assert not (contest.workspace / "results").exists()
    assert not (contest.workspace / "contend.duckdb").exists()


async def test_a_redis_that_keeps_its_data_is_not_warned_about(tmp_path: Path) -> None:
    with RedisServer(tmp_path, *KEPT) as server:
        assert await check_checkpointer(load_settings(redis_url=server.url)) == []


async def test_a_redis_that_hides_its_configuration_is_not_warned_about(tmp_path: Path) -> None:
    with RedisServer(tmp_path, "--rename-command", "CONFIG", "") as server:
        assert await check_checkpointer(load_settings(redis_url=server.url)) == []


async def _wait_for_answer(vendors: Vendors, prompt: str, running: asyncio.Task[RunOutcome]) -> None:
    while prompt not in vendors.prompts():
        assert not running.done(), running.result()
        await asyncio.sleep(0.02)


async def _failed_midway(contest: Contest, vendors: Vendors, fail: Callable[[], object]) -> CheckpointError:
    """A run whose server fails while calls of both teams are in flight."""
    vendors.latency = 0.3
    running = asyncio.create_task(contest.run(THEME, thread_id="struck", max_rounds=1))
    await _wait_for_answer(vendors, "researcher/step", running)
    fail()
    with pytest.raises(CheckpointError) as excinfo:
        async with asyncio.timeout(240):
            await running
    vendors.latency = 0.0
    return excinfo.value


async def _goes_on(contest: Contest, server: RedisServer, failure: CheckpointError, line: str) -> RunOutcome:
    services = contest.services()
    row = await services.record.latest_execution("struck")
    await services.aclose()
    assert line in str(failure)
    assert "go on with `contend resume struck`" in str(failure)
    assert row is not None
    assert row.status == "interrupted"
    # Nobody could let go of the lease; that it runs out by itself is seen elsewhere.
    server.say("DEL", "contend:lease:struck")
    outcome = await contest.resume("struck")
    assert outcome.status == "completed", outcome.message
    assert outcome.execution_id == row.execution_id
    return outcome


async def _strike(folder: Path, documents: Path, strike: str, line: str) -> None:
    write_workspace(folder / "workspace")
    with Vendors() as vendors, RedisServer(folder / "redis", *KEPT, password=PASSWORD) as server:
        defaults = {"evidence_tokens": TOO_FEW}
        contest = Contest(folder / "workspace", documents, vendors.base_url, server.url, defaults=defaults)
        failure = await _failed_midway(contest, vendors, server.kill if strike == "kill" else server.pause)
        (server.start if strike == "kill" else server.resume)()
        await _goes_on(contest, server, failure, line)


async def test_a_redis_that_dies_or_hangs_midway_stops_the_run_which_goes_on_when_it_is_back(
    tmp_path: Path, documents: Path
) -> None:
    # Both at the same time: each waits for its bound.
    dies = _strike(tmp_path / "dies", documents, "kill", "cannot be reached")
    hangs = _strike(tmp_path / "hangs", documents, "pause", "gives no answer")
    await asyncio.gather(dies, hangs)


@pytest.mark.parametrize(
    ("setting", "line"),
    [("maxmemory", "is out of memory"), ("min-replicas-to-write", "refused: NOREPLICAS")],
)
async def test_a_redis_that_takes_no_more_writes_costs_no_team_its_place(
    contest: Contest, vendors: Vendors, tmp_path: Path, setting: str, line: str
) -> None:
    with RedisServer(tmp_path / "redis", password=PASSWORD) as server:
        contest.redis_url = server.url
        failure = await _failed_midway(contest, vendors, lambda: server.say("CONFIG", "SET", setting, "1"))
        server.say("CONFIG", "SET", setting, "0")
        outcome = await _goes_on(contest, server, failure, line)
    assert outcome.summary is not None
    assert {team.status for team in outcome.summary.team_statuses} == {"completed"}


async def test_a_short_restart_of_redis_is_sat_out(contest: Contest, vendors: Vendors, tmp_path: Path) -> None:
    with RedisServer(tmp_path / "redis", *KEPT, password=PASSWORD) as server:
        contest.redis_url = server.url
        vendors.latency = 0.2
        running = asyncio.create_task(contest.run(THEME, max_rounds=1))
        await _wait_for_answer(vendors, "researcher/step", running)
        server.kill()
        server.start()
        outcome = await running

    assert outcome.status == "completed"
    assert outcome.notices == []


async def test_a_flushed_redis_is_noticed_and_the_run_ends_all_the_same(
    contest: Contest, vendors: Vendors, tmp_path: Path
) -> None:
    with RedisServer(tmp_path / "redis", password=PASSWORD) as server:
        contest.redis_url = server.url
        vendors.latency = 0.2
        running = asyncio.create_task(contest.run(THEME, max_rounds=1))
        await _wait_for_answer(vendors, "research/write", running)
        server.say("FLUSHALL")
        outcome = await running

    assert outcome.status == "completed"
    assert outcome.report is not None
    [notice] = outcome.notices
    assert "lost its data while the run went (FLUSHALL, eviction or a restart without persistence)" in notice


async def test_a_run_whose_checkpoints_are_gone_is_told_as_lost_and_not_as_unknown(
    contest: Contest, vendors: Vendors, tmp_path: Path
) -> None:
    with RedisServer(tmp_path / "redis", password=PASSWORD) as server:
        contest.redis_url = server.url
        vendors.hang(prompt="research/write")
        running = asyncio.create_task(contest.run(THEME, thread_id="lost"))
        await _wait_for_answer(vendors, "researcher/step", running)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        server.say("FLUSHALL")
        with pytest.raises(CheckpointError, match="'lost': its checkpoints are gone from Redis at redis://"):
            await contest.resume("lost")


async def test_a_cancellation_is_not_lost_where_it_comes_while_a_command_is_sent(tmp_path: Path) -> None:
    lost_numbers = []
    with RedisServer(tmp_path / "redis", password=PASSWORD) as server:
        settings = load_settings(redis_url=server.url)
        async with open_redis(settings) as client:
            for turns in range(60):
                await client.ping()
                sending = asyncio.create_task(client.set("key", turns))
                for _ in range(turns):
                    await asyncio.sleep(0)
                is_cancelled = sending.cancel()
                await asyncio.wait([sending])
                if is_cancelled and not sending.cancelled():
                    lost_numbers.append(turns)

    assert lost_numbers == []


def test_the_password_of_redis_is_in_no_output_of_the_command_line(
    contest: Contest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    commands = [
        ["doctor"],
        ["config", "show"],
        ["run", THEME, "--docs", str(contest.documents), "--thread", "secret", "--rounds", "1"],
        ["status", "secret"],
        ["resume", "secret"],
        ["runs", "--json"],
    ]
    with RedisServer(tmp_path / "redis", password=PASSWORD) as server:
        monkeypatch.setenv("CONTEND_REDIS_URL", server.url)
        monkeypatch.setenv("CONTEND_WORKSPACE", str(contest.workspace))
        monkeypatch.setenv("OPENAI_BASE_URL", str(contest.base_url))
        for command in commands:
            run_command(command)
        server.kill()
        run_command(["doctor"])
        run_command(["resume", "secret"])

    out, err = capfd.readouterr()
    assert "with search and JSON" in out or "keeps nothing on disk" in out
    assert "cannot be reached" in out + err
    assert PASSWORD not in out + err + caplog.text
    files = [path for path in contest.workspace.rglob("*") if path.is_file()]
    assert any(path.name == "report.md" for path in files)
    assert not [path for path in files if PASSWORD.encode() in path.read_bytes()]
