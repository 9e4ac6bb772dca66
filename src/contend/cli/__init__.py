"""The command line: what holds for a whole command, and how one is declared.

Messages are English as they stand in the code, Japanese by `ja.toml`.
"""

import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial, wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from contend.errors import InputError
from contend.loading import loading

if TYPE_CHECKING:
    from contend.models.options import RunOptions
    from contend.settings import Settings

EXIT_ON_SIGNAL = 130
"""As shells have it of a process that SIGINT ended."""


@dataclass
class Invocation:
    """The command that this process runs. `workspace`: the one that it was given; `as_json`: a program reads it."""

    workspace: Path | None = None
    as_json: bool = False
    is_japanese: bool = False

    def settings(self, **values: Any) -> "Settings":  # noqa: ANN401 - as `load_settings` takes them
        """Of the command's workspace. Raises: InputError."""
        from contend.settings import load_settings

        return load_settings(workspace=self.workspace, **values)


COMMAND = Invocation()


@cache
def japanese() -> Mapping[str, str]:
    """Each message in Japanese."""
    return tomllib.loads(Path(__file__).with_name("ja.toml").read_text("utf-8"))


def speak(theme: str = "", language: str | None = None) -> None:
    """Japanese where the locale or the run's language is: the one that was chosen, else its question's."""
    if theme and language in {None, "auto"}:
        # Help has no text: what reads texts is imported where there is one.
        from contend.text import question_language

        language = question_language(theme)
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((value for name in names if (value := os.environ.get(name))), "")
    COMMAND.is_japanese = language == "ja" or locale.startswith("ja")


def is_japanese() -> bool:
    """Programs read English wherever they run."""
    return COMMAND.is_japanese and not COMMAND.as_json


def tr(message: str, /, **values: object) -> str:
    """The message in the language of this process, with its values; in English where it has no other."""
    words = japanese().get(message, message) if is_japanese() else message
    return words.format(**values) if values else words


def input_error(message: str, /, **values: object) -> InputError:
    """A refusal in the language of this process."""
    return InputError(tr(message, **values))


JSON = "Print JSON."
JSON_LINES = "Print each event as a line of JSON, the outcome last."


def command(
    app: typer.Typer, work: str, *, name: str | None = None, json: str | None = None, workspace: bool = True
) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """Make a function's arguments, options and docstring a command of `app`.

    `work` names what is called with their values, such as `runs:show_status`; it is imported when the command runs, so
    that `--help` need not, and returns the exit code. `json` says what `--json` prints, and whether there is one. An
    argument `options` stands for all options of a run.
    """
    module, function = work.split(":")

    def declare(declaration: Callable[..., None]) -> Callable[..., Any]:
        own = dict(signature(declaration).parameters)
        is_run = own.pop("options", None) is not None
        more = [*_RUN_OPTIONS] if is_run else []
        more += [_option("as_json", Annotated[bool, Option("--json", help=json)], default=False)] if json else []
        more += [_option("workspace", WORKSPACE)] if workspace else []
        parameters = sorted([*own.values(), *more], key=lambda each: each.kind)

        @wraps(declaration)
        def run(**values: Any) -> Any:  # noqa: ANN401 - what typer read, and the exit code
            COMMAND.workspace = values.pop("workspace", None) or COMMAND.workspace
            COMMAND.as_json = values.pop("as_json", False)
            if is_run:
                if "theme" in values:
                    values["theme"] = _question(values["theme"])
                speak(values.get("theme", ""), values["language"])
                values["options"] = _run_options({each.name: values.pop(each.name) for each in _RUN_OPTIONS})
            with loading():
                work = getattr(import_module(f"contend.cli.{module}"), function)
            return work(**values)

        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        app.command(name)(run)
        return run

    return declare


_WORKSPACE = "Folder of config, prompts, playbooks and results (env CONTEND_WORKSPACE)"
WORKSPACE = Annotated[Path | None, Option("--workspace", metavar="DIR", help=_WORKSPACE)]


def known_threads(context: typer.Context, incomplete: str) -> list[str]:
    """For a shell's completion."""
    from contend.cli import runs

    COMMAND.workspace = context.params.get("workspace") or context.find_root().params.get("workspace")
    return [name for name in (runs.LATEST, *runs.stored_threads()) if name.startswith(incomplete)]


def _option(name: str, kind: Any, default: object = None) -> Parameter:  # noqa: ANN401 - any type
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


THREAD_HELP = "The thread's id as `contend runs` lists it, its beginning, or `latest`."
THREAD = Annotated[str, Argument(metavar="THREAD", help=THREAD_HELP, autocompletion=known_threads)]
LATEST_THREAD = Annotated[str, Argument(metavar="[THREAD]", help=THREAD_HELP, autocompletion=known_threads)]
OUT = Annotated[
    Path | None,
    Option("--out", metavar="DIR", help="Folder of the report's files. Default: contend-results/ and the question."),
]
FORM = Annotated[
    Literal["number", "expression", "choice", "json", "text"],
    Option("--format", help="What an answer is; an expression is computed by code."),
]
LIMIT = Annotated[int | None, Option(min=1, metavar="N", help="At most so many questions.")]
DATASET = Annotated[str, Argument(metavar="DATASET", help="The playbook's dataset.")]
_MODELS = "Models and learning"

_REPLAY = "Play recorded model replies; no model is asked (env CONTEND_REPLAY)."
REPLAY = Annotated[Path | None, Option("--replay", metavar="FILE", help=_REPLAY, rich_help_panel=_MODELS)]


_limit = partial(Option, metavar="N", rich_help_panel="Limits")
_name = partial(Option, metavar="NAME")
_off = partial(Option, callback=lambda is_given: False if is_given else None)
"""Turns something off; a pair with an empty first name would widen the help by a column."""

_Name = str | None
_Names = list[str] | None
_Amount = float | None
_Switch = bool | None
_Depth = Literal["auto", "quick", "standard", "deep"] | None
_Length = Literal["brief", "standard", "long"] | None
_WHAT = "Wait for a person before it: plan, report, playbook; may be repeated."
_DOCS = "A file or folder of your own documents; may be repeated."
_DEPTHS = (
    "auto (default): one team, more where it leaves something open; quick: one team, a round and mending; standard: "
    "three teams, two rounds; deep: all, three."
)
_LENGTHS = "About 500, 1,500 or 3,500 words. Default: standard, long for deep."
_SYNTHESIS = "Publish the winner's report; no editor merges the best parts."
_TEAMS = "A team to enter; may be repeated. Default: as --depth says."
_SOURCES = "A source to use; may be repeated. Default: all that are on."
_CRITERIA = "Criteria for the judges that you wrote: criteria/NAME.toml. Default: a model sets them."
_LEARN = "Write nothing into the playbook."
_LESSONS = "Start without the playbook's lessons."


def _declare_run(
    *,
    documents: Annotated[list[str] | None, Option("--docs", metavar="PATH", help=_DOCS)] = None,
    instructions: Annotated[Path | None, Option(metavar="FILE", help="A text file with further instructions.")] = None,
    criteria: Annotated[_Name, _name(help=_CRITERIA)] = None,
    teams: Annotated[_Names, _name("--team", help=_TEAMS)] = None,
    sources: Annotated[_Names, _name("--source", help=_SOURCES)] = None,
    depth: Annotated[_Depth, Option(metavar="DEPTH", help=_DEPTHS)] = None,
    length: Annotated[_Length, Option(help=_LENGTHS)] = None,
    rounds: Annotated[_Name, Option(metavar="MIN:MAX", help="Rounds per team, 1 to 10; `2` for exactly two.")] = None,
    dataset: Annotated[_Name, _name(help="The playbook to start from and to learn into.")] = None,
    language: Annotated[Literal["auto", "en", "ja"] | None, Option(help="Language of prompts and report.")] = None,
    model: Annotated[_Name, _name(help="Model of every role.", rich_help_panel=_MODELS)] = None,
    approve: Annotated[_Names, Option(metavar="WHAT", help=_WHAT)] = None,
    synthesis: Annotated[_Switch, _off("--no-synthesis", help=_SYNTHESIS)] = None,
    learn: Annotated[_Switch, _off("--no-learn", help=_LEARN, rich_help_panel=_MODELS)] = None,
    playbook: Annotated[_Switch, _off("--no-playbook", help=_LESSONS, rich_help_panel=_MODELS)] = None,
    max_tokens: Annotated[int | None, _limit(help="Tokens of the whole run.")] = None,
    max_usd: Annotated[_Amount, _limit(help="Money of the whole run; needs prices.")] = None,
    max_minutes: Annotated[_Amount, _limit(help="Active minutes of the whole run.")] = None,
    max_calls: Annotated[int | None, _limit(help="Model calls of the whole run.")] = None,
) -> None:
    """The options of a run."""


_RUN_OPTIONS = [*signature(_declare_run).parameters.values()]


def _run_options(flags: dict[str, Any]) -> "RunOptions":
    """What the flags of a run say; document paths absolute, names also separated by commas.

    Raises:
        InputError: a value is not usable.
    """
    from contend.models.options import RunOptions
    from contend.settings.files import validate

    instructions, rounds = flags["instructions"], flags.pop("rounds")
    values = {
        **flags,
        "documents": [*map(_document, flags["documents"] or [])] or None,
        "instructions": None if instructions is None else _instructions(instructions),
        **{name: _names(flags[name]) for name in ("teams", "sources", "approve")},
        **({} if rounds is None else _rounds(rounds)),
    }
    return validate(RunOptions, {name: value for name, value in values.items() if value is not None}, "run")


_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PATTERN = re.compile(r"[*?\[]")


def _document(name: str) -> str:
    """The absolute path of a named file or folder.

    Raises:
        InputError: it is an address, or a pattern that no shell has expanded.
    """
    path = Path(name).expanduser().absolute()
    if _ADDRESS.match(name):
        raise input_error("--docs {name}: an address: save the page as a file and name that; to search the web, set "
                          "TAVILY_API_KEY", name=name)  # fmt: skip
    if _PATTERN.search(name) and not path.exists():
        raise input_error("--docs {name}: a pattern: name the folder, or each file by a --docs of its own", name=name)
    return str(path)


def _question(theme: str) -> str:
    """The question: the argument itself, the file after `@`, or standard input for `-`.

    Raises:
        InputError: it cannot be read.
    """
    if theme == "-":
        try:
            return sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise input_error("{file}: not UTF-8 text: save it as UTF-8", file="-") from error
    if not theme.startswith("@"):
        return theme
    from contend.cli.ui import file_text

    return file_text(Path(theme[1:]), "@")


def _instructions(path: Path) -> str:
    from contend.cli.ui import file_text

    text = file_text(path, "--instructions ")
    if not text.strip():
        raise input_error("--instructions {file}: holds nothing: write what the report has to be, or leave it out",
                          file=path)  # fmt: skip
    return text


def _rounds(rounds: str) -> dict[str, int]:
    least, colon, most = rounds.partition(":")
    try:
        return {"min_rounds": int(least), "max_rounds": int(most if colon else least)}
    except ValueError:
        raise input_error("--rounds {rounds}: give MIN:MAX, such as 1:3, or one number", rounds=repr(rounds)) from None


def _names(texts: list[str] | None) -> list[str] | None:
    names = [name.strip() for text in texts or [] for name in text.split(",")]
    return [name for name in names if name] or None
