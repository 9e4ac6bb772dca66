"""The HTTP API and the live page, which the Agent Server mounts on its own port and lists in its OpenAPI."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Response
from fastapi.staticfiles import StaticFiles
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from contend.api import playbooks, results, routes
from contend.api.requests import RequestGuard, add_problems, server_cors
from contend.settings import Settings

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_ONLY_ITS_OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def research_app(settings: Settings) -> FastAPI:
    """The routes behind the check of who asks; the Agent Server adds its own."""
    tools = Tools()
    app = FastAPI(
        title="contend",
        version=version("contend"),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=tools.served,
    )
    app.add_middleware(RequestGuard, settings=settings, cors=server_cors())
    for router in (routes.researches, *results.ROUTERS, playbooks.router):
        app.include_router(router)
    app.mount("/app", LivePage())
    app.router.routes.append(Route("/mcp", tools))
    add_problems(app)
    return app


class LivePage(StaticFiles):
    """The page's files, which load nothing from elsewhere and run no script of a report's."""

    def __init__(self) -> None:
        super().__init__(directory=Path(__file__).with_name("page"), html=True)

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Content-Security-Policy"] = _ONLY_ITS_OWN
        response.headers["X-Content-Type-Options"] = "nosniff"
        # Asked for again each time, so that a newer contend is never shown by an older page.
        response.headers["Cache-Control"] = "no-cache"
        return response


class Tools:
    """The route `/mcp`. Its first request waits for what it is answered by; later ones find it.

    A fifth of a server's start would go into loading it.
    """

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
