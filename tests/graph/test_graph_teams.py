"""A team that somebody else's graph plays: asked, its sources retrieved, scored like any other."""

import json
from pathlib import Path

import pytest

from contend.models.events import SearchDone, SourceOff, StepDone
from contend.verifying import read_ledger, verify
from fakes.contests import Contest, metrics_of, rounds_of
from fakes.own_graphs import ANSWERS, QUESTION, enter, notes, react
from fakes.vendors import Vendors


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    return Contest(workspace, documents, vendors.base_url, defaults={"learn": False})


async def test_a_graph_wins_a_contest_with_a_report_whose_sources_were_retrieved(contest: Contest) -> None:
    enter(contest.workspace, ANSWERS)

    outcome = await contest.run(QUESTION, teams=["mine"], max_rounds=1)

    assert outcome.status == "completed", outcome.message
    assert outcome.report is not None
    assert [source.title for source in outcome.report.sources] == ["How resume works"]
    assert "A run keeps a checkpoint after every step[1]." in outcome.report.executive_summary
    assert "| checkpoints | a SQLite file in the workspace[1] |" in outcome.report.detailed_analysis
    (row,) = rounds_of(contest)
    assert metrics_of(row)["citation_support"].score == 1.0


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
    "a saver of its own that knows no async": """
import sqlite3

from langgraph.checkpoint.sqlite import SqliteSaver


async def answer(state):
    return {"messages": [AIMessage(REPORT)]}


saver = SqliteSaver(sqlite3.connect("own.sqlite", check_same_thread=False))
agent = one_node(answer).compile(checkpointer=saver)
""",
    "annotations as text": """
class Own(TypedDict, total=False):
    messages: "Annotated[list, add_messages]"


async def answer(state):
    return {"messages": [AIMessage(REPORT)]}


agent = one_node(answer, Own)
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

    _, first, second = notes().split("#####")
    assert QUESTION in first
    assert "# Your best report so far" not in first
    assert "The checkpoints lie in a SQLite file in the workspace[1]." in second
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

    assert "Markdownだけで返す" in notes()
    assert outcome.report is not None
    assert outcome.report.executive_summary == "実行の状態は各段階が終わるたびに保存される[1]。"
    assert [source.title for source in outcome.report.sources] == ["再開の仕組み"]


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
    (row,) = rounds_of(contest)
    assert row.usage.requests == len(vendors.calls) - vendors.prompts().count("evaluator/criteria")
    assert len([call for call in vendors.calls if call.model == "small"]) == 2


async def test_a_source_that_fails_in_a_graphs_search_is_told_and_named_in_the_report(contest: Contest) -> None:
    react(contest)
    team = contest.workspace / "config" / "teams" / "mine.toml"
    team.write_text(team.read_text("utf-8").replace('["local"]', '["shelf", "local"]'), "utf-8")
    (contest.workspace / "my_shelf.py").write_text(
        "def shelf(query, limit):\n    raise KeyError('no shelf')\n", "utf-8"
    )
    (contest.workspace / "config" / "sources.toml").write_text(
        '[sources.shelf]\nfunction = "my_shelf:shelf"\n', "utf-8"
    )

    sources = ["shelf", "local"]
    outcome = await contest.run(QUESTION, teams=["mine"], sources=sources, max_rounds=1, learn=False)

    off = [(event.team_id, event.source) for event in contest.events if isinstance(event, SourceOff)]
    assert off == [("mine", "shelf")]
    assert outcome.markdown is not None
    assert "shelf (the function of source shelf raised KeyError" in outcome.markdown


PLANT = "# Plant\n\n" + "\n\n".join(
    f"## Hall {number}\n\nHall {number} makes {number}4,{number}07 units a month. {'It is swept. ' * 60}"
    for number in range(1, 7)
)
TOLD = """# Plant

The plant has several halls. In 2019 there were 17 of them.

- Of all halls, number 6 makes most by far: 64,607 units a month [1].
- Hall 2 makes 24,902 units a month [1].
- There are 5 reasons for that [1].

## References

1. plant.md
"""


async def test_figures_of_a_graphs_report_are_held_against_what_it_cites_and_one_that_is_not_there_is_struck_out(
    contest: Contest, vendors: Vendors
) -> None:
    (contest.documents / "plant.md").write_text(PLANT, "utf-8")
    enter(contest.workspace, ANSWERS, report=TOLD)
    said = [{"number": each, "reason": "So it is.", "quote": "units a month", "verdict": "stated"} for each in (1, 2)]
    vendors.malform(lambda reply: json.dumps(json.loads(reply) | {"citations": said}), prompt="evaluator/verdicts")

    outcome = await contest.run("How much do the halls make?", teams=["mine"], max_rounds=1)

    report, _, to_check = (outcome.markdown or "").partition("### Citations to check")
    support = metrics_of(rounds_of(contest)[0])["citation_support"]
    assert "~~Hall 2 makes 24,902 units a month[1].~~ ⚠" in report
    assert report.count("~~") == 2
    assert "24,902" in to_check
    assert support.evidence == ["Hall 2 makes 24,902 units a month."]
    assert support.score == 2 / (3 + 2), "two statements cite nothing"
    ledger = read_ledger(next((contest.workspace / "results").rglob("report.json")))
    assert {each.text for each in ledger.statements if each.refuted} == {*support.evidence}
    assert [each.place for each in verify(ledger) if each.state != "holds"] == []
