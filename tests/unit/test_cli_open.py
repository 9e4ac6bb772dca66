"""`contend open`: the live page of a running server, in the person's browser."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fakes.terminal import CommandResult, Terminal, run_in_own_process


@contextmanager
def page_server(path: str) -> Iterator[int]:
    """A server that has something at one path only; its port."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == path else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


@pytest.fixture
def browser(tmp_path: Path) -> Path:
    """A browser that notes which address it was given, in `opened.txt` beside it."""
    program = tmp_path / "browser.sh"
    program.write_text('#!/bin/sh\necho "$1" > "$(dirname "$0")/opened.txt"\n')
    program.chmod(0o755)
    return program


def run_open(browser: Path, *given: str) -> CommandResult:
    """`contend open` as a person with this browser calls it: a process settles which browsers there are once."""
    return run_in_own_process("open", *given, BROWSER=f"{browser} %s")


@pytest.mark.parametrize(("thread", "place"), [((), ""), (("bridges",), "#/run/bridges")])
def test_the_page_is_opened_and_its_address_printed(browser: Path, thread: tuple[str, ...], place: str) -> None:
    with page_server("/app/") as port:
        result = run_open(browser, *thread, "--port", str(port))

    address = f"http://127.0.0.1:{port}/app/{place}"
    assert (result.code, result.out, result.err) == (0, f"{address}\n", "")
    assert browser.with_name("opened.txt").read_text() == f"{address}\n"


def test_without_a_browser_the_address_is_for_the_person_to_open() -> None:
    with page_server("/app/") as port:
        result = run_in_own_process("open", "--port", str(port), BROWSER="/nowhere/browser %s", PATH="/nowhere")

    assert result.code == 0
    assert result.out == f"http://127.0.0.1:{port}/app/\n"
    assert "No browser was found" in result.err


def test_a_port_where_nobody_listens_is_refused_with_the_command_that_helps(terminal: Terminal) -> None:
    with page_server("/app/") as port:
        pass

    result = terminal("open", "--port", str(port))

    assert (result.code, result.out) == (2, "")
    assert f"--port {port}: no server answers" in result.err
    assert "start `contend serve`" in result.err


def test_another_programs_server_is_not_taken_for_contends(browser: Path) -> None:
    with page_server("/") as port:
        result = run_open(browser, "--port", str(port))

    assert (result.code, result.out) == (2, "")
    assert "is it `contend serve`?" in result.err
    assert not browser.with_name("opened.txt").exists()
