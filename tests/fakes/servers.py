"""The Agent Server on contend's graphs, as `contend serve` starts it."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from fakes.children import MAIN, child_environment

_MOST_SECONDS = 600


@dataclass(frozen=True)
class Server:
    """A running server, and its client."""

    url: str
    workspace: Path
    client: SyncLangGraphClient
    process: "subprocess.Popen[bytes]"

    @property
    def said(self) -> str:
        return log_of(self.workspace).read_text("utf-8")

    def assistant(self, graph: str) -> str:
        (found,) = self.client.assistants.search(graph_id=graph)
        return str(found["assistant_id"])

    def thread(self) -> str:
        return str(self.client.threads.create()["thread_id"])

    def run(self, graph: str, given: dict[str, Any] | None, **how: Any) -> dict[str, Any]:  # noqa: ANN401 - the SDK's
        """The run's output."""
        ended = self.client.runs.wait(how.pop("thread_id", None), graph, input=given, **how)
        assert isinstance(ended, dict)
        return ended

    def asked(self, thread: str) -> dict[str, str]:
        """The open questions' ids, by team."""
        waiting = self.client.threads.get_state(thread)["interrupts"]
        return {question["value"]["team_id"]: question["id"] for question in waiting}

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()


def log_of(workspace: Path) -> Path:
    return workspace / "server.log"


@contextmanager
def agent_server(workspace: Path, **variables: str) -> Iterator[Server]:
    """A server on the workspace. It ends with the block, and by itself after ten minutes."""
    log = log_of(workspace)
    port = str(_free_port())
    # The alarm outlives the exec by which contend becomes the server.
    command = [sys.executable, "-c", f"import signal; signal.alarm({_MOST_SECONDS}); {MAIN}", "serve", "--port", port]
    with (
        log.open("ab") as said,
        subprocess.Popen(  # noqa: S603 - contend itself
            command, env=child_environment(workspace, **variables), cwd=workspace, stdout=said, stderr=said
        ) as server,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(url, server, log)
            with get_sync_client(url=url) as client:
                yield Server(url, workspace, client, server)
        finally:
            server.terminate()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


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
