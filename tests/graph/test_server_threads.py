"""What befalls a thread on a real Agent Server: cancelled, rolled back, asked twice, copied. It stays usable."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from filelock import FileLock
from langgraph_sdk.schema import MultitaskStrategy

from contend.models.task import ExecutionRow
from contend.services import Services
from contend.settings import load_settings
from fakes.servers import Server
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"
OTHER = "What is a team?"
OPTIONS = {"teams": ["alpha"], "max_rounds": 1, "learn": False}
APPROVED = {"decisions": [{"type": "approve"}]}
POINTS = ["Which calls are repeated after a kill?"]
EDIT = {"name": "approve_plan", "args": {"investigation_points": POINTS}}
EDITED = {"decisions": [{"type": "edit", "edited_action": EDIT}]}


@pytest.fixture(params=["server", "server_on_redis"], ids=["sqlite", "redis"])
def server(request: pytest.FixtureRequest) -> Server:
    of_store = request.getfixturevalue(request.param)
    assert isinstance(of_store, Server)
    return of_store


def hung_run(server: Server, endpoint: Vendors, thread: str, **options: object) -> str:
    """A run whose writer waits for its endpoint; the run's id."""
    endpoint.hung.clear()
    endpoint.hang(prompt="research/write")
    request: dict[str, Any] = {"input": {"theme": THEME}, "context": OPTIONS, **options}
    run = server.client.runs.create(thread, "contend", **request)
    while not endpoint.hung:
        time.sleep(0.02)
    return str(run["run_id"])


def join(server: Server, thread: str, run: Mapping[str, Any]) -> dict[str, Any]:
    state = server.client.runs.join(thread, run["run_id"])
    assert isinstance(state, dict)
    return state


def runs_in_history(server: Server, thread: str) -> set[str]:
    return {str(state["metadata"]["run_id"]) for state in server.client.threads.get_history(thread, limit=1000)}


async def on_record(server: Server, thread: str) -> ExecutionRow:
    services = Services(load_settings(workspace=server.workspace))
    row = await services.record.latest_execution(thread)
    await services.aclose()
    assert row is not None
    return row


@pytest.mark.parametrize("strategy", ["rollback", "interrupt"])
def test_a_run_that_takes_the_place_of_another_ends_and_is_all_that_the_thread_holds(
    server: Server, endpoint: Vendors, strategy: MultitaskStrategy
) -> None:
    thread = server.thread()
    hung_run(server, endpoint, thread)

    second = server.client.runs.create(
        thread, "contend", input={"theme": OTHER}, context=OPTIONS, multitask_strategy=strategy
    )
    endpoint.heal()
    state = join(server, thread, second)

    assert state["report"]["theme"] == OTHER
    if strategy == "rollback":
        assert [message["content"] for message in state["messages"] if message["type"] == "human"] == [OTHER]
    assert runs_in_history(server, thread) == {second["run_id"]}
    assert server.client.threads.get(thread)["status"] == "idle"


def test_a_run_that_waits_for_another_on_its_thread_begins_when_that_one_has_ended(server: Server) -> None:
    thread = server.thread()

    runs = [
        server.client.runs.create(
            thread, "contend", input={"theme": theme}, context=OPTIONS, multitask_strategy="enqueue"
        )
        for theme in (THEME, OTHER)
    ]

    assert [join(server, thread, run)["report"]["theme"] for run in runs] == [THEME, OTHER]
    assert {run["status"] for run in server.client.runs.list(thread)} == {"success"}


def cancel(server: Server, thread: str, run: str, *, wait: bool) -> None:
    server.client.runs.cancel(thread, run, action="rollback", wait=wait)


def cancel_many(server: Server, thread: str, run: str) -> None:
    server.client.runs.cancel_many(thread_id=thread, run_ids=[run], action="rollback")


@pytest.mark.parametrize(
    "roll_back",
    [partial(cancel, wait=True), partial(cancel, wait=False), cancel_many],
    ids=["waiting", "at once", "many"],
)
def test_a_run_that_is_rolled_back_leaves_the_thread_at_its_last_report(
    server: Server, endpoint: Vendors, roll_back: Callable[[Server, str, str], None]
) -> None:
    thread = server.thread()
    server.run("contend", {"theme": OTHER}, thread_id=thread, context=OPTIONS)
    before = server.client.threads.get_state(thread)
    run = hung_run(server, endpoint, thread)

    roll_back(server, thread, run)
    endpoint.heal()

    assert server.client.threads.get(thread)["status"] == "idle"
    state = server.client.threads.get_state(thread)
    assert (state["checkpoint"], state["values"]) == (before["checkpoint"], before["values"])
    # The record follows the checkpoints.
    while (row := asyncio.run(on_record(server, thread))).status != "failed":
        time.sleep(0.02)
    assert (row.theme, row.status, row.message.partition(" by ")[0]) == (THEME, "failed", "rolled back")
    final = server.run("contend", {"theme": THEME}, thread_id=thread, context=OPTIONS)
    assert final["report"]["theme"] == THEME
    assert server.client.threads.get(thread)["status"] == "idle"


def test_a_rollback_that_is_waited_for_is_done_when_it_is_answered_however_long_the_run_takes_to_end(
    server: Server, endpoint: Vendors
) -> None:
    thread = server.thread()
    server.run("contend", {"theme": OTHER}, thread_id=thread, context=OPTIONS)
    before = server.client.threads.get_state(thread)
    run = hung_run(server, endpoint, thread)
    record = FileLock(server.workspace / "contend.duckdb.lock", thread_local=False)
    rollback = partial(server.client.runs.cancel, thread, run, action="rollback", wait=True)

    with ThreadPoolExecutor(1) as others:
        with record:  # the run's end waits for it
            answer = others.submit(rollback)
            with pytest.raises(TimeoutError):
                answer.result(timeout=2)
        answer.result()

    state = server.client.threads.get_state(thread)
    assert (state["checkpoint"], state["values"]) == (before["checkpoint"], before["values"])


def test_after_the_rollback_of_an_answered_run_the_question_is_open_and_another_answer_counts(
    server: Server, endpoint: Vendors
) -> None:
    thread = server.thread()
    server.run("contend", {"theme": THEME}, thread_id=thread, context={**OPTIONS, "approve": ["plan"]})
    open_questions = server.open_questions(thread)
    command = {"resume": {open_questions["alpha"]: APPROVED}}
    run = hung_run(server, endpoint, thread, input=None, context=None, command=command)

    server.client.runs.cancel(thread, run, action="rollback", wait=True)
    endpoint.heal()

    assert server.open_questions(thread) == open_questions
    state = server.run("contend", None, thread_id=thread, command={"resume": {open_questions["alpha"]: EDITED}})
    assert state["status"] == "completed"
    drafts = [call.user for call in endpoint.calls if call.prompt == "research/write"]
    assert drafts
    assert all(POINTS[0] in draft for draft in drafts)


def test_a_copied_thread_goes_on_by_itself(server: Server) -> None:
    thread = server.thread()
    server.run("contend", {"theme": THEME}, thread_id=thread, context=OPTIONS)
    before = server.client.threads.get_state(thread)

    other = server.client.http.post(f"/threads/{thread}/copy", json=None)["thread_id"]

    assert server.client.threads.get_state(other)["values"] == before["values"]
    state = server.run("contend", {"theme": OTHER}, thread_id=other, context=OPTIONS)
    assert state["report"]["theme"] == OTHER
    assert server.client.threads.get_state(thread)["values"] == before["values"]


def test_an_open_run_goes_on_in_the_original_and_not_in_a_copy_of_its_thread(server: Server) -> None:
    thread = server.thread()
    server.run("contend", {"theme": THEME}, thread_id=thread, context={**OPTIONS, "approve": ["plan"]})
    other = server.client.http.post(f"/threads/{thread}/copy", json=None)["thread_id"]

    with pytest.raises(Exception, match=f"InputError: thread '{other}' is a copy of thread '{thread}'"):
        server.run("contend", None, thread_id=other, command={"resume": APPROVED})

    assert server.run("contend", None, thread_id=thread, command={"resume": APPROVED})["status"] == "completed"
    state = server.run("contend", {"theme": OTHER}, thread_id=other, context=OPTIONS)
    assert state["report"]["theme"] == OTHER


@pytest.mark.parametrize("graph", ["contend", "research"])
def test_a_chat_keeps_the_checkpoints_of_its_latest_run_only(server: Server, graph: str) -> None:
    thread = server.thread()
    counts = []
    for question in (OTHER, THEME, OTHER):
        request = {"messages": [{"role": "user", "content": question}]}
        # A research by itself has no teams, and refuses their options.
        server.run(graph, request, thread_id=thread, context=OPTIONS if graph == "contend" else {"max_iterations": 1})
        counts.append(len(server.client.threads.get_history(thread, limit=1000)))

    (latest, *_) = server.client.runs.list(thread)
    assert runs_in_history(server, thread) == {latest["run_id"]}
    assert len(set(counts)) == 1
    assert server.client.threads.get_state(thread)["values"]["asked"]["message"]
