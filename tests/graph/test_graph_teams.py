"""A team that somebody else's graph plays: asked, held to limits, its sources retrieved, scored like any other."""

from pathlib import Path

import pytest

from fakes.contests import Contest, metrics_of, rounds_of, write_workspace
from fakes.vendors import Vendors

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
asked = []


class State(TypedDict, total=False):
    messages: Annotated[list, add_messages]


def one_node(node, state=State):
    graph = StateGraph(state)
    graph.add_node("answer", node)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph


"""


def enter(workspace: Path, code: str, *, report: str = REPORT, team: str = TEAM, others: tuple[str, ...] = ()) -> None:
    """A workspace whose team `mine` is played by `agent` of the code."""
    write_workspace(workspace, (*others, "mine"))
    (workspace / "config" / "teams" / "mine.toml").write_text(team, "utf-8")
    (workspace / "my_agent.py").write_text(STATE.format(report=report) + code, "utf-8")


ANSWERS = """async def answer(state):
    asked.append(state["messages"][-1].text)
    return {"messages": [AIMessage(REPORT)]}


agent = one_node(answer)
"""


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    return Contest(workspace, documents, vendors.base_url)


async def test_a_graph_wins_a_contest_with_a_report_whose_sources_were_retrieved(contest: Contest) -> None:
    enter(contest.workspace, ANSWERS)

    outcome = await contest.run(QUESTION, teams=["mine"], max_rounds=1)

    assert outcome.status == "completed", outcome.message
    assert outcome.report is not None
    assert [source.title for source in outcome.report.sources] == ["How resume works"]
    assert "A run keeps a checkpoint after every step [1]." in outcome.report.executive_summary
    assert "| checkpoints | a SQLite file in the workspace [1] |" in outcome.report.detailed_analysis
    (scored,) = rounds_of(contest)
    assert metrics_of(scored)["citation_support"].score == 1.0
