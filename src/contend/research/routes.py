"""Where the research goes next: the supervisor's word, a person's answer, each query and source, each page to read."""

from dataclasses import dataclass
from typing import Literal

from langgraph.types import Send

from contend.preflight import is_alone
from contend.research.ask import max_iterations, team_of
from contend.research.reading import pages_to_read
from contend.research.state import ResearchState, SearchTask
from contend.services import Services


@dataclass(frozen=True)
class ResearchRoutes:
    """Where the research goes next: the supervisor's word, and a search for each query and source."""

    services: Services

    async def route_at_start(self, state: ResearchState) -> Literal["open_run", "supervise"]:
        """To its opening, where nobody has settled options for it: each new question on its thread, too."""
        return "open_run" if is_alone(state) else "supervise"

    async def route_after_supervise(
        self, state: ResearchState
    ) -> list[Send] | Literal["approve_plan", "collect", "write", "review", "__end__"]:
        if state.get("human_input_required"):
            return "approve_plan"
        match state["next_action"]:
            case "research":
                # A router that returns no Send at all ends the graph silently.
                return self._searches(state) or "collect"
            case "write" | "review" as step:
                return step
            case _:
                return "__end__"

    async def route_after_approval(
        self, state: ResearchState
    ) -> list[Send] | Literal["approve_plan", "supervise", "collect"]:
        if state.get("human_input_required"):
            return "approve_plan"
        return self._searches(state) or "collect" if state.get("task_plan") else "supervise"

    async def route_after_collect(self, state: ResearchState) -> list[Send] | Literal["write"]:
        return [Send("read_page", task) for task in pages_to_read(state)] or "write"

    async def route_after_write(self, state: ResearchState) -> Literal["review", "supervise"]:
        """The last draft is handed in whatever a reviewer says of it: nobody is asked."""
        return "supervise" if state["iteration_count"] >= max_iterations(state) else "review"

    def _searches(self, state: ResearchState) -> list[Send]:
        again = state.get("more_queries")
        queries = again or (state["task_plan"] or {})["search_queries"]
        off = self.services.sources_off(state["execution_id"]) | state.get("sources_off", {})
        wanted = [name for name in team_of(state).sources if name in state["options"]["sources"] and name not in off]
        pairs = [(query, source) for query in queries for source in wanted]
        # Queries of a plan look for what is beside the question, and may all miss what answers it.
        asked = [(state["theme"], "local")] if "local" in wanted and not again else []
        return [
            Send(
                "search",
                SearchTask(
                    query=query,
                    source=source,
                    documents=state["options"]["documents"],
                    execution_id=state["execution_id"],
                    team_id=team_of(state).team_id,
                ),
            )
            for query, source in dict.fromkeys(asked + pairs)
        ]
