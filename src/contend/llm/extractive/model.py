"""The extractive model behind the protocol that language models stand behind, too."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from contend.errors import ModelError, ReplyError
from contend.llm.extractive.curating import curate
from contend.llm.extractive.judging import judge
from contend.llm.extractive.lessons import reflect
from contend.llm.extractive.planning import plan
from contend.llm.extractive.reviewing import review
from contend.llm.extractive.scoring import score
from contend.llm.extractive.writing import write
from contend.llm.model import Answer, R, Scope
from contend.models.record import Language
from contend.models.task import CallUsage

Job = Callable[[dict[str, Any], Language], dict[str, Any]]
"""From a prompt's values to a reply's fields. Pure, and may take tenths of a second."""

_JOBS: dict[str, Job] = {
    "supervisor/plan": plan,
    "writer/write": write,
    "reviewer/review": review,
    "evaluator/metric": score,
    "judge/judge": judge,
    "reflector/reflect": reflect,
    "curator/curate": curate,
}


class ExtractiveModel:
    """Answers contend's own prompts by rule: the same values give the same reply, no call is made, nothing is spent."""

    name: str = "extractive"

    async def structured(
        self,
        prompt: str,
        reply_type: type[R],
        values: Mapping[str, object],
        *,
        scope: Scope,
        spread_over: str | None = None,  # noqa: ARG002 - the protocol's; a rule knows one value
        faults: Callable[[R], str] | None = None,  # noqa: ARG002 - the protocol's; a rule has nothing to mend
    ) -> Answer[R]:
        """Work the prompt's values into a reply, off the event loop.

        Raises:
            ReplyError: the values hold too little text for a valid reply.
            ModelError: the prompt is not one of contend's own, or lacks its values.
        """
        job = _JOBS.get(prompt)
        if job is None:
            raise ModelError(
                f"the extractive model cannot answer prompt {prompt!r}: set a language model for {scope.role}"
            )
        fields = await asyncio.to_thread(_done, job, prompt, dict(values), scope.language)
        try:
            return Answer(reply_type.model_validate(fields), _nothing_spent(prompt, scope))
        except ValidationError as error:
            raise ReplyError(f"extractive reply to {prompt}: {_first_flaw(error)}; give it more text") from error


def _done(job: Job, prompt: str, values: dict[str, Any], language: Language) -> dict[str, Any]:
    try:
        return job(values, language)
    except ValidationError as error:
        raise ModelError(f"values of prompt {prompt}: {_first_flaw(error)}; the caller must pass them") from error


def _first_flaw(error: ValidationError) -> str:
    flaw = error.errors()[0]
    return f"{'.'.join(str(part) for part in flaw['loc'])}: {flaw['msg']}"


def _nothing_spent(prompt: str, scope: Scope) -> CallUsage:
    """No time either, so that a repeated run leaves the same record."""
    return CallUsage(
        call_key=scope.call_key(prompt),
        role=scope.role,
        model=ExtractiveModel.name,
        input_tokens=0,
        output_tokens=0,
        cost_usd=0.0,
        milliseconds=0,
        requests=0,
    )
