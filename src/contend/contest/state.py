"""The state of a contest: JSON-plain. Options live in it, so that a resume needs none."""

import operator
from typing import Annotated, Any

from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from contend.models.options import RunOptions
from contend.models.task import RunStatus
from contend.research.state import AskedTheme, Chat


class ContestInput(TypedDict, total=False):
    """A theme, or a chat whose last human message is the theme."""

    theme: AskedTheme
    messages: Chat
    # The RunOptions that an entry point was given; `open_run` takes them. So a run that was cut off before it was
    # opened keeps them, while LangGraph forgets a run's context.
    run_options: SkipJsonSchema[dict[str, Any] | None]


class ContestOutput(TypedDict, total=False):
    """What a run gives.

    The last message is the report in Markdown, or says why there is none.
    """

    status: RunStatus
    message: str
    report: dict[str, Any] | None
    """A ResearchReport."""
    summary: dict[str, Any] | None
    """An ExecutionSummary with what each team's best submission comes to."""
    files: list[str]
    messages: Chat


class ContestState(ContestInput, ContestOutput, total=False):
    """What the contest's nodes know.

    Of an earlier run on the thread, `messages` and `earlier` alone live on: the chat, and what the thread's last report
    said.
    """

    asked: dict[str, str]
    """What the run was opened for."""
    earlier: str
    given: dict[str, Any]
    """The RunOptions that the caller set."""
    options: dict[str, Any]
    """The ResolvedOptions of the run."""
    task: dict[str, Any]
    """An OrchestratorTask."""
    execution_id: str
    fingerprint: dict[str, str]
    """What a resume compares: each config file in effect, and all prompts together."""
    teams: list[dict[str, Any]]
    """The TeamConfigs that enter."""
    sources_off: dict[str, str]
    warnings: list[str]
    bullets: list[dict[str, Any]]
    """The lessons of the run."""
    withheld: dict[str, Any] | None
    """Which of them one team goes without."""
    criteria: list[dict[str, Any]]
    """For judges alone."""
    criteria_call: dict[str, Any] | None
    """What they cost."""
    criteria_failure: str
    """Why there are none where there should be."""
    outcomes: Annotated[list[dict[str, Any]], operator.add]
    """A TeamOutcome of each team that ended; emptied by `open_run`."""
    near_ties: list[str]
    """The teams too near to the best score to decide who wins, best first."""
    comparisons: Annotated[list[dict[str, Any]], operator.add]
    """The Comparisons of those, pair by pair."""
    pairwise: dict[str, float]
    """Each compared team's share of its pairs that it won."""
    winner: str | None
    submission: str | None
    """The id of what will be published."""
    editing: dict[str, Any] | None
    """An Editing."""
    merged_scores: Annotated[list[dict[str, Any]], operator.add]
    """The MetricResults of the merged report."""
    merged_comparisons: Annotated[list[dict[str, Any]], operator.add]
    """Its Comparisons with the best team's."""
    problem: str
    """Why a person's answer was not usable."""
    notes: list[str]
    """What keeps the run from being complete, a line each."""
    lessons: dict[str, Any] | None
    """What learning gave."""


ContestUpdate = ContestState
"""A node's partial update: any of the state's keys."""


def input_options(options: RunOptions | None) -> dict[str, Any]:
    """What an entry point puts into the input as `run_options`."""
    return (options or RunOptions()).model_dump(mode="json", exclude_none=True)
