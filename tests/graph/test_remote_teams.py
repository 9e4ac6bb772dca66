"""Teams that play in another process: a graph of an Agent Server, reached by its address and its name."""

import json
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from contend.errors import InputError
from contend.models.events import StepDone
from fakes.contests import Contest
from fakes.loopback import LoopbackServer
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


FORFEITS = {
    "waits": "failed: its graph waits for a person, and nobody answers it in a contest",
    "fails": "failed: its graph failed on http://127.0.0.1:",
}


def enter_remote(contest: Contest, others: Server, names: Iterable[str], *, seconds: int) -> None:
    enter(contest.workspace, "", others=("alpha", *names), seconds=seconds)
    for name in names:
        team = remote(others, name).replace('"mine"', f'"{name}"')
        (contest.workspace / "config" / "teams" / f"{name}.toml").write_text(team, "utf-8")


async def test_a_remote_graph_that_gives_no_report_forfeits(contest: Contest, others: Server) -> None:
    enter_remote(contest, others, FORFEITS, seconds=600)

    outcome = await contest.run(QUESTION, teams=["alpha", *FORFEITS], max_rounds=1, learn=False)

    assert outcome.report is not None
    for name, line in FORFEITS.items():
        assert f"team {name} {line}" in outcome.message
    assert others.client.threads.search() == []  # nothing of it goes on there


async def test_a_remote_graph_that_hangs_has_the_teams_time(contest: Contest, others: Server) -> None:
    enter_remote(contest, others, ["hangs"], seconds=20)

    outcome = await contest.run(QUESTION, teams=["hangs"], max_rounds=1, learn=False)

    assert "team hangs timeout: not done within 20 seconds" in outcome.message
    assert others.client.threads.search() == []


class AgentServer(LoopbackServer):
    """`deleted`: the paths of what it was told to delete."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), RunsThatEnd)
        self.deleted: list[str] = []


class RunsThatEnd(BaseHTTPRequestHandler):
    """A graph waits for a person; when its run is to be cancelled, it has just ended."""

    server: AgentServer

    def do_GET(self) -> None:
        run = {"run_id": "r", "status": "running"}
        self._reply(200, [run] if self.path.split("?")[0].endswith("/runs") else {"input_schema": {}})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.endswith("/runs/stream"):
            waits = {"__interrupt__": [{"value": "May I search?", "id": "i"}]}
            self._send(200, "text/event-stream", f"event: updates\ndata: {json.dumps(waits)}\n\n")
        elif "/cancel" in self.path:
            self._reply(404, {"detail": "No matching runs to cancel."})
        else:
            self._reply(200, [{"assistant_id": "a", "graph_id": "waits"}])

    def do_DELETE(self) -> None:
        self.server.deleted.append(self.path)
        self._reply(200, {})

    def _reply(self, status: int, value: object) -> None:
        self._send(status, "application/json", json.dumps(value))

    def _send(self, status: int, kind: str, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None: ...


async def test_a_run_that_ends_as_it_is_cancelled_leaves_no_thread_on_its_server(contest: Contest) -> None:
    server = LoopbackServer(("127.0.0.1", 0), RunsThatEnd)
    server.deleted = []  # type: ignore[attr-defined]
    server.start()
    team = TEAM.replace(
        'graph = "my_agent:agent"', f'url = "http://127.0.0.1:{server.server_port}"\nassistant = "waits"'
    )
    enter(contest.workspace, "", team=team, others=("alpha",), seconds=20)

    outcome = await contest.run(QUESTION, teams=["alpha", "mine"], max_rounds=1, learn=False)
    server.stop()

    assert "its graph waits for a person" in outcome.message
    assert [path.split("/")[1] for path in server.deleted] == ["threads"]


async def test_an_assistant_that_a_server_does_not_have_is_refused(contest: Contest, others: Server) -> None:
    enter(contest.workspace, "", team=remote(others, "misspelt"))

    with pytest.raises(InputError, match="Graph 'misspelt' not found"):
        await contest.run(QUESTION, teams=["mine"])
