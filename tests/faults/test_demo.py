"""`make demo` plays the shipped recording offline and spends nothing; all else of the contest is done anew."""

import json
import re
import runpy
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from pypdfium2 import PdfDocument

from contend.llm.recording import Recording
from fakes.demos import make_demo, play_demo
from fakes.guide import ROOT
from fakes.terminal import child_of
from fakes.vendors import Vendors

WRONG = "Electricity prices are fixed until 31 December 2028, before either delivery day."
FACTS = (
    "39 km", "29 min", "31 km and 38 minutes", "10,070,000",
    "13,700,000", "3,630,000", "26 February 2027", "1.43 million under",
    "30 June 2027", "1 December 2026", "1 March 2028", "31 January 2027", "1,950 kWh", "Four masters",
)  # fmt: skip
"""What the documents answer: the newer winter and the older one named as such, sums, days, and a Japanese figure."""


class Demo(NamedTuple):
    """What the demo said, left, and asked of an endpoint."""

    out: str
    report: str
    folder: Path
    calls: int


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """One demo, with keys and a model set in the environment and in `.env`."""
    folder = tmp_path_factory.mktemp("clone")
    with Vendors() as vendors:
        keys = {
            "OPENAI_API_KEY": "sk-planted-0123456789",
            "OPENAI_BASE_URL": vendors.base_url,
            "TAVILY_API_KEY": "tvly",
        }
        (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in keys.items()), "utf-8")
        more = {"CONTEND_MODEL": "gpt-5-mini", "CONTEND_RECORD": str(folder / "new.jsonl"), **keys}
        out = play_demo(folder, **more)
        report = (folder / "demo" / "report.md").read_text("utf-8")
        yield Demo(out, report, folder, len(vendors.calls))


def test_the_demo_asks_no_model_although_keys_stand_in_the_environment_and_in_the_env_file(demo: Demo) -> None:
    assert demo.calls == 0
    assert "no model calls" in demo.out
    assert not (demo.folder / "new.jsonl").exists()


def test_the_demo_says_that_its_replies_are_recorded_when_and_by_which_model(demo: Demo) -> None:
    recorded = Recording.read(ROOT / "demo" / "recording.jsonl").summary

    assert f"model replies: recorded on {recorded.recorded_on} (model {recorded.model})" in demo.out
    assert f"Model replies: recorded on {recorded.recorded_on} (model {recorded.model})" in demo.report
    page = (demo.folder / "demo" / "report.html").read_text("utf-8").partition("<details>")[0]
    assert f"Model replies: recorded on {recorded.recorded_on} (model {recorded.model})" in page


def test_the_demos_report_answers_what_the_documents_answer_and_says_what_they_do_not(demo: Demo) -> None:
    report = demo.report.partition("## References")[0]

    assert [fact for fact in FACTS if fact not in report] == []
    assert "**No document gives a premium for Tern.**‡" in report
    assert "⚠" not in report
    assert "grid-letter.pdf" in demo.report
    assert "電池の低温特性" in demo.report


def test_a_wrong_year_is_refuted_by_code_and_mended_before_anybody_judges_it(demo: Demo) -> None:
    replies = [json.loads(line) for line in (ROOT / "demo" / "recording.jsonl").read_text("utf-8").splitlines()]
    (written,) = [each for each in replies if (each["team"], each["prompt"]) == ("scout", "research/write")]
    mended, *_ = [each for each in replies if (each["team"], each["prompt"]) == ("scout", "research/mend")]

    assert WRONG in json.dumps(written["reply"])
    assert WRONG.replace("2028", "2027") in json.dumps(mended["reply"])
    assert "31 December 2028" not in demo.report
    assert "~~" not in demo.report


def test_each_team_gains_in_round_2_and_the_editor_merges_the_best(demo: Demo) -> None:
    scores = {
        (team, int(played)): float(score)
        for team, played, score in re.findall(r"(\w+) +round (\d): scored ([\d.]+)/100", demo.out)
    }

    teams = {team for team, _ in scores}
    assert len(teams) == 3
    assert all(scores[team, 2] > scores[team, 1] for team in teams)
    assert len({scores[team, 2] for team in teams}) == 3
    assert "the merged report is chosen" in demo.out
    assert "by 3 of 3 teams" in demo.report
    assert "merged of the best parts of 3 teams' reports" in demo.report


def test_the_demo_leaves_three_reports_and_lessons(demo: Demo) -> None:
    reports = {path.name for path in (demo.folder / "demo").glob("report.*")}

    assert reports == {"report.md", "report.html", "report.json"}
    assert re.search(r"playbook demo, version 1: \d added", demo.out)


def test_the_sample_report_in_examples_is_what_the_demo_gives_but_for_its_times(demo: Demo) -> None:
    sample = runpy.run_path(str(ROOT / "scripts" / "sample.py"))

    for name, text in sample["shared_files"](demo.folder / "demo").items():
        kept = (sample["SAMPLE"] / name).read_text("utf-8")
        assert _timeless(kept) == _timeless(text), f"examples/ferry/{name} is out of date: make sample"


def test_the_sample_in_print_is_the_report_of_the_same_run_as_the_others() -> None:
    folder = ROOT / "examples" / "ferry"
    stamp = re.search(r"Generated at: (\S+ \S+)", (folder / "report.md").read_text("utf-8"))
    assert stamp is not None

    with closing(PdfDocument(folder / "report.pdf")) as document:
        text = "\n".join(page.get_textpage().get_text_range() for page in document)

    assert stamp[1] in re.sub(r"\s+", " ", text), "examples/ferry/report.pdf is out of date: make sample"


def _timeless(text: str) -> str:
    stamps = (
        r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?|(?<=>read )\d{4}-\d{2}-\d{2}|(?:\d+ min )?\d+(?:\.\d)? s\b"
    )
    return re.sub(stamps, "TIME", text)


def test_the_demo_ends_with_the_reports_address_for_a_browser(demo: Demo) -> None:
    *_, last = [line for line in demo.out.splitlines() if not re.match(r"make(\[\d+\])?: ", line)]

    assert last == f"The report, in a browser:  {(demo.folder / 'demo' / 'report.html').as_uri()}"


def test_live_says_what_it_may_cost_before_it_asks_the_users_model(tmp_path: Path, vendors: Vendors) -> None:
    with child_of([*make_demo(tmp_path), "LIVE=1"], OPENAI_BASE_URL=vendors.base_url) as child:
        out, err = child.communicate(timeout=240)

    assert child.returncode in {0, 1}, err
    assert vendors.calls
    assert out.index("LIVE=1: your own model is asked") < out.index("Calls") < out.index("starts")
    assert "recorded on" not in out
