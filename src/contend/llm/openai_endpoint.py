"""An OpenAI-compatible endpoint: its client, its limiter and its deadline, shared by every model and team."""

import asyncio
import atexit
import gc
import warnings
from collections.abc import Sequence
from contextvars import ContextVar
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from contend.errors import InputError, ModelError, is_passing, seconds_to_wait
from contend.llm.endpoint import (
    CallLimits,
    Clients,
    Completion,
    Endpoint,
    FormatRefused,
    OptionRefused,
    Request,
    SettingNames,
    completion_of,
    refused_option,
    without_keys,
)
from contend.llm.listing import OPENAI_HOST, EndpointSizes, certificates, endpoint_models, parted_login, read_sizes
from contend.llm.naming import call_config
from contend.settings import service_address
from contend.text import clean

if TYPE_CHECKING:
    import httpx2
    import openai
    from langchain_openai import ChatOpenAI

OPENAI_URL = "https://api.openai.com/v1"
_CONNECT_SECONDS = 10.0
_MOST_LOGPROBS = 20
"""As many likely tokens as OpenAI tells for each place."""

_REFUSED_FORMAT = ("response_format", "json_schema")
_TOO_LONG = "{who}: the prompt is longer than the model's context: choose a model with a larger one, or fewer documents"
# OpenAI's code and texts, Anthropic's, LiteLLM's, llama.cpp's, vLLM's.
_OVERFLOW = (
    "context_length_exceeded",
    "Input tokens exceed the configured limit",
    "exceeds the context window",
    "prompt is too long",
    "ContextWindowExceededError",
    "exceed_context_size_error",
    "maximum context length",
)
_BAD_KEY = 401
_FORBIDDEN = 403
_BAD_REQUEST = {400, 422}
_REMEDIES = {
    _BAD_KEY: "set {key} to a valid key",
    _FORBIDDEN: "choose another model, or a key that may use it",
    404: "mend the model's name in config/models.toml or {url}",
    413: "give fewer or shorter documents",
}
_GIVE_UP = "x-should-retry"
"""The header by whose value "false" the client stops asking again."""

_ends_at: ContextVar[float] = ContextVar("ends_at")
"""When the call in this context must be over, in the running loop's time."""


class OpenAIEndpoint(Endpoint):
    """An endpoint by its address. Nothing is imported, opened or sent before the first call.

    The client asks again by itself after failures that may pass (`max_retries` times, waiting as `Retry-After` says);
    `call_deadline_seconds` holds for all of that together, from the moment a slot is free.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        limits: CallLimits = CallLimits(),  # noqa: B008 - immutable
        *,
        names: SettingNames = SettingNames(),  # noqa: B008 - immutable
    ) -> None:
        self._given_url = service_address(base_url or OPENAI_URL, names.url, example="http://127.0.0.1:8080/v1")
        self._url, self._login = parted_login(self._given_url)
        self._given_key = api_key
        self._key = _checked_key(api_key, names.key)
        self._names = names
        self._sizes: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[EndpointSizes]] = WeakKeyDictionary()
        parts = urlsplit(self._url)
        address = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
        super().__init__(address, f"check {names.url}, {names.key} and that it runs", limits)

    async def complete(self, model: str, request: Request) -> Completion:
        """Ask one model once; see `Endpoint.complete`."""
        await self._chat(model, partial(self._open, model))
        return await super().complete(model, request)

    async def _ask(self, model: str, request: Request) -> Completion:
        _ends_at.set(asyncio.get_running_loop().time() + self.limits.call_deadline_seconds)
        extra = {"response_format": request.response_format, **self._output_limit(request.max_output_tokens)}
        extra |= {"logprobs": True, "top_logprobs": _MOST_LOGPROBS} if request.logprobs else {}
        extra |= {} if request.temperature is None else {"temperature": request.temperature}
        messages = [(turn.role, turn.text if turn.text.isascii() else clean(turn.text)) for turn in request.turns]
        chat = self._here().chats[model]
        return completion_of(await chat.ainvoke(messages, call_config(), extra_body=extra))

    def _failure(self, error: Exception, who: str) -> ModelError:
        import openai  # noqa: PLC0415 - heavy, and imported by now

        match error:
            case openai.APIStatusError():
                return self._refusal(error, who)
            case openai.APITimeoutError():
                return ModelError(f"{who} did not answer in time, also when asked again: try later", transient=True)
            case openai.APIConnectionError():
                reason = self._one_line(str(error.__cause__ or error))
                remedy = f"check that it runs and {self._names.url}"
                return ModelError(f"{who} cannot be reached ({reason}): {remedy}", transient=True)
            case _:
                return ModelError(
                    f"{who} answered with something else than a chat completion ({self._one_line(str(error))}):"
                    f" check {self._names.url}, it usually ends in /v1"
                )

    def _refusal(self, error: "openai.APIStatusError", who: str) -> ModelError:
        status, wait = error.status_code, seconds_to_wait(error.response.headers)
        message = error.body.get("message") if isinstance(error.body, dict) else None
        words = self._one_line(str(message or error.message))
        reason = f"({status})" if status == _BAD_KEY else f"({status}: {words})"
        if status in _BAD_REQUEST and any(word in f"{error.code} {error.type} {error.message}" for word in _OVERFLOW):
            return ModelError(_TOO_LONG.format(who=who))
        if wait is not None and error.response.headers.get(_GIVE_UP) == "false":
            return ModelError(
                f"{who} asks to wait {wait:.0f} s, more than the call has left of its"
                f" {self.limits.call_deadline_seconds:g} s {reason}: go on later, or raise"
                " CONTEND_CALL_DEADLINE_SECONDS"
            )
        if feature := _refused_feature(error):
            message = f"{who} refused the {feature} {reason}: choose another model"
            return FormatRefused(message) if feature == "reply format" else OptionRefused(message, option=feature)
        if error.code == "insufficient_quota":
            return ModelError(f"{who}: the account's quota is used up {reason}: add credit or use another key")
        if is_passing(status):
            return ModelError(
                f"{who} failed {reason}, also when asked again: go on later, or lower CONTEND_MAX_CALLS_IN_FLIGHT",
                transient=True,
            )
        remedy = _REMEDIES.get(status, "choose another model").format(**self._names._asdict())
        return ModelError(f"{who} refused the request {reason}: {remedy}")

    def _one_line(self, text: str) -> str:
        """Text from the endpoint as one short line without keys."""
        return without_keys(text, self._key, self._login and self._login[1])

    async def models(self, names: Sequence[str]) -> list[str]:  # noqa: ARG002 - the protocol's; it lists what it has
        """Those that it lists; see `Endpoint.models`."""
        return await endpoint_models(self._given_url, self._given_key)

    async def context_tokens(self, model: str) -> int | None:
        """As it told when it was first asked; see `Endpoint.context_tokens`."""
        loop = asyncio.get_running_loop()
        if loop not in self._sizes:
            self._sizes[loop] = asyncio.ensure_future(read_sizes(self._given_url, self._given_key))
        # Shielded: a run that is cancelled while it waits does not take the answer from the others.
        return (await asyncio.shield(self._sizes[loop])).of(model)

    def _open(self, model: str, clients: Clients) -> "ChatOpenAI":
        import httpx2  # noqa: PLC0415 - heavy

        deadline, slots = self.limits.call_deadline_seconds, self.limits.max_calls_in_flight
        timeout = httpx2.Timeout(deadline, connect=min(_CONNECT_SECONDS, deadline))
        if clients.http is None:
            clients.http = httpx2.AsyncClient(
                auth=self._login,
                timeout=timeout,
                verify=certificates(),
                limits=httpx2.Limits(max_connections=slots, max_keepalive_connections=slots),
                event_hooks={"response": [_refuse_hopeless_wait]},
                follow_redirects=True,
            )
        return _chat_class()(
            model=model,
            base_url=self._url,
            api_key=self._give_key,  # a coroutine function: the key is in no repr, and no second client is made
            http_async_client=clients.http,
            openai_proxy=None,
            max_retries=self.limits.max_retries,
            timeout=timeout,
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
    wait = seconds_to_wait(response.headers)
    if wait is not None and asyncio.get_running_loop().time() + wait > _ends_at.get():
        response.headers[_GIVE_UP] = "false"


def _refused_feature(error: "openai.APIStatusError") -> str | None:
    """Which of the things was refused that a call can do without."""
    words = f"{error.param} {error.message}"
    option = refused_option(words)
    if error.status_code not in _BAD_REQUEST:
        return option if error.status_code == _FORBIDDEN and option == "logprobs" else None
    return option or ("reply format" if any(word in words for word in _REFUSED_FORMAT) else None)


def _checked_key(key: str | None, name: str) -> str:
    """The key as a header can carry it; local endpoints often need none, the client does."""
    bare = (key or "").strip()
    if not (bare.isascii() and bare.isprintable()):
        raise InputError(f"{name} holds characters that no key has: copy it again")
    return bare or "none-needed"
