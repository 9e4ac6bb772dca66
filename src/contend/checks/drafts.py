"""What a draft claims: the one place that knows how drafts look."""

from collections.abc import Sequence
from typing import NamedTuple

from contend.checks.claims import Claim, PassageText
from contend.models.research import Draft, Passage


class DraftClaim(NamedTuple):
    """A statement of a draft with the passages that it names. `limit`: it stands among the limits."""

    claim: Claim
    passages: tuple[PassageText, ...]
    limit: bool


def claims_of(draft: Draft, passages: Sequence[Passage]) -> list[DraftClaim]:
    """The draft's statements in reading order; `passages` carry their texts."""
    texts = {passage.id: passage_text(passage) for passage in passages}
    cells = {place: "; ".join(filter(None, row.cells)) for place, row in draft.rows().items()}
    return [
        DraftClaim(
            Claim(
                text=each.text,
                kind=each.kind,
                expression=each.basis if each.kind == "derived" else "",
                cells=cells.get(place, ""),
            ),
            tuple(texts[name] for name in dict.fromkeys(each.passages) if name in texts),
            place.startswith("limit "),
        )
        for place, each in draft.placed()
    ]


def passage_text(passage: Passage) -> PassageText:
    return PassageText(passage.id, passage.title, passage.text, passage.speaks_to_ai)
