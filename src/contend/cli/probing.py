"""Looking for OpenAI-compatible servers on this machine."""

import asyncio
from typing import NamedTuple

from contend.llm.listing import NoAnswer, listed_models

_LOCAL_SECONDS = 1.0
_USUAL_PORTS = {11434: "Ollama", 8080: "llama.cpp", 1234: "LM Studio", 8000: "vLLM"}


class Server(NamedTuple):
    """A local server that answered. `kind` is whose usual port it is."""

    url: str
    kind: str
    models: list[str]


async def local_servers() -> list[Server]:
    """The OpenAI-compatible servers on the usual ports of this machine; all are asked at once."""
    servers = [_local(port, kind) for port, kind in _USUAL_PORTS.items()]
    return [server for server in await asyncio.gather(*servers) if server is not None]


async def _local(port: int, kind: str) -> Server | None:
    url = f"http://127.0.0.1:{port}/v1"
    try:
        models = await listed_models(url, None, seconds=_LOCAL_SECONDS, direct=True)
    except NoAnswer:
        return None
    return Server(url, kind, [model["id"] for model in models])
