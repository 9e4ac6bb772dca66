"""A reply out of the text that a model sent: what stands around it is put aside, and nothing is guessed."""

import json
import time

import pytest

from contend.llm.reading import UnreadableReply, read_reply
from contend.models.evaluation import MetricReply
from contend.models.replies import KeptReply, RevisedList, RevisedParagraph, RevisionReply, StatementReply

REPLY = json.dumps({"reason": "It {hums} in the wind.", "evidence": ["[1] hums"], "percent": 50})
ESCAPED = json.dumps(REPLY)


@pytest.mark.parametrize(
    "text",
    [
        REPLY,
        f"<think>{{hm}} 50?</think>\n{REPLY}",
        f"They want {{what}} and [this].\n</think>\n\n{REPLY}",
        f"<seed:think>Hm.</seed:think>{REPLY}",
        f"<|channel|>analysis<|message|>{{a}}<|end|><|start|>assistant<|channel|>final<|message|>{REPLY}<|return|>",
        f"<|begin_of_box|>{REPLY}<|end_of_box|>",
        f"\\boxed{{{REPLY}}}",
        f"Here it is:\n```json\n{REPLY}\n```\nI hope this helps {{you}}!",
        f"[{REPLY}]",
        f'{{"reply": {REPLY}}}',
        f'{{"type": "object", "properties": {REPLY}}}',
        f'<tool_call>\n{{"name": "reply", "arguments": {REPLY}}}\n</tool_call>',
        f'{{"name": "reply", "arguments": {ESCAPED}}}',
        f'First thought: {{"reason": "Hm.", "evidence": [], "percent": 9}}. No: {REPLY}',
    ],
)
def test_a_reply_is_taken_out_of_what_surrounds_it(text: str) -> None:
    reply, mended = read_reply(text, MetricReply)

    assert (reply.percent, mended) == (50, False)


@pytest.mark.parametrize(
    "text",
    [
        REPLY.replace("50}", "50,}"),
        REPLY.replace('"percent"', "percent"),
        "{'reason': 'It hums.', 'evidence': [], 'percent': 50}",
        '{"reason": "It "hums" a lot.", "evidence": [], "percent": 50}',
        '{"reason": "It hums.", // says who\n "evidence": [], "percent": 50}',
    ],
)
def test_faulty_json_is_mended_and_held_to_the_same_shape(text: str) -> None:
    reply, mended = read_reply(text, MetricReply)

    assert (reply.percent, mended) == (50, True)
    with pytest.raises(UnreadableReply):
        read_reply(text.replace("50", "250"), MetricReply)


@pytest.mark.parametrize(
    "text",
    [
        REPLY.replace("50}", '50, "confidence": "high"}'),
        REPLY.replace('"percent"', '"Percent"').replace('"evidence"', '"EVIDENCE"'),
        REPLY.replace("50}", '"50%"}'),
        REPLY.replace("50}", '"50 / 100"}'),
        REPLY.replace('["[1] hums"]', '"[1] hums"'),
        REPLY.replace('["[1] hums"]', "null"),
        f'{{"Result": {REPLY.replace("50}", "50, }").replace("reason", "Reason")}}}',
    ],
)
def test_a_reply_of_another_writing_is_adapted_and_held_to_the_same_shape(text: str) -> None:
    reply, mended = read_reply(text, MetricReply, may_adapt=True)

    assert (reply.percent, mended) == (50, True)
    with pytest.raises(UnreadableReply):
        read_reply(text.replace("50", "250"), MetricReply, may_adapt=True)
    with pytest.raises(UnreadableReply):
        read_reply(text, MetricReply, may_mend=False, may_adapt=True)
    with pytest.raises(UnreadableReply):
        read_reply(text, MetricReply)


def test_blocks_of_another_writing_are_told_apart_by_their_fields() -> None:
    statement = {"Text": "It hums.", "sources": "1", "quotes": None, "Kind": "Lead In", "basis": "", "note": "x"}
    kept = {"keep": "1.1", "note": "as before"}
    blocks = [
        {"type": "Paragraph", "sentences": [statement, kept]},
        {"type": "LIST", "numbered": True, "items": statement},
    ]
    changes = {"number": 1, "section": {"Heading": "Wind", "blocks": blocks}}
    reply = {"notDone": [], "title": None, "summary": None, "findings": kept, "sections": changes, "limits": None}

    read, _ = read_reply(json.dumps({**reply, "lessons": None}), RevisionReply, may_adapt=True)

    assert [(each.number, each.section is not None) for each in read.sections] == [(1, True)]
    assert read.findings == [KeptReply(keep="1.1")]
    paragraph, numbered = read.sections[0].section.blocks if read.sections[0].section else ()
    assert isinstance(paragraph, RevisedParagraph)
    assert [type(each) for each in paragraph.sentences] == [StatementReply, KeptReply]
    assert isinstance(numbered, RevisedList)
    assert numbered.items == paragraph.sentences[:1]


def test_what_a_reply_lacks_is_not_added() -> None:
    with pytest.raises(UnreadableReply, match="evidence: Field required"):
        read_reply('{"reason": "It hums.", "Percent": 50}', MetricReply, may_adapt=True)


@pytest.mark.parametrize("cut", range(1, len(REPLY)))
def test_a_reply_that_was_cut_off_is_never_completed(cut: int) -> None:
    with pytest.raises(UnreadableReply):
        read_reply(REPLY[:cut], MetricReply, may_adapt=True)


@pytest.mark.parametrize(("text", "has_json"), [("Fifty, I think.", False), ('{"score": 50}', True)])
def test_a_text_without_json_is_told_from_json_of_another_shape(text: str, *, has_json: bool) -> None:
    with pytest.raises(UnreadableReply) as excinfo:
        read_reply(text, MetricReply)

    assert excinfo.value.has_json is has_json


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000, '{ "' * 50_000, "{}" * 50_000, "[{" * 50_000 + "}]" * 50_000, "[[1]," * 50_000],
    ids=["lists", "objects", "quotes", "empty", "closed", "unclosed"],
)
def test_a_text_of_nothing_but_brackets_is_refused_at_once(text: str) -> None:
    began = time.monotonic()
    with pytest.raises(UnreadableReply):
        read_reply(text, MetricReply, may_adapt=True)

    assert time.monotonic() - began < 10
