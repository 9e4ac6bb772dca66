"""`contend serve`, started in a folder that is not the workspace: what was set where the user stands holds."""

import json
import shutil
import time

from fakes.api_client import Api
from fakes.servers import ask

THEME = "How does resume work after a crash?"


def test_relative_documents_and_the_env_file_are_those_of_the_folder_it_was_started_in(api: Api) -> None:
    state = api.server.run("contend", {"theme": THEME}, context={"documents": ["papers"], "sources": ["local"]})

    assert state["status"] == "completed"
    assert [result["round_number"] for result in state["summary"]["team_results"]] == [1, 1]
    assert [status["team_id"] for status in state["summary"]["team_statuses"]] == ["alpha", "beta"]
    papers = (api.server.workspace.with_name("here") / "papers").as_uri()
    assert state["report"]["sources"]
    assert all(source["url"].startswith(papers) for source in state["report"]["sources"])


def test_the_servers_root_leads_to_the_page_and_its_start_ends_with_the_pages_address(api: Api) -> None:
    status, headers, _ = ask(api.server, "GET", "/", {})
    assert (status, headers["location"]) == (307, "/app/")

    line = (
        f"Serving the workspace {api.server.workspace}: the live page is at {api.server.url}/app/; Ctrl-C stops it.\n"
    )
    while line not in api.server.log_text:
        time.sleep(0.02)
    before, _, _ = api.server.log_text.partition(line)
    assert "Application started up" in before


def test_the_tools_for_agents_answer_with_and_without_a_slash(api: Api) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    answers = [ask(api.server, "POST", path, headers, body) for path in ("/mcp", "/mcp/")]

    assert [status for status, _, _ in answers] == [200, 200]
    assert answers[0][2] == answers[1][2]


def test_documents_behind_a_link_are_read_and_named_by_their_paths(api: Api) -> None:
    """The development server fails a run that follows a link on its event loop."""
    here, notes = api.server.workspace.with_name("here"), api.server.workspace / "notes"
    shutil.copytree(here / "papers", notes)
    (notes / "tune.mp3").write_bytes(b"ID3")
    (here / "linked").symlink_to(notes)

    context = {"documents": ["linked"], "sources": ["local", "tavily"], "teams": ["alpha", "gamma"]}
    state = api.server.run("contend", {"theme": THEME}, context=context)

    assert state["status"] == "completed", state["message"]
    assert "file://" not in state["messages"][-1]["content"]
