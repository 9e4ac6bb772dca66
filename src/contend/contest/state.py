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
    """`report` is a ResearchReport, `summary` an ExecutionSummary with what each team's best submission comes to.

    The last message is the report in Markdown, or says why there is none.
    """

    status: RunStatus
    message: str
    report: dict[str, Any] | None
    summary: dict[str, Any] | None
    files: list[str]
    messages: Chat


class ContestState(ContestInput, ContestOutput, total=False):
    """`outcomes` grows by parallel teams and is emptied by `open_run`; `submission` is what will be published.

    Of an earlier run on the thread, `messages` and `earlier` alone live on: the chat, and what the thread's last report
    said. `asked` is what the run was opened for. `editing` is an Editing; `merged_scores` and `merged_comparisons` grow
    by what judges find of the merged report. `criteria` are for judges; `criteria_call` is what they cost,
    `criteria_failure` says why there are none where there should be.
    """

    asked: dict[str, str]
    earlier: str
    given: dict[str, Any]
    options: dict[str, Any]
    task: dict[str, Any]
    execution_id: str
    fingerprint: dict[str, str]
    teams: list[dict[str, Any]]
    sources_off: dict[str, str]
    warnings: list[str]
    bullets: list[dict[str, Any]]
    withheld: dict[str, Any] | None
    criteria: list[dict[str, Any]]
    criteria_call: dict[str, Any] | None
    criteria_failure: str
    outcomes: Annotated[list[dict[str, Any]], operator.add]
    near_ties: list[str]
    comparisons: Annotated[list[dict[str, Any]], operator.add]
    pairwise: dict[str, float]
    winner: str | None
    submission: str | None
    editing: dict[str, Any] | None
    merged_scores: Annotated[list[dict[str, Any]], operator.add]
    merged_comparisons: Annotated[list[dict[str, Any]], operator.add]
    problem: str
    notes: list[str]
    lessons: dict[str, Any] | None


ContestUpdate = ContestState
"""A node's partial update: any of the state's keys."""


def input_options(options: RunOptions | None) -> dict[str, Any]:
    """What an entry point puts into the input as `run_options`."""
    return (options or RunOptions()).model_dump(mode="json", exclude_none=True)
