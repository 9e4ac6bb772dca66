"""Which requests the Agent Server answers, and what it says of those that it refuses.

It answers this machine's own requests, or those with the token; never another web page's. A refusal is one line with
field, value and remedy.
"""

import json
import os
import re
from collections.abc import Callable, Coroutine, Mapping
from hmac import compare_digest
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import parse_qs

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.websockets import WebSocketClose

from contend import errors
from contend.agent_server import rollback
from contend.api.models import Problem
from contend.settings import Settings, is_loopback, secret_text
from contend.text import clean

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_OWN_CLIENT = "/noauth"
"""The root path of requests by the server's own client in process; no request from outside can have one."""

_BODILESS = {"GET", "HEAD", "OPTIONS"}
_OPEN = {"/", "/ok"}
"""What leads to the page, and health."""
_PAGE = "/app/"
"""Its files hold no data; a browser reads them before anybody can enter a token."""


_JSON = ("application/json", "JSON")
_DOCUMENT = ("application/octet-stream", "the document")
"""No page may send either kind to another site without asking that site's server first."""
_UPLOAD = re.compile(r"/research/[^/]+/uploads/.*", re.DOTALL)


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
    `Origin`. Bodies are JSON, or a document that is uploaded; other kinds are sent without asking the server first.
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
        right, what = _DOCUMENT if method == "PUT" and _UPLOAD.fullmatch(scope["path"]) else _JSON
        if kind == right:
            return None
        return Refusal(415, f"Content-Type {kind[:80] or 'missing'!r}: send {what}, as {right}")

    def _stranger(self, scope: "Scope", headers: Headers, method: str) -> Refusal | None:
        # Browsers ask before they send the token; load balancers ask for health.
        if method == "OPTIONS" or scope["path"] in _OPEN or (method == "GET" and scope["path"].startswith(_PAGE)):
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


_CANCEL = re.compile(r"(?:/threads/[^/]+/runs/([^/]+)|/runs)/cancel/?")


class Rollbacks:
    """ASGI middleware that answers a request for a rollback once the run has been rolled back.

    The Agent Server deletes a run twice if nobody listens to it, and answers 404 when the second deletion finds none;
    that answer is replaced.
    """

    def __init__(self, app: "ASGIApp") -> None:
        self._app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        path = _CANCEL.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if path is None or parse_qs(scope.get("query_string", b"").decode("latin-1")).get("action") != ["rollback"]:
            await self._app(scope, receive, send)
            return
        is_done = False

        async with rollback(path[1]) as is_rolled_back:

            async def send_all_but_the_end(message: "Message") -> None:
                nonlocal is_done
                if message["type"] == "http.response.start" and message["status"] == HTTPStatus.NOT_FOUND:
                    is_done = is_rolled_back()
                if is_done:
                    return
                await send({**message, "more_body": True} if message["type"] == "http.response.body" else message)

            await self._app(scope, receive, send_all_but_the_end)
        if is_done:
            status = HTTPStatus.ACCEPTED if path[1] else HTTPStatus.NO_CONTENT
            await send({"type": "http.response.start", "status": status.value, "headers": []})
        await send({"type": "http.response.body"})


def _name_of(host: str) -> str:
    """A `Host` without its port."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


MOST_BYTES = 8 * 1024 * 1024
"""Of a body. A question with all that may be said with it is far smaller."""

_STATUS: dict[type[errors.ContendError], int] = {
    errors.UnknownThread: 404,
    errors.UnknownLesson: 404,
    errors.ThreadBusy: 409,
    errors.RunChanged: 409,
    errors.PlaybookChanged: 409,
    errors.InputError: 422,
    errors.StoreError: 503,
    errors.ContendError: 500,
}

Responses = dict[int | str, dict[str, Any]]


def _responses(descriptions: dict[int, str]) -> Responses:
    return {status: {"model": Problem, "description": text} for status, text in descriptions.items()}


PROBLEMS = _responses(
    {
        400: "The body is no JSON.",
        401: "The server's token is missing.",
        403: "This server does not answer this caller.",
        422: "A value is not usable: field, value and remedy in one line.",
        503: "A store cannot be read or written.",
    }
)
NOT_FOUND = _responses({404: "There is none."})
WITH_BODY = _responses(
    {413: "The body is larger than the API takes.", 415: "The body is not sent as application/json."}
)
BUSY = _responses({409: "Its state does not allow it: it is at work, or at its end."}) | WITH_BODY
"""Of routes that change a research."""
CONFLICT = _responses({409: "It was changed since the version that the caller names."}) | WITH_BODY
"""Of routes that change a playbook."""


class LimitedRoute(APIRoute):
    """A route that stops reading a body that is larger than `most_bytes`."""

    most_bytes = MOST_BYTES

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_within_limit(request: Request) -> Response:
            name = clean(request.path_params.get("name", "the body"), single_line=True)
            fault = f"{name} is larger than {self.most_bytes:,} bytes: shorten it"
            return await handle(Request(request.scope, _at_most(request.receive, self.most_bytes, fault)))

        return handle_within_limit


def add_problems(app: FastAPI) -> None:
    """Let the app answer errors as the API does."""
    app.add_exception_handler(errors.ContendError, _refuse)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(_TooLarge, _too_large)
    # The Agent Server's own handler takes its place for all routes.
    app.exception_handlers.pop(HTTPException, None)


class _TooLarge(HTTPException):
    """FastAPI takes any other error while it reads a body for one of its JSON."""


def _at_most(receive: "Receive", most_bytes: int, fault: str) -> "Receive":
    size = 0

    async def receive_within_limit() -> "Message":
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most_bytes:
            raise _TooLarge(413, fault)
        return message

    return receive_within_limit


async def _too_large(_: Request, error: Exception) -> Response:
    return _problem(413, cast("_TooLarge", error).detail)


async def _refuse(_: Request, error: Exception) -> Response:
    kinds = [kind for kind in type(error).__mro__ if kind in _STATUS]
    return _problem(_STATUS[kinds[0]], str(error))


async def _not_valid(_: Request, error: Exception) -> Response:
    """The first fault in one line, with the field that it is in."""
    fault = cast("RequestValidationError", error).errors()[0]
    place = [str(part) for part in fault["loc"] if part not in {"body", "query", "path", "header"}]
    if fault.get("type") == "json_invalid":
        return _problem(400, f"the body is no JSON: {fault['msg']}")
    name = ".".join(place)
    has_value = name and "input" in fault and fault.get("type") != "missing"
    value = f" (given: {repr(fault['input'])[:80]})" if has_value else ""
    return _problem(422, f"{name or 'request'}: {fault['msg']}{value}", name or None)


def _problem(status: int, detail: str, field: str | None = None) -> Response:
    problem = Problem(detail=detail.encode("utf-8", "replace").decode(), field=field)
    return JSONResponse(problem.model_dump(mode="json"), status_code=status)
