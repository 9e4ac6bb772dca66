"""What judges answer: criteria, verdicts, choices.

Numbers are whole percents: local models keep integer bounds and not float ones.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from contend.models.replies import FixReply, Reply

MOST_CRITERIA = 15


class CriterionReply(Reply):
    """What a report has to do, so that it can be checked, and how much it matters."""

    text: str = Field(min_length=5, max_length=400)
    weight: int = Field(ge=1, le=5)


class CriteriaReply(Reply):
    """The criteria of one question and its reader's instructions."""

    criteria: list[CriterionReply] = Field(min_length=8, max_length=MOST_CRITERIA)


class CriterionVerdict(Reply):
    """Whether a submission meets a criterion, by its number."""

    number: int = Field(ge=1, le=MOST_CRITERIA)
    evidence: str = Field(max_length=400)
    verdict: Literal["met", "partly", "unmet"]
    fix: FixReply | None


class MetricVerdict(Reply):
    """A judge's verdict on one of several metrics, by its name."""

    metric: str = Field(min_length=1, max_length=64)
    reason: str = Field(min_length=2, max_length=600)
    evidence: list[Annotated[str, Field(max_length=300)]] = Field(max_length=3)
    fixes: list[FixReply] = Field(max_length=6)
    percent: int = Field(ge=0, le=100)


MOST_CITATIONS = 100
"""As many doubtful citations are asked about at once."""

Verdict = Literal["stated", "derived", "partly", "contradicted", "absent"]


class CitationWord(NamedTuple):
    """A judge's word on a citation; of one that is said in part, what is lacking."""

    verdict: Verdict
    lacking: str = ""


class CitationVerdict(Reply):
    """Whether its passages say a sentence, by its number."""

    number: int = Field(ge=1, le=MOST_CITATIONS)
    reason: str = Field(min_length=2, max_length=200)
    verdict: Verdict

    def word(self) -> CitationWord:
        return CitationWord(self.verdict, self.reason if self.verdict == "partly" else "")


class VerdictsReply(Reply):
    """A judge's verdicts on a submission: on doubtful citations, on each criterion, on each metric; what it lacks."""

    citations: list[CitationVerdict] = Field(max_length=MOST_CITATIONS)
    criteria: list[CriterionVerdict] = Field(max_length=MOST_CRITERIA)
    metrics: list[MetricVerdict] = Field(max_length=20)
    missing: list[FixReply] = Field(max_length=6)

    @model_validator(mode="before")
    @classmethod
    def _of_an_older_recording(cls, reply: object) -> object:
        return {"missing": [], **reply} if isinstance(reply, dict) else reply


class MetricReply(Reply):
    """A judge's verdict on one metric."""

    reason: str = Field(min_length=2, max_length=600)
    evidence: list[Annotated[str, Field(max_length=200)]] = Field(max_length=3)
    percent: int = Field(ge=0, le=100)

    def score(self) -> float:
        return self.percent / 100

    def expected(self, spread: Mapping[int, float]) -> float:
        """The mean of the percentages from 0 to 100 by their probabilities, as a score; the plain one without any."""
        likely = {percent: share for percent, share in spread.items() if 0 <= percent <= 100 and share > 0}  # noqa: PLR2004 - percent
        total = sum(likely.values())
        mean = sum(percent * share for percent, share in likely.items()) / total if total else float(self.percent)
        return min(1.0, mean / 100)


class PairwiseReply(Reply):
    """A judge's choice between two submissions."""

    reason: str = Field(min_length=2, max_length=600)
    choice: Literal["first", "second", "tie"]


class CitationReply(Reply):
    """A judge's word on doubtful citations."""

    citations: list[CitationVerdict] = Field(min_length=1, max_length=MOST_CITATIONS)


class JudgmentReply(Reply):
    """The round judge's verdict."""

    reasoning: str = Field(min_length=2, max_length=600)
    should_continue: bool
    confidence_percent: int = Field(ge=0, le=100)
