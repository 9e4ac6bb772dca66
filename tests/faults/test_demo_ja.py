"""`make demo-ja` plays a recorded contest in Japanese, over the documents of a hot-spring inn."""

import re
from typing import NamedTuple

import pytest

from contend.llm.recording import Recording
from fakes.demos import play_demo
from fakes.guide import ROOT

JAPANESE = ROOT / "demo" / "ja"
FACTS = {
    "the newer efficiency": r"3\.4",
    "the flow that was measured": r"46 ?リットル",
    "the auxiliary boiler that this flow needs": r"1,200,000|120 ?万円",
    "the subsidy's deadline, before the board meets": r"1月22日",
    "the notice before which nothing is signed": r"4月16日",
    "the offer's end": r"5月31日",
    "the second offer that the application needs": r"[2二] ?社",
    "a year with the boiler": r"5,380,000|538 ?万円",
    "a year with the heat pump": r"3,330,000|333 ?万円",
    "the difference": r"2,050,000 ?円|205 ?万円",
    "the subsidy, without the boiler": r"7,600,000|760 ?万円",
    "what is left to pay": r"16,400,000 ?円|1,?640 ?万円",
}
"""What the documents answer, as a report may write it."""


class Demo(NamedTuple):
    """What the demo said, and its report without references and appendix."""

    out: str
    whole: str
    report: str


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("clone")
    out = play_demo(folder, "ja")
    whole = (folder / "demo" / "ja" / "report.md").read_text("utf-8")
    return Demo(out, whole, whole.partition("## 参考文献")[0])


def test_the_japanese_demo_says_that_its_replies_are_recorded_when_and_by_which_model(demo: Demo) -> None:
    recorded = Recording.read(JAPANESE / "recording.jsonl").summary

    replies = f"{recorded.recorded_on}に記録（モデル {recorded.model}）"
    assert f"モデルの返答: {replies} · モデル呼び出しなし" in demo.out
    assert f"モデルの返答：{replies}" in demo.whole


def test_the_japanese_demo_answers_what_the_documents_answer(demo: Demo) -> None:
    assert [fact for fact, pattern in FACTS.items() if not re.search(pattern, demo.report)] == []
    assert "⚠" not in demo.report
    assert "~~" not in demo.report


def test_the_japanese_demo_gives_no_figure_for_what_no_document_tells(demo: Demo) -> None:
    assert re.search(r"地下タンクの廃止費は、土を調べるまで見積もれない(?:\[\d+\])?。", demo.report)
    assert "補助金の入金の時期と次の募集は資料になく、県に確かめる‡。" in demo.report


def test_both_teams_play_two_rounds_and_the_run_learns_into_a_playbook_of_its_own(demo: Demo) -> None:
    scored = {*re.findall(r"(\w+) +第(\d)ラウンド: 得点 [\d.]+/100", demo.out)}

    assert scored == {(team, number) for team in ("archivist", "skeptic") for number in "12"}
    assert re.search(r"プレイブック demo-ja、第1版: 追加\d件", demo.out)
