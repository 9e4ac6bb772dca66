"""contend's graphs by name, as code calls them: each by itself on a thread, or as a part of another graph."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Literal, Self, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Graph
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot, StateUpdate

from contend import event_loop, run_guard
from contend.approval import answers_by_question, decision_or_answers, open_questions
from contend.contest.graph import build_contest_graph
from contend.contest.state import input_options
from contend.errors import InputError, StoreError, UnknownThread
from contend.extensions import Extensions, Metrics, SourceFunction, Teams
from contend.langgraph_compat import as_subclass, is_part, whole_config, with_parents_saver, without_handlers
from contend.learning.graph import build_learn_graph
from contend.models.options import run_options
from contend.models.record import Record
from contend.preflight import ENOUGH_STEPS
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.settings import load_settings
from contend.settings.files import validate
from contend.stores import Lease, checked_thread, lease
from contend.stores.checkpoints import keep_latest_run, open_checkpointer
from contend.stores.threaded_saver import ThreadedSaver
from contend.team.graph import build_team_graph

GraphName = Literal["contend", "team", "research", "learn"]
Build = Callable[[Services], StateGraph[Any, Any, Any, Any]]
BUILDERS: Mapping[GraphName, Build] = {
    "contend": build_contest_graph,
    "team": build_team_graph,
    "research": build_research_graph,
    "learn": lambda services: build_learn_graph(services.learn_nodes),
}
_LOG = logging.getLogger(__name__)
_IDS_OF_SERVER = {"assistant_id", "cron_id", "graph_id", "run_id", "thread_id", "user_id"}


class ContendGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph that supports every way of calling a LangGraph graph, including synchronous calls.

    On a thread it uses the workspace's checkpointer, unless it was compiled with another one, and holds the thread's
    lease while it runs. As a part of another graph it has its parent's checkpointer, and takes no lease.
    """

    def __init__(self, *, services: Services, **parts: Any) -> None:  # noqa: ANN401 - LangGraph's
        super().__init__(**parts)
        self.services = services

    async def astream(
        self,
        input: Any,  # noqa: A002, ANN401 - LangGraph's
        config: RunnableConfig | None = None,
        *,
        context: Any = None,  # noqa: ANN401 - LangGraph's
        **how: Any,  # noqa: ANN401 - LangGraph's
    ) -> AsyncGenerator[Any]:
        """Like `CompiledStateGraph.astream`; every other way of running the graph ends up here.

        Raises:
            InputError: an option or an answer is not usable, or `recursion_limit` is too low.
            UnknownThread: there is nothing to go on with.
            ThreadBusy: somebody works on the thread.
            RunChanged: config or prompts changed since the run began.
            CheckpointError: checkpoints can't be read, or are gone.
        """
        is_alone = not is_part(whole_config(self, config))
        stream_of = self._astream_alone if is_alone else super().astream
        parts = stream_of(input, config, context=context, **how)
        async with aclosing(cast("AsyncGenerator[Any]", parts)) as stream:
            async for part in stream:
                yield part

    async def _astream_alone(
        self,
        request: object,
        config: RunnableConfig | None,
        *,
        context: Mapping[str, Any] | Record | None,
        **how: Any,  # noqa: ANN401 - LangGraph's
    ) -> AsyncGenerator[Any]:
        whole = whole_config(self, config)
        options = self._options(context, whole)
        request = self._complete_input(request, options, whole)
        async with self._with_saver(whole) as graph, graph._leased(request, whole) as checked_input:  # noqa: SLF001 - a copy of its own
            if self._is_contest and not isinstance(checked_input, Mapping):
                await graph._check_depth(options, whole)  # noqa: SLF001 - a copy of its own
            if graph is not self:  # what a workspace keeps goes on after a kill at any moment
                how["durability"] = how.get("durability") or "sync"
            stream = CompiledStateGraph.astream(graph, checked_input, config, context=options, **how)
            async with aclosing(cast("AsyncGenerator[Any]", stream)):
                async for part in _naming_limit(self._as_shown(stream), whole):
                    yield part

    def astream_events(
        self,
        input: Any,  # noqa: A002, ANN401 - LangGraph's
        config: RunnableConfig | None = None,
        **how: Any,  # noqa: ANN401 - LangGraph's
    ) -> Any:  # noqa: ANN401 - LangGraph's
        """Like `CompiledStateGraph.astream_events`, but with enough steps by default instead of 25."""
        limit = whole_config(self, config)["recursion_limit"]
        return super().astream_events(input, {**(config or {}), "recursion_limit": limit}, **how)

    def _as_shown(self, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The stream as its reader gets it."""
        return stream

    def stream(
        self,
        input: Any,  # noqa: A002, ANN401 - LangGraph's
        config: RunnableConfig | None = None,
        **how: Any,  # noqa: ANN401 - LangGraph's
    ) -> Iterator[Any]:
        """As `astream`, on an event loop of its own; `invoke` leads here."""
        config = with_parents_saver(config, ThreadedSaver)
        return event_loop.iterate(self._on_own_loop()._astream_and_close(input, config, **how))  # noqa: SLF001 - a copy of its own

    async def _astream_and_close(self, *arguments: Any, **how: Any) -> AsyncGenerator[Any]:  # noqa: ANN401 - LangGraph's
        try:
            async with aclosing(self.astream(*arguments, **how)) as stream:
                async for part in stream:
                    yield part
        finally:
            await self.services.models.aclose()  # connections belong to this loop

    def _on_own_loop(self) -> Self:
        """A copy of the graph for another event loop, with a checkpointer that also works synchronously."""
        if not isinstance(self.checkpointer, BaseCheckpointSaver):
            return self
        return self.copy({"checkpointer": ThreadedSaver(self.checkpointer)})

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """Like `CompiledStateGraph.get_graph`, but without error handlers, which lead where their node leads."""
        return without_handlers(super().get_graph(config, xray=xray))

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """As `get_graph`."""
        return without_handlers(await super().aget_graph(config, xray=xray))

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """As LangGraph's."""
        async with self._with_saver(config) as graph:
            return await CompiledStateGraph.aget_state(graph, config, subgraphs=subgraphs)

    async def aget_state_history(self, config: RunnableConfig, **which: Any) -> AsyncGenerator[StateSnapshot]:  # noqa: ANN401 - LangGraph's
        """As LangGraph's."""
        async with self._with_saver(config) as graph:
            async for snapshot in CompiledStateGraph.aget_state_history(graph, config, **which):
                yield snapshot

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """As LangGraph's."""
        async with self._with_saver(config) as graph:
            return await CompiledStateGraph.abulk_update_state(graph, config, supersteps)

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """As `aget_state`."""
        return event_loop.run(self._on_own_loop().aget_state(config, subgraphs=subgraphs))

    def get_state_history(self, config: RunnableConfig, **which: Any) -> Iterator[StateSnapshot]:  # noqa: ANN401 - LangGraph's
        """As `aget_state_history`."""
        return event_loop.iterate(self._on_own_loop().aget_state_history(config, **which))

    def bulk_update_state(self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """As `abulk_update_state`."""
        return event_loop.run(self._on_own_loop().abulk_update_state(config, supersteps))

    @asynccontextmanager
    async def _with_saver(self, config: RunnableConfig) -> AsyncIterator[Self]:
        """The graph with the workspace's checkpointer, where it has none and a thread is named."""
        whole = whole_config(self, config)
        if self.checkpointer is not None or is_part(whole) or _thread_of(whole) is None:
            yield self
            return
        async with open_checkpointer(self.services.settings) as saver:
            yield self.copy({"checkpointer": saver})

    @asynccontextmanager
    async def _leased(self, request: object, config: RunnableConfig) -> AsyncIterator[object]:
        """Hold the thread's lease: check the input before the run and record the outcome after it.

        A run without checkpoints keeps nothing to go on with, and one without a thread is nobody else's.
        """
        thread_id = _thread_of(config)
        if thread_id is None:
            yield request
            return
        thread = checked_thread(str(thread_id))
        async with lease(self.services.settings, thread) as thread_lease:
            if not self.checkpointer:
                yield request
                return
            checked_input = await self._check_input(request, config)
            try:
                yield checked_input
            finally:
                await self._note(thread, thread_lease)
        for notice in thread_lease.notices:
            _LOG.warning(notice)

    def _options(self, context: Mapping[str, Any] | Record | None, config: RunnableConfig) -> Record | None:
        """The options from a run's context and from `configurable`, without the keys that servers add.

        Raises:
            InputError: one is unknown, not usable, or given twice.
        """
        if not isinstance(context, Record | Mapping | None):
            raise InputError(f"context: give contend.RunOptions or a mapping, not {type(context).__name__}")
        in_context = context.model_dump(exclude_unset=True) if isinstance(context, Record) else _own_keys(context or {})
        in_config = _own_keys(config.get("configurable", {}))
        if not in_config and isinstance(context, Record):
            return context
        if twice := [name for name in in_config if in_context.get(name, in_config[name]) != in_config[name]]:
            raise InputError(f"{', '.join(twice)}: the context and `configurable` say different things: give one")
        if not (own := {**in_config, **in_context}):
            return None
        where = "context" if in_context else "configurable"
        if self.context_schema is None:
            raise InputError(f"{where}: {', '.join(sorted(own))} may not be given: this graph takes no options")
        options: Record = validate(self.context_schema, own, where)
        return options

    @property
    def _is_contest(self) -> bool:
        return "run_options" in self.channels

    def _complete_input(self, request: Any, options: Record | None, config: RunnableConfig) -> Any:  # noqa: ANN401, ARG002 - any input; a server's run has an id there
        """A contest's input with its options: a resume has no context to find them in."""
        if isinstance(request, Mapping) and self._is_contest:
            return {**request, "run_options": input_options(run_options(options))}
        return request

    async def _check_input(self, request: object, config: RunnableConfig) -> object:
        """The input; answers with their questions' ids: LangGraph takes one without an id for one question only."""
        if not (request is None or isinstance(request, Command)):
            return request
        snapshot = await CompiledStateGraph.aget_state(self, config, subgraphs=True)
        thread_id = str(_thread_of(config))
        goes_on = not run_guard.is_finished(snapshot) if self._is_contest else bool(snapshot.tasks)
        if self._is_contest and goes_on:
            await run_guard.check_resumable(self.services, thread_id, snapshot)
        elif goes_on and snapshot.values.get("execution_id"):
            await run_guard.check_at_hand(self.services, thread_id, snapshot)
        elif not snapshot.created_at:
            raise UnknownThread(f"thread {thread_id!r} has no run to go on with")
        if isinstance(request, Command) and request.resume is not None:
            questions = open_questions(snapshot.interrupts)
            answers = decision_or_answers(questions, request.resume)
            request = replace(request, resume=answers_by_question(questions, *answers))
        if goes_on:
            resume = request.resume if isinstance(request, Command) else None
            await run_guard.note_going_on(self.services.record, snapshot, resume if isinstance(resume, dict) else None)
        return request

    async def _check_depth(self, options: Record | None, config: RunnableConfig) -> None:
        """A resume's context changes no run: one with another depth is refused."""
        thread_id, depth = _thread_of(config), run_options(options).depth
        if depth and thread_id and self.checkpointer:
            run_guard.check_depth(str(thread_id), await CompiledStateGraph.aget_state(self, config), depth)

    async def _note(self, thread_id: str, thread_lease: Lease) -> None:
        """Record that the run stopped, unless another process took it over, and release its memory."""
        if thread_lease.taken_by is not None:
            return
        with suppress(StoreError):  # where it can't be read, nobody works on the run any more
            snapshot = await CompiledStateGraph.aget_state(self, {"configurable": {"thread_id": thread_id}})
            self.services.close_run(snapshot.values.get("execution_id", ""))
            if run_guard.is_finished(snapshot) if self._is_contest else not snapshot.next:
                await keep_latest_run(self.checkpointer, thread_id)
            if questions := open_questions(snapshot.interrupts):
                await run_guard.note_waiting(self.services.record, questions)
            elif not (self._is_contest and run_guard.is_finished(snapshot)):
                going_on = "" if self._is_contest else "a run of its graph on the thread, without input"
                stopped = await run_guard.note_stop(self.services.record, thread_id, going_on=going_on)
                self.services.close_run(stopped)


async def _naming_limit(stream: AsyncIterator[Any], config: RunnableConfig) -> AsyncIterator[Any]:
    """The stream. If the step limit ends it, the error says which limit to set."""
    try:
        async for part in stream:
            yield part
    except GraphRecursionError as error:
        limit = config.get("recursion_limit")
        raise InputError(
            f"recursion_limit: {limit} steps were too few for this run: set {ENOUGH_STEPS}, or leave it out"
        ) from error


def _thread_of(config: RunnableConfig) -> object:
    return config.get("configurable", {}).get("thread_id")


def _own_keys(values: Mapping[str, Any]) -> dict[str, Any]:
    """Remove keys that belong to a server, to LangGraph or to a parent graph."""
    foreign = ("__", "checkpoint_", "langgraph_", "x-")
    return {
        name: value for name, value in values.items() if name not in _IDS_OF_SERVER and not name.startswith(foreign)
    }


def build_graph(
    name: GraphName = "contend",
    services: Services | None = None,
    *,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    sources: Sequence[SourceFunction[Any]] = (),
    metrics: Metrics = (),
    teams: Teams = (),
) -> ContendGraph:
    """Compile one of contend's graphs, to call it directly or to use it as a node or tool of another graph.

    Input is `{"theme": QUESTION}`, of 1 to 8,000 characters, or a chat whose last human message asks; of `learn` it is
    a run's rounds. `context` holds the options, as `RunOptions` or a mapping; without one they are the workspace's.
    The last of the output's `messages` is the report in Markdown, or one line that says why there is none.

    `services`: what the graph works with, such as a workspace of its own; else made from environment and `.env`.
    `checkpointer`: where threads are kept instead of the workspace's checkpointer. `sources`, `metrics` and `teams`:
    objects that the graph has beside what config names, as `contend.run`; options name sources and teams of them.

    Reads config and prompts: blocking. Opens nothing before it is needed.

    Raises:
        InputError: there is no graph of this name, or an object, a config file, prompt or setting is not usable.
    """
    if name not in BUILDERS:
        raise InputError(f"build_graph: {name!r} is not a graph: give one of {', '.join(BUILDERS)}")
    services = (services or Services(load_settings())).extended(Extensions.of(sources, metrics, teams))
    graph = BUILDERS[name](services).compile(checkpointer=checkpointer, name=name)
    return as_subclass(ContendGraph, graph, services=services)
