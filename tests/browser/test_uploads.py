"""Documents that a person adds to a question on the page, by keyboard or by dropping them."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from fakes.files import make_docx, make_pdf
from fakes.servers import Server

THEME = "How high does the tide at Nordmole rise, and who opens the lock gate?"
TIDES = ["# The tides of Nordmole", "The tide at Nordmole rises by four metres.", "It falls again within six hours."]
GATE = [("Title", "The lock gate"), ("Normal", "The harbour master opens the lock gate of Nordmole at high tide.")]


def write_files(folder: Path) -> list[Path]:
    pdf, word = folder / "tides.pdf", folder / "lock gate.docx"
    pdf.write_bytes(make_pdf([TIDES]))
    word.write_bytes(make_docx(*GATE, title="The lock gate"))
    return [pdf, word]


def tab_to(page: Page, name: str) -> None:
    button = page.get_by_role("button", name=name)
    for _ in range(20):
        if button.evaluate("each => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no Tab leads to {name}")


def drop(page: Page, name: str, content: str) -> None:
    """As a browser tells of a file that is dropped on the form."""
    page.evaluate(
        """([name, content]) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([content], name));
            document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
        }""",
        [name, content],
    )


def uploaded(server: Server) -> list[str]:
    return sorted(path.name for path in server.workspace.glob("uploads/*/*"))


def test_by_keyboard_alone_a_pdf_and_a_word_file_are_uploaded_asked_about_and_cited(
    page: Page, server: Server, tmp_path: Path
) -> None:
    expect(page.get_by_label("Your question")).to_be_focused()
    page.wait_for_load_state("networkidle")  # the form knows its server, and is drawn no more
    # Told long before the press: a busy Chromium learns too late of a listener that comes with it, and tells nobody.
    with page.expect_file_chooser() as chooser:
        page.keyboard.type(THEME)
        tab_to(page, "Add files")
        page.keyboard.press("Enter")
    chooser.value.set_files(write_files(tmp_path))
    expect(page.get_by_role("list", name="Files").get_by_role("listitem")).to_have_text(
        [re.compile(r"tides\.pdf.*kB"), re.compile(r"lock gate\.docx.*kB")]
    )
    assert uploaded(server) == []  # nothing leaves the browser before the question does
    tab_to(page, "Start")
    page.keyboard.press("Enter")

    expect(page.locator("article h1")).to_be_visible()
    references = page.locator("article .references")
    expect(references).to_contain_text("The tides of Nordmole")
    expect(references).to_contain_text("The lock gate")
    assert uploaded(server) == ["lock gate.docx", "tides.pdf"]
    expect(page.get_by_role("list", name="Files").get_by_role("listitem")).to_have_count(2)

    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").press("Enter")
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    assert uploaded(server) == []


def test_a_dropped_file_of_no_known_kind_is_refused_by_name_and_without_it_the_run_starts(
    page: Page, server: Server
) -> None:
    page.get_by_label("Your question").fill(THEME)
    drop(page, "tides.md", "\n\n".join(TIDES))
    drop(page, "tides.zip", "PK")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert")).to_contain_text("tides.zip: of no known kind")

    page.get_by_role("button", name="Remove: tides.zip").click()
    expect(page.get_by_role("button", name="Add files")).to_be_focused()
    with page.expect_request(re.compile(r"/research/[^/]+$")) as start:
        page.get_by_role("button", name="Start").click()

    (folder,) = json.loads(start.value.post_data or "")["options"]["documents"]
    assert Path(folder).parent == server.workspace / "uploads"
    expect(page.locator("article .references")).to_contain_text("The tides of Nordmole")


@pytest.mark.parametrize("way", ["another view", "a reload"])
def test_what_was_uploaded_for_an_estimate_is_deleted_if_nothing_is_asked(page: Page, server: Server, way: str) -> None:
    before = uploaded(server)
    page.get_by_label("Your question").fill(THEME)
    drop(page, "estimate.md", "\n\n".join(TIDES))
    with page.expect_response(re.compile("/uploads/estimate.md")) as upload:
        page.get_by_role("button", name="Estimate", exact=True).click()
    expect(page.get_by_text("model calls")).to_be_visible()
    assert uploaded(server) == sorted([*before, "estimate.md"])

    if way == "a reload":
        page.reload()
    else:
        page.get_by_role("link", name="Standings").click()

    folder = upload.value.url.rpartition("/")[0]
    while page.request.get(folder).json()[
        "uploads"
    ]:  # nobody is told; a page that never deletes ends by the time limit
        page.wait_for_timeout(50)
    assert uploaded(server) == before
