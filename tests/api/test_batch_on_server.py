"""`contend batch --server`: the questions wait in a server's queue, and the same command fetches each result once."""

import json
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from fakes.api_client import Api
from fakes.children import Child, contend_child
from fakes.vendors import Vendors

OPTIONS = ("--team", "alpha", "--rounds", "1", "--no-learn")


@dataclass(frozen=True)
class Batch:
    """A file of questions, and this machine's workspace, which has no model."""

    api: Api
    vendors: Vendors
    workspace: Path
    file: Path

    def start(self, *options: str, url: str = "") -> AbstractContextManager[Child]:
        arguments = (*OPTIONS, "--server", url or self.api.server.url, *options)
        return contend_child(self.workspace, "batch", self.file, *arguments, base_url="http://127.0.0.1:9")

    def end(self, *options: str, url: str = "") -> dict[str, Any]:
        with self.start(*options, url=url) as child:
            return child.end()

    @property
    def results(self) -> list[dict[str, Any]]:
        results_file = self.file.with_name("questions.results.jsonl")
        return [json.loads(line) for line in results_file.read_text("utf-8").splitlines()]


@pytest.fixture
def batch(api: Api, endpoint: Vendors, workspace: Path, tmp_path: Path) -> Batch:
    workspace.mkdir()
    return Batch(api, endpoint, workspace, tmp_path / "questions.jsonl")


def _themes(count: int) -> list[str]:
    name = uuid4().hex[:8]
    return [f"How does resume work after crash {name} number {number}?" for number in range(count)]


def _ask(batch: Batch, *lines: object) -> None:
    batch.file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def test_questions_queued_on_a_server_are_answered_once_also_where_the_client_was_killed(batch: Batch) -> None:
    themes = _themes(4)
    _ask(batch, *themes)
    with batch.start() as child:
        child.until("result")
        child.kill()
    assert batch.results

    outcome = batch.end()

    assert outcome["exit_code"] == 0, outcome["message"]
    assert sorted(result["theme"] for result in batch.results) == themes
    assert {result["status"] for result in batch.results} == {"completed"}
    report = httpx.get(batch.results[0]["report"])
    assert report.text.startswith(f"# {batch.results[0]['theme']}")
    plans = [theme for call in batch.vendors.calls if call.prompt == "evaluator/criteria" for theme in themes
             if theme in call.user]  # fmt: skip
    assert sorted(plans) == themes
    calls_before = len(batch.vendors.calls)
    assert batch.end()["exit_code"] == 0
    assert len(batch.vendors.calls) == calls_before


def test_a_result_line_that_was_lost_is_fetched_again_without_another_run(batch: Batch) -> None:
    _ask(batch, {"theme": _themes(1)[0], "id": "first"})
    assert batch.end()["exit_code"] == 0
    before, calls_before = batch.results, len(batch.vendors.calls)
    batch.file.with_name("questions.results.jsonl").unlink()

    assert batch.end()["exit_code"] == 0

    assert batch.results == before
    assert len(batch.vendors.calls) == calls_before


def test_a_run_that_somebody_stopped_on_the_server_is_taken_up_again(batch: Batch) -> None:
    _ask(batch, *_themes(1))
    batch.vendors.hang(prompt="research/write")
    with batch.start() as child:
        while not batch.vendors.hung:
            time.sleep(0.01)
        child.kill()
    research = batch.api.get("/research?limit=1")["items"][0]["research_id"]
    assert batch.api.http.delete(f"/research/{research}").json()["status"] == "interrupted"
    batch.vendors.heal()

    assert batch.end()["exit_code"] == 0

    assert [result["thread"] for result in batch.results] == [research]


def test_a_run_that_asks_a_person_has_no_line_until_it_is_answered(batch: Batch) -> None:
    _ask(batch, {"theme": _themes(1)[0], "options": {"approve": ["plan"]}})

    waits = batch.end()
    thread = batch.api.get("/research?limit=1")["items"][0]["research_id"]
    assert batch.api.http.post(f"/research/{thread}/answers", json={"decision": "approve"}).status_code == 202
    answered = batch.end()

    assert (waits["exit_code"], answered["exit_code"]) == (3, 0)
    assert [result["thread"] for result in batch.results] == [thread]


def test_a_line_that_the_server_refuses_is_named_before_anything_is_queued(batch: Batch) -> None:
    theme, other = _themes(2)
    _ask(batch, theme, {"theme": other, "options": {"teams": ["nobody"]}})
    total = batch.api.get("/research")["total"]

    result = batch.end()

    assert result["exit_code"] == 2
    assert "questions.jsonl:2: " in result["message"]
    assert "nobody" in result["message"]
    assert batch.api.get("/research")["total"] == total


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:9", "it does not answer"),
        ("http://host:port", "no address: give one such as http://host:2024"),
        ("ftp:", "--server ftp:"),
        ("127.0.0.1:2024", "--server 127.0.0.1"),
    ],
)
def test_a_server_that_is_none_is_named_in_one_line(batch: Batch, url: str, message: str) -> None:
    _ask(batch, *_themes(1))

    result = batch.end(url=url)

    assert result["exit_code"] == 2
    assert message in result["message"]
    assert len(result["message"].strip().splitlines()) == 1


def test_a_token_of_any_letters_is_sent_as_it_is(batch: Batch) -> None:
    _ask(batch, *_themes(1))

    assert "it does not answer" in batch.end("--token", "schlüssel", url="http://127.0.0.1:9")["message"]


def test_the_same_research_asked_twice_under_an_id_of_ones_own_is_one_run(api: Api) -> None:
    research = str(uuid4())
    request = {"theme": _themes(1)[0], "options": {"teams": ["alpha"], "learn": False}}

    answers = [api.http.put(f"/research/{research}", json=request) for _ in range(2)]
    api.until(research, "run_done")
    after = api.http.put(f"/research/{research}", json=request)

    assert {answer.status_code for answer in [*answers, after]} == {202}
    assert after.json()["status"] == "completed"
    assert len([event for event in api.events(research) if event["type"] == "run_started"]) == 1
    assert api.http.put("/research/mine", json=request).json()["detail"] == "research mine: an id of your own is a UUID"
