"""The language models of a process: each made at first use by its name, and how much each can read."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from contend.llm.budget import Ledger
from contend.llm.chat import ChatModel
from contend.llm.context import ModelContext
from contend.llm.model import Answer, Model, R, Scope
from contend.llm.providers import Providers
from contend.llm.recording import Recording, RecordingModel, ReplayModel
from contend.models.options import Role
from contend.prompts import PromptLibrary, PromptValues
from contend.settings import ModelsConfig, Settings


@dataclass(eq=False)
class LanguageModels:
    """Models behind the endpoints of `providers`; where a recording is played, it answers in their place.

    Blocking, where a recording is read.

    Raises:
        InputError: the recording is not usable.
    """

    settings: Settings
    config: ModelsConfig
    library: PromptLibrary
    providers: Providers
    ledger_of: Callable[[str], Ledger]
    """An execution's ledger."""
    context_of: Callable[[str, str], int]
    """The tokens that a model can read in an execution."""

    def __post_init__(self) -> None:
        file = self.settings.replay
        self.recording = Recording.read(self.settings.located(str(file))) if file else None
        self._models: dict[str, Model] = {}

    def named(self, name: str) -> Model:
        """A model by its name.

        Raises:
            ModelError: there is nobody to ask for it.
        """
        if name not in self._models:
            self._models[name] = ReplayModel(name, self.recording) if self.recording else self._live(name)
        return self._models[name]

    async def contexts(self, names: Collection[str]) -> dict[str, ModelContext]:
        """How much each language model can read, and who says so."""
        in_order = sorted(set(names))
        if recording := self.recording:
            return {name: ModelContext(recording.context(name), "recording") for name in in_order}
        return await self.providers.contexts(in_order)

    def _live(self, name: str) -> Model:
        """A model to ask; its replies are kept where the settings say so."""
        endpoint, name_there = self.providers.find(name)

        def context(execution_id: str) -> int:
            return self.context_of(name, execution_id)

        chat = ChatModel(
            name,
            endpoint,
            self.library,
            self.ledger_of,
            max_output_tokens=self.config.max_output_tokens,
            context_of=context,
            temperatures=self.config.temperature,
            price=self.config.prices.get(name),
            name_there=name_there,
        )
        if (file := self.settings.record) is None:
            return chat
        path = self.settings.located(str(file))
        return RecordingModel(chat, path, context=context)


class RoleModel:
    """The model of a role, whichever `model_of` gives for the execution of the call's scope. Implements `Model`."""

    def __init__(self, role: Role, model_of: Callable[[Role, str], Model]) -> None:
        self.name: str = role
        self._role = role
        self._model_of = model_of

    async def structured(self, prompt: PromptValues, reply_type: type[R], *, scope: Scope, **options: Any) -> Answer[R]:  # noqa: ANN401 - passed on
        """See `Model.structured`."""
        return await self._model_of(self._role, scope.execution_id).structured(
            prompt, reply_type, scope=scope, **options
        )
