"""The search that contend lends to a team's graph: it works where contend runs that graph, and for that round."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from typing import Any

Search = Callable[[str], "Future[str]"]
SEARCH_OF_ROUND: ContextVar[Search] = ContextVar("search_of_round")
_NOWHERE = "This search works only in an agent that contend runs as a team."


def lend(search: Callable[[str], Coroutine[Any, Any, str]]) -> Search:
    """A search of the caller's loop and context, for other threads."""
    here, context = asyncio.get_running_loop(), copy_context()

    def begin_search(query: str) -> "Future[str]":
        # Within the round's context, which the task takes over.
        return context.copy().run(asyncio.run_coroutine_threadsafe, search(query), here)

    return begin_search


async def search_here(query: str) -> str:
    """What the round's sources say on a query."""
    round_search = SEARCH_OF_ROUND.get(None)
    return _NOWHERE if round_search is None else await asyncio.wrap_future(round_search(query))


def search_in_thread(query: str) -> str:
    """The same for code that knows no async."""
    round_search = SEARCH_OF_ROUND.get(None)
    return _NOWHERE if round_search is None else round_search(query).result()
