"""A search tool of an MCP server, which is started for each search or reached at its address."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from contend.errors import InputError, SourceError, without_secrets
from contend.parsing import parse_json
from contend.settings.files import SourceConfig
from contend.sources.calls import TransientError
from contend.sources.source import QueuedSource
from contend.text import clean, shorten

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

_CHECK_SECONDS = 2.5
_MOST_CHARACTERS = 4_000_000
_LINE = 200
Item = Mapping[str, object]


class McpSource(QueuedSource):
    """Asks a server's tool by its entry in `config/sources.toml`. `folder`: where its command is started.

    The command inherits only PATH, HOME and the like, and the variables that `env` names: no keys of contend's.
    """

    def __init__(self, name: str, entry: SourceConfig, where: str, folder: Path) -> None:
        """Check what the entry needs.

        Raises:
            InputError: the extra is not installed, the command is not found, or a variable is not set.
        """
        if find_spec("mcp") is None:
            raise InputError(f"{where}: kind mcp needs an extra: pip install 'contend[mcp]'")
        if entry.command is not None and which(entry.command) is None:
            raise InputError(f"{where}: command {entry.command!r} is not found: install it, or give its path")
        if unset := [key for key in [*entry.env, *filter(None, [entry.token_env])] if key not in os.environ]:
            raise InputError(f"{where}: {', '.join(unset)} is not set: set it in the environment of contend")
        super().__init__(
            name,
            interval_seconds=entry.interval_seconds,
            deadline_seconds=entry.deadline_seconds,
            read_pages=entry.read_pages,
        )
        self._entry = entry
        self._who = f"the MCP server of source {name}"
        self._folder = folder

    async def check(self) -> str | None:
        """None if the server has the tool or is slow to answer; else why it can't be used."""
        try:
            async with self._client(_CHECK_SECONDS) as client:
                tools = [tool.name for tool in (await client.list_tools()).tools]
        except TransientError:
            return None
        except SourceError as error:
            return str(error)
        if self._entry.tool in tools:
            return None
        return f"{self._who} has no tool {self._entry.tool!r}: it has {', '.join(tools[:10]) or 'none'}"

    def _call(self, query: str, limit: int, seconds: float) -> object:
        # On its own event loop, which ends the server's process when it closes.
        return asyncio.run(self._search(query, limit, seconds))

    async def _search(self, query: str, limit: int, seconds: float) -> list[Item]:
        entry = self._entry
        arguments = {entry.query: query, **({entry.limit: limit} if entry.limit else {})}
        async with self._client(seconds) as client:
            result = await client.call_tool(str(entry.tool), arguments)
        if result.is_error:
            raise SourceError(f"{self._who} refused {query!r}: {_one_line(' '.join(_texts(result)))}")
        names = entry.fields.items()
        return [
            {**item, **{ours: item[theirs] for ours, theirs in names if theirs in item}} for item in self._items(result)
        ]

    @asynccontextmanager
    async def _client(self, seconds: float) -> "AsyncIterator[Client]":
        """A connected client. The server's process, if any, ends with the block."""
        from httpx2 import HTTPError  # noqa: PLC0415 - slow to import
        from mcp import Client, MCPError  # noqa: PLC0415 - slow to import, and an extra

        with TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            try:
                async with asyncio.timeout(seconds), Client(self._transport(log)) as client:
                    yield client
            except TimeoutError as error:
                raise TransientError(f"{self._who} was not done within {seconds:.0f} s") from error
            except (OSError, MCPError, HTTPError, ValueError, ExceptionGroup) as error:
                log.seek(0)
                lines = [line for line in log.read(_MOST_CHARACTERS).splitlines() if line.strip()]
                why = lines[-1] if lines else str(_first(error))
                raise SourceError(f"{self._who} failed: {_one_line(why)}") from error

    @asynccontextmanager
    async def _transport(self, log: Any) -> AsyncIterator[Any]:  # noqa: ANN401 - the client's own kinds
        from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: PLC0415 - an extra
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415
        from mcp.shared._httpx_utils import create_mcp_http_client  # noqa: PLC0415

        entry = self._entry
        if entry.command is None:
            token = os.environ.get(entry.token_env or "")
            headers = {"Authorization": f"Bearer {token}"} if token else None
            async with (
                create_mcp_http_client(headers) as http,
                streamable_http_client(str(entry.url), http_client=http) as streams,
            ):
                yield streams
            return
        environment = {key: os.environ[key] for key in entry.env}
        server = StdioServerParameters(command=entry.command, args=entry.args, env=environment, cwd=self._folder)
        async with stdio_client(server, errlog=log) as streams:
            yield streams

    def _items(self, result: "CallToolResult") -> Sequence[Item]:
        """Results of a structured reply, else of JSON texts, else its resources."""
        if sum(map(len, _texts(result))) > _MOST_CHARACTERS:
            raise SourceError(f"{self._who} gave more than {_MOST_CHARACTERS:,} characters")
        for reply in (result.structured_content, *_parse(_texts(result))):
            if (items := self._items_of(reply)) is not None:
                return items
        if resources := [each for block in result.content if (each := _resource(block))]:
            return resources
        raise SourceError(
            f"{self._who}: tool {self._entry.tool!r} gave no list of results: name its key by `results`, or take "
            "another tool"
        )

    def _items_of(self, reply: object) -> list[Item] | None:
        key = self._entry.results
        if isinstance(reply, Mapping):
            lists = [reply.get(key)] if key else [value for value in reply.values() if isinstance(value, list)]
            reply = lists[0] if lists else None
        return [item for item in reply if isinstance(item, Mapping)] if isinstance(reply, list) else None


def _texts(result: "CallToolResult") -> list[str]:
    return [text for block in result.content if isinstance(text := getattr(block, "text", None), str)]


def _parse(texts: Sequence[str]) -> list[object]:
    """The JSON texts; objects in separate texts also form a list."""
    replies: list[object] = []
    for text in texts:
        try:
            replies.append(parse_json(text))
        except ValueError:
            continue
    objects = [each for each in replies if isinstance(each, Mapping)]
    return [*replies, objects] if objects else replies


def _resource(block: object) -> Item | None:
    """A resource in a reply, as a result with its address."""
    part = getattr(block, "resource", block)
    uri, text = getattr(part, "uri", None), getattr(part, "text", None) or getattr(part, "description", None)
    title = getattr(part, "title", None) or getattr(part, "name", None) or ""
    return {"title": title, "text": text, "url": str(uri)} if uri and text else None


def _first(error: Exception) -> Exception:
    return _first(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


def _one_line(text: str) -> str:
    return shorten(without_secrets(clean(text, single_line=True)), _LINE)
