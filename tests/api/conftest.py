"""What tests of the HTTP API share: one Agent Server as `contend serve` starts it, and a client of its routes.

It is started in a folder that is not its workspace, whose env file names the language model and two of three teams.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.api_client import Api, finished_research, research_api
from fakes.contests import write_workspace
from fakes.kilns import TOO_FEW
from fakes.servers import Server, agent_server
from fakes.vendors import Vendors

OPTIONS = """
sources = ["local"]
documents = ["{documents}"]
evidence_tokens = {tokens}
"""


@pytest.fixture(scope="session")
def _running(
    tmp_path_factory: pytest.TempPathFactory, shared_documents: Path, many_documents: Path, endpoint: Vendors
) -> Iterator[Server]:
    workspace = tmp_path_factory.mktemp("server") / "workspace"
    write_workspace(workspace, ("alpha", "beta", "gamma"))
    gamma = workspace / "config" / "teams" / "gamma.toml"
    gamma.write_text(gamma.read_text("utf-8").replace('["local"]', '["local", "tavily"]'), "utf-8")
    with (workspace / "config" / "orchestrator.toml").open("a", encoding="utf-8") as config:
        config.write(OPTIONS.format(documents=many_documents, tokens=TOO_FEW))
    here = workspace.with_name("here")
    shutil.copytree(shared_documents, here / "papers")
    env_file = f"OPENAI_BASE_URL={endpoint.base_url}\nCONTEND_MAX_ROUNDS=1\nCONTEND_TEAMS=alpha,beta\n"
    (here / ".env").write_text(env_file, "utf-8")
    lists = {"CONTEND_FETCH_ALLOW": "10.0.0.0/8, fd00::/8", "CONTEND_SERVED_FOLDERS": "more, papers"}
    with agent_server(workspace, started_in=here, **lists) as server:
        yield server


@pytest.fixture(scope="session")
def finished(_running: Server) -> str:
    """A finished research of one team, for tests that read it."""
    with research_api(_running) as api:
        return finished_research(api)


@pytest.fixture
def api(_running: Server, endpoint: Vendors) -> Iterator[Api]:
    endpoint.heal()
    _running.until_idle()
    endpoint.calls.clear()
    endpoint.hung.clear()
    with research_api(_running) as client:
        yield client
    endpoint.heal()
