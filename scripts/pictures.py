"""Pictures of the demo's report for the guide, taken in a real browser: `make pictures`.

They show what demo/recording.jsonl gives. `made-from.sha256` keeps that file's digest, so that a test notices when a
new recording wants new pictures.
"""

import shutil
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "demo" / "report.html"
PICTURES = ROOT / "docs" / "pictures"
MADE_FROM = PICTURES / "made-from.sha256"
_SHOWN_SUM = 4
"""Of the calculated statements one in the middle of the page, so that there is room for what it rests on."""
_COLOURS = 64
_SIZE: ViewportSize = {"width": 1000, "height": 620}


def recording_digest() -> str:
    """The SHA-256 of the demo's recording."""
    return sha256((ROOT / "demo" / "recording.jsonl").read_bytes()).hexdigest()


def head(page: Page) -> None:
    """The report's beginning."""
    page.evaluate("scrollTo(0, 0)")


def proof(page: Page) -> None:
    """A calculated statement with its sum open."""
    statement = page.locator("main span[aria-describedby]:has(.sum)").nth(_SHOWN_SUM)
    statement.evaluate("element => element.scrollIntoView({block: 'center'})")
    statement.focus()


def references(page: Page) -> None:
    """The references, with the passages of the first one open."""
    page.locator(".references details summary").first.click()
    page.locator(".references h2").evaluate("element => element.scrollIntoView()")


def about(page: Page) -> None:
    """What the run was: teams, scores, the editor."""
    page.locator("#about-run").evaluate("element => element.scrollIntoView()")


SHOTS: tuple[Callable[[Page], None], ...] = (head, proof, references, about)


def main() -> None:
    """Take all pictures anew."""
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for shot in SHOTS:
            page = browser.new_page(viewport=_SIZE, color_scheme="light", reduced_motion="reduce")
            page.goto(REPORT.as_uri())
            shot(page)
            picture = Image.open(BytesIO(page.screenshot()))
            picture.quantize(_COLOURS).save(PICTURES / f"report-{shot.__name__}.png", optimize=True)
            page.close()
        browser.close()
    MADE_FROM.write_text(f"{recording_digest()}  demo/recording.jsonl\n", "utf-8")


if __name__ == "__main__":
    main()
