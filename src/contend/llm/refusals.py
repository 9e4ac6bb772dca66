"""Classify an endpoint's refusal by its wording, and choose another form of the request."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Change = Mapping[str, Any]
"""Fields of a RequestForm with other values."""

_ReplyFormat = Literal["json_schema", "json_object", "none"]


@dataclass(frozen=True)
class RequestForm:
    """Which parameters to send, without those that the model refused or the endpoint ignored.

    `shape_shown`: put the reply's JSON schema into the prompt, in addition to the parameter; `shape_last`: if calls of
    several types share a long beginning, put it at the prompt's end instead of the parameter; `most_output`: the
    highest output limit accepted, in tokens; without `system_role` the instructions go into the user's message.
    """

    reply_format: _ReplyFormat = "json_schema"
    shape_shown: bool = False
    shape_last: bool = False
    limit_name: Literal["max_tokens", "max_completion_tokens", "none"] = "max_tokens"
    most_output: int | None = None
    temperature: bool = True
    logprobs: bool = True
    system_role: bool = True
    stream: bool = False

    @property
    def shows_shape(self) -> bool:
        return self.shape_shown or self.format_sent != "json_schema"

    @property
    def format_sent(self) -> _ReplyFormat:
        """The `response_format` to send."""
        return "json_object" if self.shape_last and self.reply_format == "json_schema" else self.reply_format


SURE_OUTPUT_TOKENS = 6_000
"""The output limit if a model reads little or refuses a higher one: about a report of standard length."""
_LEAST_OUTPUT_TOKENS = 1_000

_NEXT_FORMAT = {"json_schema": "json_object", "json_object": "none"}
_NEXT_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "none"}
_FORMAT = re.compile(r"(?i)response_?format|json|schema|grammar|structured|requested parameters")
_SYSTEM = re.compile(
    r"(?i)\b(system|developer)\W{0,3}(role|message|prompt|instruction)|\brole\W.{0,40}\b(system|developer)\b"
    r"|roles? must alternate|only user and assistant|\brole\b.{0,40}\b(user|assistant)\b"
)
_MOST_TOKENS = r"max(?:imum)?[ _]?(?:completion[ _]?|output[ _]?)?tokens"
_OUTPUT_LIMIT = re.compile(rf"(?i){_MOST_TOKENS}|output tokens|completion tokens")
_UNKNOWN = re.compile(
    r"(?i)unsupported|not (be )?(supported|permitted|allowed|recogni[sz]ed)|instead|unknown|unrecogni|unexpected"
    r"|extra|forbidden"
)
_NUMBER = re.compile(r"\d[\d,_]*")


def changes(form: RequestForm, words: str, *, output: int, usable: frozenset[str]) -> Iterator[Change]:
    """Other forms to try after a refusal: first without what it names, then without other optional parameters.

    `output`: the output limit that was sent; `usable`: the form fields of this endpoint.
    """
    every = [*_named(form, words, output), *_all_changes(form, output)]
    yield from (change for change in every if change.keys() <= usable and replace(form, **change) != form)


def _named(form: RequestForm, words: str, output: int) -> Iterator[Change]:
    lower = words.lower()
    if _SYSTEM.search(words):
        yield {"system_role": False}
    if re.search(r"(?<![a-z])stream", lower):
        yield {"stream": not form.stream}
    if "logprob" in lower:
        yield {"logprobs": False}
    if "temperature" in lower:
        yield {"temperature": False}
    if _OUTPUT_LIMIT.search(words):
        if _UNKNOWN.search(words):
            yield _next_limit(form)
        yield {"most_output": _lower_limit(words, output)}
        yield _next_limit(form)
    if _FORMAT.search(words):
        yield _next_format(form)


def _all_changes(form: RequestForm, output: int) -> Iterator[Change]:
    yield _next_format(form)
    yield {"logprobs": False, "temperature": False}
    yield {"system_role": False}
    yield _next_limit(form)
    yield {"stream": True}
    if output > SURE_OUTPUT_TOKENS:
        yield {"most_output": SURE_OUTPUT_TOKENS}


def _next_format(form: RequestForm) -> Change:
    if form.shape_last and form.reply_format == "json_schema":
        return {"shape_last": False}
    return {"reply_format": _NEXT_FORMAT.get(form.reply_format, "none")}


def _next_limit(form: RequestForm) -> Change:
    return {"limit_name": _NEXT_LIMIT.get(form.limit_name, "none")}


def _lower_limit(words: str, output: int) -> int:
    """The output limit that the error names, else a lower one than was sent."""
    numbers = [number for number in _numbers(words) if _LEAST_OUTPUT_TOKENS <= number < output]
    smaller = SURE_OUTPUT_TOKENS if output > SURE_OUTPUT_TOKENS else max(output // 2, _LEAST_OUTPUT_TOKENS)
    return max(numbers, default=smaller)


def _numbers(words: str) -> list[int]:
    return [int(re.sub(r"\D", "", number)[:12]) for number in _NUMBER.findall(words)]


_FEATURE = re.compile(
    r"(?i)response[_ ]?format|json[_ ]?(schema|object|mode)|grammar|(guided|constrained) decoding|structured output"
    r"|logprobs|requested parameters|(system|developer) (role|message|instruction)"
)
_SERVER_FAULT = 500


def names_feature(status: int, words: str) -> bool:
    """Whether an error with a status other than 400 is about the form of the request.

    llama.cpp and gateways answer 500 if a model's template or provider refuses the request.
    """
    patterns = [_FEATURE, _SYSTEM, _REPLY_LIMIT] if status >= _SERVER_FAULT else [_FEATURE]
    return any(pattern.search(words) for pattern in patterns)


_TOO_LONG = re.compile(
    r"(?i)context[ _-]?(length|window|size|limit|overflow)|ContextWindow|context the overflow|exceed_context"
    r"|maximum (model|prompt|sequence|input) length|max(imum)? (number of )?(input )?tokens allowed|model token limit"
    r"|(prompt|inputs?|messages?|request|sequence)\b.{0,60}?"
    r"(too long|too large|longer than|exceed|overflow|must be <=|must have less|cannot exceed)"
    r"|too many (input )?tokens|reduce the length|range of input length|max_new_tokens.{0,9} must be <="
    r"|(too long|too large|exceeds?)\b.{0,60}?\b(context|prompt|input tokens)"
)
_SIZE = (
    re.compile(r"\d\)? ?> ?(\d[\d,_]{2,})"),
    re.compile(r"(?i)(?<![\d,_])(\d[\d,_]{2,}) ?(?:tokens? )?(?:maximum|max\b|limit\b|context)"),
    re.compile(
        r"(?i)(?:context|maximum|limit|allowed|<=|less than|at most|longer than|exceeds?\b|up to|n_ctx|\[\d,)"
        r"\D{0,70}?(\d[\d,_]{2,})"
    ),
)
_REPLY_LIMIT = re.compile(
    rf"(?i){_MOST_TOKENS}\W+(?:(?:value|you requested|for \S+)\W+)?"
    r"(?:(?:must|should) be (?:less|lower|at most|<=|between|in\b)|exceeds? the model limit)"
)
"""Refuses the output limit by itself, even if it mentions prompts or contexts."""
_REPLY_ONLY = re.compile(r"(?i)(?<!context )(?<!input )(?<!prompt )\b(max_(completion_|output_)?tokens|output tokens)")
_ABOUT_PROMPT = re.compile(r"(?i)context|prompt|input|messages")
_CREDENTIALS = re.compile(r"(?i)api[ _-]?key|credential|unauthori[sz]ed|authenticat|access token|permission denied")
_MONEY = re.compile(r"(?i)insufficient[ _](quota|balance|funds|credit)|(credit|account) balance|billing|arrears|quota")
_RATE = re.compile(r"(?i)rate[ _-]?limit|too many requests|throttl|tokens per (min(ute)?|day)\b")
_OVER_RATE = re.compile(r"(?i)request too large\b.{0,200}\btokens per (min(ute)?|day)\b")
_CONTENT = re.compile(r"(?i)content[ _]?(filter|management|policy)|safety|moderation|data_?inspection|inappropriate")
_NO_MODEL = re.compile(r"(?i)model\b.{0,80}(not found|not exist)|(invalid|unknown|no such) model")

Topic = Literal["context", "too large for rate", "credentials", "money", "rate", "content", "model"]
_TOPICS: tuple[tuple[Topic, re.Pattern[str]], ...] = (
    ("money", _MONEY),
    ("rate", _RATE),
    ("credentials", _CREDENTIALS),
    ("content", _CONTENT),
    ("model", _NO_MODEL),
)


def topic_of(words: str) -> Topic | None:
    """The kind of refusal, if another form of the request would not help.

    "too large for rate": one call needs more tokens than the account has per minute or day.
    """
    if _OVER_RATE.search(words):
        return "too large for rate"
    if _REPLY_LIMIT.search(words):
        return None
    if _TOO_LONG.search(words) and not (_REPLY_ONLY.search(words) and not _ABOUT_PROMPT.search(words)):
        return "context"
    return next((topic for topic, pattern in _TOPICS if pattern.search(words)), None)


def context_size(words: str) -> int | None:
    """The model's context in tokens, if a refusal tells."""
    found = (match for pattern in _SIZE for match in pattern.finditer(words))
    return next((size for match in found if (size := _numbers(match[1])[0])), None)
