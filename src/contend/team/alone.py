"""A team opened on its own, in Studio or from code: what a contest would have brought and closed."""

from dataclasses import dataclass
from typing import Literal

from langgraph.errors import NodeError
from langgraph.runtime import Runtime
from langgraph.types import Command

from contend.errors import ContendError, StoreError
from contend.langgraph_compat import cause
from contend.models.record import Record
from contend.models.round import best_round
from contend.preflight import answer, asked_of, is_alone, open_question, question_in_chat, refuse
from contend.run_context import identity
from contend.services import Services
from contend.team.criteria import make_criteria
from contend.team.recording import record_end
from contend.team.state import TeamState, TeamUpdate
from contend.team.view import TeamView

FRESH: TeamUpdate = {
    "bullets": [],
    "criteria": [],
    "earlier": "",
    "round_number": 0,
    "rounds": [],
    "pool": None,
    "best_submission": None,
    "submission": None,
    "decision": {},
    "retries": 0,
    "problem": "",
    "clock": None,
}
"""A further question on a thread is a run of its own: nothing of the one before stays."""


@dataclass(frozen=True)
class TeamAlone:
    """The first and the last node of a team without a contest."""

    services: Services

    async def open_run(self, state: TeamState, runtime: Runtime[Record]) -> TeamUpdate:
        """Theme, options and the first team that may enter."""
        opening = await open_question(self.services, state, runtime.context)
        question, team = question_in_chat(state), opening.teams[0]
        execution_id, thread_id = identity(runtime)
        run = self.services.open_run(execution_id, opening.options)
        await run.enter([team], theme=opening.theme, thread_id=thread_id)
        return {
            **FRESH,
            "theme": opening.theme,
            "messages": question,
            "asked": {**asked_of(state, question), "theme": opening.theme},
            "options": opening.options.model_dump(mode="json"),
            "team": team.model_dump(mode="json"),
            "execution_id": execution_id,
            "sources_off": opening.sources_off,
        }

    async def set_criteria(self, state: TeamState) -> TeamUpdate:
        """What a report on this question has to do: judges alone read it."""
        criteria = await make_criteria(self.services, await self.services.run(state), theme=state["theme"])
        if criteria.usage is not None:
            await self.services.record.save_usage(state["execution_id"], "", 0, [criteria.usage])
        return {"criteria": criteria.criteria}

    async def refuse(self, state: TeamState, error: NodeError) -> Command[Literal["__end__"]]:
        return refuse(state, error, FRESH)

    async def fail(self, state: TeamState, error: NodeError) -> Command[Literal["finish_run"]]:
        """A failure ends the run with what its rounds gave until then. In a contest, the team forfeits.

        What a store refused is no answer: the run stands where it is, and goes on.
        """
        why = cause(error)
        if not is_alone(state) or not isinstance(why, ContendError) or isinstance(why, StoreError):
            raise why
        return Command(update={"problem": str(why)}, goto="finish_run")

    async def finish_run(self, state: TeamState) -> TeamUpdate:
        """The run's one message: the best report, or why there is none. Said again, it takes its own place."""
        view, problem = await TeamView.of(self.services, state), state["problem"]
        best = best_round(view.rounds)
        report = (await self.services.require_submission(best.submission)).content if best else ""
        await record_end(self.services, view, best, problem)
        text = "\n\n".join(filter(None, [report, problem]))
        self.services.close_run(state["execution_id"])
        return {"messages": [answer(state, text)]}


async def route_at_start(state: TeamState) -> Literal["open_run", "brief"]:
    """To its opening, where nobody has settled options for it: each new question on its thread, too."""
    return "open_run" if is_alone(state) else "brief"
