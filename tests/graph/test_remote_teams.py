"""Teams that play in another process: a graph of an Agent Server, reached by its address and its name."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from contend.errors import InputError
from contend.models.events import StepDone
from fakes.contests import Contest
from fakes.own_graphs import QUESTION, TEAM, enter
from fakes.servers import Server, langgraph_dev
from fakes.vendors import Vendors

AGENTS = '''"""Graphs that give no report."""

import asyncio
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt


class State(TypedDict, total=False):
    messages: Annotated[list, add_messages]


def one_node(node):
    graph = StateGraph(State)
    graph.add_node("answer", node)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile()


async def wait(state):
    return {"messages": [AIMessage(interrupt("May I search?"))]}


async def fail(state):
    raise KeyError("no such shelf")


async def hang(state):
    await asyncio.sleep(600)


waits, fails, hangs = one_node(wait), one_node(fail), one_node(hang)
'''


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with graphs of somebody else's."""
    folder = tmp_path_factory.mktemp("others") / "server"
    folder.mkdir()
    (folder / "agents.py").write_text(AGENTS, "utf-8")
    graphs = {name: f"./agents.py:{name}" for name in ("waits", "fails", "hangs")}
    (folder / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}), "utf-8")
    with langgraph_dev(folder) as server:
        yield server


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    return Contest(workspace, documents, vendors.base_url)


def remote(server: Server, assistant: str) -> str:
    return TEAM.replace('graph = "my_agent:agent"', f'url = "{server.url}"\nassistant = "{assistant}"')


async def test_contends_own_research_plays_from_another_process(contest: Contest, server: Server) -> None:
    enter(contest.workspace, "", team=remote(server, "research"))

    outcome = await contest.run(QUESTION, teams=["mine"], max_rounds=1, learn=False)

    assert outcome.status == "completed", outcome.message
    assert outcome.report is not None
    assert {source.source for source in outcome.report.cited_sources()} == {"local"}
    assert "supervise" in [event.detail for event in contest.events if isinstance(event, StepDone)]
    assert outcome.markdown is not None
    assert f"team mine runs on {server.url}: what its model calls cost is not known" in outcome.markdown


@pytest.mark.parametrize(
    ("assistant", "line"),
    [
        ("waits", "team mine failed: its graph waits for a person, and nobody answers it in a contest"),
        ("fails", "team mine failed: its graph failed on http://127.0.0.1:"),
        ("hangs", "team mine timeout: not done within 20 seconds"),
    ],
)
async def test_a_remote_graph_that_gives_no_report_forfeits(
    contest: Contest, others: Server, assistant: str, line: str
) -> None:
    enter(contest.workspace, "", team=remote(others, assistant), others=("alpha",), seconds=20)

    outcome = await contest.run(QUESTION, teams=["alpha", "mine"], max_rounds=1, learn=False)

    assert outcome.report is not None
    assert line in outcome.message
    assert others.client.threads.search() == []  # nothing of it goes on there


async def test_an_assistant_that_a_server_does_not_have_is_refused(contest: Contest, others: Server) -> None:
    enter(contest.workspace, "", team=remote(others, "misspelt"))

    with pytest.raises(InputError, match="Graph 'misspelt' not found"):
        await contest.run(QUESTION, teams=["mine"])
