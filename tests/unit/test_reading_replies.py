"""A reply out of the text that a model sent: what stands around it is put aside, and nothing is guessed."""

import json
import time

import pytest

from contend.llm.reading import UnreadableReply, read_reply
from contend.models.evaluation import MetricReply

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


@pytest.mark.parametrize("cut", range(1, len(REPLY)))
def test_a_reply_that_was_cut_off_is_never_completed(cut: int) -> None:
    with pytest.raises(UnreadableReply):
        read_reply(REPLY[:cut], MetricReply)


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
        read_reply(text, MetricReply)

    assert time.monotonic() - began < 10
