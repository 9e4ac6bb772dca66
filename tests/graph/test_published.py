"""Whose report is published, said wherever a run's outcome is: the editor's merge is nobody's win."""

import csv
import html
import json
import re
import shutil
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from contend.models.task import ExecutionRow
from contend.stores.record import RecordStore
from fakes.contests import LARGE_CONTEXT, Contest, write_workspace
from fakes.terminal import CommandResult, Terminal, run_before
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
TEXT = "Merged: a run keeps a checkpoint after every step."


class Published(NamedTuple):
    """A workspace in which the thread `merged` has the editor's report, and `single` a team's; what the first said."""

    workspace: Path
    shown: CommandResult


def merging(vendors: Vendors) -> None:
    """The editor merges, and judges prefer its report in both orders."""
    sentence = {"text": TEXT, "sources": [1], "kind": "stated", "basis": ""}
    section = {"heading": "Merged", "blocks": [{"type": "paragraph", "sentences": [sentence] * 2}]}
    parts = {"summary": [sentence], "findings": [sentence], "sections": [section], "limits": [], "lessons": []}
    printed = {"sources_by_name": False, "own_headings": False, "opening_heading": "", "reader_limit": None}
    report = {"title": "Merged: after a crash", **printed, **parts, "taken": [{"report": "A", "what": "all of it"}]}
    vendors.reply(json.dumps({"actions": [], "report": report}), prompt="research/merge")
    for place in ("first", "second"):
        pattern = rf"(?s)# {place.title()} report.{{0,200}}Merged"
        vendors.reply(json.dumps({"reason": "It is.", "choice": place}), prompt="pairwise/compare", match=pattern)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> Published:
    workspace = tmp_path_factory.mktemp("published") / "workspace"
    write_workspace(workspace, reads=LARGE_CONTEXT)
    run = ("run", THEME, "--docs", shared_documents, "--source", "local", "--rounds", "1")
    with Vendors() as vendors:
        merging(vendors)
        single = (*run, "--thread", "single", "--no-learn", "--no-synthesis")
        shown, _ = run_before(workspace, vendors.base_url, (*run, "--thread", "merged"), single)
    assert shown.code == 0, shown
    return Published(workspace, shown)


@pytest.fixture
def terminal(
    workspace: Path, published: Published, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    shutil.copytree(published.workspace, workspace)
    monkeypatch.setenv("COLUMNS", "160")
    return Terminal(workspace, capsys.readouterr)


HEADLINE = re.compile(r"Published: editor's merge \d+\.\d/100; best team (?i:alpha|beta) \d+\.\d/100$")


def test_the_end_of_a_run_and_its_lines_say_that_the_editors_merge_is_published(published: Published) -> None:
    lines = published.shown.out.splitlines()

    assert [line for line in lines if line.startswith("Completed · ") and HEADLINE.search(line)]
    assert [line for line in lines if "  contend  " in line and HEADLINE.search(line)]
    assert [line for line in lines if "published the editor's merge with " in line]
    assert "wins with" not in published.shown.out


@pytest.mark.parametrize("command", [("status", "merged"), ("leaderboard", "merged")], ids=lambda each: each[0])
def test_status_and_leaderboard_say_whose_report_is_published(terminal: Terminal, command: tuple[str, str]) -> None:
    assert [line for line in terminal(*command).out.splitlines() if HEADLINE.match(line)]
    assert " wins with " in terminal(command[0], "single").out

    values = json.loads(terminal(*command, "--json").out)
    values = values.get("execution", values)
    assert (values["published"], type(values["published_score"])) == ("editor", float)


def test_the_list_of_runs_has_the_score_of_what_is_published(terminal: Terminal) -> None:
    rows = {row["thread_id"]: row for row in json.loads(terminal("runs", "--json").out)}
    lines = terminal("runs").out.splitlines()

    assert {thread: row["published"] for thread, row in rows.items()} == {"merged": "editor", "single": "team"}
    assert rows["single"]["published_score"] == rows["single"]["best_score"]
    merged = f"{rows['merged']['published_score'] * 100:.1f}"
    assert [line for line in lines if line.startswith("merged ") and f"  editor {merged}/100  " in line]


def test_a_comparison_names_what_is_published_its_criteria_and_its_text_as_it_is_read(terminal: Terminal) -> None:
    out = terminal("compare", "merged", "single").out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    both = json.loads(terminal("compare", "merged", "single", "--json").out)

    assert [line for line in lines if line.startswith("Published editor's merge ") and line.count("/100") == 2]
    criteria = [both[side]["judged_criteria"] for side in "ab"]
    assert all(each["verdict"] in {"met", "partly", "unmet"} for side in criteria for each in side)
    assert both["a"]["criteria"]["all"] == len(criteria[0]) > 0
    assert len([line for line in lines if line[:1] in {"✓", "½", "✗"}]) >= len(criteria[0])
    _, _, reports = out.partition("Published report")
    assert "Merged: a run keeps a checkpoint" in reports
    assert "**" not in reports


def test_a_reports_head_and_page_name_the_editor_and_count_what_was_used_until_then(terminal: Terminal) -> None:
    results = terminal.workspace / "results" / "merged"
    text, page = ((results / f"report.{kind}").read_text("utf-8") for kind in ("md", "html"))

    assert "- Published: editor's merge (" in text
    assert "best team: " in text
    assert "- Usage until publication: " in text
    assert "Winner" not in text
    assert "Published: <strong>editor&#x27;s merge (" in page or "Published: <strong>editor's merge (" in page


@pytest.mark.parametrize("thread", ["merged", "single"])
def test_the_page_draws_the_scores_of_the_record(terminal: Terminal, thread: str) -> None:
    rows = csv.DictReader(StringIO(terminal("report", thread, "--format", "csv").out))
    scores = {row["team"]: f"round 1 {float(row['score']) * 100:.1f}" for row in rows}
    page = terminal("report", thread, "--format", "html").out

    text = html.unescape(re.findall(r"<desc[^>]*>(.*?)</desc>", page)[0])
    teams = [each.partition(": ") for each in text.split("; ")]
    published = teams[-1 if thread == "merged" else 0]
    assert {name: points.removesuffix(" (published)") for name, _, points in teams if name in scores} == scores
    assert ("Editor's merge" in text) == (thread == "merged")
    assert [each for each in teams if each[2].endswith(" (published)")] == [published]


def test_without_calls_after_publication_the_report_and_the_terminal_count_the_same(terminal: Terminal) -> None:
    usage = json.loads(terminal("status", "single", "--json").out)["usage"]

    text = (terminal.workspace / "results" / "single" / "report.md").read_text("utf-8")

    counts = f"{usage['requests']} model calls, {usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
    assert counts in text


def test_the_table_of_scores_is_of_the_teams(terminal: Terminal) -> None:
    rows = csv.DictReader(StringIO(terminal("report", "merged", "--format", "csv").out))

    assert {row["team_id"] for row in rows} == {"alpha", "beta"}


async def recorded(workspace: Path) -> ExecutionRow:
    """The newest run of the thread `asked`."""
    record = RecordStore(workspace / "contend.duckdb")
    row = await record.latest_execution("asked")
    await record.close()
    assert row
    return row


@pytest.mark.parametrize("decision", ["approve", {"type": "edit", "args": {"key_findings": ["It keeps checkpoints."]}}])
async def test_the_summary_says_what_is_published_and_has_no_score_for_what_a_person_changed(
    workspace: Path, documents: Path, vendors: Vendors, decision: object
) -> None:
    write_workspace(workspace, reads=LARGE_CONTEXT)
    contest = Contest(workspace, documents, vendors.base_url, defaults={"learn": False})
    merging(vendors)
    waiting = await contest.run(THEME, thread_id="asked", max_rounds=1, approve=["report"])
    assert waiting.summary
    assert waiting.summary.published is None

    outcome = await contest.resume("asked", decision)

    assert outcome.summary
    assert outcome.summary.published == "editor"
    assert (outcome.summary.published_score is not None) == (decision == "approve")
    assert outcome.summary.best_score
    row = await recorded(workspace)
    assert row.published_fields() == outcome.summary.published_fields()


async def test_of_a_rejected_report_nothing_is_published(workspace: Path, documents: Path, vendors: Vendors) -> None:
    write_workspace(workspace, reads=LARGE_CONTEXT)
    contest = Contest(workspace, documents, vendors.base_url, defaults={"learn": False})
    merging(vendors)
    await contest.run(THEME, thread_id="asked", max_rounds=1, approve=["report"])

    await contest.resume("asked", "reject")

    row = await recorded(workspace)
    assert (row.status, row.published, row.published_score) == ("failed", None, None)
