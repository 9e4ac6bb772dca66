"""The examples of a source, a metric and a team of one's own run as their READMEs say."""

import sys
from pathlib import Path

import pytest

from fakes.guide import ROOT, blocks, run_block

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
    workspace = str(tmp_path / "workspace")

    done = run_block(block, ROOT, Path(sys.executable).parent, CONTEND_WORKSPACE=workspace)

    assert done.stderr == ""
    assert [text for text in OUTPUT[example] if text not in done.stdout] == []
