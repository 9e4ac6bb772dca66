"""contend's search, lent to a team's agent as a LangChain tool: `from contend.tools import search`.

It works where contend runs that agent, and for that round.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from typing import Any

from langchain_core.tools import StructuredTool

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


async def _search_here(query: str) -> str:
    """What the round's sources say on a query."""
    round_search = SEARCH_OF_ROUND.get(None)
    return _NOWHERE if round_search is None else await asyncio.wrap_future(round_search(query))


def _search_in_thread(query: str) -> str:
    """The same for code that knows no async."""
    round_search = SEARCH_OF_ROUND.get(None)
    return _NOWHERE if round_search is None else round_search(query).result()


search = StructuredTool.from_function(
    func=_search_in_thread,
    coroutine=_search_here,
    name="search",
    description="Search the sources of this run, its own documents among them. Each result has its title, the "
    "reference to cite it by, and the text that was found. Ask by key words.",
)
"""Works in an agent while contend runs it as a team; elsewhere it says that it does not."""
