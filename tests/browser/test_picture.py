"""The README's picture: its script finds on the page what it shows, and the picture is small."""

import runpy

from PIL import Image
from playwright.sync_api import Browser

from fakes.api_client import research_api
from fakes.guide import ROOT
from fakes.servers import Server

SCRIPT = runpy.run_path(str(ROOT / "scripts" / "picture.py"))
FRAMES = 4


def test_the_script_finds_on_the_page_what_each_frame_shows(browser: Browser, keyless_server: Server) -> None:
    with research_api(keyless_server) as api:
        frames = [*SCRIPT["frames"](browser, api)]

    assert len(set(frames)) == FRAMES
    assert all(frame.startswith(b"\x89PNG") for frame in frames)


def test_the_picture_is_animated_and_small_enough_for_a_readme() -> None:
    with Image.open(SCRIPT["PICTURE"]) as picture:
        assert picture.format == "WEBP"
        assert picture.n_frames == FRAMES
    assert SCRIPT["PICTURE"].stat().st_size < SCRIPT["MOST_BYTES"]
