"""Recorded replies: which fields name passages and lessons, and what of a file is refused."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from contend.errors import InputError
from contend.llm.recording import LESSON_FIELDS, PASSAGE_FIELDS, Recording
from contend.models import replies
from contend.services import Services
from contend.settings import load_settings

COUNTED_IN_A_REPLY = {"points"}
"""Numbers of what another reply of the same run lists."""

LINE = (
    '{"run":"r","role":"judge","team":"scout","round":1,"step":"","prompt":"judge/judge","reply":{},"model":"large",'
    '"context":128000,"input_tokens":9,"output_tokens":3,"requests":1,"recorded_at":"2026-03-04T05:06:07Z"}'
)


def _lists_of_numbers() -> set[str]:
    shapes = [each for _, each in inspect.getmembers(replies, inspect.isclass) if issubclass(each, replies.Reply)]
    shapes.append(replies.draft_reply(3, 2))
    return {
        name
        for shape in shapes
        for name, schema in shape.model_json_schema().get("properties", {}).items()
        if _counts(schema)
    }


def _counts(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "array" and schema.get("items", {}).get("type") == "integer"


def test_every_list_of_numbers_in_a_reply_is_known_to_name_passages_or_lessons() -> None:
    assert _lists_of_numbers() == {*PASSAGE_FIELDS, *LESSON_FIELDS, *COUNTED_IN_A_REPLY}


def test_a_recording_tells_its_date_its_model_and_what_it_cost(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text(f"{LINE}\n{LINE.replace('judge', 'writer')}\n\n", "utf-8")

    recording = Recording.read(file)

    assert recording.summary.model_dump(mode="json") == {
        "recorded_on": "2026-03-04",
        "model": "large",
        "calls": 2,
        "tokens": 24,
    }
    assert recording.models == {"judge": "large", "writer": "large"}
    assert recording.context("large") == recording.context("another") == 128_000


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "No such file or directory; name a file that CONTEND_RECORD wrote"),
        ("\n", "it holds no reply; name a file that CONTEND_RECORD wrote"),
        (f"{LINE}\n{{}}\n", "line 2: run: Field required; record the run anew"),
        ("what is this?", "line 1: line: Invalid JSON: .*; record the run anew"),
    ],
    ids=["missing", "empty", "another shape", "no JSON"],
)
def test_what_is_no_recording_is_refused_before_a_run(tmp_path: Path, text: str | None, fault: str) -> None:
    file = tmp_path / "replies.jsonl"
    if text is not None:
        file.write_text(text, "utf-8")

    with pytest.raises(InputError, match=f"replay {file}(?:: |, ){fault}"):
        Services(load_settings(workspace=tmp_path / "workspace", replay=file))


def test_a_replayed_run_is_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEND_RECORD", str(tmp_path / "new.jsonl"))

    with pytest.raises(InputError, match=r"CONTEND_RECORD and a replay .* are both set: .*; leave one of them out"):
        load_settings(replay=tmp_path / "old.jsonl")


@pytest.mark.parametrize("name", ["CONTEND_RECORD", "CONTEND_REPLAY"])
def test_an_empty_variable_records_and_plays_nothing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, " ")

    settings = load_settings()

    assert settings.record is settings.replay is None
    assert not settings.has_language_model
