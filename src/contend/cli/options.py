"""Options that several commands share."""

from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer

WORKSPACE_TOLD: ContextVar[Path | None] = ContextVar("workspace_told", default=None)
"""The workspace that the command was given, so that the commands it advises can repeat it."""


def _given_or_global(context: typer.Context, workspace: Path | None) -> Path | None:
    """A command's own `--workspace`, else the one given before the command."""
    given: Path | None = workspace or context.find_root().params.get("workspace")
    WORKSPACE_TOLD.set(given)
    return given


_HELP = "Folder of config, prompts, playbooks and results (env CONTEND_WORKSPACE)"
ROOT_WORKSPACE = Annotated[Path | None, typer.Option("--workspace", metavar="DIR", help=_HELP)]
WORKSPACE = Annotated[Path | None, typer.Option("--workspace", metavar="DIR", help=_HELP, callback=_given_or_global)]
JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JSON_LINES = Annotated[bool, typer.Option("--json", help="Print each event as a line of JSON, the outcome last.")]
THREAD = Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id, as `contend runs` lists it.")]
OUT = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Copy report.md, report.html and report.json there.")
]
