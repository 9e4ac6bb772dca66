"""Chat models that LangChain's packages bring, or that a user's own function makes."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from contend.errors import ModelError
from contend.llm.endpoint import Completion, FormatRefused, LogprobsRefused, NoAnswer, Turn
from contend.registry import Function
from contend.text import clean

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

PACKAGES: dict[str, tuple[str, str]] = {
    "anthropic": ("langchain_anthropic", "ChatAnthropic"),
    "azure_openai": ("langchain_openai", "AzureChatOpenAI"),
    "bedrock": ("langchain_aws", "ChatBedrock"),
    "bedrock_converse": ("langchain_aws", "ChatBedrockConverse"),
    "cohere": ("langchain_cohere", "ChatCohere"),
    "deepseek": ("langchain_deepseek", "ChatDeepSeek"),
    "fireworks": ("langchain_fireworks", "ChatFireworks"),
    "google_genai": ("langchain_google_genai", "ChatGoogleGenerativeAI"),
    "google_vertexai": ("langchain_google_vertexai", "ChatVertexAI"),
    "groq": ("langchain_groq", "ChatGroq"),
    "mistralai": ("langchain_mistralai", "ChatMistralAI"),
    "nvidia": ("langchain_nvidia_ai_endpoints", "ChatNVIDIA"),
    "ollama": ("langchain_ollama", "ChatOllama"),
    "openrouter": ("langchain_openrouter", "ChatOpenRouter"),
    "perplexity": ("langchain_perplexity", "ChatPerplexity"),
    "together": ("langchain_together", "ChatTogether"),
    "xai": ("langchain_xai", "ChatXAI"),
}
"""Module and class behind the provider names of LangChain's `init_chat_model`; none is loaded before it is asked."""

_CUT_OFF = {"length", "max_tokens"}
_REFUSED = {"refusal", "content_filter", "safety"}
_PASSING = {408, 409, 425, 429}
_SERVER_FAULT = 500


class MakesChats(Protocol):
    """Makes a chat model by its name, with LangChain's standard parameters as far as it takes them. May block."""

    def __call__(self, model: str, /, **parameters: Any) -> "BaseChatModel": ...  # noqa: ANN401 - each vendor's own


@dataclass(frozen=True)
class PackagedChats:
    """Makes the chat models of one of `PACKAGES`; `settings` go to each, such as `base_url` and `api_key`."""

    provider: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, model: str, /, **parameters: Any) -> "BaseChatModel":  # noqa: ANN401 - each vendor's own
        module, name = PACKAGES[self.provider]
        try:
            chat_class = getattr(import_module(module), name)
        except ImportError as error:
            package = module.replace("_", "-")
            raise NoAnswer(f"needs the package {package}, which is not installed: pip install {package}") from error
        chat: BaseChatModel = chat_class(model=model, **self.settings, **parameters)
        return chat


@dataclass(frozen=True)
class FunctionChats:
    """Makes chat models by a user's function of a model's name, which sets keys and limits itself."""

    function: Function

    def __call__(self, model: str, /, **parameters: Any) -> "BaseChatModel":  # noqa: ANN401, ARG002 - the protocol's
        from langchain_core.language_models import BaseChatModel  # noqa: PLC0415 - heavy

        chat = self.function(model)
        if not isinstance(chat, BaseChatModel):
            raise NoAnswer(f"gave a {type(chat).__name__} for {model}: return a LangChain chat model")
        return chat


@dataclass(eq=False)
class _Chats:
    """What belongs to one event loop: clients are bound to theirs."""

    slots: asyncio.Semaphore
    by_parameters: dict[tuple[object, ...], "BaseChatModel"] = field(default_factory=dict)


class LangChainEndpoint:
    """Asks by a chat model's own client, with its retries and its key. Replies are bound to a shape as the model can.

    `call_deadline_seconds` holds for a call and its repeats, from the moment a slot is free.
    """

    def __init__(
        self,
        address: str,
        make: MakesChats,
        *,
        remedy: str,
        call_deadline_seconds: float = 300,
        max_calls_in_flight: int = 64,
        max_retries: int = 2,
    ) -> None:
        self.address = address
        self.remedy = remedy
        self._make = make
        self._deadline = call_deadline_seconds
        self._slots = max_calls_in_flight
        self._retries = max_retries
        self._chats: WeakKeyDictionary[asyncio.AbstractEventLoop, _Chats] = WeakKeyDictionary()
        self.without_schemas: set[str] = set()
        self.refused_options: set[tuple[str, str]] = set()

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
        if logprobs:
            raise LogprobsRefused(f"model {model!r}: its log-probabilities are not read")
        chats = self._of_loop()
        options = {"max_tokens": max_output_tokens} | ({} if temperature is None else {"temperature": temperature})
        messages = [(turn.role, clean(turn.text)) for turn in turns]
        async with chats.slots, self._failures_mapped(model), asyncio.timeout(self._deadline):
            chat = await self._chat(chats, model, options)
            return await _ask(chat, messages, response_format)

    async def models(self, wanted: Sequence[str]) -> list[str]:
        """All that are wanted: none is asked, but each is made as a call would; see `Endpoint.models`."""
        for model in wanted:
            await self._made(model)
        return [*wanted]

    async def context_tokens(self, model: str) -> int | None:
        """By the profile that the model's package has of it; see `Endpoint.context_tokens`."""
        try:
            profile = getattr(await self._made(model), "profile", None)
        except NoAnswer:
            return None
        tokens = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
        return tokens if isinstance(tokens, int) and tokens > 0 else None

    async def aclose(self) -> None:
        """Let go of the running loop's models; their clients close with them."""
        self._chats.pop(asyncio.get_running_loop(), None)

    async def _made(self, model: str) -> "BaseChatModel":
        try:
            return await self._chat(self._of_loop(), model, {})
        except NoAnswer:
            raise
        except Exception as error:  # noqa: BLE001 - a vendor's package, or a user's function, raises what it likes
            raise NoAnswer(f"cannot make {model}: {_shown(error)}") from None

    def _of_loop(self) -> _Chats:
        loop = asyncio.get_running_loop()
        if loop not in self._chats:
            self._chats[loop] = _Chats(asyncio.Semaphore(self._slots))
        return self._chats[loop]

    async def _chat(self, chats: _Chats, model: str, options: Mapping[str, Any]) -> "BaseChatModel":
        key = (model, *options.items())
        if key not in chats.by_parameters:
            waiting = {"timeout": self._deadline, "max_retries": self._retries}
            # The first import costs a second or more: not on the event loop.
            chats.by_parameters[key] = await asyncio.to_thread(self._make, model, **waiting, **options)
        return chats.by_parameters[key]

    @asynccontextmanager
    async def _failures_mapped(self, model: str) -> AsyncIterator[None]:
        try:
            yield
        except ModelError:
            raise
        except NotImplementedError:
            raise FormatRefused(f"model {model!r} of {self.address} takes no shape of replies") from None
        except TimeoutError:
            raise ModelError(
                f"model {model!r} of {self.address} gave no whole answer within {self._deadline:g} s: try again, or"
                " raise CONTEND_CALL_DEADLINE_SECONDS for a slow endpoint",
                transient=True,
            ) from None
        except Exception as error:  # noqa: BLE001 - few vendors raise LangChain's errors; no cause: it may hold a key
            raise _as_model_error(error, f"model {model!r} of {self.address}", self.remedy) from None


async def _ask(
    chat: "BaseChatModel", messages: Sequence[tuple[str, str]], response_format: Mapping[str, Any]
) -> Completion:
    config: Any = {"tags": ["nostream"]}
    shape = response_format.get("json_schema")
    if shape is None:
        return _completion(await chat.ainvoke(messages, config), None)
    # Most models take a shape as a tool, which needs a name.
    named = {"title": shape["name"], "description": shape["name"], **shape["schema"]}
    answer: Any = await chat.with_structured_output(named, include_raw=True).ainvoke(messages, config)
    return _completion(answer["raw"], answer["parsed"])


def _completion(answer: "AIMessage", value: object) -> Completion:
    told = answer.response_metadata
    reason = str(told.get("finish_reason") or told.get("stop_reason") or told.get("done_reason") or "").lower()
    usage = answer.usage_metadata
    refusal = str(answer.additional_kwargs.get("refusal") or "")
    return Completion(
        text=json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(answer.text),
        cut_off=reason in _CUT_OFF,
        refusal=refusal or (f"it stopped for {reason}" if reason in _REFUSED else ""),
        input_tokens=usage["input_tokens"] if usage else None,
        output_tokens=usage["output_tokens"] if usage else None,
    )


def _as_model_error(error: Exception, who: str, remedy: str) -> ModelError:
    from langchain_core.exceptions import ContextOverflowError  # noqa: PLC0415 - heavy, and imported by now

    if isinstance(error, ContextOverflowError):
        return ModelError(f"{who}: the prompt is longer than the model's context: choose a larger one")
    status = getattr(error, "status_code", None)
    # LangChain's own errors say it themselves; for the others, their HTTP status does.
    passing = isinstance(error, OSError) or getattr(error, "is_retryable", False) or _is_passing(status)
    return ModelError(f"{who} failed ({_shown(error)}): {remedy}", transient=passing)


def _is_passing(status: object) -> bool:
    return status in _PASSING or (isinstance(status, int) and status >= _SERVER_FAULT)


def _shown(error: Exception) -> str:
    from contend.llm.vendor_errors import without_keys  # noqa: PLC0415 - imports openai

    return without_keys(f"{type(error).__name__}: {error}")
