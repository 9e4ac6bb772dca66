"""`make demo-steps` plays a recorded research in steps, over more than its model can read at once."""

import re
from pathlib import Path

from contend.llm.recording import Recording
from fakes.demos import play_demo
from fakes.guide import ROOT

STEPS = ROOT / "demo" / "steps"


def test_a_team_looks_through_a_guide_that_its_model_cannot_read_whole(tmp_path: Path) -> None:
    out = play_demo(tmp_path, "steps")

    recorded = Recording.read(STEPS / "recording.jsonl").summary
    assert f"model replies: recorded on {recorded.recorded_on} (model {recorded.model}) · no model calls" in out
    researched = re.findall(r"archivist +round 1: researched: (\d+) of (\d+) parts? answered", out)
    assert len(researched) > 1
    assert int(researched[0][0]) < int(researched[-1][0])
    report = (tmp_path / "demo" / "steps" / "report.md").read_text("utf-8")
    assert "resume.md" in report
    assert "⚠" not in report.partition("## About this run")[0]
