"""The command line as a test uses it: in this process for what it says, as a child for signals and imports."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from contend.cli.main import run_command

CONTEND = Path(sys.executable).with_name("contend")


class Said(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


class Terminal:
    """Runs commands in a workspace. `read` gives what was written since it was last asked."""

    def __init__(self, workspace: Path, read: Callable[[], tuple[str, str]]) -> None:
        self.workspace = workspace
        self._read = read

    def __call__(self, *arguments: str | Path) -> Said:
        given = ["--workspace", str(self.workspace), *map(str, arguments)]
        code = run_command(given)
        return Said(code, *self._read())

    def files(self) -> list[str]:
        """Every file below the workspace."""
        return sorted(str(path.relative_to(self.workspace)) for path in self.workspace.rglob("*") if path.is_file())


@contextmanager
def child_of(command: Sequence[str | Path], **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A child process with pipes; it does not outlive the block."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env={**os.environ, **environment}, stdout=pipe, stderr=pipe, text=True) as child:  # noqa: S603 - ours
        try:
            yield child
        finally:
            child.kill()


def started(*arguments: str | Path, **environment: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """The real command as a child."""
    return child_of([CONTEND, *arguments], **environment)


def said_by(*command: str | Path, **environment: str) -> Said:
    """How a command ended as a child process, and what it wrote."""
    with child_of(command, **environment) as child:
        out, err = child.communicate(timeout=240)
    return Said(child.returncode, out, err)
