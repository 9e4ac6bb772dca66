"""`contend verify`: a published report is held against its own quotes and sums, and its documents as they are."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contend.models.research import ResearchReport
from fakes.chat_replies import report_reply
from fakes.contests import Contest, write_workspace
from fakes.terminal import Terminal
from fakes.vendors import Vendors

THEME = "How many units does the plant make a month?"
STATEMENTS: list[dict[str, Any]] = [
    {"text": "The plant makes 4,200 units a month.", "sources": [1], "quotes": ["makes 4,200 units a month"]},
    {"text": "It needs 21 people.", "sources": [2], "quotes": ["Twenty-one people, 21 in all"]},
    {"text": "That is 200 units each.", "sources": [], "kind": "derived", "basis": "4200 / 21"},
]


@pytest.fixture
async def report(workspace: Path, tmp_path: Path, vendors: Vendors) -> Path:
    """The report.json of a run over two notes."""
    write_workspace(workspace, ("alpha",))
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "1-plant.md").write_text("# Plant\n\nThe plant makes 4,200 units a month.\n", "utf-8")
    (notes / "2-crew.md").write_text("# Crew\n\nTwenty-one people, 21 in all, work there.\n", "utf-8")
    vendors.reply(report_reply(STATEMENTS[:1], body=STATEMENTS), prompt="research/write")
    defaults = {"learn": False, "max_rounds": 1, "max_iterations": 1, "teams": ["alpha"]}
    outcome = await Contest(workspace, notes, vendors.base_url, defaults=defaults).run(THEME)
    assert outcome.status == "completed"
    return next((workspace / "results").rglob("report.json"))


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


def test_a_report_as_it_was_published_holds_and_says_what_carries_each_statement(
    report: Path, terminal: Terminal
) -> None:
    result = terminal("verify", report)

    assert result.code == 0
    assert result.out.strip() == "holds: 5 statements"
    ledger = json.loads(report.read_text("utf-8"))
    first, second, third = [each for each in ledger["statements"] if each["place"].startswith("1.")]
    assert first["quotes"] == ["makes 4,200 units a month"]
    assert {each["title"] for each in ledger["passages"] if each["id"] in second["passages"]} == {"Crew"}
    assert third["sums"] == ["4200 / 21 = 200"]
    assert [(each["check"], each["outcome"]) for each in third["checks"]] == [
        ("figures", "holds"),
        ("sums", "holds"),
        ("judge", "holds"),
    ]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:]{8}Z", each["read_at"]) for each in ledger["passages"])
    assert ResearchReport.model_validate(ledger).key_findings


def test_a_report_of_a_release_that_kept_no_times_and_checks_is_verified(report: Path, terminal: Terminal) -> None:
    ledger = json.loads(report.read_text("utf-8"))
    for each in ledger["passages"]:
        del each["read_at"]
    for each in ledger["statements"]:
        del each["checks"]
    report.write_text(json.dumps(ledger), "utf-8")

    assert terminal("verify", report).code == 0


def test_a_quote_of_a_heading_is_not_looked_for_in_the_document_as_it_is(report: Path, terminal: Terminal) -> None:
    ledger = json.loads(report.read_text("utf-8"))
    for each in ledger["passages"]:
        each["heading"] = "Site › Output"
    for each in ledger["statements"]:
        each["quotes"] += ["Site › Output"] if each["quotes"] else []
    report.write_text(json.dumps(ledger), "utf-8")

    assert terminal("verify", report).code == 0


def test_exactly_the_statements_of_a_changed_and_of_a_deleted_document_are_named(
    report: Path, terminal: Terminal, tmp_path: Path
) -> None:
    plant, crew = tmp_path / "notes" / "1-plant.md", tmp_path / "notes" / "2-crew.md"
    plant.write_text(plant.read_text("utf-8").replace("4,200", "4,300"), "utf-8")
    crew.unlink()

    result = terminal("verify", report, "--json")

    states = {each["place"]: each["state"] for each in json.loads(result.out)["statements"]}
    assert result.code == 1
    assert states == {
        "summary 1": "changed",
        "finding 1": "changed",
        "1.1.1": "changed",
        "1.1.2": "gone",
        "1.1.3": "holds",
    }
    assert "Crew is gone" in terminal("verify", report).out


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda ledger: ledger["statements"][-1].update(basis="4200 / 20"), "1.1.3"),
        (lambda ledger: ledger["statements"][-1].update(says="That is 210 units each."), "1.1.3"),
        (lambda ledger: ledger["statements"][-2].update(quotes=["Thirty-one people"]), "1.1.2"),
        (lambda ledger: ledger["passages"][-1].update(text="Twenty-one people, 21 in all."), "1.1.2"),
    ],
    ids=["sum", "figure", "quote", "passage"],
)
def test_what_was_changed_in_the_file_itself_is_named(
    report: Path,
    terminal: Terminal,
    change: Callable[[dict[str, Any]], None],
    place: str,
) -> None:
    ledger = json.loads(report.read_text("utf-8"))
    change(ledger)
    report.write_text(json.dumps(ledger), "utf-8")

    result = terminal("verify", report, "--json")

    broken = [each["place"] for each in json.loads(result.out)["statements"] if each["state"] == "broken"]
    assert (result.code, broken) == (1, [place])


@pytest.mark.parametrize(("content", "why"), [("{}", "is no report of contend"), (None, "cannot be read")])
def test_what_is_no_report_is_refused(terminal: Terminal, tmp_path: Path, content: str | None, why: str) -> None:
    file = tmp_path / "other.json"
    if content is not None:
        file.write_text(content, "utf-8")

    result = terminal("verify", file)

    assert result.code == 2
    assert why in result.err
    assert "report.json" in result.err
