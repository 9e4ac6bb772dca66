"""What TOML files name: as `kind`, what contend has by that name; as `function`, `module:function` of the workspace.

Kinds of team, sources, metrics and model providers are found here. A function is loaded before a run, and called where
it can do no harm to it.
"""

import asyncio
import inspect
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from contend.errors import InputError
from contend.text import clean, shorten

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

T = TypeVar("T")
Function = Callable[..., object]
_IMPORT_ERRORS = (ImportError, SyntaxError, AttributeError, NameError, OSError, ValueError, TypeError)
"""What importing a module with a fault raises, mostly."""


class FunctionFailed(Exception):  # noqa: N818 - said of the function, and caught where it was called
    """What a user's function did instead of returning; `passing` where it may return when called again."""

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


@dataclass(frozen=True)
class Registry(Generic[T]):
    """What contend has of one sort, by the names that a TOML file may give as `kind`."""

    sort: str
    entries: Mapping[str, T]

    def get(self, kind: str, where: str) -> T:
        """The entry of that name; `where` begins the error.

        Raises:
            InputError: there is none; names those that there are.
        """
        if kind not in self.entries:
            raise InputError(
                f"{where}: no {self.sort} {kind!r}; choose from {', '.join(self.entries)}, or name a function"
            )
        return self.entries[kind]


TEAM_KINDS = {
    "research": "contend.research.graph:ResearchTeam",
    "search": "contend.research.searching:SearchTeam",
    "graph": "contend.research.graph_team:GraphTeam",
}


class TeamKind(Protocol):
    """What a contest needs to know of a team, whatever it is made of."""

    may_win: bool
    """Whether they compete: are scored, ranked, merged, learned from. One that does not has a run to itself."""
    max_rounds: int | None
    """How many rounds they play at most; None: as many as the options say."""

    def build_graph(self, services: Any) -> "StateGraph[Any, Any, Any, Any]":  # noqa: ANN401 - the container lies above
        """One round, not compiled: it takes a `ResearchInput` and leaves a `submission`, by its document's id."""
        ...


@cache
def team_kind(name: str) -> TeamKind:
    """A kind by its name in `TeamConfig.kind`; loaded at first use, for its graph lies above who asks."""
    module, _, attribute = TEAM_KINDS[name].partition(":")
    kind: TeamKind = getattr(import_module(module), attribute)()
    return kind


def load_object(folder: Path, name: str) -> object:
    """A function or object from a Python file of the folder. What is installed is reached by a file that imports it.

    Raises:
        InputError: it cannot be imported.
    """
    try:
        return load_attribute(folder, name)
    except _IMPORT_ERRORS as error:
        raise InputError(
            f"function {name!r} cannot be loaded: {error_line(error)}; write it into a file of {folder}"
        ) from error


def takes(function: Function, *arguments: object) -> bool:
    """Whether a function accepts these arguments. Functions without a readable signature are assumed to."""
    try:
        inspect.signature(function).bind(*arguments)
    except ValueError:
        return True
    except TypeError:
        return False
    return True


def load_attribute(folder: Path, name: str) -> object:
    """What `module:attribute` names in a Python file of the folder; raises whatever the file does."""
    module, _, attribute = name.partition(":")
    return getattr(_module(folder, module), attribute)


async def call_function(function: Function, *arguments: object, seconds: float) -> object:
    """What a plain or async function returns. It runs in a thread that nothing waits for once its time is over.

    Raises:
        FunctionFailed: it raised, or was not done in time.
    """
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(start_function(function, *arguments))
    except TimeoutError as error:
        raise FunctionFailed(f"was not done within {seconds:g} s") from error


def start_function(function: Function, *arguments: object) -> "Future[object]":
    """What a plain or async function will return; its errors come as `FunctionFailed`."""

    def work() -> object:
        try:
            result = function(*arguments)
            return asyncio.run(_await_result(result)) if inspect.isawaitable(result) else result
        except BaseException as error:  # others' code: `sys.exit` in it is its failure, not this process's end
            raise FunctionFailed(f"raised {error_line(error)}", passing=isinstance(error, OSError)) from error

    return on_daemon_thread(work, name="contend-function")


def on_daemon_thread(work: Callable[[], T], *, name: str) -> "Future[T]":
    """What others' code will give, or whatever it raises. A pool's thread would keep the process where it hangs."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - others' code: whatever it raises belongs to who waits
            future.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return future


async def _await_result(result: Any) -> object:  # noqa: ANN401 - any awaitable
    return await result


def _module(folder: Path, name: str) -> ModuleType:
    path = folder.joinpath(*name.split(".")).with_suffix(".py").resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ImportError(f"{path} lies outside")
    spec = spec_from_file_location(f"contend_workspace.{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    # Annotations that stand as text are looked up in their class's module by its name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def error_line(error: BaseException) -> str:
    """What others' code raised, on one line."""
    return shorten(clean(f"{type(error).__name__}: {error}", single_line=True), 300)
