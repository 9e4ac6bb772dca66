"""What judges and the learning loop are asked, and what a model is told of its reply."""

from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, ClassVar, Self

from pydantic import PlainValidator

from contend.models.playbook import GENERAL, Bullet, Insight, PlaybookSection
from contend.prompts.research import DraftSize, NamedDocument, ShownPart, ShownPassage, SourceDocument
from contend.prompts.values import (
    DraftText,
    Feedback,
    Instructions,
    LessonText,
    OnSharedHead,
    PromptPart,
    PromptValues,
    Query,
    Question,
    Sentence,
    SubmissionText,
    Text,
    UntrustedText,
    outside,
)
from contend.text import estimate_tokens, terms


class _OnQuery(PromptValues):
    user_query: Query
    instructions: Instructions = ""


class CriteriaPrompt(_OnQuery, prompt="evaluator/criteria"):
    """The parts of the question and, `with_criteria`, what a good answer must do."""

    with_criteria: bool = True


class MetricPrompt(_OnQuery, prompt="evaluator/metric"):
    """One metric, judged alone."""

    always_shown: ClassVar = {"metric": "# {}", "rubric": "{}"}

    submission: SubmissionText
    points: list[Text] = []
    passages: list[ShownPassage] = []
    metric: str
    rubric: str


class UnquotedStatement(PromptPart):
    """A statement that quotes nothing, its place in the report and the numbers of its passages."""

    number: int
    place: str
    sentence: Sentence
    passages: list[int]


class VerdictsPrompt(OnSharedHead, DraftSize, prompt="evaluator/verdicts"):
    """Several metrics, criteria and statements without quotes, judged together.

    `nearest`: passages of all documents nearest to parts that are not answered; `declined`: fixes not followed, and
    why; `left_out`: statements that revisions took out, and why; `with_fixes`: somebody will follow them. That nobody
    will stands at the prompt's end: all calls on a team's reports begin alike.
    """

    always_shown: ClassVar = {"criteria": "{}", "rubrics": "{}"}

    has_passages: bool = False
    parts: list[ShownPart] = []
    nearest: list[SourceDocument] = []
    submission: SubmissionText
    structured: bool = False
    invented: bool = False
    declined: list[Annotated[str, outside("declined")]] = []
    left_out: list[Annotated[str, outside("declined")]] = []
    unquoted: list[UnquotedStatement] = []
    criteria: Annotated[str, outside("criteria")] = ""
    rubrics: str = ""
    with_fixes: bool = True


class ComparePrompt(_OnQuery, prompt="pairwise/compare"):
    """Which of two reports is better. `others`: cited passages that are not shown, by document."""

    criteria: Annotated[str, outside("criteria")] = ""
    submissions: tuple[SubmissionText, SubmissionText]
    structured: bool = True
    invented: bool = False
    passages: list[SourceDocument] = []
    others: list[NamedDocument] = []


class CitationPrompt(PromptValues, prompt="citation/check"):
    """Whether passages say what cites them."""

    passages: list[SourceDocument]
    claims: list[UnquotedStatement]


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


_InsightText = Annotated[str, outside("insight")]
_Lesson = Annotated[str, outside("lesson")]
_LINE_TOKENS = 40
"""What a bullet's id, section, confidence and delimiters take beside its content."""


class ShownBullet(PromptPart):
    """A bullet. A playbook may come from elsewhere: a section that is not the operator's own is text like any other."""

    id: str
    section: Annotated[str, PlainValidator(lambda section: section)]
    content: LessonText
    example: Annotated[str, outside("example")] = ""
    confidence: float
    quarantined: bool

    @classmethod
    def of(cls, bullet: Bullet, known_sections: Collection[str] = ()) -> Self:
        known = bullet.section in known_sections
        return cls(
            id=bullet.id,
            section=bullet.section if known else UntrustedText(bullet.section, label="section"),
            content=bullet.content,
            example=bullet.example or "",
            confidence=bullet.confidence,
            quarantined=bullet.status == "quarantined",
        )


class RoundReflectedOn(PromptPart):
    """A finished round. `used`: ids of bullets; `metrics`: scores by name.

    `cited`: documents, each with the search that found it.
    """

    team_id: str
    round_number: int
    score: float | None
    feedback: Feedback = ""
    used: list[str] = []
    metrics: dict[str, float | None] = {}
    queries: list[Query] = []
    exit_reason: str | None = None
    judged: list[Annotated[str, outside("judged")]] = []
    draft: DraftText = ""
    cited: list[Annotated[str, outside("cited")]] = []


class _OfDataset(PromptValues):
    """A dataset may have a template of its own."""

    dataset: str

    @property
    def template(self) -> str:
        """A dataset called `system` has the default, for that name is taken."""
        agent = self.prompt_name.partition("/")[0]
        return f"{agent}/{'default' if self.dataset == 'system' else self.dataset}"


class ReflectorPrompt(_OfDataset, prompt="reflector/reflect", template="reflector/default"):
    """The lessons of a run."""

    theme: Question
    rounds: list[RoundReflectedOn] = []
    bullets: list[ShownBullet] = []


class ShownInsight(PromptPart):
    """An insight of the reflector, by number."""

    number: int
    reasoning: _InsightText
    error_identification: _InsightText
    root_cause_analysis: _InsightText
    correct_approach: _InsightText
    key_insight: _InsightText


class ShownSection(PromptPart):
    """A section of playbooks."""

    name: str
    description: str = ""


class CuratorPrompt(_OfDataset, prompt="curator/curate", template="curator/default"):
    """The operations on a playbook."""

    insights: list[ShownInsight]
    sections: list[ShownSection] = []
    bullets: list[ShownBullet] = []

    @classmethod
    def of(
        cls, dataset: str, insights: Sequence[Insight], bullets: Iterable[Bullet], sections: Sequence[PlaybookSection]
    ) -> Self:
        section_names = {GENERAL, *(section.name for section in sections)}
        return cls(
            dataset=dataset,
            insights=[
                ShownInsight(number=number, **each.model_dump()) for number, each in enumerate(insights, start=1)
            ],
            sections=[ShownSection(**section.model_dump()) for section in sections],
            bullets=[ShownBullet.of(bullet, section_names) for bullet in bullets],
        )


class LessonPair(PromptPart):
    """Two lessons to compare."""

    number: int
    first: _Lesson
    second: _Lesson


class SameLessonsPrompt(PromptValues, prompt="lessons/same"):
    """Which lessons say the same."""

    pairs: list[LessonPair]


class AnswerPrompt(PromptValues, prompt="answers/question"):
    """A question with an answer that code checks; `form`: number, expression, choice, json or text."""

    question: Question
    lessons: list[_Lesson] = []
    form: str


class WrongAnswer(PromptPart):
    """A question answered wrongly, and the kind of error that code tells."""

    question: Question
    answer: Annotated[str, outside("answer")]
    expected: Annotated[str, outside("expected")]
    kind: str
    reasoning: Annotated[str, outside("reasoning")] = ""


class ErrorsPrompt(PromptValues, prompt="errors/reflect"):
    """The lessons of wrong answers."""

    errors: list[WrongAnswer]
    bullets: list[ShownBullet] = []


def nearest(bullets: Sequence[Bullet], insights: Sequence[Insight], *, tokens: int) -> list[Bullet]:
    """All bullets, in their order, where they fit `tokens`; else those that share most terms with the insights."""
    costs = [estimate_tokens(bullet.content) + _LINE_TOKENS for bullet in bullets]
    if sum(costs) <= tokens:
        return list(bullets)
    insight_terms = [frozenset(terms(f"{insight.key_insight} {insight.correct_approach}")) for insight in insights]
    fit = [_overlap(insight_terms, bullet) for bullet in bullets]
    selection: list[int] = []
    for index in sorted(range(len(bullets)), key=lambda index: (-fit[index], index)):
        tokens -= costs[index]
        if tokens < 0:
            break
        selection.append(index)
    return [bullets[index] for index in sorted(selection)]


def _overlap(insight_terms: Sequence[frozenset[str]], bullet: Bullet) -> float:
    own = frozenset(terms(f"{bullet.content} {bullet.searchable_text}"))
    return max((len(own & words) / len(own | words) for words in insight_terms if own | words), default=0.0)
