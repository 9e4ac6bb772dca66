"""The Agent Server's tools, as the official MCP client meets them."""

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest

from fakes.servers import Server, ask

if TYPE_CHECKING:
    from mcp import Client

THEME = "How does resume work after a crash?"


@pytest.fixture
def client(server: Server) -> "Client":
    from mcp import Client  # noqa: PLC0415 - slow to import

    return Client(f"{server.url}/mcp")


async def call(client: "Client", tool: str, **given: Any) -> tuple[str, bool]:  # noqa: ANN401 - a tool's arguments
    """The tool's text, and whether it is an error."""
    from mcp.types import TextContent  # noqa: PLC0415 - the same

    async with client:
        result = await client.call_tool(tool, given)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text, bool(result.is_error)


async def test_the_tools_are_the_two_that_answer_and_say_what_to_give(client: "Client") -> None:
    async with client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    contest, research = (tools[name].input_schema for name in ("contest", "research"))
    assert set(tools) == {"contest", "research"}
    assert set(contest["properties"]) == {"question", "documents", "depth", "length"}
    assert set(research["properties"]) == {"question", "documents", "length"}
    assert contest["required"] == research["required"] == ["question"]
    assert all(field["description"] for schema in (contest, research) for field in schema["properties"].values())
    assert all("Returns the report in Markdown" in (tool.description or "") for tool in tools.values())


@pytest.mark.parametrize("tool", ["contest", "research"])
async def test_a_call_on_documents_is_answered_by_the_report(client: "Client", server: Server, tool: str) -> None:
    (server.workspace / "own").mkdir(exist_ok=True)
    (server.workspace / "own" / "ferries.md").write_text(FERRIES, "utf-8")

    report, failed = await call(client, tool, question=THEME, documents=[str(server.workspace / "own")])

    assert not failed
    assert report.startswith("# ")
    assert "ferries.md" in report
    assert "## About this run" in report


async def test_while_it_works_a_call_tells_how_far_it_is(client: "Client") -> None:
    messages: list[str | None] = []

    async def on_progress(_: float, __: float | None, message: str | None) -> None:
        messages.append(message)

    async with client:
        await client.call_tool("research", {"question": THEME}, progress_callback=on_progress)

    assert messages
    assert all(messages)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"question": THEME, "documents": ["/etc"]}, "documents"),
        ({"question": " "}, "theme is empty: give the question"),
        ({"question": THEME, "depth": "abyss"}, "depth"),
    ],
    ids=["documents", "question", "depth"],
)
async def test_what_is_refused_is_an_error_that_names_the_field(
    client: "Client", values: dict[str, Any], line: str
) -> None:
    text, failed = await call(client, "contest", **values)

    assert failed
    assert line in text


def test_the_server_has_no_endpoint_for_agents_of_the_a2a_protocol(server: Server) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}}

    path = f"/a2a/{server.assistant('contend')}"
    status, _, _ = ask(server, "POST", path, {"Content-Type": "application/json"}, json.dumps(call))

    assert status == HTTPStatus.NOT_FOUND


async def test_the_server_has_no_other_mcp_endpoint(server: Server) -> None:
    response = server.client.http.get("/openapi.json")

    assert isinstance(response, dict)
    assert not [path for path in response["paths"] if path.startswith("/mcp")]


FERRIES = """# Ferries

A run keeps a checkpoint after every step, as a ferry keeps a log after every crossing. After a crash, resume reads the
last checkpoint and goes on from there. Finished calls are not paid again.
"""
