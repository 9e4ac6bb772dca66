"""A contest whose replies a strong model gave that knew each prompt alone: 30 documents, a question in eight parts.

Its facts were written down before its first prompt was.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contend
from contend.app import RunOutcome
from contend.models.options import RunOptions
from contend.services import Services
from contend.settings import load_settings
from contend.text import bare_text
from fakes.children import enter_folder

FERRY = Path(__file__).parents[1] / "data" / "ferry"
MOST_WORDS = 1_500
"""The question's own limit."""

FACTS = (
    "22,640,000", "30,118,400", "718,400 over", "4,000,000", "3,281,600 under", "18,500,000", "22,864,000",
    "11,350,000", "13,872,500", "2,137,400", "2,246,300", "2,832,200", "0.15 m short", "0.70 m", "90 kW", "23 min",
    "11 of 40", "misses 2.", "misses 5,", "misses 31,", "31 March 2028", "15 October", "11 October", "5 October 2026",
    "10 August", "131 days", "779,000", "six weeks", "ten years to 80", "reckon seven", "1.8", "0.3", "264,000",
)  # fmt: skip
"""Most stand in no document, and are reckoned from several; two of them are in Japanese ones."""

REPLACED = ("165 yen", "€31.0 million limit", "€5.0 million cap")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    return asyncio.run(replayed(tmp_path_factory.mktemp("ferry")))


async def replayed(folder: Path) -> RunOutcome:
    with pytest.MonkeyPatch.context() as patch:
        enter_folder(folder, patch)
        services = Services(load_settings(workspace=folder / "workspace", replay=FERRY / "recording.jsonl"))
        try:
            options = RunOptions(documents=[str(FERRY / "documents")], sources=["local"], language="en", learn=False)
            question = (FERRY / "question.txt").read_text("utf-8")
            return await contend.run(question, options=options, services=services)
        finally:
            await services.aclose()


def report_of(outcome: RunOutcome) -> str:
    return (outcome.markdown or "").partition("## About this run")[0]


def test_the_editors_report_is_published_and_no_model_was_asked(outcome: RunOutcome) -> None:
    assert outcome.status == "completed"
    assert "### The editor" in (outcome.markdown or "")
    assert outcome.usage.requests == 0


def test_each_statement_and_cell_of_the_editors_reply_stands_in_the_report(outcome: RunOutcome) -> None:
    (reply,) = replies("research/merge")
    published = bare_text(report_of(outcome))

    pieces = [*texts_of({name: reply[name] for name in ("summary", "findings", "sections", "limits")})]

    assert len(pieces) > 100
    assert [each for each in pieces if bare_text(each.rstrip(".")) not in published] == []


def test_the_report_holds_its_facts_names_what_is_replaced_and_keeps_to_the_readers_length(outcome: RunOutcome) -> None:
    report = report_of(outcome)

    assert [fact for fact in FACTS if bare_text(fact) not in bare_text(report)] == []
    assert all(each in report.partition("**Replaced:**")[2] for each in REPLACED)
    assert len(report.split()) <= MOST_WORDS


def replies(prompt: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (FERRY / "recording.jsonl").read_text("utf-8").splitlines())
    return [line["reply"] for line in lines if line["prompt"] == prompt]


def texts_of(value: object) -> Iterator[str]:
    """What a reader is to see: headings, columns, texts."""
    if isinstance(value, list):
        for each in value:
            yield from [each] if isinstance(each, str) else texts_of(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name in {"text", "heading"} and isinstance(each, str):
                yield each
            elif name not in {"basis", "sources", "kind", "type"}:
                yield from texts_of(each)
