"""Endpoints of language models: concurrency limit, deadline, retries, requests and completions."""

import asyncio
import math
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple
from weakref import WeakKeyDictionary

from pydantic import BaseModel, TypeAdapter, ValidationError

from contend.errors import ContendError, ModelError, without_secrets
from contend.llm import CONTEXT_REMEDY, LEAST_CONTEXT_TOKENS, WHERE_CONTEXT_IS_SET
from contend.llm.refusals import Change, RequestForm, context_size
from contend.text import clean, shorten

if TYPE_CHECKING:
    import httpx2
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnableConfig

    from contend.llm.listing import EndpointSizes


_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 0.5, 8.0
"""Backoff between attempts, doubled each time."""
_MOST_HASTY_RETRIES = 2
_DIGITS = re.compile(r"\d")
_MOST = 100
_ROUND = 5


class ReplyToken(NamedTuple):
    """A generated token, and the probabilities, 0.0 to 1.0, of the candidates in its place."""

    text: str
    likely: dict[str, float]


class _TopLogprob(BaseModel):
    token: str
    logprob: float


class _TokenLogprob(_TopLogprob):
    top_logprobs: list[_TopLogprob] | None = None


_CONTENT: TypeAdapter[list[_TokenLogprob]] = TypeAdapter(list[_TokenLogprob])


def read_tokens(content: object) -> list[ReplyToken]:
    """The tokens of a chat completion's `logprobs.content`; [] if unreadable."""
    try:
        tokens = _CONTENT.validate_python(content or [])
    except ValidationError:
        return []
    return [ReplyToken(one.token, _likely(one)) for one in tokens]


def distribution_of(tokens: Sequence[ReplyToken], field: str) -> dict[int, float] | None:
    """The probability of each value of an integer percent field, summing to 1; None if the tokens don't tell.

    For a number of several tokens, each token is varied alone. If tokens are single digits, the digits after another
    first one are unknown: it counts as the nearest round percentage with that beginning, such as 100 for a 1 in place
    of 80's 8.
    """
    text = "".join(token.text for token in tokens)
    matches = list(re.finditer(rf'"{field}"\s*:\s*(\d+)', text))
    if not matches:
        return None
    begin, end = matches[-1].span(1)
    shares: dict[int, float] = {}
    for value, share in _values(list(_overlapping(tokens, begin, end))):
        shares[value] = shares.get(value, 0.0) + share
    total = sum(shares.values())
    return {value: share / total for value, share in sorted(shares.items())} if total > 0 else None


def _overlapping(tokens: Sequence[ReplyToken], begin: int, end: int) -> Iterator[ReplyToken]:
    place = 0
    for token in tokens:
        if place < end and place + len(token.text) > begin:
            yield token
        place += len(token.text)


def _values(digits: Sequence[ReplyToken]) -> Iterator[tuple[int, float]]:
    """Values with their probabilities: the number itself, and with one token changed."""
    number = _number_in([token.text for token in digits])
    if number is None:
        return
    by_digit = not any(len(_DIGITS.findall(text)) > 1 for token in digits for text in (token.text, *token.likely))
    before = 1.0
    for place, token in enumerate(digits):
        beginning, rest = [each.text for each in digits[:place]], [each.text for each in digits[place + 1 :]]
        for other, share in token.likely.items():
            value = (
                _nearest(_number_in([*beginning, other]), number)
                if by_digit
                else _number_in([*beginning, other, *rest])
            )
            if other != token.text and value is not None:
                yield value, before * share
        before *= token.likely.get(token.text, 0.0)
    yield number, before


def _nearest(beginning: int | None, number: int) -> int | None:
    """The round percentage with this beginning that is nearest to the number; the beginning itself if there is none."""
    if beginning is None:
        return None
    round_ones = [value for value in range(0, _MOST + 1, _ROUND) if str(value).startswith(str(beginning))]
    return min(round_ones, key=lambda value: abs(value - number), default=beginning)


def _number_in(parts: Sequence[str]) -> int | None:
    number = re.fullmatch(r"\D*(\d{1,9})\D*", "".join(parts))
    return int(number[1]) if number and _DIGITS.search(parts[-1]) else None


def _likely(token: _TokenLogprob) -> dict[str, float]:
    choices = [*(token.top_logprobs or []), token]
    usable = [choice for choice in choices if not math.isnan(choice.logprob)]
    return {choice.token: math.exp(min(0.0, choice.logprob)) for choice in usable}


class RequestRefused(ModelError):  # noqa: N818 - named by what the caller meets
    """The endpoint refused this form of the request; another form may work. `words`: the endpoint's message."""

    def __init__(self, message: str, *, words: str) -> None:
        super().__init__(message)
        self.words = words


class Unavailable(ModelError):  # noqa: N818 - named by what the caller meets
    """A retry may succeed, after `wait` seconds if the endpoint says so.

    `patient`: it is down or busy, and is retried until the call's deadline; else twice.
    """

    def __init__(self, message: str, *, wait: float | None = None, patient: bool = True) -> None:
        super().__init__(message, transient=True)
        self.wait = wait
        self.patient = patient


class ServerFault(Unavailable):
    """The server failed on the request each time. Some do so on a JSON schema that they cannot bind a model to."""


def context_exceeded(who: str, words: str) -> ModelError:
    """The error for a prompt that is too long; `words`: the endpoint's message."""
    size = context_size(words)
    tokens = f" of {size:,} tokens" if size else ""
    remedy = CONTEXT_REMEDY
    if size and size >= LEAST_CONTEXT_TOKENS:
        remedy = (
            f"tell it under [context] in config/models.toml, or raise it where the model runs ({WHERE_CONTEXT_IS_SET})"
        )
    return ModelError(f"{who}: the prompt is longer than the model's context{tokens}: {remedy}")


PATIENT_STATUSES = frozenset({408, 425, 429, 502, 503, 504, *range(520, 531)})
"""HTTP statuses of an endpoint that is down, loading a model or overloaded."""


class NoAnswer(Exception):  # noqa: N818 - it says why, and is caught where the endpoint was asked
    """Why an endpoint's models could not be listed; `remedy`: what to do, if special."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class SlowAnswer(NoAnswer):
    """It accepted the connection but was too slow: it may be busy, or loading a model."""


class SettingNames(NamedTuple):
    """The settings of an endpoint's address and key, as errors name them."""

    url: str = "OPENAI_BASE_URL"
    key: str = "OPENAI_API_KEY"


@dataclass(frozen=True)
class CallLimits:
    """Limits of every call to an endpoint. The deadline covers all attempts, and starts once a slot is free.

    Without `max_retries`, an endpoint that is down or busy is retried until the deadline.
    """

    call_deadline_seconds: float = 300
    max_calls_in_flight: int = 64
    max_retries: int | None = None


class Turn(NamedTuple):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


class Request(NamedTuple):
    """A request to a model. Without a `temperature` the endpoint uses its default; `form`: which parameters to send.

    `json_schema`: the reply's schema for OpenAI's `response_format`; `config`: the call's name and tags in traces.
    """

    turns: Sequence[Turn]
    max_output_tokens: int
    json_schema: Mapping[str, Any]
    logprobs: bool = False
    temperature: float | None = None
    form: RequestForm = RequestForm()
    config: "RunnableConfig | None" = None


class Completion(NamedTuple):
    """What the endpoint answered. Token counts are None where it sends none; `tokens` only where asked for.

    `cached_tokens`: those of the input that it says it had in a cache.
    """

    text: str
    cut_off: bool
    refusal: str
    input_tokens: int | None
    output_tokens: int | None
    tokens: Sequence[ReplyToken] = ()
    cached_tokens: int = 0


@dataclass(eq=False)
class Clients:
    """The clients of one event loop: they are bound to it, and servers may run several."""

    slots: asyncio.Semaphore
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    http: "httpx2.AsyncClient | None" = None
    chats: "dict[Hashable, BaseChatModel]" = field(default_factory=dict)
    sizes: "asyncio.Future[EndpointSizes] | None" = None


class Endpoint(ABC):
    """Language models behind one client and one limit of calls in flight, shared by all teams.

    `address`: for display; `remedy`: what to check if it does not answer; `secrets`: kept out of errors. `form_fields`:
    the request fields that can be changed after a refusal. The form that works for each model is remembered.
    """

    form_fields: ClassVar[frozenset[str]] = frozenset(each.name for each in fields(RequestForm))
    first_form = RequestForm()

    def __init__(self, address: str, remedy: str, limits: CallLimits, *, secrets: Sequence[str] = ()) -> None:
        self.address = address
        self.remedy = remedy
        self.limits = limits
        self._secrets = secrets
        self._forms: dict[str, RequestForm] = {}
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Clients] = WeakKeyDictionary()

    def form(self, model: str) -> RequestForm:
        """The request form known to work for a model."""
        return self._forms.get(model, self.first_form)

    def learn(self, model: str, change: Change) -> None:
        """Remember a request form after the model answered it."""
        self._forms[model] = replace(self.form(model), **change)

    async def complete(self, model: str, request: Request) -> Completion:
        """Ask a model, with retries while the endpoint is down or busy; returns at most `max_output_tokens`.

        Raises:
            RequestRefused: another form of the request may work.
            ModelError: refused, unreachable, or not done within the deadline.
        """
        who, failure = f"model {model!r} at {self.address}", None
        try:
            async with self._here().slots, asyncio.timeout(self.limits.call_deadline_seconds) as deadline:
                for attempt in count():
                    try:
                        return await self._ask(model, request)
                    except Exception as error:  # noqa: BLE001 - vendors raise what they like; no cause: it may hold a key
                        failure = error if isinstance(error, ContendError) else self._failure(error, who)
                    await asyncio.sleep(self._wait(failure, attempt, deadline.when() or 0.0, who))
        except TimeoutError:
            if failure is not None:
                raise failure from None
            raise ModelError(
                f"{who} gave no whole answer within {self.limits.call_deadline_seconds:g} s: try again, or raise"
                " CONTEND_CALL_DEADLINE_SECONDS for a slow endpoint",
                transient=True,
            ) from None
        raise AssertionError  # `count` does not end

    def _wait(self, failure: ContendError, attempt: int, ends_at: float, who: str) -> float:
        """Seconds until the next attempt.

        Raises:
            ContendError: the failure, if a retry would not help or there is no time left.
        """
        most = self.limits.max_retries
        if not isinstance(failure, Unavailable) or (most is not None and attempt >= most):
            raise failure from None
        if not failure.patient and attempt >= _MOST_HASTY_RETRIES:
            raise failure from None
        backoff: float = min(_FIRST_WAIT_SECONDS * 2**attempt, _LONGEST_WAIT_SECONDS) * random.uniform(0.8, 1)  # noqa: S311 - no secret
        remaining = ends_at - asyncio.get_running_loop().time()
        if (wait := failure.wait) is not None and wait > remaining:
            raise ModelError(
                f"{who} asks to wait {wait:.0f} s, more than the call has left of its"
                f" {self.limits.call_deadline_seconds:g} s: go on later, or raise CONTEND_CALL_DEADLINE_SECONDS"
            ) from None
        if backoff > remaining:
            raise failure from None
        return max(backoff, wait or 0.0)

    @abstractmethod
    async def _ask(self, model: str, request: Request) -> Completion: ...

    @abstractmethod
    def _failure(self, error: Exception, who: str) -> ModelError:
        """Turn a vendor's error into one line: who failed, how, and what to do."""

    @abstractmethod
    async def models(self, names: Sequence[str]) -> list[str]:
        """The models that it lists. Costs nothing.

        Raises:
            NoAnswer: it cannot be used for the wanted models; says why.
            SlowAnswer: connected, and not done in time.
        """

    @abstractmethod
    async def context_tokens(self, model: str) -> int | None:
        """A model's context in tokens, if the endpoint tells."""

    def _one_line(self, text: str) -> str:
        """A vendor's message as one short line without keys."""
        return without_keys(text, *self._secrets)

    async def aclose(self) -> None:
        """Close the running loop's connections; later calls reopen them."""
        clients = self._clients.pop(asyncio.get_running_loop(), None)
        if clients is not None and clients.http is not None:
            await clients.http.aclose()

    def _here(self) -> Clients:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = Clients(asyncio.Semaphore(self.limits.max_calls_in_flight))
        return self._clients[loop]

    async def _chat(self, key: Hashable, make: "Callable[[Clients], BaseChatModel]") -> "BaseChatModel":
        """The client of this key, created in a thread: the first import takes a second or more."""
        here = self._here()
        if key not in here.chats:
            async with here.opening:
                if key not in here.chats:
                    here.chats[key] = await asyncio.to_thread(make, here)
        return here.chats[key]


_CUT_OFF = {"length", "max_tokens"}
_REFUSALS = {"refusal": "it declined", "content_filter": "its content filter stepped in", "safety": "for safety"}


def completion_of(answer: "AIMessage", text: str | None = None) -> Completion:
    """The completion in a LangChain message; `text` replaces its own."""
    facts, usage = answer.response_metadata, answer.usage_metadata
    reason = str(facts.get("finish_reason") or facts.get("stop_reason") or facts.get("done_reason") or "").lower()
    refusal = str(answer.additional_kwargs.get("refusal") or "")
    counts = usage is not None and usage["input_tokens"] + usage["output_tokens"] > 0
    return Completion(
        text=str(answer.text) if text is None else text,
        cut_off=reason in _CUT_OFF,
        refusal=refusal or _REFUSALS.get(reason, ""),
        input_tokens=max(0, usage["input_tokens"]) if usage and counts else None,
        output_tokens=max(0, usage["output_tokens"]) if usage and counts else None,
        tokens=read_tokens((facts.get("logprobs") or {}).get("content")),
        cached_tokens=max(0, usage.get("input_token_details", {}).get("cache_read") or 0) if usage else 0,
    )


# Prefixes of the keys of the providers in `PACKAGES`, of Tavily and LangSmith; keys of Azure, Cohere and Mistral have
# none. Six characters are enough: vendors often show a key with stars in its middle.
_KEY = re.compile(
    r"(?i)\b(?:(?:sk|pk|rk|gsk|hf|xai|nvapi|pplx|fw|tgp|tvly|lsv2)[-_][\w*-]{6,}|AIza[\w*-]{6,}|bearer\s+\S+)"
)


def without_keys(text: str, *own: str | None) -> str:
    """A vendor's message as one line of at most 300 characters, without keys.

    Removed are the endpoint's `own` keys, values of secret variables, and whatever looks like a key.
    """
    for secret in filter(None, own):
        text = text.replace(secret, "…")
    return shorten(_KEY.sub("…", without_secrets(clean(text, single_line=True))), 300)
