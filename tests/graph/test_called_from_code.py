"""contend's graphs called as any graph of LangGraph's: with and without a config, a thread and an event loop."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

import contend
from contend.errors import InputError, UnknownThread
from contend.services import Services
from fakes.contests import Contest
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"
ROOT = Path(__file__).parents[2]
THREADS = ["user@example.org", "slack:C123/1699.55", "会話1", "x" * 255, "../up", "CON", "a b", "-rf"]

CALLS = """
import asyncio, json, os
from graphs.contest import graph
context = json.loads(os.environ["OPTIONS"])
asked = {"theme": os.environ["THEME"]}
on_thread = lambda name: {"configurable": {"thread_id": name}}

async def parts():
    return [part async for part in graph.astream(asked, on_thread("astream"), context=context, stream_mode="updates")]

async def answer():
    return await graph.ainvoke(asked, context=context)

results = {
    "invoke": graph.invoke(asked, context=context)["status"],
    "invoke on a thread": graph.invoke(asked, on_thread("invoke"), context=context)["status"],
    "stream": sorted(name for part in graph.stream(asked, context=context, stream_mode="updates") for name in part),
    "ainvoke": asyncio.run(answer())["status"],
    "astream": sorted(name for part in asyncio.run(parts()) for name in part),
    "state": graph.get_state(on_thread("invoke")).values["status"],
    "history": len([*graph.get_state_history(on_thread("invoke"))]) > 3,
}
print(json.dumps(results))
"""
STEPS = {"open_run", "set_criteria", "team", "find_near_ties", "pick_winner", "publish", "finish_run"}


def on_thread(name: str) -> Any:  # noqa: ANN401 - a RunnableConfig
    return {"configurable": {"thread_id": name}}


def test_the_graph_of_a_file_is_called_in_every_way(contest: Contest, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere.md"
    outside.write_text((contest.documents / "resume.md").read_text("utf-8"), "utf-8")
    options = {"documents": [str(outside)], "teams": ["alpha"], "max_rounds": 1, "learn": False}
    variables = {
        "PYTHONPATH": str(ROOT),
        "CONTEND_WORKSPACE": str(contest.workspace),
        "OPENAI_BASE_URL": str(contest.base_url),
        "OPTIONS": json.dumps({**options, "sources": ["local"]}),
        "THEME": THEME,
    }

    done = subprocess.run(  # noqa: S603 - this test's own words
        [sys.executable, "-c", CALLS],
        check=False, capture_output=True, text=True, cwd=tmp_path, env=variables, timeout=300,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    results = json.loads(done.stdout)
    assert {*results.pop("stream")} >= STEPS
    assert {*results.pop("astream")} >= STEPS
    assert results == {
        "invoke": "completed",
        "invoke on a thread": "completed",
        "ainvoke": "completed",
        "state": "completed",
        "history": True,
    }


def test_a_synchronous_call_asks_a_person_and_goes_on_with_the_answer(contest: Contest) -> None:
    services, config = contest.services(), on_thread("asked")
    graph = contend.build_graph("contend", services)
    options = contest.options(teams=["alpha"], max_rounds=1, learn=False, approve=["report"])

    waiting = graph.invoke({"theme": THEME}, config, context=options)
    open_question = graph.get_state(config).interrupts
    state = graph.invoke(Command(resume="approve"), config)

    assert [each.id for each in waiting["__interrupt__"]] == [each.id for each in open_question]
    assert state["status"] == "completed"
    assert graph.get_state(config).values["status"] == "completed"


async def test_a_run_of_the_command_line_is_seen_and_answered_by_the_graph(
    contest: Contest, services: Services
) -> None:
    await contest.run(THEME, thread_id="shared", teams=["alpha"], max_rounds=1, learn=False, approve=["report"])
    graph = contend.build_graph("contend", services)

    state = await graph.ainvoke(Command(resume="approve"), on_thread("shared"))

    assert state["status"] == "completed"
    assert (await contend.status("shared", services=services)).status == "completed"


async def test_a_synchronous_call_runs_where_an_event_loop_runs(contest: Contest, services: Services) -> None:
    graph = contend.build_graph("research", services)

    state = graph.invoke({"theme": THEME}, context=contest.options())

    assert state["messages"][-1].text.startswith(f"# {THEME}")


@pytest.mark.parametrize("kind", [InMemorySaver, SqliteSaver])
def test_a_synchronous_call_uses_the_checkpointer_that_was_compiled_in(contest: Contest, kind: type) -> None:
    saver = SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False)) if kind is SqliteSaver else kind()
    graph = contend.build_graph("contend", contest.services(), checkpointer=saver)

    graph.invoke({"theme": THEME}, on_thread("own"), context=contest.options(teams=["alpha"], max_rounds=1))

    latest = saver.get_tuple(on_thread("own"))
    assert latest.checkpoint["channel_values"]["status"] == "completed"
    assert not (contest.workspace / "checkpoints.sqlite").exists()
    if kind is SqliteSaver:
        saver.conn.close()


def test_it_is_a_part_of_a_graph_that_is_called_synchronously(contest: Contest) -> None:
    services = contest.services()
    own = StateGraph(dict)
    own.add_node("look_up", contend.build_graph("research", services))
    own.add_edge(START, "look_up")
    with sqlite3.connect(":memory:", check_same_thread=False) as connection:
        graph = own.compile(checkpointer=SqliteSaver(connection))
        state = graph.invoke({"theme": THEME}, on_thread("own"), context=contest.options())
    connection.close()

    assert state["messages"][-1].text.startswith(f"# {THEME}")


async def test_nothing_to_go_on_with_is_said(services: Services) -> None:
    with pytest.raises(UnknownThread, match="thread 'new' has no run to go on with"):
        await contend.build_graph("contend", services).ainvoke(None, on_thread("new"))


@pytest.mark.parametrize("name", ["contend", "team", "research"])
async def test_an_option_in_configurable_holds(contest: Contest, services: Services, name: Any) -> None:  # noqa: ANN401 - a GraphName
    graph = contend.build_graph(name, services)
    options = {"documents": [str(contest.documents)], "sources": ["local"], "language": "ja"}

    state = await graph.ainvoke({"theme": THEME}, {"configurable": options})

    assert "## 参考文献" in state["messages"][-1].text


@pytest.mark.parametrize("name", ["contend", "team", "research", "learn"])
async def test_an_unknown_option_is_refused_by_its_name(services: Services, name: Any) -> None:  # noqa: ANN401 - a GraphName
    graph = contend.build_graph(name, services)

    with pytest.raises(InputError, match="max_round"):
        await graph.ainvoke({"theme": THEME}, {"configurable": {"max_round": 1}})
    with pytest.raises(InputError, match="max_round"):
        await graph.ainvoke({"theme": THEME}, context={"max_round": 1})


async def test_a_context_of_another_kind_is_refused(services: Services) -> None:
    with pytest.raises(InputError, match=r"context: give contend\.RunOptions or a mapping, not list"):
        await contend.build_graph("contend", services).ainvoke({"theme": THEME}, context=["quick"])


async def test_a_question_that_nobody_could_answer_is_refused_before_anything_is_spent(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    graph = contend.build_graph("contend", services)

    state = await graph.ainvoke({"theme": THEME}, context=contest.options(approve=["plan"]))

    assert state["message"].startswith("approve: without a thread nothing is kept")
    assert vendors.prompts() == []


async def test_events_of_a_run_are_streamed(contest: Contest, services: Services) -> None:
    graph = contend.build_graph("research", services)

    events = [event["name"] async for event in graph.astream_events({"theme": THEME}, context=contest.options())]

    assert {"research", "supervise", "write"} <= {*events}


async def test_an_option_that_is_given_twice_is_refused(services: Services) -> None:
    graph = contend.build_graph("contend", services)

    with pytest.raises(InputError, match="max_rounds: the context and `configurable` say different things"):
        await graph.ainvoke({"theme": THEME}, {"configurable": {"max_rounds": 1}}, context={"max_rounds": 2})


@pytest.mark.parametrize("thread", THREADS)
async def test_a_thread_has_the_id_of_its_host_application(contest: Contest, thread: str) -> None:
    options = {"teams": ["alpha"], "max_rounds": 1, "learn": False, "approve": ["report"]}

    waiting = await contest.run(THEME, thread_id=thread, **options)
    outcome = await contest.resume(thread, "approve")

    assert (waiting.thread_id, outcome.status) == (thread, "completed")
    written = {str(path) for path in contest.workspace.glob("results/*/*")}
    assert {*outcome.files} <= written


async def test_threads_that_look_alike_keep_their_own_reports(contest: Contest) -> None:
    outcomes = [
        await contest.run(THEME, thread_id=thread, teams=["alpha"], max_rounds=1, learn=False)
        for thread in ("a/b", "a:b")
    ]

    assert len({file for outcome in outcomes for file in outcome.files}) == 6


@pytest.mark.parametrize(("name", "least"), [("contend", 25), ("team", 110), ("research", 110)])
async def test_too_low_a_limit_of_steps_is_answered_with_the_number_to_set(
    contest: Contest,
    services: Services,
    name: Any,  # noqa: ANN401 - a GraphName
    least: int,
) -> None:
    graph = contend.build_graph(name, services)
    options = {"documents": [str(contest.documents)], "sources": ["local"], "max_iterations": 2}

    refused = await graph.ainvoke({"theme": THEME}, {"recursion_limit": 5}, context=options)
    state = await graph.ainvoke({"theme": THEME}, {"recursion_limit": least}, context=options)

    line = f"recursion_limit: 5 steps may be too few for this run: set {least}, or leave it out"
    assert refused["messages"][-1].text == line
    assert state["messages"][-1].text.startswith(f"# {THEME}")


async def test_a_limit_that_is_reached_is_answered_with_a_number_too(services: Services) -> None:
    graph = contend.build_graph("learn", services)

    with pytest.raises(InputError, match="recursion_limit: 1 steps were too few for this run: set 10000"):
        await graph.ainvoke({"dataset": "default", "theme": THEME, "rounds": []}, {"recursion_limit": 1})
