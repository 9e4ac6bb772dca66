"""The Agent Server's entry point: each graph made once a process, guarded while it runs as the command line's are.

It also plays the recorded demos, with the questions, documents and options of `make demo`, `make demo-steps` and
`make demo-ja`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any, Literal, NamedTuple, cast
from uuid import uuid4
from weakref import WeakValueDictionary

from langchain_core.messages import AnyMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import InvalidUpdateError
from langgraph.types import Command, StateSnapshot, StateUpdate

from contend import run_guard
from contend.approval import (
    with_one_question,
    with_question_last,
)
from contend.errors import InputError
from contend.graphs import ContendGraph, GraphName, build_graph
from contend.langgraph_compat import AnyKeyDict, as_subclass, whole_config
from contend.learning.graph import whole_input
from contend.models.options import RunOptions
from contend.models.record import Record
from contend.preflight import question_of
from contend.services import Services
from contend.settings import load_settings, shown_defaults
from contend.settings.files import resource
from contend.stores.checkpoints import ManagedSaver, run_of

_LOG = logging.getLogger(__name__)
_GRAPH_OF_SERVER = {"assistant_id", "cron_id", "graph_id"}
"""What Agent Servers put into a run's `configurable`."""


class ServedGraph(ContendGraph):
    """A graph that a server runs for its clients, who give a question, options and answers, and nothing else.

    It is a module's own object and no factory, for that is what every kind of Agent Server loads. Called outside of a
    server, it is the graph that `build_graph` gives.
    """

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """As LangGraph's, with the defaults in effect; a server that drops what is not in it drops nothing."""
        schema = super().get_context_jsonschema()
        if not schema:
            return schema
        defaults = shown_defaults(self.services.config)
        options = {
            name: {**option, "default": defaults[name]} if name in defaults else option
            for name, option in schema["properties"].items()
        }
        return {**schema, "properties": AnyKeyDict(options)}

    async def astream(
        self,
        input: Any,  # noqa: A002, ANN401 - LangGraph's
        config: RunnableConfig | None = None,
        *,
        context: Any = None,  # noqa: ANN401 - LangGraph's
        **how: Any,  # noqa: ANN401 - LangGraph's
    ) -> AsyncGenerator[Any]:
        """As in `ContendGraph`, but input that sets state is refused.

        Raises:
            InputError: as there, or state is given.
        """
        if (graph := await self._of_run(config)) is not self:
            parts = graph.astream(input, config, context=context, **how)
        else:
            self._refuse_state(input)
            parts = self._astream_alone(input, config, context=context, **how)
        async with aclosing(parts) as stream:
            async for part in stream:
                yield part

    async def _of_run(self, config: RunnableConfig | None) -> ContendGraph:
        """This graph; for a run that plays a demo the one on its recording, in process the one for code."""
        if self._is_in_process(config):
            return await asyncio.to_thread(graph_in_process, cast("GraphName", self.name))
        demo = demo_of((config or {}).get("metadata", {}))
        if demo is None:
            return self
        graph = await asyncio.to_thread(served_graph, cast("GraphName", self.name), demo=demo)
        if graph.services is self.services:
            return self
        return graph.copy({"checkpointer": self.checkpointer, "store": self.store})

    def _is_in_process(self, config: RunnableConfig | None) -> bool:
        """Whether the call comes from code. A server brings a checkpointer or names its graph in the config."""
        configurable = whole_config(self, config).get("configurable", {})
        return self.checkpointer is None and not any(
            name in _GRAPH_OF_SERVER or name.startswith("langgraph_") for name in configurable
        )

    def _as_shown(self, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
        return with_question_last(stream)

    def _on_own_loop(self) -> ContendGraph:  # type: ignore[override]  # no server calls synchronously
        return graph_in_process(cast("GraphName", self.name)) if self.checkpointer is None else super()._on_own_loop()

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """As LangGraph's, with all open questions as one."""
        if self._is_in_process(config):
            return await (await self._of_run(config)).aget_state(config, subgraphs=subgraphs)
        return with_one_question(await super().aget_state(config, subgraphs=subgraphs))

    async def aget_state_history(self, config: RunnableConfig, **which: Any) -> AsyncGenerator[StateSnapshot]:  # noqa: ANN401 - LangGraph's
        """As LangGraph's, with all open questions as one."""
        if self._is_in_process(config):
            async for snapshot in (await self._of_run(config)).aget_state_history(config, **which):
                yield snapshot
            return
        async for snapshot in super().aget_state_history(config, **which):
            yield with_one_question(snapshot)

    @asynccontextmanager
    async def _leased(self, request: object, config: RunnableConfig) -> AsyncIterator[object]:
        """As `ContendGraph`'s, one run on a thread after the other."""
        turn = _TURNS.setdefault(str(config["configurable"].get("thread_id")), asyncio.Lock())
        with _at_work(run_of(config)):
            async with turn, super()._leased(request, config) as checked_input:
                yield checked_input

    def _complete_input(self, request: Any, options: Record | None, config: RunnableConfig) -> Any:  # noqa: ANN401 - any input
        """Lessons are learned once for each execution id; a client cannot set it."""
        if isinstance(request, Mapping) and "reflection" in self.channels:
            return {**whole_input(request), "execution_id": str(config.get("metadata", {}).get("run_id") or uuid4())}
        return super()._complete_input(request, options, config)

    def _refuse_state(self, request: object) -> None:
        """A client asks and answers. What else stands in state are ids, budgets and functions, and is trusted."""
        if isinstance(request, Command) and (request.update or request.goto):
            raise InputError("command: only `resume` may be given, as an answer; ask a new question as input")
        keys = self.get_input_jsonschema()["properties"].keys()
        if isinstance(request, Mapping) and (state := self.channels.keys() & request.keys() - keys):
            names, own = ", ".join(sorted(state)), ", ".join(sorted(keys))
            raise InputError(f"input: {names} may not be given: give {own}; options go into the context")

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """As LangGraph's where nothing is written, which is how its server ends a thread's open step.

        Raises:
            InvalidUpdateError: state is written, which a client may not.
        """
        if self._is_in_process(config):
            return await (await self._of_run(config)).abulk_update_state(config, supersteps)
        if any(update.values is not None for step in supersteps for update in step):
            raise InvalidUpdateError("state: it is not written from outside; ask a new question by a run's input")
        return await super().abulk_update_state(config, supersteps)

    async def _had_begun(self, request: Mapping[str, Any], config: RunnableConfig) -> bool:
        """Whether a killed server runs a run again. If another entry point went on with it, LangGraph begins anew."""
        thread: RunnableConfig = {"configurable": {"thread_id": config["configurable"]["thread_id"]}}
        if (run_id := run_of(config)) and isinstance(self.checkpointer, BaseCheckpointSaver):
            of_run = {"run_id": run_id}
            return bool([checkpoint async for checkpoint in self.checkpointer.alist(thread, filter=of_run, limit=1)])
        # Not every server names its runs: there, a thread that stopped in the middle is asked the same again.
        snapshot = await self.aget_state(thread)
        return bool(snapshot.tasks) and not snapshot.interrupts and _theme_of(request) == snapshot.values.get("theme")

    async def _check_input(self, request: object, config: RunnableConfig) -> object:
        had_begun = isinstance(request, Mapping) and await self._had_begun(request, config)
        return await super()._check_input(None if had_begun else request, config)


def _theme_of(request: Mapping[str, Any]) -> str | None:
    messages = cast("list[AnyMessage]", convert_to_messages(request.get("messages", [])))
    with suppress(InputError):
        return question_of(request.get("theme"), messages)
    return None


_OPENING = Lock()
_TURNS: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
"""One run on a thread: the server begins a run before the one whose place it takes has ended."""


def _services(*, demo: "DemoName | None" = None) -> Services:
    """Of this process, or for its runs of a demo. Blocking."""
    with _OPENING:
        return _process_services(demo=demo)


@cache
def _process_services(*, demo: "DemoName | None") -> Services:
    if demo is None:
        return Services(load_settings(), served=True)
    # The same workspace, in which no model and no service is asked: replies come from the demo's recording.
    live, folder = _process_services(demo=None), _DEMOS[demo].folder
    folders = [*live.settings.served_folders, str(resource(f"{folder}/documents"))]
    recording = {"replay": resource(f"{folder}/recording.jsonl"), "record": None, "tavily_api_key": None}
    services = Services(live.settings.model_copy(update={**recording, "served_folders": folders}), served=True)
    services.record = live.record  # one writer a process
    return services


DemoName = Literal["contest", "steps", "ja"]
DEMO = {"contend": "demo"}
"""The metadata of a run that plays a recorded demo; `demo` beside it is the demo's name."""


class Demo(NamedTuple):
    """A demo's question, and the options under which its replies were recorded."""

    theme: str
    options: RunOptions


class _DemoFiles(NamedTuple):
    """Where a demo's question, documents and recording stand, and its options but for the documents."""

    folder: str
    options: RunOptions


_DEMOS: Mapping[str, _DemoFiles] = {
    "contest": _DemoFiles(
        "demo",
        RunOptions(
            sources=["local"],
            teams=["archivist", "skeptic", "scout"],
            depth="standard",
            min_rounds=1,
            max_rounds=2,
            length="brief",
            language="en",
            dataset="demo",
        ),
    ),
    # Its model's context, for which it goes step by step, is in the recording.
    "steps": _DemoFiles(
        "demo/steps",
        RunOptions(
            sources=["local"],
            teams=["archivist"],
            depth="quick",
            length="brief",
            language="en",
            learn=False,
            playbook=False,
        ),
    ),
    "ja": _DemoFiles(
        "demo/ja",
        RunOptions(
            sources=["local"],
            teams=["archivist", "skeptic"],
            depth="standard",
            min_rounds=1,
            max_rounds=2,
            length="brief",
            language="ja",
            dataset="demo-ja",
        ),
    ),
}


def demo_of(metadata: Mapping[str, object]) -> DemoName | None:
    """Which demo a run or thread of this metadata plays; None if it plays none.

    Raises:
        InputError: there is no demo of that name.
    """
    if not DEMO.items() <= metadata.items():
        return None
    name = str(metadata.get("demo", "contest"))
    if name not in _DEMOS:
        raise InputError(f"demo {name}: no such demo; give one of {', '.join(_DEMOS)}")
    return cast("DemoName", name)


def recorded_demo(name: DemoName) -> Demo | None:
    """None where this install lacks the demo. Blocking."""
    folder, options = _DEMOS[name]
    try:
        theme = resource(f"{folder}/question.txt").read_text("utf-8").strip()
        documents, _ = resource(f"{folder}/documents"), resource(f"{folder}/recording.jsonl")
    except FileNotFoundError:
        return None
    return Demo(theme, options.model_copy(update={"documents": [str(documents)]}))


@cache
def graph_in_process(name: GraphName) -> ContendGraph:
    """A graph for code that runs in this process, which may read what the process may. Blocking."""
    served = _services()
    services = Services(served.settings)
    services.record = served.record  # one writer a process
    return build_graph(name, services)


async def server_services(*, demo: DemoName | None = None) -> Services:
    """The container of this server's process, or a demo's: its graphs and its HTTP API share them."""
    return await asyncio.to_thread(_services, demo=demo)


_RUNS_AT_WORK: set[str] = set()
"""The Agent Server's runs that this process works on, by id."""
_ROLLBACKS: dict[str, asyncio.Event] = {}
"""One event for each active run that somebody asked to roll back: set once its worker has deleted the checkpoints."""
_IS_ROLLBACK: ContextVar[bool] = ContextVar("_IS_ROLLBACK", default=False)
"""Whether this code runs for a request that asks for a rollback, and not for a run's worker."""
_MOST_ROLLBACK_SECONDS = 60.0


@contextmanager
def _at_work(run_id: str) -> Iterator[None]:
    _RUNS_AT_WORK.add(run_id)
    try:
        yield
    finally:
        _RUNS_AT_WORK.discard(run_id)


@asynccontextmanager
async def rollback(run_id: str | None = None) -> AsyncIterator[Callable[[], bool]]:
    """Handle a request to roll back one run or several. Yields a function: has a run that was active been rolled back?

    Leaving the block waits for the rollback. A run needs time to save its state, and until then the thread would stand
    at one of its checkpoints.
    """
    runs = _RUNS_AT_WORK & {run_id} if run_id else {*_RUNS_AT_WORK}
    events = [_ROLLBACKS.setdefault(run, asyncio.Event()) for run in runs]
    token = _IS_ROLLBACK.set(True)
    try:
        yield lambda: any(event.is_set() for event in events)
        for event in events if run_id else ():
            await _until(event)
    finally:
        _IS_ROLLBACK.reset(token)
        for run in runs - _RUNS_AT_WORK:
            _ROLLBACKS.pop(run, None)


async def _until(event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_MOST_ROLLBACK_SECONDS):
            await event.wait()


def note_rollbacks(saver: BaseCheckpointSaver[Any]) -> None:
    """Let the record know of runs whose checkpoints the server's saver deletes: they cannot go on."""
    tasks: set[asyncio.Task[None]] = set()

    async def note(threads: Iterable[str]) -> None:
        services = await server_services()
        for thread_id in threads:
            latest = await saver.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
            values = latest.checkpoint["channel_values"] if latest else {}
            stopped = await run_guard.note_rollback(services.record, thread_id, values.get("execution_id", ""))
            services.close_run(stopped)

    async def note_deletion(runs: Iterable[str], threads: Iterable[str]) -> None:
        task = asyncio.create_task(note(threads))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        for run_id in _ROLLBACKS.keys() & runs:
            # The server deletes a run that nobody listens to before its worker does, and where the worker comes
            # second the thread stays busy for good.
            if _IS_ROLLBACK.get():
                await _until(_ROLLBACKS[run_id])
            else:
                _ROLLBACKS[run_id].set()

    if isinstance(saver, ManagedSaver):
        saver.on_deletion = note_deletion


@cache
def served_graph(name: GraphName, *, demo: DemoName | None = None) -> ServedGraph:
    """A graph for an Agent Server, which brings the checkpointer. Blocking.

    The files in `graphs/` hold graphs and not factories: other servers than LangGraph's call a factory in their own
    way, or not at all.

    Raises:
        InputError: a config file, prompt or setting is not usable.
    """
    services = _services(demo=demo)
    return as_subclass(ServedGraph, build_graph(name, services))
