"""An OpenAI-compatible endpoint: one client, concurrency limit and deadline for all models and teams."""

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from contend.connections import connection_failure
from contend.errors import InputError, ModelError, is_passing, seconds_to_wait
from contend.llm.address import OPENAI_HOST, EndpointAddress, open_client
from contend.llm.completions import ErrorInAnswer, NoCompletion, error_text, read_completion, text_of
from contend.llm.endpoint import (
    PATIENT_STATUSES,
    CallLimits,
    Clients,
    Completion,
    Endpoint,
    Request,
    RequestRefused,
    ServerFault,
    SettingNames,
    Unavailable,
    completion_of,
    context_exceeded,
)
from contend.llm.listing import endpoint_models, read_sizes
from contend.llm.refusals import RequestForm, Topic, names_feature, topic_of
from contend.loading import loading
from contend.settings.files import ProviderConfig
from contend.text import clean

if TYPE_CHECKING:
    import httpx2
    from langchain_openai import ChatOpenAI

_OPENAI_URL = "https://api.openai.com/v1"
_CONNECT_SECONDS = 10.0
_MOST_LOGPROBS = 20
"""The most candidates per token that OpenAI returns."""

_BAD_KEY = 401
_FORBIDDEN = 403
_TOO_MANY = 429
_BAD_REQUEST = {400, 422}
_SERVER_FAULTS = {500, 501}
_MOVED = {301, 302}
_REMEDIES = {
    _BAD_KEY: "set {key} to a valid key",
    402: "add credit to the account, or use another key",
    _FORBIDDEN: "choose another model, or a key that may use it",
    404: "mend the model's name in config/models.toml or {url}",
    405: "mend {url}",
    413: "give fewer or shorter documents",
}
_TOPIC_REMEDIES: dict[Topic, str] = {
    "credentials": _REMEDIES[_BAD_KEY],
    "money": _REMEDIES[402],
    "model": _REMEDIES[404],
    "content": "its content filter stepped in; choose another model",
}


class OpenAIEndpoint(Endpoint):
    """An endpoint by its address. Imports, opens and sends nothing before the first call.

    `provider`: its `extra_body` and `headers` go with each call, and with `stream` replies come in parts.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        limits: CallLimits = CallLimits(),  # noqa: B008 - immutable
        *,
        names: SettingNames = SettingNames(),  # noqa: B008 - immutable
        provider: ProviderConfig = ProviderConfig(),  # noqa: B008 - not changed
    ) -> None:
        self._key = _checked_key(api_key, names.key)
        self._address = EndpointAddress.parse(base_url or _OPENAI_URL, names.url, key=api_key, headers=provider.headers)
        self._names = names
        self._extra_body = provider.extra_body
        remedy = f"check {names.url}, {names.key} and that it runs"
        super().__init__(self._address.url, remedy, limits, secrets=self._address.secrets)
        # OpenAI's reasoning models refuse `max_tokens`; few other servers accept anything else.
        of_openai = self._address.host == OPENAI_HOST
        self.first_form = RequestForm(
            shape_last=True, limit_name="max_completion_tokens" if of_openai else "max_tokens", stream=provider.stream
        )

    async def _ask(self, model: str, request: Request) -> Completion:
        chat = await self._chat(model, partial(self._open, model))
        messages = [(turn.role, turn.text if turn.text.isascii() else clean(turn.text)) for turn in request.turns]
        extra = {**_parameters(request), **self._extra_body}
        return completion_of(await chat.ainvoke(messages, request.config, extra_body=extra))

    def _failure(self, error: Exception, who: str) -> ModelError:
        import httpx2  # noqa: PLC0415 - heavy, and imported by now
        import openai  # noqa: PLC0415 - the same

        unreadable = (httpx2.DecodingError, httpx2.TooManyRedirects)
        match error:
            case openai.APIStatusError():
                body = error.body if error.body is not None else error.response.text
                wait = seconds_to_wait(error.response.headers)
                return self._refusal(error.status_code, body, wait, who)
            case ErrorInAnswer():
                return self._refusal(error.status, error.body, None, who)
            case openai.APITimeoutError():
                return Unavailable(f"{who} did not answer in time, also when asked again: try later")
            case openai.APIConnectionError() if isinstance(error.__cause__, unreadable):
                reason = self._one_line(str(error.__cause__))
                message = f"{who} gave an answer that cannot be read ({reason}): check {self._names.url}"
                return Unavailable(message, patient=False)
            case openai.APIConnectionError():
                reason, remedy = connection_failure(error, self._address.url)
                message = f"{who} cannot be reached ({self._one_line(reason)}): "
                remedy = remedy or f"check that it runs and {self._names.url}; go on later with `contend resume`"
                return Unavailable(message + remedy)
            case _:
                message = (
                    f"{who} answered with something else than a chat completion ({self._one_line(str(error))}):"
                    f" check {self._names.url}, it usually ends in /v1"
                )
                passing = isinstance(error, NoCompletion) and error.may_pass
                return Unavailable(message, patient=False) if passing else ModelError(message)

    def _refusal(self, status: int | None, body: object, wait: float | None, who: str) -> ModelError:
        """The error for a refusal of the endpoint. Without a status it is transient."""
        code, words = _code_of(body), error_text(body) or "no reason given"
        topic = topic_of(f"{code} {words}")
        if topic == "context" and status not in {_FORBIDDEN, _TOO_MANY}:
            return context_exceeded(who, words)
        # A message about a key may contain the key.
        said = "" if status == _BAD_KEY or topic == "credentials" else self._one_line(words)
        reason = f"({': '.join(filter(None, (str(status or ''), said)))})"
        if _depends_on_form(status, topic, words):
            return RequestRefused(f"{who} refused the request {reason}: choose another model", words=words)
        if remedy := _final_remedy(status, topic, code):
            return ModelError(f"{who} refused the request {reason}: {remedy.format(**self._names._asdict())}")
        message = f"{who} failed {reason}, also when asked again: go on later, or lower CONTEND_MAX_CALLS_IN_FLIGHT"
        if status in _SERVER_FAULTS and topic is None:
            return ServerFault(message, wait=wait, patient=False)
        return Unavailable(message, wait=wait, patient=status in PATIENT_STATUSES)

    async def models(self, names: Sequence[str]) -> list[str]:  # noqa: ARG002 - the protocol's; it lists what it has
        """See `Endpoint.models`."""
        return await endpoint_models(self._address)

    async def context_tokens(self, model: str) -> int | None:
        """Asked once; see `Endpoint.context_tokens`."""
        here = self._here()
        if here.sizes is None:
            here.sizes = asyncio.ensure_future(read_sizes(self._address))
        # Shielded: a run that is cancelled while waiting must not cancel it for others.
        return (await asyncio.shield(here.sizes)).of(model)

    def _open(self, model: str, clients: Clients) -> "ChatOpenAI":
        import httpx2  # noqa: PLC0415 - heavy

        deadline, slots = self.limits.call_deadline_seconds, self.limits.max_calls_in_flight
        timeout = httpx2.Timeout(deadline, connect=min(_CONNECT_SECONDS, deadline))
        if clients.http is None:
            limits = httpx2.Limits(max_connections=slots, max_keepalive_connections=slots)
            hooks = {"response": [_keep_method]}
            clients.http = open_client(
                self._address, timeout=timeout, limits=limits, follow_redirects=True, event_hooks=hooks
            )
        return _chat_class()(
            model=model,
            base_url=self._address.url,
            api_key=self._give_key,  # a coroutine function keeps the key out of reprs, and no second client is created
            default_headers=self._address.headers,
            default_query=self._address.query,
            http_async_client=clients.http,
            openai_proxy=None,
            max_retries=0,
            timeout=timeout,
            use_responses_api=False,
            disable_streaming=True,
        )

    async def _give_key(self) -> str:
        return self._key


async def _keep_method(response: "httpx2.Response") -> None:
    """Let a request that is moved on its host, such as to https, stay a POST, which clients make a GET of."""
    url = response.request.url
    if response.status_code in _MOVED and url.join(response.headers.get("location", "")).host == url.host:
        response.status_code = 308


def _parameters(request: Request) -> dict[str, Any]:
    """The parameters beside the messages, in the form that the model accepts."""
    form = request.form
    parameters: dict[str, Any] = {"stream": True} if form.stream else {}
    if form.format_sent != "none":
        schema = {"json_schema": request.json_schema} if form.format_sent == "json_schema" else {}
        parameters["response_format"] = {"type": form.format_sent, **schema}
    if form.limit_name != "none":
        parameters[form.limit_name] = request.max_output_tokens
    if request.logprobs:
        parameters |= {"logprobs": True, "top_logprobs": _MOST_LOGPROBS}
    if request.temperature is not None:
        parameters["temperature"] = request.temperature
    return parameters


def _depends_on_form(status: int | None, topic: Topic | None, words: str) -> bool:
    """Whether another form of the request may work."""
    if status in _BAD_REQUEST:
        return topic is None
    return status is not None and status not in {_BAD_KEY, _TOO_MANY} and names_feature(status, words)


def _final_remedy(status: int | None, topic: Topic | None, code: str) -> str | None:
    """What to do about a permanent refusal; None for one that may pass."""
    if "insufficient_quota" in code:
        return "the account's quota is used up; add credit or use another key"
    if topic == "too large for rate":
        return "one call needs more tokens than the account has per minute; raise its limit or choose another model"
    if status in {None, *_BAD_REQUEST} and topic in _TOPIC_REMEDIES:
        return _TOPIC_REMEDIES[topic]
    if status is None or is_passing(status) or topic == "rate":
        return None
    return _REMEDIES.get(status, "choose another model")


def _code_of(body: object) -> str:
    """An error's `code` and `type`."""
    error = body.get("error", body) if isinstance(body, Mapping) else {}
    return " ".join(str(error.get(name)) for name in ("code", "type")) if isinstance(error, Mapping) else ""


@cache
def _chat_class() -> "type[ChatOpenAI]":
    """The vendor's client, loaded at the first call because it is heavy."""
    with loading():
        import httpx2  # noqa: PLC0415 - heavy
        from langchain_core.messages import BaseMessage  # noqa: PLC0415 - heavy
        from langchain_core.outputs import ChatResult  # noqa: PLC0415 - heavy
        from langchain_openai import ChatOpenAI  # noqa: PLC0415 - heavy

    class PlainChat(ChatOpenAI):
        """Sends requests with the client's `post`, so that vendor errors come through unchanged.

        The usual way validates each message and answer with the client's models, in a thread: a third of the cost of a
        call on our side.
        """

        async def _agenerate(
            self,
            messages: list[BaseMessage],
            stop: list[str] | None = None,
            run_manager: object = None,  # noqa: ARG002 - nothing is streamed
            **kwargs: Any,  # noqa: ANN401 - as the class above has it
        ) -> ChatResult:
            body = self._get_request_payload(messages, stop=stop, **kwargs)
            body |= body.pop("extra_body", None) or {}
            content = to_json(body)  # the client writes long prompts ten times more slowly
            answer = await self.root_async_client.post("/chat/completions", cast_to=httpx2.Response, content=content)
            reply = read_completion(text_of(answer))
            result = self._create_chat_result(reply)
            # The client reads refusals only from its own models.
            result.generations[0].message.additional_kwargs["refusal"] = reply["choices"][0]["message"]["refusal"]
            return result

    # It prints advice about `with_structured_output`, which is not used here.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"langchain_openai\.chat_models\.base")
    return PlainChat


def _checked_key(key: str | None, name: str) -> str:
    """The key, if a header can carry it; a placeholder without one, because the client needs a key."""
    bare = (key or "").strip()
    if not (bare.isascii() and bare.isprintable()):
        raise InputError(f"{name} holds characters that no key has: copy it again")
    return bare or "none-needed"
