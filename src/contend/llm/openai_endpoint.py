"""An OpenAI-compatible endpoint: its client, its limiter and its deadline, shared by every model and team."""

import asyncio
import atexit
import gc
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from contend.errors import InputError
from contend.llm.endpoint import Completion, SettingNames, Turn
from contend.llm.listing import OPENAI_HOST, EndpointSizes, endpoint_models, parted_login, read_sizes
from contend.llm.logprobs import read_tokens
from contend.text import clean

if TYPE_CHECKING:
    import httpx2
    from langchain_core.messages import AIMessage
    from langchain_openai import ChatOpenAI

OPENAI_URL = "https://api.openai.com/v1"
_CONNECT_SECONDS = 10.0
_MOST_LOGPROBS = 20
"""As many likely tokens as OpenAI tells for each place."""

_ends_at: ContextVar[float] = ContextVar("ends_at")
"""When the call in this context must be over, in the running loop's time."""


@dataclass(eq=False)
class _Wire:
    """What belongs to one event loop: servers may run several."""

    slots: asyncio.Semaphore
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    http: "httpx2.AsyncClient | None" = None
    chats: dict[str, "ChatOpenAI"] = field(default_factory=dict)


class OpenAIEndpoint:
    """An endpoint by its address. Nothing is imported, opened or sent before the first call.

    The client asks again by itself after failures that may pass (`max_retries` times, waiting as `Retry-After` says);
    `call_deadline_seconds` holds for all of that together, from the moment a slot is free.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        *,
        call_deadline_seconds: float = 300,
        max_calls_in_flight: int = 64,
        max_retries: int = 2,
        names: SettingNames = SettingNames(),  # noqa: B008 - immutable
    ) -> None:
        self._given_url = _checked_url(base_url or OPENAI_URL, names.url)
        self._url, self._login = parted_login(self._given_url)
        self._given_key = api_key
        self._key = _checked_key(api_key, names.key)
        self._names = names
        self._secrets = tuple(secret for secret in (self._key, self._login and self._login.password) if secret)
        self._deadline = call_deadline_seconds
        self._slots = max_calls_in_flight
        self._retries = max_retries
        self._wires: WeakKeyDictionary[asyncio.AbstractEventLoop, _Wire] = WeakKeyDictionary()
        self._sizes: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[EndpointSizes]] = WeakKeyDictionary()
        self.without_schemas: set[str] = set()
        self.refused_options: set[tuple[str, str]] = set()

    @property
    def address(self) -> str:
        """The base URL without credentials and query, fit to be shown."""
        parts = urlsplit(self._url)
        return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))

    @property
    def remedy(self) -> str:
        return f"check {self._names.url}, {self._names.key} and that it runs"

    async def complete(
        self,
        model: str,
        turns: Sequence[Turn],
        *,
        max_output_tokens: int,
        response_format: Mapping[str, Any],
        logprobs: bool = False,
        temperature: float | None = None,
    ) -> Completion:
        """Ask one model once; see `Endpoint.complete`."""
        wire = self._wire()
        chat = await self._chat(wire, model)
        extra = {"response_format": response_format, **self._output_limit(max_output_tokens)}
        extra |= {"logprobs": True, "top_logprobs": _MOST_LOGPROBS} if logprobs else {}
        extra |= {} if temperature is None else {"temperature": temperature}
        messages = [(turn.role, turn.text if turn.text.isascii() else clean(turn.text)) for turn in turns]
        async with wire.slots, self._failures_mapped(model), self._deadline_kept():
            answer = await chat.ainvoke(messages, {"tags": ["nostream"]}, extra_body=extra)
        return _completion(answer)

    async def models(self, wanted: Sequence[str]) -> list[str]:  # noqa: ARG002 - the protocol's; it lists what it has
        """Those that it lists; see `Endpoint.models`."""
        return await endpoint_models(self._given_url, self._given_key)

    async def context_tokens(self, model: str) -> int | None:
        """As it told when it was first asked; see `Endpoint.context_tokens`."""
        loop = asyncio.get_running_loop()
        if loop not in self._sizes:
            self._sizes[loop] = asyncio.ensure_future(read_sizes(self._given_url, self._given_key))
        # Shielded: a run that is cancelled while it waits does not take the answer from the others.
        return (await asyncio.shield(self._sizes[loop])).of(model)

    async def aclose(self) -> None:
        """Close the running loop's connections; a later call opens new ones."""
        wire = self._wires.pop(asyncio.get_running_loop(), None)
        if wire is not None and wire.http is not None:
            await wire.http.aclose()

    def _wire(self) -> _Wire:
        loop = asyncio.get_running_loop()
        wire = self._wires.get(loop)
        if wire is None:
            wire = self._wires[loop] = _Wire(asyncio.Semaphore(self._slots))
        return wire

    async def _chat(self, wire: _Wire, model: str) -> "ChatOpenAI":
        if model not in wire.chats:
            async with wire.opening:
                if model not in wire.chats:
                    # The first import costs a second or more, the TLS context 20 ms: not on the event loop.
                    wire.chats[model] = await asyncio.to_thread(self._open, wire, model)
        return wire.chats[model]

    def _open(self, wire: _Wire, model: str) -> "ChatOpenAI":
        import httpx2  # noqa: PLC0415 - heavy

        if wire.http is None:
            wire.http = httpx2.AsyncClient(
                auth=self._login,
                timeout=httpx2.Timeout(self._deadline, connect=min(_CONNECT_SECONDS, self._deadline)),
                limits=httpx2.Limits(max_connections=self._slots, max_keepalive_connections=self._slots),
                event_hooks={"response": [_refuse_hopeless_wait]},
                follow_redirects=True,
            )
        return _chat_class()(
            model=model,
            base_url=self._url,
            api_key=self._give_key,  # a coroutine function: the key is in no repr, and no second client is made
            http_async_client=wire.http,
            openai_proxy=None,
            max_retries=self._retries,
            timeout=httpx2.Timeout(self._deadline, connect=min(_CONNECT_SECONDS, self._deadline)),
            use_responses_api=False,
            disable_streaming=True,
        )

    async def _give_key(self) -> str:
        return self._key

    def _output_limit(self, tokens: int) -> dict[str, int]:
        """OpenAI's reasoning models refuse `max_tokens`; other servers know nothing else."""
        if urlsplit(self._url).hostname == OPENAI_HOST:
            return {"max_completion_tokens": tokens}
        return {"max_tokens": tokens}

    @asynccontextmanager
    async def _deadline_kept(self) -> AsyncIterator[None]:
        _ends_at.set(asyncio.get_running_loop().time() + self._deadline)
        async with asyncio.timeout(self._deadline):
            yield

    @asynccontextmanager
    async def _failures_mapped(self, model: str) -> AsyncIterator[None]:
        import openai  # noqa: PLC0415 - heavy, and imported by now

        from contend.llm.vendor_errors import Caller, as_model_error  # noqa: PLC0415 - imports openai

        try:
            yield
        # The last four come from langchain-openai where an answer is JSON but not a chat completion.
        except (TimeoutError, openai.OpenAIError, ValueError, LookupError, TypeError, AttributeError) as error:
            caller = Caller(model, self.address, self._secrets, self._deadline, self._names)
            # Without its cause: the vendor's error may repeat the key.
            raise as_model_error(error, caller) from None


@cache
def _chat_class() -> "type[ChatOpenAI]":
    """The vendor's client, loaded at the first call: the last of what is heavy."""
    import httpx2  # noqa: PLC0415 - heavy
    from langchain_core.messages import BaseMessage  # noqa: PLC0415 - heavy
    from langchain_core.outputs import ChatResult  # noqa: PLC0415 - heavy
    from langchain_openai import ChatOpenAI  # noqa: PLC0415 - heavy

    class PlainChat(ChatOpenAI):
        """Asks by the client's own `post`, with its retries; vendors' errors come as they are.

        By the long road the client looks each message up in all its types and builds its models of the answer, and a
        thread reads those: a third of what a call costs us.
        """

        async def _agenerate(
            self,
            messages: list[BaseMessage],
            stop: list[str] | None = None,
            run_manager: object = None,  # noqa: ARG002 - nothing is streamed
            **kwargs: Any,  # noqa: ANN401 - as the class above has it
        ) -> ChatResult:
            body = self._get_request_payload(messages, stop=stop, **kwargs)
            body |= body.pop("extra_body", None) or {}
            answer = await self.root_async_client.post("/chat/completions", cast_to=httpx2.Response, body=body)
            reply = answer.json()
            result = self._create_chat_result(reply)
            for generation, choice in zip(result.generations, reply["choices"], strict=True):
                # It reads refusals from the client's own models only.
                generation.message.additional_kwargs["refusal"] = choice["message"].get("refusal")
            return result

    # It advises on `with_structured_output`, which is not in use here, on standard error.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"langchain_openai\.chat_models\.base")
    # What is loaded by now stays to the end: to look through it for garbage takes a tenth of a second each time. At the
    # exit it is garbage too, and DuckDB complains on standard error of what is not freed.
    gc.freeze()
    atexit.register(gc.unfreeze)
    return PlainChat


async def _refuse_hopeless_wait(response: "httpx2.Response") -> None:
    """Keep the client from sleeping into its deadline: it obeys this header."""
    from contend.llm.vendor_errors import GIVE_UP, wanted_wait  # noqa: PLC0415 - imports openai

    wait = wanted_wait(response.headers)
    if wait is not None and asyncio.get_running_loop().time() + wait > _ends_at.get():
        response.headers[GIVE_UP] = "false"


def _completion(answer: "AIMessage") -> Completion:
    reason = answer.response_metadata.get("finish_reason")
    refusal = str(answer.additional_kwargs.get("refusal") or "")
    if reason == "content_filter":
        refusal = refusal or "its content filter stepped in"
    usage = answer.usage_metadata
    counted = usage is not None and usage["input_tokens"] + usage["output_tokens"] > 0
    return Completion(
        text=str(answer.text),
        cut_off=reason == "length",
        refusal=refusal,
        input_tokens=max(0, usage["input_tokens"]) if usage and counted else None,
        output_tokens=max(0, usage["output_tokens"]) if usage and counted else None,
        tokens=read_tokens((answer.response_metadata.get("logprobs") or {}).get("content")),
    )


def _checked_url(url: str, name: str) -> str:
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"{name} is not an http(s) address with a host, such as http://127.0.0.1:8080/v1")
    return url.strip()


def _checked_key(key: str | None, name: str) -> str:
    """The key as a header can carry it; local endpoints often need none, the client does."""
    bare = (key or "").strip()
    if not (bare.isascii() and bare.isprintable()):
        raise InputError(f"{name} holds characters that no key has: copy it again")
    return bare or "none-needed"
