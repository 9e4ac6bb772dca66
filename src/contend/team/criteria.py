"""The run's criteria: what a report on this very question has to do, asked of the judges' model before any report."""

from typing import Any, NamedTuple

from contend.errors import ModelError
from contend.llm import Scope, role_profile
from contend.models.evaluation import Criterion
from contend.models.judging_replies import CriteriaReply
from contend.models.options import MetricConfig, ResolvedOptions
from contend.models.task import CallUsage
from contend.prompts.judging import CriteriaPrompt
from contend.run_context import RunContext
from contend.services import Services
from contend.text import clean


class Criteria(NamedTuple):
    """The criteria as plain data, [] where coverage is judged by its rubric; `failure` says why none could be made."""

    criteria: list[dict[str, Any]]
    usage: CallUsage | None = None
    failure: str = ""


async def make_criteria(services: Services, run: RunContext, *, theme: str) -> Criteria:
    """Ask for the criteria of a question and its reader's instructions, once a run; a failing call makes none."""
    options = run.options
    if not any(judged_by_criteria(services, metric, options) for metric in options.evaluator.metrics):
        return Criteria([])
    prompt = CriteriaPrompt(user_query=theme, instructions=options.instructions)
    scope = Scope(execution_id=run.execution_id, role="evaluator", language=options.language)
    model = run.model("evaluator")
    try:
        answer = await model.structured(prompt, CriteriaReply, scope=scope)
    except ModelError as error:
        return Criteria([], failure=str(error))
    every = sum(each.weight for each in answer.value.criteria)
    criteria = [
        Criterion(text=clean(each.text, single_line=True), weight=each.weight / every)
        for each in answer.value.criteria
        if clean(each.text).strip()
    ]
    return Criteria([each.model_dump(mode="json") for each in criteria], usage=answer.usage)


def judged_by_criteria(services: Services, metric: MetricConfig, options: ResolvedOptions) -> bool:
    """Whether a metric is the shipped coverage and its judge can read whole reports beside a list of criteria."""
    return metric.name == "coverage" and metric.rubric is None and reads_whole_reports(services, metric, options)


def reads_whole_reports(services: Services, metric: MetricConfig, options: ResolvedOptions) -> bool:
    """Whether a metric's judge is the run's own language model, reads much, and has no prompt of the user's own."""
    if metric.kind != "model" or metric.model is not None or not options.models:
        return False
    prompt = services.library.find("evaluator/metric", options.language)
    return not role_profile(options, "evaluator").compact and not prompt.is_own
