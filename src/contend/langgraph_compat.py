"""What leans on LangGraph's insides: each with its reason, and what LangGraph would have to offer in its place.

Tried with langgraph 1.2; `tests/unit/test_langgraph_compat.py` says which of it a newer one breaks.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, NodeError
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.pregel._messages import StreamMessagesHandler

from contend.errors import PlaybookChanged, PlaybookDamaged, StoreError, error_from_repr

E = TypeVar("E", bound=BaseException)
G = TypeVar("G", bound=CompiledStateGraph[Any, Any, Any, Any])


def fails_to(node: str, *others: str) -> tuple[str, ...]:
    """A node's `destinations`: its error handler, and wherever else its own Commands go.

    LangGraph adds a handler as a node by this name and draws it without a link, and Studio does not draw a part at all
    that holds an unlinked node. LangGraph would have to link the handlers that it adds.
    """
    return (f"__error_handler__{node}", *others)


def add_node(
    graph: StateGraph[Any, Any, Any, Any],
    name: str,
    node: Any,  # noqa: ANN401 - whatever LangGraph takes for one
    handler: Callable[..., Any] | None = None,
    *,
    goes_to: Sequence[str] = (),
    task: type[Any] | None = None,
    runs_graph: bool = False,
) -> None:
    """Add a node, and what is called where it fails. Where a store fails in it, the run stops.

    `goes_to`: where its Commands go; `task`: the state of a node that is sent one of its own; `runs_graph`: it is
    a graph, or calls one, which Studio is to draw.

    LangGraph reads the byte code of each node that is a function or a method for graphs within, which takes as long as
    all the rest of building ours; a `partial` it does not read, nor its annotations. A node would have to be able to
    say that it runs no graph. Its types know no error handlers.
    """
    destinations = fails_to(name, *goes_to) if handler else None
    on_error = partial(handler) if handler else None
    runnable = node if runs_graph else partial(_stopping(node))
    graph.add_node(name, runnable, input_schema=task, error_handler=on_error, destinations=destinations)


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
    """No team forfeits, no score and no lesson is lost for a store that failed: the run stops.

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
