"""Recorded replies: which fields name passages and lessons, and what of a file is refused."""

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contend.errors import InputError
from contend.llm import Answer, R, Scope
from contend.llm.recording import LESSON_FIELDS, PASSAGE_FIELDS, Recording, RecordingModel, ReplayModel
from contend.models import evaluation, playbook, replies
from contend.models.task import CallUsage
from contend.prompts import PromptValues
from contend.prompts.judging import JudgePrompt
from contend.prompts.research import InjectionPrompt
from contend.services import Services
from contend.settings import load_settings
from contend.stores import passage_id

COUNTED_IN_A_REPLY = {"parts"}
"""Numbers of what a run settles once: the parts of the question."""

LINE = (
    '{"run":"r","role":"judge","team":"scout","round":1,"step":"","prompt":"judge/judge","reply":{},"model":"large",'
    '"context":128000,"input_tokens":9,"output_tokens":3,"requests":1,"recorded_at":"2026-03-04T05:06:07Z"}'
)


def _lists_of_numbers() -> set[str]:
    modules = (replies, evaluation, playbook)
    shapes = [
        each
        for module in modules
        for _, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, replies.Reply)
    ]
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


def test_a_reply_with_a_line_separator_in_it_is_played_too(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_text(LINE.replace('"reply":{}', '"reply":{"reason":"So\u2028it is."}') + "\n", "utf-8")

    assert Recording.read(file).summary.calls == 1


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


@pytest.mark.parametrize(
    ("offered", "meant"),
    [
        (("p2", "p1"), [{"sources": [2, 1]}, {"sources": [1]}]),
        (("p1",), [{"sources": [1]}, {"sources": []}]),
        ((), [{"sources": []}, {"sources": []}]),
    ],
    ids=["another order", "one is gone", "all are gone"],
)
async def test_numbers_name_the_same_passages_in_a_replay(
    tmp_path: Path, offered: tuple[str, ...], meant: list[dict[str, object]]
) -> None:
    class Sentences(replies.Reply):
        sentences: list[dict[str, list[int]]]

    value = Sentences(sentences=[{"sources": [1, 2]}, {"sources": [2, 9]}])

    again = await replay(tmp_path, value, Scope("run", "writer", "en", passages=("p1", "p2")), passages=offered)

    assert again.model_dump()["sentences"] == meant


async def test_a_passage_is_known_in_a_replay_by_its_text_where_its_document_moved_or_an_older_release_recorded_it(
    tmp_path: Path,
) -> None:
    class Sources(replies.Reply):
        sources: list[int]

    one, two = "1" * 64, "2" * 64
    moved = tuple(passage_id(text, "file:///now") for text in (two, one))

    for place, recorded in enumerate([(one, two), tuple(passage_id(text, "file:///then") for text in (one, two))]):
        folder = tmp_path / str(place)
        folder.mkdir()
        again = await replay(
            folder, Sources(sources=[1, 2]), Scope("run", "writer", "en", passages=recorded), passages=moved
        )
        assert again.sources == [2, 1]


async def test_what_a_step_holds_and_gives_up_is_the_same_in_a_replay_that_found_it_in_another_order(
    tmp_path: Path,
) -> None:
    part = replies.PartReply(part=1, state="partly", passages=[1, 3], missing="")
    action = replies.ActionReply(kind="search", source="", text="hum", parts=[1, 2])
    step = replies.StepReply(thought="So.", parts=[part], others=[2], give_up=[3], actions=[action], done=False)
    asked = Scope("run", "supervisor", "en", step="step 2", passages=("p1", "p2", "p3"))

    again = await replay(tmp_path, step, asked, passages=("p3", "p9", "p1", "p2"))

    assert (again.parts[0].passages, again.others, again.give_up) == ([3, 1], [4], [1])
    assert again.actions == [action]


async def test_a_recording_tells_whose_rounds_a_team_saw_when_it_began_one(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    rounds: dict[tuple[str, int], dict[str, int] | None] = {
        ("scout", 1): {},
        ("scout", 2): {"sceptic": 1, "scholar": 2},
        ("sceptic", 1): None,
    }
    for (team, number), seen in rounds.items():
        scope = Scope("run", "supervisor", "en", team_id=team, round_number=number, seen=seen)
        await RecordingModel(Says(COMMENT), file, context=lambda _: 9000).ask(PROMPT, type(COMMENT), scope=scope)
    recording = Recording.read(file)

    assert {each: recording.seen(*each) for each in rounds} == rounds
    assert recording.seen("nobody", 1) is None


async def test_which_passages_speak_to_ai_is_known_whichever_team_asks_first(tmp_path: Path) -> None:
    file, passages = tmp_path / "replies.jsonl", {"a": ("p1", "p2"), "b": ("p3",), "c": ("p4",)}
    for step, ids in passages.items():
        order = replies.OrderReply(quote=f"Praise {step}.", passages=[1])
        value = replies.InjectionReply(orders=[order] if step != "c" else [])
        scope = Scope("run", "reviewer", "en", step=step, passages=ids)
        await RecordingModel(Says(value), file, context=lambda _: 9000).ask(SCREENED, type(value), scope=scope)
    model = ReplayModel("any", Recording.read(file))

    another = Scope("again", "reviewer", "en", team_id="scout", step="else", passages=("p4", "p3", "p2", "p1"))
    answer = await model.ask(SCREENED, replies.InjectionReply, scope=another)

    assert {each.quote: each.passages for each in answer.value.orders} == {"Praise a.": [4], "Praise b.": [2]}


async def test_verdicts_stay_with_their_sentences_in_a_replay(tmp_path: Path) -> None:
    verdicts = [
        evaluation.CitationVerdict(number=number, reason="the passage says so", quote="it hums", verdict=verdict)
        for number, verdict in enumerate(("stated", "contradicted", "absent"), start=1)
    ]
    scope = Scope("run", "evaluator", "en", sentences=("It hums.", "It sings.", "It falls."))

    again = await replay(
        tmp_path,
        evaluation.CitationReply(citations=verdicts),
        scope,
        sentences=("It rings.", "It falls.", "It hums."),
    )

    assert [(each.number, each.verdict) for each in again.citations] == [(3, "stated"), (2, "absent")]


PROMPT = JudgePrompt.sample()
SCREENED = InjectionPrompt.sample()
COMMENT = replies.InjectionReply(orders=[])


class Says:
    """A model with one reply."""

    name = "large"

    def __init__(self, value: replies.Reply) -> None:
        self.value = value

    async def ask(self, prompt: PromptValues, *_: object, scope: Scope, **_more: object) -> Answer[Any]:
        usage = CallUsage(
            call_key=scope.call_key(prompt.prompt_name),
            role=scope.role,
            model=self.name,
            input_tokens=9,
            output_tokens=3,
            milliseconds=1,
        )
        return Answer(self.value, usage)


async def replay(tmp_path: Path, value: R, asked: Scope, **counted: tuple[str, ...]) -> R:
    """The reply to `asked`, recorded, and played in a run that counts otherwise."""
    file = tmp_path / "replies.jsonl"
    await RecordingModel(Says(value), file, context=lambda _: 9000).ask(PROMPT, type(value), scope=asked)
    again = replace(asked, execution_id="another", passages=(), sentences=())
    answer = await ReplayModel("any", Recording.read(file)).ask(PROMPT, type(value), scope=replace(again, **counted))
    return answer.value
