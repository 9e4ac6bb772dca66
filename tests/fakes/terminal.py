"""The command line as a test uses it: in this process for what it says, as a child for signals and imports."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from contend.cli.main import run_command
from fakes.children import enter_folder
from fakes.fork_server import Process

CONTEND = Path(sys.executable).with_name("contend")


class CommandResult(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


class Terminal:
    """Runs commands in a workspace. `read` gives what was written since it was last asked."""

    def __init__(self, workspace: Path, read: Callable[[], tuple[str, str]]) -> None:
        self.workspace = workspace
        self._read = read

    def __call__(self, *arguments: str | Path) -> CommandResult:
        options = ["--workspace", str(self.workspace), *map(str, arguments)]
        code = run_command(options)
        return CommandResult(code, *self._read())

    def files(self) -> list[str]:
        """Every file below the workspace."""
        return sorted(str(path.relative_to(self.workspace)) for path in self.workspace.rglob("*") if path.is_file())


def run_before(workspace: Path, base_url: str, *commands: Sequence[str | Path]) -> list[CommandResult]:
    """Commands that run once for all tests that read what they said and left, or go on from a copy of it."""
    workspace.mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        enter_folder(workspace, patch)
        patch.setenv("OPENAI_BASE_URL", base_url)
        terminal = Terminal(workspace, lambda: (_take(out), _take(err)))
        return [terminal(*command) for command in commands]


def _take(stream: StringIO) -> str:
    text = stream.getvalue()
    stream.seek(0)
    stream.truncate()
    return text


@contextmanager
def child_of(command: Sequence[str | Path], **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A child process with pipes; it does not outlive the block."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env={**os.environ, **environment}, stdout=pipe, stderr=pipe, text=True) as child:  # noqa: S603 - ours
        try:
            yield child
        finally:
            child.kill()


def start_command(*arguments: str | Path, **environment: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """The real command as a child."""
    return child_of([CONTEND, *arguments], **environment)


def run_child(*command: str | Path, **environment: str) -> CommandResult:
    """How a command ended as a child process, and what it wrote."""
    with child_of(command, **environment) as child:
        out, err = child.communicate(timeout=240)
    return CommandResult(child.returncode, out, err)


def run_in_own_process(*arguments: str | Path, **environment: str) -> CommandResult:
    """How a command of contend's ended in a process of its own, whose start is not what is tested."""
    with closing(Process(*map(str, arguments), folder=Path.cwd(), environment={**os.environ, **environment})) as child:
        return CommandResult(out=child.stdout.read(), err=child.stderr.read(), code=child.wait())
