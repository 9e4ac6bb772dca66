"""What an OpenAI-compatible server says about itself: its models and their context sizes."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.connections import connection_failure
from contend.llm.address import OPENAI_HOST, EndpointAddress, open_client
from contend.llm.completions import error_text, json_of
from contend.llm.endpoint import NoAnswer, SlowAnswer, without_keys
from contend.llm.refusals import topic_of

_ANSWER_SECONDS = 3.0
_MOST_BYTES = 4_000_000
_CONNECT_SECONDS = 1.5
_OK = 200
_BAD_KEY = {401, 403}
_NO_SUCH_PATH = {404, 405}
_LOADING = 503
_AWAY = {502, 504}
_SIZE_NAMES = frozenset(
    {"max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens"}
    | {"n_ctx", "n_ctx_train", "loaded_context_length"}
)
"""Names of the context size at vLLM, OpenRouter, Groq, Mistral, Anthropic, llama.cpp and LM Studio."""
_LEAST_SIZE = 256
_DATE = re.compile(r"[-@](20\d{6}|20\d\d-\d\d-\d\d)$")


class _Unlisted(NoAnswer):
    """It answered, but with an error status."""


class _NoList(NoAnswer):
    """It answered with something else, as gateways do that show a page at each path that they do not know."""


async def listed_models(address: EndpointAddress, *, seconds: float = _ANSWER_SECONDS) -> list[Mapping[str, Any]]:
    """The models that `GET {url}/models` lists, each with its `id`.

    Raises:
        NoAnswer: unreachable, too slow, refused, or not such a server; says which.
    """
    status, body = await _ask("GET", address, f"{address.url}/models", seconds)
    if status in _BAD_KEY:
        raise _Unlisted(f"refused the key (status {status})")
    if status != _OK:
        raise _Unlisted(f"answered with status {status} to GET /models")
    models = _entries_of(json_of(body), "data")
    if models is None or not all(isinstance(model.get("id"), str) for model in models):
        raise _NoList("is no OpenAI-compatible server: GET /models gave no list of models")
    return models


async def endpoint_models(address: EndpointAddress, *, seconds: float = _ANSWER_SECONDS) -> list[str]:
    """The names of an endpoint's models; none if it accepts chats but lists no models.

    Some endpoints do not list their models, or not for every key. Then an empty chat request shows whether the path
    exists: the endpoint refuses it without computing anything.

    Raises:
        NoAnswer: unreachable, no such server, or it refused the key; says which.
        SlowAnswer: connected but too slow, or loading a model.
    """
    try:
        models = await listed_models(address, seconds=seconds)
    except _Unlisted:
        await _check_chat(address, seconds)
        return []
    except _NoList:
        # Its chat path must refuse as such a server does; LM Studio answers with status 200 at unknown paths.
        status, body = await _check_chat(address, seconds)
        if status == _OK or json_of(body) is None:
            raise
        return []
    # Azure lists models that could be deployed, but calls use the names of deployments.
    return [] if address.host.endswith(".azure.com") else [str(model["id"]) for model in models]


async def _check_chat(address: EndpointAddress, seconds: float) -> tuple[int, bytes]:
    status, body = await _ask("POST", address, f"{address.url}/chat/completions", seconds)
    if status in _BAD_KEY:
        raise NoAnswer(f"refused the key (status {status})")
    if status in _NO_SUCH_PATH and topic_of(error_text(json_of(body))) != "model":
        raise NoAnswer(f"knows no chat there (status {status}; the address usually ends in /v1)")
    if status == _LOADING:
        raise SlowAnswer(f"is not ready (status {status})")
    if status in _AWAY:
        raise NoAnswer(f"is away (status {status})")
    return status, body


def missing_models(models: Iterable[str], known_models: Iterable[str]) -> list[str]:
    """The wanted models that an endpoint certainly lacks, according to its list.

    A list of one model or none proves nothing, because servers of one model accept any name. A `:` in a name starts a
    tag or variant; a `*` in the list means that a gateway accepts any name. A model listed with its date is also known
    without it.
    """
    names = {name.casefold().removeprefix("models/") for name in known_models}
    if len(names) <= 1 or any("*" in name for name in names):
        return []
    names_there = names | {name.removesuffix(":latest") for name in names} | {_DATE.sub("", name) for name in names}
    return [name for name in models if not {name.casefold(), name.casefold().partition(":")[0]} & names_there]


async def _ask(method: str, address: EndpointAddress, url: str, seconds: float) -> tuple[int, bytes]:
    """Status and body of a request; POST sends an empty object.

    Raises:
        NoAnswer: unreachable; SlowAnswer: too slow.
    """
    import httpx2  # noqa: PLC0415 - heavy

    headers = {"Authorization": f"Bearer {address.key}"} if address.key else {}
    headers |= address.headers
    # The total time is limited below; a refused connection is another fault than a slow answer.
    timeout = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
    try:
        async with asyncio.timeout(seconds):
            client = await asyncio.to_thread(open_client, address, timeout=timeout)
            content: dict[str, str] | None = {} if method == "POST" else None
            async with (
                client,
                client.stream(method, url, headers=headers, params=address.query or None, json=content) as answer,
            ):
                body = bytearray()
                async for part in answer.aiter_bytes():
                    body += part
                    if len(body) > _MOST_BYTES:
                        break
                return answer.status_code, bytes(body)
    except TimeoutError:
        raise SlowAnswer(f"did not answer within {seconds:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        failure = connection_failure(error, address.url)
        reason = without_keys(failure.reason, *address.secrets)
        raise NoAnswer(f"cannot be reached ({reason})", remedy=failure.remedy) from None


def _entries_of(answer: object, key: str) -> list[Mapping[str, Any]] | None:
    """The models in an answer, which may be a bare list; None if it is neither."""
    entries = answer.get(key, ()) if isinstance(answer, dict) else answer
    if isinstance(answer, dict) and entries is None:
        return []  # servers without a model answer so
    return entries if isinstance(entries, list) and all(isinstance(each, dict) for each in entries) else None


@dataclass(frozen=True)
class EndpointSizes:
    """What an endpoint says: in its list of `models`, at paths `beside` the API, and about its `server`."""

    models: Sequence[Mapping[str, Any]] = ()
    beside: Sequence[Mapping[str, Any]] = ()
    server: object = None

    def of(self, name: str) -> int | None:
        """A model's context in tokens, if the endpoint says.

        The smallest size counts: a server limited to 8,192 tokens also tells the 131,072 that its model was trained on.
        """
        # A server with one model accepts any name.
        entries = [*self.models, self.server] if len(self.models) == 1 else _entries_named(name, self.models)
        return min(
            (size for each in (*entries, *_entries_named(name, self.beside)) for size in _sizes(each)), default=None
        )


async def read_sizes(address: EndpointAddress) -> EndpointSizes:
    """Ask an endpoint for its models and their sizes, within a few seconds; empty if it fails."""
    if address.host == OPENAI_HOST:
        return EndpointSizes()  # lists no sizes
    try:
        models = await listed_models(address)
    except NoAnswer:
        return EndpointSizes()
    if models and all("meta" not in model and any(_sizes(model)) for model in models):
        return EndpointSizes(models)
    base = address.url.removesuffix("/v1")
    # Of llama.cpp, LM Studio and Ollama.
    paths = ("props", "api/v0/models", "api/ps")
    server, studio, ollama = await asyncio.gather(*(_beside(address, f"{base}/{path}") for path in paths))
    beside = [*(_entries_of(studio, "data") or ()), *(_entries_of(ollama, "models") or ())]
    return EndpointSizes(models, beside, server)


async def _beside(address: EndpointAddress, url: str) -> object:
    """The JSON at a path beside the API; None if that fails."""
    try:
        status, body = await _ask("GET", address, url, _ANSWER_SECONDS)
    except NoAnswer:
        return None
    return json_of(body) if status == _OK else None


def _entries_named(name: str, models: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The model in a list. Ollama lists `llama3` as `llama3:latest`."""
    names = {name, f"{name}:latest"}
    return [model for model in models if names & {model.get("id"), model.get("model")}]


def _sizes(answer: object) -> Iterator[int]:
    """All context sizes in an answer, at any depth."""
    for key, value in answer.items() if isinstance(answer, dict) else ():
        if key in _SIZE_NAMES and isinstance(value, int) and value >= _LEAST_SIZE:
            yield value
        yield from _sizes(value)
