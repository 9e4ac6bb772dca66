"""Language models: a prompt in, a checked reply out, within the budget."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import add
from typing import Any, Generic

from pydantic import ValidationError

from contend.errors import ReplyError
from contend.llm import DEFAULT_CONTEXT_TOKENS, Answer, R, Scope
from contend.llm.budget import Ledger, cost_usd
from contend.llm.endpoint import Completion, Endpoint, FormatRefused, OptionRefused, Request, Turn, distribution_of
from contend.llm.naming import name_call
from contend.models.options import Role
from contend.models.replies import Reply
from contend.models.task import CallUsage
from contend.prompts import PromptLibrary, PromptValues, mark_of, without_delimiters
from contend.prompts.judging import RepairPrompt, ShapePrompt
from contend.settings.files import ModelPrice
from contend.text import clean, estimate_tokens, shorten

DEFAULT_OUTPUT_TOKENS = 2048
_SURE_OUTPUT_TOKENS = 6_000
"""Of a reply, where the model reads little or refuses to write more: about a report of standard length."""
_SHARE_OF_REPLY = 4
"""So many times the tokens of its reply a model reads, at least: half is for passages, the rest for all else."""
_ESTIMATE_MARGIN = 1.25
"""Token estimates are right within 25 %."""
_CONTEXT_MARGIN = 1.1
"""By so much a prompt may be longer than estimated and leave the reply its room in the model's context."""
_LEAST_OUTPUT_TOKENS = 256
"""What a prompt leaves of the context counts in multiples of it: LangChain's clients are kept by their limits."""
_THINKING_FACTOR = 4
"""A reply cut off before its first word went into thinking: the second try gets this many times the room."""
_SHOWN_BACK = 4000
"""Characters of an unusable reply that the model sees again."""
JSON_FORMAT: dict[str, Any] = {"type": "json_object"}
"""`response_format` of endpoints that know no schemas: the shape is in the prompt instead."""
MAX_REPLY_CHARACTERS = 2_000_000
_CODE_BLOCK = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_MOST_FAULTS = 3


_NO_COMPLETION = Completion("", cut_off=False, refusal="", input_tokens=None, output_tokens=None)


class UnreadableReply(ValueError):  # noqa: N818 - named by what it is
    """The text is not a reply of the agreed shape; the message says why, short enough to show to the model."""


@dataclass
class _Chat(Generic[R]):
    """One structured call: what is said, and what it has cost.

    `factor`: how many times its usual room the next reply gets; `max_tokens`: the most that the last one could have.
    """

    prompt: str
    reply_type: type[R]
    scope: Scope
    turns: list[Turn]
    distribution_over: str | None = None
    factor: int = 1
    max_tokens: int = 0
    completion: Completion = _NO_COMPLETION
    usages: list[CallUsage] = field(default_factory=list)


@dataclass(eq=False)
class ChatModel:
    """A model behind an endpoint; implements `Model`.

    A call's usage counts in the ledger of its execution also when no usable reply came of it.
    """

    name: str
    endpoint: Endpoint
    prompts: PromptLibrary
    ledger_of: Callable[[str], Ledger]
    """An execution's ledger by its id."""
    max_output_tokens: Mapping[Role, int] = field(default_factory=dict, kw_only=True)
    """2,048 for the roles left out."""
    context_of: Callable[[str], int] = field(default=lambda _: DEFAULT_CONTEXT_TOKENS, kw_only=True)
    """The tokens that the model can read in an execution, by its id."""
    temperatures: Mapping[Role, float] = field(default_factory=dict, kw_only=True)
    """From 0.0 for the likeliest reply on; the endpoint's own for roles left out and for models that take none."""
    price: ModelPrice | None = field(default=None, kw_only=True)
    """Without one the cost is None."""
    name_there: str = field(default="", kw_only=True)
    """What the endpoint calls the model, where that is not its whole name."""

    def __post_init__(self) -> None:
        self.name_there = self.name_there or self.name

    async def ask(
        self,
        prompt: PromptValues,
        reply_type: type[R],
        *,
        scope: Scope,
        distribution_over: str | None = None,
        faults: Callable[[R], str] | None = None,
    ) -> Answer[R]:
        """Ask, and once more with the fault shown where the reply can't be used; see `Model.ask`."""
        messages = self.prompts.call(prompt, language=scope.language, mark=mark_of(scope.execution_id))
        turns = [Turn("system", messages.system), Turn("user", messages.user)]
        chat = _Chat(prompt.prompt_name, reply_type, scope, turns, distribution_over)
        name_call(scope, prompt.prompt_name)
        try:
            value = await self._ask(chat)
        except UnreadableReply as fault:
            value = await self._ask_again(chat, fault)
        else:
            if faults and (problem := faults(value)):
                self._show_fault(chat, problem)
                # The first reply stands where nothing better comes.
                with suppress(UnreadableReply):
                    value = await self._ask(chat)
        distribution = distribution_of(chat.completion.tokens, distribution_over) if distribution_over else None
        return Answer(value, reduce(add, chat.usages), distribution)

    async def _ask(self, chat: _Chat[R]) -> R:
        chat.completion = completion = await self._complete(chat)
        if completion.refusal:
            reason = shorten(completion.refusal, 200)
            raise ReplyError(f"model {self.name!r} refused to answer {chat.prompt}: {reason}; choose another model")
        return read_reply(without_delimiters(completion.text, mark_of(chat.scope.execution_id)), chat.reply_type)

    async def _ask_again(self, chat: _Chat[R], fault: UnreadableReply) -> R:
        self._show_fault(chat, str(fault))
        try:
            return await self._ask(chat)
        except UnreadableReply as again:
            cut = f"cut off after {chat.max_tokens} tokens; raise max_output_tokens"
            problem = cut if chat.completion.cut_off else f"{again}; try another"
            raise ReplyError(
                f"model {self.name!r} gave no usable reply to {chat.prompt}, also after one repair: {problem}"
            ) from again

    def _show_fault(self, chat: _Chat[R], problem: str) -> None:
        """Add the reply and what is wrong with it to the chat."""
        reply, cut_off = chat.completion.text, chat.completion.cut_off
        if cut_off and not reply.strip():
            chat.factor = _THINKING_FACTOR
            return
        repair = self._render(chat, RepairPrompt(problem=problem, cut_off=cut_off, limit=chat.max_tokens))
        chat.turns += [Turn("assistant", shorten(clean(reply), _SHOWN_BACK) or "…"), Turn("user", repair)]

    async def _complete(self, chat: _Chat[R]) -> Completion:
        """Bind the model to the shape; where the endpoint can't, show it the shape, from then on."""
        if self.name_there not in self.endpoint.without_schemas:
            try:
                return await self._within_budget(chat, chat.turns, strict_format(chat.reply_type))
            except FormatRefused:
                self.endpoint.without_schemas.add(self.name_there)
        system, *rest = chat.turns
        shape = self._render(chat, ShapePrompt(shape=schema_text(chat.reply_type)))
        return await self._within_budget(chat, [Turn("system", f"{system.text}\n\n{shape}"), *rest], JSON_FORMAT)

    async def _within_budget(self, chat: _Chat[R], turns: list[Turn], response_format: Mapping[str, Any]) -> Completion:
        ledger = self.ledger_of(chat.scope.execution_id)
        estimate = round(_prompt_tokens(chat, turns) * _ESTIMATE_MARGIN) if ledger.counts_tokens else 0
        chat.max_tokens = self._output_limit(chat, turns)
        reservation = ledger.reserve(input_tokens=estimate, output_tokens=chat.max_tokens, price=self.price)
        start = time.monotonic()
        try:
            completion = await self._request(chat, turns, response_format)
            usage = self._usage(chat, turns, completion, milliseconds=round((time.monotonic() - start) * 1000))
            ledger.settle(reservation, usage)
        finally:
            ledger.release(reservation)
        chat.usages.append(usage)
        return completion

    def _output_limit(self, chat: _Chat[R], turns: Sequence[Turn]) -> int:
        """The most tokens of a reply: its role's, a share of the context at most, and no more than its prompt leaves.

        vLLM and others refuse a call whose prompt and longest reply together exceed the context.
        """
        context, role = self.context_of(chat.scope.execution_id), chat.scope.role
        limit = self.max_output_tokens.get(role, DEFAULT_OUTPUT_TOKENS)
        limit = min(limit, max(_SURE_OUTPUT_TOKENS, context // _SHARE_OF_REPLY)) * chat.factor
        if (self.name_there, "max_tokens") in self.endpoint.refused_options:
            limit = min(limit, _SURE_OUTPUT_TOKENS)
        remainder = context - round(_prompt_tokens(chat, turns) * _CONTEXT_MARGIN)
        return min(limit, max(remainder // _LEAST_OUTPUT_TOKENS, 1) * _LEAST_OUTPUT_TOKENS)

    async def _request(self, chat: _Chat[R], turns: list[Turn], response_format: Mapping[str, Any]) -> Completion:
        """One completion, with the options that are wanted and that the model doesn't refuse."""
        name, refusals = self.name_there, self.endpoint.refused_options
        temperature = None if chat.scope.sampled else self.temperatures.get(chat.scope.role)
        request = Request(
            turns,
            chat.max_tokens,
            response_format,
            logprobs=chat.distribution_over is not None and (name, "logprobs") not in refusals,
            temperature=None if (name, "temperature") in refusals else temperature,
        )
        try:
            return await self.endpoint.complete(name, request)
        except OptionRefused as refusal:
            options = {
                "logprobs": request.logprobs,
                "temperature": request.temperature is not None,
                "max_tokens": chat.max_tokens > _SURE_OUTPUT_TOKENS,
            }
            if not options[refusal.option]:
                raise
            refusals.add((name, refusal.option))
            chat.max_tokens = self._output_limit(chat, turns)
            return await self._request(chat, turns, response_format)

    def _usage(self, chat: _Chat[R], turns: list[Turn], completion: Completion, *, milliseconds: int) -> CallUsage:
        input_tokens, output_tokens = completion.input_tokens, completion.output_tokens
        if input_tokens is None or output_tokens is None:
            input_tokens = sum(estimate_tokens(turn.text) for turn in turns)
            output_tokens = estimate_tokens(completion.text)
        return CallUsage(
            call_key=chat.scope.call_key(chat.prompt),
            role=chat.scope.role,
            model=self.name,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cost_usd=cost_usd(self.price, input_tokens=input_tokens, output_tokens=output_tokens),
            milliseconds=milliseconds,
        )

    def _render(self, chat: _Chat[R], values: PromptValues) -> str:
        scope = chat.scope
        return self.prompts.show(values, language=scope.language, mark=mark_of(scope.execution_id))


def _prompt_tokens(chat: _Chat[R], turns: Sequence[Turn]) -> int:
    """About how many tokens an endpoint counts, the shape included."""
    return schema_tokens(chat.reply_type) + sum(estimate_tokens(turn.text) for turn in turns)


def read_reply(text: str, reply_type: type[R]) -> R:
    """The reply, from plain or fenced JSON; characters that no text should hold are dropped.

    Raises:
        UnreadableReply: blank, over 2,000,000 characters, not JSON, or of another shape.
    """
    if len(text) > MAX_REPLY_CHARACTERS:
        raise UnreadableReply(f"the reply has {len(text):,} characters; at most {MAX_REPLY_CHARACTERS:,} are read")
    bare = _bare(clean(text))
    if not bare:
        raise UnreadableReply("the reply is empty")
    try:
        return reply_type.model_validate_json(_clean_json(bare) if "\\u" in bare else bare)
    except ValidationError as error:
        raise UnreadableReply(_explain(error)) from error


def _bare(text: str) -> str:
    """The JSON without what small models put around it: their thinking, a code fence."""
    reply = text.strip()
    if reply.startswith("{"):
        return reply
    reply = _without_thinking(reply).strip()
    fence = None if reply.startswith("{") else _CODE_BLOCK.search(reply)
    return fence[1].strip() if fence else reply


def _without_thinking(reply: str) -> str:
    """A text without what stands between `<think>` and the next `</think>`; a thought that has no end stays."""
    *thoughts, rest = reply.split("</think>")
    return "".join(map(_text_before_think, thoughts)) + rest


def _text_before_think(part: str) -> str:
    before, tag, _ = part.partition("<think>")
    return before if tag else f"{part}</think>"


def _clean_json(text: str) -> str:
    """The JSON with its strings cleaned: lone surrogates and NUL hide in escapes. As it is where it isn't JSON."""
    try:
        return json.dumps(_clean_strings(json.loads(text)), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _clean_strings(value: object) -> object:
    match value:
        case str():
            return clean(value)
        case list():
            return [_clean_strings(item) for item in value]
        case dict():
            return {clean(key): _clean_strings(item) for key, item in value.items()}
        case _:
            return value


def _explain(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, fault['loc'])) or 'reply'}: {fault['msg']}" for fault in faults[:_MOST_FAULTS]]
    rest = len(faults) - _MOST_FAULTS
    return shorten("; ".join([*lines, *([f"and {rest} more"] if rest > 0 else [])]), 600)


@lru_cache(maxsize=256)
def strict_format(reply_type: type[Reply]) -> dict[str, Any]:
    """`response_format` that binds a model to the shape, made once; not to be changed by who gets it."""
    shape = {"name": reply_type.__name__, "strict": True, "schema": _shape(reply_type.model_json_schema())}
    return {"type": "json_schema", "json_schema": shape}


@lru_cache(maxsize=256)
def schema_text(reply_type: type[Reply]) -> str:
    """The shape's JSON schema as text."""
    return json.dumps(_shape(reply_type.model_json_schema()), ensure_ascii=False, separators=(",", ":"))


_DESCRIBING = frozenset({"title", "description", "discriminator"})
_PARTS_BY_NAME = frozenset({"properties", "$defs"})
"""The parts of a schema whose keys are names of the reply's own."""
_STRICT_NAMES = {"oneOf": "anyOf"}
"""Strict schemas know no `oneOf`, and pydantic writes it for kinds that are told apart by a constant."""


def _shape(part: Any) -> Any:  # noqa: ANN401 - JSON
    """A JSON schema with all that binds a reply, and nothing that only describes it: prompts do that."""
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
    """About how many tokens an endpoint counts for the shape."""
    return estimate_tokens(schema_text(reply_type))
