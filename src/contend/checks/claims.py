"""What is checked, what a draft claims, and what a check says."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from pydantic import Field

from contend.models.record import Record, Score, Text
from contend.models.research import ClaimKind, Draft, Passage

Level = Literal["supported", "near", "unsupported", "not_needed"]


class Claim(Record, frozen=True):
    """A sentence without its citation marks. `expression`: the arithmetic behind a derived figure, as `21.4 * 4`.

    `cells`: of a table's row what its cells say; "" for a sentence.
    """

    text: Text
    kind: ClaimKind = "stated"
    expression: str = ""
    cells: str = ""

    @property
    def compared(self) -> str:
        """What is held against passages: the headings of a table's columns are the writer's own."""
        return self.cells or self.text


class PassageText(NamedTuple):
    """A passage that a claim cites, whole. `speaks_to_ai`: its source does, so that it supports nothing alone."""

    id: str
    title: str
    text: str
    speaks_to_ai: bool = False

    @property
    def whole(self) -> str:
        """What a citation of the passage rests on."""
        return _whole(self)


# One string a passage, whose hash Python keeps: what is read of it is kept by it.
@lru_cache(maxsize=1024)
def _whole(passage: PassageText) -> str:
    return f"{passage.title}\n\n{passage.text}"


class Mark(Record):
    """What a named rule found. `detail` names it in the claim's own words; `line` tells a reader."""

    rule: str
    detail: str
    line: str


class ClaimCheck(Record):
    """How far the passages that a claim names say it.

    `support` is 0.0 to 1.0. *supported* from 0.8 on, and without a mark; *near* from 0.5 on; *not_needed* for a
    judgement or an open question that names no passage. `nearest` is the id of the passage that is nearest to the
    claim, `excerpt` its sentence.
    """

    level: Level
    support: Score
    marks: list[Mark] = Field(default_factory=list)
    nearest: str = ""
    excerpt: str = ""


class Calibration(NamedTuple):
    """Where a rule's threshold comes from: the data, the day, and the share of right claims that it marks there."""

    threshold: float
    data: str
    chosen: str
    false_alarms: float


class DraftClaim(NamedTuple):
    """A statement of a draft under its place there, with the passages that it names."""

    place: str
    claim: Claim
    passages: tuple[PassageText, ...]


def claims_of(draft: Draft, passages: Sequence[Passage]) -> list[DraftClaim]:
    """The draft's statements in reading order; `passages` carry their texts."""
    texts = {passage.id: passage_text(passage) for passage in passages}
    cells = {place: "; ".join(filter(None, row.texts())) for place, row in draft.rows().items()}
    return [
        DraftClaim(
            place,
            Claim(
                text=each.text,
                kind=each.kind,
                expression=each.basis if each.kind == "derived" else "",
                cells=cells.get(place, ""),
            ),
            tuple(texts[name] for name in dict.fromkeys(each.passages) if name in texts),
        )
        for place, each in draft.placed()
    ]


def passage_text(passage: Passage) -> PassageText:
    return PassageText(passage.id, passage.title, passage.text, passage.speaks_to_ai)
