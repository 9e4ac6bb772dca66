"""What becomes of a run that cannot be kept on disk: it stops as a whole, and goes on with a resume."""

from collections.abc import Iterator
from contextlib import contextmanager

from langgraph.errors import GraphBubbleUp

from contend.errors import CheckpointError, StoreUnwritable


class RunUnsaved(CheckpointError, GraphBubbleUp):  # noqa: N818 - named by what becomes of the run
    """Passes by the error handlers of nodes, as LangGraph's own signals do."""


@contextmanager
def stopping_if_unsaved() -> Iterator[None]:
    """A graph within a node that can't save what it did stops the run: no team forfeits for it, no lesson is lost.

    Raises:
        RunUnsaved: in place of a CheckpointError or StoreUnwritable.
    """
    try:
        yield
    except (CheckpointError, StoreUnwritable) as error:
        raise RunUnsaved(str(error)) from error
