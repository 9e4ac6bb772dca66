"""An Agent Server that was killed: its runs go on in the next one and end as if nothing had happened.

Their documents are behind a link, which LangGraph's server lets nobody follow on its event loop.
"""

import shutil
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from fakes.api_client import research_api
from fakes.contests import Contest, write_workspace
from fakes.servers import Server, agent_server, fresh_clone, langgraph_dev
from fakes.traces import call_counts, record_of, without_differences
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"
OPTIONS = {"teams": ["alpha"], "max_rounds": 1, "learn": False}
METRICS = """[[evaluator.metrics]]
name = "coverage"

[[evaluator.metrics]]
name = "six"
kind = "python"
function = "mine:six"
"""


@pytest.fixture
def linked(tmp_path: Path, documents: Path) -> Path:
    """The documents by a link to their folder."""
    link = tmp_path / "linked"
    link.symlink_to(documents)
    return link


def start(server: Server, thread: str, context: dict[str, Any]) -> str:
    """A run on a thread of this id; the run's id."""
    server.client.threads.create(thread_id=thread)
    return str(server.client.runs.create(thread, "contend", input={"theme": THEME}, context=context)["run_id"])


def wait_until_hung(vendors: Vendors, calls: int) -> None:
    while len(vendors.hung) < calls:
        time.sleep(0.02)


def wait_for_queue(workspace: Path) -> None:
    """Until the server has written its queue; it does so every ten seconds."""
    queue = workspace / ".langgraph_api" / ".langgraph_ops.pckl"
    began = time.time()
    while not (queue.is_file() and queue.stat().st_mtime > began):
        time.sleep(0.05)


async def test_runs_of_a_killed_server_go_on_in_the_next_one_and_in_the_command_line(
    workspace: Path, tmp_path: Path, linked: Path, vendors: Vendors
) -> None:
    """A server that has written its queue takes its runs up by itself."""
    queued, other = str(uuid4()), str(uuid4())
    for folder in (workspace, tmp_path / "undisturbed"):
        write_workspace(folder, seconds=600)
    undisturbed = Contest(tmp_path / "undisturbed", linked, vendors.base_url)
    for thread in (queued, other):
        await undisturbed.run(THEME, thread_id=thread, **OPTIONS)
    expected = call_counts(vendors.calls)
    vendors.calls.clear()

    vendors.hang(prompt="research/review")
    options = {**OPTIONS, "documents": [str(linked)], "sources": ["local"]}
    variables = {"OPENAI_BASE_URL": vendors.base_url, "CONTEND_SERVED_FOLDERS": str(linked)}
    with agent_server(workspace, **variables) as server:
        run = start(server, queued, options)
        start(server, other, options)
        wait_until_hung(vendors, 2)
        wait_for_queue(workspace)
        server.kill()
    vendors.heal()
    resumed = await Contest(workspace, linked, vendors.base_url).resume(other)
    with agent_server(workspace, **variables) as server:
        joined = server.client.runs.join(queued, run)
        again = server.run("contend", None, thread_id=other)

    assert isinstance(joined, dict)
    assert [joined["message"], resumed.message, again["message"]] == ["all teams delivered"] * 3
    assert call_counts(vendors.calls) == expected
    assert record_of(workspace) == record_of(undisturbed.workspace)
    for thread in (queued, other):
        assert _report(workspace, thread) == _report(undisturbed.workspace, thread)


def test_a_run_that_the_next_server_does_not_know_goes_on_when_the_api_asks_for_it(
    workspace: Path, tmp_path: Path, linked: Path, vendors: Vendors
) -> None:
    """By bare `langgraph dev`, killed before it has written its queue. Its workspace is behind a link, too."""
    clone, linked_workspace = fresh_clone(tmp_path / "clone"), Path("..") / "linked-workspace"
    (clone / linked_workspace).symlink_to(workspace)
    write_workspace(workspace)
    (workspace / "config" / "evaluator.toml").write_text(METRICS, "utf-8")
    (workspace / "mine.py").write_text("def six(_):\n    return 0.6\n", "utf-8")
    variables = {"OPENAI_BASE_URL": vendors.base_url, "CONTEND_SERVED_FOLDERS": str(linked)}
    vendors.hang(prompt="research/review")
    with langgraph_dev(clone, linked_workspace, **variables) as server, research_api(server) as api:
        research = api.start(THEME, options={**OPTIONS, "sources": ["local"], "documents": [str(linked)]})
        wait_until_hung(vendors, 1)
        server.kill()
    shutil.rmtree(clone / ".langgraph_api", ignore_errors=True)
    vendors.heal()

    with langgraph_dev(clone, linked_workspace, **variables) as server, research_api(server) as api:
        stopped = api.get(f"/research/{research}")
        resumed = api.http.post(f"/research/{research}/resume")
        end = api.until(research, "run_done")

    assert (stopped["status"], stopped["message"]) == ("interrupted", "nobody works on it: the process ended")
    assert resumed.status_code == 202, resumed.text
    assert (end["status"], end["message"]) == ("completed", "all teams delivered")
    assert [call.prompt for call in vendors.calls].count("research/write") == 1, "an answered call was paid again"


def _report(workspace: Path, thread: str) -> str:
    return without_differences((workspace / "results" / thread / "report.md").read_text("utf-8"))
