"""The state of one team over its rounds: JSON-plain, submissions by document id."""

import operator
from typing import Annotated, Any, NotRequired

from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from contend.clock import Reading
from contend.research.state import AskedTheme, Chat


class TeamInput(TypedDict, total=False):
    """What the contest sends; alone, a team needs only `theme` or `messages`."""

    theme: AskedTheme
    messages: Chat
    options: SkipJsonSchema[dict[str, Any]]
    team: SkipJsonSchema[dict[str, Any]]
    execution_id: SkipJsonSchema[str]
    bullets: SkipJsonSchema[list[dict[str, Any]]]
    """The lessons that the team is shown."""
    sources_off: SkipJsonSchema[dict[str, str]]
    earlier: SkipJsonSchema[str]
    """The thread's last report, in short."""
    criteria: SkipJsonSchema[list[dict[str, Any]]]
    """Judges read them; no prompt of the team does before it was judged by them."""
    parts: SkipJsonSchema[list[str]]
    """What the question asks for, part by part."""
    inherited: SkipJsonSchema[str | None]
    """The id of the passages behind the thread's last report."""


class TeamState(TeamInput, total=False):
    """What a team knows over its rounds."""

    asked: dict[str, str]
    """What a team on its own was opened for."""
    round_number: int
    round_started: str
    """When the round began, ISO 8601."""
    rounds: list[dict[str, Any]]
    """The rounds that were played, as `RunContext.keep_round` gives them."""
    history: list[dict[str, Any]]
    """Those before this round."""
    best_submission: str | None
    """The id of the best submission of those."""
    mends_only: bool
    """Whether this round only mends what judges named in it."""
    pool: str | None
    """The id of all that the team has found."""
    seen: dict[str, int]
    """Whose rounds the team saw when it began this one."""
    shared: str | None
    """The id of the passages that teams of finished rounds held when the round began."""
    leaderboard_seen: list[dict[str, Any]]
    """The ranking that the brief shows."""
    brief: str
    submission: str | None
    """Its id."""
    calls: list[dict[str, Any]]
    """What the calls of this round's research cost."""
    scores: Annotated[list[dict[str, Any]], operator.add]
    """The MetricResults of this round; emptied when it begins and ends."""
    decision: dict[str, Any]
    """A NextStep."""
    clock: Reading | None
    retries: int
    """How many rounds were played again."""
    problem: str
    """Why it ended before its rounds did."""


TeamUpdate = TeamState
"""A node's partial update: any of the state's keys."""


class MetricTask(TypedDict):
    """One sample of the metrics that one call judges: what `score_metric` is sent. It names no team and no ranking.

    `together`: the metrics are asked of a model in one call, with the run's `criteria` and the doubtful citations;
    `with_fixes`: somebody will follow what it says is to be mended, as where nothing is said.
    """

    metrics: list[str | dict[str, Any]]
    """By name; checkpoints of earlier releases have their settings."""
    together: bool
    with_fixes: NotRequired[bool]
    criteria: list[dict[str, Any]]
    sample: int
    submission: str
    theme: str
    execution_id: str
    team_id: str
    round_number: int
