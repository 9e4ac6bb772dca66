"""A run that was killed goes on in a new process and ends as if nothing had happened; finished calls stand.

Calls that are in flight at the kill hang, so that none of them counts as answered: all others are made once.
"""

import json
import os
import sqlite3
import time
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from contend.stores.checkpoints import PackedSerializer
from fakes.children import Child, contend_child
from fakes.contests import write_workspace
from fakes.kilns import THEME, TOO_FEW, action, script, step, write_kilns
from fakes.terminal import Terminal
from fakes.traces import CallCounts, Trace, call_counts, record_of, trace
from fakes.vendors import Vendors, Where

THREAD = "killed"
ROUNDS = ("--rounds", "2:3")
AUTO = ("--depth", "auto", "--rounds", "1:2")
METRICS = """[[evaluator.metrics]]
name = "coverage"

[[evaluator.metrics]]
name = "relevance"
model = "strict"

[[evaluator.metrics]]
name = "citation_validity"
kind = "code"
"""


def write_contest(workspace: Path, *, cap: int) -> None:
    """Two teams that do not read all documents whole, three metrics of which two are asked of models."""
    write_workspace(workspace, cap=cap)
    with (workspace / "config" / "orchestrator.toml").open("a", encoding="utf-8") as config:
        config.write(f"\nevidence_tokens = {TOO_FEW}\n")
    (workspace / "config" / "evaluator.toml").write_text(METRICS, "utf-8")


def play_researcher(vendors: Vendors) -> None:
    """Three steps in each round: a search, another with a find, and what is held."""
    searches = step(action("search", "heat of the kilns at noon")), step(action("find", "kiln-07"), hold=(1, 2))
    script(vendors, *searches, step(hold=(3, 9)))
    again = step(action("search", "guards")), step(action("read", "5"), hold=(4,), give_up=(1,))
    script(vendors, *again, step(hold=(1,)), round_number=2)


def leave_open(vendors: Vendors) -> None:
    """No report meets a criterion."""

    def judge(reply: str) -> str:
        verdict = {"evidence": "", "verdict": "unmet", "fix": {"where": "summary 1", "what": "Say more."}}
        values = json.loads(reply)
        return json.dumps({**values, "criteria": [{**each, **verdict} for each in values["criteria"]]})

    vendors.malform(judge, prompt="evaluator/verdicts")


@dataclass(frozen=True)
class Scene:
    """A workspace with its vendors, and the one thread that its processes work on."""

    workspace: Path
    documents: Path
    vendors: Vendors

    def run(self, *options: str) -> AbstractContextManager[Child]:
        arguments = ("--docs", self.documents, "--source", "local", "--thread", THREAD, *options)
        return contend_child(self.workspace, "run", THEME, *arguments, base_url=self.vendors.base_url)

    def resume(self) -> AbstractContextManager[Child]:
        return contend_child(self.workspace, "resume", THREAD, base_url=self.vendors.base_url)

    def heal(self) -> None:
        """No fault is left."""
        self.vendors.heal()
        play_researcher(self.vendors)

    def kill_at(self, moment: "Moment", child: Child) -> None:
        if moment.told is not None:
            child.until(**moment.told)
        self.wait_until_hung(moment.in_flight)
        self.wait_for_save(moment.saved)
        child.kill()

    def wait_until_hung(self, calls: int) -> None:
        while len(self.vendors.hung) < calls:
            time.sleep(0.005)

    def wait_for_save(self, text: str) -> None:
        """Until a node's update that holds the text is in the checkpoints."""
        while text and not self._saved(text):
            time.sleep(0.005)

    def _saved(self, text: str) -> bool:
        with closing(sqlite3.connect(self.workspace / "checkpoints.sqlite")) as checkpoints:
            updates = checkpoints.execute("SELECT type, value FROM writes").fetchall()
        return any(text in str(PackedSerializer().loads_typed(update)) for update in updates)

    def wait_for_step(self, step: int) -> None:
        """Until the contest's step is in the checkpoints: -1 is what was asked, 0 comes before the first node."""
        while not self._reached(step):
            time.sleep(0.005)

    def _reached(self, step: int) -> bool:
        path = self.workspace / "checkpoints.sqlite"
        if not path.is_file():
            return False
        with closing(sqlite3.connect(path)) as checkpoints:
            query = "SELECT count(*) FROM checkpoints WHERE checkpoint_ns = '' AND json_extract(metadata, '$.step') = ?"
            try:
                (count,) = checkpoints.execute(query, [step]).fetchone()
            except sqlite3.OperationalError:  # no table yet
                return False
        return bool(count)

    @staticmethod
    def first_to_end(one: Child, other: Child) -> tuple[Child, Child]:
        """Both, the one that ended before."""
        while one.runs and other.runs:
            time.sleep(0.005)
        return (other, one) if one.runs else (one, other)


@pytest.fixture(scope="module")
def kilns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_kilns(tmp_path_factory.mktemp("kilns") / "kilns")


@pytest.fixture
def scene(workspace: Path, kilns: Path, vendors: Vendors) -> Scene:
    write_contest(workspace, cap=1)
    play_researcher(vendors)
    return Scene(workspace, kilns, vendors)


@pytest.fixture
def terminal(scene: Scene, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("OPENAI_BASE_URL", scene.vendors.base_url)
    return Terminal(scene.workspace, capsys.readouterr)


class UndisturbedRun(NamedTuple):
    trace: Trace
    calls: CallCounts


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, kilns: Path) -> UndisturbedRun:
    """The same run with nobody in its way. One team after the other: so the standings in the prompts are the same."""
    return play_undisturbed(tmp_path_factory.mktemp("undisturbed") / "workspace", kilns, *ROUNDS)


@pytest.fixture(scope="module")
def undisturbed_auto(tmp_path_factory: pytest.TempPathFactory, kilns: Path) -> UndisturbedRun:
    return play_undisturbed(tmp_path_factory.mktemp("auto") / "workspace", kilns, *AUTO)


def play_undisturbed(workspace: Path, kilns: Path, *options: str) -> UndisturbedRun:
    write_contest(workspace, cap=1)
    with Vendors() as vendors:
        play_researcher(vendors)
        if options == AUTO:
            leave_open(vendors)
        with Scene(workspace, kilns, vendors).run(*options) as child:
            assert child.end()["exit_code"] == 0
        return UndisturbedRun(trace(workspace, THREAD), call_counts(vendors.calls))


class Moment(NamedTuple):
    """When to kill: at an event, or when `in_flight` calls of those that hang have been made.

    `unsaved` is the prompt of a call whose node may not have reached its checkpoint when it told of its end.
    """

    told: dict[str, Any] | None = None
    hangs: Where | None = None
    in_flight: int = 0
    saved: str = ""
    unsaved: str = ""


def told(name: str, **fields: object) -> dict[str, Any]:
    return {"kind": "step_done", "team_id": "alpha", "round_number": 2, "step": name, **fields}


def asked(number: int) -> Where:
    return {"prompt": "researcher/step", "match": f"step {number} of at most 20, in round 2"}


SECOND_DRAFT: Where = {"prompt": "research/revise"}
JUDGED: Where = {"match": "careful and fair judge"}
MOMENTS = {
    "after the plan": Moment(told=told("plan"), hangs=asked(2), unsaved="researcher/step"),
    "after the first step": Moment(told=told("research", iteration=1), hangs=asked(2), unsaved="researcher/step"),
    "after the first search": Moment(told=told("search", iteration=1), hangs=asked(2)),
    "while the second step is asked": Moment(hangs=asked(2), in_flight=1),
    "after the second step": Moment(told=told("research", iteration=2), hangs=asked(3), unsaved="researcher/step"),
    "while the last step is asked": Moment(hangs=asked(3), in_flight=1),
    "after the last step": Moment(told=told("research", iteration=3), hangs=SECOND_DRAFT, unsaved="researcher/step"),
    "while the draft is written": Moment(hangs=SECOND_DRAFT, in_flight=1),
    "after the submission": Moment(hangs={**JUDGED, "after": 3}, in_flight=2),
    "while metrics are scored": Moment(
        hangs={"prompt": "evaluator/metric", "after": 1}, in_flight=1, saved="alpha/2/evaluator"
    ),
    "while the judge is asked": Moment(hangs={"prompt": "judge/judge"}, in_flight=1),
    "while the editor merges": Moment(hangs={"prompt": "research/merge"}, in_flight=1),
    "while two reports are compared": Moment(
        hangs={"prompt": "pairwise/compare", "after": 1}, in_flight=1, saved="'choice': "
    ),
    "after the report": Moment(told={"kind": "report_published"}, hangs={"prompt": "reflector/reflect"}),
    "while the lessons are curated": Moment(hangs={"prompt": "curator/curate"}, in_flight=1),
    "after the lessons": Moment(told={"kind": "learned"}),
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS.keys())
def test_a_killed_run_ends_as_if_nothing_had_happened(
    scene: Scene, terminal: Terminal, undisturbed: UndisturbedRun, moment: Moment
) -> None:
    if moment.hangs is not None:
        scene.vendors.hang(**moment.hangs)
    with scene.run(*ROUNDS) as child:
        scene.kill_at(moment, child)
    scene.heal()

    resumed = terminal("resume", THREAD)

    assert resumed.code == 0, resumed.err
    together = call_counts(scene.vendors.calls)
    assert not undisturbed.calls - together
    assert {prompt for prompt, _ in together - undisturbed.calls} <= {moment.unsaved}
    assert trace(scene.workspace, THREAD) == undisturbed.trace


DECISIONS = {
    "for another round": Moment(told={"kind": "round_judged", "round_number": 1}, hangs=asked(1)),
    "for a further team": Moment(told={"kind": "step_chosen", "step": "send"}, hangs={"model": "beta"}),
    "for a report": Moment(told={"kind": "step_chosen", "step": "publish"}, hangs={"prompt": "reflector/reflect"}),
}


@pytest.mark.parametrize("moment", DECISIONS.values(), ids=DECISIONS.keys())
def test_a_run_killed_at_a_decision_of_auto_decides_the_same(
    scene: Scene, undisturbed_auto: UndisturbedRun, moment: Moment
) -> None:
    leave_open(scene.vendors)
    scene.vendors.hang(**moment.hangs or {})
    with scene.run(*AUTO) as child:
        scene.kill_at(moment, child)
    scene.heal()
    leave_open(scene.vendors)

    with scene.resume() as child:
        assert child.end()["exit_code"] == 0

    assert call_counts(scene.vendors.calls) == undisturbed_auto.calls
    assert trace(scene.workspace, THREAD) == undisturbed_auto.trace


def test_a_run_killed_while_it_was_opened_begins_once(scene: Scene, undisturbed: UndisturbedRun) -> None:
    playbook = scene.workspace / "playbooks" / "default.json"
    playbook.parent.mkdir()
    os.mkfifo(playbook)  # the first node waits for the lessons; it has entered the run into the record
    with scene.run(*ROUNDS) as child:
        child.until("run_started")
        child.kill()
    assert [event["type"] for event in child.events] == ["run_started"]
    playbook.unlink()

    with scene.resume() as child:
        outcome = child.end()

    assert outcome["exit_code"] == 0, outcome["message"]
    assert trace(scene.workspace, THREAD) == undisturbed.trace


def test_what_was_told_is_in_the_record_when_the_process_is_killed(scene: Scene) -> None:
    scene.vendors.hang(**asked(1))
    with scene.run("--rounds", "2") as child:
        child.until("round_judged", round_number=1)
        child.kill()

    record = record_of(scene.workspace)
    assert len(record["usage"]) == 10  # criteria, three steps, two screenings, the draft, its review, two metrics
    assert [row[:3] for row in record["round_status"]] == [("team_id: alpha", "round_number: 1", "decision: continue")]


def test_a_team_that_forfeited_before_the_kill_forfeits_once(scene: Scene) -> None:
    write_contest(scene.workspace, cap=2)
    scene.vendors.fail(model="alpha", prompt="research/review", status=401)
    scene.vendors.hang(model="beta", prompt="research/write")
    with scene.run("--rounds", "1") as child:
        child.until("team_done", team_id="alpha")
        scene.wait_until_hung(1)
        child.kill()
    forfeit = record_of(scene.workspace)["team_status"][0]
    scene.heal()

    with scene.resume() as child:
        outcome = child.end()

    assert outcome["status"] == "partial"
    assert outcome["message"].startswith("team alpha failed: model 'alpha'")
    assert "set OPENAI_API_KEY" in outcome["message"]
    assert [status["status"] for status in outcome["summary"]["team_statuses"]] == ["failed", "completed"]
    assert record_of(scene.workspace)["team_status"][0] == forfeit
    assert outcome["usage"]["requests"] == sum(call.status == 200 for call in scene.vendors.calls)


def test_of_two_processes_that_resume_one_thread_one_goes_on_and_the_other_is_told(
    scene: Scene, undisturbed: UndisturbedRun
) -> None:
    scene.vendors.hang(**SECOND_DRAFT)
    with scene.run(*ROUNDS) as child:
        child.until(**told("search", iteration=1))
        child.kill()
    scene.heal()
    scene.vendors.hold()

    with scene.resume() as one, scene.resume() as other:
        loser, winner = scene.first_to_end(one, other)
        result = loser.end()
        scene.vendors.go_on()
        outcome = winner.end()

    assert result["exit_code"] == 2
    assert result["message"].startswith(f"error: thread {THREAD} is being worked on by process {winner.pid}")
    assert outcome["exit_code"] == 0
    assert call_counts(scene.vendors.calls) == undisturbed.calls
    assert trace(scene.workspace, THREAD) == undisturbed.trace
