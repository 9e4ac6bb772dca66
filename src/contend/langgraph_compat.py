"""What leans on LangGraph's insides: each with its reason, and what LangGraph would have to offer in its place.

Tried with langgraph 1.2; `tests/unit/test_langgraph_compat.py` says which of it a newer one breaks.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, TypeVar, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Edge, Graph
from langgraph._internal._config import ensure_config, patch_configurable
from langgraph._internal._constants import CONFIG_KEY_CHECKPOINTER, CONFIG_KEY_TASK_ID
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, NodeError
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.pregel._messages import StreamMessagesHandler

from contend.errors import PlaybookChanged, PlaybookDamaged, StoreError, error_from_repr

E = TypeVar("E", bound=BaseException)
_HANDLER = "__error_handler__"
G = TypeVar("G", bound=CompiledStateGraph[Any, Any, Any, Any])


def add_node(
    graph: StateGraph[Any, Any, Any, Any],
    name: str,
    node: Any,  # noqa: ANN401 - whatever LangGraph takes for one
    handler: Callable[..., Any] | None = None,
    *,
    goes_to: Mapping[str, str] | None = None,
    task: type[Any] | None = None,
    runs_graph: bool = False,
) -> None:
    """Add a node and its error handler. A store failure in the node stops the run.

    `goes_to`: where its Commands and its handler's go that no edge leads to, and when; `task`: the state of a node that
    is sent one of its own; `runs_graph`: it is a graph, or calls one, which Studio is to draw.

    LangGraph reads the byte code of each node that is a function or a method for graphs within, which takes as long as
    all the rest of building ours; a `partial` it does not read, nor its annotations. A node would have to be able to
    say that it runs no graph. Its types know no error handlers.
    """
    on_error = partial(handler) if handler else None
    runnable = node if runs_graph else partial(_stopping(node))
    # A part is not drawn at all that holds a node without a link, as a handler is one.
    destinations = {**(goes_to or {}), **({f"{_HANDLER}{name}": "fails"} if handler else {})} or None
    graph.add_node(name, runnable, input_schema=task, error_handler=on_error, destinations=destinations)


def add_routes(
    graph: StateGraph[Any, Any, Any, Any],
    source: str,
    router: Callable[[Any], Awaitable[Any]],
    targets: Mapping[str, str],
) -> None:
    """Add a router that names a node or sends tasks. `targets` labels each edge for drawings.

    LangGraph's labels are what a router returns. It would have to take them beside the nodes' names.
    """

    @wraps(router)
    async def route(state: object) -> object:
        following = await router(state)
        return targets[following] if isinstance(following, str) else following

    graph.add_conditional_edges(source, cast("Any", route), {label: node for node, label in targets.items()})


def without_handlers(drawing: Graph) -> Graph:
    """A drawing of the graph without its error handlers.

    LangGraph draws a handler as a node that leads to the end, wherever its Command goes, and leaves out its node's own
    edge to the end. It would have to draw where handlers go.
    """
    handlers = {node for node in drawing.nodes if node.rpartition(":")[2].startswith(_HANDLER)}
    after = [edge for edge in drawing.edges if edge.source in handlers]
    node_of = {edge.target: edge.source for edge in drawing.edges if edge.target in handlers}
    drawing.edges[:] = [edge for edge in drawing.edges if handlers.isdisjoint((edge.source, edge.target))]
    with_edges = {edge.source for edge in drawing.edges}
    ends = {(node_of[edge.source], edge.target) for edge in after if edge.source in node_of}
    drawing.edges += [Edge(node, end) for node, end in sorted(ends) if node not in with_edges]
    for node in handlers:
        del drawing.nodes[node]
    return drawing


def cause(error: NodeError) -> BaseException:
    """What a node failed of.

    A run that goes on calls the handlers of its last step again, and LangGraph's savers keep an error as its `repr`:
    handlers decide by the error, and get that text. They would have to keep the error.
    """
    error_or_text: object = error.error
    return error_or_text if isinstance(error_or_text, BaseException) else error_from_repr(str(error_or_text))


def known_cause(error: NodeError, kind: type[E]) -> E:
    """As `cause`, for a handler of one kind of errors: any other is raised."""
    why = cause(error)
    if not isinstance(why, kind):
        raise why
    return why


def as_subclass(kind: type[G], graph: CompiledStateGraph[Any, Any, Any, Any], **own: Any) -> G:  # noqa: ANN401 - the subclass's
    """A compiled graph as a class of ours, made of the same parts, as `Pregel.copy` makes its copies.

    `StateGraph.compile` names its class. LangGraph would have to take another one.
    """
    parts = {name: part for name, part in vars(graph).items() if name != "__orig_class__"}
    return kind(**own, **parts)


def whole_config(graph: CompiledStateGraph[Any, Any, Any, Any], config: RunnableConfig | None) -> RunnableConfig:
    """The effective config of a graph: its own, the caller's, and that of the calling node.

    LangGraph would have to let a graph see it before the run.
    """
    return ensure_config(graph.config, config)


def is_part(config: RunnableConfig) -> bool:
    """Whether a graph runs as a part of another one, by its whole config."""
    return CONFIG_KEY_TASK_ID in config.get("configurable", {})


def with_parents_saver(
    config: RunnableConfig | None, wrap: Callable[[BaseCheckpointSaver[Any]], BaseCheckpointSaver[Any]]
) -> RunnableConfig | None:
    """The config of a subgraph with its parent's checkpointer replaced.

    A synchronous parent lends a saver that may know synchronous calls only. LangGraph would have to run an
    asynchronous part of a synchronous graph.
    """
    saver = ensure_config(config).get("configurable", {}).get(CONFIG_KEY_CHECKPOINTER)
    if not isinstance(saver, BaseCheckpointSaver):
        return config
    return patch_configurable(config or {}, {CONFIG_KEY_CHECKPOINTER: wrap(saver)})


def show_message(message: BaseMessage) -> None:
    """Show a message to whoever streams the messages of the whole graph. It enters no state.

    `langgraph.graph.message.push_message` shows one of a graph within only to those who stream graphs within, too. It
    would have to take the namespace.
    """
    config = get_config()
    callbacks: Any = config.get("callbacks") or []
    for handler in getattr(callbacks, "handlers", callbacks):
        if isinstance(handler, StreamMessagesHandler):
            handler.stream(((), "messages", (message, dict(config.get("metadata") or {}))))


class AnyKeyDict(dict[str, Any]):
    """The options in a graph's schema. Any key is said to be among them.

    The Agent Server asks so, drops what it takes for unknown from a run's context and tells nobody: a misspelt limit
    would be none. It would have to refuse the run.
    """

    def __contains__(self, key: object) -> bool:
        return True


class StoreFailed(StoreError, GraphBubbleUp):  # noqa: N818 - named by what becomes of the run
    """A store failed in the middle of a run: the run stops as a whole, and goes on with a resume.

    Error handlers of nodes are not called for what LangGraph raises as its own signal, and it keeps no error of the
    node, so that a resume runs the node again. LangGraph would have to let an error handler name the errors that it
    takes.
    """

    def __init__(self, store_error: StoreError) -> None:
        super().__init__(str(store_error))
        self.store_error = store_error


@contextmanager
def stopping_if_store_fails() -> Iterator[None]:
    """Stop the run if a store fails, so that no team forfeits and no score or lesson is lost.

    A playbook that is damaged or was changed meanwhile stops learning only.

    Raises:
        StoreFailed: in place of any other StoreError.
    """
    try:
        yield
    except (StoreFailed, PlaybookDamaged, PlaybookChanged):
        raise
    except StoreError as error:
        raise StoreFailed(error) from error


def _stopping(node: Callable[..., Any]) -> Callable[..., Any]:
    """The node, which stops the run where a store fails in it. LangGraph reads its parameters through `wraps`."""

    @wraps(node)
    async def run(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - the node's own
        with stopping_if_store_fails():
            return await node(*arguments, **named)

    return run
