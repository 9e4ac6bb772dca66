"""The live page as people use it: clicks, keys, a refresh, a phone."""

import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from fakes.api_client import research_api
from fakes.servers import Server
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"


@pytest.fixture(scope="module")
def finished(server: Server) -> str:
    """A finished run, for tests that read its report."""
    with research_api(server) as api:
        research = api.start(THEME)
        api.until(research, "status", status="completed")
    return research


def ask(page: Page, theme: str = THEME, *, approve: bool = False, depth: str = "standard") -> None:
    page.get_by_label("Your question").fill(theme)
    page.locator("select[name=depth]").select_option(depth)
    page.get_by_text("More options").click()
    if approve:
        page.get_by_label("searching (plans)").check()
    page.get_by_role("button", name="Start").click()


def test_a_run_of_one_team_says_why_no_other_or_which_others_play(page: Page) -> None:
    ask(page, depth="auto")
    expect(page.locator("article h1")).to_be_visible()

    page.get_by_role("link", name="Watch").click()

    expect(page.get_by_text(re.compile("no contest was needed|Further teams: Beta"))).to_be_visible()


def test_a_run_is_asked_approved_watched_and_read_and_a_refresh_loses_nothing(page: Page) -> None:
    ask(page, approve=True)
    expect(page.get_by_text("2 decisions wait for you")).to_be_visible()

    page.reload()
    expect(page.get_by_text("Alpha: approve the plan?")).to_be_visible()
    # A button of its own size: one as wide as a text field leaves its label a column of single letters.
    assert (page.get_by_role("radio").first.bounding_box() or {})["width"] < 30
    page.get_by_role("button", name="Approve all").click()

    # The finished run opens its report.
    expect(page.locator("article h1")).to_be_visible()
    page.locator("article .s").first.focus()
    expect(page.locator(".proof:visible")).to_contain_text("checkpoint")
    page.keyboard.press("Escape")
    expect(page.locator(".proof:visible")).to_have_count(0)
    page.locator("article a.cite").first.click()
    expect(page.locator("#source-1")).to_be_focused()
    expect(page.get_by_role("navigation", name="Outline")).to_be_visible()

    page.get_by_role("link", name="Watch").click()
    expect(page.get_by_role("row", name="Alpha").first).to_contain_text("done")
    expect(page.get_by_text("Left out of the documents, and no part of the answer: tune.mp3")).to_be_visible()
    expect(
        page.get_by_role("img", name=re.compile(r"^Time line: Alpha [\d,]+ tokens; Beta [\d,]+ tokens"))
    ).to_be_visible()
    # The latest round stands open; whether there is a second one, the scores decide, and a revision has no plan.
    first = page.locator("details.round").first
    if first.get_attribute("open") is None:
        first.locator("summary").first.click()
    expect(first.get_by_text("Plan", exact=True)).to_be_visible()
    first.locator("summary", has_text="Read the draft").first.click()
    expect(first.locator("article").first).to_contain_text("checkpoint")

    page.get_by_role("link", name="Judges").click()
    expect(page.get_by_role("heading", name="Criteria")).to_be_visible()
    expect(page.get_by_text("✓").first).to_be_visible()


def test_a_finished_report_is_saved_as_a_word_document_and_asked_further_and_history_finds_both(
    page: Page, finished: str
) -> None:
    page.goto(f"{page.url}run/{finished}/read")
    expect(page.locator("article h1")).to_be_visible()

    with page.expect_download() as download:
        page.get_by_role("button", name="docx").click()
    assert download.value.path().read_bytes().startswith(b"PK")
    page.route("**/report?format=json", lambda route: route.abort())
    page.get_by_role("button", name="json").click()
    expect(page.get_by_role("alert")).to_have_text("That did not work: the server does not answer")

    page.get_by_label("Ask again").fill("What is a team?")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("header h1")).to_have_text("What is a team?")
    expect(page.locator("article h1")).to_be_visible()

    page.get_by_role("link", name="Standings").click()
    expect(page.get_by_role("row", name="Alpha")).to_contain_text("–")
    expect(page.get_by_text("tell the first from the second")).to_be_visible()
    expect(page.locator("thead")).to_have_text("TeamRating95 %RunsWonTiedLost")

    page.get_by_role("link", name="History").click()
    page.get_by_role("searchbox").fill("What is a team")
    expect(page.locator("tbody tr")).to_have_count(1)


def test_an_open_draft_is_fetched_once_however_often_the_page_of_its_run_is_drawn(
    page: Page, endpoint: Vendors
) -> None:
    endpoint.hang(prompt="evaluator/verdicts")
    ask(page)
    part = page.locator("details.round").first
    requests: list[str] = []
    page.route("**/documents/*", lambda route: (requests.append(route.request.url), route.continue_()))

    part.locator("summary", has_text="Read the draft").first.click()
    expect(part.locator("article").first).to_contain_text("checkpoint")
    with page.expect_response(re.compile(r"/research/[^/]+$")):
        pass

    expect(part.locator("article").first).to_contain_text("checkpoint")
    assert len(requests) == 1
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("stopped", exact=True)).to_be_visible()


def test_a_run_is_stopped_and_goes_on(page: Page, endpoint: Vendors) -> None:
    endpoint.hang(prompt="research/write")
    ask(page)
    expect(page.get_by_role("row", name="Alpha").first).to_contain_text("Draft")
    # The page is drawn anew while the button is held down, and it is one button that is pressed and let go.
    page.get_by_role("button", name="Stop").hover()
    with page.expect_response(re.compile(r"/research/[^/]+$")):
        page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text("stopped", exact=True)).to_be_visible()

    endpoint.heal()
    page.get_by_role("button", name="Go on").click()

    expect(page.locator("article h1")).to_be_visible()


def test_bad_input_is_refused_in_the_apis_words_and_nothing_starts(page: Page) -> None:
    page.get_by_label("Documents on the server").fill("/etc")
    ask(page)

    expect(page.get_by_role("alert")).to_contain_text("documents: this server may not read /etc")
    expect(page.get_by_label("Your question")).to_have_value(THEME)


def test_a_press_on_ask_leaves_what_was_typed_in_the_form_that_is_shown(page: Page) -> None:
    page.get_by_label("Your question").fill(THEME)

    page.get_by_role("link", name="Ask", exact=True).click()

    page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    expect(page.get_by_label("Your question")).to_have_value(THEME)


def test_a_run_that_is_not_here_is_said_to_be_missing_and_the_way_back_is_shown(page: Page) -> None:
    page.goto(f"{page.url}run/0b9f3c6e-4f43-4b2c-9a3a-0f6f2f1f7a55")

    expect(page.get_by_role("alert")).to_contain_text("there is none")
    expect(page.get_by_role("heading", name="There is nothing here.")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_role("link", name="Watch")).to_have_count(0)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    page.get_by_role("link", name="All runs").click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()


def test_the_share_of_the_input_that_was_cached_is_told_where_the_endpoint_tells_it(page: Page, finished: str) -> None:
    def with_cache(route: Route) -> None:
        told = route.fetch().text()
        usage = r'"input_tokens": ?(\d+)(.*?"cached_tokens": ?)\d+'
        route.fulfill(body=re.sub(usage, r'"input_tokens": \1\2\1', told))

    page.route("**/events", with_cache)
    page.goto(f"{page.url}run/{finished}/watch")

    expect(page.get_by_text("100 % of the input cached")).to_be_visible()


def test_markup_in_a_report_is_not_run(page: Page, finished: str) -> None:
    """The server renders none; the page does not rely on that."""
    hostile = "<main><h1>Bridges</h1><img src=x><script>alert(1)</script><a href=javascript:alert(1)>a link</a></main>"
    page.route("**/report?format=html", lambda route: route.fulfill(body=hostile, content_type="text/html"))
    page.goto(f"{page.url}run/{finished}/read")

    article = page.locator("article").first
    expect(article).to_contain_text("a link")
    assert article.locator("img, script, [href^=javascript]").count() == 0


def test_without_a_key_a_recorded_contest_comes_first_at_a_pace_that_one_can_follow_and_says_that_it_is_recorded(
    page: Page, keyless_server: Server
) -> None:
    page.goto(f"{keyless_server.url}/app/")
    expect(page.get_by_text("No language model is set")).to_be_visible()
    first = page.locator("main").get_by_role("button").first
    expect(first).to_have_text("Watch a contest")
    first.press("Enter")

    play = page.get_by_role("group", name="Show step by step").get_by_role("button")
    expect(play).to_be_focused()
    page.keyboard.press("Enter")
    expect(play).to_have_text("Play")
    with research_api(keyless_server) as api:
        told = [event for event in api.events(page.url.split("/run/")[1].split("/")[0]) if "id" in event]
    place = page.get_by_label("Place")
    expect(place).to_have_attribute("max", str(len(told)))
    scores = page.get_by_role("row", name="Archivist").locator("td.number")

    # To the middle, back to the beginning, and from there at eight times the speed to the end.
    first_score = next(number for number, event in enumerate(told, 1) if event["type"] == "round_scored")
    place.evaluate("(slider, value) => { slider.value = value; }", first_score - 1)
    place.press("ArrowRight")
    expect(page.get_by_role("row").locator("td.number", has_text=re.compile(r"\d"))).to_have_count(1)
    place.press("Home")
    expect(scores).to_have_count(0)
    page.get_by_label("Speed").press("End")
    expect(page.get_by_text("8×")).to_be_visible()
    play.press("Enter")
    expect(play).to_have_text("Play again")
    expect(scores).to_have_count(2)
    page.get_by_role("link", name="Read the report").press("Enter")

    expect(page.locator("article h1")).to_contain_text("Tern")
    expect(page.get_by_text("not live: recorded on 20")).to_be_visible()
    page.get_by_role("link", name="Judges").click()
    expect(page.get_by_role("columnheader", name="Archivist").first).to_be_visible()

    # The rule that ended the teams, and what was learned, are told in the reader's language.
    page.get_by_role("button", name="日本語").click()
    page.get_by_role("link", name="経過").click()
    expect(page.get_by_text("終了 全ラウンドを終えた").first).to_be_visible()
    # The server's tests share its playbook: the version is the one to which this run has brought it.
    version = page.request.get(f"{keyless_server.url}/playbooks/demo").json()["version"]
    expect(page.get_by_text(f"第{version}版")).to_be_visible()
    page.get_by_role("button", name="English").click()


def test_a_reader_of_japanese_is_shown_the_japanese_contest(browser: Browser, keyless_server: Server) -> None:
    context = browser.new_context(locale="ja-JP")
    page = context.new_page()
    page.goto(f"{keyless_server.url}/app/")
    page.get_by_role("button", name="コンテストを見る").click()

    expect(page.get_by_role("group", name="順を追って見る")).to_be_visible()
    expect(page.get_by_text("灯油ボイラー").first).to_be_visible()
    context.close()


def test_a_phone_in_japanese_and_dark_shows_it_all_without_scrolling_sideways(browser: Browser, server: Server) -> None:
    context = browser.new_context(viewport={"width": 400, "height": 800}, locale="ja-JP", color_scheme="dark")
    page = context.new_page()
    page.goto(f"{server.url}/app/")

    expect(page.get_by_role("button", name="開始")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "ja"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 27)"
    context.close()


def test_a_long_question_is_folded_on_a_phone_and_shown_where_its_reader_wants_it(
    browser: Browser, server: Server
) -> None:
    parts = "\n".join(f"{number}. What is repeated after crash {number}, and what not?" for number in range(1, 9))
    question = f"{THEME} Eight parts:\n\n{parts}"
    with research_api(server) as api:
        research = api.start(question)
        api.until(research, "status", status="completed")
    context = browser.new_context(viewport={"width": 400, "height": 800}, locale="ja-JP")
    page = context.new_page()
    page.goto(f"{server.url}/app/#/run/{research}")

    title = page.get_by_role("heading", level=1).first
    shown = page.get_by_role("button", name="すべて表示")
    expect(shown).to_have_attribute("aria-expanded", "false")
    expect(title).to_contain_text("crash 8")  # a screen reader reads it whole
    assert title.bounding_box()["height"] < 120  # type: ignore[index]  # it is on the page
    shown.press("Enter")

    folded = page.get_by_role("button", name="折りたたむ")
    expect(folded).to_be_focused()
    assert title.bounding_box()["height"] > 250  # type: ignore[index]  # it is on the page
    page.set_viewport_size({"width": 1280, "height": 800})
    folded.click()
    expect(shown).to_be_visible()

    page.goto(f"{server.url}/app/#/history")
    link = page.get_by_role("link", name="crash 8")
    expect(link).to_be_visible()
    assert link.bounding_box()["height"] < 120  # type: ignore[index]  # it is on the page
    context.close()


def test_a_contest_is_told_in_charts_that_say_what_they_show_and_scores_lead_to_reasons(
    page: Page, keyless_server: Server, contest: str
) -> None:
    with research_api(keyless_server) as api:
        board = {each["team_name"]: each["best_score"] for each in api.get(f"/research/{contest}")["leaderboard"]}
        merged = api.until(contest, "report_merged")
    page.goto(f"{keyless_server.url}/app/#/run/{contest}/watch")

    chart = page.get_by_role("img", name="Scores by round")
    expect(chart).to_have_attribute("aria-label", re.compile(rf"Editor {merged['score'] * 100:.1f}$"))
    for team, score in board.items():
        expect(chart).to_have_attribute("aria-label", re.compile(rf"{team} [\d.]+, {score * 100:.1f}"))
    expect(page.get_by_role("img", name="Time line: Archivist; Skeptic; Scout")).to_be_visible()
    expect(page.get_by_text("Archivist: all rounds played")).to_be_visible()

    page.get_by_role("link", name="Judges").click()
    page.get_by_role("button", name=re.compile("^correctness, Skeptic: ")).press("Enter")
    reason = page.locator("details[open] [data-metric=correctness]")
    expect(reason).to_be_focused()
    expect(reason).to_contain_text(re.compile(r"correctness \d\d\.\d\S"))

    page.goto(f"{keyless_server.url}/app/#/standings/demo")
    expect(page.get_by_role("img", name="Rating")).to_have_attribute(
        "aria-label", re.compile(r"Archivist \d+, \d+–\d+")
    )

    page.goto(f"{keyless_server.url}/app/#/compare/{contest}/{contest}")
    verdicts = page.get_by_role("row").filter(has=page.locator("th[scope=row]")).first.get_by_role("cell")
    expect(verdicts).to_have_text([re.compile("^[✓½✗]"), re.compile("^[✓½✗]")])
