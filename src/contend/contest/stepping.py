"""The depth `auto`: what follows once the teams that were sent have ended, and why.

One team plays first. Further teams play where it leaves open what they may bring; an editor merges the reports where
they differ in what they meet. `next_step` decides, by rules alone.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from langgraph.types import Command, Send
from pydantic import Field

from contend.contest.comparing import near_ties, route_to_pairs
from contend.contest.edit import FEWEST_REPORTS
from contend.contest.state import ContestState, ContestUpdate, ContestView, TeamOutcome
from contend.estimate import contest_tokens
from contend.evidence import with_texts
from contend.gains import GainStep, expected, gains_of
from contend.models.evaluation import Submission
from contend.models.events import StepChosen
from contend.models.options import ResolvedOptions, TeamConfig
from contend.models.record import Language, Record
from contend.models.research import Passage
from contend.models.round import best_round
from contend.services import Services
from contend.team.shortfall import Shortfall, shortfall_of
from contend.team.state import TeamInput
from contend.team.support import cited_statements
from contend.text import WORDS

AfterStep = Literal["team", "synthesize", "compare_pair", "pick_winner"]


class ContestStep(Record):
    """What follows: `publish` a team's report, `send` further teams (`teams`, by id), or `merge` the reports."""

    step: Literal["publish", "send", "merge"]
    reason: str
    teams: list[str] = Field(default_factory=list)


class Delivered(NamedTuple):
    """A team's best report: who wrote it, in which round, and what it leaves open."""

    team: str
    round_number: int
    shortfall: Shortfall


@dataclass(frozen=True)
class Situation:
    """What is known when all teams that were sent have ended.

    `delivered`: best first; `first`: the team that played alone, None once others were sent; `waiting`: the teams that
    have not played; `synthesis` None: whether an editor merges follows from the reports; `tokens`: what the run has
    used, `contest_tokens`: about what all teams would have.
    """

    language: Language
    delivered: Sequence[Delivered]
    first: TeamConfig | None
    waiting: Sequence[TeamConfig]
    sources: Sequence[str]
    synthesis: bool | None
    has_budget: bool = True
    reached_target: bool = False
    tokens: int = 0
    contest_tokens: int = 0

    @property
    def others(self) -> list[TeamConfig]:
        """The waiting teams that have other sources or models than the first, or go about it otherwise."""
        return [team for team in self.waiting if self.first and _approach(team) != _approach(self.first)]

    @property
    def others_have_other_sources(self) -> bool:
        own = set(self.first.sources if self.first else [])
        return any({*team.sources} & {*self.sources} - own for team in self.others)


def next_step(now: Situation) -> ContestStep:
    """After the first team, whether further ones play; after all of them, whether an editor merges their reports."""
    return _merge_or_publish(now) if now.first is None else _send_or_publish(now, now.first)


def _send_or_publish(now: Situation, first: TeamConfig) -> ContestStep:
    words = WORDS[now.language].steps
    if not now.delivered:
        return _instead(now, first)
    report, cost = now.delivered[0], _cost(now)
    round_number, shortfall = report.round_number, report.shortfall
    if now.reached_target:
        return ContestStep(step="publish", reason=words.no_contest_target.format(round=round_number) + cost)
    lacking = _lacking(now, shortfall)
    if not lacking:
        rest = shortfall.for_revision(now.language)
        text = words.no_contest if rest else words.no_contest_met
        reason = text.format(round=round_number, what=rest, criteria=len(shortfall.verdicts))
        return ContestStep(step="publish", reason=reason + cost)
    if not now.has_budget or not now.others:
        text = words.no_other_team if now.has_budget else words.no_budget
        return ContestStep(step="publish", reason=text.format(round=round_number, what=lacking))
    reason = words.send.format(round=round_number, what=lacking, teams=_names(now.others, now.language))
    return ContestStep(step="send", reason=reason, teams=[team.team_id for team in now.others])


def _instead(now: Situation, first: TeamConfig) -> ContestStep:
    """The first team forfeited without a report: any other may do better."""
    words = WORDS[now.language].steps
    if not now.waiting or not now.has_budget:
        return ContestStep(step="publish", reason=words.none_delivered)
    reason = words.send_instead.format(team=first.name, teams=_names(now.waiting, now.language))
    return ContestStep(step="send", reason=reason, teams=[team.team_id for team in now.waiting])


def _lacking(now: Situation, shortfall: Shortfall) -> str:
    """What a further team may bring; where nobody judged by criteria, nothing says that one report is enough."""
    if not shortfall.is_judged:
        return WORDS[now.language].steps.unjudged
    return shortfall.for_other_team(now.language, other_sources=now.others_have_other_sources)


def _merge_or_publish(now: Situation) -> ContestStep:
    words = WORDS[now.language].steps
    if len(now.delivered) < FEWEST_REPORTS:
        text = words.one_delivered if now.delivered else words.none_delivered
        return ContestStep(step="publish", reason=text.format(team=now.delivered[0].team if now.delivered else ""))
    if not now.has_budget:
        return ContestStep(step="publish", reason=words.no_budget_for_editor)
    if now.synthesis is not None:
        reason = words.merge_asked if now.synthesis else words.no_merge_asked
        return ContestStep(step="merge" if now.synthesis else "publish", reason=reason)
    if not all(each.shortfall.is_judged for each in now.delivered):
        return ContestStep(step="merge", reason=words.merge_unjudged)
    return _by_difference(now.language, *now.delivered)


def _by_difference(language: Language, best: Delivered, *others: Delivered) -> ContestStep:
    """An editor is worth its price where another report meets what the best one does not."""
    words = WORDS[language].steps
    gains = {each.team: each.shortfall.achieved - best.shortfall.achieved for each in others}
    names = WORDS[language].between.join(team for team, gain in gains.items() if gain)
    if not names:
        return ContestStep(step="publish", reason=words.alike.format(team=best.team))
    count = len(frozenset().union(*gains.values()))
    return ContestStep(step="merge", reason=words.merge.format(teams=names, team=best.team, count=count))


def _approach(team: TeamConfig) -> dict[str, object]:
    """What a team's report depends on."""
    return team.model_dump(exclude={"team_id", "name", "needs"})


def _names(teams: Sequence[TeamConfig], language: Language) -> str:
    return WORDS[language].between.join(team.name for team in teams)


def _cost(now: Situation) -> str:
    """What was spent, and what a contest would have cost; "" where that is not more."""
    if now.contest_tokens <= now.tokens:
        return ""
    return WORDS[now.language].steps.cost.format(tokens=f"{now.tokens:,}", contest=f"{now.contest_tokens:,}")


async def open_situation(services: Services, state: ContestState) -> Situation:
    """Where the contest stands, from its state, the submissions and the budget.

    Raises:
        StoreError: a submission cannot be read.
    """
    run, view = await services.run(state), ContestView(state)
    options, usage = run.options, run.ledger.usage
    teams = [TeamConfig.model_validate(team) for team in state["teams"]]
    ended = {each.team_id for each in view.outcomes}
    is_first = (options.begins_with_one or len(teams) == 1) and not state.get("steps")
    by_need = is_first and len(teams) > 1
    target, spent = options.judgment.target_score, usage.input_tokens + usage.output_tokens
    affords = not view.ended_budgets and run.ledger.remaining_share() >= options.judgment.budget_reserve
    delivered = []
    for each in view.mergeable:
        submission = await services.require_submission(each.document)
        delivered.append(_delivered(each, submission, await with_texts(services.documents, submission.passages)))
    return Situation(
        language=options.language,
        delivered=delivered,
        first=teams[0] if is_first else None,
        waiting=[team for team in teams if team.team_id not in ended] if is_first else [],
        sources=options.sources,
        synthesis=options.synthesis if "synthesis" in options.explicit else None,
        has_budget=affords,
        reached_target=target is not None and (view.best_score or 0.0) >= target,
        tokens=spent,
        contest_tokens=contest_tokens(options, teams, rounds=max(1, len(view.rounds)), spent=spent) if by_need else 0,
    )


def _delivered(outcome: TeamOutcome, submission: Submission, passages: Sequence[Passage]) -> Delivered:
    best = best_round(outcome.rounds)
    if best is None:
        raise ValueError(f"team {outcome.team_id} has delivered nothing")
    cited = cited_statements(submission.draft, passages).with_words(best.verdicts)
    contradicted = sum(each.contradicted for each in cited.weakest())
    shortfall = shortfall_of(best.metrics, submission.parts, contradicted=contradicted)
    return Delivered(outcome.team.name, best.round_number, shortfall)


@dataclass(frozen=True)
class SteppingNodes:
    """The node that chooses the next step. `after_teams`: where a contest goes on that needs no further team."""

    services: Services
    after_teams: Callable[[ContestState], Awaitable[list[Send] | Literal["synthesize", "pick_winner"]]]

    async def choose_step(self, state: ContestState) -> Command[AfterStep]:
        """Choose what follows; teams that are sent enter the contest here.

        One write says both what was chosen and where it leads: a run that is cancelled in between could not go on.
        """
        run, situation = await self.services.run(state), await open_situation(self.services, state)
        step = await self._with_gain(next_step(situation), situation)
        if step.teams:
            teams = [TeamConfig.model_validate(team) for team in state["teams"]]
            await run.enter_teams([team for team in teams if team.team_id in step.teams])
            await self.services.record.flush()
        self.services.tell(StepChosen(execution_id=run.execution_id, **step.model_dump()))
        update: ContestUpdate = {
            "near_ties": near_ties(ContestView(state), near_tie=run.options.evaluator.near_tie),
            "steps": [*state.get("steps", []), step.model_dump(mode="json")],
        }
        routes: dict[str, Callable[[ContestState], Awaitable[Sequence[Send] | AfterStep]]] = {
            "send": route_to_teams,
            "merge": self.after_teams,
            "publish": route_to_pairs,
        }
        return Command(update=dict(update), goto=await routes[step.step]({**state, **update}))

    async def _with_gain(self, step: ContestStep, now: Situation) -> ContestStep:
        """With what the step is expected to bring over the report at hand."""
        kinds: dict[str, GainStep] = {"send": "teams", "merge": "merge"}
        kind = kinds.get(step.step)
        if kind is None or not now.delivered:
            return step
        gain, words = expected(await gains_of(self.services.record), kind), WORDS[now.language].steps
        text = words.gain_shipped if gain.is_shipped else words.gain_here
        return step.model_copy(update={"reason": step.reason + text.format(points=gain.points, count=gain.times)})


async def route_after_team(state: TeamInput) -> Literal["choose_step", "find_near_ties"]:
    """With the depth `auto`, on to the choice of the next step. A search is the only team of its run."""
    options = state["options"]
    return "choose_step" if options.get("depth") == "auto" and options["models"] else "find_near_ties"


async def route_to_teams(state: ContestState) -> list[Send]:
    """The teams that play now, at the same time, each on its own clock."""
    keys = ("theme", "options", "execution_id", "sources_off", "earlier", "criteria", "parts", "inherited")
    common = {key: state.get(key) for key in keys}
    holdout = state.get("withheld") or {"team_id": "", "bullets": []}
    if steps := state.get("steps"):
        teams = [team for team in state["teams"] if team["team_id"] in steps[-1]["teams"]]
    else:
        begins_with_one = ResolvedOptions.model_validate(state["options"]).begins_with_one
        teams = state["teams"][:1] if begins_with_one else state["teams"]
    lessons = {holdout["team_id"]: [each for each in state["bullets"] if each["id"] not in holdout["bullets"]]}
    return [
        Send("team", {**common, "team": team, "bullets": lessons.get(team["team_id"], state["bullets"])})
        for team in teams
    ]
