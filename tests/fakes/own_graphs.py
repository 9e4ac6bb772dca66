"""A workspace with a team that a graph of its own plays: the graph's file, and what it answers."""

from pathlib import Path

from fakes.contests import Contest, write_workspace

QUESTION = "What is kept when a run is killed, and how does it go on?"
REPORT = """# Resuming a run

## Executive Summary

A run keeps a checkpoint after every step [1]. The command resume reads it and goes on from there [1].

## Key Findings

- When the process is killed, the checkpoint holds the last finished step [1].
- Calls that were finished are not repeated [1].

## Detailed Analysis

### What is kept

A run keeps a checkpoint after every step [1]. The checkpoints lie in a SQLite file in the workspace [1].

| What | Where |
| --- | --- |
| checkpoints | a SQLite file in the workspace [1] |

## Constraints and Challenges

How large the file becomes is not said.

## References

1. How resume works, resume.md
"""
TEAM = """team_id = "mine"
name = "Mine"
kind = "graph"
graph = "my_agent:agent"
"""
STATE = """import time
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

REPORT = {report!r}


def note(text):
    with open("asked.txt", "a") as file:
        file.write("#####" + text)


class State(TypedDict, total=False):
    messages: Annotated[list, add_messages]


def one_node(node, state=State):
    graph = StateGraph(state)
    graph.add_node("answer", node)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph


"""


def enter(
    workspace: Path,
    code: str,
    *,
    report: str = REPORT,
    team: str = TEAM,
    others: tuple[str, ...] = (),
    seconds: int = 60,
    cap: int = 8,
) -> None:
    """A workspace whose team `mine` is played by `agent` of the code."""
    write_workspace(workspace, (*others, "mine"), seconds=seconds, cap=cap)
    (workspace / "config" / "teams" / "mine.toml").write_text(team, "utf-8")
    (workspace / "my_agent.py").write_text(STATE.format(report=report) + code, "utf-8")


ANSWERS = """async def answer(state):
    note(state["messages"][-1].text)
    return {"messages": [AIMessage(REPORT)]}


agent = one_node(answer)
"""


def notes() -> str:
    return Path("asked.txt").read_text("utf-8")


REACT = """from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from contend.tools import search

agent = create_agent(ChatOpenAI(model="small", base_url="{url}", api_key="sk-none"), tools=[search])
"""


def react(contest: Contest, **options: object) -> None:
    enter(contest.workspace, "", team=TEAM + 'sources = ["local"]\n', **options)
    (contest.workspace / "my_agent.py").write_text(REACT.format(url=contest.base_url), "utf-8")
