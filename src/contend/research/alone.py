"""A research opened on its own, in Studio or from code: what a team would have brought, and its answer in the chat."""

from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

from langgraph.errors import NodeError
from langgraph.runtime import Runtime
from langgraph.types import Command

from contend.errors import ContendError, InputError, StoreError
from contend.langgraph_compat import cause
from contend.models.evaluation import Submission
from contend.models.options import DEPTHS, ResolvedOptions, RunOptions, TeamConfig
from contend.models.record import Record
from contend.preflight import answer, is_alone, open_question, opened, refuse
from contend.registry import team_kind
from contend.research.state import FRESH, ResearchState, ResearchUpdate
from contend.services import Services


@dataclass(frozen=True)
class ResearchAlone:
    """How a research without a team begins, and how it fails."""

    services: Services

    async def open_run(self, state: ResearchState, runtime: Runtime[Record]) -> ResearchUpdate:
        """Theme, options and a plain team."""
        opening = await open_question(self.services, state, runtime.context)
        if not opening.options.sources:
            raise InputError("sources: none is on; give documents, or see `contend doctor`")
        loops = _loops(opening.request, opening.options)
        team = TeamConfig(team_id="research", name="Research", sources=opening.options.sources, max_iterations=loops)
        if not team_kind(opening.teams[0].kind).may_win:
            team = opening.teams[0]
        execution_id = str(uuid4())
        await self.services.open_run(execution_id, opening.options).keep_options()
        return {
            **FRESH,
            **opened(state, opening, execution_id),
            "team": team.model_dump(mode="json"),
            "round_number": 1,
            "brief": "",
            "bullets": [],
            "history": [],
            "best_submission": None,
            "clock": None,
        }

    async def refuse(self, state: ResearchState, error: NodeError) -> Command[Literal["__end__"]]:
        return refuse(state, error, FRESH)

    async def fail(self, state: ResearchState, error: NodeError) -> Command[Literal["__end__"]]:
        """A failure is told in the chat. A team hears the error itself.

        What a store refused is no answer: the run stands where it is, and goes on.
        """
        why = cause(error)
        if not is_alone(state) or not isinstance(why, ContendError) or isinstance(why, StoreError):
            raise why
        self.services.close_run(state["execution_id"])
        return Command(update={"next_action": "end", "messages": [answer(state, str(why))]}, goto="__end__")


async def hand_in(services: Services, state: ResearchState, submission: Submission) -> ResearchUpdate:
    """A round's submission, by its id; alone, the report and the answer in the chat, too."""
    document = await services.submissions.put(submission)
    if not is_alone(state):
        return {"submission": document}
    services.close_run(state["execution_id"])
    report = submission.report.model_dump(mode="json")
    return {"submission": document, "report": report, "messages": [answer(state, submission.content)]}


def _loops(own: RunOptions, options: ResolvedOptions) -> int | None:
    """As many loops as a quick run, where nobody set a number: no judge reads what it writes, so a reviewer does."""
    left_to_depth = own.max_iterations is None and options.max_iterations == DEPTHS[options.depth].max_iterations
    return DEPTHS["quick"].max_iterations if left_to_depth else None
