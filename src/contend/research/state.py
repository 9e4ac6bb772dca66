"""The state of one round's research: JSON-plain, texts by id. Also what its parent passes in and gets back."""

import operator
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

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

EMPTY_LIST: Any = Overwrite([])
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
    """The lessons that the team is shown."""
    history: SkipJsonSchema[list[dict[str, Any]]]
    """The rounds before this one, as `RunContext.keep_round` gives them."""
    best_submission: SkipJsonSchema[str | None]
    """The id of the best submission of those rounds."""
    pool: SkipJsonSchema[str | None]
    """The id of all that the team has found, in this round and before."""
    sources_off: SkipJsonSchema[dict[str, str]]
    """The reason by name of each source that failed."""
    clock: SkipJsonSchema[Reading | None]
    """The active seconds of run and team when they were last looked at."""


class ResearchOutput(TypedDict, total=False):
    """What a research gives back."""

    submission: str | None
    """The document's id."""
    calls: list[dict[str, Any]]
    """What the round's model calls cost."""
    pool: str | None
    sources_off: dict[str, str]
    clock: Reading | None
    report: dict[str, Any] | None
    """A ResearchReport; of a research on its own."""
    messages: Chat
    """Alone, the question and one answer: the report in Markdown, or why there is none."""


class WrittenSection(TypedDict):
    """A section of a long report as it was written."""

    number: int
    section: dict[str, Any] | None
    bullets: list[str]
    """The lessons that were used."""
    usage: dict[str, Any] | None
    """The call's cost."""
    failure: str
    """Why there is no section."""


class ResearchState(ResearchInput, ResearchOutput, total=False):
    """What the nodes of a round know. What `Annotated` says grows by branches in parallel."""

    task_plan: dict[str, Any] | None
    """A ResearchPlan."""
    research_data: list[dict[str, Any]]
    """The documents of the passages at work, and the first of the others; titles stand for summaries."""
    current_draft: str | None
    """The draft as Markdown."""
    draft_report: dict[str, Any] | None
    """The draft as structure: a Draft."""
    feedback: str | None
    """What the reviewer wants mended; None before a review."""
    iteration_count: int
    """How often the work went to research or to the writer."""
    next_action: NextAction
    human_input_required: bool
    human_input: str | None
    """A person's decision on the plan, as JSON."""
    asked: dict[str, str]
    """What a research on its own was opened for."""
    found: Annotated[list[dict[str, Any]], operator.add]
    """What searches found, and what pages in full say, until it joins the pool."""
    failed: Annotated[list[dict[str, Any]], operator.add]
    """The sources that failed meanwhile, with the reason."""
    read: Annotated[list[dict[str, str]], operator.add]
    """The pages that were to be read in full meanwhile; `problem` says why one was not."""
    passages: list[dict[str, Any]]
    """Those that the team works with, numbered from 1 in this order; without their texts."""
    to_choose: list[str]
    """The ids of those that a model has yet to choose among."""
    written_from: list[str]
    """The ids of those that the draft was written from."""
    written_sections: Annotated[list[WrittenSection], operator.add]
    marks: list[dict[str, str]]
    """What a check found at a place of the draft."""
    more_queries: list[str]
    """What to search for next, in place of the plan's queries."""
    gaps_searched: bool
    """Whether gaps that the choice left were searched for, since the last draft."""
    open_searched: bool
    """Whether the draft's open statements were searched for."""
    nothing_new: bool
    """Whether the last search found nothing for the draft."""
    accepted: bool
    """Whether the reviewer took the draft."""
    problem: str
    """Why a person's answer was not usable."""


class TeamRound(TypedDict):
    """What tells one team's round from every other."""

    execution_id: str
    team_id: str
    round_number: int


class SearchTask(TeamRound):
    """One query to one source: what `search` is sent."""

    query: str
    source: str
    limit: int
    """As many hits are taken."""


class PageTask(TypedDict):
    """One document to read in full: what `read_page` is sent."""

    result: dict[str, Any]
    summary: str
    """The id of the search's text on it."""
    places: dict[str, int]
    """Its place in the answer to each query."""


class SectionTask(TypedDict):
    """One section of a long report: what `write_section` is sent."""

    number: int
    execution_id: str
    research: str
    """The id of the part of the state that it rests on: a checkpoint keeps what each writer is sent."""


ResearchUpdate = ResearchState
"""A node's partial update: any of the state's keys."""


AT_BEGIN: ResearchUpdate = {
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

_ADDED_TO = ("found", "failed", "read", "written_sections")
_LISTS = ("passages", "to_choose", "written_from", "marks", "more_queries", "calls")
_FLAGS = ("gaps_searched", "open_searched", "nothing_new", "accepted")
_NONE = ("pool", "submission", "report")
_EMPTY_KEYS = {**dict.fromkeys(_ADDED_TO, EMPTY_LIST), **{key: [] for key in _LISTS}, **dict.fromkeys(_FLAGS, False)}

FRESH = cast("ResearchUpdate", {**AT_BEGIN, "problem": "", **_EMPTY_KEYS, **dict.fromkeys(_NONE)})
"""A research that begins on its own: nothing of one before it on the same thread stays."""


def latest_calls(state: Mapping[str, Any], usage: dict[str, Any]) -> list[dict[str, Any]]:
    """The round's calls with one more; a repeated call takes its own place."""
    return [*(call for call in state.get("calls", []) if call["call_key"] != usage["call_key"]), usage]
