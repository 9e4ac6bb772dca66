"""What a server sent as an answer: a completion however it is shaped, or an error however it is wrapped."""

import json
from typing import Any

import pytest

from contend.llm.completions import ErrorInAnswer, NoCompletion, error_status, error_text, read_completion

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
        STREAM,
    ],
)
def test_a_reply_is_found_wherever_the_server_put_it(text: str) -> None:
    assert content_of(text) == REPLY


def test_thinking_that_was_cut_off_is_no_reply() -> None:
    assert content_of(completion({"content": "", "reasoning_content": "Well, "}, reason="length")) == ""


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": "900", "completion_tokens": 200.0}, (900, 200)),
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
    ],
)
def test_an_error_in_a_success_is_an_error_with_the_status_that_it_names(body: object, status: int | None) -> None:
    with pytest.raises(ErrorInAnswer) as excinfo:
        read_completion(json.dumps(body))

    assert excinfo.value.status == status


@pytest.mark.parametrize(
    ("text", "is_json"),
    [
        ('{"choices": null}', True),
        ('{"choices": []}', True),
        ("[]", True),
        ("<html>Sign in</html>", False),
        ("{", False),
        ("[" * 100_000, False),
    ],
)
def test_what_is_no_completion_may_be_one_next_time_only_where_it_is_json(text: str, *, is_json: bool) -> None:
    with pytest.raises(NoCompletion) as excinfo:
        read_completion(text)

    assert excinfo.value.is_json is is_json


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
