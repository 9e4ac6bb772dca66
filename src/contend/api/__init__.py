"""The HTTP API and the live page, which the Agent Server mounts on its own port and lists in its OpenAPI."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from contend.api import playbooks, results, routes, uploads
from contend.api.requests import RequestGuard, Rollbacks, add_problems, server_cors
from contend.report import PROOF_SCRIPT, PROOF_STYLE
from contend.settings import SERVING, Settings

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_ONLY_ITS_OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def research_app(settings: Settings) -> FastAPI:
    """The routes behind the check of who asks; the Agent Server adds its own."""
    app = FastAPI(
        title="contend",
        version=version("contend"),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=_tell_when_serving,
    )
    app.add_middleware(Rollbacks)
    app.add_middleware(RequestGuard, settings=settings, cors=server_cors())
    for router in (routes.researches, *results.ROUTERS, uploads.router, playbooks.router):
        app.include_router(router)
    app.mount("/app", LivePage())
    app.router.routes.append(Route("/", RedirectResponse("/app/"), methods=["GET"]))
    app.router.routes += [Route("/mcp", Tools()), Route("/mcp/", Tools())]
    add_problems(app)
    return app


_LOOK_SECONDS = 0.05


@asynccontextmanager
async def _tell_when_serving(_app: FastAPI) -> AsyncIterator[None]:
    address, _, line = os.environ.get(SERVING, "").partition(" ")
    telling = asyncio.create_task(_tell(address, line)) if line else None
    yield
    if telling is not None:
        telling.cancel()


async def _tell(address: str, line: str) -> None:
    """Print the line once the server accepts connections, so that it stands below the server's own output."""
    host, _, port = address.rpartition(":")
    while True:
        try:
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        except OSError:
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            writer.close()
            break
    await asyncio.to_thread(print, line, file=sys.stderr, flush=True)


_OF_REPORTS = {each.name: each for each in (PROOF_STYLE, PROOF_SCRIPT)}
"""Script and style of a report, for its own file and for the live page."""


class LivePage(StaticFiles):
    """The page's files, which load nothing from elsewhere and run no script of a report's."""

    def __init__(self) -> None:
        super().__init__(directory=Path(__file__).with_name("page"), html=True)

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        file = _OF_REPORTS.get(path)
        response = FileResponse(file) if file else await super().get_response(path, scope)
        response.headers["Content-Security-Policy"] = _ONLY_ITS_OWN
        response.headers["X-Content-Type-Options"] = "nosniff"
        # Asked for again each time, so that a newer contend is never shown by an older page.
        response.headers["Cache-Control"] = "no-cache"
        return response


class Tools:
    """The route `/mcp`, also with a slash behind it.

    Each request has a server of its own, which takes milliseconds once its room is loaded. That waits for the first
    request: a fifth of the Agent Server's start would go into it.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        server, app = await asyncio.to_thread(_mcp_app)
        async with server.session_manager.run():
            await app({**scope, "path": scope["path"].rstrip("/")}, receive, send)


def _mcp_app() -> "tuple[MCPServer, ASGIApp]":
    from contend.api.mcp import mcp_app  # noqa: PLC0415 - slow to import

    return mcp_app()
