"""What traces call a model's call: its run's name, tags and metadata, for LangSmith and other callbacks."""

from contextvars import ContextVar
from typing import TYPE_CHECKING

from contend.llm import Scope

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig  # heavy

_CONFIG: ContextVar["RunnableConfig"] = ContextVar("config")
_TAGS = ["nostream"]
"""Replies are JSON: no chat shows them as they come."""


def name_call(scope: Scope, prompt: str) -> None:
    """Set the name, tags and metadata of calls made in this context."""
    place = f"{scope.team_id} round {scope.round_number}" if scope.team_id else "run"
    _CONFIG.set(
        {
            "run_name": " ".join(filter(None, [f"{place}: {scope.role}", prompt, scope.step])),
            "tags": [*_TAGS, f"role:{scope.role}", *([f"team:{scope.team_id}"] if scope.team_id else [])],
            "metadata": {
                "execution_id": scope.execution_id,
                "role": scope.role,
                "prompt": prompt,
                "step": scope.step,
                "team_id": scope.team_id,
                "round_number": scope.round_number,
            },
        }
    )


def call_config() -> "RunnableConfig":
    """The config of a call, named or not."""
    return _CONFIG.get({"tags": [*_TAGS]})
