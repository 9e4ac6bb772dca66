"""The live page in headless Chromium, on a real server with a language model on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from fakes.api_client import research_api
from fakes.browser import chromium
from fakes.contests import LARGE_CONTEXT, write_workspace
from fakes.servers import Server, agent_server
from fakes.vendors import Vendors

# A machine at work takes its time; a test that fails waits for it once.
expect.set_options(timeout=180_000)

CONFIG = """
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


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, shared_documents: object, endpoint: Vendors) -> Iterator[Server]:
    workspace = prepared(tmp_path_factory.mktemp("page") / "workspace", shared_documents)
    with agent_server(workspace, OPENAI_BASE_URL=endpoint.base_url) as running:
        yield running


@pytest.fixture(scope="package")
def contest(keyless_server: Server) -> str:
    """The recorded contest at its end, whose published report is the editor's merge."""
    with research_api(keyless_server) as api:
        research = str(api.http.post("/research/demo").json()["research_id"])
        api.until(research, "status", status="completed")
    return research


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    # Closed after the folder: while it is open, a loop runs in this thread, and tests elsewhere could open none.
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def _tab(browser: Browser) -> Page:
    """A window of one's own for each test would take more of the processor than most tests do."""
    looks = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US", reduced_motion="reduce")
    page = looks.new_page()
    page.set_default_timeout(180_000)
    return page


@pytest.fixture
def page(_tab: Page, server: Server, endpoint: Vendors) -> Iterator[Page]:
    """The page's first view, in a tab that remembers nothing.

    An error in its scripts, or a refusal by its own policy, fails the test.
    """
    endpoint.heal()
    server.until_idle()
    wrong: list[str] = []

    def note_error(error: object) -> None:
        wrong.append(str(error))

    def note_refusal(message: ConsoleMessage) -> None:
        wrong.extend([message.text] if "Security Policy" in message.text else [])

    _tab.on("pageerror", note_error)
    _tab.on("console", note_refusal)
    # An answer of the server's without a script: what the page remembers is forgotten before it is opened.
    _tab.goto(f"{server.url}/ok")
    _tab.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    _tab.goto(f"{server.url}/app/")
    yield _tab
    _tab.unroute_all()
    _tab.goto("about:blank")
    _tab.remove_listener("pageerror", note_error)
    _tab.remove_listener("console", note_refusal)
    endpoint.heal()
    assert not wrong
