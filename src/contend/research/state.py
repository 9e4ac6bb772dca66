"""The state of one round's research: JSON-plain, texts by id. Also what its parent passes in and gets back."""

import operator
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from contend.clock import Reading

NextAction = Literal["research", "write", "review", "end"]


# What Studio's forms show of a graph's input: the question. What a parent graph passes in is `SkipJsonSchema[…]`.
AskedTheme = Annotated[str, Field(description="The question to research, 1 to 8,000 characters.")]
Chat = Annotated[
    list[AnyMessage],
    Field(description="Instead of a theme: a chat. Its last human message is the question."),
    add_messages,
]

EMPTIED: Any = Overwrite([])
"""Empties a key that parallel branches add to."""


class ResearchInput(TypedDict, total=False):
    """What a research is asked. Alone: `theme` or `messages`; in a team: everything from `options` on, too.

    Alone, its outcome is a report and a message too; a team takes the submission's id.
    """

    theme: AskedTheme
    messages: Chat
    options: SkipJsonSchema[dict[str, Any]]
    team: SkipJsonSchema[dict[str, Any]]
    execution_id: SkipJsonSchema[str]
    round_number: SkipJsonSchema[int]
    brief: SkipJsonSchema[str]
    bullets: SkipJsonSchema[list[dict[str, Any]]]
    history: SkipJsonSchema[list[dict[str, Any]]]
    best_submission: SkipJsonSchema[str | None]
    pool: SkipJsonSchema[str | None]
    sources_off: SkipJsonSchema[dict[str, str]]
    clock: SkipJsonSchema[Reading | None]


class ResearchOutput(TypedDict, total=False):
    """`submission` is a document's id; `calls` what the round's model calls cost; `report` a ResearchReport.

    `messages`: alone, the question and one answer, the report in Markdown or why there is none.
    `clock`: the active seconds of run and team when they were last looked at.
    """

    submission: str | None
    calls: list[dict[str, Any]]
    pool: str | None
    sources_off: dict[str, str]
    clock: Reading | None
    report: dict[str, Any] | None
    messages: Chat


class WrittenSection(TypedDict):
    """A section as it was written, with the lessons used and the call's cost; `failure` says why there is none."""

    number: int
    section: dict[str, Any] | None
    bullets: list[str]
    usage: dict[str, Any] | None
    failure: str


class ResearchState(ResearchInput, ResearchOutput, total=False):
    """`found` and `failed` grow by parallel searches, `found` and `read` by pages read in parallel.

    `pool`: the id of all that the team has found; `passages`: those it works with, numbered from 1 in this order;
    `to_choose`: the ids of those that a model has yet to choose among; `written_from`: those that the draft was written
    from;
    `marks`: what a check found at a place of the draft; `gaps_searched`, `open_searched`: whether searches for gaps and
    for open statements were made; `nothing_new`: whether the last search found nothing for the draft.
    `unread`: the reason by address of each page that was to be read in full; `problem`: why an answer was not usable;
    `asked`: what a research on its own was opened for.
    """

    task_plan: dict[str, Any] | None
    research_data: list[dict[str, Any]]
    current_draft: str | None
    draft_report: dict[str, Any] | None
    feedback: str | None
    iteration_count: int
    next_action: NextAction
    human_input_required: bool
    human_input: str | None
    asked: dict[str, str]
    found: Annotated[list[dict[str, Any]], operator.add]
    failed: Annotated[list[dict[str, Any]], operator.add]
    read: Annotated[list[dict[str, str]], operator.add]
    unread: dict[str, str]
    passages: list[dict[str, Any]]
    to_choose: list[str]
    written_from: list[str]
    written_sections: Annotated[list[WrittenSection], operator.add]
    marks: list[dict[str, str]]
    more_queries: list[str]
    gaps_searched: bool
    open_searched: bool
    nothing_new: bool
    accepted: bool
    problem: str


class SearchTask(TypedDict):
    """One query to one source: what `search` is sent. `limit`: as many hits are taken."""

    query: str
    source: str
    limit: int
    execution_id: str
    team_id: str
    round_number: int


class PageTask(TypedDict):
    """One document to read in full: what `read_page` is sent. `places` by query; `summary` is a document's id."""

    result: dict[str, Any]
    summary: str
    places: dict[str, int]


class SectionTask(TypedDict):
    """One section of a long report: what `write_section` is sent.

    `research`: the id of the part of the state that it rests on, among the run's documents; a checkpoint keeps what
    each writer is sent.
    """

    number: int
    execution_id: str
    research: str


ResearchUpdate = ResearchState
"""A node's partial update: any of the state's keys."""


BEGUN: ResearchUpdate = {
    "messages": [],
    "task_plan": None,
    "research_data": [],
    "current_draft": None,
    "draft_report": None,
    "feedback": None,
    "iteration_count": 0,
    "next_action": "research",
    "human_input_required": False,
    "human_input": None,
}
"""A research that begins."""

FRESH: ResearchUpdate = {
    **BEGUN,
    "problem": "",
    "found": EMPTIED,
    "failed": EMPTIED,
    "read": EMPTIED,
    "pool": None,
    "unread": {},
    "passages": [],
    "to_choose": [],
    "written_from": [],
    "written_sections": EMPTIED,
    "marks": [],
    "more_queries": [],
    "gaps_searched": False,
    "open_searched": False,
    "nothing_new": False,
    "accepted": False,
    "submission": None,
    "report": None,
    "calls": [],
}
"""A research that begins on its own: nothing of one before it on the same thread stays."""


def latest_calls(state: Mapping[str, Any], usage: dict[str, Any]) -> list[dict[str, Any]]:
    """The round's calls with one more; a repeated call takes its own place."""
    return [*(call for call in state.get("calls", []) if call["call_key"] != usage["call_key"]), usage]
