"""A page of another site in headless Chromium, and the server that hands it out and is told what its script saw."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import pytest

_SECONDS = 60
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


class Site:
    """A web server on this machine, to which the browser is led by any name. Pages report to `/seen`."""

    def __init__(self) -> None:
        self.page = ""
        self.seen: Queue[dict[str, Any]] = Queue()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(site.page.encode())

            def do_POST(self) -> None:
                site.seen.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self._answer(b"")

            def _answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()
    try:
        yield site
    finally:
        site.close()


def visit(site: Site, name: str, script: str, profile: Path) -> dict[str, Any]:
    """What a page's script returns that Chromium opened under this host name; every name leads to this machine."""
    site.page = f"""<!doctype html><meta charset=utf-8><script type=module>
const seen = await (async () => {{ {script} }})();
await fetch("/seen", {{method: "POST", body: JSON.stringify(seen)}});
</script>"""
    command = [
        chromium(),
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
        f"--user-data-dir={profile}",
        "--host-resolver-rules=MAP * 127.0.0.1",
        f"http://{name}:{site.port}/",
    ]
    with subprocess.Popen(  # noqa: S603 - a browser
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as browser:
        try:
            return site.seen.get(timeout=_SECONDS)
        finally:
            browser.terminate()


def chromium() -> str:
    """The browser's command. Without one a test is skipped, and fails where nothing may be skipped."""
    for name in _CHROMIUM:
        if path := shutil.which(name):
            return path
    if os.environ.get("CI"):
        raise AssertionError("Chromium is not installed: apt-get install chromium")
    pytest.skip("Chromium is not installed: apt-get install chromium")
