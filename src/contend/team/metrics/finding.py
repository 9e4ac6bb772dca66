"""What a metric by code or by a function finds."""

from collections.abc import Sequence
from typing import NamedTuple

from contend.models.task import CallUsage


class Finding(NamedTuple):
    """A metric's score, 0.0 to 1.0 or None where there is nothing to measure, and its reason.

    `evidence`: sentences of the submission that it rests on; `usage`: what a model was asked for it.
    """

    score: float | None
    reason: str
    evidence: Sequence[str] = ()
    usage: CallUsage | None = None
