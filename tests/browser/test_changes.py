"""The page on what two reports say differently; and the second recorded run, which is compared with the first."""

import json
import re

from playwright.sync_api import Page, Route, expect

from fakes.api_client import research_api
from fakes.servers import Server


def test_from_a_merged_report_the_keyboard_leads_to_the_words_that_the_editor_changed(
    page: Page, keyless_server: Server, contest: str
) -> None:
    page.goto(f"{keyless_server.url}/app/#/run/{contest}/read")
    page.get_by_role("link", name="What changed from the best team's report to the merge").press("Enter")

    section = page.locator("section", has=page.get_by_role("heading", name="Changed statements"))
    summary = section.locator("summary", has_text="In both, in other words: ")
    pairs = section.locator(".pairs > li")
    expect(summary).to_be_visible()
    count = int(summary.inner_text().rpartition(": ")[2])
    expect(pairs).to_have_count(count)
    if not pairs.first.is_visible():
        summary.press("Enter")
    first, second = pairs.first.locator("p").all()
    expect(first.locator("del").first).to_be_visible()
    expect(second.locator("ins").first).to_be_visible()
    expect(first).to_contain_text(re.compile(r"^− .* [\d.]+: "))
    expect(second).to_contain_text(re.compile(r"^\+ editor's merge [\d.]+: "))
    assert first.locator("ins").count() == second.locator("del").count() == 0
    for side in ("Archivist|Skeptic|Scout", "editor's merge"):
        only = section.locator("details").filter(has_text=re.compile(rf"^Only in ({side}) [\d.]+: \d"))
        count = int(only.locator("summary").inner_text().rpartition(": ")[2])
        expect(only.locator("li")).to_have_count(count)
    # Both texts stand below, and the question leads back.
    expect(page.locator("article h1")).to_have_count(2)
    page.locator("main a.folded").press("Enter")
    expect(page.get_by_role("link", name="What changed")).to_be_visible()


def test_the_research_in_steps_is_watched_to_its_report_and_compared_with_the_contest(
    page: Page, keyless_server: Server, contest: str
) -> None:
    page.goto(f"{keyless_server.url}/app/#/")
    button = page.get_by_role("button", name="Watch a research in steps")
    expect(button).to_have_accessible_description(
        re.compile("^One team answers .* a guide that its model cannot read whole")
    )
    button.press("Enter")

    play = page.get_by_role("group", name="Show step by step").get_by_role("button")
    expect(play).to_be_focused()
    steps = page.url.split("/run/")[1].split("/")[0]
    with research_api(keyless_server) as api:
        told = [event for event in api.events(steps) if "id" in event]
    place = page.get_by_label("Place")
    expect(place).to_have_attribute("max", str(len(told)))
    page.keyboard.press("Enter")
    handed_in = next(number for number, event in enumerate(told, 1) if event["type"] == "round_submitted")
    place.evaluate("(slider, value) => { slider.value = value; }", handed_in - 1)
    place.press("ArrowRight")
    expect(page.locator(".parts .pill", has_text="answered").first).to_be_visible()
    place.press("End")
    expect(page.get_by_role("row", name="Archivist")).to_contain_text("done")
    page.get_by_role("link", name="Read the report").press("Enter")
    expect(page.locator("article h1")).to_be_visible()
    expect(page.get_by_text("not live: recorded on 20")).to_be_visible()
    # No merge: nothing to compare within it.
    expect(page.get_by_role("link", name="What changed")).to_have_count(0)

    page.goto(f"{keyless_server.url}/app/#/compare/{contest}/{steps}")
    section = page.locator("section", has=page.get_by_role("heading", name="Changed statements"))
    expect(section).to_contain_text("Word for word in both: 0")
    for number in (1, 2):
        expect(section.locator("summary", has_text=re.compile(rf"^Only in {number}\. .*: \d+$"))).to_have_count(1)


def test_markup_in_a_statement_is_text(page: Page, keyless_server: Server, contest: str) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    changed = [
        [
            {"text": f"{hostile} ", "side": "both"},
            {"text": hostile, "side": "first"},
            {"text": hostile, "side": "second"},
        ]
    ]
    statements = {"common": 0, "changed": changed, "only_first": [hostile], "only_second": [hostile]}

    def with_markup(route: Route) -> None:
        route.fulfill(
            body=json.dumps({**route.fetch().json(), "statements": statements}), content_type="application/json"
        )

    page.route("**/merge", with_markup)
    page.goto(f"{keyless_server.url}/app/#/changes/{contest}")

    section = page.locator("section", has=page.get_by_role("heading", name="Changed statements"))
    expect(section.locator(".pairs ins")).to_have_text(hostile)
    expect(section.locator("ul:not(.pairs) li")).to_have_text([hostile, hostile])
    assert section.locator("img").count() == 0
