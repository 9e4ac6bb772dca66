"""The language models of a process: each made at first use by its name, and how much each can read."""

import asyncio
from collections.abc import Callable, Collection
from functools import cached_property
from weakref import WeakKeyDictionary

from contend.errors import ModelError
from contend.llm.budget import Ledger
from contend.llm.chat import ChatModel
from contend.llm.context import (
    DEFAULT_CONTEXT_TOKENS,
    EndpointSizes,
    ModelContext,
    configured_context,
    read_sizes,
)
from contend.llm.endpoint import OPENAI_URL, Endpoint
from contend.llm.model import Model
from contend.llm.recording import Recording, RecordingModel, ReplayModel
from contend.prompts import PromptLibrary
from contend.settings import ModelsConfig, Settings


class LanguageModels:
    """Models behind the endpoint of the settings; where a recording is played, it answers in their place.

    `ledger_of` gives an execution's ledger, `context_of` the tokens that a model can read in an execution.
    """

    def __init__(
        self,
        settings: Settings,
        config: ModelsConfig,
        library: PromptLibrary,
        *,
        ledger_of: Callable[[str], Ledger],
        context_of: Callable[[str, str], int],
    ) -> None:
        """Blocking, where a recording is read.

        Raises:
            InputError: the recording is not usable.
        """
        self.recording = Recording.read(settings.located(str(settings.replay))) if settings.replay else None
        self._settings = settings
        self._config = config
        self._library = library
        self._ledger_of = ledger_of
        self._context_of = context_of
        self._models: dict[str, Model] = {}
        self._sizes: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[EndpointSizes]] = WeakKeyDictionary()

    def named(self, name: str) -> Model:
        """A model by its name.

        Raises:
            ModelError: no endpoint is set.
        """
        if not self._settings.has_language_model:
            raise ModelError(f"no OPENAI_API_KEY or OPENAI_BASE_URL is set, and {name} would be asked: set one")
        if name not in self._models:
            self._models[name] = ReplayModel(name, self.recording) if self.recording else self._live(name)
        return self._models[name]

    async def contexts(self, names: Collection[str]) -> dict[str, ModelContext]:
        """How much each language model can read, and who says so.

        The endpoint is asked at most once, and only where `[context]` leaves a model out.
        """
        wanted = sorted(set(names))
        if recording := self.recording:
            return {name: ModelContext(recording.context(name), "recording") for name in wanted}
        known = {name: context for name in wanted if (context := configured_context(name, self._config.context))}
        sizes = await self._endpoint_sizes() if len(known) < len(wanted) else EndpointSizes()
        return {name: known.get(name) or self._endpoint_context(sizes.of(name)) for name in wanted}

    @cached_property
    def endpoint(self) -> Endpoint:
        settings = self._settings
        return Endpoint(
            settings.openai_base_url,
            settings.openai_key,
            call_deadline_seconds=settings.call_deadline_seconds,
            max_calls_in_flight=settings.max_calls_in_flight,
            max_retries=settings.max_retries,
        )

    async def aclose(self) -> None:
        """Close the endpoint's connections, where it has some."""
        if "endpoint" in vars(self):
            await self.endpoint.aclose()

    def _live(self, name: str) -> Model:
        """A model to ask; its replies are kept where the settings say so."""
        chat = ChatModel(
            name,
            self.endpoint,
            self._library,
            self._ledger_of,
            max_output_tokens=self._config.max_output_tokens,
            temperatures=self._config.temperature,
            price=self._config.prices.get(name),
        )
        if (file := self._settings.record) is None:
            return chat
        kept = self._settings.located(str(file))
        return RecordingModel(chat, kept, context=lambda execution_id: self._context_of(name, execution_id))

    def _endpoint_context(self, tokens: int | None) -> ModelContext:
        if tokens is None:
            return ModelContext(DEFAULT_CONTEXT_TOKENS, "default")
        return ModelContext(tokens, self.endpoint.address)

    async def _endpoint_sizes(self) -> EndpointSizes:
        if not self._settings.has_language_model:
            return EndpointSizes()
        loop = asyncio.get_running_loop()
        if loop not in self._sizes:
            url = self._settings.openai_base_url or OPENAI_URL
            self._sizes[loop] = asyncio.ensure_future(read_sizes(url, self._settings.openai_key))
        # Shielded: a run that is cancelled while it waits does not take the answer from the others.
        return await asyncio.shield(self._sizes[loop])
