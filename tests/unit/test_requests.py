"""Which requests the Agent Server answers, as its middleware sees them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import SecretStr

from contend.api.requests import RequestGuard, server_cors
from contend.settings import Settings

TOKEN = "a-token-of-more-than-16-letters"


async def status(
    *,
    token: str | None = None,
    headers: dict[str, str] | None = None,
    cors: dict[str, Any] | None = None,
    **scope: object,
) -> int:
    """What a request is answered with; 200 is the app's."""
    sent: list[dict[str, Any]] = []

    async def app(_scope: object, _receive: object, send: Callable[[object], Awaitable[None]]) -> None:
        await send({"type": "http.response.start", "status": 200})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    values = {"host": "127.0.0.1:2024", **(headers or {})}
    request = {
        "type": "http",
        "method": "GET",
        "path": "/threads",
        "server": ("127.0.0.1", 2024),
        "headers": [(name.encode(), value.encode()) for name, value in values.items()],
        **scope,
    }
    settings = Settings(server_token=SecretStr(token) if token else None)
    cors = {"allow_origins": ["https://studio.example"]} if cors is None else cors
    await RequestGuard(app, settings, cors)(request, None, send)  # type: ignore[arg-type]  # nothing is received
    return int(sent[0]["status"])


@pytest.mark.parametrize("server", [("192.0.2.7", 2024), ("::ffff:192.0.2.7", 2024), ("/run/socket", None), None])
async def test_without_a_token_an_address_that_others_reach_answers_nobody(server: object) -> None:
    assert await status(server=server, headers={"host": "localhost"}) == 403


@pytest.mark.parametrize("server", [("127.0.0.1", 2024), ("::1", 2024), ("::ffff:127.0.0.1", 2024)])
@pytest.mark.parametrize("host", ["localhost:2024", "127.0.0.1", "[::1]:2024"])
async def test_this_machine_is_answered(server: object, host: str) -> None:
    assert await status(server=server, headers={"host": host}) == 200


@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        ({}, 401),
        ({"x-api-key": TOKEN}, 200),
        ({"authorization": f"Bearer {TOKEN}"}, 200),
        ({"authorization": "Bearer "}, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401),
        ({"x-api-key": "\u00e9"}, 401),
    ],
)
async def test_with_a_token_everybody_who_has_it_is_answered(headers: dict[str, str], answer: int) -> None:
    elsewhere = {"host": "contend.example", "origin": "https://chat.example"}

    assert await status(token=TOKEN, server=("192.0.2.7", 2024), headers={**elsewhere, **headers}) == answer


async def test_health_and_a_browsers_first_question_need_no_token() -> None:
    assert await status(token=TOKEN, path="/ok") == 200
    assert await status(token=TOKEN, method="OPTIONS") == 200


async def test_the_servers_own_client_is_answered() -> None:
    assert await status(token=TOKEN, root_path="/noauth", headers={"host": "api"}) == 200


async def test_a_server_that_says_nothing_of_origins_allows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGGRAPH_HTTP", raising=False)

    assert await status(headers={"origin": "http://localhost"}, cors=server_cors()) == 403
