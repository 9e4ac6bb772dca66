"""Functions of a user's own, named `module:function`: found before a run, called where they can do no harm to it."""

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import Future
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

from contend.errors import InputError, MetricError
from contend.text import clean, shorten

Function = Callable[[Any], object]
_BROKEN = (ImportError, SyntaxError, AttributeError, NameError, OSError, ValueError, TypeError)
"""What importing a module with a fault raises, mostly."""


def load_function(folder: Path, name: str) -> Function:
    """A function from a Python file of the folder. What is installed is reached by a file that imports it.

    Raises:
        InputError: it cannot be imported, or is no function.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(_module(folder, module), attribute)
    except _BROKEN as error:
        raise InputError(
            f"function {name!r} cannot be loaded: {_said(error)}; write it into a file of {folder}"
        ) from error
    if not callable(found):
        raise InputError(f"function {name!r} is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]  # any callable


async def call_function(function: Function, given: object, *, seconds: float) -> object:
    """What a plain or async function returns. It runs in a thread that nothing waits for once its time is over.

    Raises:
        MetricError: it raised, or was not done in time.
    """
    done: Future[object] = Future()
    done.set_running_or_notify_cancel()
    # A daemon: a hanging function would otherwise keep the process from ending.
    Thread(target=_work, args=(function, given, done), daemon=True).start()
    try:
        return await asyncio.wait_for(asyncio.wrap_future(done), seconds)
    except TimeoutError as error:
        raise MetricError(f"the metric's function was not done within {seconds:g} s") from error


def _work(function: Function, given: object, done: "Future[object]") -> None:
    try:
        result = function(given)
        if inspect.isawaitable(result):
            result = asyncio.run(_awaited(result))
    except BaseException as error:  # noqa: BLE001 - the user's own code: whatever it raises belongs to who waits
        done.set_exception(MetricError(f"the metric's function raised {_said(error)}"))
    else:
        done.set_result(result)


async def _awaited(result: Any) -> object:  # noqa: ANN401 - any awaitable
    return await result


def _module(folder: Path, name: str) -> ModuleType:
    path = folder.joinpath(*name.split(".")).with_suffix(".py").resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ImportError(f"{path} lies outside")
    spec = spec_from_file_location(f"contend_workspace.{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _said(error: BaseException) -> str:
    return shorten(clean(f"{type(error).__name__}: {error}", single_line=True), 300)
