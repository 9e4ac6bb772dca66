"""Every view of the page without barriers, as axe-core finds them; its size, and whom it asks."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from fakes.api_client import research_api
from fakes.servers import Server

AXE = Path(sys.prefix) / "axe-package" / "package" / "axe.min.js"
VIEWS = {
    "": "section.demo",
    "#/run/{run}/watch": "main table",
    "#/run/{run}/watch?show": "main h1:not(:empty)",
    "#/run/{run}/read": "article h1",
    "#/run/{run}/judges": "main table",
    "#/history": "main table",
    "#/standings/demo": "main table",
    "#/playbook": "main form.card",
    "#/playbook/demo": "main ul.lessons li",
    "#/compare/{run}/{run}": "article h1",
    "#/changes/{run}": "article h1",
    "#/nowhere": "main h1",
}
"""What each view has once it is drawn."""
# Each width, colours and language with each other once.
LOOKS = [(1280, "light", "en-US"), (1280, "dark", "ja-JP"), (400, "light", "ja-JP"), (400, "dark", "en-US")]


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        if os.environ.get("CI"):
            raise AssertionError(f"{AXE} is missing: run `make .venv/axe`")
        pytest.skip("the tests' axe-core is not set up: run `make .venv/axe`")
    return AXE.read_text("utf-8")


@pytest.fixture(params=LOOKS, ids=lambda look: "-".join(map(str, look)))
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    width, colours, language = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=colours, locale=language, reduced_motion="reduce"
    )
    yield context.new_page()
    context.close()


def violations(page: Page) -> list[dict[str, Any]]:
    """The barriers that all of three looks find. A view that is drawn anew meanwhile is measured only a frame later."""
    for _ in range(3):
        page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        if not found:
            return []
    return [{"id": each["id"], "nodes": [node["target"] for node in each["nodes"]][:5]} for each in found]


def test_no_view_has_a_barrier_or_scrolls_sideways(page: Page, axe: str, keyless_server: Server, contest: str) -> None:
    wrong = {}
    page.goto(f"{keyless_server.url}/app/")
    page.evaluate(axe)
    for view, content in VIEWS.items():
        page.evaluate("hash => { location.hash = hash; }", view.format(run=contest))
        expect(page.locator(content).first).to_be_visible()
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        expect(page.get_by_text(re.compile("^(Loading|読み込み中)"))).to_have_count(0)
        # A draft is fetched when somebody opens it.
        expect(page.locator("details[data-key^='draft/'][open] > article:empty")).to_have_count(0)
        if found := violations(page):
            wrong[view] = found
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong[f"{view} sideways"] = []
    assert wrong == {}


@pytest.mark.parametrize(("view", "scroller"), [("standings/demo", "div.scroll"), ("run/{run}/read", "article table")])
def test_a_table_that_becomes_too_wide_is_reached_by_the_keyboard(
    browser: Browser, keyless_server: Server, contest: str, view: str, scroller: str
) -> None:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(f"{keyless_server.url}/app/#/{view.format(run=contest)}")
        table = page.locator(f"{scroller}:visible:not([tabindex])").first
        cell = table.locator("td").first.element_handle()
        assert cell is not None

        cell.evaluate("cell => { cell.textContent = 'x'.repeat(1000); }")

        expect(page.locator(f"{scroller}[tabindex='0']", has_text="x" * 1000)).to_have_count(1)


def test_the_form_of_decisions_and_the_list_of_files_have_no_barrier(page: Page, axe: str, server: Server) -> None:
    with research_api(server) as api:
        research = api.start("How does resume work after a crash?", options={"approve": ["plan"]})
        api.until(research, "status", status="interrupted")
    page.goto(f"{server.url}/app/#/run/{research}/watch")
    page.evaluate(axe)
    page.locator("form.question input[value=edit]").first.check()
    assert violations(page) == []

    page.goto(f"{server.url}/app/#/")
    name = {"name": "tides.md", "mimeType": "text/markdown", "buffer": b"# Tides"}
    page.locator("input[type=file]").set_input_files(files=[name])
    expect(page.locator(".files li")).to_have_count(1)
    assert violations(page) == []
    with research_api(server) as api:
        api.http.delete(f"/research/{research}/data")


def test_axe_finds_a_barrier_where_there_is_one(browser: Browser, axe: str) -> None:
    page = browser.new_page()
    page.set_content("<html lang=en><title>A</title><main><h1>A</h1><img src=x></main>")
    page.evaluate(axe)
    assert [each["id"] for each in violations(page)] == ["image-alt"]
    page.close()


def test_the_first_view_takes_under_300_kilobytes_and_nothing_is_asked_of_anybody_else(
    browser: Browser, keyless_server: Server, contest: str
) -> None:
    page = browser.new_page()
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108 - Playwright wraps functions only
    page.goto(f"{keyless_server.url}/app/")
    expect(page.get_by_role("button", name="Watch a contest")).to_be_visible()
    size = sum(len(answer.body()) for answer in answers)
    for view in [*VIEWS][1:]:
        page.goto(f"{keyless_server.url}/app/{view.format(run=contest)}")
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        page.wait_for_load_state("networkidle")
    page.close()

    assert 50_000 < size < 300_000
    assert {urlsplit(answer.url).netloc for answer in answers} == {urlsplit(keyless_server.url).netloc}
