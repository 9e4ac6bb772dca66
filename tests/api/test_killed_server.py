"""A server that is killed in the middle of a research, and the next one on the same workspace."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from fakes.api_client import Api
from fakes.contests import write_workspace
from fakes.servers import agent_server
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"


@contextmanager
def _served(workspace: Path, vendors: Vendors) -> Iterator[Api]:
    with (
        agent_server(workspace, OPENAI_BASE_URL=vendors.base_url) as server,
        httpx.Client(base_url=server.url, timeout=240) as http,
    ):
        yield Api(server, http)


def test_a_research_whose_server_was_killed_says_so_and_goes_on(workspace: Path, vendors: Vendors) -> None:
    write_workspace(workspace)
    documents = workspace / "papers"
    documents.mkdir()
    (documents / "resume.md").write_text("# Resume\n\nA run keeps a checkpoint after each step.\n", "utf-8")
    options = {"teams": ["alpha"], "documents": [str(documents)], "sources": ["local"], "max_rounds": 1, "learn": False}
    vendors.hang(prompt="writer/write")
    with _served(workspace, vendors) as api:
        research = api.start(THEME, options=options)
        while not vendors.hung:
            time.sleep(0.02)
        before = _told(api, research)
        api.server.kill()
    vendors.heal()

    with _served(workspace, vendors) as api:
        standing = api.get(f"/research/{research}")
        listed = api.get("/research")["items"][0]
        if standing["status"] == "interrupted":
            assert (listed["status"], listed["message"]) == ("interrupted", "nobody works on it: the process ended")
            assert api.http.post(f"/research/{research}/resume").status_code == 202
        ended = api.until(research, "run_done")
        after = [event for event in api.events(research) if "id" in event]

    assert ended["status"] == "completed"
    assert after[: len(before)] == before
    assert len([event for event in after if event["type"] == "run_started"]) == 1


def _told(api: Api, research: str) -> list[dict[str, object]]:
    """What was told until the search was done."""
    told = []
    for event in api.events(research):
        if "id" in event:
            told.append(event)
        if event.get("step") == "search":
            return told
    raise AssertionError(told)
