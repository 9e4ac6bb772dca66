"""What an endpoint's failures mean to us: each vendor error becomes one ModelError, without keys in it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import openai

from contend.errors import ModelError
from contend.llm.endpoint import FormatRefused, LogprobsRefused, SettingNames, TemperatureRefused
from contend.retry_after import retry_after
from contend.text import clean, shorten

GIVE_UP = "x-should-retry"
"""The header by whose value "false" the client stops asking again."""

_KEY = re.compile(r"(?i)\b(?:(?:sk|pk|rk|gsk|hf|tvly|lsv2)[-_][\w*-]{6,}|bearer\s+\S+)")
_REFUSED_FORMAT = ("response_format", "json_schema")
_NO_LOGPROBS = {400, 403, 422}
_TOO_LONG = "{who}: the prompt is longer than the model's context: choose a model with a larger one, or fewer documents"
# OpenAI's code and texts, Anthropic's, LiteLLM's, llama.cpp's, vLLM's.
_OVERFLOW = (
    "context_length_exceeded",
    "Input tokens exceed the configured limit",
    "exceeds the context window",
    "prompt is too long",
    "ContextWindowExceededError",
    "exceed_context_size_error",
    "maximum context length",
)
_BAD_KEY = 401
_BAD_REQUEST = {400, 422}
_PASSING = {408, 409, 425, 429}
_SERVER_FAULT = 500
_REMEDIES = {
    _BAD_KEY: "set {key} to a valid key",
    403: "choose another model, or a key that may use it",
    404: "mend the model's name in config/models.toml or {url}",
    413: "give fewer or shorter documents",
}


@dataclass(frozen=True)
class Caller:
    """Who calls whom, for the text of errors; `secrets` must never be shown."""

    who: str
    secrets: tuple[str, ...]
    deadline_seconds: float
    names: SettingNames

    def shown(self, text: str) -> str:
        """Text from the endpoint as one short line without keys."""
        for secret in self.secrets:
            text = text.replace(secret, "…")
        return without_keys(text)


def without_keys(text: str) -> str:
    """A vendor's words as one line of at most 300 characters, without what looks like a key."""
    return shorten(_KEY.sub("…", clean(text, single_line=True)), 300)


def as_model_error(error: Exception, caller: Caller) -> ModelError:
    """The one line that says which model at which address failed how, and what to do."""
    who = caller.who
    match error:
        case openai.APIStatusError():
            return _from_status(error, caller)
        case openai.APITimeoutError():
            return ModelError(f"{who} did not answer in time, also when asked again: try later", transient=True)
        case openai.APIConnectionError():
            reason = caller.shown(str(error.__cause__ or error))
            return ModelError(
                f"{who} cannot be reached ({reason}): check that it runs and {caller.names.url}", transient=True
            )
        case _:
            return ModelError(
                f"{who} answered with something else than a chat completion ({caller.shown(str(error))}):"
                f" check {caller.names.url}, it usually ends in /v1"
            )


def _from_status(error: openai.APIStatusError, caller: Caller) -> ModelError:
    who, status, wait = caller.who, error.status_code, wanted_wait(error.response.headers)
    reason = f"({status})" if status == _BAD_KEY else f"({status}: {caller.shown(_said(error))})"
    if status in _BAD_REQUEST and any(word in f"{error.code} {error.type} {error.message}" for word in _OVERFLOW):
        return ModelError(_TOO_LONG.format(who=who))
    if wait is not None and error.response.headers.get(GIVE_UP) == "false":
        return ModelError(
            f"{who} asks to wait {wait:.0f} s, more than the call has left of its {caller.deadline_seconds:g} s"
            f" {reason}: go on later, or raise CONTEND_CALL_DEADLINE_SECONDS"
        )
    if (refused := _refused_feature(error)) is not None:
        return refused(f"{who} refused the reply format {reason}: choose another model")
    if error.code == "insufficient_quota":
        return ModelError(f"{who}: the account's quota is used up {reason}: add credit or use another key")
    if status >= _SERVER_FAULT or status in _PASSING:
        return ModelError(
            f"{who} failed {reason}, also when asked again: go on later, or lower CONTEND_MAX_CALLS_IN_FLIGHT",
            transient=True,
        )
    remedy = _REMEDIES.get(status, "choose another model").format(**caller.names._asdict())
    return ModelError(f"{who} refused the request {reason}: {remedy}")


def _refused_feature(error: openai.APIStatusError) -> type[ModelError] | None:
    """Which of the things was refused that a call can do without."""
    named = f"{error.param} {error.message}"
    if error.status_code in _NO_LOGPROBS and "logprobs" in named:
        return LogprobsRefused
    if error.status_code in _BAD_REQUEST and "temperature" in named:
        return TemperatureRefused
    unknown = error.status_code in _BAD_REQUEST and any(word in named for word in _REFUSED_FORMAT)
    return FormatRefused if unknown else None


def _said(error: openai.APIStatusError) -> str:
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return str(message or error.message)


def wanted_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait, given as milliseconds, seconds or a date; None without a usable value."""
    milliseconds = retry_after(headers.get("retry-after-ms"))
    return retry_after(headers.get("retry-after")) if milliseconds is None else milliseconds / 1000
