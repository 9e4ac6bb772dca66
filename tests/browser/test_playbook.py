"""A person sees in the page what was learned, disagrees, changes it and takes it back."""

import json
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from fakes.servers import Server

PRIMARY = "Search primary sources before opinion pieces."
HOSTILE = "<img src=x onerror=alert(1)> <b>Name</b> the year of every figure."
LESSONS = json.dumps(
    [
        {"id": "b-1", "section": "searching", "content": PRIMARY, "helpful": 3},
        {"id": "b-2", "section": "writing", "content": HOSTILE},
    ]
)


@pytest.fixture
def dataset(server: Server) -> str:
    """A playbook of two lessons, at version 1."""
    name = f"ports-{uuid4().hex[:8]}"
    server.import_lessons(name, LESSONS)
    return name


def open_playbook(page: Page, server: Server, dataset: str) -> Page:
    page.goto(f"{server.url}/app/#/playbook/{dataset}")
    expect(page.get_by_role("list", name="searching")).to_be_visible()
    return page


def lesson(page: Page, words: str) -> Locator:
    return page.get_by_role("listitem").filter(has_text=words)


def expect_version(page: Page, version: int) -> None:
    expect(page.locator("main").get_by_role("status")).to_contain_text(f"Saved as version {version}.")


def test_the_effect_of_a_lesson_is_drawn_with_its_interval(page: Page, server: Server, dataset: str) -> None:
    def tried(route: Route) -> None:
        answer = route.fetch()
        found = answer.json()
        found["bullets"][0]["trial"] = {"shown": 4, "withheld": 3, "difference": 0.1, "spread": 0.08}
        route.fulfill(response=answer, json=found)

    page.route(f"**/playbooks/{dataset}*", tried)
    open_playbook(page, server, dataset)

    chart = page.get_by_role("img", name=f"{PRIMARY} +10.0 (−12.6 … +32.6)")
    expect(chart).to_be_visible()
    expect(chart.locator("text.name")).to_have_text(PRIMARY)


def test_a_person_sees_what_was_learned_disagrees_edits_and_undoes(page: Page, server: Server, dataset: str) -> None:
    open_playbook(page, server, dataset)
    expect(lesson(page, PRIMARY)).to_contain_text("helpful 3")

    page.get_by_role("button", name=f"Edit: {PRIMARY}").click()
    page.get_by_label("Lesson").first.fill("Search opinion pieces only.")
    page.get_by_role("button", name="Save").click()
    expect_version(page, 2)
    items = page.get_by_role("list", name="searching").get_by_role("listitem")
    expect(items).to_contain_text("Search opinion pieces only.")
    expect(items).to_contain_text("helpful 0")

    newest = lesson(page, "edited by hand")
    newest.get_by_text("What changed").click()
    expect(newest.locator("del").first).to_have_text(PRIMARY)
    page.get_by_role("button", name="Undo: Version 2").click()
    expect_version(page, 3)
    expect(page.get_by_role("list", name="searching").get_by_role("listitem")).to_contain_text("helpful 3")
    expect(lesson(page, "rolled back to version 1")).to_be_visible()


def test_a_lesson_is_retired_restored_and_one_of_ones_own_added(page: Page, server: Server, dataset: str) -> None:
    open_playbook(page, server, dataset)
    page.get_by_role("button", name=f"Retire: {PRIMARY}").click()
    expect_version(page, 2)
    expect(page.get_by_role("list", name="searching")).to_have_count(0)
    expect(page.get_by_role("heading", name="Version 2 · 1 lesson", exact=True)).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(page.locator("main").get_by_role("status")).to_be_hidden()

    page.get_by_text("Retired lessons: 1").click()
    page.get_by_role("button", name=f"Restore: {PRIMARY}").click()
    expect_version(page, 3)
    expect(page.get_by_role("list", name="searching")).to_contain_text(PRIMARY)

    page.get_by_text("Add a lesson", exact=True).click()
    form = page.get_by_role("form", name="Add a lesson")
    form.get_by_label("Lesson").fill("Read https://evil.example first.")
    form.get_by_role("button", name="Add").click()
    expect(form.get_by_role("alert")).to_contain_text("holds a link: leave that out")
    form.get_by_label("Lesson").fill("For tides, trust the table.")
    form.get_by_label("applies to every question").check()
    form.get_by_role("button", name="Add").click()
    expect_version(page, 4)
    expect(page.get_by_role("list", name="general")).to_contain_text("applies to every question")


def test_by_keys_alone_a_lesson_is_edited_and_the_focus_comes_back(page: Page, server: Server, dataset: str) -> None:
    open_playbook(page, server, dataset)
    edit = page.get_by_role("button", name=f"Edit: {PRIMARY}")
    edit.focus()
    page.keyboard.press("Enter")
    page.keyboard.type("Always: ")
    page.keyboard.press("Escape")
    expect(edit).to_be_focused()

    page.keyboard.press("Enter")
    expect(page.get_by_label("Lesson").first).to_have_value(PRIMARY)
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("Before opinion pieces, search primary sources.")
    for _ in range(4):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect_version(page, 2)
    expect(page.get_by_role("button", name="Edit: Before opinion pieces")).to_be_focused()


def test_what_somebody_changed_meanwhile_is_told_and_not_lost(page: Page, server: Server, dataset: str) -> None:
    open_playbook(page, server, dataset)
    page.get_by_role("button", name=f"Edit: {PRIMARY}").click()
    page.get_by_label("Lesson").first.fill("Search opinion pieces only.")
    added = httpx.post(f"{server.url}/playbooks/{dataset}/lessons", json={"content": "Ask early."}, timeout=60)
    assert added.status_code == 200

    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("alert")).to_contain_text("is at version 2, not 1: somebody changed it since")
    expect(page.get_by_label("Lesson").first).to_have_value("Search opinion pieces only.")
    page.get_by_role("button", name="Show the newest").click()
    expect(page.get_by_role("list", name="general")).to_contain_text("Ask early.")
    expect(page.get_by_role("list", name="searching")).to_contain_text(PRIMARY)


def test_a_button_on_what_somebody_changed_meanwhile_is_refused_in_sight(
    page: Page, server: Server, dataset: str
) -> None:
    open_playbook(page, server, dataset)
    httpx.post(f"{server.url}/playbooks/{dataset}/lessons", json={"content": "Ask early."}, timeout=60)

    page.get_by_role("button", name=f"Retire: {PRIMARY}").click()

    expect(page.get_by_role("alert")).to_contain_text("is at version 2, not 1")
    page.get_by_role("button", name="Show the newest").click()
    expect(page.get_by_role("list", name="general")).to_contain_text("Ask early.")
    expect(page.get_by_role("list", name="searching")).to_contain_text(PRIMARY)


def test_a_damaged_playbook_is_told_and_gets_a_good_versions_lessons(page: Page, server: Server, dataset: str) -> None:
    (server.workspace / "playbooks" / f"{dataset}.json").write_text('{"dataset":', "utf-8")
    page.goto(f"{server.url}/app/#/playbook")
    expect(page.locator("section.card", has_text=dataset)).to_contain_text("the last good version is 1")
    page.get_by_role("link", name=dataset).click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be read")

    page.get_by_role("button", name="Go back to this version: Version 1").click()

    expect_version(page, 2)
    expect(page.get_by_role("list", name="searching")).to_contain_text(PRIMARY)


def test_a_lesson_tells_what_runs_that_tried_both_showed_of_it(page: Page, server: Server, dataset: str) -> None:
    playbook = httpx.get(f"{server.url}/playbooks/{dataset}").json()
    trials = {"b-1": {"shown": 3, "withheld": 2, "difference": -0.021}, "b-2": {"shown": 1, "withheld": 0}}
    for bullet in playbook["bullets"]:
        bullet["trial"] = trials[bullet["id"]]
    page.route(f"**/playbooks/{dataset}", lambda route: route.fulfill(json=playbook))
    open_playbook(page, server, dataset)

    expect(lesson(page, PRIMARY)).to_contain_text("teams with it scored −2.1 in 2 runs that tried both")
    expect(lesson(page, "Name")).not_to_contain_text("tried both")


def test_markup_in_a_lesson_is_text_wherever_it_is_shown(page: Page, server: Server, dataset: str) -> None:
    open_playbook(page, server, dataset)
    for each in page.locator("summary").all():
        each.click()
    expect(page.locator("ins", has_text=HOSTILE)).to_be_visible()
    page.get_by_role("button", name="Edit: <img").click()
    expect(page.get_by_label("Lesson").first).to_have_value(HOSTILE)
    assert page.locator("main :is(img, b)").count() == 0


def test_on_a_phone_in_japanese_and_dark_a_lesson_is_edited_without_scrolling_sideways(
    browser: Browser, server: Server, dataset: str
) -> None:
    context = browser.new_context(viewport={"width": 400, "height": 800}, locale="ja-JP", color_scheme="dark")
    page = open_playbook(context.new_page(), server, dataset)
    page.get_by_role("button", name=f"編集: {PRIMARY}").click()
    page.get_by_label("教訓").first.fill("意見の前に一次資料を探す。")
    for each in page.locator("summary").all():
        each.click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.get_by_role("button", name="保存").click()
    expect(page.locator("main").get_by_role("status")).to_contain_text("第2版として保存しました。")
    expect(page.get_by_role("list", name="searching")).to_contain_text("意見の前に一次資料を探す。")
    context.close()
