"""A team's own graph that fails, hangs, invents or cannot play: it costs its team the place, and the run nothing."""

import asyncio
import json
import re
import subprocess
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from contend.errors import InputError
from contend.settings.files import load_config
from fakes.children import contend_child
from fakes.contests import Contest, metrics_of, rounds_of
from fakes.own_graphs import ANSWERS, QUESTION, REPORT, TEAM, enter, react
from fakes.terminal import Terminal, start_command
from fakes.vendors import Vendors


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    return Contest(workspace, documents, vendors.base_url, defaults={"learn": False})


NO_REPORT = """
import sys


class Any(TypedDict, total=False):
    messages: object


async def raise_error(state):
    raise KeyError("no such shelf")


async def ask(state):
    return {"messages": [AIMessage(interrupt("May I search?"))]}


async def leave(state):
    sys.exit(3)


async def say_rubbish(state):
    return {"messages": {"role": 42}}


async def say_nothing(state):
    return {"messages": [AIMessage("---")]}


async def be_empty(state):
    return {"messages": [AIMessage(" ")]}


async def not_end(state):
    return {"messages": [AIMessage("words " * 200_000)]}


raises, interrupts = one_node(raise_error).compile(), one_node(ask).compile()
exits, rubbish, empty = one_node(leave), one_node(say_rubbish, Any), one_node(be_empty)
endless, says_nothing = one_node(not_end), one_node(say_nothing)
loops = StateGraph(State)
loops.add_node("answer", lambda state: {})
loops.add_edge(START, "answer")
loops.add_edge("answer", "answer")
"""
WHY = {
    "raises": "its graph raised KeyError: 'no such shelf'",
    "interrupts": "its graph waits for a person, and nobody answers it in a contest",
    "exits": "its graph raised SystemExit: 3",
    "loops": "its graph took over 100 steps",
    "rubbish": "its graph ended without a report",
    "empty": "its graph ended without a report",
    "endless": "its report has 1,199,999 characters; at most 100,000 are read",
    "says_nothing": "its report says nothing",
}


async def test_a_graph_that_gives_no_report_forfeits_alone_and_says_why(contest: Contest) -> None:
    enter(contest.workspace, NO_REPORT, others=("alpha", *WHY))
    name_graphs(contest, WHY)

    outcome = await contest.run(QUESTION, teams=["alpha", *WHY], max_rounds=1, learn=False)

    assert outcome.status == "partial"
    assert outcome.report is not None
    assert outcome.summary is not None
    ends = {team.team_id: f"{team.status}: {team.error_message}" for team in outcome.summary.team_statuses}
    assert [team for team, why in WHY.items() if not ends[team].startswith(f"failed: {why}")] == []
    assert ends["alpha"] == "completed: None"
    assert [why for why in WHY.values() if f"failed: {why}" not in outcome.message] == []
    assert f"team raises failed: {WHY['raises']}" in outcome.message


def name_graphs(contest: Contest, names: Iterable[str]) -> None:
    """Each of these teams is played by the graph of its name."""
    for name in names:
        team = TEAM.replace('"mine"', f'"{name}"').replace("my_agent:agent", f"my_agent:{name}")
        (contest.workspace / "config" / "teams" / f"{name}.toml").write_text(team, "utf-8")


HANG = """
import asyncio
from pathlib import Path


async def wait(state):
    try:
        await asyncio.sleep(600)
    finally:
        Path({mark!r}).write_text("stopped")


async def block_its_loop(state):
    time.sleep(600)


def block_a_thread(state):
    time.sleep(600)


waits, its_loop, a_thread = map(one_node, (wait, block_its_loop, block_a_thread))


"""


SECONDS = 15


def hanging_contest(folder: Path, documents: Path, vendors: Vendors, hanging: tuple[str, ...]) -> Contest:
    """Teams whose graphs do not end, and then `mine`. A graph that is stopped leaves its name in `marks`."""
    contest = Contest(folder / "workspace", documents, vendors.base_url)
    (folder / "marks").mkdir(parents=True)
    code = HANG.format(mark=str(folder / "marks" / "waits")) + ANSWERS
    enter(contest.workspace, code, others=hanging, seconds=SECONDS, cap=len(hanging))
    name_graphs(contest, hanging)
    return contest


def started_contest(contest: Contest) -> AbstractContextManager["subprocess.Popen[str]"]:
    command = ("run", QUESTION, "--docs", contest.documents, "--source", "local", "--rounds", "1", "--no-learn")
    out = ("--workspace", contest.workspace, *command, "--out", contest.workspace / "results")
    return start_command(*out, OPENAI_BASE_URL=str(contest.base_url))


def test_graphs_that_hang_or_block_end_at_their_deadline_and_hinder_neither_the_next_one_nor_the_end_of_the_command(
    tmp_path: Path, documents: Path, vendors: Vendors
) -> None:
    # Graphs of one run share a loop: who blocks it keeps the others from being stopped until it returns.
    apart = hanging_contest(tmp_path / "apart", documents, vendors, ("waits", "a_thread"))
    its_loop = hanging_contest(tmp_path / "its loop", documents, vendors, ("its_loop",))
    cases = [(apart, "teams waits and a_thread timeout", ["waits"]), (its_loop, "team its_loop timeout", [])]

    with started_contest(apart) as one, started_contest(its_loop) as other:
        ends = [(*child.communicate(), child.returncode) for child in (one, other)]

    for (contest, message, marks), (out, err, code) in zip(cases, ends, strict=True):
        assert code == 1
        assert f"{message}: not done within {SECONDS} seconds" in out
        assert [file.name for file in contest.workspace.with_name("marks").iterdir()] == marks
        assert re.search(r"^Report  .*/results/report\.md$", out, re.MULTILINE)
        assert err == ""


INVENTS = REPORT.replace("1. How resume works, resume.md", "1. [Resuming](http://127.0.0.1:9/none)\n2. Of my own head")


async def test_what_was_not_retrieved_is_no_source_and_is_named_and_costs_score(contest: Contest) -> None:
    enter(contest.workspace, ANSWERS, report=INVENTS)

    outcome = await contest.run(QUESTION, teams=["mine"], max_rounds=1, learn=False)

    (row,) = rounds_of(contest)
    validity = metrics_of(row)["citation_validity"]
    assert validity.score == 0.0
    assert "not retrieved: http://127.0.0.1:9/none" in validity.reason
    assert outcome.report is not None
    assert outcome.report.sources == []
    assert "[1]" not in outcome.report.executive_summary
    assert outcome.markdown is not None
    assert "Cited by the team's graph, and not retrieved: http://127.0.0.1:9/none" in outcome.markdown


async def test_a_graph_whose_calls_use_up_the_budget_ends(contest: Contest, vendors: Vendors) -> None:
    react(contest)

    outcome = await contest.run(QUESTION, teams=["mine"], max_rounds=1, learn=False, max_calls=1)

    assert outcome.status == "failed"
    assert "max_calls = 1 would be exceeded" in outcome.message
    assert len(vendors.calls) == outcome.usage.requests == 1


FAULTY = {
    'graph = "my_agents:agent"': "cannot be loaded: FileNotFoundError",
    'graph = "my_agent:agents"': "cannot be loaded: AttributeError",
    'graph = "my_agent:REPORT"': "is a str: name a LangGraph graph, or a function without arguments that makes one",
    'graph = "my_agent:note"': "cannot be loaded: TypeError: note() missing 1 required positional argument",
    'graph = "my_agent:refused"': "cannot be loaded: RuntimeError: no key",
    'graph = "my_agent:odd"': "its graph takes number: it has to take `messages`, `question` or `theme`",
    'url = "http://127.0.0.1:9"\nassistant = "a"': "ConnectError: All connection attempts failed; start the server",
    'url = "http://127.0.0.1:9"\nassistant = "a"\napi_key_env = "NO_KEY"': "NO_KEY is not set, the key of its server",
}
ODD = """

class Odd(TypedDict):
    number: int


odd = one_node(answer, Odd)


def refused():
    raise RuntimeError("no key")
"""


@pytest.mark.parametrize(("entry", "fault"), FAULTY.items())
async def test_a_graph_that_cannot_play_is_refused_before_anything_is_spent(
    contest: Contest, vendors: Vendors, entry: str, fault: str
) -> None:
    enter(contest.workspace, ANSWERS + ODD, team=TEAM.replace('graph = "my_agent:agent"', entry))

    with pytest.raises(InputError) as excinfo:
        await contest.run(QUESTION, teams=["mine"])

    assert str(excinfo.value).startswith("team mine: ")
    assert fault in str(excinfo.value)
    assert vendors.calls == []


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("", "give `graph` as module:attribute, or `url` and `assistant`"),
        ('graph = "os.path"', "graph = 'os.path': String should match pattern"),
        ('graph = "a:b"\nurl = "http://a.example"\nassistant = "a"', "give `graph` as module:attribute"),
        ('url = "http://a.example"', "give `graph` as module:attribute, or `url` and `assistant`"),
    ],
)
def test_an_entry_that_names_no_graph_is_refused_in_one_line(workspace: Path, entry: str, fault: str) -> None:
    enter(workspace, ANSWERS, team=TEAM.replace('graph = "my_agent:agent"', entry))

    with pytest.raises(InputError, match=re.escape(fault)):
        load_config(workspace)


def test_no_file_outside_the_workspace_is_loaded(workspace: Path) -> None:
    enter(workspace, ANSWERS, team=TEAM.replace("my_agent:agent", "...secret:agent"))

    with pytest.raises(InputError, match="String should match pattern"):
        load_config(workspace)


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


def test_doctor_shows_each_graph_and_why_one_cannot_play(terminal: Terminal, workspace: Path) -> None:
    enter(workspace, ANSWERS)
    ready = {check["name"]: check for check in json.loads(terminal("doctor", "--json").out)["checks"]}
    enter(workspace, ANSWERS, team=TEAM.replace("my_agent:agent", "my_agent:misspelt"))
    faulty = {check["name"]: check for check in json.loads(terminal("doctor", "--json").out)["checks"]}

    assert ready["team mine"]["said"] == "my_agent:agent can play"
    assert faulty["team mine"]["state"] == "fault"
    assert faulty["team mine"]["said"].startswith("graph = 'my_agent:misspelt' cannot be loaded: ")
    assert "module 'contend_workspace.my_agent' has no attribute 'misspelt'" in faulty["team mine"]["said"]


def test_a_dry_run_names_a_graph_that_cannot_play(
    terminal: Terminal, contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(contest.workspace, ANSWERS, team=TEAM.replace("my_agent:agent", "my_agent:misspelt"))
    monkeypatch.setenv("OPENAI_BASE_URL", str(contest.base_url))

    result = terminal("run", QUESTION, "--team", "mine", "--dry-run")

    assert result.code == 2
    assert "team mine: graph = 'my_agent:misspelt' cannot be loaded" in result.err


def kill_in_round_two(contest: Contest, vendors: Vendors) -> None:
    """Its graph waits for a model then."""
    vendors.hang(model="small", match="# Your best report so far")
    options = ("--docs", contest.documents, "--team", "mine", "--rounds", "2", "--no-learn", "--thread", "killed")
    with contend_child(contest.workspace, "run", QUESTION, *options, base_url=vendors.base_url) as child:
        while not vendors.hung and child.runs:
            time.sleep(0.01)
        child.kill()
    vendors.heal()


async def test_rounds_that_were_finished_before_a_kill_are_not_played_again(contest: Contest, vendors: Vendors) -> None:
    react(contest)
    await asyncio.to_thread(kill_in_round_two, contest, vendors)
    before = [call for call in vendors.calls if call.model == "small"]

    outcome = await contest.resume("killed")

    after = [call for call in vendors.calls if call.model == "small"][len(before) :]
    assert outcome.status == "completed", outcome.message
    assert (len(before), len(after)) == (2, 2)
    assert all("# Your best report so far" in call.user for call in after)
    assert outcome.usage.requests == len(vendors.calls)
