"""The benchmark of statements: what code refutes of true and changed ones, and what a judge leaves unmarked."""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import statements

SHEETS = statements.sheets()


def test_code_refutes_changed_figures_and_leaves_true_statements_alone() -> None:
    """Four changed ones name a figure of their own quote that is another's: those are for judges."""
    rows = statements.counted(SHEETS, {})
    figures = [each for each in rows if each.kind in statements.FIGURES]
    true = [each for each in rows if each.is_true]

    assert sum(each.all for each in rows) == 2 * sum(each.all for each in true)
    assert sum(each.refuted for each in figures) >= 0.96 * sum(each.all for each in figures)
    assert sum(each.refuted for each in true) <= 0.01 * sum(each.all for each in true)


def test_a_judge_sees_every_statement_with_its_quotes_and_not_whether_it_is_true(tmp_path: Path) -> None:
    statements.write_prompts(tmp_path)
    asked = [path.read_text("utf-8") for path in sorted(tmp_path.iterdir())]

    for sheet, prompt in zip(SHEETS, asked, strict=True):
        for place, told in sheet.told.items():
            assert f"{place}: {told.statement.text}" in prompt
            assert all(f"“{quote}”" in prompt for quote in told.statement.quotes)
        assert "invented_input" not in prompt


def test_a_judges_doubts_are_marks_and_a_contradiction_needs_a_quote_of_the_passage(tmp_path: Path) -> None:
    sheet, file = SHEETS[0], tmp_path / "replies.jsonl"
    unrefuted = [place for place in sheet.told if place not in sheet.refuted()]
    changed = [place for place in unrefuted if sheet.told[place].kind != "true"]
    held = next(place for place in unrefuted if sheet.told[place].kind == "true")
    shown = sheet.told[changed[0]].statement.quotes[0]
    doubts = [doubt(changed[0], "contradicted", shown), doubt(changed[1], "contradicted", "nobody wrote it")]
    reply = {"citations": [], "doubts": [*doubts, doubt(held, "absent")], "criteria": [], "metrics": [], "missing": []}
    file.write_text(json.dumps({"prompt": 1, "reply": reply}) + "\n", "utf-8")

    rows = statements.counted([sheet], statements.replies(file))
    of_changed = [each for each in rows if not each.is_true]

    assert sum(each.judged for each in of_changed) == 2
    assert sum(each.struck for each in of_changed) == 1
    assert sum(each.all - each.marked for each in of_changed) == len(changed) - 2
    assert [each.marked for each in rows if each.is_true] == [1]


def doubt(place: str, verdict: str, quote: str = "") -> dict[str, Any]:
    return {"place": place, "reason": "It differs.", "quote": quote, "verdict": verdict}
