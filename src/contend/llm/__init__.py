"""The protocol of language models, and how much their calls may hold, by the context that a model can read.

The context comes from the workspace's `[context]` table, else from the endpoint, else from a default.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Generic, NamedTuple, Protocol, TypeVar

from contend.models.options import ResolvedOptions, Role, TeamConfig
from contend.models.record import Language
from contend.models.replies import Reply
from contend.models.task import CallUsage
from contend.prompts import PromptValues

R = TypeVar("R", bound=Reply)


@dataclass(frozen=True)
class Scope:
    """Who makes a call. With the prompt's name it forms a key that stays the same if a crash repeats the call.

    `sampled`: one of several replies to the same request, which should differ. `passages` and `lessons`: ids of what
    the prompt numbers from 1; `sentences`: texts of the sentences that it numbers. `seen`: the rounds of other teams
    that the team saw when it began this one.
    """

    execution_id: str
    role: Role
    language: Language
    team_id: str = ""
    round_number: int = 0
    step: str = ""
    sampled: bool = False
    passages: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    seen: Mapping[str, int] | None = None

    def call_key(self, prompt: str) -> str:
        return f"{self.team_id}/{self.round_number}/{self.role}/{prompt}/{self.step}"


class Answer(NamedTuple, Generic[R]):
    """A reply of the requested type, and what it cost.

    `distribution`: the probability, 0.0 to 1.0, of each value of the field `distribution_over`; None if it was not
    requested or the endpoint sends no log-probabilities.
    """

    value: R
    usage: CallUsage
    distribution: Mapping[int, float] | None = None


class Model(Protocol):
    """Answers prompts with replies of a given type."""

    name: str

    async def ask(
        self,
        prompt: PromptValues,
        reply_type: type[R],
        *,
        scope: Scope,
        distribution_over: str | None = None,
        faults: Callable[[R], str] | None = None,
    ) -> Answer[R]:
        """Ask for a reply. `distribution_over` names an integer field whose likely values are returned, too.

        `faults` says what is wrong with a valid reply, "" if nothing is. The model is told once, and its second reply
        counts; if that one is unreadable, the first does.

        Raises:
            ReplyError: no valid reply, also after one repair.
            ModelError: the endpoint failed within the call's deadline.
            BudgetExhausted: the call would exceed a hard budget; it was not made.
        """
        ...


LEAST_CONTEXT_TOKENS = 16_000
"""A model that reads less is refused: question, passages, draft and reply would not fit together."""
WHERE_CONTEXT_IS_SET = "Ollama num_ctx, llama.cpp -c, vLLM --max-model-len, LM Studio's Context Length"
CONTEXT_REMEDY = (
    f"raise it where the model runs ({WHERE_CONTEXT_IS_SET}) to {LEAST_CONTEXT_TOKENS:,} tokens or more, or choose a "
    "model that reads more"
)

DEFAULT_CONTEXT_TOKENS = 32_000
"""The context of a model if nobody says."""

_EVIDENCE_TOKENS = 60_000
_MOST_STEP_TOKENS, _MOST_CATALOGUE_TOKENS, _MOST_DISPUTED_TOKENS = 32_000, 12_000, 4_000

_BESIDE_STEP_TOKENS = 6_600
"""Room for a step's reply and reasoning."""
CONTEXT_MARGIN = 1.1
"""How much longer than estimated a prompt may be and still leave room for the reply."""


@dataclass(frozen=True)
class ContextProfile:
    """How much the calls of one model may hold, in estimated tokens; `tokens`: the context that it can read.

    `most_evidence`: the run's limit on what a team holds.
    """

    tokens: int
    most_evidence: int = _EVIDENCE_TOKENS

    @property
    def evidence_tokens(self) -> int:
        """Passages that a team holds, and its writers, reviewers and judges read: two fifths of the context."""
        return min(self.most_evidence, self.tokens * 2 // 5)

    @property
    def step_tokens(self) -> int:
        """Passages that the actions of one step show."""
        return min(_MOST_STEP_TOKENS, self.tokens // 8)

    @property
    def look_tokens(self) -> int:
        """Passages that a reviewer's search shows beside the evidence."""
        return self.tokens // 12

    @property
    def catalogue_tokens(self) -> int:
        return min(_MOST_CATALOGUE_TOKENS, self.tokens // 10)

    @property
    def prompt_tokens(self) -> int:
        """A step's prompt; a longer one is started anew. The reply and its reasoning need the rest."""
        beside = round((self.tokens - _BESIDE_STEP_TOKENS) / CONTEXT_MARGIN)
        return min(self.tokens * 17 // 20, max(self.tokens * 7 // 10, beside))

    def beside(self, tokens: int) -> int:
        """Passages of a call that also shows `tokens` of reports; a quarter of the context stays free, or more."""
        return min(self.evidence_tokens, max(self.tokens * 3 // 4 - tokens, self.tokens // 4))

    @property
    def disputed_tokens(self) -> int:
        """Passages about what two reports say differently, for a judge who compares them."""
        return min(_MOST_DISPUTED_TOKENS, self.tokens // 8)


class ModelContext(NamedTuple):
    """The context of a model in tokens, and who says so."""

    tokens: int
    origin: str


def profile_of(name: str, options: ResolvedOptions) -> ContextProfile:
    """How much the calls of a model may hold in a run."""
    return ContextProfile(options.contexts.get(name, DEFAULT_CONTEXT_TOKENS), options.evidence_tokens)


def role_profile(
    options: ResolvedOptions, role: Role, *, team: TeamConfig | None = None, name: str | None = None
) -> ContextProfile:
    """How much the calls of a role's model may hold."""
    if not options.models:
        return ContextProfile(DEFAULT_CONTEXT_TOKENS)
    return profile_of(options.model_name(role, team=team, name=name), options)


def configured_context(name: str, table: Mapping[str, int]) -> ModelContext | None:
    """A model's entry in `[context]`: by its name, else by the first pattern that fits; None without one."""
    key = name if name in table else next((key for key in table if fnmatchcase(name, key)), None)
    return None if key is None else ModelContext(table[key], f'config/models.toml [context] "{key}"')
