"""What tests of the HTTP API share: one Agent Server as `contend serve` starts it, and a client of its routes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.api_client import Api, finished_research, research_api
from fakes.contests import write_workspace
from fakes.servers import Server, agent_server
from fakes.vendors import Vendors

OPTIONS = """
[options]
sources = ["local"]
documents = ["{documents}"]
max_rounds = 1
"""


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Vendors]:
    with Vendors() as vendors:
        yield vendors


@pytest.fixture(scope="session")
def _running(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path, endpoint: Vendors) -> Iterator[Server]:
    workspace = tmp_path_factory.mktemp("server") / "workspace"
    write_workspace(workspace)
    with (workspace / "config" / "orchestrator.toml").open("a", encoding="utf-8") as config:
        config.write(OPTIONS.format(documents=shared_documents))
    with agent_server(workspace, OPENAI_BASE_URL=endpoint.base_url) as server:
        yield server
        assert "Blocking" not in server.said


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
