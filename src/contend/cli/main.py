"""The command `contend`: its commands, and the one place where errors become a line and an exit code."""

import atexit
import logging
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from typer import Option

from contend.cli import COMMAND, EXIT_ON_SIGNAL, WORKSPACE, speak, tr
from contend.cli.commands import app, config, playbook
from contend.errors import ContendError, without_secrets

BAD_INPUT = 2
_DEFAULTS = {
    "LANGSMITH_TRACING": "false",  # nothing leaves the machine unasked
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",  # the same, of `contend serve`
    "LANGGRAPH_STRICT_MSGPACK": "true",  # checkpoints hold plain data only
}


def _version(is_set: bool) -> None:
    if is_set:
        from importlib.metadata import version

        typer.echo(f"contend {version('contend')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _globals(
    context: typer.Context,
    *,
    verbose: Annotated[bool, Option("--verbose", help="Log what happens on standard error.")] = False,
    version: Annotated[  # noqa: ARG001 - its callback prints it
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    workspace: WORKSPACE = None,
) -> None:
    COMMAND.workspace = workspace
    _log(verbose=verbose)
    _help_without_command(context)


@playbook.callback(invoke_without_command=True)
@config.callback(invoke_without_command=True)
def _help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 partial, 2 no report or bad input, 3 waiting, 130 stopped."""
    code: int | None = None
    atexit.register(lambda: _leave(code))
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    _settle_environment()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # the interpreter's own streams
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    code = run_command(sys.argv[1:])
    sys.exit(code)


def _settle_environment() -> None:
    """Cope with bare containers: use the working directory as home if there is none, and UTF-8 instead of ASCII."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = str(Path.cwd())
    if sys.getfilesystemencoding() == "ascii":
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "contend", *sys.argv[1:]])  # noqa: S606 - this program again


def _leave(code: int | None) -> None:
    """At once where a thread of teams' graphs is left: one of them may block it for ever.

    The interpreter cannot take apart what such a thread holds, and DuckDB complains of that on standard error.
    """
    # Where no graph was loaded, neither was the module, which takes a second.
    loop = sys.modules.get("contend.graph_teams.running")
    if code is not None and loop is not None and loop.threads_left():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command in this process; its exit code. Errors are told on standard error, in one line."""
    COMMAND.workspace, COMMAND.as_json = None, False
    speak()
    try:
        return int(app(args=list(arguments), prog_name="contend", standalone_mode=False) or 0)
    except ContendError as error:
        return _refuse(str(error))
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        see = tr("See `{command} --help`.", command=context.command_path if context else "contend")
        reason = error.format_message().replace("Value error, ", "").rstrip(".")
        names = [parameter.name or "" for parameter in context.command.params] if context else []
        return _refuse(f"{_with_remedy(reason, names)}. {see}")
    except OSError as error:
        from contend.cli.ui import system_fault

        return _refuse(system_fault(error))
    except Exception as error:  # noqa: BLE001 - the top: a defect ends in one line too
        return _refuse(defect(error))


_EXTRA = re.compile(r"Got unexpected extra argument\(s\) \(([^\s)]+)")
_TEXTS = {
    "theme": "put the question in quotes",
    "query": "put the question in quotes",
    "content": "put the lesson in quotes",
}


def _with_remedy(reason: str, parameters: Sequence[str]) -> str:
    """Explain extra arguments: an unquoted question, or a pattern that the shell expanded."""
    extra = _EXTRA.match(reason)
    if extra and "documents" in parameters and Path(extra[1]).exists():
        return f"{reason}: {tr('name the folder, or each file by a --docs of its own')}"
    remedies = [tr(_TEXTS[name]) for name in parameters if name in _TEXTS]
    return f"{reason}: {remedies[0]}" if extra and remedies else reason


def defect(error: Exception) -> str:
    """What a defect is called, and where its details are where they could be kept."""
    name = _without_keys(f"{type(error).__name__}: {error}")
    try:
        return tr("{error}; a defect of contend's, details in {path}", error=name, path=keep_details(error))
    except (OSError, RuntimeError):  # such as no home folder
        return tr("{error}; a defect of contend's; its details could not be kept", error=name)


def keep_details(error: Exception) -> Path:
    """Append the traceback, without secrets, to a log outside any workspace."""
    from platformdirs import user_log_path

    path = user_log_path("contend", appauthor=False, ensure_exists=True) / "errors.log"
    text = "".join(traceback.format_exception(error))
    with path.open("a", encoding="utf-8") as log:
        log.write(f"{datetime.now(UTC).isoformat(timespec='seconds')}\n{_without_keys(text)}\n")
    return path


def _without_keys(text: str) -> str:
    """Without those of the `.env` file either, where it can be read."""
    from dotenv import dotenv_values

    with suppress(OSError, UnicodeDecodeError):
        return without_secrets(text, dotenv_values(".env", encoding="utf-8-sig"))
    return without_secrets(text)


def _refuse(message: str) -> int:
    from contend.text import clean

    typer.echo(f"error: {clean(message, single_line=True)}", err=True)
    return BAD_INPUT


def _stop(*_: int | FrameType | None) -> None:
    """Before and after a run; while one goes, `run_until_signal` listens instead."""
    os.write(2, f"{tr('stopped')}\n".encode())
    os._exit(EXIT_ON_SIGNAL)


def _log(*, verbose: bool) -> None:
    """Silent unless asked: what a person must know is said by the commands themselves."""
    if not verbose:
        logging.getLogger().addHandler(logging.NullHandler())
        return
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("contend").setLevel(logging.INFO)
