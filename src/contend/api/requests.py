"""Which requests the Agent Server answers: this machine's own, or those with the token; never another web page's."""

import json
import os
import re
from collections.abc import Mapping
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.websockets import WebSocketClose

from contend.settings import Settings, is_loopback, secret_text

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_OWN_CLIENT = "/noauth"
"""The root path of requests by the server's own client in process; no request from outside can have one."""

_BODILESS = {"GET", "HEAD", "OPTIONS"}
_HEALTH = "/ok"
_PAGE = "/app/"
"""Its files hold no data; a browser reads them before anybody can enter a token."""


class Refusal(NamedTuple):
    status: int
    detail: str


def server_cors() -> dict[str, Any]:
    """`http.cors` of `langgraph.json`, the one place of origins that may call, as the Agent Server hands it on."""
    cors: dict[str, Any] = json.loads(os.environ.get("LANGGRAPH_HTTP") or "{}").get("cors") or {}
    return cors


class RequestGuard:
    """ASGI middleware in front of all routes, also those that the Agent Server leaves open.

    A browser sends any page's requests to this machine and tells the server only where they come from, so that
    whatever needs no token must come from this machine: by address, by `Host` (a page's own name may lead here) and by
    `Origin`. Bodies are JSON only, for other kinds are sent without asking the server first.
    """

    def __init__(self, app: "ASGIApp", settings: Settings, cors: Mapping[str, Any]) -> None:
        self._app = app
        self._token = secret_text(settings.server_token)
        self._origins = frozenset(cors.get("allow_origins") or ())
        self._origin_pattern = cors.get("allow_origin_regex") or r"(?!)"

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "lifespan" or scope.get("root_path") == _OWN_CLIENT:
            await self._app(scope, receive, send)
        elif refusal := self._refusal(scope):
            is_socket = scope["type"] == "websocket"
            answer = JSONResponse({"detail": refusal.detail}, refusal.status)
            await (WebSocketClose(1008, refusal.detail) if is_socket else answer)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: "Scope") -> Refusal | None:
        headers = Headers(scope=scope)
        method = scope.get("method", "GET")
        wrong = self._stranger(scope, headers, method) if self._token else self._not_from_here(scope, headers)
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        if wrong or method in _BODILESS or not has_body:
            return wrong
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            return None
        return Refusal(415, f"Content-Type {kind[:80] or 'missing'!r}: send JSON, as application/json")

    def _stranger(self, scope: "Scope", headers: Headers, method: str) -> Refusal | None:
        # Browsers ask before they send the token; load balancers ask for health.
        if method == "OPTIONS" or scope["path"] == _HEALTH or (method == "GET" and scope["path"].startswith(_PAGE)):
            return None
        tokens = headers.get("authorization", "").removeprefix("Bearer "), headers.get("x-api-key", "")
        token = self._token.encode()
        if any(compare_digest(each.encode(), token) for each in tokens):
            return None
        return Refusal(401, "send the server's CONTEND_SERVER_TOKEN as `Authorization: Bearer TOKEN` or `X-Api-Key`")

    def _not_from_here(self, scope: "Scope", headers: Headers) -> Refusal | None:
        server = (scope.get("server") or ("", None))[0]
        if not is_loopback(server):
            return Refusal(403, "this server answers its own machine only: start it with CONTEND_SERVER_TOKEN set")
        host = _name_of(headers.get("host", ""))
        if not is_loopback(host):
            return Refusal(403, f"Host {host[:80]!r} is not this machine: ask 127.0.0.1, or set CONTEND_SERVER_TOKEN")
        origin = headers.get("origin")
        if not (origin is None or origin in self._origins or re.fullmatch(self._origin_pattern, origin)):
            return Refusal(403, f"Origin {origin[:80]!r} may not call this server: see http.cors in langgraph.json")
        return None


def _name_of(host: str) -> str:
    """A `Host` without its port."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
