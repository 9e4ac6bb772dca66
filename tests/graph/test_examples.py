"""What `examples` shows runs as its READMEs say, and what stands there as output is what it gives today.

`examples/http_api` and the picture of `examples/ferry` have tests beside the servers that they need.
"""

import asyncio
import json
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

from fakes.guide import EXAMPLES, ROOT, blocks, run_block, write_command
from fakes.vendors import Vendors

OUTPUT = {
    "own_documents": [
        "3 **crossings** were **cancelled**, all on 9 January 2026",
        "## References",
        "# What does a year with the diesel ferry cost?",
    ],
    "graph_with_thread": [
        "The run waits: ",
        "Its report begins: ",
        "Next node: approve_report\n",
        "## References",
        "merged of the best parts of 3 teams' reports",
    ],
    "in_own_graph": ["Dear colleague,", "winter-trial-2026-04-14.md", "- Skarv in its second winter"],
    "guest_team": ["Mine", "Skeptic", "done: "],
}
"""What a reader must see, by the example's folder."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a reader of a clone has; a run leaves nothing in this one."""
    folder = tmp_path / "clone"
    folder.mkdir()
    own_runs = shutil.ignore_patterns("results", "documents", "leases", "playbooks", "*.sqlite*", "*.duckdb*")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=own_runs)
    for name in ("demo", "tests"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "bin").mkdir()
    write_command(folder / "bin")
    return folder


def run_in_clone(block: str, folder: Path, **variables: str) -> str:
    """What a block of shell printed."""
    tools = (folder / "bin", Path(sys.executable).parent)
    return run_block(block, folder, *tools, CONTEND_WORKSPACE=str(folder / "workspace"), **variables).stdout


@pytest.mark.parametrize("example", OUTPUT)
def test_the_commands_of_an_example_show_what_its_readme_says(example: str, clone: Path, vendors: Vendors) -> None:
    printed = ""
    for block in blocks(ROOT / "examples" / example / "README.md", "sh"):
        model = {"OPENAI_BASE_URL": vendors.base_url, "OPENAI_API_KEY": "none"} if "contend run" in block else {}
        printed += run_in_clone(block, clone, **model)

    assert [text for text in OUTPUT[example] if text not in printed] == []


def test_every_example_has_a_readme_that_the_list_of_examples_names() -> None:
    folders = {path.name for path in (ROOT / "examples").iterdir() if path.is_dir()}
    listed = set(re.findall(r"\]\((\w+)/README\.md\)", (ROOT / "examples" / "README.md").read_text("utf-8")))

    assert {path.parent.name for path in EXAMPLES} - {"examples"} == folders
    assert listed == folders


def test_the_notebook_has_the_output_that_its_cells_give_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    script = runpy.run_path(str(ROOT / "scripts" / "notebook.py"))
    text = script["NOTEBOOK"].read_text("utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    monkeypatch.chdir(script["NOTEBOOK"].parent)

    outputs = asyncio.run(script["run_cells"](["".join(cell["source"]) for cell in cells]))

    assert timeless(script["written"](outputs)) == timeless(text), "the notebook is out of date: make sample"


def timeless(text: str) -> str:
    return re.sub(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}|(?:\d+ min )?\d+(?:\.\d)? s\b", "TIME", text)
