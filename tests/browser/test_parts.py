"""The page while teams research step by step: the parts of the question fill up; and whose report it was in the end."""

import json
import re
from collections.abc import Iterator
from threading import Event

import pytest
from playwright.sync_api import Page, expect

from browser.conftest import prepared
from fakes.contests import preferring
from fakes.kilns import THEME, TOO_FEW, action, fixes, script, step, write_kilns
from fakes.servers import Server, agent_server
from fakes.vendors import Vendors

PARTS = ["How hot each kiln gets", "Who guards it", "What the moon weighs"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, endpoint: Vendors) -> Iterator[Server]:
    """Its documents do not fit into what a team may hold."""
    folder = tmp_path_factory.mktemp("parts")
    workspace = prepared(folder / "workspace", write_kilns(folder / "kilns"))
    orchestrator = workspace / "config" / "orchestrator.toml"
    text = orchestrator.read_text("utf-8").replace("max_rounds = 2", "max_rounds = 1")
    orchestrator.write_text(f"{text}evidence_tokens = {TOO_FEW}\n", "utf-8")
    with agent_server(workspace, OPENAI_BASE_URL=endpoint.base_url) as running:
        yield running


def note(part: int, state: str, *passages: int, missing: str = "") -> dict[str, object]:
    return {"part": part, "state": state, "passages": list(passages), "missing": missing}


@pytest.fixture
def last_step(endpoint: Vendors) -> Iterator[Event]:
    """The researcher's last step is answered once this is set."""
    go_on = Event()
    first = step(action("search", "heat of the kilns at noon", 1, 2, 3), state="open")
    second = step(action("find", "kiln-07"), parts=[note(1, "partly", 1, 2, missing="the others"), note(2, "open")])
    third = step(
        parts=[note(1, "answered", 1, 2, 3), note(2, "partly", 1), note(3, "not_found")], thought="That is all."
    )
    endpoint.malform(lambda reply: json.dumps(json.loads(reply) | {"parts": PARTS}), prompt="evaluator/criteria")
    script(endpoint, first, second, third)

    def wait(_reply: str) -> str:
        assert go_on.wait(120)
        return third

    endpoint.malform(wait, prompt="researcher/step", match=r"(?m)^# Your part: step 3 ")
    yield go_on
    go_on.set()


def test_the_parts_of_the_question_fill_up_while_a_team_researches(page: Page, last_step: Event) -> None:
    page.get_by_label("Your question").fill(THEME)
    page.get_by_role("button", name="Start").click()
    team = page.locator(".team", has=page.get_by_role("heading", name="Alpha"))
    parts = team.get_by_role("list", name="Parts of the question").get_by_role("listitem")

    expect(parts).to_have_text(
        [
            re.compile(r"partly.*How hot each kiln gets.*missing: the others.*2 passages"),
            re.compile(r"open.*Who guards it.*0 passages"),
            re.compile(r"open.*What the moon weighs.*0 passages"),
        ]
    )
    assert [meter.evaluate("each => each.value") for meter in parts.locator("meter").all()] == [2, 0, 0]
    held = team.get_by_text(re.compile(r"holds 2 passages: [\d,]+ of 2,000 tokens"))
    expect(held).to_be_visible()

    last_step.set()

    # The finished run opens its report.
    expect(page.locator("article h1")).to_be_visible()
    page.get_by_role("link", name="Watch").click()
    expect(parts.locator(".pill")).to_have_text(["answered", "partly", "not found"])
    expect(parts.first).to_contain_text("3 passages")
    team.locator("summary", has_text="Actions").click()
    actions = team.locator("details", has_text="Actions").last.locator("> ul > li")
    expect(actions.first).to_contain_text("search · heat of the kilns at noon · local")
    expect(actions.nth(1)).to_contain_text("find · kiln-07 · local")
    team.locator("summary", has_text="Steps").click()
    expect(team.get_by_text("That is all.")).to_be_visible()

    page.get_by_role("button", name="日本語").click()
    in_japanese = team.get_by_role("list", name="質問の項目")
    expect(in_japanese.locator(".pill")).to_have_text(["回答あり", "一部", "記載なし"])
    page.get_by_role("button", name="English").click()


def test_the_editors_report_is_nobodys_win_on_the_page_of_its_run_in_the_history_and_beside_another(
    page: Page, last_step: Event, endpoint: Vendors
) -> None:
    endpoint.reply(fixes(accept=True), prompt="research/review", match="# Reports that the draft was merged from")
    endpoint.malform(lambda reply: reply.replace('"title": "', '"title": "Merged: '), prompt="research/merge")
    preferring(endpoint, merged=True)
    last_step.set()
    for title in (THEME, "Who guards kiln-03?"):
        page.get_by_role("link", name="Ask", exact=True).click()
        page.get_by_label("Your question").fill(title)
        page.locator("select[name=depth]").select_option("standard")
        page.get_by_role("button", name="Start").click()
        expect(page.locator("article h1")).to_be_visible()
        expect(page.locator("header h1")).to_have_text(title)
    headline = re.compile(r"Published: editor's merge \d+\.\d; best team (Alpha|Beta) \d+\.\d")

    page.get_by_role("link", name="Watch").click()
    expect(page.get_by_text(headline)).to_be_visible()
    expect(page.get_by_text("Best team", exact=True)).to_be_visible()
    expect(page.get_by_text("Winner", exact=True)).to_have_count(0)

    page.get_by_role("link", name="Compare").click()
    page.get_by_label("Choose a run").select_option(index=1)
    expect(page.get_by_text(headline)).to_have_count(2)
    expect(page.locator("article h1")).to_have_count(2)
    expect(page.get_by_role("heading", name="Criteria")).to_have_count(2)
    expect(page.locator("ul.criteria li").first).to_have_text(re.compile("^[✓½✗]"))

    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("row", name=THEME).first).to_contain_text("editor's merge")
