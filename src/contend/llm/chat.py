"""Language models: a prompt by name in, a checked reply out, within the budget."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, Generic

from contend.errors import ReplyError
from contend.llm.budget import Ledger, cost_usd
from contend.llm.endpoint import Completion, Endpoint, FormatRefused, OptionRefused, Turn
from contend.llm.model import Answer, R, Scope
from contend.llm.reply_text import (
    JSON_FORMAT,
    UnreadableReply,
    read_reply,
    schema_text,
    schema_tokens,
    strict_format,
)
from contend.llm.spread import spread_of
from contend.models.options import Role
from contend.models.task import CallUsage
from contend.prompts import PromptLibrary, Untrusted, mark_of, without_delimiters
from contend.settings import ModelPrice
from contend.text import clean, estimate_tokens, shorten

DEFAULT_OUTPUT_TOKENS = 2048
_ESTIMATE_MARGIN = 1.25
"""Token estimates are right within 25 %."""
_THINKING_ROOM = 4
"""A reply cut off before its first word went into thinking: the second try gets this many times the room."""
_SHOWN_BACK = 4000
"""Characters of an unusable reply that the model sees again."""


@dataclass
class _Talk(Generic[R]):
    """One structured call: what is said, and what it has cost. `room` is the most output tokens of a reply."""

    prompt: str
    reply_type: type[R]
    scope: Scope
    turns: list[Turn]
    room: int
    spread_over: str | None = None
    heard: Completion | None = None
    spent: list[CallUsage] = field(default_factory=list)


class ChatModel:
    """A model behind an OpenAI-compatible endpoint; implements `Model`.

    `ledger_of` gives an execution's ledger by its id. `max_output_tokens` per role, 2,048 for those left out;
    `temperatures` per role, from 0.0 for the likeliest reply on, the endpoint's own for those left out and for models
    that take none. Without a price the cost is None. A call's usage counts in the ledger of its execution also when no
    usable reply came of it.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        prompts: PromptLibrary,
        ledger_of: Callable[[str], Ledger],
        *,
        max_output_tokens: Mapping[Role, int] | None = None,
        temperatures: Mapping[Role, float] | None = None,
        price: ModelPrice | None = None,
    ) -> None:
        self.name = name
        self._endpoint = endpoint
        self._prompts = prompts
        self._ledger_of = ledger_of
        self._rooms = dict(max_output_tokens or {})
        self._temperatures = dict(temperatures or {})
        self._price = price

    async def structured(
        self,
        prompt: str,
        reply_type: type[R],
        values: Mapping[str, object],
        *,
        scope: Scope,
        spread_over: str | None = None,
        faults: Callable[[R], str] | None = None,
    ) -> Answer[R]:
        """Ask, and once more with the fault shown where the reply can't be used; see `Model.structured`."""
        rendered = self._prompts.call(prompt, values, language=scope.language, mark=mark_of(scope.execution_id))
        turns = [Turn("system", rendered.system), Turn("user", rendered.user)]
        room = self._rooms.get(scope.role, DEFAULT_OUTPUT_TOKENS)
        talk = _Talk(prompt, reply_type, scope, turns, room, spread_over)
        try:
            value = await self._ask(talk)
        except UnreadableReply as fault:
            value = await self._ask_again(talk, fault)
        else:
            value = await self._mended(talk, value, faults(value) if faults else "")
        spread = spread_of(talk.heard.tokens, spread_over) if talk.heard and spread_over else None
        return Answer(value, reduce(add, talk.spent), spread)

    async def _mended(self, talk: _Talk[R], value: R, faults: str) -> R:
        """The reply once the model was told what is wrong with it; as it is where nothing better came."""
        if not faults:
            return value
        self._show(talk, UnreadableReply(faults))
        try:
            return await self._ask(talk)
        except UnreadableReply:
            return value

    async def _ask(self, talk: _Talk[R]) -> R:
        talk.heard = heard = await self._complete(talk)
        if heard.refusal:
            reason = shorten(heard.refusal, 200)
            raise ReplyError(f"model {self.name!r} refused to answer {talk.prompt}: {reason}; choose another model")
        return read_reply(without_delimiters(heard.text, mark_of(talk.scope.execution_id)), talk.reply_type)

    async def _ask_again(self, talk: _Talk[R], fault: UnreadableReply) -> R:
        self._show(talk, fault)
        try:
            return await self._ask(talk)
        except UnreadableReply as again:
            cut = talk.heard is not None and talk.heard.cut_off
            problem = f"cut off after {talk.room} tokens; raise max_output_tokens" if cut else f"{again}; try another"
            raise ReplyError(
                f"model {self.name!r} gave no usable reply to {talk.prompt}, also after one repair: {problem}"
            ) from again

    def _show(self, talk: _Talk[R], fault: UnreadableReply) -> None:
        """Add the unusable reply and what is wrong with it to the talk."""
        said = talk.heard.text if talk.heard else ""
        cut_off = talk.heard is not None and talk.heard.cut_off
        if cut_off and not said.strip():
            talk.room *= _THINKING_ROOM
            return
        problem = Untrusted(str(fault), label="problem")
        shown = self._render(talk, "reply/repair", {"problem": problem, "cut_off": cut_off, "limit": talk.room})
        talk.turns += [Turn("assistant", shorten(clean(said), _SHOWN_BACK) or "…"), Turn("user", shown)]

    async def _complete(self, talk: _Talk[R]) -> Completion:
        """Bind the model to the shape; where the endpoint can't, show it the shape, from then on."""
        if self.name not in self._endpoint.without_schemas:
            try:
                return await self._pay(talk, talk.turns, strict_format(talk.reply_type))
            except FormatRefused:
                self._endpoint.without_schemas.add(self.name)
        system, *rest = talk.turns
        shape = self._render(talk, "reply/shape", {"schema": schema_text(talk.reply_type)})
        return await self._pay(talk, [Turn("system", f"{system.text}\n\n{shape}"), *rest], JSON_FORMAT)

    async def _pay(self, talk: _Talk[R], turns: list[Turn], response_format: Mapping[str, Any]) -> Completion:
        ledger = self._ledger_of(talk.scope.execution_id)
        estimate = _estimated(talk, turns) if ledger.counts_tokens else 0
        held = ledger.reserve(input_tokens=estimate, output_tokens=talk.room, price=self._price)
        started = time.monotonic()
        try:
            heard = await self._hear(talk, turns, response_format)
            usage = self._usage(talk, turns, heard, milliseconds=round((time.monotonic() - started) * 1000))
            ledger.settle(held, usage)
        finally:
            ledger.release(held)
        talk.spent.append(usage)
        return heard

    async def _hear(self, talk: _Talk[R], turns: list[Turn], response_format: Mapping[str, Any]) -> Completion:
        """One completion, with the options that are wanted and that the model doesn't refuse."""
        refused = self._endpoint.refused_options
        options = {name: value for name, value in self._wanted(talk).items() if (self.name, name) not in refused}
        try:
            return await self._endpoint.complete(
                self.name, turns, max_output_tokens=talk.room, response_format=response_format, **options
            )
        except OptionRefused as refusal:
            if refusal.option not in options:
                raise
            refused.add((self.name, refusal.option))
            return await self._hear(talk, turns, response_format)

    def _wanted(self, talk: _Talk[R]) -> dict[str, Any]:
        """The options of `Endpoint.complete` that a model may refuse."""
        temperature = None if talk.scope.sampled else self._temperatures.get(talk.scope.role)
        wanted = {"logprobs": True if talk.spread_over else None, "temperature": temperature}
        return {name: value for name, value in wanted.items() if value is not None}

    def _usage(self, talk: _Talk[R], turns: list[Turn], heard: Completion, *, milliseconds: int) -> CallUsage:
        taken, given = heard.input_tokens, heard.output_tokens
        if taken is None or given is None:
            taken = sum(estimate_tokens(turn.text) for turn in turns)
            given = estimate_tokens(heard.text)
        return CallUsage(
            call_key=talk.scope.call_key(talk.prompt),
            role=talk.scope.role,
            model=self.name,
            input_tokens=taken,
            output_tokens=given,
            cost_usd=cost_usd(self._price, input_tokens=taken, output_tokens=given),
            milliseconds=milliseconds,
        )

    def _render(self, talk: _Talk[R], name: str, values: Mapping[str, object]) -> str:
        scope = talk.scope
        return self._prompts.render(name, values, language=scope.language, mark=mark_of(scope.execution_id))


def _estimated(talk: _Talk[R], turns: list[Turn]) -> int:
    """The most input tokens that the call may count, the shape included."""
    tokens = schema_tokens(talk.reply_type) + sum(estimate_tokens(turn.text) for turn in turns)
    return round(tokens * _ESTIMATE_MARGIN)
