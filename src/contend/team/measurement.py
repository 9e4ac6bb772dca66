"""The work object of a metric, opened by a node from what it was sent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contend.evidence import with_texts
from contend.extensions import MetricFunction
from contend.llm import Scope
from contend.models.evaluation import Criterion, Submission
from contend.models.options import MetricConfig, ResolvedOptions
from contend.models.record import Language
from contend.models.research import Passage
from contend.run_context import RunContext
from contend.services import Services
from contend.team.state import MetricTask


@dataclass(frozen=True)
class Measurement:
    """All that one measuring task reads: the submission, its passages, and the metrics to measure.

    `passages` and `nearest` have their texts; `metrics`: those of the task; `together`: one call judges them all;
    `rubric`: the rubric of a metric by model; `function`: that of a metric of the user's own, which may block.
    """

    run: RunContext
    question: str
    submission: Submission
    passages: Sequence[Passage]
    nearest: Sequence[Passage]
    criteria: Sequence[Criterion]
    metrics: Sequence[MetricConfig]
    together: bool
    with_fixes: bool
    scope: Scope
    rubric: Callable[[MetricConfig], str]
    function: Callable[[MetricConfig], MetricFunction[Any]]

    @property
    def options(self) -> ResolvedOptions:
        return self.run.options

    @property
    def language(self) -> Language:
        return self.options.language

    @property
    def by_id(self) -> Mapping[str, Passage]:
        return {each.id: each for each in self.passages}


def metric_names(metrics: Sequence[str | dict[str, Any]]) -> list[str]:
    """The metrics of a task; earlier releases kept their whole configuration."""
    return [each if isinstance(each, str) else each["name"] for each in metrics]


async def open_measurement(services: Services, task: MetricTask) -> Measurement:
    """What is measured.

    Raises:
        StoreError: the submission or a passage of it cannot be read.
    """
    run, submission = await services.run(task), await services.require_submission(task["submission"])
    names = metric_names(task["metrics"])
    step = "+".join(names)
    scope = run.scope(
        "evaluator",
        team_id=task["team_id"],
        round_number=task["round_number"],
        step=step if task["sample"] == 1 else f"{step}#{task['sample']}",
        sampled=run.options.evaluator.samples > 1,
    )
    return Measurement(
        run=run,
        question=task["theme"],
        submission=submission,
        passages=await with_texts(services.documents, submission.passages),
        nearest=await with_texts(services.documents, submission.nearest),
        criteria=[Criterion.model_validate(each) for each in task["criteria"]],
        metrics=[each for each in run.options.evaluator.all_metrics if each.name in names],
        together=task["together"],
        with_fixes=task.get("with_fixes", True),
        scope=scope,
        rubric=lambda metric: services.rubric(metric, run.options.language),
        function=services.metric,
    )
