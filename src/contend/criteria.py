"""What a run settles once before its teams start: the parts of the question, for teams, and criteria, for judges.

Criteria are made by the judges' model, or written by people in a file of the workspace.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from contend.errors import ModelError
from contend.models.evaluation import CriteriaReply, Criterion, PartsReply
from contend.models.options import MetricConfig, ResolvedOptions
from contend.models.record import Language
from contend.prompts import PromptLibrary
from contend.prompts.judging import CriteriaPrompt
from contend.run_context import RunContext
from contend.text import WORDS, clean, shorten


class Criteria(NamedTuple):
    """The parts of a question, and the criteria of a very good report on it.

    `failure` says why a model named none of them. Without parts the question is the only one.
    """

    parts: list[str]
    criteria: list[Criterion]
    failure: str = ""

    def plain(self) -> list[dict[str, Any]]:
        """The criteria as states hold them."""
        return [criterion.model_dump(mode="json") for criterion in self.criteria]


async def settle_criteria(run: RunContext, *, question: str) -> Criteria:
    """The question's parts and, where a judge checks reports by them, its criteria: people's own, else a model's."""
    written = run.options.criteria_file
    if written is None and is_judged_by_criteria(run.library, run.options):
        return await _ask(run, question, CriteriaReply)
    criteria = written.shares() if written else []
    if written and written.parts:
        return Criteria(written.parts, criteria)
    return (await _ask(run, question, PartsReply))._replace(criteria=criteria)


async def ask_parts(run: RunContext, *, question: str) -> list[str]:
    """The question's parts, where nobody judges."""
    return (await _ask(run, question, PartsReply)).parts


async def _ask(run: RunContext, question: str, shape: type[CriteriaReply] | type[PartsReply]) -> Criteria:
    """Ask the judges' model. If the call fails, or there is no model, the question is the one part."""
    whole = shorten(clean(question, single_line=True), 400)
    if not run.options.models:
        return Criteria([whole], [])
    prompt = CriteriaPrompt(
        user_query=question, instructions=run.options.instructions, with_criteria=shape is CriteriaReply
    )
    try:
        answer = await run.model("evaluator").ask(prompt, shape, scope=run.scope("evaluator"), faults=reply_faults)
    except ModelError as error:
        return Criteria([whole], [], failure=str(error))
    await run.keep_calls([answer.usage])
    parts = [part for each in answer.value.parts if (part := clean(each, single_line=True))]
    return Criteria(parts, _shares(answer.value))


def _shares(reply: CriteriaReply | PartsReply) -> list[Criterion]:
    """The criteria of a reply, each with its share of all weights."""
    replied = reply.criteria if isinstance(reply, CriteriaReply) else []
    every = sum(criterion.weight for criterion in replied)
    return [
        Criterion(text=text, example=clean(criterion.example, single_line=True), weight=criterion.weight / every)
        for criterion in replied
        if (text := clean(criterion.text, single_line=True))
    ]


def reply_faults(reply: CriteriaReply | PartsReply) -> str:
    """What the model has to mend, a line each; "" if nothing. A criterion said twice would count twice."""
    criteria = reply.criteria if isinstance(reply, CriteriaReply) else []
    times = Counter(clean(criterion.text, single_line=True) for criterion in criteria)
    lines = [f"{count} criteria say: {text}: say it once" for text, count in times.items() if count > 1]
    lines += [
        f"criterion {number} has no `example`: say in one or two sentences what would meet it"
        for number, criterion in enumerate(criteria, start=1)
        if not criterion.example.strip()
    ]
    return "\n".join(lines)


def is_judged_by_criteria(library: PromptLibrary, options: ResolvedOptions) -> bool:
    """Whether a judge of the run checks reports by criteria."""
    return any(goes_by_criteria(library, metric, options) for metric in options.evaluator.metrics)


def goes_by_criteria(library: PromptLibrary, metric: MetricConfig, options: ResolvedOptions) -> bool:
    """Whether a metric is the shipped coverage and its judge can read whole reports beside a list of criteria."""
    return metric.name == "coverage" and metric.rubric is None and reads_whole_reports(library, metric, options)


def reads_whole_reports(library: PromptLibrary, metric: MetricConfig, options: ResolvedOptions) -> bool:
    """Whether a metric's judge is the run's own language model, reads much, and has no prompt of the user's own."""
    if metric.kind != "model" or metric.model is not None or not options.models:
        return False
    return not library.find("evaluator/metric", options.language).is_own


def numbered_criteria(criteria: Sequence[Criterion], language: Language, *, with_weights: bool = False) -> str:
    """The criteria by number for a judge, each with its example below it, and with weights where wanted."""
    lines = []
    for number, criterion in enumerate(criteria, start=1):
        weight = f" ({criterion.weight:.0%})" if with_weights else ""
        lines.append(f"{number}. {criterion.text}{weight}")
        if criterion.example:
            lines.append(f"   {WORDS[language].criterion_example.format(text=criterion.example)}")
    return "\n".join(lines)
