"""A client of the Agent Server that gives what only contend's own nodes may: ids, options, functions, state."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from contend.contest.graph import build_contest_graph
from fakes.contests import Contest
from fakes.servers import Server
from fakes.vendors import Vendors

THEME = "How does contend resume a run after a crash?"
LOCAL = {"documents": ["docs"], "sources": ["local"], "max_rounds": 1, "learn": False}
CALLED = {"name": "print", "weight": 1.0, "kind": "function", "function": "builtins:print"}


@pytest.fixture
def server(bare: Server) -> Server:
    return bare


@pytest.fixture(scope="module")
def finished(_bare: Server, endpoint: Vendors) -> tuple[str, dict[str, Any]]:
    """A thread whose run is done, and its state."""
    endpoint.heal()
    thread = _bare.thread()
    _bare.run("contend", {"theme": THEME}, thread_id=thread, context=LOCAL)
    values = _bare.client.threads.get_state(thread)["values"]
    assert isinstance(values, dict)
    return thread, values


@pytest.mark.parametrize(
    ("graph", "hidden"),
    [
        ("contend", {"run_options": {"documents": ["/etc"]}}),
        ("contend", {"thread_id": "../../x", "options": {}, "task": {}}),
        ("team", {"options": {"evaluator": {"metrics": [CALLED]}}}),
        ("team", {"execution_id": "another-run"}),
        ("research", {"options": {}, "team": {}, "clock": None}),
        ("research", {"best_submission": "0" * 64}),
        ("learn", {"execution_id": "another-run"}),
        ("learn", {"delta": [], "reflection": {}}),
    ],
)
def test_what_a_parent_graph_passes_in_is_refused_from_outside(
    server: Server, graph: str, hidden: dict[str, Any]
) -> None:
    keys = sorted(set(hidden) - {"thread_id"})

    with pytest.raises(Exception, match=f"InputError: input: {', '.join(keys)} may not be given: give "):
        server.run(graph, {"theme": THEME, **hidden}, thread_id=server.thread())


def test_a_page_of_another_site_is_refused_by_bare_langgraph_dev_too(server: Server) -> None:
    answer = httpx.post(f"{server.url}/threads", json={}, headers={"Origin": "https://evil.example"})

    assert answer.status_code == 403


def test_a_front_ends_own_keys_are_passed_over(server: Server) -> None:
    state = server.run("contend", {"theme": THEME, "context": {"artifact": 1}, "ui": []}, context=LOCAL)

    assert state["status"] == "completed"


@pytest.mark.parametrize(
    "command",
    [
        {"update": {"options": {"max_rounds": 10}}},
        {"goto": {"node": "publish", "input": {"winner": "skeptic"}}},
        {"goto": "publish", "resume": "approve"},
    ],
)
def test_a_command_that_is_no_answer_is_refused(
    server: Server, finished: tuple[str, dict[str, Any]], command: dict[str, Any]
) -> None:
    thread, before = finished

    with pytest.raises(Exception, match="InputError: command: only `resume` may be given"):
        server.run("contend", None, thread_id=thread, command=command)

    assert server.client.threads.get_state(thread)["values"] == before


@pytest.mark.parametrize("values", [{"thread_id": "../../x"}, {"options": {}}, {"messages": []}, {"theme": "x" * 9999}])
def test_state_is_not_written_from_outside(
    server: Server, finished: tuple[str, dict[str, Any]], values: dict[str, Any]
) -> None:
    thread, before = finished

    with pytest.raises(Exception, match="state: it is not written from outside"):
        server.client.threads.update_state(thread, values, as_node="pick_winner")

    assert server.client.threads.get_state(thread)["values"] == before


def test_a_thread_is_not_made_with_a_state_of_its_own(server: Server) -> None:
    steps = [{"updates": [{"values": {"options": {}}, "as_node": "open_run"}]}]

    with pytest.raises(Exception, match="state: it is not written from outside"):
        server.client.threads.create(graph_id="contend", supersteps=steps)


def test_lessons_are_learned_once_a_run_and_again_in_the_next_one_on_a_thread(server: Server) -> None:
    thread = server.thread()
    finished_round = {"team_id": "a", "round_number": 1, "score": 0.5, "queries": ["resume after a crash"]}
    values = {"dataset": "twice", "theme": THEME, "rounds": [finished_round]}

    ids = []
    for _ in range(2):
        server.run("learn", values, thread_id=thread)
        ids.append(server.client.threads.get_state(thread)["values"]["execution_id"])

    assert len(set(ids)) == 2


def test_nothing_is_learned_again_of_what_the_run_before_on_the_thread_was_given(server: Server) -> None:
    thread = server.thread()
    finished_round = {"team_id": "a", "round_number": 1, "score": 0.5, "queries": ["resume after a crash"]}
    server.run("learn", {"dataset": "first", "theme": THEME, "rounds": [finished_round]}, thread_id=thread)

    server.run("learn", {"dataset": "second"}, thread_id=thread)

    values = server.client.threads.get_state(thread)["values"]
    assert (values["dataset"], values["rounds"], values["theme"]) == ("second", [], "")


@pytest.mark.parametrize("thread", ["../../x", "a/b", "CON", "-rf"])
async def test_a_thread_id_that_leads_elsewhere_leads_nowhere_in_a_graph_of_ones_own(
    workspace: Path, documents: Path, thread: str
) -> None:
    contest = Contest(workspace, documents, None)
    graph = build_contest_graph(contest.services()).compile()

    state = await graph.ainvoke({"theme": THEME}, {"configurable": {"thread_id": thread}}, context=contest.options())

    reports = [*workspace.parent.rglob("report.md")]
    assert state["status"] == "completed"
    assert [report.parent.parent for report in reports] == [workspace / "results"]


def test_a_thread_that_stores_take_for_none_is_refused(server: Server) -> None:
    nil = "00000000-0000-0000-0000-000000000000"
    server.client.threads.create(thread_id=nil)

    with pytest.raises(Exception, match=f"InputError: thread '{nil}': use 1 to 255 printable characters"):
        server.run("contend", {"theme": THEME}, thread_id=nil)
