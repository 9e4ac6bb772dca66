"""The guide's blocks of code, and a folder in which a reader would try them."""

import re
import sys
from pathlib import Path

from fakes import fork_client
from fakes.fork_server import fork_server

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "ARCHITECTURE.md"])
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """A page's blocks in a language, in order."""
    return [text for kind, text in _BLOCK.findall(page.read_text("utf-8")) if kind == language]


def without_blocks(text: str) -> str:
    return _BLOCK.sub("", text)


def definitions(page: str, name: str) -> dict[str, object]:
    """What the one Python block of a page under `docs` defines that has `name` in it."""
    (block,) = [text for text in blocks(ROOT / "docs" / page, "python") if f"def {name}(" in text]
    names: dict[str, object] = {}
    exec(compile(block, page, "exec"), names)  # noqa: S102 - the guide's own example
    return names


def reader_folder(folder: Path) -> Path:
    """Where a reader stands: papers, labels, an edited plan, an environment to activate, and nothing to install."""
    papers, tools, activated = folder / "papers", folder / "bin", folder / ".venv" / "bin"
    for each in (papers, tools, activated):
        each.mkdir(parents=True)
    (papers / "bridges.md").write_text(BRIDGES, "utf-8")
    (papers / "hashi.md").write_text(HASHI, "utf-8")
    (folder / "plan.toml").write_text('search_queries = ["bridge wind vortices"]\n', "utf-8")
    for labels in ("train.jsonl", "validation.jsonl", "test.jsonl"):
        (folder / labels).write_text(LABELS, "utf-8")
    (folder / "questions.jsonl").write_text(QUESTIONS, "utf-8")
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


QUESTIONS = """{"theme": "Why do bridges hum in the wind?", "options": {"documents": ["papers"], "sources": ["local"]}}
{"theme": "Whom does the hum of a bridge harm?", "options": {"documents": ["papers"], "sources": ["local"]}}
"""
LABELS = """{"question": "What is 2 plus 3?", "answer": "5"}
{"question": "What is 7 minus 4?", "answer": "3"}
"""
BRIDGES = """# Why long bridges hum in the wind

A long bridge hums in the wind because the air leaves its deck in vortices that come in a steady rhythm. The hum is
loudest when the rhythm of the vortices meets a natural frequency of the deck. Steady wind makes a bridge hum more than
gusts do, since gusts break the rhythm. Engineers fix dampers to the cables of a long bridge, which take the energy out
of the swing. Fairings along the deck guide the air and keep the vortices small. The hum of a bridge harms nobody as
long as the swing of its deck stays below the limits that engineers have set. A bridge of steel hums higher than a
bridge of concrete, because its deck is lighter and stiffer.
"""
HASHI = """# 長い橋はなぜ風で鳴るのか

長い橋が風で鳴るのは、空気の渦が橋桁から規則正しく離れ、その周期が橋桁の振動と重なるためです。
風が一定の強さで吹くときには渦の周期が揃うので、橋の音は突風のときよりも大きくなります。
技術者は橋の振動を抑えるために、ケーブルに制振装置を取り付けて揺れのエネルギーを吸収させます。
橋桁の縁に整流板を取り付けると空気の流れが滑らかになり、渦が小さくなって音も静かになります。
"""
