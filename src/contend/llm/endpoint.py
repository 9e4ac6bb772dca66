"""One OpenAI-compatible endpoint: its client, its limiter and its deadline, shared by every model and team."""

import asyncio
import atexit
import gc
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from contend.errors import InputError, ModelError
from contend.llm.spread import Token, read_tokens
from contend.text import clean

if TYPE_CHECKING:
    import httpx2
    from langchain_core.messages import AIMessage
    from langchain_openai import ChatOpenAI

    from contend.llm.plain_chat import PlainChat

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_HOST = "api.openai.com"
_CONNECT_SECONDS = 10.0
_MOST_LOGPROBS = 20
"""As many likely tokens as OpenAI tells for each place."""

_ends_at: ContextVar[float] = ContextVar("ends_at")
"""When the call in this context must be over, in the running loop's time."""


class FormatRefused(ModelError):  # noqa: N818 - named by what the caller meets
    """The endpoint doesn't know the reply format that was asked for."""


class OptionRefused(ModelError):  # noqa: N818 - named by what the caller meets
    """The endpoint doesn't know an option of the call that it can do without: `option` as `complete` names it."""

    option = ""


class LogprobsRefused(OptionRefused):
    """The endpoint doesn't tell how likely its tokens were."""

    option = "logprobs"


class TemperatureRefused(OptionRefused):
    """The model chooses its temperature itself, as OpenAI's reasoning models do."""

    option = "temperature"


class Login(NamedTuple):
    """User and password of an endpoint that wants these instead of a key."""

    user: str
    password: str


class Turn(NamedTuple):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


class Completion(NamedTuple):
    """What the endpoint answered. Token counts are None where it sends none; `tokens` only where asked for."""

    text: str
    cut_off: bool
    refusal: str
    input_tokens: int | None
    output_tokens: int | None
    tokens: Sequence[Token] = ()


@dataclass(eq=False)
class _Wire:
    """What belongs to one event loop: servers may run several."""

    slots: asyncio.Semaphore
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    http: "httpx2.AsyncClient | None" = None
    chats: dict[str, "ChatOpenAI"] = field(default_factory=dict)


class Endpoint:
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
    ) -> None:
        self._url, self._login = parted_login(_checked_url(base_url or OPENAI_URL))
        self._key = _checked_key(api_key)
        self._secrets = tuple(secret for secret in (self._key, self._login and self._login.password) if secret)
        self._deadline = call_deadline_seconds
        self._slots = max_calls_in_flight
        self._retries = max_retries
        self._wires: WeakKeyDictionary[asyncio.AbstractEventLoop, _Wire] = WeakKeyDictionary()
        self.without_schemas: set[str] = set()
        """Models that refused a JSON schema once."""
        self.refused_options: set[tuple[str, str]] = set()
        """A model and an option of `complete` that it refused once."""

    @property
    def address(self) -> str:
        """The base URL without credentials and query, fit to be shown."""
        parts = urlsplit(self._url)
        return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))

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
        """Ask one model once; at most `max_output_tokens` come back. Without a `temperature` the endpoint has its own.

        Raises:
            ModelError: refused, unreachable, or not done within the deadline; FormatRefused for the reply format,
                OptionRefused for `logprobs` or `temperature`.
        """
        wire = self._wire()
        chat = await self._chat(wire, model)
        extra = {"response_format": response_format, **self._output_limit(max_output_tokens)}
        extra |= {"logprobs": True, "top_logprobs": _MOST_LOGPROBS} if logprobs else {}
        extra |= {} if temperature is None else {"temperature": temperature}
        messages = [(turn.role, turn.text if turn.text.isascii() else clean(turn.text)) for turn in turns]
        async with wire.slots, self._failures_mapped(model), self._deadline_kept():
            answer = await chat.ainvoke(messages, {"tags": ["nostream"]}, extra_body=extra)
        return _completion(answer)

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
        return _plain_chat()(
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

        from contend.llm.wire_errors import Caller, as_model_error  # noqa: PLC0415 - imports openai

        try:
            yield
        # The last four come from langchain-openai where an answer is JSON but not a chat completion.
        except (TimeoutError, openai.OpenAIError, ValueError, LookupError, TypeError, AttributeError) as error:
            caller = Caller(model, self.address, self._secrets, self._deadline)
            # Without its cause: the vendor's error may repeat the key.
            raise as_model_error(error, caller) from None


@cache
def _plain_chat() -> "type[PlainChat]":
    """The vendor's client, loaded at the first call: the last of what is heavy."""
    from contend.llm.plain_chat import PlainChat  # noqa: PLC0415 - imports langchain_openai

    # It advises on `with_structured_output`, which is not in use here, on standard error.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"langchain_openai\.chat_models\.base")
    # What is loaded by now stays to the end: to look through it for garbage takes a tenth of a second each time. At the
    # exit it is garbage too, and DuckDB complains on standard error of what is not freed.
    gc.freeze()
    atexit.register(gc.unfreeze)
    return PlainChat


async def _refuse_hopeless_wait(response: "httpx2.Response") -> None:
    """Keep the client from sleeping into its deadline: it obeys this header."""
    from contend.llm.wire_errors import GIVE_UP, wanted_wait  # noqa: PLC0415 - imports openai

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


def parted_login(url: str) -> tuple[str, Login | None]:
    """An address without the user and password in it, and these: clients log the addresses they ask."""
    parts = urlsplit(url)
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    login = Login(unquote(parts.username or ""), unquote(parts.password or ""))
    return bare, login if any(login) else None


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise InputError("OPENAI_BASE_URL is not an http(s) address with a host, such as http://127.0.0.1:8080/v1")
    return url.strip()


def _checked_key(key: str | None) -> str:
    """The key as a header can carry it; local endpoints often need none, the client does."""
    bare = (key or "").strip()
    if not (bare.isascii() and bare.isprintable()):
        raise InputError("OPENAI_API_KEY holds characters that no key has: copy it again")
    return bare or "none-needed"
