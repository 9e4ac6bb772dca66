"""The HTML file of a report in a browser: its statements open what they rest on, without a mouse, too."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from contend.models.research import CitedSentence
from contend.report import TeamScores, build_report, published_lines, to_html, with_ledger
from fakes.reports import NOON, draft, passage, run_head, source

TOLD = CitedSentence(text="It makes 4,200 units a month.", passages=["a"], quotes=["makes 4,200 units a month"])
SUM = CitedSentence(text="That is 175 an hour.", passages=["a"], kind="derived", basis="4200 / 24")
ADVICE = CitedSentence(text="Hire five more.", kind="judgement")


@pytest.fixture
def file(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """Any request beyond the file itself, and any error of its script, fails the test."""
    made = draft(summary=[TOLD, SUM, ADVICE])
    held = passage("a").model_copy(update={"text": "The plant is old. It makes 4,200 units a month. Nobody counts."})
    report = build_report(made, [held], [source("a")], theme="Why?", language="en", generated_at=NOON)
    lines = published_lines(made, [held], [source("a")])
    printed = {each.statement for each in lines}
    ledger = with_ledger(report, made, [held], question="Why?", printed=printed, doubts={}, judged=printed)
    path = tmp_path / "report.html"
    head = run_head(scores=[TeamScores(team_name="Scout", scores={1: 0.8, 2: 0.9})])
    path.write_text(to_html(ledger, head, "en", lines=lines), "utf-8")
    context = browser.new_context(viewport={"width": 400, "height": 800}, reduced_motion="reduce")
    page, wrong = context.new_page(), list[str]()
    page.on("request", lambda request: wrong.extend([] if request.url == path.as_uri() else [request.url]))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert not wrong


def test_focus_opens_the_passage_with_its_quote_and_escape_closes_it(file: Page) -> None:
    told, total = file.locator(".s", has_text=TOLD.text[:12]), file.locator(".s", has_text="That is 175 an hour")
    told.focus()
    expect(file.locator(".proof:visible mark")).to_have_text("makes 4,200 units a month")
    expect(file.locator(".proof:visible")).to_contain_text("The plant is old.")
    box = file.locator(".proof:visible").bounding_box() or {}
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 400

    file.keyboard.press("Escape")
    expect(file.locator(".proof:visible")).to_have_count(0)
    expect(told).to_be_focused()

    file.keyboard.press("Tab")  # to the citation within
    file.keyboard.press("Tab")
    expect(total).to_be_focused()
    expect(file.locator(".proof:visible code")).to_have_text("4200 / 24 = 175")
    expect(file.locator(".proof:visible mark")).to_have_text("4,200")


def test_hover_opens_a_proof_and_leaving_closes_it(file: Page) -> None:
    file.locator(".s", has_text="Hire five more").hover()
    expect(file.locator(".proof:visible")).to_contain_text("The writer's judgement")

    file.locator("h1").hover()

    expect(file.locator(".proof:visible")).to_have_count(0)


def test_a_filter_dims_all_other_statements_until_it_is_let_go(file: Page) -> None:
    button = file.get_by_role("button", name=re.compile("^judgement"))

    button.press("Enter")

    expect(button).to_have_attribute("aria-pressed", "true")
    expect(file.locator(".s:not(.dim)")).to_have_text([re.compile("Hire five more")])
    dimmed = file.locator(".s.dim").first
    assert float(dimmed.evaluate("each => getComputedStyle(each).opacity")) < 0.5
    button.press("Enter")
    expect(file.locator(".s.dim")).to_have_count(0)


def test_the_chart_of_the_contest_fits_a_phone_and_has_the_ink_of_a_dark_screen_and_of_paper(file: Page) -> None:
    chart = file.get_by_role("img", name="Scores by round")
    expect(chart).to_have_accessible_description("Scout: round 1 80.0, round 2 90.0")
    box = chart.bounding_box() or {}
    assert 0 <= box["x"] < box["x"] + box["width"] <= 400

    def inks() -> list[str]:
        parts = chart.locator("polyline"), chart.locator("text").first
        return [
            part.evaluate(f"it => getComputedStyle(it).{name}")
            for part, name in zip(parts, ("stroke", "fill"), strict=True)
        ]

    light = inks()
    file.emulate_media(color_scheme="dark")
    assert all(ink != before for ink, before in zip(inks(), light, strict=True))
    file.emulate_media(media="print")
    assert inks() == ["rgb(0, 0, 0)"] * 2
