"""What judges are asked, and what a model is told of its reply."""

from typing import Annotated, ClassVar

from contend.prompts.passages import ShownPassage, SourceDocument
from contend.prompts.research import PartLength
from contend.prompts.values import (
    Arithmetic,
    Instructions,
    PromptPart,
    PromptValues,
    Query,
    Sentence,
    SubmissionText,
    Text,
    outside,
)


class CriteriaPrompt(PromptValues, prompt="evaluator/criteria"):
    """What a good answer must do."""

    user_query: Query
    instructions: Instructions = ""


class MetricPrompt(PromptValues, prompt="evaluator/metric"):
    """One metric, judged alone."""

    always_shown: ClassVar = {"metric": "# {}", "rubric": "{}"}

    user_query: Query
    instructions: Instructions = ""
    submission: SubmissionText
    points: list[Text] = []
    passages: list[ShownPassage] = []
    metric: str
    rubric: str


class DoubtfulCitation(PromptPart):
    """A statement by its place in the report, with the numbers of its passages."""

    number: int
    place: str
    passages: list[int]
    expression: Arithmetic = ""


class VerdictsPrompt(PromptValues, prompt="evaluator/verdicts"):
    """Several metrics, criteria and doubtful citations, judged together. `declined`: fixes not followed, and why."""

    always_shown: ClassVar = {"criteria": "{}", "rubrics": "{}"}

    user_query: Query
    instructions: Instructions = ""
    passages: list[SourceDocument] = []
    submission: SubmissionText
    draft_words: int
    draft_characters: int
    draft_parts: list[PartLength]
    words: int
    characters: int
    structured: bool = False
    invented: bool = False
    declined: list[Annotated[str, outside("declined")]] = []
    doubtful: list[DoubtfulCitation] = []
    criteria: Annotated[str, outside("criteria")] = ""
    rubrics: str = ""


class ComparePrompt(PromptValues, prompt="pairwise/compare"):
    """Which of two reports is better. `others`: cited passages that are not shown, by title."""

    user_query: Query
    instructions: Instructions = ""
    criteria: Annotated[str, outside("criteria")] = ""
    submissions: tuple[SubmissionText, SubmissionText]
    structured: bool = True
    invented: bool = False
    passages: list[SourceDocument] = []
    others: list[ShownPassage] = []


class ClaimToCheck(PromptPart):
    """A cited sentence with the numbers of its passages."""

    number: int
    sentence: Sentence
    expression: Arithmetic = ""
    passages: list[int]


class CitationPrompt(PromptValues, prompt="citation/check"):
    """Whether passages say what cites them."""

    passages: list[SourceDocument]
    claims: list[ClaimToCheck]


class JudgePrompt(PromptValues, prompt="judge/judge"):
    """Whether another round is worth it. `prompt`: the rendered `judge/judgment`."""

    prompt: str
    scores: list[float | None]


class RepairPrompt(PromptValues, prompt="reply/repair"):
    """What is wrong with a reply. `limit`: output tokens."""

    problem: Annotated[str, outside("problem")] = ""
    cut_off: bool
    limit: int


class ShapePrompt(PromptValues, prompt="reply/shape"):
    """The shape of a reply, for endpoints that know no schemas."""

    shape: str

    def variables(self) -> dict[str, object]:
        """`schema`, which pydantic keeps for itself."""
        return {"schema": self.shape}
