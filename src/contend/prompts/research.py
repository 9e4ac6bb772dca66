"""What supervisors, writers, reviewers and the editor are asked."""

from typing import Annotated, Self

from contend.prompts.passages import ShownPassage, SourceDocument
from contend.prompts.values import (
    DraftText,
    Feedback,
    Instructions,
    LessonText,
    PassageText,
    PromptPart,
    PromptValues,
    Query,
    SubmissionText,
    Text,
    Title,
    outside,
)


class Excerpt(PromptPart):
    """A text under its number, and nothing else of its source."""

    number: int
    text: PassageText


class NumberedLesson(PromptPart):
    """A lesson as writers see it."""

    number: int
    content: LessonText


class SearchMade(PromptPart):
    """A query, and the titles that it brought."""

    query: Query
    titles: Title = ""


class MarkedPlace(PromptPart):
    """What code or a judge marks in a draft, and where."""

    place: str
    text: Text


class PartLength(PromptPart):
    """How long a part of a draft is as it is printed."""

    name: str
    words: int
    characters: int


class RoundBefore(PromptPart):
    """An earlier round as the planner sees it."""

    round_number: int
    score: float | None
    feedback: Feedback
    uncovered: list[Text]


class PassageAtHand(PromptPart):
    """The beginning of a passage in the user's own documents."""

    title: Title
    text: PassageText


class GraphPrompt(PromptValues, prompt="graph/ask"):
    """All that a graph of somebody else's is asked for a round. `brief`: the round's, rendered."""

    brief: str
    stance: str = ""
    documents: list[Annotated[str, outside("file")]] = []
    best_report: SubmissionText = ""
    fixes: Feedback = ""
    words: int
    characters: int


class PlanPrompt(PromptValues, prompt="supervisor/plan"):
    """What to find out and to search for."""

    theme: Text
    instructions: Instructions = ""
    brief: str = ""
    stance: str = ""
    query_hints: list[str] = []
    feedback: Feedback = ""
    sources: list[str]
    round_number: int
    history: list[RoundBefore] = []
    at_hand: list[PassageAtHand] = []


class WritePrompt(PromptValues, prompt="writer/write"):
    """The draft, whole."""

    theme: Text
    instructions: Instructions = ""
    brief: str = ""
    stance: str = ""
    points: list[Text] = []
    passages: list[ShownPassage] = []
    best_draft: DraftText = ""
    feedback: Feedback = ""
    bullets: list[NumberedLesson] = []


class ReviewPrompt(PromptValues, prompt="reviewer/review"):
    """Whether a draft is accepted."""

    theme: Text
    points: list[Text] = []
    draft: DraftText = ""
    passages: list[ShownPassage] = []
    iteration: int
    max_iterations: int


class ResearchHead(PromptValues, prompt="research/head"):
    """What the calls of a loop begin with alike, so that a provider need not read it anew."""

    theme: Text
    instructions: Instructions = ""
    brief: str = ""
    points: list[Text] = []
    passages: list[SourceDocument] = []


class ResearchPlanPrompt(PromptValues, prompt="research/plan"):
    """What to find out, under which headings, and what to search for."""

    theme: Text
    instructions: Instructions = ""
    brief: str = ""
    stance: str = ""
    query_hints: list[str] = []
    sources: list[str]
    round_number: int
    catalogue: Annotated[str, outside("catalogue")] = ""
    whole: bool = False
    more_documents: int = 0
    searches: list[SearchMade] = []
    best_draft: DraftText = ""
    fixes: Annotated[str, outside("fixes")] = ""
    rejected: Feedback = ""


class ChoosePrompt(PromptValues, prompt="research/choose"):
    """Which passages serve which point. `budget`: tokens."""

    head: str
    budget: int
    searches: list[SearchMade] = []


class _Writing(PromptValues):
    """`words` and `characters`: about how long the text is to be."""

    head: str
    stance: str = ""
    bullets: list[NumberedLesson] = []
    words: int
    characters: int


class ReportPrompt(_Writing, prompt="research/write"):
    """A first draft."""

    outline: list[Text] = []


class SectionPrompt(_Writing, prompt="research/section"):
    """One section of a long report."""

    outline: list[Text]
    number: int


class RevisePrompt(_Writing, prompt="research/revise"):
    """What changes in a draft."""

    draft: DraftText
    draft_words: int
    draft_characters: int
    draft_parts: list[PartLength]
    marks: list[MarkedPlace] = []
    fixes: Annotated[str, outside("fixes")] = ""
    new_passages: list[int] = []


class SummarizePrompt(PromptValues, prompt="research/summarize"):
    """What stands around the sections of a long report."""

    head: str
    draft: DraftText


class FixesPrompt(PromptValues, prompt="research/review"):
    """What to mend in a draft."""

    head: str
    draft: DraftText
    draft_words: int
    draft_characters: int
    draft_parts: list[PartLength]
    words: int
    characters: int
    marks: list[MarkedPlace] = []


class TeamReport(PromptPart):
    """A team's best report under the editor's letter for it."""

    label: str
    draft: DraftText
    draft_words: int
    draft_characters: int
    draft_parts: list[PartLength]
    feedback: Feedback = ""


class MergePrompt(PromptValues, prompt="research/merge"):
    """One report of the teams' best parts."""

    head: str
    reports: list[TeamReport]
    words: int
    characters: int


class InjectionPrompt(PromptValues, prompt="checks/injection"):
    """Which excerpts speak to AI systems."""

    excerpts: list[Excerpt]


class StanceText(PromptValues, prompt="stance", template="stance/default"):
    """How a team goes about it. `sources`: those that its run uses."""

    sources: list[str]

    @classmethod
    def sample(cls, *, full: bool = True) -> Self:
        return cls(sources=["tavily", "arxiv", "local"] if full else ["local"])
