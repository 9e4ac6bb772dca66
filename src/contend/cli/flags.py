"""Arguments and options that several commands have."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
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


_WORKSPACE = typer.Option(
    "--workspace", metavar="DIR", help="Folder of config, prompts, playbooks and results (env CONTEND_WORKSPACE)"
)


def in_workspace(command: Command) -> Command:
    """The command with `--workspace`, its own or one given before it; it has its settings of `COMMAND`."""

    def read(values: dict[str, Any]) -> None:
        COMMAND.workspace = values.pop("workspace") or COMMAND.workspace

    return with_options(command, [_option("workspace", Annotated[Path | None, _WORKSPACE])], read)


def with_json(command: Command, words: str = "Print JSON.") -> Command:
    """The command with `--workspace` and `--json`; `print_json` tells whether it was given."""

    def read(values: dict[str, Any]) -> None:
        COMMAND.as_json = values.pop("as_json")

    option = _option("as_json", Annotated[bool, typer.Option("--json", help=words)], default=False)
    return in_workspace(with_options(command, [option], read))


def with_json_lines(command: Command) -> Command:
    """The command with `--workspace`, and with `--json` for its events as they come."""
    return with_json(command, "Print each event as a line of JSON, the outcome last.")


def _option(name: str, annotation: Any, default: object = None) -> Parameter:  # noqa: ANN401 - any type with typer's words
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


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


def _off(is_given: bool | None) -> bool | None:
    """Of an option that turns something off; a pair with an empty first name would widen the help by a column."""
    return False if is_given else None


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """The options of a run, as typer reads them."""

    documents: Annotated[
        list[Path] | None,
        typer.Option("--docs", metavar="PATH", help="A file or folder of your own documents; may be repeated."),
    ] = None
    instructions: Annotated[
        Path | None, typer.Option("--instructions", metavar="FILE", help="A text file with further instructions.")
    ] = None
    teams: Annotated[
        list[str] | None,
        typer.Option("--team", metavar="NAME", help="A team to enter; may be repeated. Default: as --depth says."),
    ] = None
    sources: Annotated[
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
    synthesis: Annotated[
        bool | None,
        typer.Option(
            "--no-synthesis", callback=_off, help="Publish the winner's report; no editor merges the best parts."
        ),
    ] = None
    learn: Annotated[
        bool | None,
        typer.Option("--no-learn", callback=_off, rich_help_panel=_MODELS, help="Write nothing into the playbook."),
    ] = None
    playbook: Annotated[
        bool | None,
        typer.Option(
            "--no-playbook", callback=_off, rich_help_panel=_MODELS, help="Start without the playbook's lessons."
        ),
    ] = None
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


def with_run_options(command: Command) -> Command:
    """The command with the options of a run beside its own, which it gets as `options`."""
    flags = signature(RunFlags).parameters

    def read(values: dict[str, Any]) -> None:
        speak(values.get("theme", ""), values["language"])
        from contend.cli.options import run_options

        values["options"] = run_options({name: values.pop(name) for name in flags})

    return with_options(command, flags.values(), read, without="options")
