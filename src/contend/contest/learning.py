"""The contest's learn node: what the teams' rounds showed goes to the learning graph, its result into state."""

from collections.abc import Mapping
from dataclasses import dataclass

from langgraph.graph.state import CompiledStateGraph

from contend.contest.outcomes import TeamOutcome, outcomes_of
from contend.contest.state import ContestState, ContestUpdate
from contend.errors import InputError
from contend.learning.graph import build_learn_graph
from contend.learning.reflector import PlayedRound
from contend.learning.state import LearningState, LearnInput, LearnOutput
from contend.llm import role_profile
from contend.models.events import Learned
from contend.models.options import ResolvedOptions
from contend.models.playbook import CurationResult
from contend.models.task import CallUsage
from contend.services import Services

LearnRunner = CompiledStateGraph[LearningState, None, LearnInput, LearnOutput]


@dataclass(frozen=True)
class LearnNode:
    """Learning from a contest."""

    services: Services

    async def learn(self, state: ContestState, graph: LearnRunner) -> ContestUpdate:
        """Reflect on the run and curate the dataset's playbook; the report is done by now."""
        options = (await self.services.run(state)).options
        learn_input = await self.input_of(state, options.dataset)
        learn_input["approve"] = "playbook" in options.approve
        lessons = await graph.ainvoke(learn_input)
        result = CurationResult.model_validate(lessons["result"])
        self.services.tell(
            Learned(
                execution_id=state["execution_id"],
                dataset=result.dataset,
                playbook_version=result.playbook_version,
                summary=result.summary,
                lessons=[item.content for item in result.delta_items if item.operation != "DELETE" and item.content],
            )
        )
        calls = [CallUsage.model_validate(call) for call in lessons["usage"]]
        await self.services.record.save_usage(state["execution_id"], "", 0, calls)
        await self.services.record.flush()
        return {"lessons": lessons}

    async def input_of(self, state: ContestState, dataset: str) -> LearnInput:
        """What the learning graph is asked with."""
        outcomes, options = outcomes_of(state), ResolvedOptions.model_validate(state["options"])
        return LearnInput(
            execution_id=state["execution_id"],
            dataset=dataset,
            language=options.language,
            compact=role_profile(options, "reflector").compact,
            theme=state["theme"],
            rounds=[
                each.model_dump(mode="json")
                for outcome in outcomes
                for each in _rounds_to_learn_from(outcome, await self._reasons(state["execution_id"], outcome))
            ],
            withheld=state.get("withheld"),
            bullets=[bullet["id"] for bullet in state["bullets"]],
            sources=await self._source_ids(outcomes),
        )

    async def _reasons(self, execution_id: str, outcome: TeamOutcome) -> dict[int, list[str]]:
        """What judges wrote of each round, by its number."""
        rows = await self.services.record.rounds(execution_id, outcome.team.team_id)
        metrics = {row.round_number: row.details.get("metrics", []) for row in rows}
        return {
            number: [
                f"{metric['name']}: {metric['reason']}"
                for metric in scores
                if metric.get("reason") and metric.get("weight")
            ]
            for number, scores in metrics.items()
        }

    async def _source_ids(self, outcomes: list[TeamOutcome]) -> list[str]:
        """The ids of what the teams' best submissions were written from."""
        best = [outcome.best.submission for outcome in outcomes if outcome.best is not None]
        submissions = [await self.services.require_submission(document) for document in best]
        return sorted({passage.id for submission in submissions for passage in submission.passages})


async def learned_from(services: Services, state: ContestState, dataset: str) -> CurationResult:
    """Learn from a finished contest into any dataset; what was learned from it there before is given again."""
    options = ResolvedOptions.model_validate(state["options"])
    if not options.models:
        raise InputError("this run gave quotes: there are no scores to learn from")
    services.open_run(state["execution_id"], options, goes_on=True)
    graph = build_learn_graph(services.learn_nodes).compile()
    lessons = await graph.ainvoke(await LearnNode(services).input_of(state, dataset))
    return CurationResult.model_validate(lessons["result"])


def _rounds_to_learn_from(outcome: TeamOutcome, reasons: Mapping[int, list[str]]) -> list[PlayedRound]:
    last = outcome.rounds[-1].round_number if outcome.rounds else 0
    return [
        PlayedRound(
            team_id=outcome.team.team_id,
            round_number=each.round_number,
            score=each.score,
            feedback=each.feedback,
            used=each.bullets_used,
            metrics={metric.name: metric.score for metric in each.metrics if metric.weight},
            queries=each.queries,
            judged=reasons.get(each.round_number, []),
            submission=each.submission,
            exit_reason=outcome.exit_reason if each.round_number == last else None,
        )
        for each in outcome.rounds
    ]
