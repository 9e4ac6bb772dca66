"""The shipped demos, played as `make` plays them, in a folder of their own."""

from pathlib import Path

from fakes.guide import ROOT, write_command
from fakes.terminal import child_of


def play_demo(clone: Path, name: str = "", **variables: str) -> str:
    """Play `make demo`, or `make demo-NAME`, in an empty folder; gives what it printed. It must succeed."""
    with child_of(make_demo(clone, name), **variables) as child:
        out, err = child.communicate(timeout=240)
    assert child.returncode == 0, err
    return str(out)


def make_demo(clone: Path, name: str = "") -> list[str]:
    """Put what a demo needs into an empty folder; gives the command that plays it there."""
    place = Path("demo", name)
    (clone / place).mkdir(parents=True)
    for shipped in ("documents", "question.txt", "recording.jsonl"):
        (clone / place / shipped).symlink_to(ROOT / place / shipped)
    write_command(clone)
    make = ["make", "--makefile", str(ROOT / "Makefile"), "--directory", str(clone)]
    # The environment that the tests run in stands for the demo's own.
    return [*make, f"demo-{name}" if name else "demo", "--assume-old=.venv/core", f"BIN={clone}"]
