"""The examples of a source, a metric and a team of one's own run as their READMEs say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.children import outside
from fakes.guide import ROOT, blocks

OUTPUT = {
    "own_source": [
        "Insuring the electric ferry Tern will cost 520,000 kroner a year[1].",
        "https://letters.lindvik.example/havtrygg-offer",
        "order-brief-2026-09-03.md",
    ],
    "own_metric": [
        "short_sentences      weight 0.10  1.00  the longest sentence has",
        "recent               weight 0.20  0.",
        "cited statements rest on documents of 2026 or later",
        "coverage             weight 0.31",
    ],
    "own_team": ["| excerpts |", "| Archivist |", "Cancelled crossings, Range and charging"],
}
"""What a reader must see, by the example's folder."""


@pytest.mark.parametrize("example", OUTPUT)
def test_the_commands_of_an_example_show_what_its_readme_says(example: str, tmp_path: Path) -> None:
    (block,) = blocks(ROOT / "examples" / example / "README.md", "sh")
    environment = {
        **outside(CONTEND_WORKSPACE=str(tmp_path / "workspace"), CONTEND_ARXIV_BASE_URL="http://127.0.0.1:9"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }

    done = subprocess.run(  # noqa: S603 - the example's own line
        ["bash", "-e", "-c", block],  # noqa: S607 - as a reader has it
        cwd=ROOT,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert [text for text in OUTPUT[example] if text not in done.stdout] == []
