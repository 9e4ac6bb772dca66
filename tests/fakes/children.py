"""The command line as a child process: its JSON lines are watched, and it can be killed at any of them."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fakes.fork_server import Process

MAIN = "from contend.cli.main import main; main()"
Event = dict[str, Any]
_FOREIGN = ("CONTEND_", "OPENAI_", "TAVILY_", "LANGSMITH_", "LANGCHAIN_")


def enter_folder(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """No key, address, option or language of the machine reaches what runs in this process."""
    for name in [*os.environ]:
        if name.startswith(_FOREIGN) and name != "CONTEND_DATA":
            patch.delenv(name)
    patch.setenv("LANGSMITH_TRACING", "false")
    patch.setenv("LC_ALL", "C.UTF-8")
    patch.chdir(folder)


def outside(**variables: str) -> dict[str, str]:
    """This machine's environment without its keys, addresses and options for contend."""
    own_variables = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return {**own_variables, "LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1", **variables}


def child_environment(workspace: Path, **variables: str) -> dict[str, str]:
    return outside(CONTEND_WORKSPACE=str(workspace), **variables)


class Child:
    """A `contend` command with `--json`. `events` are those read so far."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.events: list[Event] = []

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def until(self, kind: str, **fields: object) -> Event:
        """Read on to the first event of this kind with these fields."""
        for event in self._read():
            if event["type"] == kind and all(event.get(name) == value for name, value in fields.items()):
                return event
        raise AssertionError(f"the child ended without {kind} {fields}: {self._error_output()}")

    def kill(self) -> None:
        """SIGKILL. What it had written until then is read."""
        self._process.kill()
        self._process.wait()
        self.events += self._read()

    def end(self) -> Event:
        """Read to the end; the outcome, or what was said on standard error as its `message`."""
        outcome: Event = {"type": ""}
        for event in self._read():
            outcome = event
        output = self._error_output()
        message = outcome["message"] if outcome["type"] == "outcome" else output
        return {**outcome, "exit_code": self._process.returncode, "message": message or output}

    def close(self) -> None:
        self._process.close()

    def _read(self) -> Iterator[Event]:
        for line in self._process.stdout:
            try:
                event: Event = json.loads(line)
            except ValueError:
                assert not line.endswith("\n"), f"a line that is no JSON: {line}"
                return  # cut off by a kill
            self.events.append(event)
            yield event

    def _error_output(self) -> str:
        output = self._process.stderr.read()
        self._process.wait()
        return output.strip()


@contextmanager
def contend_child(workspace: Path, *arguments: str | Path, base_url: str | None = None) -> Iterator[Child]:
    """A running command; killed at the end if it still runs."""
    endpoint = {} if base_url is None else {"OPENAI_BASE_URL": base_url}
    environment = child_environment(workspace, **endpoint)
    child = Child(Process(*map(str, arguments), "--json", folder=workspace, environment=environment))
    try:
        yield child
    finally:
        child.close()
