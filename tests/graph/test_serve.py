"""`contend serve`, started in a folder that is not the workspace: what was set where the user stands holds."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.contests import write_workspace
from fakes.servers import Server, agent_server
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> Iterator[Server]:
    workspace = tmp_path_factory.mktemp("serve") / "workspace"
    write_workspace(workspace)
    here = workspace.with_name("here")
    shutil.copytree(shared_documents, here / "papers")
    with Vendors() as vendors:
        env_file = f"OPENAI_BASE_URL={vendors.base_url}\nCONTEND_MAX_ROUNDS=1\nCONTEND_TEAMS=alpha\n"
        (here / ".env").write_text(env_file, "utf-8")
        lists = {"CONTEND_FETCH_ALLOW": "10.0.0.0/8, fd00::/8", "CONTEND_SERVED_FOLDERS": "more, papers"}
        with agent_server(workspace, started_in=here, **lists) as server:
            yield server


def test_relative_documents_and_the_env_file_are_those_of_the_folder_it_was_started_in(
    server: Server,
) -> None:
    ended = server.run("contend", {"theme": THEME}, context={"documents": ["papers"], "sources": ["local"]})

    assert ended["status"] == "completed"
    assert [result["round_number"] for result in ended["summary"]["team_results"]] == [1]
    assert [status["team_id"] for status in ended["summary"]["team_statuses"]] == ["alpha"]
    papers = (server.workspace.with_name("here") / "papers").as_uri()
    assert ended["report"]["sources"]
    assert all(source["url"].startswith(papers) for source in ended["report"]["sources"])
