"""What an endpoint's refusal is about, in whatever words, and how else a model is asked then."""

from dataclasses import fields, replace
from typing import Any

import pytest

from contend.llm.refusals import RequestForm, changes, context_size, names_feature, topic_of

EVERY_FIELD = frozenset(field.name for field in fields(RequestForm))


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("The model is loaded with context length of only 4096 tokens, which is not enough for 5321.", 4096),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.", 8192),
        ("prompt is too long: 215000 tokens > 200000 maximum", 200_000),
        ("ValidationException: Input is too long for requested model.", None),
        ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens", 8193),
        ("request (5,321 tokens) exceeds the available context size (4,096 tokens), try increasing it", 4096),
        ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 8192),
        ("'max_tokens' is too large: 8000. This model's maximum context length is 16384 tokens", 16_384),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
        ("Range of input length should be [1, 30720]", 30_720),
        ("input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000", 200_000),
        ("Please reduce the length of the messages or completion.", None),
    ],
)
def test_a_prompt_over_the_context_is_known_with_the_contexts_size(words: str, size: int | None) -> None:
    assert topic_of(words) == "context"
    assert context_size(words) == size


@pytest.mark.parametrize(
    ("words", "topic"),
    [
        ("API key not valid. Please pass a valid API key.", "credentials"),
        ("Your credit balance is too low to access the API.", "money"),
        ("Rate limit reached for requests", "rate"),
        ("The response was filtered due to Azure OpenAI's content management policy.", "content"),
        ("The model `gpt-9` does not exist", "model"),
        ("max_tokens: 16000 > 8192, which is the maximum allowed number of output tokens", None),
        ("Invalid schema for response_format: it exceeds the limit of 100 properties", None),
        ("Bad Request", None),
        ("`max_tokens` must be less than or equal to `8192`; it is less than the `context_window` of this model", None),
        ('{"message":"The maximum tokens you requested exceeds the model limit of 4096."}', None),
        ("too many tokens: max tokens must be less than or equal to 4096, the maximum output length", None),
        (
            "Request too large for model `m1` on tokens per minute (TPM): Limit 6000, Requested 10338",
            "too large for rate",
        ),
        ("Request too large for gpt-9 on tokens per min (TPM): Limit 30000, Requested 31538.", "too large for rate"),
        ("Rate limit reached for gpt-9 on tokens per min (TPM): Limit 30000, Used 29500, Requested 900.", "rate"),
    ],
)
def test_what_no_other_form_would_mend_is_told_from_the_rest(words: str, topic: str | None) -> None:
    assert topic_of(words) == topic


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("'response_format' is not supported with this model.", {"reply_format": "json_object"}),
        ("Too many states for serving", {"reply_format": "json_object"}),
        ("System role not supported", {"system_role": False}),
        ("Developer instruction is not enabled for models/gemma", {"system_role": False}),
        ("messages[0].role: Input should be 'user' or 'assistant'", {"system_role": False}),
        ("This model only supports stream mode", {"stream": True}),
        ("`temperature` is deprecated for this model.", {"temperature": False}),
        ("logprobs are not available", {"logprobs": False}),
        ("Use 'max_completion_tokens' instead of 'max_tokens'.", {"limit_name": "max_completion_tokens"}),
        ("body.max_tokens: Extra inputs are not permitted", {"limit_name": "max_completion_tokens"}),
        ("the valid range of max_tokens is [1, 8,192]", {"most_output": 8192}),
        ("max_tokens is too large: 16000.", {"most_output": 6000}),
        ("The maximum tokens you requested exceeds the model limit of 4096.", {"most_output": 4096}),
        ("it has a maxOutputTokens value of 16000 but the supported range is from 1 to 8193", {"most_output": 8193}),
    ],
)
def test_what_a_refusal_names_is_changed_first(words: str, change: dict[str, Any]) -> None:
    assert next(changes(RequestForm(), words, output=16_000, usable=EVERY_FIELD)) == change


@pytest.mark.parametrize(
    ("status", "words", "named"),
    [
        (500, "failed to parse grammar", True),
        (500, "invalid JSON schema in format", True),
        (500, "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...", True),
        (500, "The maximum tokens you requested exceeds the model limit of 2048.", True),
        (404, "No endpoints found that can handle the requested parameters.", True),
        (403, "assumed-role/team is not authorized for this user", False),
        (500, "CUDA out of memory", False),
    ],
)
def test_an_error_of_another_status_is_about_the_form_if_its_words_are(status: int, words: str, *, named: bool) -> None:
    assert names_feature(status, words) is named


def test_a_refusal_without_words_tries_one_thing_after_the_other_and_ends() -> None:
    form, tried = RequestForm(), list[Any]()
    while change := next((one for one in changes(form, "", output=300, usable=EVERY_FIELD) if one not in tried), None):
        tried.append(change)
        form = replace(form, **change)

    assert (form.reply_format, form.temperature, form.system_role, form.stream) == ("none", False, False, True)
    assert len(tried) < 10


def test_an_endpoint_is_not_asked_otherwise_in_ways_that_it_does_not_have() -> None:
    usable = frozenset({"reply_format"})

    assert all(set(change) <= usable for change in changes(RequestForm(), "stream", output=300, usable=usable))
