"""Chat models: send a prompt, return a validated reply, within the budget."""

import json
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Generic

from contend.errors import ModelError, ReplyError
from contend.llm import CONTEXT_MARGIN, CONTEXT_REMEDY, DEFAULT_CONTEXT_TOKENS, Answer, R, Scope
from contend.llm.budget import Ledger, cost_usd
from contend.llm.endpoint import Completion, Endpoint, Request, RequestRefused, ServerFault, Turn, distribution_of
from contend.llm.reading import UnreadableReply, read_reply
from contend.llm.refusals import SURE_OUTPUT_TOKENS, Change, RequestForm, changes
from contend.models.replies import Reply
from contend.models.task import CallUsage
from contend.prompts import PromptLibrary, PromptValues, mark_of, without_delimiters
from contend.prompts.judging import RepairPrompt, ShapePrompt
from contend.settings.files import ModelsConfig
from contend.text import clean, estimate_tokens, shorten, token_bounds

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig  # heavy

_LOG = logging.getLogger(__name__)
DEFAULT_OUTPUT_TOKENS = 2048
_SHARE_OF_REPLY = 4
"""A reply takes at most one in this many tokens of the context; half the context is for passages."""
_ESTIMATE_MARGIN = 1.25
"""Token estimates are within 25 % of the endpoint's count."""
_LEAST_OUTPUT_TOKENS = 256
"""Output limits are multiples of this, because LangChain clients are cached by their limit."""
_THINKING_FACTOR = 4
"""If a reply is cut off before its first word, reasoning took the room: the second try gets this many times more."""
_SHOWN_BACK = 4000
"""Characters of an unusable reply that the model sees again."""
_MOST_FORMS = 10
"""How many other forms of a refused request to try."""
LEAST_SHARED_TOKENS = 8_000
"""From this length of a prompt's shared beginning on, the reply's schema is put at the prompt's end, and the model is
bound to JSON only. Providers put a binding schema before the prompt, so calls of different schemas share no beginning
in their prompt caches. For shorter beginnings the cache saves less than repaired replies cost."""
_LEAST_CUT_TOKENS = 1_024
"""Smaller token counts are ignored: no model has so small a context, so they come from a cache."""

_LEAST_RATIO, _RATIO_MARGIN = 0.75, 1.05
"""An endpoint that counts fewer tokens than that share of an estimate may leave out what it had in a cache."""

_NO_COMPLETION = Completion("", cut_off=False, refusal="", input_tokens=None, output_tokens=None)


@dataclass
class _Chat(Generic[R]):
    """One structured call: its conversation and its cost so far.

    `factor`: multiplies the output limit of the next reply; `max_tokens`: the limit of the last one. `shape_shown`: put
    the reply's schema into the prompt in any case; `shape_last`: at its end, because other calls share its beginning.
    """

    prompt: str
    reply_type: type[R]
    scope: Scope
    turns: list[Turn]
    distribution_over: str | None = None
    factor: int = 1
    max_tokens: int = 0
    shape_shown: bool = False
    shape_last: bool = False
    completion: Completion = _NO_COMPLETION
    usages: list[CallUsage] = field(default_factory=list)


@dataclass(eq=False)
class ChatModel:
    """A model behind an endpoint; implements `Model`.

    The ledger counts each call, also if its reply is unusable.
    """

    name: str
    endpoint: Endpoint
    prompts: PromptLibrary
    ledger_of: Callable[[str], Ledger]
    """The ledger of an execution, by id."""
    config: ModelsConfig = field(default_factory=lambda: ModelsConfig(default=""), kw_only=True)
    """Output limits and temperatures by role, and prices. 2,048 tokens, the endpoint's temperature, and an unknown cost
    without an entry."""
    context_of: Callable[[str], int] = field(default=lambda _: DEFAULT_CONTEXT_TOKENS, kw_only=True)
    """The model's context in tokens in an execution, by id."""
    name_there: str = field(default="", kw_only=True)
    """The model's name at its endpoint, if different."""

    _counted: float | None = field(default=None, init=False)
    """The greatest share of an estimate that the endpoint has counted for a prompt, with some room; None before."""

    _answered: set[type[Reply]] = field(default_factory=set, init=False)
    """Types of replies that it has answered: if it fails on one of them, the schema is not to blame."""

    def __post_init__(self) -> None:
        self.name_there = self.name_there or self.name
        self.price = self.config.prices.get(self.name)

    async def ask(
        self,
        prompt: PromptValues,
        reply_type: type[R],
        *,
        scope: Scope,
        distribution_over: str | None = None,
        faults: Callable[[R], str] | None = None,
    ) -> Answer[R]:
        """Ask, and once more with the fault shown if the reply is unusable; see `Model.ask`."""
        messages = self.prompts.call(prompt, language=scope.language, mark=mark_of(scope.execution_id))
        turns = [Turn("system", messages.system), Turn("user", messages.user)]
        shape_last = _has_tokens(prompt.shared_beginning, LEAST_SHARED_TOKENS)
        chat = _Chat(prompt.prompt_name, reply_type, scope, turns, distribution_over, shape_last=shape_last)
        try:
            value = await self._ask(chat)
        except UnreadableReply as fault:
            value = await self._ask_again(chat, fault)
        else:
            if faults and (problem := faults(value)):
                self._show_fault(chat, problem)
                # The first reply counts if the second is unreadable.
                with suppress(UnreadableReply):
                    value = await self._ask(chat)
        distribution = distribution_of(chat.completion.tokens, distribution_over) if distribution_over else None
        return Answer(value, reduce(add, chat.usages), distribution)

    async def _ask(self, chat: _Chat[R], *, may_adapt: bool = False) -> R:
        chat.completion = completion = await self._complete(chat)
        if completion.refusal:
            reason = shorten(completion.refusal, 200)
            raise ReplyError(f"model {self.name!r} refused to answer {chat.prompt}: {reason}; choose another model")
        text = without_delimiters(completion.text, mark_of(chat.scope.execution_id))
        value, mended = read_reply(text, chat.reply_type, may_mend=not completion.cut_off, may_adapt=may_adapt)
        if mended:
            _LOG.info("model %r: its reply to %s was mended", self.name, chat.prompt)
        return value

    async def _ask_again(self, chat: _Chat[R], fault: UnreadableReply) -> R:
        self._show_fault(chat, str(fault))
        # Some gateways silently drop the parameter that binds a model to the schema.
        if not (fault.has_json or chat.completion.cut_off):
            chat.shape_shown, chat.shape_last = True, False
        try:
            value = await self._ask(chat, may_adapt=True)
        except UnreadableReply as again:
            cut = f"cut off after {chat.max_tokens} tokens; raise max_output_tokens"
            problem = cut if chat.completion.cut_off else f"{again}; try another"
            raise ReplyError(
                f"model {self.name!r} gave no usable reply to {chat.prompt}, also after one repair: {problem}"
            ) from again
        if chat.shape_shown:
            self.endpoint.learn(self.name_there, {"shape_shown": True, "shape_last": False})
        return value

    def _show_fault(self, chat: _Chat[R], problem: str) -> None:
        """Add the reply and what is wrong with it to the chat."""
        reply, cut_off = chat.completion.text, chat.completion.cut_off
        if cut_off and not reply.strip():
            chat.factor = _THINKING_FACTOR
            return
        repair = self._render(chat, RepairPrompt(problem=problem, cut_off=cut_off, limit=chat.max_tokens))
        chat.turns += [Turn("assistant", shorten(clean(reply), _SHOWN_BACK) or "…"), Turn("user", repair)]

    async def _complete(self, chat: _Chat[R]) -> Completion:
        """Get one completion, trying other request forms if refused, and remember the form that worked."""
        learned: dict[str, Any] = {}
        tried: list[Change] = []
        while True:
            form = replace(self.endpoint.form(self.name_there), **learned)
            form = form if chat.shape_last else replace(form, shape_last=False)
            try:
                completion = await self._within_budget(chat, form)
            except RequestRefused as refusal:
                others = changes(form, refusal.words, output=chat.max_tokens, usable=self.endpoint.form_fields)
                change = next((change for change in others if change not in tried), None)
                if change is None or len(tried) == _MOST_FORMS:
                    raise
                tried.append(change)
                learned |= change
            except ServerFault:
                if form.reply_format == "none" or chat.reply_type in self._answered:
                    raise
                learned |= {"reply_format": "none"}
            else:
                self.endpoint.learn(self.name_there, learned)
                self._answered.add(chat.reply_type)
                return completion

    async def _within_budget(self, chat: _Chat[R], form: RequestForm) -> Completion:
        turns = self._turns(chat, form)
        ledger = self.ledger_of(chat.scope.execution_id)
        size = _PromptSize(turns, schema_tokens(chat.reply_type))
        chat.max_tokens = self._output_limit(chat, form, size)
        estimate = round(size.tokens * _ESTIMATE_MARGIN) if ledger.counts_tokens else 0
        reservation = ledger.reserve(input_tokens=estimate, output_tokens=chat.max_tokens, price=self.price)
        start = time.monotonic()
        try:
            completion = await self.endpoint.complete(self.name_there, self._request(chat, form, turns))
            usage = self._usage(chat, turns, completion, milliseconds=round((time.monotonic() - start) * 1000))
            ledger.settle(reservation, usage)
        finally:
            ledger.release(reservation)
        chat.usages.append(usage)
        self._check_whole_prompt_read(size, completion)
        # Of a prompt that leaves room enough nobody needs to know.
        if completion.input_tokens and size.most * 2 > self.context_of(chat.scope.execution_id):
            ratio = max(_LEAST_RATIO, completion.input_tokens / size.tokens) * _RATIO_MARGIN
            self._counted = max(self._counted or 0.0, ratio)
        return completion

    def _turns(self, chat: _Chat[R], form: RequestForm) -> list[Turn]:
        """The messages to send, with the schema in them if the request does not bind the model to it."""
        system, user, *others = chat.turns
        instructions = system.text
        if form.shows_shape or chat.shape_shown:
            shape = self._render(chat, ShapePrompt(shape=schema_text(chat.reply_type)))
            if chat.shape_last:
                user = Turn("user", f"{user.text}\n\n{shape}")
            else:
                instructions += f"\n\n{shape}"
        if form.system_role:
            return [Turn("system", instructions), user, *others]
        return [Turn("user", f"{instructions}\n\n{user.text}"), *others]

    def _output_limit(self, chat: _Chat[R], form: RequestForm, size: "_PromptSize") -> int:
        """The output limit: the role's, but at most a share of the context and what the prompt leaves of it.

        vLLM and others refuse a call if its prompt and output limit together exceed the context.
        """
        context, role = self.context_of(chat.scope.execution_id), chat.scope.role
        limit = self.config.max_output_tokens.get(role, DEFAULT_OUTPUT_TOKENS)
        limit = min(limit, max(SURE_OUTPUT_TOKENS, context // _SHARE_OF_REPLY)) * chat.factor
        limit = min(limit, form.most_output or limit)
        margin = min(CONTEXT_MARGIN, self._counted or CONTEXT_MARGIN)
        if context - round(size.most * margin) >= limit + _LEAST_OUTPUT_TOKENS:
            return limit
        remainder = context - round(size.tokens * margin)
        return min(limit, max(remainder // _LEAST_OUTPUT_TOKENS, 1) * _LEAST_OUTPUT_TOKENS)

    def _request(self, chat: _Chat[R], form: RequestForm, turns: list[Turn]) -> Request:
        fixed = form.temperature and not chat.scope.sampled
        return Request(
            turns,
            chat.max_tokens,
            json_schema(chat.reply_type),
            logprobs=chat.distribution_over is not None and form.logprobs,
            temperature=self.config.temperature.get(chat.scope.role) if fixed else None,
            form=form,
            config=_trace_config(chat.scope, chat.prompt),
        )

    def _check_whole_prompt_read(self, size: "_PromptSize", completion: Completion) -> None:
        """Check that the endpoint counts about as many tokens as were sent.

        Raises:
            ModelError: it counts so few that it must have truncated the prompt, as Ollama does silently.
        """
        counted = completion.input_tokens
        if counted is None or counted < _LEAST_CUT_TOKENS:
            return
        characters = sum(len(turn.text) for turn in size.turns)
        if counted >= max(characters / 8, size.most / 4):
            return
        sent = size.tokens - size.schema
        if counted < max(min(sent, characters / 4) / 2, sent / 4):
            raise ModelError(
                f"model {self.name!r} at {self.endpoint.address} read {counted:,} of about {sent:,} tokens: its context"
                f" cuts the prompt off; {CONTEXT_REMEDY}"
            )

    def _usage(self, chat: _Chat[R], turns: list[Turn], completion: Completion, *, milliseconds: int) -> CallUsage:
        input_tokens, output_tokens = completion.input_tokens, completion.output_tokens
        if input_tokens is None or output_tokens is None:
            input_tokens = sum(estimate_tokens(turn.text) for turn in turns)
            output_tokens = estimate_tokens(completion.text)
        cached = min(completion.cached_tokens, input_tokens)
        return CallUsage(
            call_key=chat.scope.call_key(chat.prompt),
            role=chat.scope.role,
            model=self.name,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_tokens=cached,
            cost_usd=cost_usd(self.price, input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=cached),
            milliseconds=milliseconds,
        )

    def _render(self, chat: _Chat[R], values: PromptValues) -> str:
        scope = chat.scope
        return self.prompts.show(values, language=scope.language, mark=mark_of(scope.execution_id))


def _trace_config(scope: Scope, prompt: str) -> "RunnableConfig":
    """A call's name, tags and metadata in traces, for LangSmith and other callbacks."""
    place = f"{scope.team_id} round {scope.round_number}" if scope.team_id else "run"
    facts = {"execution_id": scope.execution_id, "team_id": scope.team_id, "round_number": scope.round_number}
    return {
        "run_name": " ".join(filter(None, [f"{place}: {scope.role}", prompt, scope.step])),
        # Replies are JSON: chat interfaces must not stream them.
        "tags": ["nostream", f"role:{scope.role}", *([f"team:{scope.team_id}"] if scope.team_id else [])],
        "metadata": {**facts, "role": scope.role, "prompt": prompt, "step": scope.step},
    }


@dataclass
class _PromptSize:
    """How long a prompt is. Its tokens are estimated only where they decide anything, because that takes time.

    `schema`: the tokens of the reply's shape.
    """

    turns: Sequence[Turn]
    schema: int

    @cached_property
    def most(self) -> int:
        """The estimate is not higher."""
        return self.schema + sum(token_bounds(turn.text)[1] for turn in self.turns)

    @cached_property
    def tokens(self) -> int:
        """Estimated input tokens, with the schema."""
        return self.schema + sum(estimate_tokens(turn.text) for turn in self.turns)


def _has_tokens(text: str, count: int) -> bool:
    """Whether the estimate is at least so high."""
    least, most = token_bounds(text)
    return least >= count or (most >= count and estimate_tokens(text) >= count)


@lru_cache(maxsize=256)
def json_schema(reply_type: type[Reply]) -> dict[str, Any]:
    """The schema for `response_format`; cached, so callers must not change it."""
    return {"name": reply_type.__name__, "strict": True, "schema": _shape(reply_type.model_json_schema())}


@lru_cache(maxsize=256)
def schema_text(reply_type: type[Reply]) -> str:
    """The reply's JSON schema as text, with its name."""
    shape = {**_shape(reply_type.model_json_schema()), "title": reply_type.__name__}
    return json.dumps(shape, ensure_ascii=False, separators=(",", ":"))


_DESCRIBING = frozenset({"title", "description", "discriminator"})
_PARTS_BY_NAME = frozenset({"properties", "$defs"})
"""Parts of a schema whose keys are field or type names."""
_STRICT_NAMES = {"oneOf": "anyOf"}
"""Strict schemas have no `oneOf`, which pydantic writes for discriminated unions."""


def _shape(part: Any) -> Any:  # noqa: ANN401 - JSON
    """A JSON schema without descriptions: prompts describe the fields."""
    if isinstance(part, list):
        return [_shape(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        _STRICT_NAMES.get(key, key): {name: _shape(each) for name, each in value.items()}
        if key in _PARTS_BY_NAME
        else _shape(value)
        for key, value in part.items()
        if key not in _DESCRIBING
    }


@lru_cache(maxsize=256)
def schema_tokens(reply_type: type[Reply]) -> int:
    """Estimated tokens of the schema."""
    return estimate_tokens(schema_text(reply_type))
