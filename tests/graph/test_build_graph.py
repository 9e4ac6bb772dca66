"""contend's graphs in somebody else's: on their own, as a part, in a node, as a tool of an agent."""

import asyncio
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from typing_extensions import TypedDict

import contend
from contend.app import RunOutcome
from contend.errors import InputError
from contend.graphs import GraphName
from contend.services import Services
from fakes.contests import Contest
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"
OF_WORKSPACE = """
sources = ["local"]
documents = ["{documents}"]
teams = ["alpha"]
"""
APPROVED = {"decisions": [{"type": "approve"}]}


class Chat(TypedDict, total=False):
    """Somebody's own state; contend takes its question and gives its answer by `messages`."""

    messages: Annotated[list[AnyMessage], add_messages]
    status: str
    said: str


def thread(name: str) -> Any:  # noqa: ANN401 - a RunnableConfig
    return {"configurable": {"thread_id": name}}


def asked() -> Chat:
    return {"messages": [HumanMessage(THEME, id="question")]}


@pytest.mark.parametrize("name", ["contend", "team", "research"])
async def test_a_graph_by_its_name_answers_a_question(services: Services, contest: Contest, name: GraphName) -> None:
    graph = contend.build_graph(name, services)

    state = await graph.ainvoke({"theme": THEME}, context=contest.options(teams=["alpha"], max_rounds=1))

    assert graph.name == name
    assert state["messages"][-1].text.startswith(f"# {THEME}")


async def test_without_services_a_graph_works_in_the_workspace_that_the_environment_names(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEND_WORKSPACE", str(contest.workspace))

    graph = await asyncio.to_thread(contend.build_graph)
    state = await graph.ainvoke({"theme": " "})

    assert state["message"].startswith("theme is empty")


def test_an_unknown_name_is_answered_with_the_names_there_are(services: Services) -> None:
    with pytest.raises(InputError, match="'contest' is not a graph: give one of contend, team, research, learn"):
        contend.build_graph("contest", services)  # type: ignore[arg-type]  # what a person may well write


def of_ones_own(services: Services, checkpointer: InMemorySaver | None = None) -> Any:  # noqa: ANN401 - a graph
    """A graph with contend as one of its parts, followed by a node that reads the answer."""

    def read(state: Chat) -> Chat:
        return {"said": f"{state['status']}: {state['messages'][-1].text}"}

    own = StateGraph(Chat, context_schema=contend.RunOptions)
    own.add_node("contend", contend.build_graph("contend", services))
    own.add_node("read", read)
    own.add_edge(START, "contend")
    own.add_edge("contend", "read")
    return own.compile(checkpointer=checkpointer)


async def test_as_a_part_of_another_graph_it_answers_the_chat(services: Services, contest: Contest) -> None:
    state = await of_ones_own(services).ainvoke(asked(), context=contest.options(max_rounds=1, learn=False))

    assert state["said"].startswith(f"completed: # {THEME}")


async def test_a_part_asks_its_question_through_its_parent_and_goes_on_with_the_answer(
    services: Services, stepping: Contest, vendors: Vendors
) -> None:
    graph = of_ones_own(services, InMemorySaver())
    options = stepping.options(teams=["alpha"], max_rounds=1, learn=False, approve=["plan"])

    waiting = await graph.ainvoke(asked(), thread("own"), context=options)
    before = [call.prompt for call in vendors.calls]
    state = await graph.ainvoke(Command(resume=APPROVED), thread("own"), context=options)

    (question,) = waiting["__interrupt__"]
    assert question.value["team_id"] == "alpha"
    assert before == ["evaluator/criteria", "researcher/step"]
    assert [call.prompt for call in vendors.calls].count("researcher/step") == 2
    assert state["said"].startswith(f"completed: # {THEME}")


async def test_a_team_that_failed_before_a_question_is_still_told_of_after_the_answer(
    services: Services, stepping: Contest, vendors: Vendors
) -> None:
    vendors.fail(model="beta", status=401)
    graph = of_ones_own(services, InMemorySaver())
    options = stepping.options(max_rounds=1, learn=False, approve=["plan"])

    await graph.ainvoke(asked(), thread("own"), context=options)
    state = await graph.ainvoke(Command(resume=APPROVED), thread("own"), context=options)

    assert state["said"].startswith(f"partial: # {THEME}")
    assert "team beta failed: model 'beta'" in state["said"]


async def test_a_parent_with_a_context_of_its_own_leaves_the_options_to_the_workspace(
    contest: Contest,
) -> None:
    with (contest.workspace / "config" / "orchestrator.toml").open("a", encoding="utf-8") as config:
        config.write(OF_WORKSPACE.format(documents=contest.documents))
    services = contest.services()

    class User(TypedDict):
        user: str

    own = StateGraph(Chat, context_schema=User)
    own.add_node("contend", contend.build_graph("contend", services))
    own.add_edge(START, "contend")

    state = await own.compile().ainvoke(asked(), context={"user": "ada"})
    await services.aclose()

    assert state["status"] == "completed"


async def test_in_a_node_it_takes_options_of_that_call(services: Services, contest: Contest) -> None:
    graph = contend.build_graph("research", services)

    async def node(state: Chat) -> Chat:
        final = await graph.ainvoke({"messages": state["messages"]}, context=contest.options(language="en"))
        return {"messages": final["messages"][-1:]}

    own = StateGraph(Chat)
    own.add_node("look_up", node)
    own.add_edge(START, "look_up")

    final = await own.compile(checkpointer=InMemorySaver()).ainvoke(asked(), thread("own"))

    assert [message.type for message in final["messages"]] == ["human", "ai"]
    assert final["messages"][-1].text.startswith(f"# {THEME}")


async def test_a_parents_stream_shows_its_steps_and_events(services: Services, contest: Contest) -> None:
    graph, options = of_ones_own(services), contest.options(teams=["alpha"], max_rounds=1, learn=False)

    parts = [
        part
        async for part in graph.astream(asked(), context=options, stream_mode=["updates", "custom"], subgraphs=True)
    ]

    steps = [next(iter(update)) for _, mode, update in parts if mode == "updates"]
    events = [event["type"] for _, mode, event in parts if mode == "custom"]
    assert {"open_run", "team", "publish", "contend", "read"} <= {*steps}
    assert events[0] == "run_started"
    assert "report_published" in events


async def test_as_a_tool_of_an_agent_it_keeps_a_thread_of_its_own(services: Services, contest: Contest) -> None:
    outcomes: list[RunOutcome] = []

    @tool
    async def look_into(question: str) -> str:
        """Research a question and cite the sources."""
        outcome = await contend.research(question, options=contest.options(), services=services)
        outcomes.append(outcome)
        return outcome.markdown or outcome.message

    agent = StateGraph(Chat)
    agent.add_node("tools", ToolNode([look_into]))
    agent.add_edge(START, "tools")
    agent.add_edge("tools", END)
    call = {"name": "look_into", "args": {"question": THEME}, "id": "1", "type": "tool_call"}
    asking = {"messages": [HumanMessage(THEME), AIMessage("", tool_calls=[call])]}
    saver = InMemorySaver()

    state = await agent.compile(checkpointer=saver).ainvoke(asking, thread("agent"))

    (outcome,) = outcomes
    assert state["messages"][-1].text.startswith(f"# {THEME}")
    status = await contend.status(outcome.thread_id, services=services)
    assert status.status == "completed"
    assert {snapshot.config["configurable"]["checkpoint_ns"] for snapshot in saver.list(thread("agent"))} == {""}
