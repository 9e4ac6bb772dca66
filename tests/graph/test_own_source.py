"""A source of the user's own, named in config/sources.toml: searched, throttled, cited and shown like a shipped one."""

import json
from pathlib import Path

import pytest

from contend.errors import InputError, SourceError
from contend.models.events import SourceOff
from contend.services import Services
from contend.settings import load_settings
from fakes.contests import Contest, write_workspace
from fakes.terminal import Terminal
from fakes.vendors import Vendors

THEME = "How does resume work after a kill?"
STANDARDS = """import time

asked = []


def standards(query, limit):
    asked.append((query, time.monotonic()))
    return [
        {
            "title": "Resuming of runs",
            "text": "A run that was killed is resumed from its last checkpoint, and finished calls are not repeated.",
            "url": "https://standards.example/resume",
            "published_date": "2026-03-01",
        },
        {"title": "No text"},
        "no result",
    ][:limit]


def failing(query, limit):
    raise KeyError("no such shelf")


async def busy_once(query, limit):
    if not asked:
        asked.append(query)
        raise ConnectionError("busy")
    return standards(query, limit)


def none_at_all(query, limit):
    return None


def hanging(query, limit):
    time.sleep(60)
"""


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


def write_source(workspace: Path, entry: str = 'function = "my_sources:standards"') -> None:
    write_workspace(workspace, ("alpha",))
    (workspace / "my_sources.py").write_text(STANDARDS, "utf-8")
    (workspace / "config" / "sources.toml").write_text(f"[sources.standards]\n{entry}\n", "utf-8")
    team = workspace / "config" / "teams" / "alpha.toml"
    team.write_text(team.read_text("utf-8").replace('["local"]', '["standards", "local"]'), "utf-8")


async def test_a_report_cites_what_a_function_of_the_workspace_found(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    write_source(workspace)
    contest = Contest(workspace, documents, vendors.base_url)

    outcome = await contest.run(THEME, sources=["standards"])

    assert outcome.status == "completed"
    assert outcome.report is not None
    assert [source.url for source in outcome.report.sources] == ["https://standards.example/resume"]
    assert outcome.markdown is not None
    assert "Resuming of runs" in outcome.markdown


async def test_a_source_that_raises_is_off_for_the_run_and_the_others_go_on(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    write_source(workspace, 'function = "my_sources:failing"')
    contest = Contest(workspace, documents, vendors.base_url)

    outcome = await contest.run(THEME, sources=["standards", "local"])

    off = [event for event in contest.events if isinstance(event, SourceOff)]
    assert outcome.report is not None
    assert [event.source for event in off] == ["standards"]
    assert "the function of source standards raised KeyError: 'no such shelf'" in off[0].reason


async def search(workspace: Path, entry: str) -> list[str]:
    """The titles that one search of the source gives."""
    write_source(workspace, entry)
    source = Services(load_settings(workspace=workspace)).sources.get("standards", [])
    return [each.result.title for each in await source.search("resume", limit=5)]


async def test_a_function_that_is_cut_off_once_is_asked_again(workspace: Path) -> None:
    assert await search(workspace, 'function = "my_sources:busy_once"') == ["Resuming of runs"]


async def test_a_function_that_gives_no_list_is_named_with_what_it_gave(workspace: Path) -> None:
    with pytest.raises(SourceError, match="gave None: return a list of results"):
        await search(workspace, 'function = "my_sources:none_at_all"')


async def test_a_function_that_hangs_ends_with_its_deadline(workspace: Path) -> None:
    with pytest.raises(SourceError, match=r"was not done within 0\.2 s"):
        await search(workspace, 'function = "my_sources:hanging"\ndeadline_seconds = 0.2')


async def test_the_same_search_of_several_teams_is_made_once(workspace: Path) -> None:
    write_source(workspace)
    source = Services(load_settings(workspace=workspace)).sources.get("standards", [])

    first, second = [await source.search("resume", limit=3) for _ in range(2)]

    assert first == second
    assert len(source._own.function.__globals__["asked"]) == 1


def test_doctor_shows_it_and_names_a_function_that_is_not_there(terminal: Terminal, workspace: Path) -> None:
    write_source(workspace)
    ready = {check["name"]: check for check in json.loads(terminal("doctor", "--json").out)["checks"]}
    write_source(workspace, 'function = "my_sources:misspelt"')
    faulty = {check["name"]: check for check in json.loads(terminal("doctor", "--json").out)["checks"]}

    assert (ready["source standards"]["state"], ready["source arxiv"]["name"]) == ("ok", "source arxiv")
    assert faulty["config"]["state"] == "fault"
    assert "function 'my_sources:misspelt' cannot be loaded" in faulty["config"]["said"]


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ('kind = "gopher"', "no kind of source 'gopher'; choose from local, arxiv, tavily, or name a function"),
        ('kind = "arxiv"', "a source of kind 'arxiv' is named as its kind"),
        ('kind = "arxiv"\nfunction = "a:b"', "a kind or a function: leave one of them out"),
    ],
)
async def test_an_entry_that_cannot_be_a_source_is_refused_in_one_line(workspace: Path, entry: str, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        await search(workspace, entry)
