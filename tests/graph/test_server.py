"""The graphs in a real Agent Server: what Studio, the SDK and chat front ends meet."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from langgraph_sdk.errors import ConflictError

from contend.settings import load_settings
from contend.stores.leases import lease
from fakes.contests import write_workspace
from fakes.servers import agent_server
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"
GRAPHS = {"contend", "team", "research", "learn"}
PLAIN = """team_id = "plain"
name = "Plain"
sources = ["local"]
max_iterations = 1
"""
OPTIONS = """
[[orchestrator.teams]]
config = "config/teams/plain.toml"

[options]
model = "extractive"
teams = ["plain"]
sources = ["local"]
documents = ["{documents}"]
"""


class Server(NamedTuple):
    """A server without any key. Its runs are composed by extraction, except those of the teams alpha and beta."""

    url: str
    workspace: Path
    client: SyncLangGraphClient

    def assistant(self, graph: str) -> str:
        (found,) = self.client.assistants.search(graph_id=graph)
        return str(found["assistant_id"])

    def thread(self) -> str:
        return str(self.client.threads.create()["thread_id"])

    def run(self, graph: str, given: dict[str, Any] | None, **how: Any) -> dict[str, Any]:  # noqa: ANN401 - the SDK's
        """The run's output."""
        ended = self.client.runs.wait(how.pop("thread_id", None), graph, input=given, **how)
        assert isinstance(ended, dict)
        return ended


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Vendors]:
    with Vendors() as vendors:
        yield vendors


@pytest.fixture(scope="session")
def _running(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path, endpoint: Vendors) -> Iterator[Server]:
    workspace = tmp_path_factory.mktemp("server") / "workspace"
    write_workspace(workspace)
    (workspace / "config" / "teams" / "plain.toml").write_text(PLAIN, "utf-8")
    with (workspace / "config" / "orchestrator.toml").open("a", encoding="utf-8") as config:
        config.write(OPTIONS.format(documents=shared_documents))
    with (
        agent_server(workspace, workspace / "server.log", OPENAI_BASE_URL=endpoint.base_url) as url,
        get_sync_client(url=url) as client,
    ):
        yield Server(url, workspace, client)


@pytest.fixture
def server(_running: Server, endpoint: Vendors) -> Iterator[Server]:
    endpoint.heal()
    endpoint.calls.clear()
    endpoint.hung.clear()
    yield _running
    endpoint.heal()


def test_the_server_knows_the_schemas_of_every_graph(server: Server) -> None:
    schemas = {graph: server.client.assistants.get_schemas(server.assistant(graph)) for graph in GRAPHS}

    assert {assistant["graph_id"] for assistant in server.client.assistants.search()} == GRAPHS
    assert "theme" in schemas["contend"]["input_schema"]["properties"]
    assert "min_rounds" in schemas["contend"]["context_schema"]["properties"]


def test_a_contest_is_drawn_with_its_teams_and_their_research(server: Server) -> None:
    drawn = server.client.assistants.get_graph(server.assistant("contend"), xray=2)

    nodes = {node["id"] for node in drawn["nodes"]}
    assert {"open_run", "team:brief", "team:judge", "team:research:search", "learn:curate", "finish_run"} <= nodes


@pytest.mark.parametrize(
    "given", [{"theme": THEME}, {"messages": [{"role": "user", "content": THEME}]}], ids=["theme", "messages"]
)
def test_a_run_ends_with_a_report_a_message_and_a_status(
    server: Server, endpoint: Vendors, given: dict[str, Any]
) -> None:
    ended = server.run("contend", given)

    assert ended["status"] == "completed"
    assert ended["report"]["theme"] == THEME
    assert ended["report"]["sources"]
    assert ended["messages"][-1]["type"] == "ai"
    assert ended["messages"][-1]["content"].startswith(f"# {THEME}")
    assert "composed by extraction" in ended["messages"][-1]["content"]
    assert not endpoint.calls


def test_a_run_without_a_thread_leaves_no_defect_in_the_servers_log(server: Server) -> None:
    server.run("contend", {"theme": THEME})
    server.run("contend", {"theme": THEME})

    assert "Background worker failed" not in (server.workspace / "server.log").read_text("utf-8")


def test_an_empty_theme_ends_the_run_with_its_line(server: Server) -> None:
    ended = server.run("contend", {"theme": " "})

    assert ended["status"] == "failed"
    assert ended["message"].startswith("theme is empty: give the question")
    assert ended["messages"][-1]["content"] == ended["message"]


def test_a_team_that_fails_is_named_in_the_answer(server: Server, endpoint: Vendors) -> None:
    endpoint.fail(model="beta", status=401)

    ended = server.run("contend", {"theme": THEME}, context={"teams": ["alpha", "beta"], "max_rounds": 1})

    assert ended["status"] == "partial"
    assert ended["message"].startswith("team beta failed: model 'beta' at http://127.0.0.1")
    assert "set OPENAI_API_KEY" in ended["message"]
    assert ended["message"] in ended["messages"][-1]["content"]


def test_a_run_cancelled_midway_goes_on_with_the_options_it_began_with(server: Server, endpoint: Vendors) -> None:
    endpoint.hang(prompt="writer/write", after=1)
    thread = server.thread()
    begun = {"teams": ["alpha"], "min_rounds": 2, "max_rounds": 2, "dataset": "kept", "learn": False}
    run = server.client.runs.create(thread, "contend", input={"theme": THEME}, context=begun)
    while not endpoint.hung:
        time.sleep(0.02)
    before = [call.prompt for call in endpoint.calls]
    server.client.runs.cancel(thread, run["run_id"], wait=True)
    endpoint.heal()

    ended = server.run("contend", None, thread_id=thread)

    state = server.client.threads.get_state(thread)["values"]
    assert ended["status"] == "completed"
    assert {name: state["given"][name] for name in begun} == begun
    assert [team["team_id"] for team in ended["summary"]["team_statuses"]] == ["alpha"]
    assert [finished["round_number"] for finished in state["outcomes"][0]["rounds"]] == [1, 2]
    assert not (server.workspace / "playbooks" / "kept.json").exists()
    assert before == ["supervisor/plan", "writer/write", "reviewer/review", "supervisor/plan"]
    assert [call.prompt for call in endpoint.calls[len(before) :]] == ["writer/write", "reviewer/review"]


def test_of_two_runs_at_once_on_one_thread_the_second_is_refused(server: Server, endpoint: Vendors) -> None:
    endpoint.hang(prompt="supervisor/plan")
    thread = server.thread()
    first = server.client.runs.create(thread, "contend", input={"theme": THEME}, context={"teams": ["alpha"]})
    while not endpoint.hung:
        time.sleep(0.02)

    with pytest.raises(ConflictError):
        server.client.runs.create(thread, "contend", input={"theme": THEME}, multitask_strategy="reject")

    server.client.runs.cancel(thread, first["run_id"], wait=True)
    assert len(endpoint.hung) == 1


async def test_a_thread_that_another_process_works_on_is_not_touched(server: Server) -> None:
    thread = server.thread()
    async with lease(load_settings(workspace=server.workspace), thread):
        with pytest.raises(Exception, match=f"ThreadBusy: thread {thread} is being worked on by process"):
            await asyncio.to_thread(server.run, "contend", {"theme": THEME}, thread_id=thread)

    assert not server.client.threads.get_state(thread)["values"]


def test_research_alone_ends_with_a_cited_report(server: Server) -> None:
    ended = server.run("research", {"theme": THEME})

    assert ended["report"]["sources"]
    assert ended["messages"][-1]["content"].startswith(f"# {THEME}")


def test_a_team_alone_plays_its_rounds(server: Server) -> None:
    ended = server.run("team", {"messages": [{"role": "user", "content": THEME}]}, context={"max_rounds": 1})

    assert [finished["round_number"] for finished in ended["rounds"]] == [1]


def test_learning_alone_ends_with_a_playbook_version(server: Server) -> None:
    ended = server.run("learn", {"dataset": "alone", "theme": THEME})

    assert ended["result"]["dataset"] == "alone"


@pytest.mark.parametrize("graph", ["research", "team"])
def test_bad_input_to_a_part_fails_with_its_line(server: Server, graph: str) -> None:
    with pytest.raises(Exception, match="InputError: theme is empty: give the question to research"):
        server.run(graph, {"theme": " "})


def test_a_model_that_refuses_fails_a_part_with_its_line(server: Server, endpoint: Vendors) -> None:
    endpoint.fail(prompt="writer/write", status=401)

    with pytest.raises(Exception, match=r"ModelError: model 'beta' at http://127\.0\.0\.1.* set OPENAI_API_KEY"):
        server.run("team", {"theme": THEME}, context={"teams": ["beta"]})


def test_plans_of_two_teams_are_approved_and_edited_through_the_sdk(server: Server, endpoint: Vendors) -> None:
    thread = server.thread()
    options = {"teams": ["alpha", "beta"], "approve": ["plan"], "max_rounds": 1, "learn": False, "model": "m"}
    server.run("contend", {"theme": THEME}, thread_id=thread, context=options)
    waiting = server.client.threads.get_state(thread)["interrupts"]
    asked = {question["value"]["team_id"]: question["id"] for question in waiting}
    assert set(asked) == {"alpha", "beta"}
    points = ["Which calls are repeated after a kill?"]
    edited = {"name": "approve_plan", "args": {"investigation_points": points}}

    ended = server.run(
        "contend",
        None,
        thread_id=thread,
        command={
            "resume": {
                asked["alpha"]: {"decisions": [{"type": "approve"}]},
                asked["beta"]: {"decisions": [{"type": "edit", "edited_action": edited}]},
            }
        },
    )

    assert ended["status"] == "completed"
    drafts = [call.user for call in endpoint.calls if call.model == "beta" and call.prompt == "writer/write"]
    assert drafts
    assert all(points[0] in draft for draft in drafts)
