"""The Agent Server on contend's graphs, as `contend serve` and `langgraph dev` start it."""

import asyncio
import http.client
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from contend.learning.by_hand import PlaybookEditor
from contend.stores.playbooks import PlaybookStore
from fakes.children import MAIN, outside
from fakes.loopback import free_port

REPOSITORY = Path(__file__).parents[2]
_MOST_SECONDS = 3600
_MOST_BUSY_SECONDS = 90
_SERVE = f"import signal; signal.alarm({_MOST_SECONDS}); {MAIN}"
"""The alarm outlives the exec by which contend becomes the server."""

_DEV = f"""
import os, signal, sys
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))  # so that it ends its worker too
signal.alarm({_MOST_SECONDS})
from langgraph_cli.cli import cli
sys.argv[0] = "langgraph"
cli()
"""


@dataclass(frozen=True)
class Server:
    """A running server, and its client."""

    url: str
    workspace: Path
    client: SyncLangGraphClient
    process: "subprocess.Popen[bytes]"
    log: Path

    def import_lessons(self, dataset: str, text: str) -> None:
        """As `contend playbook import` in its workspace; in a thread, for a browser's tests have a loop already."""
        editor = PlaybookEditor(PlaybookStore(self.workspace / "playbooks"), dataset)
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, editor.import_file(text, name="lessons.json")).result()

    @property
    def log_text(self) -> str:
        return self.log.read_text("utf-8")

    def assistant(self, graph: str) -> str:
        (result,) = self.client.assistants.search(graph_id=graph, metadata={"created_by": "system"})
        return str(result["assistant_id"])

    def thread(self) -> str:
        return str(self.client.threads.create()["thread_id"])

    def run(self, graph: str, values: dict[str, Any] | None, **how: Any) -> dict[str, Any]:  # noqa: ANN401 - the SDK's
        """The run's output."""
        output = self.client.runs.wait(how.pop("thread_id", None), graph, input=values, **how)
        assert isinstance(output, dict)
        return output

    def open_questions(self, thread: str) -> dict[str, str]:
        """The open questions' ids, by team; where several are open, they are one interrupt."""
        (question,) = self.client.threads.get_state(thread)["interrupts"]
        value = question["value"]
        return (
            {value["team_id"]: question["id"]}
            if value["team_id"]
            else {request["team_id"]: request["question_id"] for request in value["action_requests"]}
        )

    def until_idle(self) -> None:
        """Until no run is at work or in the queue, so that a test meets none that another one began.

        A thread that stays busy fails each test by name, not all tests after the longest time a test may take.
        """
        until = time.monotonic() + _MOST_BUSY_SECONDS
        while busy := self.client.threads.search(status="busy", limit=1):
            assert time.monotonic() < until, f"thread {busy[0]['thread_id']} stays busy"
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL; its worker's, too, which `langgraph dev` has."""
        workers = _children(self.process.pid)
        self.process.kill()
        self.process.wait()
        for worker in workers:
            with suppress(ProcessLookupError):  # it ended with its parent
                os.kill(worker, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    """As Linux tells them; elsewhere none is known."""
    file = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in file.read_text("ascii").split()] if file.exists() else []


def ask(
    server: Server, method: str, path: str, headers: dict[str, str], body: str = ""
) -> tuple[int, dict[str, str], str]:
    """Status, headers and body; exactly these headers are sent."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=240)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in ({"Host": f"{host}:{port}"} | headers).items():
        connection.putheader(name, value)
    if body:
        connection.putheader("Content-Length", str(len(body.encode())))
    connection.endheaders(body.encode() or None)
    answer = connection.getresponse()
    try:
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


@contextmanager
def agent_server(
    workspace: Path, *, started_in: Path | None = None, port: int = 0, **variables: str
) -> Iterator[Server]:
    """`contend serve` on the workspace. It ends with the block, and by itself after an hour."""
    variables = {"CONTEND_WORKSPACE": str(workspace), **variables}
    with _server(_SERVE, ["serve"], started_in or workspace, workspace, variables, port=port) as server:
        yield server


@contextmanager
def langgraph_dev(clone: Path, workspace: Path | None = None, **variables: str) -> Iterator[Server]:
    """Bare `langgraph dev --no-browser` in a clone, as users start it. Without a workspace, the clone is it."""
    workspace_variable = {} if workspace is None else {"CONTEND_WORKSPACE": str(workspace)}
    workspace_folder = clone if workspace is None else clone / workspace
    with _server(_DEV, ["dev", "--no-browser"], clone, workspace_folder, {**workspace_variable, **variables}) as server:
        yield server


def fresh_clone(folder: Path) -> Path:
    """The repository's files as git keeps them, committed in a repository of their own."""
    names = _git(REPOSITORY, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, folder / name)
    return fresh_repository(folder)


def fresh_repository(folder: Path) -> Path:
    """A folder whose files are committed in a repository of its own."""
    _git(folder, "init", "--quiet")
    _git(folder, "add", "--all")
    _git(folder, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "--message", "all")
    return folder


def changes(clone: Path) -> str:
    """What git would show of a clone as changed or new."""
    return _git(clone, "status", "--porcelain")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - git


@contextmanager
def _server(
    code: str,
    arguments: Sequence[str],
    started_in: Path,
    workspace: Path,
    variables: dict[str, str],
    *,
    port: int = 0,
) -> Iterator[Server]:
    log = started_in.with_name(f"{started_in.name}.log")
    port = port or free_port()
    command = [sys.executable, "-c", code, *arguments, "--port", str(port)]
    with (
        log.open("ab") as log_file,
        subprocess.Popen(  # noqa: S603 - contend itself
            command, env=outside(**variables), cwd=started_in, stdout=log_file, stderr=log_file
        ) as server,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(url, server, log)
            with get_sync_client(url=url, api_key=variables.get("CONTEND_SERVER_TOKEN")) as client:
                yield Server(url, workspace, client, server, log)
            assert "Blocking" not in log.read_text("utf-8")
        finally:
            server.terminate()


def wait_for(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Until this server answers. On a busy machine another process may have taken its port, and answer there."""
    while server.poll() is None:
        try:
            with urlopen(f"{url}/ok", timeout=5):  # noqa: S310 - our own address
                if _listens(server.pid, int(url.rpartition(":")[2])):
                    return
                time.sleep(0.05)
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(0.05)
    raise AssertionError(f"the server ended: {log.read_text('utf-8')[-2000:]}")


def _listens(pid: int, port: int) -> bool:
    """Whether the process holds a socket that listens on the port, as Linux tells it; elsewhere it is taken to."""
    table = Path("/proc/net/tcp")
    if not table.is_file():
        return True
    rows = [line.split() for line in table.read_text("ascii").splitlines()[1:]]
    listening = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port}
    return not listening.isdisjoint(_held(pid))


def _held(pid: int) -> Iterator[str]:
    for handle in Path(f"/proc/{pid}/fd").glob("*"):
        with suppress(FileNotFoundError):  # closed meanwhile
            yield str(handle.readlink())
