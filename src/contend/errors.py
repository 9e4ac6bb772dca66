"""Every error contend raises on purpose.

* ContendError
  + InputError            (the caller's mistake: exit 2, nothing spent, nothing written)
    + PromptError         (a template does not render)
    + UnknownThread       (no run under that thread id)
    + UnknownLesson       (no playbook, version or lesson of that name)
    + ThreadBusy          (another process holds the thread's lease; try again when it ends)
    + SeveralQuestions    (an answer that fits one question came without its name while several are open)
    + RunChanged          (config, prompts or teams differ from those the run began with)
  + ServiceError          (another service failed; `transient` says whether again is worth it)
    + SourceError         (a source refused or failed)
    + ModelError          (the endpoint failed)
      + ReplyError        (it answered, not in the agreed shape, also after one repair)
      + BudgetExhausted   (a hard budget would be exceeded by the call)
  + MetricError           (a metric's own function failed, hung or gave no score)
  + GraphError            (the graph that a team brought failed, waits for a person or gave no report)
  + DraftError            (there is no draft to make a report of, or too little text in it)
  + StoreError            (a store could not be read or written)
    + CheckpointError     (checkpoints could not be saved or read; the run stands at its last saved step)
    + StoreLocked         (another process holds it; names its PID where known)
    + StoreUnwritable     (the disk is full, read-only or forbids it; the run stands at its last saved step)
    + PlaybookDamaged     (names the file and the last good version)
    + PlaybookChanged     (another version was saved since the caller read it)

Each message is one line that names what, where and the remedy.
"""

import ast
import os
import re
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Literal

Limit = Literal["max_tokens", "max_usd", "max_calls", "max_minutes"]
"""The hard budgets of a run."""


class ContendError(RuntimeError):
    """The root of what contend raises on purpose. The Agent Server hides the words of an error of no known kind."""

    def __repr__(self) -> str:
        """As the nearest kind of this module, by which error handlers decide, with its plain attributes.

        LangGraph's savers keep an error as this text, from which `error_from_repr` makes it again.
        """
        kind = next(kind.__name__ for kind in type(self).__mro__ if kind.__module__ == __name__)
        details = [f", {name}={value!r}" for name, value in vars(self).items() if isinstance(value, str | int)]
        return f"{kind}({str(self)!r}{''.join(details)})"


class InputError(ContendError):
    """The caller's mistake. Nothing has been spent or written."""


class PromptError(InputError):
    """A prompt template has a syntax error, an undefined variable or renders too long."""


class UnknownThread(InputError):  # noqa: N818 - named by what the caller meets
    """No run is known under this thread id."""


class UnknownLesson(InputError):  # noqa: N818 - named by what the caller meets
    """No playbook, version of one, or lesson in it is known by this name."""


class ThreadBusy(InputError):  # noqa: N818 - named by what the caller meets
    """Another process works on this thread."""


class SeveralQuestions(InputError):  # noqa: N818 - named by what the caller meets
    """Several questions are open, and the answer fits one of them only; `names` are what each answers to."""

    def __init__(self, message: str, *, names: Sequence[str]) -> None:
        super().__init__(message)
        self.names = list(names)


class RunChanged(InputError):  # noqa: N818 - named by what the caller meets
    """Config, prompts or teams changed since the run began; `force` goes on all the same."""


class ServiceError(ContendError):
    """Another service failed; `transient`: whether it may answer when it is asked again."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class SourceError(ServiceError):
    """A source refused or failed."""


class ModelError(ServiceError):
    """A model's endpoint failed."""


class ReplyError(ModelError):
    """The model answered, but not in the agreed shape, also after one repair."""


class BudgetExhausted(ModelError):  # noqa: N818 - named by what the caller meets
    """The next call would exceed a hard budget, the `limit`; it was not made."""

    def __init__(self, message: str, *, limit: Limit) -> None:
        super().__init__(message)
        self.limit: Limit = limit


class MetricError(ContendError):
    """A metric's own function failed, was not done in time, or gave no score."""


class GraphError(ContendError):
    """The graph that a team brought raised, waits for a person, went on for too long or gave no report."""


class DraftError(ContendError):
    """There is no draft to make a report of, or too little text in it."""


class StoreError(ContendError):
    """A store could not be read or written."""


class CheckpointError(StoreError):
    """A run's checkpoints could not be saved or read; the run stands at its last saved step."""


class StoreLocked(StoreError):  # noqa: N818 - named by what the caller meets
    """Another process holds the store."""


class StoreUnwritable(StoreError):  # noqa: N818 - named by what the caller meets
    """The disk is full, read-only, or does not let this user write. No team is to blame: the run stops and goes on."""


class PlaybookDamaged(StoreError):  # noqa: N818 - named by what the caller meets
    """A playbook file cannot be read; the message names it and the last good version."""


class PlaybookChanged(StoreError):  # noqa: N818 - named by what the caller meets
    """Another version of the playbook was saved since the caller read it; nothing was written."""


def error_from_repr(text: str) -> Exception:
    """The error again of which a checkpoint holds the `repr`; one of no known kind as a ContendError with the text."""
    kind = {**globals(), "TimeoutError": TimeoutError}.get(text.partition("(")[0])
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return ContendError(text)
    try:
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)  # noqa: S101 - as `__repr__` writes it
        arguments = [ast.literal_eval(each) for each in call.args]
        details = {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg}
    except (SyntaxError, ValueError):  # others' arguments, such as an error around an error
        return TimeoutError(text) if kind is TimeoutError else ContendError(text)
    error = kind.__new__(kind, *arguments)
    vars(error).update(details)
    return error


_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_SHORTEST_SECRET = 8


def without_secrets(text: str, env_file: Mapping[str, str | None] | None = None) -> str:
    """The text without the values of secret variables: of this process, and of its `.env` file where it is given."""
    variables = [*os.environ.items(), *(env_file or {}).items()]
    secrets = {value for name, value in variables if value and any(word in name.upper() for word in _SECRET_NAMES)}
    for secret in sorted(secrets, key=len, reverse=True):  # one may be how another begins
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text


_PASSING = {408, 409, 424, 425, 429, 498, 499}
"""Statuses that may pass, apart from server faults: 424 at Bedrock, 498 (no capacity) at Groq, 499 at Google."""
_SERVER_FAULT = 500


def is_passing(status: object) -> bool:
    """Whether an HTTP status says that asking again may help."""
    return status in _PASSING or (isinstance(status, int) and status >= _SERVER_FAULT)


def retry_after(header: str | None) -> float | None:
    """Seconds to wait by a `Retry-After` header, a number or a date; None without a usable one."""
    if header is None:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", number := header.strip()):
        return float(number)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait, given as milliseconds, seconds or a date; None without a usable value."""
    milliseconds = retry_after(headers.get("retry-after-ms"))
    return retry_after(headers.get("retry-after")) if milliseconds is None else milliseconds / 1000
