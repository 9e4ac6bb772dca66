"""What a run asks once before its teams start: the parts of the question, for teams, and criteria, for judges."""

from collections import Counter
from typing import Any, NamedTuple

from contend.errors import ModelError
from contend.models.evaluation import CriteriaReply, Criterion
from contend.prompts.judging import CriteriaPrompt
from contend.run_context import RunContext
from contend.text import clean, shorten


class Criteria(NamedTuple):
    """The parts of a question, and the criteria of a very good report on it; `failure` says why none could be made.

    Without parts the question is the only one.
    """

    parts: list[str]
    criteria: list[Criterion]
    failure: str = ""

    def plain(self) -> list[dict[str, Any]]:
        """The criteria as states hold them."""
        return [each.model_dump(mode="json") for each in self.criteria]


async def ask_criteria(run: RunContext, *, question: str) -> Criteria:
    """Ask the judges' model once per run, before any report exists. If the call fails, there are no criteria.

    Without a language model the question is the one part.
    """
    whole = shorten(clean(question, single_line=True), 400)
    if not run.options.models:
        return Criteria([whole], [])
    prompt = CriteriaPrompt(user_query=question, instructions=run.options.instructions)
    try:
        scope = run.scope("evaluator")
        answer = await run.model("evaluator").ask(prompt, CriteriaReply, scope=scope, faults=repeated_criteria)
    except ModelError as error:
        return Criteria([whole], [], failure=str(error))
    await run.keep_calls([answer.usage])
    every = sum(each.weight for each in answer.value.criteria)
    texts = [(clean(each.text, single_line=True), each.weight / every) for each in answer.value.criteria]
    parts = [part for each in answer.value.parts if (part := clean(each, single_line=True))]
    return Criteria(parts, [Criterion(text=text, weight=weight) for text, weight in texts if text])


def repeated_criteria(reply: CriteriaReply) -> str:
    """Duplicate entries, one per line; "" if there are none. A duplicate would count twice."""
    times = Counter(clean(each.text, single_line=True) for each in reply.criteria)
    return "\n".join(f"{count} criteria say: {text}: say it once" for text, count in times.items() if count > 1)
