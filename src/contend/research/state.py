"""The state of one round's research: JSON-plain, texts by id. Also what its parent passes in and gets back."""

import operator
from typing import Annotated, Any, Literal, cast

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from contend.clock import Reading
from contend.evidence import Action, Brought, Step

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
    mends_only: SkipJsonSchema[bool]
    """Whether the round only mends what judges named in it."""
    pool: SkipJsonSchema[str | None]
    """The id of all that the team has found, in this round and before."""
    parts: SkipJsonSchema[list[str]]
    """What the question asks for, as all teams see it."""
    shared: SkipJsonSchema[str | None]
    """The id of the passages that teams of finished rounds hold, frozen when the round began."""
    seen: SkipJsonSchema[dict[str, int]]
    """Whose rounds those are."""
    inherited: SkipJsonSchema[str | None]
    """The id of the passages behind the thread's last report, which a follow-up question begins with."""
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


class ResearchState(ResearchInput, ResearchOutput, total=False):
    """What the nodes of a round know. What `Annotated` says grows by branches in parallel."""

    task_plan: dict[str, Any] | None
    """A ResearchPlan."""
    research_data: list[dict[str, Any]]
    """The documents of the passages held, and the first of the others; titles stand for summaries."""
    current_draft: str | None
    """The draft as Markdown."""
    draft_report: dict[str, Any] | None
    """The draft as structure: a Draft."""
    feedback: str | None
    """What the reviewer wants mended; None before a review."""
    iteration_count: int
    """How many drafts of this round were written."""
    next_action: NextAction
    human_input_required: bool
    human_input: str | None
    """A person's decision on the plan, as JSON."""
    asked: dict[str, str]
    """What a research on its own was opened for."""
    steps: int
    """The researcher's steps in this round."""
    actions: list[Action]
    """What is to be done in the sources next."""
    brought: Annotated[list[Brought], operator.add]
    """What actions brought, until it joins the pool."""
    failed: Annotated[list[dict[str, Any]], operator.add]
    """The sources that failed meanwhile, with the reason."""
    beyond: list[str]
    """The ids of passages that were to be held and found no room."""
    passages: list[str]
    """The ids of those that drafts are written from, numbered from 1 in this order."""
    written_from: list[str]
    """The ids of those that the draft was written from."""
    marks: list[dict[str, str]]
    """What code refutes of the draft, by place."""
    mended: int
    """The number of the draft whose refuted statements were written anew."""
    looks: int
    """How often the reviewer of the draft at hand looked into the sources."""
    looked: list[Step]
    """What was looked up for the draft at hand, by its reviewer or by code."""
    tried: list[str]
    """What drafts of this round call not found, and code has searched for, by its key words."""
    accepted: bool
    """Whether the reviewer took the draft."""
    problem: str
    """Why a person's answer was not usable."""


class TeamRound(TypedDict):
    """What tells one team's round from every other."""

    execution_id: str
    team_id: str
    round_number: int


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
    "steps": 0,
    "looks": 0,
    "mended": 0,
}
"""A research that begins."""

_ADDED_TO = ("brought", "failed")
_LISTS = ("actions", "beyond", "passages", "written_from", "looked", "tried", "marks", "calls", "parts")
_NONE = ("pool", "submission", "report", "shared", "inherited")
_EMPTY_KEYS = {**dict.fromkeys(_ADDED_TO, EMPTY_LIST), **{key: [] for key in _LISTS}, "seen": {}, "accepted": False}

FRESH = cast("ResearchUpdate", {**AT_BEGIN, "problem": "", "mends_only": False, **_EMPTY_KEYS, **dict.fromkeys(_NONE)})
"""A research that begins on its own: nothing of one before it on the same thread stays."""
