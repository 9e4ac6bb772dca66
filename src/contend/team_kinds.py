"""Kinds of team: what a contest needs to know of a team, whatever it is made of.

A kind more is a class with this shape, a line in `_KINDS`, and its name in `TeamConfig.kind`.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

_KINDS = {
    "research": "contend.research.graph:ResearchTeam",
    "quotes": "contend.research.quoting:QuotesTeam",
    "graph": "contend.research.graph_team:GraphTeam",
}


class TeamKind(Protocol):
    """What teams of a kind have in common."""

    may_win: bool
    """Whether they compete: are scored, ranked, merged, learned from. One that does not has a run to itself."""
    max_rounds: int | None
    """How many rounds they play at most; None: as many as the options say."""

    def build_graph(self, services: Any) -> "StateGraph[Any, Any, Any, Any]":  # noqa: ANN401 - the container lies above
        """One round, not compiled: it takes a `ResearchInput` and leaves a `submission`, by its document's id."""
        ...


def kind_names() -> list[str]:
    return list(_KINDS)


@cache
def team_kind(name: str) -> TeamKind:
    """A kind by its name in `TeamConfig.kind`; loaded at first use, for its graph lies above who asks."""
    module, _, attribute = _KINDS[name].partition(":")
    kind: TeamKind = getattr(import_module(module), attribute)()
    return kind
