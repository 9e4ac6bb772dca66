"""What of a team's past a round's prompt shows, in order of worth, and as much of it as fits."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from contend.models.round import LeaderboardEntry, RoundState
from contend.text import clean

GAP = " […] "
"""Stands in a preview for what was left out."""
TOP = 3
"""Places of the ranking that come before older rounds."""
DETAILED = 2
"""Rounds shown with text and feedback; others are a line each, so that prompts don't grow with the rounds."""

Kind = Literal["round", "content", "feedback", "metrics", "trend", "row", "bullet"]


class Piece(NamedTuple):
    """Something a prompt may leave out. `key` is a round's number, or an index of the ranking or the bullets."""

    kind: Kind
    key: int = 0


class Trend(NamedTuple):
    """From the first scored round to the last; `change` in -1.0 to 1.0."""

    first: int
    last: int
    change: float


def finished(rounds: Sequence[RoundState], *, before: int | None = None) -> list[RoundState]:
    """A team's rounds in order, each once; with `before` only those with a smaller number."""
    by_number = {past.round_number: past for past in rounds if before is None or past.round_number < before}
    return [by_number[number] for number in sorted(by_number)]


def best_round(rounds: Sequence[RoundState]) -> int | None:
    """The number of the best scored round, the later of equals; None where none is scored."""
    scored = [(past.evaluation_score, past.round_number) for past in rounds if past.evaluation_score is not None]
    return max(scored)[1] if scored else None


def recent(rounds: Sequence[RoundState], limit: int) -> list[RoundState]:
    """The latest `limit` rounds; the best one takes the oldest one's place where it is older and two have room."""
    latest = list(rounds[-limit:])
    best = best_round(rounds)
    if len(latest) > 1 and best is not None and best < latest[0].round_number:
        latest[0] = next(past for past in rounds if past.round_number == best)
    return latest


def trend_of(rounds: Sequence[RoundState]) -> Trend | None:
    """The change over all scored rounds; None with fewer than two."""
    scored = [(past.round_number, past.evaluation_score) for past in rounds if past.evaluation_score is not None]
    if len(scored) <= 1:
        return None
    (first, before), (last, after) = scored[0], scored[-1]
    return Trend(first, last, after - before)


def preview(text: str, characters: int) -> str:
    """The text; where it is over 1.5 times `characters`, that many from its start and half as many from its end."""
    cleaned = clean(text).strip()
    if len(cleaned) <= characters * 1.5:
        return cleaned
    return cleaned[:characters] + GAP + cleaned[len(cleaned) - characters // 2 :]


def pieces(
    shown: Sequence[RoundState], rows: Sequence[LeaderboardEntry], *, bullets: int = 0, trend: bool = True
) -> list[Piece]:
    """What a prompt may hold beyond query, position, latest score and latest feedback, the worthiest first.

    Top of the ranking, trend, latest and best round; then lessons; then older rounds, the other places and the metrics.
    """
    detailed = _detailed(shown)
    latest, best = detailed[:1], detailed[1:] if best_round(shown) in detailed[1:] else []
    top, others = range(min(TOP, len(rows))), range(TOP, len(rows))
    older = [past.round_number for past in reversed(shown) if past.round_number not in latest + best]
    return [
        *(Piece("row", index) for index in top),
        *([Piece("trend")] if trend else []),
        *(Piece("content", number) for number in latest),
        *(Piece(kind, number) for number in best for kind in _ROUND),
        *(Piece("bullet", index) for index in range(bullets)),
        *(Piece("round", number) for number in older),
        *(Piece(kind, number) for number in detailed if number in older for kind in _ROUND[1:]),
        *(Piece("row", index) for index in others),
        *(Piece("metrics", number) for number in detailed),
    ]


_ROUND: tuple[Kind, ...] = ("round", "content", "feedback")


def _detailed(shown: Sequence[RoundState]) -> list[int]:
    """The rounds shown with their text: the latest, the best, else the one before."""
    numbers = [past.round_number for past in reversed(shown)]
    best = best_round(shown)
    return list(dict.fromkeys([*numbers[:1], *([best] if best else []), *numbers]))[:DETAILED]


def fill(worth: Sequence[Piece], fits: Callable[[frozenset[Piece]], bool]) -> frozenset[Piece]:
    """The longest beginning of `worth` that fits; nothing where not even the first does."""
    if fits(everything := frozenset(worth)):
        return everything
    least, most = 0, len(worth) - 1
    while least < most:
        middle = (least + most + 1) // 2
        if fits(frozenset(worth[:middle])):
            least = middle
        else:
            most = middle - 1
    return frozenset(worth[: max(least, 0)])
