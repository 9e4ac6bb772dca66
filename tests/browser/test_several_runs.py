"""Several runs at once in the page: what it says of each, also when the server is killed and started again."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.conftest import prepared
from fakes.api_client import research_api
from fakes.servers import Server, agent_server
from fakes.vendors import Vendors

STOPPED, WAITING, KILLED = "Which run did a person stop?", "Which run waits for a word?", "Which run was cut off?"
NOTE_OF_STOPPED = "Nobody works on it. It goes on where it was"


def begin(page: Page, theme: str, *, approve: bool = False) -> None:
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_label("Your question").fill(theme)
    page.locator("select[name=depth]").select_option("standard")
    if approve:
        page.get_by_text("More options").click()
        page.get_by_label("searching (plans)").check()
    page.get_by_role("button", name="Start").click()
    expect(page.locator("header h1")).to_have_text(theme)


def row(page: Page, theme: str) -> Locator:
    return page.get_by_role("row", name=theme)


def open_run(page: Page, theme: str) -> None:
    page.get_by_role("link", name="History").click()
    page.get_by_role("link", name=theme).click()
    expect(page.locator("header h1")).to_have_text(theme)


def reject_plan(page: Page, team: str, why: str) -> None:
    question = page.get_by_role("group", name=f"{team}: approve the plan?")
    question.get_by_label("Reject").check()
    question.get_by_label("Why?").fill(why)
    page.get_by_role("button", name="Send answers").click()


def stop(page: Page) -> None:
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("stopped", exact=True)).to_be_visible()


def go_on_to_end(page: Page, theme: str) -> None:
    """The server goes on with what its queue had last saved as running, every 10 s; a person with the rest."""
    status = row(page, theme).locator(".pill")
    expect(status).to_have_text(re.compile("^(stopped|done)$"))
    if status.inner_text() == "stopped":
        expect(row(page, theme)).to_contain_text(NOTE_OF_STOPPED)
        row(page, theme).get_by_role("button", name="Go on").click()
    expect(status).to_have_text("done")


def events_of(server: Server, theme: str, *, last: Mapping[str, str]) -> list[dict[str, Any]]:
    """What the run told, from its beginning to the first event with such values."""
    events = []
    with research_api(server) as api:
        for event in api.events(api.get(f"/research?search={theme}")["items"][0]["research_id"]):
            if "id" in event:
                events.append(event)
            if last.items() <= event.items():
                return events
    raise AssertionError(events)


@pytest.mark.timeout(900)
def test_of_three_runs_one_stopped_one_waiting_one_killed_each_is_shown_as_it_stands(
    tmp_path: Path, shared_documents: Path, endpoint: Vendors, browser: Browser
) -> None:
    workspace = prepared(tmp_path / "workspace", shared_documents)
    looks = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US", reduced_motion="reduce")
    page = looks.new_page()
    for theme in (STOPPED, KILLED):
        endpoint.hang(prompt="research/write", match=re.escape(theme))
    with agent_server(workspace, OPENAI_BASE_URL=endpoint.base_url) as server:
        page.goto(f"{server.url}/app/")
        begin(page, WAITING, approve=True)
        expect(page.get_by_text("2 decisions wait for you")).to_be_visible()
        begin(page, KILLED)
        begin(page, STOPPED)
        expect(page.get_by_role("row", name="Alpha")).to_contain_text("Draft")
        expect(page.get_by_text("0 of 2 teams done · ends about")).to_be_visible()
        stop(page)
        expect(page.get_by_role("row", name="Alpha")).to_contain_text("stopped · Round 1 · Draft")

        page.get_by_role("link", name="History").click()
        for _ in range(2):
            expect(row(page, STOPPED)).to_contain_text("stopped")
            expect(row(page, STOPPED)).to_contain_text(NOTE_OF_STOPPED)
            expect(row(page, WAITING)).to_contain_text("waits for you")
            expect(row(page, KILLED)).to_contain_text("running")
            expect(row(page, KILLED)).to_contain_text("0 of 2 teams done · ends about")
            page.reload()
        open_run(page, WAITING)
        expect(page.get_by_role("row", name="Alpha").first).to_contain_text("waits for you")
        expect(page.get_by_role("button", name="Approve all")).to_be_visible()
        page.get_by_role("link", name="History").click()
        before = events_of(server, KILLED, last={"step": "plan"})
        server.kill()
        expect(page.get_by_role("alert")).to_contain_text("the server does not answer")
        port = int(server.url.rpartition(":")[2])
    endpoint.heal()

    with agent_server(workspace, port=port, OPENAI_BASE_URL=endpoint.base_url) as server:
        # The list comes back by itself.
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(row(page, WAITING)).to_contain_text("waits for you")
        for theme in (STOPPED, KILLED):
            go_on_to_end(page, theme)
        events = events_of(server, KILLED, last={"type": "run_done", "status": "completed"})
        assert events[: len(before)] == before
        assert [event["type"] for event in events].count("run_started") == 1

        row(page, WAITING).get_by_role("link", name="Decide").click()
        reject_plan(page, "Beta", "too broad")
        expect(page.locator("article h1")).to_be_visible()

        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete").click()
        expect(row(page, STOPPED)).to_be_visible()
        expect(row(page, WAITING)).to_have_count(0)
    page.context.close()
