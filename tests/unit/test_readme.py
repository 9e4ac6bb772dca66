"""The README's example does what the README says of it."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_python_example_answers_its_question_from_the_demos_documents_first_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    match = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
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
