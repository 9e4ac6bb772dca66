"""contend's actions, lent to a team's agent as LangChain tools: `from contend.tools import search, find, read`.

They work where contend runs that agent, and for that round.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from typing import Any, Literal

from langchain_core.tools import StructuredTool
from pydantic import create_model

ActionName = Literal["search", "find", "read"]
Act = Callable[[ActionName, str], "Future[str]"]
ACTIONS_OF_ROUND: ContextVar[Act] = ContextVar("actions_of_round")
_NOWHERE = "This works only in an agent that contend runs as a team."


def lend(act: Callable[[ActionName, str], Coroutine[Any, Any, str]]) -> Act:
    """The actions of the caller's loop and context, for other threads."""
    here, context = asyncio.get_running_loop(), copy_context()

    def begin(action: ActionName, text: str) -> "Future[str]":
        # Within the round's context, which the task takes over.
        return context.copy().run(asyncio.run_coroutine_threadsafe, act(action, text), here)

    return begin


def _tool(action: ActionName, argument: str, description: str) -> StructuredTool:
    """One action; its argument's name tells an agent what belongs there."""

    async def act_here(**values: str) -> str:
        act = ACTIONS_OF_ROUND.get(None)
        return _NOWHERE if act is None else await asyncio.wrap_future(act(action, values[argument]))

    def act_in_thread(**values: str) -> str:
        act = ACTIONS_OF_ROUND.get(None)
        return _NOWHERE if act is None else act(action, values[argument]).result()

    shape = create_model(f"{action.capitalize()}Input", **{argument: (str, ...)})  # type: ignore[call-overload]  # run time
    return StructuredTool(
        name=action, description=description, args_schema=shape, func=act_in_thread, coroutine=act_here
    )


search = _tool(
    "search",
    "query",
    "Search the sources of this run, its own documents among them. Each result has its title, the reference to cite it "
    "by, its place in its document, and the text that was found. Ask by key words.",
)
"""Works in an agent while contend runs it as a team; elsewhere it says that it does not."""

find = _tool(
    "find",
    "words",
    "Find words exactly as they stand in the own documents of this run, such as the name of a setting; * and ? stand "
    "for any letters. Results look as those of search.",
)
"""As `search`."""

read = _tool(
    "read",
    "place",
    "Read a document that a result named: its reference, then, after a space, a section or a stretch of sections, such "
    "as `guide.html 7-10`; the reference alone reads it from its beginning.",
)
"""As `search`."""
