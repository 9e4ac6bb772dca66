"""A team that somebody else's graph plays: asked, held to limits, its sources retrieved, scored like any other."""

import json
import re
from pathlib import Path

import pytest

from contend.errors import InputError
from contend.models.events import SearchDone, StepDone
from contend.settings.files import load_config
from fakes.contests import Contest, metrics_of, rounds_of, write_workspace
from fakes.terminal import Terminal
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
) -> None:
    """A workspace whose team `mine` is played by `agent` of the code."""
    write_workspace(workspace, (*others, "mine"), seconds=seconds)
    (workspace / "config" / "teams" / "mine.toml").write_text(team, "utf-8")
    (workspace / "my_agent.py").write_text(STATE.format(report=report) + code, "utf-8")


ANSWERS = """async def answer(state):
    note(state["messages"][-1].text)
    return {"messages": [AIMessage(REPORT)]}


agent = one_node(answer)
"""


def noted() -> str:
    return Path("asked.txt").read_text("utf-8")


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


RAISES = """
async def answer(state):
    raise KeyError("no such shelf")


agent = one_node(answer).compile()
"""
WAITS = """
async def answer(state):
    return {"messages": [AIMessage(interrupt("May I search?"))]}


agent = one_node(answer).compile()
"""
EXITS = """
import sys


async def answer(state):
    sys.exit(3)


agent = one_node(answer)
"""
LOOPS = """
async def answer(state):
    return {}


agent = StateGraph(State)
agent.add_node("answer", answer)
agent.add_edge(START, "answer")
agent.add_edge("answer", "answer")
"""
RUBBISH = """
class Any(TypedDict, total=False):
    messages: object


async def answer(state):
    return {"messages": {"role": 42}}


agent = one_node(answer, Any)
"""
EMPTY = """
async def answer(state):
    return {"messages": [AIMessage(" ")]}


agent = one_node(answer)
"""
ENDLESS = """
async def answer(state):
    return {"messages": [AIMessage("words " * 200_000)]}


agent = one_node(answer)
"""
SAYS_NOTHING = """
async def answer(state):
    return {"messages": [AIMessage("---")]}


agent = one_node(answer)
"""


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (RAISES, "its graph raised KeyError: 'no such shelf'"),
        (WAITS, "its graph waits for a person, and nobody answers it in a contest"),
        (EXITS, "its graph raised SystemExit: 3"),
        (LOOPS, "its graph took over 100 steps"),
        (RUBBISH, "its graph ended without a report"),
        (EMPTY, "its graph ended without a report"),
        (ENDLESS, "its report has 1,199,999 characters; at most 100,000 are read"),
        (SAYS_NOTHING, "its report says nothing"),
    ],
    ids=["raises", "interrupts", "exits", "loops", "rubbish", "empty", "endless", "says nothing"],
)
async def test_a_graph_that_gives_no_report_forfeits_alone_and_says_why(contest: Contest, code: str, line: str) -> None:
    enter(contest.workspace, code, others=("alpha",))

    outcome = await contest.run(QUESTION, teams=["alpha", "mine"], max_rounds=1, learn=False)

    assert outcome.status == "partial"
    assert outcome.report is not None
    assert f"team mine failed: {line}" in outcome.message


HANGS = """
import asyncio
from pathlib import Path


async def answer(state):
    try:
        await asyncio.sleep(600)
    finally:
        Path({mark!r}).write_text("stopped")


agent = one_node(answer)
"""
BLOCKS = """
async def answer(state):
    time.sleep(600)


agent = one_node(answer)
"""
BLOCKS_A_THREAD = """
def answer(state):
    time.sleep(600)


agent = one_node(answer)
"""


async def test_a_graph_that_hangs_is_stopped_at_its_teams_deadline(contest: Contest, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    enter(contest.workspace, HANGS.format(mark=str(mark)), others=("alpha",), seconds=6)

    outcome = await contest.run(QUESTION, teams=["alpha", "mine"], max_rounds=1, learn=False)

    assert "team mine timeout: not done within 6 seconds" in outcome.message
    assert mark.read_text() == "stopped"


@pytest.mark.parametrize("code", [BLOCKS, BLOCKS_A_THREAD], ids=["its loop", "a thread"])
async def test_a_graph_that_blocks_stops_neither_the_contest_nor_the_next_one(contest: Contest, code: str) -> None:
    enter(contest.workspace, code, others=("alpha",), seconds=6)

    outcome = await contest.run(QUESTION, teams=["alpha", "mine"], max_rounds=1, learn=False)

    assert outcome.report is not None
    assert "team mine timeout: not done within 6 seconds" in outcome.message


INVENTS = REPORT.replace("1. How resume works, resume.md", "1. [Resuming](http://127.0.0.1:9/none)\n2. Of my own head")


async def test_what_was_not_retrieved_is_no_source_and_is_named_and_costs_score(contest: Contest) -> None:
    enter(contest.workspace, ANSWERS, report=INVENTS)

    outcome = await contest.run(QUESTION, teams=["mine"], max_rounds=1, learn=False)

    (scored,) = rounds_of(contest)
    validity = metrics_of(scored)["citation_validity"]
    assert validity.score == 0.0
    assert "not retrieved: http://127.0.0.1:9/none" in validity.reason
    assert outcome.report is not None
    assert outcome.report.sources == []
    assert "[1]" not in outcome.report.executive_summary
    assert outcome.markdown is not None
    assert "Cited by the team's graph, and not retrieved: http://127.0.0.1:9/none" in outcome.markdown


OTHERS = {
    "a sync node": """
def answer(state):
    return {"messages": [AIMessage(REPORT)]}


agent = one_node(answer)
""",
    "an async factory": """
async def answer(state):
    return {"messages": [AIMessage(REPORT)]}


async def agent():
    return one_node(answer).compile()
""",
    "a saver of its own": """
from langgraph.checkpoint.memory import InMemorySaver


async def answer(state):
    return {"messages": [AIMessage(REPORT)]}


agent = one_node(answer).compile(checkpointer=InMemorySaver())
""",
    "a record": """
from pydantic import BaseModel


class Reply(BaseModel):
    markdown: str


class Own(TypedDict, total=False):
    question: str
    structured_response: Reply


async def answer(state):
    note(state["question"])
    return {"structured_response": Reply(markdown=REPORT)}


agent = one_node(answer, Own)
""",
}


@pytest.mark.parametrize("code", OTHERS.values(), ids=OTHERS)
async def test_graphs_of_many_kinds_give_their_report(contest: Contest, code: str) -> None:
    enter(contest.workspace, code)

    outcome = await contest.run(QUESTION, teams=["mine"], max_rounds=1, learn=False)

    assert outcome.report is not None
    assert [source.title for source in outcome.report.sources] == ["How resume works"]


async def test_a_round_shows_the_graph_its_last_report_and_what_judges_said(contest: Contest) -> None:
    enter(contest.workspace, ANSWERS)

    await contest.run(QUESTION, teams=["mine"], min_rounds=2, max_rounds=2, learn=False)

    _, first, second = noted().split("#####")
    assert QUESTION in first
    assert "# Your best report so far" not in first
    assert "The checkpoints lie in a SQLite file in the workspace [1]." in second
    assert "# What its judges said" in second
    assert "- <file-" in first
    assert "resume.md" in first


JAPANESE = """# 実行の再開

## 概要

実行の状態は各段階が終わるたびに保存される[1]。

## 主な発見

- 再開コマンドは保存内容を読み込んで続きから実行する[1]。

## 詳細な分析

最後に終わった段階までの結果は作業フォルダーに残る[1]。

## 制約と課題

保存内容の大きさは書かれていない。

## 参考文献

1. 再開の仕組み saikai.txt
"""


async def test_a_japanese_question_gets_a_japanese_report(contest: Contest) -> None:
    enter(contest.workspace, ANSWERS, report=JAPANESE)

    outcome = await contest.run(
        "プロセスが強制終了したあと、実行はどう再開しますか。", teams=["mine"], max_rounds=1, learn=False
    )

    assert "Markdownだけで返す" in noted()
    assert outcome.report is not None
    assert outcome.report.executive_summary == "実行の状態は各段階が終わるたびに保存される[1]。"
    assert [source.title for source in outcome.report.sources] == ["再開の仕組み"]


REACT = """from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from contend.tools import search

agent = create_agent(ChatOpenAI(model="small", base_url="{url}", api_key="sk-none"), tools=[search])
"""


def react(contest: Contest, **given: object) -> None:
    enter(contest.workspace, "", team=TEAM + 'sources = ["local"]\n', **given)
    (contest.workspace / "my_agent.py").write_text(REACT.format(url=contest.base_url), "utf-8")


async def test_a_plain_react_agent_searches_the_runs_documents_and_is_counted(
    contest: Contest, vendors: Vendors
) -> None:
    react(contest)

    outcome = await contest.run(QUESTION, teams=["mine"], max_rounds=1, learn=False)

    assert outcome.report is not None
    assert "How resume works" in [source.title for source in outcome.report.cited_sources()]
    steps = [event.detail for event in contest.events if isinstance(event, StepDone) and event.step == "graph"]
    assert [step.partition("(")[0] for step in steps] == ["model: search", "tools", "model"]
    assert [event.query for event in contest.events if isinstance(event, SearchDone)] == [QUESTION]
    (scored,) = rounds_of(contest)
    assert scored.usage.requests == len(vendors.calls)
    assert len([call for call in vendors.calls if call.model == "small"]) == 2


async def test_a_graph_whose_calls_use_up_the_budget_ends(contest: Contest, vendors: Vendors) -> None:
    react(contest)

    outcome = await contest.run(QUESTION, teams=["mine"], max_rounds=1, learn=False, max_calls=1)

    assert outcome.status == "failed"
    assert "max_calls = 1 would be exceeded" in outcome.message
    assert len(vendors.calls) == outcome.usage.requests == 1


FAULTY = {
    'graph = "my_agents:agent"': "cannot be loaded: FileNotFoundError",
    'graph = "my_agent:agents"': "cannot be loaded: AttributeError",
    'graph = "my_agent:REPORT"': "is a str: name a LangGraph graph, or a function without arguments that makes one",
    'graph = "my_agent:note"': "cannot be loaded: TypeError: note() missing 1 required positional argument",
    'graph = "my_agent:refused"': "cannot be loaded: RuntimeError: no key",
    'graph = "my_agent:odd"': "its graph takes number: it has to take `messages`, `question` or `theme`",
    'url = "http://127.0.0.1:9"\nassistant = "a"': "ConnectError: All connection attempts failed; start the server",
    'url = "http://127.0.0.1:9"\nassistant = "a"\napi_key_env = "NO_KEY"': "NO_KEY is not set, the key of its server",
}
ODD = """

class Odd(TypedDict):
    number: int


odd = one_node(answer, Odd)


def refused():
    raise RuntimeError("no key")
"""


@pytest.mark.parametrize(("entry", "fault"), FAULTY.items())
async def test_a_graph_that_cannot_play_is_refused_before_anything_is_spent(
    contest: Contest, vendors: Vendors, entry: str, fault: str
) -> None:
    enter(contest.workspace, ANSWERS + ODD, team=TEAM.replace('graph = "my_agent:agent"', entry))

    with pytest.raises(InputError) as refused:
        await contest.run(QUESTION, teams=["mine"])

    assert str(refused.value).startswith("team mine: ")
    assert fault in str(refused.value)
    assert vendors.calls == []


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("", "give `graph` as module:attribute, or `url` and `assistant`"),
        ('graph = "os.path"', "graph = 'os.path': String should match pattern"),
        ('graph = "a:b"\nurl = "http://a.example"\nassistant = "a"', "give `graph` as module:attribute"),
        ('url = "http://a.example"', "give `graph` as module:attribute, or `url` and `assistant`"),
    ],
)
def test_an_entry_that_names_no_graph_is_refused_in_one_line(workspace: Path, entry: str, fault: str) -> None:
    enter(workspace, ANSWERS, team=TEAM.replace('graph = "my_agent:agent"', entry))

    with pytest.raises(InputError, match=re.escape(fault)):
        load_config(workspace)


def test_no_file_outside_the_workspace_is_loaded(workspace: Path) -> None:
    enter(workspace, ANSWERS, team=TEAM.replace("my_agent:agent", "...secret:agent"))

    with pytest.raises(InputError, match="String should match pattern"):
        load_config(workspace)


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


def test_doctor_shows_each_graph_and_why_one_cannot_play(terminal: Terminal, workspace: Path) -> None:
    enter(workspace, ANSWERS)
    ready = {check["name"]: check for check in json.loads(terminal("doctor", "--json").out)["checks"]}
    enter(workspace, ANSWERS, team=TEAM.replace("my_agent:agent", "my_agent:misspelt"))
    faulty = {check["name"]: check for check in json.loads(terminal("doctor", "--json").out)["checks"]}

    assert ready["team mine"]["said"] == "my_agent:agent can play"
    assert faulty["team mine"]["state"] == "fault"
    assert "module 'contend_workspace.my_agent' has no attribute 'misspelt'" in faulty["team mine"]["said"]


def test_a_dry_run_names_a_graph_that_cannot_play(
    terminal: Terminal, contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(contest.workspace, ANSWERS, team=TEAM.replace("my_agent:agent", "my_agent:misspelt"))
    monkeypatch.setenv("OPENAI_BASE_URL", str(contest.base_url))

    said = terminal("run", QUESTION, "--team", "mine", "--dry-run")

    assert said.code == 2
    assert "team mine: graph = 'my_agent:misspelt' cannot be loaded" in said.err
