"""Write `examples/ferry/contest.webp`, the README's picture: the page while it plays the demo, in real Chromium.

`make sample` runs it. It starts a server without a key, plays the demo, and takes each frame as a reader would see it;
a caption says what is shown. Chromium must be installed (Debian: apt-get install chromium).
"""

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from fakes.api_client import Api, research_api  # noqa: E402 - of the tests, which are no package
from fakes.browser import chromium  # noqa: E402 - the same
from fakes.servers import agent_server  # noqa: E402 - the same

PICTURE = ROOT / "examples" / "ferry" / "contest.webp"
MOST_BYTES = 400_000
_WIDTH, _HEIGHT = 1000, 700
_FRAME_MILLISECONDS = 4_000
_QUALITY = 80
_SETTLE_MILLISECONDS = 1_500
"""The page draws a run anew with each event that it replays."""
_BELOW_TOP = 80
"""The pixels that the page's own bar covers, and some air."""
_CAPTION = """text => {
  const caption = document.getElementById("caption") ?? document.body.appendChild(document.createElement("div"));
  caption.id = "caption";
  caption.textContent = text;
  Object.assign(caption.style, {position: "fixed", inset: "auto 0 0 0", padding: "11px 20px", zIndex: 1000,
    font: "600 17px system-ui, sans-serif", color: "white", background: "#16324a"});
}"""


def main() -> None:
    expect.set_options(timeout=60_000)
    with (
        TemporaryDirectory() as folder,
        agent_server(_workspace(Path(folder))) as server,
        research_api(server) as api,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        write([*frames(browser, api)])
        browser.close()
    size = PICTURE.stat().st_size
    print(f"{PICTURE.relative_to(ROOT)}: {size:,} bytes")
    if size > MOST_BYTES:
        raise SystemExit(f"{PICTURE.name} has {size:,} bytes, {MOST_BYTES:,} are allowed: lower _QUALITY")


def _workspace(folder: Path) -> Path:
    workspace = folder / "workspace"
    workspace.mkdir()
    return workspace


def frames(browser: Browser, api: Api) -> Iterator[bytes]:
    """The pictures, in order, each a PNG, from a server whose workspace has the shipped configuration."""
    looks = browser.new_context(
        viewport={"width": _WIDTH, "height": _HEIGHT}, locale="en-US", color_scheme="light", reduced_motion="reduce"
    )
    page = looks.new_page()
    run = api.http.post("/research/demo").json()["research_id"]
    api.until(run, "status", status="completed")
    address = f"{api.server.url}/app/#/run/{run}"
    page.goto(f"{address}/watch")
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()
    yield _frame(
        page, page.locator("header h1"), "1 · Three teams answer one question in two rounds; judges score each"
    )
    page.goto(f"{address}/judges")
    criteria = page.get_by_role("heading", name="Criteria")
    yield _frame(page, criteria, "2 · Judges hold every team's report against criteria made for the question")
    page.goto(f"{address}/read")
    yield _frame(page, page.locator("article h1"), "3 · An editor merges the best parts into one report")
    calculated = page.locator("article .s.calculated").nth(1)
    _scroll_to(calculated)
    calculated.focus()
    expect(page.locator(".proof:visible")).to_be_visible()
    yield _frame(page, None, "4 · Every statement opens its quotes, or its sum with the inputs")
    looks.close()


def _frame(page: Page, top: Locator | None, caption: str) -> bytes:
    """What is seen from `top` on, or where the page stands."""
    if top is not None:
        expect(top).to_be_visible()
        page.wait_for_timeout(_SETTLE_MILLISECONDS)
        _scroll_to(top)
    page.evaluate(_CAPTION, caption)
    return page.screenshot()


def _scroll_to(place: Locator) -> None:
    place.evaluate(f"place => scrollTo(0, place.getBoundingClientRect().top + scrollY - {_BELOW_TOP})")


def write(pictures: list[bytes]) -> None:
    first, *others = [Image.open(io.BytesIO(each)).convert("RGB") for each in pictures]
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    first.save(
        PICTURE,
        save_all=True,
        append_images=others,
        duration=_FRAME_MILLISECONDS,
        loop=0,
        quality=_QUALITY,
        method=6,
    )


if __name__ == "__main__":
    main()
