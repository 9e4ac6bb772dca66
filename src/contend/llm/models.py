"""The models of a process by name, and their endpoints.

`PROVIDER/MODEL` is a model of an entry of `[providers]` in config/models.toml, `KIND:MODEL` a chat model as in
LangChain's `init_chat_model`, and any other name a model of the endpoint set by OPENAI_BASE_URL and OPENAI_API_KEY.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import InitVar, dataclass, field
from functools import partial
from typing import Any, NamedTuple

from contend.errors import InputError, ModelError
from contend.llm import DEFAULT_CONTEXT_TOKENS, Answer, Model, ModelContext, R, Scope, configured_context
from contend.llm.budget import Ledger
from contend.llm.chat import ChatModel
from contend.llm.endpoint import CallLimits, Endpoint, SettingNames
from contend.llm.langchain_endpoint import PACKAGES, LangChainEndpoint, function_chat, packaged_chat
from contend.llm.openai_endpoint import OpenAIEndpoint
from contend.llm.recording import Recording, RecordingModel, ReplayModel
from contend.models.options import Role
from contend.prompts import PromptLibrary, PromptValues
from contend.registry import Function, Registry
from contend.settings import Settings, environment_variables, secret_text
from contend.settings.files import ModelsConfig, ProviderConfig

_OPENAI = "openai"
_DEFAULT = ProviderConfig()


class _ModelPlace(NamedTuple):
    """Where a model is; `provider` is "" for the endpoint of the environment."""

    provider: str
    config: ProviderConfig
    model: str


def _packaged_endpoint(config: ProviderConfig, key: str | None, limits: CallLimits) -> Endpoint:
    """Its package's errors name the settings of its address and key."""
    own = {"base_url": config.base_url, "api_key": key}
    parameters = {name: value for name, value in own.items() if value is not None}
    remedy = "check the model's name, and the variables that its package reads for address and key"
    make = partial(packaged_chat, config.kind, parameters)
    return LangChainEndpoint(f"LangChain's {config.kind}", make, remedy=remedy, key=key, limits=limits)


KINDS = Registry("kind of provider", {_OPENAI: ("langchain_openai", "ChatOpenAI"), **PACKAGES})
"""Values of `kind` in `[providers]`; `openai` is any OpenAI-compatible endpoint."""


@dataclass(eq=False, repr=False)
class LanguageModels:
    """The models of a process and their endpoints, each created once, at first use.

    A recording answers in their place if one is played. Blocking: reads the `.env` file and the recording, and loads
    functions named as `module:function` with `load`. `ledger_of`: an execution's ledger; `context_of`: a model's
    context in tokens in an execution.

    Raises:
        InputError: an entry of `[providers]` has an unknown kind or a function that cannot be loaded; or the recording
            is unusable.
    """

    settings: Settings
    config: ModelsConfig
    library: PromptLibrary
    load: InitVar[Callable[[str], Function]]
    ledger_of: Callable[[str], Ledger] = field(kw_only=True)
    context_of: Callable[[str, str], int] = field(kw_only=True)

    def __post_init__(self, load: Callable[[str], Function]) -> None:
        config, settings = self.config, self.settings
        self._environment = environment_variables()
        self._endpoints: dict[str, Endpoint] = {}
        self._models: dict[str, Model] = {}
        self._functions = {name: load(each.function) for name, each in config.providers.items() if each.function}
        for name, entry in config.providers.items():
            KINDS.get(entry.kind, f"config/models.toml [providers.{name}]")
        self.recording = Recording.read(settings.locate(str(settings.replay))) if settings.replay else None

    def are_set(self) -> bool:
        """Whether the workspace's models have an endpoint, so that a run without a model name is a contest."""
        models = {self.config.default, *self.config.roles.values()}
        return self.settings.has_language_model or any(self._place(model).provider for model in models)

    def lack(self, model: str) -> str | None:
        """Why a model has no endpoint; None if it has one."""
        if self.settings.has_language_model or self._place(model).provider:
            return None
        return f"no OPENAI_API_KEY or OPENAI_BASE_URL is set, and {model} would be asked"

    def find(self, model: str) -> tuple[Endpoint, str]:
        """The endpoint of a model, and the model's name there.

        Raises:
            ModelError: it has no endpoint.
            InputError: the endpoint's address or key is unusable; names the setting.
        """
        if lack := self.lack(model):
            raise ModelError(f"{lack}: set one")
        place = self._place(model)
        if place.provider not in self._endpoints:
            self._endpoints[place.provider] = self._make(place)
        return self._endpoints[place.provider], place.model

    def by_endpoint(self, models: Collection[str]) -> list[tuple[Endpoint, dict[str, str]]]:
        """Endpoints with their models: the names there by the full names.

        Raises:
            ModelError, InputError: as `find` does.
        """
        groups: dict[int, tuple[Endpoint, dict[str, str]]] = {}
        for model in models:
            endpoint, name_there = self.find(model)
            groups.setdefault(id(endpoint), (endpoint, {}))[1][model] = name_there
        return list(groups.values())

    def by_name(self, name: str) -> Model:
        """A model by its name.

        Raises:
            ModelError: it has no endpoint.
        """
        if name not in self._models:
            self._models[name] = ReplayModel(name, self.recording) if self.recording else self._live(name)
        return self._models[name]

    async def contexts(self, names: Collection[str]) -> dict[str, ModelContext]:
        """Each model's context and its source: the recording; or `[context]`, its endpoint, a default."""
        in_order = sorted(set(names))
        if recording := self.recording:
            return {name: ModelContext(recording.context(name), "recording") for name in in_order}
        return dict(zip(in_order, await asyncio.gather(*map(self._context, in_order)), strict=True))

    async def _context(self, model: str) -> ModelContext:
        if own := configured_context(model, self.config.context):
            return own
        if self.lack(model) is None:
            endpoint, name_there = self.find(model)
            if tokens := await endpoint.context_tokens(name_there):
                return ModelContext(tokens, endpoint.address)
        return ModelContext(DEFAULT_CONTEXT_TOKENS, "default")

    async def aclose(self) -> None:
        """Close the running loop's connections; later calls reopen them."""
        for endpoint in self._endpoints.values():
            await endpoint.aclose()

    def _place(self, model: str) -> _ModelPlace:
        before, slash, after = model.partition("/")
        if slash and before in self.config.providers:
            return _ModelPlace(before, self.config.providers[before], after)
        kind, colon, name = model.partition(":")
        if colon and kind in PACKAGES:
            return _ModelPlace(f"{kind}:", ProviderConfig(kind=kind), name)
        return _ModelPlace("", _DEFAULT, name if colon and kind == _OPENAI else model)

    def _make(self, place: _ModelPlace) -> Endpoint:
        config, settings = place.config, self.settings
        limits = CallLimits(
            config.call_deadline_seconds or settings.call_deadline_seconds,
            config.max_calls_in_flight or settings.max_calls_in_flight,
            settings.max_retries,
        )
        if not place.provider:
            return OpenAIEndpoint(settings.openai_base_url, secret_text(settings.openai_api_key) or None, limits)
        if config.function:
            make = partial(function_chat, self._functions[place.provider])
            return LangChainEndpoint(config.function, make, remedy=f"look at {config.function}", limits=limits)
        entry = f"[providers.{place.provider}] in config/models.toml"
        names = SettingNames(f"base_url of {entry}", config.api_key_env or f"api_key_env of {entry}")
        key = self._key(config, entry)
        if config.kind != _OPENAI:
            return _packaged_endpoint(config, key, limits)
        return OpenAIEndpoint(config.base_url, key, limits, names=names, provider=config)

    def _key(self, config: ProviderConfig, entry: str) -> str | None:
        variable = config.api_key_env
        if variable and not self._environment.get(variable):
            raise InputError(
                f"{variable} is not set, the key of {entry}: set it, or leave api_key_env out for an endpoint without"
                " a key"
            )
        return self._environment[variable] if variable else None

    def _live(self, name: str) -> Model:
        """A model to call; its replies are recorded if the settings say so."""
        endpoint, name_there = self.find(name)
        context = partial(self.context_of, name)
        chat = ChatModel(
            name,
            endpoint,
            self.library,
            self.ledger_of,
            config=self.config,
            context_of=context,
            name_there=name_there,
        )
        if (file := self.settings.record) is None:
            return chat
        return RecordingModel(chat, self.settings.locate(str(file)), context=context)


class RoleModel:
    """The model of a role, looked up by `model_of` for the execution of each call. Implements `Model`."""

    def __init__(self, role: Role, model_of: Callable[[Role, str], Model]) -> None:
        self.name: str = role
        self._role = role
        self._model_of = model_of

    async def ask(self, prompt: PromptValues, reply_type: type[R], *, scope: Scope, **options: Any) -> Answer[R]:  # noqa: ANN401 - passed on
        """See `Model.ask`."""
        return await self._model_of(self._role, scope.execution_id).ask(prompt, reply_type, scope=scope, **options)
