"""The guide's blocks of code, and a folder in which a reader would try them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from fakes import fork_client
from fakes.children import outside
from fakes.fork_server import fork_server

ROOT = Path(__file__).parents[2]
_AT_THE_ROOT = ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY")
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / f"{name}.md" for name in _AT_THE_ROOT)])
EXAMPLES = sorted((ROOT / "examples").rglob("README.md"))
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """A page's blocks in a language, in order."""
    return [text for kind, text in _BLOCK.findall(page.read_text("utf-8")) if kind == language]


def run_block(block: str, folder: Path, *tools: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a block of shell in a folder, with the programs of `tools` first. It must succeed."""
    path = os.pathsep.join([*map(str, tools), os.environ["PATH"]])
    done = subprocess.run(  # noqa: S603 - the page's own lines
        ["bash", "-e", "-c", block],  # noqa: S607 - as a reader has it
        cwd=folder,
        env={**outside(CONTEND_ARXIV_BASE_URL="http://127.0.0.1:9", **variables), "PATH": path},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


def without_blocks(text: str) -> str:
    return _BLOCK.sub("", text)


def definitions(page: str, name: str) -> dict[str, object]:
    """What the one Python block of a page under `docs` defines that has `name` in it."""
    (block,) = [text for text in blocks(ROOT / "docs" / page, "python") if f"def {name}(" in text]
    names: dict[str, object] = {}
    exec(compile(block, page, "exec"), names)  # noqa: S102 - the guide's own example
    return names


def reader_folder(folder: Path) -> Path:
    """Where a reader stands: the demo, labels, an edited plan, an environment to activate, and nothing to install."""
    tools, activated = folder / "bin", folder / ".venv" / "bin"
    for each in (tools, activated):
        each.mkdir(parents=True)
    shutil.copytree(
        ROOT / "demo", folder / "demo", ignore=shutil.ignore_patterns("workspace", "*.results.jsonl", "report.*")
    )
    (folder / "plan.toml").write_text('search_queries = ["bridge wind vortices"]\n', "utf-8")
    for labels in ("train.jsonl", "validation.jsonl", "test.jsonl"):
        (folder / labels).write_text(LABELS, "utf-8")
    (activated / "activate").write_text(":\n", "utf-8")
    # What installs, builds or serves is run by tests of its own.
    for name in ("make", "pip", "python3", "curl"):
        (tools / name).write_text("#!/bin/sh\nexit 0\n", "utf-8")
        (tools / name).chmod(0o755)
    write_command(tools)
    return folder


def write_command(folder: Path) -> None:
    """A program `contend` that need not import it; `contend serve` does nothing."""
    command = f"{sys.executable} -SE {fork_client.__file__} {fork_server()}"
    (folder / "contend").write_text(f'#!/bin/sh\n[ "$1" = serve ] || exec {command} "$@"\n', "utf-8")
    (folder / "contend").chmod(0o755)


LABELS = """{"question": "What is 2 plus 3?", "answer": "5"}
{"question": "What is 7 minus 4?", "answer": "3"}
"""
