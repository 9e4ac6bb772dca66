"""What tests of the graphs share: a contest of two plain teams, what it is built from, and one Agent Server."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contend.services import Services
from fakes.contests import Contest, write_workspace
from fakes.kilns import TOO_FEW, write_kilns
from fakes.redis_server import RedisServer
from fakes.servers import Server, agent_server, fresh_clone, langgraph_dev
from fakes.vendors import Vendors

PLAIN = """team_id = "plain"
name = "Plain"
sources = ["local"]
max_iterations = 1
"""
OPTIONS = """
teams = ["plain"]
sources = ["local"]
documents = ["{documents}"]
evidence_tokens = {tokens}

[[orchestrator.teams]]
config = "config/teams/plain.toml"
"""

TOKEN = "a-token-of-more-than-16-letters"
ON_REDIS = """
sources = ["local"]
documents = ["{documents}"]
evidence_tokens = {tokens}
learn = false
max_rounds = 1
"""


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace)
    return Contest(workspace, documents, vendors.base_url)


@pytest.fixture
def stepping(contest: Contest) -> Contest:
    """The contest, with more documents than its teams may hold: they look for what they need, step by step."""
    write_kilns(contest.documents)
    contest.defaults = {**contest.defaults, "evidence_tokens": TOO_FEW}
    return contest


@pytest.fixture
async def services(contest: Contest) -> AsyncIterator[Services]:
    services = contest.services()
    yield services
    await services.aclose()


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fresh_clone(tmp_path_factory.mktemp("repository") / "clone")


@pytest.fixture(scope="session")
def _running(
    tmp_path_factory: pytest.TempPathFactory, clone: Path, many_documents: Path, endpoint: Vendors
) -> Iterator[Server]:
    """Set to a language model on loopback; runs enter the team `plain` unless they name others."""
    workspace = tmp_path_factory.mktemp("server") / "workspace"
    write_workspace(workspace)
    (workspace / "config" / "teams" / "plain.toml").write_text(PLAIN, "utf-8")
    with (workspace / "config" / "orchestrator.toml").open("a", encoding="utf-8") as config:
        config.write(OPTIONS.format(documents=many_documents, tokens=TOO_FEW))
    with langgraph_dev(clone, Path(os.path.relpath(workspace, clone)), OPENAI_BASE_URL=endpoint.base_url) as server:
        yield server


@pytest.fixture
def server(_running: Server, endpoint: Vendors) -> Iterator[Server]:
    with _afresh(_running, endpoint):
        yield _running


@pytest.fixture(scope="session")
def _bare(tmp_path_factory: pytest.TempPathFactory, endpoint: Vendors) -> Iterator[Server]:
    clone = fresh_clone(tmp_path_factory.mktemp("bare") / "clone")
    with langgraph_dev(clone, OPENAI_BASE_URL=endpoint.base_url) as server:
        yield server


@pytest.fixture
def bare(_bare: Server, endpoint: Vendors) -> Iterator[Server]:
    """A fresh clone without a workspace or an option."""
    with _afresh(_bare, endpoint):
        yield _bare


@pytest.fixture(scope="session")
def redis_of_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis"), password="sesame-94b1") as redis:
        yield redis


@pytest.fixture(scope="session")
def _on_redis(
    tmp_path_factory: pytest.TempPathFactory, many_documents: Path, endpoint: Vendors, redis_of_server: RedisServer
) -> Iterator[Server]:
    workspace = tmp_path_factory.mktemp("server") / "workspace"
    write_workspace(workspace, ("alpha", "beta", "gamma"))
    with (workspace / "config" / "orchestrator.toml").open("a", encoding="utf-8") as config:
        config.write(ON_REDIS.format(documents=many_documents, tokens=TOO_FEW))
    variables = {"CONTEND_REDIS_URL": redis_of_server.url, "CONTEND_SERVER_TOKEN": TOKEN}
    with agent_server(workspace, OPENAI_BASE_URL=endpoint.base_url, **variables) as server:
        yield server


@pytest.fixture
def server_on_redis(_on_redis: Server, endpoint: Vendors) -> Iterator[Server]:
    with _afresh(_on_redis, endpoint):
        yield _on_redis


@contextmanager
def _afresh(server: Server, endpoint: Vendors) -> Iterator[None]:
    endpoint.heal()
    server.until_idle()
    endpoint.calls.clear()
    endpoint.hung.clear()
    yield
    endpoint.heal()
