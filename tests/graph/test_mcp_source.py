"""A tool of an MCP server as a source: a real server in another process, asked by the official client."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from contend.errors import InputError, SourceError
from contend.services import Services
from contend.settings import load_settings
from contend.sources.source import Source
from fakes import mcp_library
from fakes.contests import Contest, write_workspace
from fakes.loopback import free_port
from fakes.vendors import Vendors

THEME = "How does resume work after a kill?"
FIELDS = 'fields = { title = "name", text = "snippet", url = "link" }'


def entry(tool: str, folder: Path, more: str = "") -> str:
    arguments = json.dumps([str(Path(mcp_library.__file__)), str(folder)])
    return f"""[sources.library]
kind = "mcp"
command = "{sys.executable}"
args = {arguments}
tool = "{tool}"
query = "words"
{FIELDS}
{more}
"""


def services_of(workspace: Path, entry: str) -> Services:
    write_workspace(workspace, ("alpha",))
    (workspace / "config" / "sources.toml").write_text(entry, "utf-8")
    team = workspace / "config" / "teams" / "alpha.toml"
    team.write_text(team.read_text("utf-8").replace('["local"]', '["library", "local"]'), "utf-8")
    return Services(load_settings(workspace=workspace))


def library(workspace: Path, folder: Path, tool: str, more: str = "") -> Source:
    return services_of(workspace, entry(tool, folder, more)).sources.get("library", [])


def has_ended(folder: Path) -> bool:
    """Whether the server's process is gone."""
    try:
        os.kill(int((folder / "pid").read_text("utf-8")), 0)
    except ProcessLookupError:
        return True
    return False


async def test_a_report_cites_what_the_tool_found(
    workspace: Path, documents: Path, vendors: Vendors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBRARY_TOKEN", "sesame-31")
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-31")
    services_of(workspace, entry("search", tmp_path, 'limit = "most"\nenv = ["LIBRARY_TOKEN"]'))
    contest = Contest(workspace, documents, vendors.base_url)

    outcome = await contest.run(THEME, sources=["library"], max_rounds=1, learn=False)

    assert outcome.report is not None
    assert "https://library.example/resume" in {source.url for source in outcome.report.sources}
    words, most, variables = json.loads((tmp_path / "asked").read_text("utf-8").splitlines()[0])
    assert words
    assert most > 1
    assert "LIBRARY_TOKEN" in variables
    assert "TAVILY_API_KEY" not in variables
    assert has_ended(tmp_path)


async def test_resources_in_a_reply_are_results_by_their_addresses(workspace: Path, tmp_path: Path) -> None:
    results = await library(workspace, tmp_path, "as_resources").search("resume", limit=5)

    assert [each.result.url for each in results] == [book["link"] for book in mcp_library.BOOKS]
    assert results[0].text == mcp_library.BOOKS[0]["snippet"]


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        ("hang", "the MCP server of source library was not done within"),
        ("flood", "the MCP server of source library gave more than 4,000,000 characters"),
        ("refuse", r"the MCP server of source library refused 'resume': .*no shelf for resume"),
        ("prose", "tool 'prose' gave no list of results: name its key by `results`"),
    ],
)
async def test_a_tool_that_fails_is_one_line_and_leaves_no_process(
    workspace: Path, tmp_path: Path, tool: str, line: str
) -> None:
    source = library(workspace, tmp_path, tool, "deadline_seconds = 5" if tool == "hang" else "")

    with pytest.raises(SourceError, match=line):
        await source.search("resume", limit=5)

    assert has_ended(tmp_path)


async def test_an_error_does_not_repeat_what_the_server_was_given_to_keep(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIBRARY_TOKEN", "sesame-31")
    source = library(workspace, tmp_path, "betray", 'env = ["LIBRARY_TOKEN"]')

    with pytest.raises(SourceError, match=r"the key \*\*\* has run out"):
        await source.search("resume", limit=5)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The library, served at an address."""
    port = free_port()
    command = [sys.executable, str(Path(mcp_library.__file__)), str(tmp_path), "http", str(port)]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:  # noqa: S603 - ours
        while server.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
        server.kill()


async def test_a_server_at_an_address_is_searched_and_a_tool_that_it_has_not_is_named(
    workspace: Path, address: str
) -> None:
    at = f'[sources.library]\nkind = "mcp"\nurl = "{address}"\nquery = "words"\n{FIELDS}\n'

    results = await services_of(workspace, at + 'tool = "search"').sources.get("library", []).search("resume", limit=5)
    reason = await services_of(workspace, at + 'tool = "serch"').sources.get("library", []).check()

    assert [each.result.title for each in results] == [book["name"] for book in mcp_library.BOOKS]
    assert reason is not None
    assert reason.startswith("the MCP server of source library has no tool 'serch': it has search, as_resources")


async def test_a_command_that_ends_at_once_is_told_by_its_last_word(workspace: Path, tmp_path: Path) -> None:
    broken = entry("search", tmp_path).replace(json.dumps(str(Path(mcp_library.__file__))), '"-c", "import shelves"')
    source = services_of(workspace, broken).sources.get("library", [])

    with pytest.raises(SourceError, match="failed: ModuleNotFoundError: No module named 'shelves'"):
        await source.search("resume", limit=5)


async def test_an_address_where_nobody_answers_is_told(workspace: Path) -> None:
    at = '[sources.library]\nkind = "mcp"\nurl = "http://127.0.0.1:9/mcp"\ntool = "search"\n'
    reason = await services_of(workspace, at).sources.get("library", []).check()

    assert reason is not None
    assert reason.startswith("the MCP server of source library failed: ")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ('command = "no-such-shelf"\ntool = "search"', "command 'no-such-shelf' is not found"),
        ('url = "http://127.0.0.1:9"', "a source of kind mcp has a tool, and a command or a url"),
        (f'command = "{sys.executable}"\ntool = "s"\nenv = ["NO_SUCH"]', "NO_SUCH is not set"),
    ],
    ids=["command", "tool", "env"],
)
def test_an_entry_that_cannot_work_is_refused_when_config_is_read(workspace: Path, given: str, line: str) -> None:
    with pytest.raises(InputError, match=rf"config/sources\.toml.*{line}"):
        services_of(workspace, f'[sources.library]\nkind = "mcp"\n{given}\n')
