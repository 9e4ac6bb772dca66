"""What an OpenAI-compatible server says of itself: the models it lists, and what it tells beside them."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from contend.llm.endpoint import parted_login

ANSWER_SECONDS = 3.0
_MOST_BYTES = 4_000_000
_OK = 200


class NoAnswer(Exception):  # noqa: N818 - it says why, and is caught where the server was asked
    """Why a server's models could not be had."""


async def listed_models(
    url: str, key: str | None, *, seconds: float = ANSWER_SECONDS, direct: bool = False
) -> list[Mapping[str, Any]]:
    """The models that `GET {url}/models` lists, each with its `id`. `direct` passes by proxies.

    Raises:
        NoAnswer: unreachable, too slow, refused, or not such a server; says which.
    """
    status, body = await _got(f"{url.rstrip('/')}/models", key, seconds, direct=direct)
    if status in {401, 403}:
        raise NoAnswer(f"refused the key (status {status})")
    if status != _OK:
        raise NoAnswer(f"answered with status {status} to GET /models")
    models = _entries(_parsed(body), "data")
    if models is None:
        raise NoAnswer("is no OpenAI-compatible server: GET /models gave no list of models")
    return models


async def server_facts(url: str, key: str | None, *, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
    """What servers that list no sizes tell beside the API, by path; a path that gives no JSON in time is left out.

    `props` is llama.cpp's, `api/v0/models` LM Studio's, `api/ps` Ollama's.
    """
    base = url.rstrip("/").removesuffix("/v1")
    paths = ("props", "api/v0/models", "api/ps")
    answers = await asyncio.gather(*(_fact(f"{base}/{path}", key, seconds) for path in paths))
    return {path: answer for path, answer in zip(paths, answers, strict=True) if answer is not None}


async def _fact(url: str, key: str | None, seconds: float) -> object:
    try:
        status, body = await _got(url, key, seconds)
    except NoAnswer:
        return None
    return _parsed(body) if status == _OK else None


async def _got(url: str, key: str | None, seconds: float, *, direct: bool = False) -> tuple[int, bytes]:
    """Status and body of a `GET`.

    Raises:
        NoAnswer: unreachable, or too slow.
    """
    import httpx2  # noqa: PLC0415 - heavy

    try:
        async with asyncio.timeout(seconds):
            return await _read(url, key, direct=direct)
    except TimeoutError:
        raise NoAnswer(f"did not answer within {seconds:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise NoAnswer(f"cannot be reached ({type(error).__name__})") from None


async def _read(url: str, key: str | None, *, direct: bool) -> tuple[int, bytes]:
    import httpx2  # noqa: PLC0415 - heavy

    bare, login = parted_login(url)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = bytearray()
    # Certificates are read from files: not on the event loop.
    client = await asyncio.to_thread(httpx2.AsyncClient, auth=login, trust_env=not direct, follow_redirects=False)
    async with client, client.stream("GET", bare, headers=headers) as answer:
        async for part in answer.aiter_bytes():
            body += part
            if len(body) > _MOST_BYTES:
                break
        return answer.status_code, bytes(body)


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _entries(answer: object, key: str) -> list[Mapping[str, Any]] | None:
    """The models of an answer: under `key`, or the whole answer where a provider gives a bare list."""
    given = answer.get(key) if isinstance(answer, dict) else answer
    named: Sequence[Any] = given if isinstance(given, list) else []
    models: list[Mapping[str, Any]] = [
        entry for entry in named if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    ]
    usable = isinstance(given, list) and len(models) == len(named) and (models or isinstance(answer, dict))
    return models if usable else None
