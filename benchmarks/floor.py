"""The contest's graph with empty nodes that only wait: what the framework and its checkpoints cost by themselves."""

import asyncio
import operator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite, Send
from typing_extensions import TypedDict

from contend.settings import Settings
from contend.stores.checkpoints import open_checkpointer


class Team(TypedDict, total=False):
    """A team's state: how often it was here, and what parallel nodes left."""

    round_number: int
    loops: int
    found: Annotated[list[int], operator.add]
    scores: Annotated[list[int], operator.add]


class Research(TypedDict, total=False):
    loops: int
    found: Annotated[list[int], operator.add]


class Contest(TypedDict, total=False):
    outcomes: Annotated[list[int], operator.add]


@dataclass(frozen=True)
class Floor:
    """Teams and rounds as in the contest, `searches` and `metrics` a round; `latency` in seconds for each call."""

    teams: int
    rounds: int
    searches: int
    metrics: int
    latency: float

    async def run(self, settings: Settings) -> None:
        """Play it once, with the checkpointer that the settings name."""
        async with open_checkpointer(settings) as saver:
            graph = self._contest().compile(checkpointer=saver)
            await graph.ainvoke({}, {"configurable": {"thread_id": "floor"}}, durability="sync")

    async def _call(self, state: object) -> dict[str, Any]:  # noqa: ARG002 - nodes have an argument of this name
        await asyncio.sleep(self.latency)
        return {}

    async def _supervise(self, state: Research) -> dict[str, Any]:
        if not state.get("loops"):
            await asyncio.sleep(self.latency)
        return {"loops": state.get("loops", 0) + 1}

    async def _score(self, state: object) -> dict[str, Any]:  # noqa: ARG002 - see `_call`
        await asyncio.sleep(self.latency)
        return {"scores": [1]}

    def _searches(self, state: Research) -> list[Send] | Literal["__end__"]:
        return [Send("search", {}) for _ in range(self.searches)] if state["loops"] == 1 else "__end__"

    def _metrics(self, _: Team) -> list[Send]:
        return [Send("score_metric", {}) for _ in range(self.metrics)]

    def _after_evaluate(self, state: Team) -> Literal["judge", "__end__"]:
        return "judge" if state["round_number"] < self.rounds else "__end__"

    def _research(self) -> StateGraph[Research, None, Research, Research]:
        graph: StateGraph[Research, None, Research, Research] = StateGraph(Research)
        graph.add_node("supervise", self._supervise)
        graph.add_sequence([("search", _found), ("collect", _collect), ("write", self._call), ("review", self._call)])
        graph.add_edge(START, "supervise")
        graph.add_conditional_edges("supervise", self._searches, ["search", END])
        return graph.add_edge("review", "supervise")

    def _team(self) -> StateGraph[Team, None, Team, Team]:
        graph: StateGraph[Team, None, Team, Team] = StateGraph(Team)
        graph.add_sequence([("brief", _brief), ("research", self._research().compile()), ("submit", _nothing)])
        graph.add_sequence([("score_metric", self._score), ("evaluate", _nothing)])
        graph.add_node("judge", self._call)
        graph.add_edge(START, "brief")
        graph.add_conditional_edges("submit", self._metrics, ["score_metric"])
        graph.add_conditional_edges("evaluate", self._after_evaluate, ["judge", END])
        return graph.add_edge("judge", "brief")

    def _contest(self) -> StateGraph[Contest, None, Contest, Contest]:
        team = self._team().compile()

        async def play(state: Team) -> dict[str, Any]:  # noqa: ARG001 - see `_call`
            await team.ainvoke({})
            return {"outcomes": [1]}

        graph: StateGraph[Contest, None, Contest, Contest] = StateGraph(Contest)
        graph.add_node("open_run", _nothing)
        graph.add_node("team", play, input_schema=Team)
        graph.add_sequence([(name, _nothing) for name in ("pick_winner", "publish", "finish_run")])
        graph.add_edge(START, "open_run")
        graph.add_conditional_edges("open_run", lambda _: [Send("team", {}) for _ in range(self.teams)], ["team"])
        return graph.add_edge("team", "pick_winner")


async def _nothing(state: object) -> dict[str, Any]:  # noqa: ARG001 - see `_call`
    return {}


async def _found(state: object) -> dict[str, Any]:  # noqa: ARG001 - see `_call`
    return {"found": [1]}


async def _collect(state: object) -> dict[str, Any]:  # noqa: ARG001 - see `_call`
    return {"found": Overwrite([])}


async def _brief(state: Team) -> dict[str, Any]:
    return {"round_number": state.get("round_number", 0) + 1, "loops": 0, "scores": Overwrite([])}
