"""The benchmark of reading: a recorded run's steps replayed on documents, its facts counted in what is held."""

import json
import sys
from pathlib import Path

from contend.llm.recording import RecordedReply
from contend.models.evaluation import CriteriaReply
from contend.models.replies import ActionReply, FixesReply, PartReply, Reply, ReviewFix, StepReply
from contend.sources.local import LocalDocuments
from contend.stores import content_id, passage_id

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import reading

PUMPS = "# Pumps\n\nThey hum.\n\n## Flow\n\nThe `max_flow_rate` is\n12 l/s.\n\n## Night\n\nAt night it is halved.\n"
VALVES = "# Valves\n\nThey click.\n\n## Errors\n\nE-4711 says that a valve sticks.\n"
KEY = {
    "facts": [
        {"asks": "Flow?", "file": "pumps.md", "quote": "max_flow_rate is 12 L/S"},
        {"asks": "Error?", "file": ["manual/valves.md", "other.md"], "quote": ["e-4711", "valve sticks"]},
        {"asks": "Night?", "file": "pumps.md", "quote": "halved"},
        {"asks": "In another file?", "file": "valves.md", "quote": "halved"},
    ]
}


async def collection(folder: Path, documents: Path) -> reading.Collection:
    """A run of one team, recorded where the documents lay at another path."""
    ids = {
        hit.heading.rpartition(" ")[2]: passage_id(content_id(hit.text), f"file:///then/{hit.result.url[-9:]}")
        for hit in await LocalDocuments([documents]).whole(10_000)
    }
    step = {"others": [], "give_up": [], "done": False, "thought": "So."}
    part = PartReply.model_construct(part=1, state="partly", passages=[ids["Flow"]], missing="")
    replies: list[tuple[str, str, Reply]] = [
        (
            "evaluator/criteria",
            "",
            CriteriaReply.model_construct(parts=["Flow and errors?"], criteria=[]),
        ),
        ("researcher/step", "step 1", StepReply(parts=[], actions=[find("max_flow_rate"), find("E-4711")], **step)),
        (
            "researcher/step",
            "step 2",
            StepReply.model_construct(
                parts=[part], actions=[find("halved")], **{**step, "others": [ids["Errors"], "0" * 64]}
            ),
        ),
        (
            "researcher/step",
            "step 3",
            StepReply.model_construct(parts=[], actions=[], **{**step, "give_up": [ids["Errors"]], "done": True}),
        ),
        (
            "research/review",
            "1",
            FixesReply.model_construct(
                actions=[],
                criteria=[],
                fixes=[ReviewFix.model_construct(where="1.1.1", what="at night", passages=[ids["Night"]])],
                accept=False,
            ),
        ),
    ]
    (folder / "collection.json").write_text(json.dumps({"package": "pumps-doc", "version": "1.2-3"}), "utf-8")
    (folder / "question.txt").write_text("How do pumps flow?\n", "utf-8")
    (folder / "key.json").write_text(json.dumps(KEY), "utf-8")
    lines = [line(prompt, step, reply) for prompt, step, reply in replies]
    (folder / "steps.jsonl").write_text("\n".join(lines), "utf-8")
    return reading.Collection.read(folder)


def find(words: str) -> ActionReply:
    return ActionReply(kind="find", source="", text=words, parts=[1])


def line(prompt: str, step: str, reply: Reply) -> str:
    return RecordedReply(
        run="r",
        role="supervisor",
        team="" if step == "" else "scout",
        round=1,
        step=step,
        prompt=prompt,
        reply=reply.model_dump(mode="json", warnings=False),
        model="large",
        context=100_000,
        input_tokens=9,
        output_tokens=3,
        requests=1,
    ).model_dump_json()


async def test_facts_are_counted_in_what_a_team_holds_after_each_step(tmp_path: Path) -> None:
    documents, folder = tmp_path / "manual", tmp_path / "pumps"
    for each in (documents, folder):
        each.mkdir()
    (documents / "pumps.md").write_text(PUMPS, "utf-8")
    (documents / "valves.md").write_text(VALVES, "utf-8")
    made = await collection(folder, documents)

    rows = [row async for row in reading.measured(made, documents, tmp_path / "texts")]

    assert made.parts == ["Flow and errors?"]
    assert [(row.step, row.passages, row.gone) for row in rows] == [
        ("step 1", 0, 0),
        ("step 2", 2, 1),
        ("step 3", 1, 0),
        ("review", 2, 0),
    ]
    assert [[fact.asks for fact in row.held] for row in rows] == [
        [],
        ["Flow?", "Error?"],
        ["Flow?"],
        ["Flow?", "Night?"],
    ]
    assert [len(row.found) for row in rows] == [0, 2, 3, 3]
    assert 0 < rows[2].tokens < rows[1].tokens
    assert [row.paid for row in rows] == [12] * 4
