"""The state of a contest, JSON-plain, and what it says. Options live in it, so that a resume needs none."""

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from contend.errors import Limit
from contend.evidence import Action, Brought, Step
from contend.models.options import RunOptions, TeamConfig
from contend.models.record import Identifier, ReloadedRecord, Score
from contend.models.round import ExitReason, LeaderboardEntry, Round, best_round, rank_entries
from contend.models.task import Publication, ReportOrigin, RunStatus, TeamStatus
from contend.registry import team_kind
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
    last_submission: str | None
    """The id of the submission behind the thread's last report."""
    inherited: str | None
    """The id of the passages that it rests on."""
    parts: list[str]
    """What the question asks for, for teams and judges."""
    criteria: list[dict[str, Any]]
    """For judges alone."""
    criteria_failure: str
    """Why there are none where there should be."""
    outcomes: Annotated[list[dict[str, Any]], operator.add]
    """A TeamOutcome of each team that ended; emptied by `open_run`."""
    steps: list[dict[str, Any]]
    """The ContestSteps that the depth `auto` chose."""
    editor_actions: list[Action]
    """What the editor wants looked up."""
    editor_brought: Annotated[list[Brought], operator.add]
    """What that brought, until it joins the evidence."""
    editor_looked: list[Step]
    editor_looks: int
    review_looks: int
    """How often the reviewer of the merged report looked things up."""
    merged_fixes: str
    """What it wants mended."""
    editor_pool: str | None
    """The id of the evidence of all teams, with what the editor looked up."""
    near_ties: list[str]
    """The best team and those too near to its score to decide who wins, best first."""
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
    """Why a person's answer was not usable, or what its revision left out."""
    comment: str
    """What a person wanted mended in the report."""
    revision: Literal["", "asked", "done", "failed"]
    """What became of it."""
    notes: list[str]
    """What keeps the run from being complete, a line each."""
    lessons: dict[str, Any] | None
    """What learning gave."""


ContestUpdate = ContestState
"""A node's partial update: any of the state's keys."""


def input_options(options: RunOptions | None) -> dict[str, Any]:
    """What an entry point puts into the input as `run_options`."""
    return (options or RunOptions()).model_dump(mode="json", exclude_none=True)


class TeamOutcome(ReloadedRecord):
    """One team at its end: status, finished rounds, and why it stopped."""

    # What calls cost is in the record alone; checkpoints of earlier releases have it here and below, too.
    former_fields: ClassVar[frozenset[str]] = frozenset({"spent"})
    team: TeamConfig
    status: TeamStatus
    rounds: list[Round] = Field(default_factory=list)
    exit_reason: ExitReason | None = None
    sources_off: dict[str, str] = Field(default_factory=dict)
    pairwise_key: float | None = None

    @property
    def team_id(self) -> str:
        return self.team.team_id

    @property
    def may_win(self) -> bool:
        return team_kind(self.team.kind).may_win

    @property
    def best(self) -> Round | None:
        return best_round(self.rounds)

    @property
    def score(self) -> float | None:
        return self.best.score if self.best else None

    @property
    def document(self) -> str | None:
        """The id of the best submission."""
        return self.best.submission if self.best else None

    @property
    def feedback(self) -> str:
        """What judges said of it."""
        return self.best.feedback if self.best else ""

    @property
    def seconds(self) -> float:
        return sum(each.seconds for each in self.rounds)


class Comparison(ReloadedRecord):
    """What a judge chose between two teams' submissions, shown in this order.

    `failure` says why it chose nothing, `limit` names the budget that refused the call.
    """

    former_fields: ClassVar[frozenset[str]] = frozenset({"usage"})
    first: Identifier
    second: Identifier
    choice: Literal["first", "second", "tie"]
    failure: str = ""
    limit: Limit | None = None

    @property
    def better(self) -> str | None:
        return {"first": self.first, "second": self.second}.get(self.choice)


class Editing(ReloadedRecord):
    """What came of the editor."""

    former_fields: ClassVar[frozenset[str]] = frozenset({"calls"})
    document: str | None = None
    """The merged submission's id."""
    reports: int = 0
    """How many were merged."""
    taken: dict[str, str] = Field(default_factory=dict)
    """What it took of each team's report."""
    score: Score | None = None
    """None: nobody could score it."""
    published: bool | None = None
    """None: not decided yet."""
    failure: str = ""


@dataclass(frozen=True)
class ContestView:
    """What a contest's state says, each part read once."""

    state: ContestState

    @cached_property
    def outcomes(self) -> list[TeamOutcome]:
        """In the order in which the teams were entered, whichever ended first."""
        by_team = {each["team"]["team_id"]: TeamOutcome.model_validate(each) for each in self.state["outcomes"]}
        keys, names = self.state.get("pairwise", {}), [team["team_id"] for team in self.state["teams"]]
        return [by_team[name].model_copy(update={"pairwise_key": keys.get(name)}) for name in names if name in by_team]

    @cached_property
    def standings(self) -> list[LeaderboardEntry]:
        return rank_entries(
            LeaderboardEntry.of(
                each.team_id, each.team.name, {one.round_number: one.score for one in each.rounds}, each.pairwise_key
            )
            for each in self.outcomes
        )

    @property
    def in_the_running(self) -> list[TeamOutcome]:
        """The teams with a submission, in rank order."""
        by_id = {outcome.team_id: outcome for outcome in self.outcomes}
        return [by_id[entry.team_id] for entry in self.standings if entry.rank is not None]

    @property
    def winner(self) -> TeamOutcome | None:
        return next(iter(self.in_the_running), None)

    @property
    def mergeable(self) -> list[TeamOutcome]:
        """The teams whose reports an editor may merge, best first."""
        return [each for each in self.in_the_running if each.may_win]

    @property
    def best_score(self) -> Score | None:
        """What a merged report is held to: in a near tie the team that judges prefer may have scored less."""
        return max((each.score for each in self.mergeable if each.score is not None), default=None)

    def publication(self, document: str | None) -> Publication:
        """The author of a submission to publish, and its score unless somebody edited it."""
        if document is None or self.winner is None:
            return Publication()
        origin: ReportOrigin = "editor" if self.editing.published else "team"
        scored = self.editing if self.editing.published else self.winner
        return Publication(published=origin, published_score=scored.score if document == scored.document else None)

    @property
    def rounds(self) -> list[Round]:
        return [each for outcome in self.outcomes for each in outcome.rounds]

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """What was compared, in a fixed order, whichever judge answered first."""
        comparisons = [Comparison.model_validate(each) for each in self.state.get("comparisons", [])]
        return sorted(comparisons, key=lambda each: (each.first, each.second))

    @cached_property
    def editing(self) -> Editing:
        return Editing.model_validate(self.state.get("editing") or {})

    @property
    def ended_budgets(self) -> list[str]:
        """The hard budgets that ended a team or refused a comparison."""
        reasons = {*(each.exit_reason for each in self.outcomes), *(each.limit for each in self.comparisons)}
        return sorted(limit for limit in get_args(Limit) if limit in reasons)

    @property
    def seconds(self) -> float:
        """Teams run at the same time: as long as the longest of them, and after it the longest of further ones."""
        later = {team for step in self.state.get("steps", []) for team in step["teams"]}
        first = max((each.seconds for each in self.outcomes if each.team_id not in later), default=0.0)
        return first + max((each.seconds for each in self.outcomes if each.team_id in later), default=0.0)
