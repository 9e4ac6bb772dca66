"""A near tie for the win: the team with the best score is compared with each one near it, in both orders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import mean
from typing import Any, Literal

from langgraph.errors import NodeError
from langgraph.types import Command, Send
from typing_extensions import TypedDict

from contend.contest.outcomes import BUDGETS, TeamOutcome, in_the_running, outcomes_of
from contend.contest.state import ContestState, ContestUpdate
from contend.errors import BudgetExhausted, Limit
from contend.estimate import MOST_COMPARED
from contend.langgraph_compat import cause
from contend.llm import Scope
from contend.models.evaluation import Criterion
from contend.models.judging_replies import PairwiseReply
from contend.models.options import ResolvedOptions
from contend.models.record import Identifier, Record
from contend.models.task import CallUsage
from contend.services import Services
from contend.team.metrics import numbered_criteria, pair_view

Choice = Literal["first", "second", "tie"]


class CompareTask(TypedDict):
    """One pair in one order: what `compare_pair` is sent. The submissions by document id; no scores, no names."""

    first: str
    second: str
    submissions: dict[str, str]
    theme: str
    criteria: list[dict[str, Any]]
    execution_id: str


class Comparison(Record):
    """What a judge chose between two teams' submissions, shown in this order.

    `failure` says why it chose nothing, `limit` names the budget that refused the call.
    """

    first: Identifier
    second: Identifier
    choice: Choice
    usage: CallUsage | None = None
    failure: str = ""
    limit: Limit | None = None

    @property
    def better(self) -> str | None:
        return {"first": self.first, "second": self.second}.get(self.choice)


@dataclass(frozen=True)
class ComparingNodes:
    """From the teams' outcomes to the judges' choices between those at the top."""

    services: Services

    async def find_near_ties(self, state: ContestState) -> ContestUpdate:
        """The teams whose scores are too near to each other to decide who wins; none where no model can compare."""
        options = (await self.services.run(state)).options
        return {"near_ties": near_ties(outcomes_of(state), options)}

    async def compare_pair(self, task: CompareTask) -> ContestUpdate:
        """Ask which of two submissions is better."""
        return {"comparisons": [await comparison_of(self.services, task)]}

    async def not_compared(self, task: CompareTask, error: NodeError) -> Command[Literal["pick_winner"]]:
        # A failed node's edges are not followed: without this, comparisons that all fail would end the graph silently.
        return Command(update={"comparisons": [failed_comparison(task, error)]}, goto="pick_winner")


async def comparison_of(services: Services, task: CompareTask) -> dict[str, Any]:
    """Which of two submissions a judge prefers, shown in this order: a Comparison, as states hold it.

    Raises:
        ModelError: the judge's model failed.
    """
    run = await services.run(task)
    documents = [task["submissions"][task[place]] for place in ("first", "second")]
    submissions = [await services.require_submission(document) for document in documents]
    profile = run.profile("evaluator")
    view = await pair_view(services, *submissions, tokens=profile.disputed_tokens)
    answer = await run.model("evaluator").structured(
        view.prompt(
            user_query=task["theme"],
            instructions=run.options.instructions,
            criteria=numbered_criteria(
                [Criterion.model_validate(each) for each in task["criteria"]], with_weights=True
            ),
        ),
        PairwiseReply,
        scope=Scope(
            execution_id=task["execution_id"],
            role="evaluator",
            language=run.options.language,
            step=f"{task['first']}>{task['second']}",
        ),
    )
    comparison = Comparison(first=task["first"], second=task["second"], choice=answer.value.choice, usage=answer.usage)
    return comparison.model_dump(mode="json")


def failed_comparison(task: CompareTask, error: NodeError) -> dict[str, Any]:
    """A comparison that fails decides nothing."""
    why = cause(error)
    limit = why.limit if isinstance(why, BudgetExhausted) else None
    comparison = Comparison(first=task["first"], second=task["second"], choice="tie", failure=str(why), limit=limit)
    return comparison.model_dump(mode="json")


def compare_tasks(state: ContestState, documents: Mapping[str, str]) -> list[CompareTask]:
    """Two submissions by name, in both orders."""
    return [
        CompareTask(
            first=first,
            second=second,
            submissions=dict(documents),
            theme=state["theme"],
            criteria=state.get("criteria", []),
            execution_id=state["execution_id"],
        )
        for first, second in permutations(documents)
    ]


def near_ties(outcomes: Sequence[TeamOutcome], options: ResolvedOptions) -> list[str]:
    """The ids of the teams within `near_tie` of the best score of those that may win; [] if that is only one.

    Nobody is compared without a language model as judge, or after a budget has ended.
    """
    if any(outcome.exit_reason in BUDGETS for outcome in outcomes):
        return []
    order = [outcome for outcome in in_the_running(outcomes) if outcome.may_win and outcome.score is not None]
    best = max((outcome.score or 0.0 for outcome in order), default=0.0)
    tolerance = options.evaluator.near_tie + 1e-9
    near = [outcome.team.team_id for outcome in order if best - (outcome.score or 0.0) <= tolerance]
    return near[:MOST_COMPARED] if len(near) > 1 else []


def pairwise_keys(comparisons: Sequence[Comparison]) -> dict[str, float]:
    """Each team's share of its pairs that it won, 0.0 to 1.0; {} where no pair was decided.

    A team wins a pair if it was chosen in both orders; anything else is a tie and counts half for both.
    """
    better = {(each.first, each.second): each.better for each in comparisons}
    winners = {
        (a, b): better.get((a, b)) if better.get((a, b)) == better.get((b, a)) else None
        for pair in better
        for a, b in permutations(pair)
    }
    if not any(winners.values()):
        return {}
    points: dict[str, list[float]] = {}
    for (team, _), winner in sorted(winners.items()):
        points.setdefault(team, []).append(0.5 if winner is None else float(winner == team))
    return {team: mean(own) for team, own in points.items()}


async def route_to_pairs(state: ContestState) -> list[Send] | Literal["pick_winner"]:
    """The team with the best score and each one near it, in both orders, all at the same time.

    Who of the others is better than whom decides no win.
    """
    documents = {outcome.team.team_id: outcome.document or "" for outcome in outcomes_of(state)}
    near = state["near_ties"]
    pairs = [{team: documents[team] for team in (near[0], rival)} for rival in near[1:]]
    sends = [Send("compare_pair", task) for pair in pairs for task in compare_tasks(state, pair)]
    # A router that returns no Send at all ends the graph silently.
    return sends or "pick_winner"


def comparisons_of(state: ContestState) -> list[Comparison]:
    """What was compared, in a fixed order, whichever judge answered first."""
    comparisons = [Comparison.model_validate(each) for each in state.get("comparisons", [])]
    return sorted(comparisons, key=lambda each: (each.first, each.second))
