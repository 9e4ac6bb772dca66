"""A thread's next run: what the one before left in its state is out of reach from the run's first nodes on."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, get_type_hints

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from contend.contest.graph import build_contest_graph
from contend.contest.state import ContestState, input_options
from contend.learning.graph import LearningState, LearnInput, build_learn_graph
from contend.models.options import RunOptions
from contend.research.graph import build_research_graph
from contend.research.state import ResearchInput, ResearchState
from contend.services import Services
from contend.team.graph import build_team_graph
from contend.team.state import TeamState
from fakes.contests import Contest
from fakes.reports import build, draft

FIRST = "How does resume work after a crash?"
SECOND = "What is a team?"
CONFIG: Any = {"configurable": {"thread_id": "chat"}}
LEFT = "left by the run before"

LIVES_ON = {"messages", "earlier", "last_submission"}
"""The chat, and what the thread's last report said, which the next run's teams see."""


def _leave(graph: Any, keys: set[str], options: RunOptions) -> dict[str, Any]:  # noqa: ANN401 - any compiled graph
    """Each key with something of an earlier run; what its first nodes read, in the form in which they read it."""
    grows = {key for key in keys if hasattr(graph.channels[key], "operator")}
    readable = {
        "theme": FIRST,
        "messages": [HumanMessage(FIRST, id="first")],
        "asked": {"theme": FIRST, "message": "first"},
        "run_options": input_options(options),
        "round_started": datetime.now().astimezone().isoformat(),
        "report": build(draft(), theme=LEFT).model_dump(mode="json"),
    }
    remains = {key: [LEFT] if key in grows else LEFT for key in keys} | readable
    return {key: remains[key] for key in keys}


@pytest.mark.parametrize(
    ("build_graph", "state", "opening", "last"),
    [
        (build_contest_graph, ContestState, "open_run", "finish_run"),
        (build_team_graph, TeamState, "brief", "finish_run"),
        (build_research_graph, ResearchState, "open_run", "find_passages"),
    ],
)
async def test_a_run_begins_with_nothing_that_the_one_before_left(
    contest: Contest,
    services: Services,
    *,
    build_graph: Callable[[Services], Any],
    state: type,
    opening: str,
    last: str,
) -> None:
    graph = build_graph(services).compile(checkpointer=InMemorySaver(), interrupt_after=[opening])
    options = contest.options(learn=False)
    remains = _leave(graph, set(get_type_hints(state)), options)
    await graph.aupdate_state(CONFIG, remains, as_node=last)

    await graph.ainvoke({"messages": [HumanMessage(SECOND)]}, CONFIG, context=options)

    values = (await graph.aget_state(CONFIG)).values
    assert values["theme"] == SECOND
    assert {key for key in remains if values.get(key) == remains[key] or LEFT in str(values.get(key))} <= LIVES_ON


async def test_learning_begins_with_nothing_that_the_run_before_left(services: Services) -> None:
    graph = build_learn_graph(services.learn_nodes).compile(checkpointer=InMemorySaver(), interrupt_after=["reflect"])
    remains = _leave(graph, get_type_hints(LearningState).keys() - get_type_hints(LearnInput).keys(), RunOptions())
    await graph.aupdate_state(CONFIG, remains, as_node="apply_delta")

    await graph.ainvoke({"dataset": "next", "rounds": []}, CONFIG)

    assert LEFT not in str((await graph.aget_state(CONFIG)).values)


async def test_a_rounds_research_begins_with_nothing_but_what_its_team_passes_on(
    contest: Contest, services: Services
) -> None:
    saver = InMemorySaver()
    graph = build_contest_graph(services).compile(checkpointer=saver)
    options = contest.options(teams=["alpha"], min_rounds=2, max_rounds=2, learn=False)
    for question in (FIRST, SECOND):
        await graph.ainvoke({"messages": [HumanMessage(question)]}, CONFIG, context=options)

    snapshots = [
        each async for each in saver.alist(CONFIG) if "|research:" in each.config["configurable"]["checkpoint_ns"]
    ]
    begun = [each.checkpoint["channel_values"].keys() for each in snapshots if each.metadata["step"] == 0]

    assert len(begun) == 4
    for keys in begun:
        assert keys & get_type_hints(ResearchState).keys() <= get_type_hints(ResearchInput).keys()
