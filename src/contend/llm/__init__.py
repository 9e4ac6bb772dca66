"""The one protocol behind which language models stand, and what a model's calls may hold: as much as it can read.

Of that the workspace's `[context]` table tells first, then the endpoint, then a default that today's models exceed.
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
    """Whose call it is. With the prompt's name it makes a key that is the same when a crash repeats the call.

    `sampled`: one of several replies to the same request, which are meant to differ. `passages` and `lessons`: the ids
    of those that the prompt shows under numbers from 1; `sentences`: the texts of those that it asks about so.
    `seen`: whose rounds the team saw when it began this one.
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
    """A reply in the agreed shape, and what it cost.

    `distribution`: how likely each value of the number in `distribution_over` was, 0.0 to 1.0; None where nobody asked
    or told.
    """

    value: R
    usage: CallUsage
    distribution: Mapping[int, float] | None = None


class Model(Protocol):
    """Answers prompts in an agreed shape."""

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
        """Ask. `distribution_over` names a whole number of the reply whose other likely values are of interest, too.

        `faults` says what is wrong with a reply of the right shape, "" where nothing is. The model is told so once, and
        its second reply stands; where that one is unreadable, the first does.

        Raises:
            ReplyError: no valid reply, also after one repair.
            ModelError: the endpoint failed within the call's deadline.
            BudgetExhausted: the call would exceed a hard budget; it was not made.
        """
        ...


LEAST_CONTEXT_TOKENS = 16_000
"""A model that reads less is refused: question, passages, draft and reply would not fit beside each other."""
WHERE_CONTEXT_IS_SET = "Ollama num_ctx, llama.cpp -c, vLLM --max-model-len, LM Studio's Context Length"
CONTEXT_REMEDY = (
    f"raise it where the model runs ({WHERE_CONTEXT_IS_SET}) to {LEAST_CONTEXT_TOKENS:,} tokens or more, or choose a "
    "model that reads more"
)

DEFAULT_CONTEXT_TOKENS = 32_000
"""What a model is taken to read where nobody says."""

_EVIDENCE_TOKENS = 60_000
_MOST_STEP_TOKENS, _MOST_CATALOGUE_TOKENS, _MOST_DISPUTED_TOKENS = 32_000, 12_000, 4_000

_BESIDE_STEP_TOKENS = 6_600
"""Room for a step's reply and its thoughts."""
CONTEXT_MARGIN = 1.1
"""By so much a prompt may be longer than estimated and leave the reply its room in the model's context."""


@dataclass(frozen=True)
class ContextProfile:
    """What the calls of one model may hold, in estimated tokens, from the `tokens` that it can read.

    `most_evidence`: a run's own limit on what a team holds.
    """

    tokens: int
    most_evidence: int = _EVIDENCE_TOKENS

    @property
    def evidence_tokens(self) -> int:
        """Passages that a team holds, and that its writers, reviewers and judges read: two fifths of the context."""
        return min(self.most_evidence, self.tokens * 2 // 5)

    @property
    def step_tokens(self) -> int:
        """Passages that the actions of one step show."""
        return min(_MOST_STEP_TOKENS, self.tokens // 8)

    @property
    def look_tokens(self) -> int:
        """Passages that one look of a reviewer shows beside the evidence."""
        return self.tokens // 12

    @property
    def catalogue_tokens(self) -> int:
        return min(_MOST_CATALOGUE_TOKENS, self.tokens // 10)

    @property
    def prompt_tokens(self) -> int:
        """A step's prompt; where it would be longer it begins anew. The reply and its thoughts need the rest."""
        beside = round((self.tokens - _BESIDE_STEP_TOKENS) / CONTEXT_MARGIN)
        return min(self.tokens * 17 // 20, max(self.tokens * 7 // 10, beside))

    def beside(self, tokens: int) -> int:
        """Passages of a call that shows `tokens` of reports: both leave a quarter of the context or more."""
        return min(self.evidence_tokens, max(self.tokens * 3 // 4 - tokens, self.tokens // 4))

    @property
    def disputed_tokens(self) -> int:
        """Passages behind what two reports say differently, for a judge that reads both."""
        return min(_MOST_DISPUTED_TOKENS, self.tokens // 8)


class ModelContext(NamedTuple):
    """The tokens that a model can read, and who says so."""

    tokens: int
    origin: str


def profile_of(name: str, options: ResolvedOptions) -> ContextProfile:
    """What the calls of a model may hold in a run."""
    return ContextProfile(options.contexts.get(name, DEFAULT_CONTEXT_TOKENS), options.evidence_tokens)


def role_profile(
    options: ResolvedOptions, role: Role, *, team: TeamConfig | None = None, name: str | None = None
) -> ContextProfile:
    """What the calls of the model may hold that plays a role."""
    if not options.models:
        return ContextProfile(DEFAULT_CONTEXT_TOKENS)
    return profile_of(options.model_name(role, team=team, name=name), options)


def configured_context(name: str, table: Mapping[str, int]) -> ModelContext | None:
    """A model's entry in `[context]`: its own name, else the first pattern that fits it; None where none does."""
    key = name if name in table else next((key for key in table if fnmatchcase(name, key)), None)
    return None if key is None else ModelContext(table[key], f'config/models.toml [context] "{key}"')
