"""A contest on a real Redis: the same result as on SQLite, over a kill too, with many teams, one worker a thread."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.errors import NodeError

from contend.app import RunOutcome, delete
from contend.contest.graph import build_contest_graph
from contend.errors import InputError, ThreadBusy, UnknownThread
from contend.langgraph_compat import cause
from contend.models.events import RunStarted
from contend.models.playbook import CurationResult
from contend.settings import load_settings
from contend.stores import is_leased, lease
from contend.stores.checkpoints import open_checkpointer
from fakes.children import outside
from fakes.contests import Contest, Finished, finished_contest, write_workspace
from fakes.fork_server import Process
from fakes.kilns import TOO_FEW
from fakes.redis_server import RedisServer
from fakes.vendors import Vendors

pytestmark = pytest.mark.usefixtures("stepping")

THEME = "How does resume work after a crash, and what is a team?"

CHILD = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from fakes.contests import Contest

contest = Contest(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], sys.argv[5])
asyncio.run(contest.run(sys.argv[6], thread_id="killed", min_rounds=2, max_rounds=2, evidence_tokens=int(sys.argv[7])))
"""


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path / "redis", password="sesame-94b1") as server:
        yield server


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors, redis: RedisServer) -> Contest:
    write_workspace(workspace)
    return Contest(workspace, documents, vendors.base_url, redis.url)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> Iterator[Finished]:
    """A run on a server that keeps nothing on disk and may drop what it holds."""
    folder = tmp_path_factory.mktemp("finished")
    with RedisServer(folder / "redis", password="sesame-94b1") as redis:
        redis.say("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")

        def prepare(workspace: Path, vendors: Vendors) -> Contest:
            write_workspace(workspace)
            return Contest(workspace, shared_documents, vendors.base_url, redis.url)

        with finished_contest(folder, prepare, THEME, thread_id="finished", max_rounds=1) as run:
            yield run


def result(outcome: RunOutcome) -> dict[str, Any]:
    """What a run found, without its ids and times."""
    assert outcome.summary is not None
    assert outcome.report is not None
    return {
        "status": outcome.status,
        "report": outcome.report.model_dump(exclude={"generated_at"}),
        "teams": {team.team_id: team.status for team in outcome.summary.team_statuses},
        "scores": {team.team_id: team.evaluation_score for team in outcome.summary.team_results},
        "winner": outcome.summary.best_team_id,
    }


async def wait_for_call(vendors: Vendors, prompt: str, ended: Callable[[], object]) -> None:
    """Wait until a call with this prompt was answered, while the run has not `ended`."""
    while prompt not in vendors.prompts():
        assert not ended()
        await asyncio.sleep(0.02)


async def test_a_contest_on_redis_ends_as_on_sqlite(
    contest: Contest, documents: Path, vendors: Vendors, tmp_path: Path
) -> None:
    write_workspace(tmp_path / "other")
    expected = await Contest(tmp_path / "other", documents, vendors.base_url, defaults=contest.defaults).run(THEME)

    outcome = await contest.run(THEME)

    assert outcome.status == "completed"
    assert result(outcome) == result(expected)
    assert outcome.notices == []
    assert not (contest.workspace / "checkpoints.sqlite").exists()
    assert not (contest.workspace / "leases").exists()


async def test_a_run_killed_on_redis_goes_on_in_another_process_to_the_same_result(
    contest: Contest, vendors: Vendors, documents: Path, tmp_path: Path
) -> None:
    write_workspace(tmp_path / "other")
    undisturbed = Contest(tmp_path / "other", documents, vendors.base_url, defaults=contest.defaults)
    whole = await undisturbed.run(THEME, min_rounds=2, max_rounds=2)
    calls_needed = len(vendors.calls)
    vendors.calls.clear()
    vendors.hang(prompt="researcher/step", match="step 2 of at most 20, in round 2")
    paths = map(str, (Path(__file__).parents[1], contest.workspace, documents))
    arguments = [*paths, str(contest.base_url), str(contest.redis_url), THEME, str(TOO_FEW)]
    with closing(Process("-c", CHILD, *arguments, folder=tmp_path, environment=outside())) as child:
        while len(vendors.hung) < 2:
            assert child.poll() is None
            await asyncio.sleep(0.02)
        child.kill()
    vendors.heal()

    outcome = await contest.resume("killed")

    assert result(outcome) == result(whole)
    repeats = len(vendors.calls) - calls_needed
    assert 0 <= repeats <= 4


async def test_sixty_four_branches_at_once_need_no_more_connections_than_there_are(redis: RedisServer) -> None:
    settings = load_settings(redis_url=redis.url)
    checkpoint: Any = empty_checkpoint()
    async with open_checkpointer(settings) as saver:

        async def save(branch: int) -> CheckpointTuple | None:
            config: Any = {"configurable": {"thread_id": "wide", "checkpoint_ns": f"team:{branch}"}}
            saved = await saver.aput(config, checkpoint, {"source": "loop", "step": 1}, {})
            await saver.aput_writes(saved, [("notes", branch)], "a task")
            return await saver.aget_tuple(config)

        snapshots = await asyncio.gather(*map(save, range(64)))

    writes = [found.pending_writes for found in snapshots if found is not None]
    assert writes == [[("a task", "notes", branch)] for branch in range(64)]
    connections = int(redis.say("INFO", "stats").partition("total_connections_received:")[2].split()[0])
    assert connections < 60


def test_what_could_lose_checkpoints_stands_in_the_runs_head(finished: Finished) -> None:
    contest, _, outcome = finished

    start = next(event for event in contest.events if isinstance(event, RunStarted))
    text = "\n".join(start.warnings)
    assert "keeps nothing on disk: when it restarts, runs cannot be resumed (set appendonly yes)" in text
    assert "may drop checkpoints when its memory is full (maxmemory-policy allkeys-lru; set noeviction)" in text
    assert all(warning in (outcome.markdown or "") for warning in start.warnings)


async def test_a_resume_of_an_unknown_thread_starts_nothing_on_redis(contest: Contest, redis: RedisServer) -> None:
    with pytest.raises(UnknownThread, match="nobody"):
        await contest.resume("nobody")

    assert redis.say("KEYS", "checkpoint*") == "*0"


async def test_state_on_redis_is_plain_and_complete(finished: Finished) -> None:
    services = finished.contest.services()
    async with open_checkpointer(services.settings) as saver:
        graph = build_contest_graph(services).compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "finished"}}
        final = (await graph.aget_state(config)).values
        steps = [checkpoint async for checkpoint in saver.alist(config)]
    await services.aclose()
    assert final["messages"][-1].type == "ai"
    assert final["status"] == "completed"
    assert CurationResult.model_validate(final["lessons"]["result"])
    assert json.loads(json.dumps(final["lessons"])) == final["lessons"]
    assert len(steps) > 20


async def test_checkpoints_are_forgotten_after_their_time_to_live(
    contest: Contest, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEND_CHECKPOINT_TTL_MINUTES", "90")

    await contest.run(THEME, thread_id="mortal", max_rounds=1, learn=False)

    # Lengths and names in turn. The epoch is the server's and of no thread.
    names = {*redis.say("KEYS", "*").split("\r\n")[2::2]} - {"contend:epoch"}
    seconds = [int(redis.say("TTL", name).removeprefix(":")) for name in names]
    assert len(seconds) > 20
    assert all(5000 < left <= 5400 for left in seconds)


def test_an_answer_of_the_tests_own_server_is_read_to_its_end(redis: RedisServer) -> None:
    redis.say("SET", "long", "x" * 200_000)

    assert redis.say("GET", "long").endswith("\r\n" + "x" * 200_000)


async def test_a_failed_nodes_error_is_kept_in_redis(finished: Finished) -> None:
    services = finished.contest.services()
    async with open_checkpointer(services.settings) as saver:
        latest = await saver.aget_tuple({"configurable": {"thread_id": "finished"}})
        assert latest is not None
        await saver.aput_writes(latest.config, [("__error__", TimeoutError("too slow"))], "a task")
        again = await saver.aget_tuple(latest.config)
    await services.aclose()
    assert again is not None
    [written] = [
        value for task, channel, value in again.pending_writes or [] if (task, channel) == ("a task", "__error__")
    ]
    error = cause(NodeError("a node", written))
    assert (type(error), str(error)) == (TimeoutError, "too slow")


async def test_a_deleted_thread_leaves_nothing_in_redis_however_long_it_was(
    contest: Contest, redis: RedisServer
) -> None:
    await contest.run(THEME, thread_id="deleted", max_rounds=1, learn=False)
    services = contest.services()
    async with open_checkpointer(services.settings) as saver:
        latest = await saver.aget_tuple({"configurable": {"thread_id": "deleted"}})
        assert latest is not None
        for task in range(10):
            await saver.aput_writes(latest.config, [("notes", number) for number in range(1_005)], f"task {task}")

    await delete("deleted", services=services)

    await services.aclose()
    assert redis.say("KEYS", "*deleted*") == "*0"


async def test_of_two_that_work_on_one_thread_one_wins(contest: Contest, vendors: Vendors) -> None:
    vendors.hang(prompt="research/write")
    first = asyncio.create_task(contest.run(THEME, thread_id="shared", max_rounds=1, learn=False))
    await wait_for_call(vendors, "researcher/step", first.done)

    with pytest.raises(ThreadBusy, match=r"thread shared is being worked on by process \d+ on "):
        await contest.resume("shared")

    assert not first.done()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    vendors.heal()
    assert (await contest.resume("shared")).status == "completed"


async def test_a_run_whose_lease_was_taken_stops_and_says_by_whom(
    contest: Contest, vendors: Vendors, redis: RedisServer
) -> None:
    vendors.hang(prompt="research/write")
    first = asyncio.create_task(contest.run(THEME, thread_id="taken", max_rounds=1))
    await wait_for_call(vendors, "researcher/step", first.done)

    redis.say("SET", "contend:lease:taken", "elsewhere/77/x", "PX", "60000")

    with pytest.raises(ThreadBusy, match="process 77 on elsewhere took it over"):
        await first
    services = contest.services()
    latest = await services.record.latest_execution("taken")
    await services.aclose()
    assert latest is not None
    assert latest.status == "running"
    assert redis.say("GET", "contend:lease:taken").endswith("elsewhere/77/x")


async def test_a_lease_is_held_while_its_block_runs_and_let_go_after_it(redis: RedisServer) -> None:
    settings = load_settings(redis_url=redis.url)
    async with lease(settings, "held"):
        assert await is_leased(settings, "held")
        with pytest.raises(InputError):
            async with lease(settings, "held"):
                pass
    assert not await is_leased(settings, "held")


async def test_questions_wait_in_redis_and_are_answered_by_another_process(contest: Contest, vendors: Vendors) -> None:
    waiting = await contest.run(THEME, thread_id="asked", max_rounds=1, learn=False, approve=["plan"])
    questions = {question.team_id: question.id for question in waiting.questions}
    assert waiting.exit_code == 3
    assert set(questions) == {"alpha", "beta"}
    reason = "look at the leases instead"

    outcome = await contest.resume(
        "asked", answers={questions["alpha"]: "approve", questions["beta"]: {"type": "reject", "reason": reason}}
    )

    assert outcome.status == "completed"
    plans = [call.user for call in vendors.calls if call.model == "beta" and call.prompt == "researcher/step"]
    assert reason in plans[1]
    with pytest.raises(InputError, match="no question is open"):
        await contest.resume("asked", "approve")
