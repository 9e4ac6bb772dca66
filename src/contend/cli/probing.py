"""Asking OpenAI-compatible servers which models they have."""

import asyncio
import json
from typing import NamedTuple

import httpx2

from contend.llm.endpoint import parted_login

ENDPOINT_SECONDS = 3.0
_LOCAL_SECONDS = 1.0
_MOST_BYTES = 2_000_000
_USUAL_PORTS = {11434: "Ollama", 8080: "llama.cpp", 1234: "LM Studio", 8000: "vLLM"}


class Server(NamedTuple):
    """A local server that answered. `kind` is whose usual port it is."""

    url: str
    kind: str
    models: list[str]


class NoAnswer(Exception):  # noqa: N818 - it says why, and never leaves the checkup
    """Why a server's models could not be had."""


async def models_at(url: str, key: str | None, *, seconds: float = ENDPOINT_SECONDS, direct: bool = False) -> list[str]:
    """The model names that `GET {url}/models` lists. `direct` passes by proxies.

    Raises:
        NoAnswer: unreachable, too slow, refused, or not such a server; says which.
    """
    try:
        async with asyncio.timeout(seconds):
            status, body = await _got(f"{url.rstrip('/')}/models", key, direct=direct)
    except TimeoutError:
        raise NoAnswer(f"did not answer within {seconds:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise NoAnswer(f"cannot be reached ({type(error).__name__})") from None
    if status in {401, 403}:
        raise NoAnswer(f"refused the key (status {status})")
    if status != httpx2.codes.OK:
        raise NoAnswer(f"answered with status {status} to GET /models")
    return _names(body)


async def local_servers() -> list[Server]:
    """The OpenAI-compatible servers on the usual ports of this machine; all are asked at once."""
    asked = [_local(port, kind) for port, kind in _USUAL_PORTS.items()]
    return [server for server in await asyncio.gather(*asked) if server is not None]


async def _local(port: int, kind: str) -> Server | None:
    url = f"http://127.0.0.1:{port}/v1"
    try:
        return Server(url, kind, await models_at(url, None, seconds=_LOCAL_SECONDS, direct=True))
    except NoAnswer:
        return None


async def _got(url: str, key: str | None, *, direct: bool) -> tuple[int, bytes]:
    bare, login = parted_login(url)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = bytearray()
    async with (
        httpx2.AsyncClient(auth=login, trust_env=not direct, follow_redirects=False) as client,
        client.stream("GET", bare, headers=headers) as answer,
    ):
        async for part in answer.aiter_bytes():
            body += part
            if len(body) > _MOST_BYTES:
                break
        return answer.status_code, bytes(body)


def _names(body: bytes) -> list[str]:
    try:
        return [str(entry["id"]) for entry in json.loads(body)["data"]]
    except (ValueError, LookupError, TypeError):
        raise NoAnswer("is no OpenAI-compatible server: GET /models gave no list of models") from None
