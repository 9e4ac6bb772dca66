"""The live page in headless Chromium, on a real server with a language model on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from fakes.browser import chromium
from fakes.contests import LARGE_CONTEXT, write_workspace
from fakes.servers import Server, agent_server
from fakes.vendors import Vendors

# A machine at work takes its time; a test that fails waits for it once.
expect.set_options(timeout=180_000)

CONFIG = """
[options]
documents = ["{documents}", "music"]
sources = ["local"]
learn = false
"""


def prepared(workspace: Path, documents: object) -> Path:
    """With two teams, whose models read whole passages, and a file that nobody can read."""
    write_workspace(workspace, reads=LARGE_CONTEXT)
    (workspace / "music").mkdir()
    (workspace / "music" / "tune.mp3").write_bytes(b"ID3")
    with (workspace / "config" / "orchestrator.toml").open("a", encoding="utf-8") as config:
        config.write(CONFIG.format(documents=documents))
    return workspace


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, shared_documents: object, endpoint: Vendors) -> Iterator[Server]:
    workspace = prepared(tmp_path_factory.mktemp("page") / "workspace", shared_documents)
    with agent_server(workspace, OPENAI_BASE_URL=endpoint.base_url) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Closed after each file: while it is open, a loop runs in this thread, and the next file's tests could open none.
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser, server: Server, endpoint: Vendors) -> Iterator[Page]:
    """The page's first view. An error in its scripts, or a refusal by its own policy, fails the test."""
    endpoint.heal()
    server.until_idle()
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    page = context.new_page()
    page.set_default_timeout(180_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if "Security Policy" in message.text else None)
    page.goto(f"{server.url}/app/")
    yield page
    context.close()
    endpoint.heal()
    assert not wrong
