"""How much a model can read, who says so, and what its calls may hold because of it.

The workspace's `[context]` table is asked first, then the endpoint, then a default that today's models exceed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from contend.models.options import ResolvedOptions, Role, TeamConfig

DEFAULT_CONTEXT_TOKENS = 32_000
"""What a model is taken to read where nobody says."""

COMPACT_BELOW_TOKENS = 16_000
COMPACT_PASSAGE_TOKENS = 4_000
_MOST_OFFERED, _MOST_CHOSEN = 60_000, 8_000


@dataclass(frozen=True)
class ContextProfile:
    """What the calls of one model may hold, in estimated tokens, from the `tokens` that it can read.

    The passages of one call leave half of the context or more for question, draft, history, instructions and reply.
    """

    tokens: int

    @property
    def compact(self) -> bool:
        """Too small for whole documents and structured drafts: short shapes, few passages."""
        return self.tokens < COMPACT_BELOW_TOKENS

    @property
    def offered_tokens(self) -> int:
        """Passages that the one call may read which chooses among all that was gathered."""
        if self.compact:  # each has its title and delimiters beside its text there, and the whole brief stands above
            return min(COMPACT_PASSAGE_TOKENS, self.tokens // 3)
        return min(_MOST_OFFERED, self.tokens // 2)

    @property
    def chosen_tokens(self) -> int:
        """Passages of all later calls of a team: writer, reviewer, judges."""
        return self.offered_tokens if self.compact else min(_MOST_CHOSEN, self.tokens // 4)

    @property
    def judged_tokens(self) -> int:
        """Passages that a judge has at hand beside a whole report."""
        return self.offered_tokens // 2 if self.compact else self.offered_tokens

    def beside(self, tokens: int) -> int:
        """Passages of a call that shows `tokens` of reports: both leave a quarter of the context or more."""
        return min(self.offered_tokens, max(self.tokens * 3 // 4 - tokens, self.chosen_tokens))

    @property
    def disputed_tokens(self) -> int:
        """Passages behind what two reports say differently, for a judge that reads both."""
        return min(self.chosen_tokens, self.judged_tokens) // 2


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
    if not options.models:
        return ContextProfile(DEFAULT_CONTEXT_TOKENS)
    return profile_of(options.model_of(role, team=team, name=name), options)


def configured_context(name: str, table: Mapping[str, int]) -> ModelContext | None:
    """A model's entry in `[context]`: its own name, else the first pattern that fits it; None where none does."""
    key = name if name in table else next((key for key in table if fnmatchcase(name, key)), None)
    return None if key is None else ModelContext(table[key], f'config/models.toml [context] "{key}"')
