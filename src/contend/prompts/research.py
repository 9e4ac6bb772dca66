"""What supervisors, writers, reviewers and the editor are asked, and how passages stand there."""

from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Self

from contend.models.research import PartState, Passage
from contend.prompts.values import (
    DraftText,
    Feedback,
    Heading,
    Instructions,
    LessonText,
    NumberedPart,
    OnSharedHead,
    PassageText,
    PromptPart,
    PromptValues,
    SubmissionText,
    Text,
    Title,
    UntrustedText,
    outside,
)
from contend.text import clean, compact_tables, file_name


class RefutedStatement(PromptPart):
    """A statement of a draft as prompts show it, and what code refutes of it."""

    place: str
    heading: Heading = ""
    text: DraftText
    quotes: list[Annotated[str, outside("quote")]] = []
    reasons: list[Text]


class ShownPassage(PromptPart):
    """A passage under its number."""

    number: int | str
    title: Title
    heading: Heading = ""
    published: str | None = None
    text: PassageText

    @classmethod
    def of(cls, passage: Passage, number: int | str) -> Self:
        return cls(number=number, **passage.model_dump(include=cls.model_fields.keys() - {"number"}))

    @classmethod
    def of_passages(cls, passages: Iterable[Passage]) -> list[Self]:
        """The passages by number from 1."""
        return [cls.of(passage, number) for number, passage in enumerate(passages, start=1)]


class NumberedPassage(PromptPart):
    """A passage with where it stands in its document."""

    number: int
    heading: Heading = ""
    text: PassageText


class SourceDocument(PromptPart):
    """Passages of one document that follow each other, below its title, file and day, between one pair of delimiters.

    To templates `text` is all of it: each passage begins with its number as a tag that only the prompt can write.
    """

    title: Title
    passages: list[NumberedPassage]

    def variables(self) -> dict[str, object]:
        parts = [NumberedPart(each.number, each.heading, each.text) for each in self.passages]
        return {"text": UntrustedText(self.title, label="passages", parts=parts)}

    @classmethod
    def of(cls, passages: Iterable[tuple[int, Passage]]) -> list[Self]:
        """Passages with their numbers; those next to each other of one document together."""
        groups = groupby(passages, key=lambda each: _document_of(each[1]))
        return [
            cls(title=title, passages=[_numbered_passage(*each) for each in together])
            for (_, title), together in groups
        ]

    @classmethod
    def of_passages(cls, passages: Iterable[Passage]) -> list[Self]:
        """The passages by number from 1."""
        return cls.of(enumerate(passages, start=1))


def _numbered_passage(number: int, passage: Passage) -> NumberedPassage:
    return NumberedPassage(number=number, heading=passage.heading, text=compact_tables(passage.text))


def _document_of(passage: Passage) -> tuple[str, str]:
    """Its address, and its title with file and day."""
    file = file_name(passage.url)
    is_named = passage.title == file or passage.title.endswith(f"({file})")
    file_and_day = ", ".join(filter(None, ["" if is_named else file, passage.published]))
    title = clean(passage.title, single_line=True) + (f" ({file_and_day})" if file_and_day else "")
    return passage.url, title


class NamedDocument(PromptPart):
    """A document whose passages are cited and not shown: its title with file and day, and their numbers."""

    title: Title
    numbers: list[int]

    @classmethod
    def of(cls, passages: Iterable[tuple[int, Passage]]) -> list[Self]:
        """Those of passages with their numbers, each document once, in the order of its first passage."""
        numbers: dict[tuple[str, str], list[int]] = {}
        for number, passage in passages:
            numbers.setdefault(_document_of(passage), []).append(number)
        return [cls(title=title, numbers=of_document) for (_, title), of_document in numbers.items()]


class NumberedLesson(PromptPart):
    """A lesson as writers see it."""

    number: int
    content: LessonText


class PassageSize(PromptPart):
    """The tokens of a passage, by its number."""

    number: int
    tokens: int


class ShownResult(PromptPart):
    """An action and what it brought: passages shown whole, those listed for want of room, numbers of those above.

    `of_draft`: code looked for what a draft calls not found; `sizes`: of those shown whole, for who may hold them.
    """

    action: Annotated[str, outside("action")]
    of_draft: bool = False
    is_read: bool = False
    parts: list[int] = []
    passages: list[SourceDocument] = []
    sizes: list[PassageSize] = []
    listed: Annotated[str, outside("passages")] = ""
    known: list[int] = []
    total: int = 0
    problem: Text = ""


class ShownStep(PromptPart):
    """A past step as shown in the next prompt: its decisions and the results of its actions."""

    number: int
    thought: Text = ""
    held: list[int] = []
    given_up: list[int] = []
    results: list[ShownResult] = []


class ShownPart(PromptPart):
    """A part of the question, and how far a team is with it."""

    number: int
    text: Text
    state: PartState = "open"
    passages: list[int] = []
    missing: Text = ""
    notes: list[Text] = []


class MarkedPlace(PromptPart):
    """What code or a judge marks in a draft, and where."""

    place: str
    text: Text


class PartLength(PromptPart):
    """How long a part of a draft is as it is printed."""

    name: str
    words: int
    characters: int


class WantedLength(PromptPart):
    """About how long a text is to be."""

    words: int
    characters: int


class DraftSize(PromptPart):
    """How long a draft and its parts are; see `DraftLength` for its reader's limit."""

    draft_words: int
    draft_characters: int
    draft_parts: list[PartLength]
    reader_limit: int | None = None
    limit: int
    room_left: int
    is_full: bool = False


class ShownDraft(DraftSize):
    """A draft, and how long it is."""

    draft: DraftText


class GraphPrompt(PromptValues, WantedLength, prompt="graph/ask"):
    """All that a graph of somebody else's is asked for a round. `brief`: the round's, rendered."""

    brief: str
    stance: str = ""
    documents: list[Annotated[str, outside("file")]] = []
    best_report: SubmissionText = ""
    fixes: Feedback = ""


class _OnQuestion(PromptValues):
    theme: Text
    instructions: Instructions = ""
    brief: str = ""


class ResearcherHead(_OnQuestion, prompt="researcher/head"):
    """What all steps of a research begin with alike. `offered`: what other teams hold, by number."""

    catalogue: Annotated[str, outside("catalogue")] = ""
    more_documents: int = 0
    parts: list[Text]
    best_draft: DraftText = ""
    fixes: Annotated[str, outside("fixes")] = ""
    offered: Annotated[str, outside("passages")] = ""
    passages: list[SourceDocument] = []


class StepLog(PromptValues, prompt="researcher/log"):
    """The steps so far. New steps are appended, so that prompts share their beginning."""

    steps: list[ShownStep]


class StepPrompt(PromptValues, prompt="researcher/step"):
    """The next research step. `room`: tokens that may be held; `tokens`: tokens held now.

    `pinned`: what the report at hand rests on, which cannot be given up.
    """

    head: str
    log: str = ""
    number: int
    most: int
    parts: list[ShownPart]
    held: Annotated[str, outside("passages")] = ""
    tokens: int
    room: int
    pinned: list[int] = []
    beyond: list[int] = []
    rejected: Feedback = ""
    step_tokens: int
    sources: list[str]
    can_find: bool = False
    query_hints: list[str] = []
    stance: str = ""
    round_number: int = 1


class ResearchHead(_OnQuestion, prompt="research/head"):
    """The shared beginning of all calls of a round, which providers can cache: passages, then the question.

    `for_writers`: how a report is written, and the parts as the team has worked on them, follow; judges see neither.
    """

    for_writers: bool = True
    parts: list[ShownPart] = []
    passages: list[SourceDocument] = []


class _Writing(OnSharedHead):
    stance: str = ""
    bullets: list[NumberedLesson] = []


class ReportPrompt(_Writing, WantedLength, prompt="research/write"):
    """A first draft. `rejected`: why a person rejected what was planned for it."""

    rejected: Feedback = ""


class RevisePrompt(_Writing, ShownDraft, prompt="research/revise"):
    """What changes in a draft."""

    marks: list[MarkedPlace] = []
    fixes: Annotated[str, outside("fixes")] = ""
    new_passages: list[int] = []


class TeamReport(ShownDraft):
    """A team's best report under the editor's letter for it."""

    label: str
    feedback: Feedback = ""


class MendPrompt(OnSharedHead, prompt="research/mend"):
    """Statements that code has refuted, to be written anew."""

    statements: list[RefutedStatement]


class FixesPrompt(OnSharedHead, ShownDraft, prompt="research/review"):
    """What to mend in a draft. `nearest`: of all documents, for parts not answered; `looks`: how often to look yet.

    `uncited`: the numbers of passages at hand that the draft does not cite. `reports`: those that it was merged from.
    """

    uncited: list[int] = []
    reports: list[TeamReport] = []
    marks: list[MarkedPlace] = []
    nearest: list[SourceDocument] = []
    log: str = ""
    looks: int = 0
    sources: list[str] = []
    can_find: bool = False
    catalogue: Annotated[str, outside("catalogue")] = ""


class MergePrompt(OnSharedHead, WantedLength, prompt="research/merge"):
    """One report of the teams' best parts."""

    reports: list[TeamReport]
    log: str = ""
    looks: int = 0
    sources: list[str] = []
    can_find: bool = False
    catalogue: Annotated[str, outside("catalogue")] = ""


class InjectionPrompt(OnSharedHead, prompt="research/injection"):
    """Which passages speak to AI systems: those of the head with these numbers, or, without a head, `passages`."""

    head: str = ""
    passages: list[SourceDocument] = []
    numbers: list[int] = []


class StanceText(PromptValues, prompt="stance", template="stance/default"):
    """How a team goes about it. `sources`: those that its run uses."""

    sources: list[str]

    @classmethod
    def sample(cls, *, full: bool = True) -> Self:
        return cls(sources=["tavily", "arxiv", "local"] if full else ["local"])
