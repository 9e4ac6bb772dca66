"""What tests of the HTTP API share: one Agent Server as `langgraph dev` starts it, and a client of its routes."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fakes.api_client import Api
from fakes.contests import write_workspace
from fakes.servers import Server, fresh_clone, langgraph_dev
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
    clone = fresh_clone(tmp_path_factory.mktemp("repository") / "clone")
    workspace = tmp_path_factory.mktemp("server") / "workspace"
    write_workspace(workspace)
    with (workspace / "config" / "orchestrator.toml").open("a", encoding="utf-8") as config:
        config.write(OPTIONS.format(documents=shared_documents))
    with langgraph_dev(clone, Path(os.path.relpath(workspace, clone)), OPENAI_BASE_URL=endpoint.base_url) as server:
        yield server
        assert "Blocking" not in server.said


@pytest.fixture
def api(_running: Server, endpoint: Vendors) -> Iterator[Api]:
    endpoint.heal()
    _running.until_idle()
    endpoint.calls.clear()
    endpoint.hung.clear()
    with httpx.Client(base_url=_running.url, timeout=240) as http:
        yield Api(_running, http)
    endpoint.heal()
