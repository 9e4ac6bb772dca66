"""Questions on the command line: asked, shown, answered."""

import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from contend.cli.run import answers_of
from contend.errors import InputError
from fakes.contests import LARGE_CONTEXT, write_workspace
from fakes.terminal import CommandResult, Terminal, run_before
from fakes.vendors import Vendors

QUESTION = "How does resume go on after a crash, and which calls are repeated?"
TEAMS = ("archivist", "skeptic", "scholar")


@pytest.fixture
def terminal(
    workspace: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    """Three teams on the own documents, set to a language model."""
    write_workspace(workspace, TEAMS)
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    return Terminal(workspace, capsys.readouterr)


GIVEN = ("--source", "local", "--rounds", "1", "--thread", "asked", "--approve", "plan")


class WaitingRun(NamedTuple):
    """A workspace in which a run waits on thread `asked`, and what its command said."""

    workspace: Path
    result: CommandResult


@pytest.fixture(scope="module")
def asked_three(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> WaitingRun:
    """Three plans, each of a step: the documents are more than a model reads at once."""
    documents = tmp_path_factory.mktemp("large") / "papers"
    shutil.copytree(shared_documents, documents)
    sections = (f"## Crash {number}\n\n{' '.join(f'call{number}x{at}' for at in range(90))}" for number in range(60))
    (documents / "crashes.md").write_text("\n\n".join(["# Crashes", *sections]), "utf-8")
    return _waiting_run(tmp_path_factory, documents, reads=16_000)


@pytest.fixture(scope="module")
def asked_two(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> WaitingRun:
    """The plans of two teams."""
    return _waiting_run(tmp_path_factory, shared_documents, "--team", "archivist", "--team", "skeptic")


def _waiting_run(
    tmp_path_factory: pytest.TempPathFactory, documents: Path, *more: str, reads: int = LARGE_CONTEXT
) -> WaitingRun:
    workspace = tmp_path_factory.mktemp("asked") / "workspace"
    write_workspace(workspace, TEAMS, reads=reads)
    with Vendors() as vendors:
        (result,) = run_before(workspace, vendors.base_url, ("run", QUESTION, "--docs", documents, *GIVEN, *more))
    assert result.code == 3
    return WaitingRun(workspace, result)


def _go_on_from(terminal: Terminal, request: WaitingRun) -> None:
    shutil.copytree(request.workspace, terminal.workspace, dirs_exist_ok=True)


def test_a_run_that_waits_shows_what_is_asked_and_the_command_that_answers(
    terminal: Terminal, asked_three: WaitingRun
) -> None:
    _go_on_from(terminal, asked_three)
    result = asked_three.result

    assert "Plan of team Archivist" in result.out
    assert "search_queries:" in result.out
    assert "contend resume asked --answer archivist=approve" in result.out
    assert "Waiting" in terminal("runs").out
    status = terminal("status", "asked").out
    assert "Waiting" in status
    assert re.search(r"Archivist .* waiting$", status, re.MULTILINE)
    # The parts, and a step each: what is spent in rounds that are not finished counts, too.
    assert all("· 4 model calls ·" in text for text in (result.out, status))


def test_a_report_that_waits_is_shown_line_by_line_and_as_the_one_that_was_merged(
    terminal: Terminal, documents: Path
) -> None:
    write_workspace(terminal.workspace, TEAMS, reads=LARGE_CONTEXT)
    teams = ("--team", "archivist", "--team", "skeptic")
    result = terminal("run", QUESTION, "--docs", documents, *GIVEN[:-1], "report", *teams)

    assert result.code == 3
    assert "the merged report is chosen" in result.out
    assert f"Report merged from the teams' on: {QUESTION}" in result.out
    assert "\n  ### Overview\n" in result.out


def test_questions_are_answered_by_team_one_approved_one_edited_one_rejected(
    terminal: Terminal, asked_three: WaitingRun, tmp_path: Path
) -> None:
    _go_on_from(terminal, asked_three)
    file = tmp_path / "plan.toml"
    file.write_text('search_queries = ["checkpoint after every step"]\n', "utf-8")

    result = terminal(
        "resume", "asked", "--json",
        "--answer", "archivist=approve",
        "--answer", f"skeptic=edit:{file}",
        "--answer", "scholar=reject:look for the cap on teams",
    )  # fmt: skip

    outcome = json.loads(result.out.splitlines()[-1])
    assert result.code == 0
    assert outcome["status"] == "completed"
    assert outcome["questions"] == []


def test_one_approval_answers_all_questions_and_an_edit_is_refused_in_the_terminals_words(
    terminal: Terminal, asked_two: WaitingRun, tmp_path: Path
) -> None:
    _go_on_from(terminal, asked_two)
    edit = tmp_path / "edit.json"
    edit.write_text('{"plan_text": "Look at the leases."}', "utf-8")

    refused = terminal("resume", "asked", "--edit", edit)
    approved = terminal("resume", "asked", "--approve", "--json")

    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "--approve approves all, --answer archivist=approve --answer skeptic=edit:FILE answers each" in refused.err
    assert json.loads(approved.out.splitlines()[-1])["status"] == "completed"


def test_one_question_is_answered_without_its_name(terminal: Terminal, documents: Path) -> None:
    options = ("--docs", documents, "--source", "local", "--rounds", "1", "--thread", "asked", "--team", "archivist")
    assert terminal("run", QUESTION, *options, "--approve", "report").code == 3

    again = terminal("resume", "asked", "--reject", "too thin")
    result = terminal("resume", "asked", "--reject", "")

    assert (again.code, result.code) == (3, 2)
    assert "a person rejected the report: no reason given" in result.out


def test_questions_are_answered_by_id_one_after_another_and_a_stale_answer_is_refused(
    terminal: Terminal, asked_two: WaitingRun
) -> None:
    _go_on_from(terminal, asked_two)
    waiting = json.loads(terminal("resume", "asked", "--json").out.splitlines()[-1])["questions"]
    first, second = (question["id"] for question in waiting)

    one = terminal("resume", "asked", "--answer", f"{first}=approve", "--json")
    stale = terminal("resume", "asked", "--answer", f"{first}=reject:too late")
    rest = terminal("resume", "asked", "--answer", f"{second[:8]}=approve", "--json")

    assert one.code == 3
    assert [question["id"] for question in json.loads(one.out.splitlines()[-1])["questions"]] == [second]
    assert (stale.code, stale.err.count("\n")) == (2, 1)
    assert f"question '{first}' is not open: answered before or never asked" in stale.err
    assert rest.code == 0


def test_two_answers_to_one_question_are_refused(terminal: Terminal, asked_two: WaitingRun) -> None:
    _go_on_from(terminal, asked_two)
    waiting = json.loads(terminal("resume", "asked", "--json").out.splitlines()[-1])["questions"]

    result = terminal("resume", "asked", "--answer", "archivist=approve", "--answer", f"{waiting[0]['id']}=reject:no")

    assert result.code == 2
    assert "has two answers" in result.err


def test_an_answer_to_an_unknown_question_is_refused_with_the_open_ones(
    terminal: Terminal, asked_two: WaitingRun
) -> None:
    _go_on_from(terminal, asked_two)

    result = terminal("resume", "asked", "--answer", "nobody=approve")

    assert result.code == 2
    assert "question 'nobody' is not open" in result.err


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"approve": True, "reject": "no"}, "give one of"),
        ({"approve": True, "answer": ["a=approve"]}, "give one of"),
        ({"answer": ["a"]}, "--answer 'a'"),
        ({"answer": ["a=maybe"]}, "--answer 'a=maybe'"),
        ({"answer": ["a=edit:"]}, "--answer 'a=edit:'"),
        ({"answer": ["a=approve", "b=approve", "a=reject:no"]}, "a has two answers"),
        ({"edit": Path("missing.json")}, "cannot be read"),
    ],
)
def test_answers_in_doubt_are_refused(values: dict[str, object], message: str) -> None:
    options = {"approve": False, "edit": None, "reject": None, "answer": [], **values}

    with pytest.raises(InputError, match=message):
        answers_of(**options)  # type: ignore[arg-type]  # made above


def test_an_edit_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("{", "utf-8")

    with pytest.raises(InputError, match="neither JSON"):
        answers_of(approve=False, edit=path, reject=None, answer=[])
