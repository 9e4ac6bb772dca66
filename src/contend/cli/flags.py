"""Arguments and options that several commands have."""

import atexit
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from contend.cli.words import speak, speak_english

GIVEN_WORKSPACE: ContextVar[Path | None] = ContextVar("given_workspace", default=None)
"""The workspace that the command was given, so that the commands it advises can repeat it."""


def _given_or_global(context: typer.Context, workspace: Path | None) -> Path | None:
    """A command's own `--workspace`, else the one given before the command."""
    folder: Path | None = workspace or context.find_root().params.get("workspace")
    GIVEN_WORKSPACE.set(folder)
    return folder


_HELP = "Folder of config, prompts, playbooks and results (env CONTEND_WORKSPACE)"
ROOT_WORKSPACE = Annotated[Path | None, typer.Option("--workspace", metavar="DIR", help=_HELP)]
WORKSPACE = Annotated[Path | None, typer.Option("--workspace", metavar="DIR", help=_HELP, callback=_given_or_global)]


def _in_english(as_json: bool) -> bool:
    """Programs read the same words wherever they run."""
    if as_json:
        speak_english()
    return as_json


JSON = Annotated[bool, typer.Option("--json", help="Print JSON.", callback=_in_english)]
JSON_LINES = Annotated[
    bool, typer.Option("--json", help="Print each event as a line of JSON, the outcome last.", callback=_in_english)
]


def known_threads(context: typer.Context, incomplete: str) -> list[str]:
    """For a shell's completion."""
    from contend.cli import stored_runs

    known = stored_runs.known_threads(context.params.get("workspace") or context.find_root().params.get("workspace"))
    return [name for name in (stored_runs.LATEST, *known) if name.startswith(incomplete)]


THREAD_HELP = "The thread's id as `contend runs` lists it, its beginning, or `latest`."
THREAD = Annotated[str, typer.Argument(metavar="THREAD", help=THREAD_HELP, autocompletion=known_threads)]
LATEST_THREAD = Annotated[str, typer.Argument(metavar="[THREAD]", help=THREAD_HELP, autocompletion=known_threads)]
OUT = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Folder of the report's files. Default: contend-results/ and the question."
    ),
]
FORM = Annotated[
    Literal["number", "expression", "choice", "json", "text"],
    typer.Option("--format", help="What an answer is; an expression is computed by code."),
]
LIMIT = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="At most so many questions.")]
DATASET = Annotated[str, typer.Argument(metavar="DATASET", help="The playbook's dataset.")]
_LIMITS = "Limits"
_MODELS = "Models and learning"

REPLAY = Annotated[
    Path | None,
    typer.Option(
        "--replay",
        metavar="FILE",
        rich_help_panel=_MODELS,
        help="Play recorded model replies; no model is asked (env CONTEND_REPLAY).",
    ),
]


@contextmanager
def uncollected() -> Iterator[None]:
    """Import in the block: what it loads stays, and looking it through for garbage would take a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        # DuckDB complains of what is left at the interpreter's end.
        atexit.register(gc.unfreeze)


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """The options of a run, as typer reads them."""

    docs: Annotated[
        list[Path] | None,
        typer.Option("--docs", metavar="PATH", help="A file or folder of your own documents; may be repeated."),
    ] = None
    instructions: Annotated[
        Path | None, typer.Option("--instructions", metavar="FILE", help="A text file with further instructions.")
    ] = None
    team: Annotated[
        list[str] | None,
        typer.Option("--team", metavar="NAME", help="A team to enter; may be repeated. Default: as --depth says."),
    ] = None
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="NAME", help="A source to use; may be repeated. Default: all that are on."),
    ] = None
    depth: Annotated[
        Literal["quick", "standard", "deep"] | None,
        typer.Option(
            "--depth", help="One team and round, three teams and up to two rounds (default), or all and up to three."
        ),
    ] = None
    length: Annotated[
        Literal["brief", "standard", "long"] | None,
        typer.Option("--length", help="About 500, 1,500 or 3,500 words. Default: standard, long for deep."),
    ] = None
    rounds: Annotated[
        str | None, typer.Option("--rounds", metavar="MIN:MAX", help="Rounds per team, 1 to 10; `2` for exactly two.")
    ] = None
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="NAME", help="The playbook to start from and to learn into.")
    ] = None
    language: Annotated[
        Literal["auto", "en", "ja"] | None, typer.Option("--language", help="Language of prompts and report.")
    ] = None
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", rich_help_panel=_MODELS, help="Model of every role."),
    ] = None
    approve: Annotated[
        list[str] | None,
        typer.Option(
            "--approve", metavar="WHAT", help="Wait for a person before it: plan, report, playbook; may be repeated."
        ),
    ] = None
    no_synthesis: Annotated[
        bool,
        typer.Option("--no-synthesis", help="Publish the winner's report; no editor merges the best parts."),
    ] = False
    no_learn: Annotated[
        bool, typer.Option("--no-learn", rich_help_panel=_MODELS, help="Write nothing into the playbook.")
    ] = False
    no_playbook: Annotated[
        bool, typer.Option("--no-playbook", rich_help_panel=_MODELS, help="Start without the playbook's lessons.")
    ] = False
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="N", rich_help_panel=_LIMITS, help="Tokens of the whole run.")
    ] = None
    max_usd: Annotated[
        float | None,
        typer.Option("--max-usd", metavar="N", rich_help_panel=_LIMITS, help="Money of the whole run; needs prices."),
    ] = None
    max_minutes: Annotated[
        float | None,
        typer.Option("--max-minutes", metavar="N", rich_help_panel=_LIMITS, help="Active minutes of the whole run."),
    ] = None
    max_calls: Annotated[
        int | None,
        typer.Option("--max-calls", metavar="N", rich_help_panel=_LIMITS, help="Model calls of the whole run."),
    ] = None


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of a run beside its own, which it gets as `options`."""
    own, shared = signature(command).parameters, signature(RunFlags).parameters

    @wraps(command)
    def with_flags(**values: Any) -> None:  # noqa: ANN401 - what typer read
        speak(values.get("theme", ""), values["language"])
        with uncollected():
            from contend.cli.options import run_options

        options = run_options(RunFlags(**{name: values.pop(name) for name in shared}))
        command(**values, options=options)

    beside = {name: each for name, each in own.items() if name != "options"}
    parameters = sorted([*beside.values(), *shared.values()], key=lambda each: each.kind)
    with_flags.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    with_flags.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_flags
