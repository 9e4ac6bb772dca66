"""What a server sent as an answer: a completion however it is shaped, or an error however it is wrapped."""

import json
from typing import Any

import httpx2
import pytest

from contend.llm.completions import ErrorInAnswer, NoCompletion, error_status, error_text, read_completion, text_of

REPLY = '{"percent": 50}'
STREAM = """: ping

data: {"choices": [{"delta": {"role": "assistant", "content": "{\\"percent\\""}}]}

data: {"choices": [{"delta": {"content": ": 50}"}, "finish_reason": "stop"}]}

data: [DONE]
"""


def completion(message: dict[str, Any] | None, *, usage: object = None, reason: str = "stop", **choice: object) -> str:
    return json.dumps({"choices": [{"message": message, "finish_reason": reason, **choice}], "usage": usage})


def content_of(text: str) -> object:
    return read_completion(text)["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    "text",
    [
        completion({"content": REPLY}),
        completion({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": REPLY}]}),
        completion({"content": None, "tool_calls": [{"function": {"name": "reply", "arguments": REPLY}}]}),
        completion({"content": "", "tool_calls": [{"function": {"arguments": {"percent": 50}}}]}),
        completion({"content": None, "function_call": {"name": "reply", "arguments": REPLY}}),
        completion({"content": None, "parsed": {"percent": 50}}),
        completion({"content": "", "reasoning_content": REPLY}),
        completion({"content": None, "reasoning": REPLY}),
        completion(None, text=REPLY),
        completion({"content": REPLY, "reasoning": "It\thums."}).replace("\\t", "\t"),
        STREAM,
    ],
)
def test_a_reply_is_found_wherever_the_server_put_it(text: str) -> None:
    assert content_of(text) == REPLY


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n"])
def test_line_separators_in_a_streamed_reply_are_part_of_it(end: str) -> None:
    deltas = ["It hums.\u2028", "It\x85 sings."]
    chunks = [json.dumps({"choices": [{"delta": {"content": each}}]}, ensure_ascii=False) for each in deltas]

    assert content_of("".join(f"data: {chunk}{end}" for chunk in chunks)) == "".join(deltas)


def test_a_provider_that_failed_within_a_stream_is_an_error_and_no_half_reply() -> None:
    broken = STREAM.replace(
        '{"content": ": 50}"}, "finish_reason": "stop"}]', '{}}], "error": {"code": 502, "message": "x"}'
    )

    with pytest.raises(ErrorInAnswer) as excinfo:
        read_completion(broken)

    assert excinfo.value.status == 502


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        ("Brücke".encode(), "application/json;charset=ISO-8859-1"),
        ("Brücke".encode("utf-8-sig"), "application/json"),
        ("Brücke".encode("latin-1"), "application/json; charset=latin-1"),
    ],
)
def test_an_answer_is_utf_8_whatever_it_declares_unless_it_cannot_be(data: bytes, content_type: str) -> None:
    assert text_of(httpx2.Response(200, content=data, headers={"content-type": content_type})) == "Brücke"


@pytest.mark.parametrize("kind", ["tool_calls", "function_call"])
def test_a_streamed_call_is_joined(kind: str) -> None:
    calls = [{"arguments": REPLY[:5]}, {"arguments": REPLY[5:]}]
    deltas = [{kind: call if kind == "function_call" else [{"function": call}]} for call in calls]
    chunks = [json.dumps({"choices": [{"delta": delta}]}) for delta in deltas]

    assert content_of("".join(f"data: {chunk}\n\n" for chunk in chunks)) == REPLY


def test_thinking_that_was_cut_off_is_no_reply() -> None:
    assert content_of(completion({"content": "", "reasoning_content": "Well, "}, reason="length")) == ""


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": "900", "completion_tokens": 200.0}, (900, 200)),
        ({"prompt_tokens": 900, "completion_tokens": 200, "prompt_tokens_details": {"cached_tokens": 400}}, (900, 200)),
        ({"prompt_tokens": 10, "completion_tokens": 200, "prompt_tokens_details": {"cached_tokens": 890}}, (900, 200)),
        ({"prompt_tokens": None, "completion_tokens": 200}, None),
        ({"prompt_tokens": "many", "completion_tokens": 2}, None),
        ("none", None),
        (None, None),
    ],
)
def test_token_counts_are_read_as_numbers_or_not_at_all(usage: object, counts: tuple[int, int] | None) -> None:
    read = read_completion(completion({"content": REPLY}, usage=usage))["usage"]

    assert (read and (read["prompt_tokens"], read["completion_tokens"])) == counts


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": {"message": "Provider returned error", "code": 502}}, 502),
        ({"error": {"message": "slow down", "type": "rate_limit_error"}}, 429),
        ({"error": {"message": "no", "code": "429"}}, 429),
        ({"error": "something"}, None),
        ({"choices": [{"error": {"message": "gone", "code": 503}}]}, 503),
        ({"choices": None, "error": {"message": "bad key", "code": "invalid_api_key"}}, 401),
        ({"code": 1302, "msg": "too many at once", "success": False}, None),
        ({"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, None),
        ({"error": {"message": "gone", "code": 502}, "choices": [{"finish_reason": "error", "message": {}}]}, 502),
        ({"choices": [{"finish_reason": "insufficient_system_resource", "message": {"content": "{"}}]}, None),
    ],
)
def test_an_error_in_a_success_is_an_error_with_the_status_that_it_names(body: object, status: int | None) -> None:
    with pytest.raises(ErrorInAnswer) as excinfo:
        read_completion(json.dumps(body))

    assert excinfo.value.status == status


@pytest.mark.parametrize(
    ("text", "may_pass"),
    [
        ('{"choices": null}', True),
        ('{"choices": []}', True),
        ("[]", True),
        ("<html>Sign in</html>", False),
        ("{", True),
        ("", True),
        ("[" * 100_000, True),
    ],
)
def test_what_is_no_completion_may_be_one_next_time_only_unless_it_is_a_page(text: str, *, may_pass: bool) -> None:
    with pytest.raises(NoCompletion) as excinfo:
        read_completion(text)

    assert excinfo.value.may_pass is may_pass


@pytest.mark.parametrize(
    "body",
    [
        "no grammar",
        {"error": "no grammar"},
        {"detail": "no grammar"},
        {"error": {"message": "no grammar"}},
        {"message": "no grammar", "object": "error"},
        [{"error": {"code": 400, "message": "no grammar", "status": "INVALID_ARGUMENT"}}],
        {"error": {"message": '{"error": {"message": "no grammar"}}'}},
    ],
)
def test_an_errors_own_words_are_found_however_it_is_wrapped(body: object) -> None:
    assert error_text(body) == "no grammar"


def test_a_gateways_words_stand_before_those_of_the_provider_behind_it() -> None:
    inner = json.dumps({"error": {"message": "prompt is too long"}})

    assert error_text({"message": "Provider returned error", "metadata": {"raw": inner}}) == (
        "Provider returned error: prompt is too long"
    )
    assert error_text({"detail": [{"loc": ["body", "n"], "msg": "Extra inputs"}]}) == "body.n: Extra inputs"
    assert error_status({"status": "ok"}) is None
