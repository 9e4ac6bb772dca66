"""What the model calls of a graph cost that runs in this process, as LangChain tells it: each within the budget."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from contend.errors import ContendError, GraphError
from contend.llm.budget import Ledger, Reservation, cost_usd
from contend.llm.chat import DEFAULT_OUTPUT_TOKENS
from contend.models.task import CallUsage
from contend.settings import ModelPrice
from contend.text import estimate_tokens

T = TypeVar("T")
ROLE = "graph"
_UNNAMED = "unknown"
_MOST_SECONDS = 60.0


class _Open(NamedTuple):
    held: Reservation
    model: str
    input_tokens: int
    began: float


class ModelMeter(BaseCallbackHandler):
    """Reserves before each call and settles after it, on the loop of the run that the ledger belongs to.

    A call that a budget refuses is not made: `refused` says why, and the graph hears it as an error. `key` begins the
    keys of its calls.
    """

    raise_error = True
    run_inline = True

    def __init__(self, ledger: Ledger, prices: Mapping[str, ModelPrice], *, key: str) -> None:
        """To be made on the run's own loop."""
        self.refused: ContendError | None = None
        self.calls: list[CallUsage] = []
        self._ledger = ledger
        self._prices = prices
        self._key = key
        self._here = asyncio.get_running_loop()
        self._open: dict[UUID, _Open] = {}
        self._closed = False

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **how: Any,  # noqa: ANN401, ARG002 - LangChain's
    ) -> None:
        input_tokens = sum(estimate_tokens(str(message.text)) for batch in messages for message in batch)
        self._begin(run_id, _name(serialized, metadata), input_tokens)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **how: Any,  # noqa: ANN401, ARG002 - LangChain's
    ) -> None:
        self._begin(run_id, _name(serialized, metadata), sum(map(estimate_tokens, prompts)))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **how: Any) -> None:  # noqa: ANN401, ARG002 - LangChain's
        begun = self._open.pop(run_id, None)
        if begun is not None:
            self._on_run(lambda: self._settle(begun, self._usage(begun, response, run_id)))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **how: Any) -> None:  # noqa: ANN401, ARG002 - LangChain's
        begun = self._open.pop(run_id, None)
        if begun is not None:
            self._on_run(lambda: self._ledger.release(begun.held))

    def close(self) -> None:
        """Let go of what calls hold that were cut off, and refuse those of a thread that nobody can stop."""
        self._closed = True
        for begun in [*self._open.values()]:
            self._ledger.release(begun.held)

    def _begin(self, run_id: UUID, model: str, input_tokens: int) -> None:
        if self._closed:
            raise GraphError("the round is over: no further model call is made")
        price = self._prices.get(model)
        try:
            reservation = self._on_run(
                lambda: self._ledger.reserve(
                    input_tokens=input_tokens, output_tokens=DEFAULT_OUTPUT_TOKENS, price=price
                )
            )
        except ContendError as error:
            self.refused = error
            raise
        self._open[run_id] = _Open(reservation, model, input_tokens, time.monotonic())

    def _settle(self, begun: _Open, usage: CallUsage) -> None:
        self._ledger.settle(begun.held, usage)
        self.calls.append(usage)

    def _usage(self, begun: _Open, response: LLMResult, run_id: UUID) -> CallUsage:
        generations = [generation for batch in response.generations for generation in batch]
        usages = [
            generation.message.usage_metadata
            for generation in generations
            if isinstance(generation, ChatGeneration)
            and isinstance(generation.message, AIMessage)
            and generation.message.usage_metadata
        ]
        input_tokens = sum(each["input_tokens"] for each in usages) if usages else begun.input_tokens
        output_tokens = sum(
            [each["output_tokens"] for each in usages] or [estimate_tokens(each.text) for each in generations]
        )
        return CallUsage(
            call_key=f"{self._key}/{run_id}",
            role=ROLE,
            model=begun.model,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cost_usd=cost_usd(self._prices.get(begun.model), input_tokens=input_tokens, output_tokens=output_tokens),
            milliseconds=round((time.monotonic() - begun.began) * 1000),
        )

    def _on_run(self, work: Callable[[], T]) -> T:
        """Done on the run's loop: its ledger knows no threads."""

        async def done_there() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(done_there(), self._here).result(_MOST_SECONDS)


def _name(serialized: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None) -> str:
    name = (metadata or {}).get("ls_model_name") or (serialized or {}).get("name")
    return str(name or _UNNAMED)
