"""A submission: what a team hands in for a round. It lives in the document store; state holds its id."""

from pydantic import Field

from contend.models.record import Record, Text
from contend.models.research import Draft, Passage, ResearchReport, SearchResult


class Submission(Record):
    """`content` is the Markdown that is scored and shown; `results` is all that was retrieved for it.

    `unread`: the reason by address for each page of which only the summary was read. `speaking`: the address of each
    document found that holds text addressed to AI systems, with the signals by which it is known.
    `missing`: the reason by reference for each that a graph of somebody else's cites and that was not retrieved.
    `found_by`: the search that found a cited passage best, by the passage's id.
    """

    content: Text
    report: ResearchReport
    draft: Draft
    passages: list[Passage] = Field(default_factory=list)
    results: list[SearchResult] = Field(default_factory=list)
    points: list[str] = Field(default_factory=list)
    queries: list[str] = Field(default_factory=list)
    feedback: str = ""
    unread: dict[str, str] = Field(default_factory=dict)
    speaking: dict[str, list[str]] = Field(default_factory=dict)
    missing: dict[str, str] = Field(default_factory=dict)
    found_by: dict[str, str] = Field(default_factory=dict)
