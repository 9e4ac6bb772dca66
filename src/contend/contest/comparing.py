"""Two reports side by side: which is better, asked in both orders.

In a near tie the team with the best score is compared with each one near it; the merged report is compared with the
best team's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import mean
from typing import Any, Literal

from langgraph.errors import NodeError
from langgraph.types import Command, Send
from typing_extensions import TypedDict

from contend.contest.edit import with_all_texts
from contend.contest.state import Comparison, ContestState, ContestUpdate, ContestView
from contend.criteria import numbered_criteria
from contend.errors import BudgetExhausted
from contend.estimate import MOST_COMPARED_TEAMS
from contend.evidence.pool import numbers_of
from contend.langgraph_compat import cause
from contend.models.evaluation import Criterion, PairwiseReply, Submission
from contend.models.research import CitedSentence, Draft, Passage
from contend.prompts.judging import ComparePrompt
from contend.prompts.research import NamedDocument, SourceDocument
from contend.services import Services
from contend.team.judge_view import UNKNOWN_SOURCE, fitting_passages, whole_text
from contend.text import bare_text
from contend.writing import shown_draft


class CompareTask(TypedDict):
    """One pair in one order: what `compare` is sent. The submissions by document id; no scores, no names."""

    first: str
    second: str
    submissions: dict[str, str]
    theme: str
    criteria: list[dict[str, Any]]
    execution_id: str


@dataclass(frozen=True)
class ComparingNodes:
    """From two submissions to a judge's choice: the state keeps comparisons under `key`, and it goes on at `join`."""

    services: Services
    key: str = "comparisons"
    join: str = "pick_winner"

    async def find_near_ties(self, state: ContestState) -> ContestUpdate:
        """The teams whose best scores are nearly equal."""
        evaluator = (await self.services.run(state)).options.evaluator
        return {"near_ties": near_ties(ContestView(state), near_tie=evaluator.near_tie)}

    async def compare(self, task: CompareTask) -> dict[str, Any]:
        """Ask which of two submissions is better, shown in this order.

        Raises:
            ModelError: the judge's model failed.
        """
        run = await self.services.run(task)
        documents = [task["submissions"][task[place]] for place in ("first", "second")]
        first, second = [await self.services.require_submission(document) for document in documents]
        prompt = compare_prompt(
            first,
            second,
            await with_all_texts(self.services.documents, [first, second]),
            tokens=run.profile("evaluator").disputed_tokens,
            user_query=task["theme"],
            instructions=run.options.instructions,
            criteria=numbered_criteria(
                [*map(Criterion.model_validate, task["criteria"])], run.options.language, with_weights=True
            ),
        )
        scope = run.scope("evaluator", step=f"{task['first']}>{task['second']}")
        answer = await run.model("evaluator").ask(prompt, PairwiseReply, scope=scope)
        await run.keep_calls([answer.usage])
        return self._update(task, choice=answer.value.choice)

    async def count_as_tie(self, task: CompareTask, error: NodeError) -> Command[Any]:
        """A comparison that fails decides nothing."""
        why = cause(error)
        limit = why.limit if isinstance(why, BudgetExhausted) else None
        # A failed node's edges are not followed: without this, comparisons that all fail would end the graph silently.
        return Command(update=self._update(task, choice="tie", failure=str(why), limit=limit), goto=self.join)

    def _update(self, task: CompareTask, **outcome: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a Comparison
        comparison = Comparison(first=task["first"], second=task["second"], **outcome)
        return {self.key: [comparison.model_dump(mode="json")]}


def near_ties(view: ContestView, *, near_tie: float) -> list[str]:
    """The teams within `near_tie` of the best score of those that may win, best first.

    Nobody is compared without a language model as judge, or after a budget has ended.
    """
    scores = {each.team_id: each.score for each in view.in_the_running if each.may_win and each.score is not None}
    least = max(scores.values(), default=0.0) - near_tie - 1e-9
    near = [team for team, score in scores.items() if score >= least]
    return [] if view.ended_budgets else near[:MOST_COMPARED_TEAMS]


def compare_tasks(
    pairs: Sequence[Mapping[str, str]], *, theme: str, criteria: list[dict[str, Any]], execution_id: str
) -> list[CompareTask]:
    """Pairs of submissions by name, each in both orders."""
    return [
        CompareTask(
            first=first,
            second=second,
            submissions=dict(pair),
            theme=theme,
            criteria=criteria,
            execution_id=execution_id,
        )
        for pair in pairs
        for first, second in permutations(pair)
    ]


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
    for (team, _), winner in winners.items():
        points.setdefault(team, []).append(0.5 if winner is None else float(winner == team))
    return {team: mean(own) for team, own in points.items()}


async def route_to_pairs(state: ContestState) -> list[Send] | Literal["pick_winner"]:
    """The team with the best score and each one near it, in both orders, all at the same time.

    Who of the others is better than whom decides no win.
    """
    documents = {each.team_id: each.document or "" for each in ContestView(state).outcomes}
    best, *rivals = state["near_ties"] or [""]
    pairs = [{team: documents[team] for team in (best, rival)} for rival in rivals]
    tasks = compare_tasks(
        pairs, theme=state["theme"], criteria=state.get("criteria", []), execution_id=state["execution_id"]
    )
    # A router that returns no Send at all ends the graph silently.
    return [Send("compare_pair", task) for task in tasks] or "pick_winner"


def compare_prompt(
    first: Submission, second: Submission, passages: Sequence[Passage], *, tokens: int, user_query: str, **fields: str
) -> ComparePrompt:
    """What a judge of the pair is asked: both texts; the disputed passages, from both in turn, as far as `tokens` goes.

    `passages`: theirs, with their texts; `fields`: the prompt's others. Submissions that no research of contend wrote
    are shown as they were given.
    """
    if not (first.passages and second.passages):
        texts = (whole_text(first.content), whole_text(second.content))
        return ComparePrompt(user_query=user_query, submissions=texts, structured=False, **fields)
    # In both orders of a pair the prompts begin alike.
    one, other = sorted((first, second), key=lambda each: each.content)
    by_id = {each.id: each for each in (*one.passages, *other.passages)}
    ids = dict.fromkeys([*one.draft.passages(), *other.draft.passages()])
    # Of teams that had the same passages at hand, each has the number that writers and judges know it by.
    at_hand = numbers_of(list(by_id))
    numbers = dict.fromkeys(ids, UNKNOWN_SOURCE) | at_hand
    with_text = {each.id: each for each in passages}
    at_issue = [with_text[each] for each in disputed_passages(one.draft, other.draft) if each in with_text]
    whole = {each.id: each for each in fitting_passages(at_issue, tokens=tokens) or at_issue[:1]}
    return ComparePrompt(
        user_query=user_query,
        submissions=(shown_draft(first.draft, numbers, basis=False), shown_draft(second.draft, numbers, basis=False)),
        invented=UNKNOWN_SOURCE in numbers.values(),
        passages=SourceDocument.of((at_hand[each], whole[each]) for each in by_id if each in whole),
        others=NamedDocument.of((at_hand[each], by_id[each]) for each in by_id if each in ids and each not in whole),
        **fields,
    )


def disputed_passages(first: Draft, second: Draft) -> list[str]:
    """The ids of the passages behind statements that two drafts make or found differently, those of both in turn."""
    lists = (_of_own_statements(first, second), _of_own_statements(second, first))
    longest = max(map(len, lists))
    return list(dict.fromkeys(ids[place] for place in range(longest) for ids in lists if place < len(ids)))


def _of_own_statements(draft: Draft, other: Draft) -> Sequence[str]:
    others = {_statement(each) for each in other.sentences()}
    return [each for one in draft.sentences() if _statement(one) not in others for each in one.passages]


def _statement(sentence: CitedSentence) -> tuple[str, frozenset[str]]:
    return bare_text(sentence.text), frozenset(sentence.passages)
