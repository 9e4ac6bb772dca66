"""The script of `examples/http_api` against a server without a key."""

import re
import subprocess

from fakes.guide import ROOT, blocks
from fakes.servers import Server


def test_the_script_plays_a_contest_and_shows_its_events_scores_and_report(keyless_server: Server) -> None:
    (_, block) = blocks(ROOT / "examples" / "http_api" / "README.md", "sh")
    command = block.strip().replace("http://127.0.0.1:2024", keyless_server.url)

    done = subprocess.run(command.split(), cwd=ROOT, check=False, capture_output=True, text=True, timeout=240)  # noqa: S603 - the example's own line

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Research ")
    assert "6 round_scored" in done.stdout
    assert re.search(r"^\d,Archivist,2,0\.\d+$", done.stdout, re.MULTILINE)
    assert done.stdout.partition("Report:\n")[2].startswith("# ")
