"""Chat models of LangChain's packages, or from a user's function."""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from contend.errors import ModelError, is_passing
from contend.llm.endpoint import (
    PATIENT_STATUSES,
    CallLimits,
    Completion,
    Endpoint,
    NoAnswer,
    Request,
    RequestRefused,
    Unavailable,
    completion_of,
    context_exceeded,
)
from contend.llm.refusals import topic_of
from contend.registry import Function, error_line
from contend.text import clean

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_BAD_REQUEST = {400, 422}
_OWN_RETRIES = 2
"""Vendor clients retry on their own and respect their vendor's wait times."""

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
"""Module and class of the provider names of LangChain's `init_chat_model`; loaded at the first call."""


def packaged_chat(provider: str, settings: Mapping[str, Any], model: str, **parameters: Any) -> "BaseChatModel":  # noqa: ANN401 - each vendor's own
    """A chat model from one of `PACKAGES`; `settings`: for example `base_url` and `api_key`.

    Raises:
        NoAnswer: its package is not installed.
    """
    module, name = PACKAGES[provider]
    try:
        chat_class = getattr(import_module(module), name)
    except ImportError as error:
        package = module.replace("_", "-")
        raise NoAnswer(f"needs the package {package}, which is not installed: pip install {package}") from error
    chat: BaseChatModel = chat_class(model=model, **settings, **parameters)
    return chat


def function_chat(function: Function, model: str, **parameters: Any) -> "BaseChatModel":  # noqa: ANN401, ARG001 - it sets keys and limits itself
    """A chat model from a user's function, which takes the model's name.

    Raises:
        NoAnswer: the function returned something else.
    """
    from langchain_core.language_models import BaseChatModel  # noqa: PLC0415 - heavy

    chat = function(model)
    if not isinstance(chat, BaseChatModel):
        raise NoAnswer(f"gave a {type(chat).__name__} for {model}: return a LangChain chat model")
    return chat


class LangChainEndpoint(Endpoint):
    """Asks through a LangChain chat model, with its client's own retries and key.

    `make` creates a chat model from its name and LangChain's standard parameters; it may block. `key`: kept out of
    errors.
    """

    form_fields = frozenset({"reply_format", "shape_shown", "most_output", "temperature", "logprobs", "system_role"})

    def __init__(
        self,
        address: str,
        make: "Callable[..., BaseChatModel]",
        *,
        remedy: str,
        key: str | None = None,
        limits: CallLimits = CallLimits(),  # noqa: B008 - immutable
    ) -> None:
        super().__init__(address, remedy, limits, secrets=[key] if key else [])
        self._make = make

    async def _ask(self, model: str, request: Request) -> Completion:
        if request.logprobs:
            raise RequestRefused(f"model {model!r}: its log-probabilities are not read", words="logprobs")
        options: dict[str, float] = {"max_tokens": request.max_output_tokens}
        options |= {} if request.temperature is None else {"temperature": request.temperature}
        chat = await self._chat_for(model, options)
        messages = [(turn.role, clean(turn.text)) for turn in request.turns]
        return await _ask(chat, messages, request)

    def _failure(self, error: Exception, who: str) -> ModelError:
        from langchain_core.exceptions import ContextOverflowError  # noqa: PLC0415 - heavy, and imported by now

        if isinstance(error, NotImplementedError):
            return RequestRefused(f"{who} takes no shape of replies", words="json_schema")
        status, words = getattr(error, "status_code", None), str(error)
        topic = topic_of(words)
        if isinstance(error, ContextOverflowError) or (status in _BAD_REQUEST and topic == "context"):
            return context_exceeded(who, words)
        reason = self._one_line(error_line(error))
        if status in _BAD_REQUEST and topic is None:
            return RequestRefused(f"{who} refused the request ({reason}): choose another model", words=words)
        # LangChain's errors say whether to retry; for others the HTTP status does.
        passing = isinstance(error, OSError) or getattr(error, "is_retryable", False) or is_passing(status)
        message = f"{who} failed ({reason}): {self.remedy}"
        if not passing:
            return ModelError(message)
        return Unavailable(message, patient=status in PATIENT_STATUSES or isinstance(error, OSError))

    async def models(self, names: Sequence[str]) -> list[str]:
        """All wanted models, each created as for a call, but not called; see `Endpoint.models`."""
        for model in names:
            await self._available_chat(model)
        return [*names]

    async def context_tokens(self, model: str) -> int | None:
        """From the model's profile in its package; see `Endpoint.context_tokens`."""
        try:
            profile = getattr(await self._available_chat(model), "profile", None)
        except NoAnswer:
            return None
        tokens = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
        return tokens if isinstance(tokens, int) and tokens > 0 else None

    async def _available_chat(self, model: str) -> "BaseChatModel":
        try:
            return await self._chat_for(model, {})
        except NoAnswer:
            raise
        except Exception as error:  # noqa: BLE001 - a vendor's package, or a user's function, raises what it likes
            raise NoAnswer(f"cannot make {model}: {self._one_line(error_line(error))}") from None

    async def _chat_for(self, model: str, options: Mapping[str, Any]) -> "BaseChatModel":
        retries = _OWN_RETRIES if self.limits.max_retries is None else self.limits.max_retries
        waiting = {"timeout": self.limits.call_deadline_seconds, "max_retries": retries}
        return await self._chat((model, *options.items()), lambda _: self._make(model, **waiting, **options))


async def _ask(chat: "BaseChatModel", messages: Sequence[tuple[str, str]], request: Request) -> Completion:
    if request.form.reply_format != "json_schema":
        return completion_of(await chat.ainvoke(messages, request.config))
    # Most models take a schema as a tool, which needs a name.
    shape = request.json_schema
    schema = {"title": shape["name"], "description": shape["name"], **shape["schema"]}
    answer: Any = await chat.with_structured_output(schema, include_raw=True).ainvoke(messages, request.config)
    value = answer["parsed"]
    return completion_of(answer["raw"], json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else None)
