"""`contend batch`: a result for each line of a file and none twice, whatever ends its process."""

import json
import os
import signal
import time
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fakes.children import Child, contend_child
from fakes.contests import write_workspace
from fakes.terminal import Terminal
from fakes.traces import record_of
from fakes.vendors import Vendors

THEMES = [f"How does resume work after crash number {number}?" for number in range(1, 7)]


@dataclass(frozen=True)
class Scene:
    """A workspace of one team, its documents and vendors, and the file of questions."""

    workspace: Path
    documents: Path
    vendors: Vendors
    terminal: Terminal
    file: Path

    def ask(self, *lines: object) -> None:
        self.file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")

    def command(self, *options: str | Path) -> tuple[str | Path, ...]:
        return ("batch", self.file, "--docs", self.documents, "--source", "local", "--rounds", "1", *options)

    def start(self) -> AbstractContextManager[Child]:
        return contend_child(self.workspace, *self.command(), base_url=self.vendors.base_url)

    def end(self, *options: str | Path) -> dict[str, Any]:
        """The whole command in this process: its outcome, or its error as `message`; `told` is all that it wrote."""
        result = self.terminal(*self.command(*options), "--json")
        events = [json.loads(line) for line in result.out.splitlines()]
        return {"message": result.err, **(events[-1] if events else {}), "exit_code": result.code, "told": events}

    @property
    def results(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.results_file.read_text("utf-8").splitlines()]

    @property
    def results_file(self) -> Path:
        return self.file.with_name("questions.results.jsonl")

    def ask_counts(self, prompt: str) -> list[int]:
        counts = Counter(theme for call in self.vendors.calls for theme in THEMES if call.prompt == prompt
                        if theme in call.user)  # fmt: skip
        return [counts[theme] for theme in THEMES]


@pytest.fixture
def terminal(
    workspace: Path, vendors: Vendors, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Terminal:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    return Terminal(workspace, capsys.readouterr)


@pytest.fixture
def scene(workspace: Path, shared_documents: Path, vendors: Vendors, terminal: Terminal, tmp_path: Path) -> Scene:
    write_workspace(workspace, ("alpha",))
    return Scene(workspace, shared_documents, vendors, terminal, tmp_path / "questions.jsonl")


def test_a_batch_killed_halfway_and_started_again_has_a_result_for_each_theme_and_none_twice(scene: Scene) -> None:
    scene.ask(*THEMES)
    scene.vendors.hang(prompt="research/write", after=3)
    with scene.start() as child:
        for _ in range(3):
            child.until("result")
        while len(scene.vendors.hung) < 2:
            time.sleep(0.005)
        child.kill()
    assert len(scene.results) == 3
    with scene.results_file.open("a") as file:
        file.write('{"id": null, "thr')  # as a full disk cuts a line off
    scene.vendors.heal()

    outcome = scene.end()

    assert outcome["exit_code"] == 0, outcome["message"]
    assert sorted(result["theme"] for result in scene.results) == THEMES
    assert {result["status"] for result in scene.results} == {"completed"}
    assert all(Path(result["report"]).is_file() for result in scene.results)
    assert all(result["best_score"] and result["usage"]["requests"] for result in scene.results)
    assert all(result["published"] and result["published_score"] for result in scene.results)
    assert len(record_of(scene.workspace)["execution"]) == len(THEMES)
    assert scene.ask_counts("evaluator/criteria") == [1] * len(THEMES)
    before, answered = scene.results_file.read_bytes(), len(scene.vendors.calls)
    assert scene.end()["exit_code"] == 0
    assert scene.results_file.read_bytes() == before
    assert len(scene.vendors.calls) == answered


def test_a_result_that_was_not_written_is_taken_from_the_record(scene: Scene) -> None:
    scene.ask({"theme": THEMES[0], "id": "first"})
    assert scene.end()["exit_code"] == 0
    before, answered = scene.results, len(scene.vendors.calls)
    scene.results_file.unlink()

    assert scene.end()["exit_code"] == 0

    assert scene.results == before
    assert len(scene.vendors.calls) == answered


def test_a_signal_stops_a_batch_which_goes_on_by_the_same_command(scene: Scene) -> None:
    scene.ask(*THEMES[:3])
    scene.vendors.hang(prompt="research/write", after=1)
    with scene.start() as child:
        child.until("result")
        os.kill(child.pid, signal.SIGINT)
        stopped = child.end()
    scene.vendors.heal()

    outcome = scene.end()

    assert stopped["exit_code"] == 130
    assert "the same command goes on" in stopped["message"]
    assert outcome["exit_code"] == 0
    assert sorted(result["theme"] for result in scene.results) == THEMES[:3]


def test_no_more_runs_go_at_the_same_time_than_jobs_say(scene: Scene) -> None:
    scene.ask(*THEMES[:3])

    outcome = scene.end("--jobs", "1")

    assert outcome["exit_code"] == 0
    types = [event["type"] for event in outcome["told"] if event["type"] in {"run_started", "result"}]
    assert types == ["run_started", "result"] * 3


def test_the_exit_code_tells_whether_all_some_or_none_have_a_report(scene: Scene) -> None:
    scene.vendors.fail(prompt="research/write", status=401, match="crash number [12]")
    scene.ask(*THEMES[:2])
    none = scene.end()
    scene.ask(*THEMES[:3])
    some = scene.end()

    assert (none["exit_code"], some["exit_code"]) == (2, 1)
    assert [result["status"] for result in scene.results] == ["failed", "failed", "completed"]


def test_a_line_has_options_of_its_own_which_win(scene: Scene) -> None:
    scene.ask({"theme": THEMES[0], "id": "own", "options": {"max_calls": 1, "instructions": "Mention bees."}})

    outcome = scene.end("--max-calls", "50", "--out", scene.file.with_name("own.jsonl"))

    (result,) = [json.loads(line) for line in scene.file.with_name("own.jsonl").read_text("utf-8").splitlines()]
    assert outcome["exit_code"] == 2
    assert (result["id"], result["usage"]["requests"]) == ("own", 1)
    assert "Mention bees." in scene.vendors.calls[0].user


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", ":2: no JSON"),
        ("[1]", ":2: neither object nor text"),
        ('{"id": "a"}', ":2: key 'theme' is missing; add it"),
        ('{"theme": "Why?", "colour": 1}', ":2: unknown key 'colour'"),
        ('{"theme": "Why?", "options": {"max_rounds": 99}}', ":2: options.max_rounds = 99: "),
        ('{"theme": "Why?", "options": {"teams": ["nobody"]}}', ":2: teams"),
        ('{"theme": "Why?", "options": {"documents": ["/no/such/folder"]}}', ":2: "),
        ('{"theme": "Why?", "instructions": "b"}', ":2: unknown key 'instructions'"),
        ('{"theme": "Why?", "id": "first"}', ":2: the same as"),
        ('{"theme": " "}', ":2: theme = ' '"),
    ],
)
def test_a_bad_line_is_named_before_anything_is_spent(scene: Scene, line: str, message: str) -> None:
    scene.file.write_text(f'{{"theme": "{THEMES[0]}", "id": "first"}}\n{line}\n', "utf-8")

    result = scene.end()

    assert result["exit_code"] == 2
    assert message in result["message"]
    assert not scene.vendors.calls
    assert not scene.results_file.exists()


def test_two_equal_lines_without_an_id_are_refused(scene: Scene) -> None:
    scene.ask(THEMES[0], THEMES[0])

    result = scene.end()

    assert result["exit_code"] == 2
    assert "questions.jsonl:2: the same as" in result["message"]


def test_a_file_of_something_else_is_not_written_into(scene: Scene, tmp_path: Path) -> None:
    scene.ask(THEMES[0])
    notes = tmp_path / "notes.jsonl"
    for text in ("my notes", '{"mine": 1}\n'):
        notes.write_text(text, "utf-8")

        result = scene.end("--out", notes)

        assert "it holds other lines than results: name another file" in result["message"]
        assert notes.read_text("utf-8") == text
    assert not scene.vendors.calls
