"""contend's tools over MCP, loaded when somebody first asks for them: a fifth of a server's start would go into it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


class Tools:
    """The route `/mcp`. Its first request waits for what it is answered by; later ones find it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._asked.set()
        # A client that leaves meanwhile ends its own wait alone.
        app = await asyncio.shield(self._app)
        await app(scope, receive, send)

    @asynccontextmanager
    async def served(self, _: FastAPI) -> AsyncIterator[None]:
        """As long as the server runs. The tools' calls run in a task group, which one task opens and closes."""
        self._asked = asyncio.Event()
        self._app: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(self._serve())
        serving.add_done_callback(lambda _: self._app.cancel())  # nobody waits for what will not come
        try:
            yield
        finally:
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving

    async def _serve(self) -> None:
        await self._asked.wait()
        server, app = await asyncio.to_thread(_loaded)
        async with server.session_manager.run():
            self._app.set_result(app)
            await asyncio.Event().wait()


def _loaded() -> "tuple[MCPServer, ASGIApp]":
    from contend.api.mcp import mcp_app  # noqa: PLC0415 - slow to import

    return mcp_app()
