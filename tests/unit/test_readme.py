"""The README's example does what the README says of it, and its figures are what their sources give."""

import re
import runpy
from pathlib import Path

import pytest

from fakes.obedient import PlantedOrder
from faults.test_kill import DECISIONS, MOMENTS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_python_example_answers_its_question_from_the_demos_documents_first_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    match = re.search(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert match is not None
    example = tmp_path / "example.py"
    example.write_text(match[1], "utf-8")
    (tmp_path / "demo").symlink_to(ROOT / "demo")
    monkeypatch.setenv("CONTEND_WORKSPACE", str(tmp_path / "workspace"))

    runpy.run_path(str(example), run_name="__main__")

    output = capsys.readouterr().out
    assert output.startswith("completed in thread ")
    assert "\n1. 3 **crossings** were **cancelled**, all on 9 January 2026" in output
    newer = output.index("> 3 **crossings** were **cancelled**")
    older = output.index("> 19 **crossings** were **cancelled** because the battery was too cold to charge in time.")
    assert (
        newer
        < older
        < output.index("**superseded, by its name or day: winter-trial-2026-04-14.md (2026-04-14) is newer**")
    )
    assert "; winter-trial-2025-04-11.md" in output
    assert "a search of your documents; no language model" in output


def test_the_figures_of_changed_statements_are_those_of_the_benchmark_that_the_readme_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    match = re.search(r"`python (benchmarks/statements.py) (--judge) (\S+)`", README)
    assert match is not None
    monkeypatch.setattr("sys.argv", [match[1], match[2], str(ROOT / match[3])])

    runpy.run_path(str(ROOT / match[1]), run_name="__main__")

    output = capsys.readouterr().out
    unmarked, refuted = re.search(r"without a mark: (.+) \(", output), re.search(r"figures refuted: (.+) \(", output)
    assert unmarked is not None
    assert refuted is not None
    assert f"**{unmarked[1]}** changed statements printed without a mark" in README
    by_code, figures = refuted[1].split(" of ")
    assert f"{figures} of them in a figure or date: code alone refuted {by_code} of these" in README


def test_the_readme_counts_as_many_kills_and_orders_as_its_tests_have() -> None:
    kills = len(MOMENTS) + len(DECISIONS) + 1  # and one while the run is opened

    assert f"**{kills} of {kills}** killed runs" in README
    assert f"the process was killed at {kills} moments" in README
    assert f"**0 of {len(PlantedOrder.all())}** planted orders printed" in README


def test_the_readme_is_read_in_a_minute_or_two() -> None:
    assert len(README.encode()) < 12_000
