"""What becomes of a run whose checkpoints cannot be saved: it stops as a whole, and goes on with a resume."""

from collections.abc import Iterator
from contextlib import contextmanager

from langgraph.errors import GraphBubbleUp

from contend.errors import CheckpointError


class RunUnsaved(CheckpointError, GraphBubbleUp):  # noqa: N818 - named by what becomes of the run
    """Passes by the error handlers of nodes, as LangGraph's own signals do."""


@contextmanager
def stopping_if_unsaved() -> Iterator[None]:
    """A graph within a node that can't save its steps stops the run: no team forfeits for it, no lesson is lost.

    Raises:
        RunUnsaved: in place of a CheckpointError.
    """
    try:
        yield
    except CheckpointError as error:
        raise RunUnsaved(str(error)) from error
