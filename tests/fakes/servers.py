"""The Agent Server on contend's graphs, as `contend serve` starts it."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from fakes.children import MAIN, child_environment

_MOST_SECONDS = 600


@contextmanager
def agent_server(workspace: Path, log: Path, **variables: str) -> Iterator[str]:
    """The address of a running server. It ends with the block, and by itself after ten minutes."""
    port = str(_free_port())
    # The alarm outlives the exec by which contend becomes the server.
    command = [sys.executable, "-c", f"import signal; signal.alarm({_MOST_SECONDS}); {MAIN}", "serve", "--port", port]
    with (
        log.open("wb") as said,
        subprocess.Popen(  # noqa: S603 - contend itself
            command, env=child_environment(workspace, **variables), cwd=workspace, stdout=said, stderr=said
        ) as server,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url, server, log)
            yield url
        finally:
            server.terminate()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _wait_for(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    while server.poll() is None:
        try:
            with urlopen(f"{url}/ok", timeout=5):  # noqa: S310 - our own address
                return
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(0.05)
    raise AssertionError(f"the server ended: {log.read_text('utf-8')[-2000:]}")
