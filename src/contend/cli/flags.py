"""Arguments and options that several commands have."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from contend.cli.invocation import COMMAND
from contend.cli.words import speak

Command = Callable[..., None]


def with_options(
    command: Command, options: Iterable[Parameter], read: Callable[[dict[str, Any]], None], *, without: str = ""
) -> Command:
    """The command with these options behind its own. `read` takes out their values, and may put in others."""
    own = [each for name, each in signature(command).parameters.items() if name != without]

    @wraps(command)
    def with_more(**values: Any) -> None:  # noqa: ANN401 - what typer read
        read(values)
        command(**values)

    parameters = sorted([*own, *options], key=lambda each: each.kind)
    with_more.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    with_more.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_more


def option(
    name: str,
    kind: Any,  # noqa: ANN401 - any type
    flag: str,
    words: str,
    metavar: str | None = None,
    *,
    panel: str | None = None,
    callback: Callable[[bool], bool | None] | None = None,
) -> Parameter:
    """A parameter that typer reads as an option; None where it is not given, but for a switch."""
    own = typer.Option(flag, help=words, metavar=metavar, rich_help_panel=panel, callback=callback)
    annotation = Annotated[kind, own]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=False if kind is bool else None, annotation=annotation)


_WORKSPACE = option(
    "workspace",
    Path | None,
    "--workspace",
    "Folder of config, prompts, playbooks and results (env CONTEND_WORKSPACE)",
    "DIR",
)


def in_workspace(command: Command) -> Command:
    """The command with `--workspace`, its own or one given before it; it has its settings of `COMMAND`."""

    def read(values: dict[str, Any]) -> None:
        COMMAND.workspace = values.pop("workspace") or COMMAND.workspace

    return with_options(command, [_WORKSPACE], read)


def with_json(command: Command, words: str = "Print JSON.") -> Command:
    """The command with `--workspace` and `--json`; `print_json` tells whether it was given."""

    def read(values: dict[str, Any]) -> None:
        COMMAND.as_json = values.pop("as_json")

    return in_workspace(with_options(command, [option("as_json", bool, "--json", words)], read))


def with_json_lines(command: Command) -> Command:
    """The command with `--workspace`, and with `--json` for its events as they come."""
    return with_json(command, "Print each event as a line of JSON, the outcome last.")


def known_threads(context: typer.Context, incomplete: str) -> list[str]:
    """For a shell's completion."""
    from contend.cli import stored_runs

    COMMAND.workspace = context.params.get("workspace") or context.find_root().params.get("workspace")
    return [name for name in (stored_runs.LATEST, *stored_runs.known_threads()) if name.startswith(incomplete)]


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
LIMIT = Annotated[int | None, typer.Option(min=1, metavar="N", help="At most so many questions.")]
DATASET = Annotated[str, typer.Argument(metavar="DATASET", help="The playbook's dataset.")]
_LIMITS = "Limits"
_MODELS = "Models and learning"

REPLAY = Annotated[
    Path | None,
    typer.Option(
        "--replay",
        metavar="FILE",
        help="Play recorded model replies; no model is asked (env CONTEND_REPLAY).",
        rich_help_panel=_MODELS,
    ),
]


def _off(is_given: bool) -> bool | None:
    """Of an option that turns something off; a pair with an empty first name would widen the help by a column."""
    return False if is_given else None


_TEXT, _TEXTS, _WHOLE, _SWITCH = str | None, list[str] | None, int | None, bool | None
_RUN_OPTIONS = [
    option(
        "documents", list[Path] | None, "--docs", "A file or folder of your own documents; may be repeated.", "PATH"
    ),
    option("instructions", Path | None, "--instructions", "A text file with further instructions.", "FILE"),
    option("teams", _TEXTS, "--team", "A team to enter; may be repeated. Default: as --depth says.", "NAME"),
    option("sources", _TEXTS, "--source", "A source to use; may be repeated. Default: all that are on.", "NAME"),
    option(
        "depth",
        Literal["quick", "standard", "deep"] | None,
        "--depth",
        "One team and round, three teams and up to two rounds (default), or all and up to three.",
    ),
    option(
        "length",
        Literal["brief", "standard", "long"] | None,
        "--length",
        "About 500, 1,500 or 3,500 words. Default: standard, long for deep.",
    ),
    option("rounds", _TEXT, "--rounds", "Rounds per team, 1 to 10; `2` for exactly two.", "MIN:MAX"),
    option("dataset", _TEXT, "--dataset", "The playbook to start from and to learn into.", "NAME"),
    option("language", Literal["auto", "en", "ja"] | None, "--language", "Language of prompts and report."),
    option("model", _TEXT, "--model", "Model of every role.", "NAME", panel=_MODELS),
    option(
        "approve", _TEXTS, "--approve", "Wait for a person before it: plan, report, playbook; may be repeated.", "WHAT"
    ),
    option(
        "synthesis",
        _SWITCH,
        "--no-synthesis",
        "Publish the winner's report; no editor merges the best parts.",
        callback=_off,
    ),
    option("learn", _SWITCH, "--no-learn", "Write nothing into the playbook.", callback=_off, panel=_MODELS),
    option("playbook", _SWITCH, "--no-playbook", "Start without the playbook's lessons.", callback=_off, panel=_MODELS),
    option("max_tokens", _WHOLE, "--max-tokens", "Tokens of the whole run.", "N", panel=_LIMITS),
    option("max_usd", float | None, "--max-usd", "Money of the whole run; needs prices.", "N", panel=_LIMITS),
    option("max_minutes", float | None, "--max-minutes", "Active minutes of the whole run.", "N", panel=_LIMITS),
    option("max_calls", _WHOLE, "--max-calls", "Model calls of the whole run.", "N", panel=_LIMITS),
]


def with_run_options(command: Command) -> Command:
    """The command with the options of a run beside its own, which it gets as `options`."""

    def read(values: dict[str, Any]) -> None:
        speak(values.get("theme", ""), values["language"])
        from contend.cli.options import run_options

        values["options"] = run_options({each.name: values.pop(each.name) for each in _RUN_OPTIONS})

    return with_options(command, _RUN_OPTIONS, read, without="options")
