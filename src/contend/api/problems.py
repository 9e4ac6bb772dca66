"""What the HTTP API says of a request that it refuses: one line with field, value and remedy."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from contend.api.models import Problem
from contend.errors import (
    ContendError,
    InputError,
    PlaybookChanged,
    RunChanged,
    StoreError,
    ThreadBusy,
    UnknownLesson,
    UnknownThread,
)

if TYPE_CHECKING:
    from starlette.types import Message, Receive

MOST_BYTES = 8 * 1024 * 1024
"""Of a body. A playbook of many thousand lessons is smaller."""

_STATUS: dict[type[ContendError], int] = {
    UnknownThread: 404,
    UnknownLesson: 404,
    ThreadBusy: 409,
    RunChanged: 409,
    PlaybookChanged: 409,
    InputError: 422,
    StoreError: 503,
    ContendError: 500,
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
UNKNOWN = _responses({404: "There is none."})
WITH_BODY = _responses(
    {413: "The body is larger than the API takes.", 415: "The body is not sent as application/json."}
)
BUSY = _responses({409: "Its state does not allow it: it is at work, or at its end."}) | WITH_BODY
"""Of routes that change a research."""
CHANGED = _responses({409: "It was changed since the version that the caller names."}) | WITH_BODY
"""Of routes that change a playbook."""


class LimitedRoute(APIRoute):
    """A route that stops reading a body that is larger than `MOST_BYTES`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def limited(request: Request) -> Response:
            return await handle(Request(request.scope, _at_most(request.receive)))

        return limited


def add_problems(app: FastAPI) -> None:
    """Let the app answer errors as the API does."""
    app.add_exception_handler(ContendError, _refuse)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(_TooLarge, _too_large)
    # The Agent Server's own handler takes its place for all routes.
    app.exception_handlers.pop(HTTPException, None)


class _TooLarge(HTTPException):
    """FastAPI takes any other error while it reads a body for one of its JSON."""


def _at_most(receive: "Receive") -> "Receive":
    size = 0

    async def counted() -> "Message":
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MOST_BYTES:
            raise _TooLarge(413)
        return message

    return counted


async def _too_large(_: Request, _error: Exception) -> Response:
    return _problem(413, f"the body is larger than {MOST_BYTES:,} bytes: send it in parts")


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
