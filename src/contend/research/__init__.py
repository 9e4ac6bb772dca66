"""The research graph: plan, search, draft, review. Called, it is one agent's research, as `contend.app.research`."""

import sys
from collections.abc import Awaitable
from importlib import import_module
from types import ModuleType
from typing import Any


class _ResearchModule(ModuleType):
    """A package takes its parent's attribute of its name once it is imported, and callers know a function by it."""

    def __call__(self, theme: str, **options: Any) -> Awaitable[Any]:  # noqa: ANN401 - as contend.app.research takes and gives them
        research: Awaitable[Any] = import_module("contend.app").research(theme, **options)
        return research


sys.modules[__name__].__class__ = _ResearchModule
