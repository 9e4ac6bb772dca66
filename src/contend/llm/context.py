"""How much a model can read, who says so, and what its calls may hold because of it.

The workspace's `[context]` table is asked first, then the endpoint, then a default that today's models exceed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, TypeGuard
from urllib.parse import urlsplit

from contend.llm.endpoint import OPENAI_HOST
from contend.llm.listing import NoAnswer, listed_models, server_facts
from contend.models.options import ResolvedOptions, Role, TeamConfig

DEFAULT_CONTEXT_TOKENS = 32_000
"""What a model is taken to read where nobody says."""

COMPACT_BELOW_TOKENS = 16_000
COMPACT_PASSAGE_TOKENS = 4_000
_MOST_OFFERED, _MOST_CHOSEN, _MOST_DRAFT, _MOST_HISTORY = 60_000, 8_000, 16_000, 8_000

_SIZE_NAMES = ("max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens", "n_ctx")
"""A model's size in a list of models: as vLLM, OpenRouter, Groq, Mistral and Anthropic name it, and llama.cpp."""
_LEAST_SIZE = 256


@dataclass(frozen=True)
class ContextProfile:
    """What the calls of one model may hold, in estimated tokens, from the `tokens` that it can read.

    Passages, draft and history of one call leave a quarter of the context or more for question, instructions and reply.
    """

    tokens: int

    @property
    def compact(self) -> bool:
        """Too small for whole documents and structured drafts: short shapes, few passages."""
        return self.tokens < COMPACT_BELOW_TOKENS

    @property
    def offered_tokens(self) -> int:
        """Passages that the one call may read which chooses among all that was gathered."""
        return min(COMPACT_PASSAGE_TOKENS if self.compact else _MOST_OFFERED, self.tokens // 2)

    @property
    def chosen_tokens(self) -> int:
        """Passages of all later calls of a team: writer, reviewer, judges."""
        return self.offered_tokens if self.compact else min(_MOST_CHOSEN, self.tokens // 4)

    @property
    def judged_tokens(self) -> int:
        """Passages that a judge has at hand beside a whole report."""
        return self.offered_tokens // 2 if self.compact else self.offered_tokens

    @property
    def draft_tokens(self) -> int:
        """A draft that a call is to mend or to review."""
        return min(_MOST_DRAFT, self.tokens // 6)

    @property
    def history_tokens(self) -> int:
        """Earlier rounds and searches."""
        return min(_MOST_HISTORY, self.tokens // 16)


class ModelContext(NamedTuple):
    """The tokens that a model can read, and who says so."""

    tokens: int
    origin: str


def profile_of(name: str, options: ResolvedOptions) -> ContextProfile:
    """What the calls of a model may hold in a run."""
    return ContextProfile(options.contexts.get(name, DEFAULT_CONTEXT_TOKENS))


def role_profile(
    options: ResolvedOptions, role: Role, *, team: TeamConfig | None = None, name: str | None = None
) -> ContextProfile:
    """What the calls of the model may hold that plays a role."""
    if options.gives_quotes:
        return ContextProfile(DEFAULT_CONTEXT_TOKENS)
    return profile_of(options.model_of(role, team=team, name=name), options)


def configured_context(name: str, table: Mapping[str, int]) -> ModelContext | None:
    """A model's entry in `[context]`: its own name, else the first pattern that fits it; None where none does."""
    key = name if name in table else next((key for key in table if fnmatchcase(name, key)), None)
    return None if key is None else ModelContext(table[key], f'config/models.toml [context] "{key}"')


@dataclass(frozen=True)
class EndpointSizes:
    """What an endpoint told of its models when it was asked: `models` as listed, `facts` by path as told beside."""

    models: Sequence[Mapping[str, Any]] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def of(self, name: str) -> int | None:
        """The tokens that a model can read, as far as the endpoint told.

        Of several sizes the smallest holds: a server that reads 8,192 tokens of a model trained on 131,072 tells both.
        """
        return min((*_sizes(self._listed(name)), *self._told_beside(name)), default=None)

    def _listed(self, name: str) -> Mapping[str, Any]:
        # A server with one model answers by whatever name it is asked.
        return self.models[0] if len(self.models) == 1 else _entry(name, self.models)

    def _told_beside(self, name: str) -> Iterator[int]:
        """llama.cpp's context of one slot; LM Studio's and Ollama's of a model, first as it is loaded."""
        props = self.facts.get("props")
        slot = _under(_under(props, "default_generation_settings"), "n_ctx") if len(self.models) == 1 else None
        studio = _entry(name, _models_of(self.facts.get("api/v0/models"), "data"))
        ollama = _entry(name, _models_of(self.facts.get("api/ps"), "models"))
        given = (slot, studio.get("loaded_context_length"), studio.get("max_context_length"))
        yield from (size for size in (*given, ollama.get("context_length")) if _is_size(size))


async def read_sizes(url: str, key: str | None) -> EndpointSizes:
    """Ask an endpoint for its models and their sizes, a few seconds at most; one that fails to answer tells nothing."""
    if urlsplit(url).hostname == OPENAI_HOST:
        return EndpointSizes()  # lists no sizes
    try:
        models = await listed_models(url, key)
    except NoAnswer:
        return EndpointSizes()
    if models and all("meta" not in model and any(_sizes(model)) for model in models):
        return EndpointSizes(models)
    return EndpointSizes(models, await server_facts(url, key))


def _entry(name: str, models: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The model in a list of models. Ollama lists as `llama3:latest` what is asked for as `llama3`."""
    names = {name, f"{name}:latest"}
    return next((model for model in models if names & {model.get("id"), model.get("model")}), {})


def _sizes(model: Mapping[str, Any]) -> Iterator[int]:
    """`n_ctx_train` is what the model was trained on, `n_ctx` what llama.cpp was started with."""
    given = [model.get(key) for key in _SIZE_NAMES]
    given += [_under(model.get("meta"), "n_ctx"), _under(model.get("meta"), "n_ctx_train")]
    yield from (size for size in given if _is_size(size))


def _models_of(answer: object, key: str) -> list[Mapping[str, Any]]:
    given = _under(answer, key)
    return [model for model in given if isinstance(model, dict)] if isinstance(given, list) else []


def _under(answer: object, key: str) -> object:
    return answer.get(key) if isinstance(answer, dict) else None


def _is_size(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= _LEAST_SIZE
