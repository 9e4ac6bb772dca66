"""LangGraph's development server on contend's graphs, and the live page that it serves."""

import json
import os
import sys
import webbrowser
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from dotenv import dotenv_values

from contend.cli.invocation import COMMAND
from contend.cli.screen import note, say
from contend.cli.words import input_error, tr
from contend.errors import InputError
from contend.settings import Settings, is_loopback, load_config
from contend.settings.files import resource
from contend.stores import write_file

_ANSWER_SECONDS = 5.0


def serve_graphs(host: str, port: int, *, expose: bool) -> NoReturn:
    """Become the server's process.

    Raises:
        InputError: the extra is not installed, others could reach the address, or a config file is not usable.
    """
    if not expose and not is_loopback(host):
        raise input_error(
            "--host {host}: others could reach it; --expose allows it, with CONTEND_SERVER_TOKEN set", host=host
        )
    if find_spec("langgraph_cli") is None or find_spec("langgraph_api") is None:
        raise InputError(f"{tr('the extra `serve` is not installed')}: pip install 'contend[serve]'")
    settings = COMMAND.settings()
    if expose and settings.server_token is None:
        raise input_error(
            "--expose: set CONTEND_SERVER_TOKEN to a secret that clients send, such as `{command}` prints",
            command="openssl rand -hex 32",
        )
    folder = settings.folder
    load_config(folder)
    config = folder / ".langgraph_api" / "contend.json"
    write_file(config, _absolute(resource("langgraph.json")))
    note(
        "Serving the workspace {folder} on {address}, the live page at {address}/app/; Ctrl-C stops it.",
        folder=folder,
        address=f"http://{host}:{port}",
    )
    sys.stderr.flush()
    arguments = ["dev", "--no-browser", "--no-reload", "--config", str(config), "--host", host, "--port", str(port)]
    folders = {"CONTEND_WORKSPACE": str(folder), "CONTEND_STARTED_IN": str(settings.located("."))}
    environment = {**_from_env_file(), **os.environ, **folders}
    # The server keeps its queue below the folder it is started in: it belongs to the workspace.
    os.chdir(folder)
    os.execve(sys.executable, [sys.executable, "-m", "langgraph_cli", *arguments], environment)  # noqa: S606 - ours


def open_live_page(thread: str | None, port: int) -> None:
    """Print the page's address and open it in a browser, where there is one.

    Raises:
        UnknownThread: `latest` was asked for, and there is no run yet.
        InputError: no server of contend's answers at the port.
    """
    from contend.cli.stored_runs import from_record, named_thread

    address = f"http://127.0.0.1:{port}/app/"
    if thread is not None:
        name = thread
        thread = from_record(COMMAND.settings(), lambda record: named_thread(record, name))
    _check_served(address, port)
    address += "" if thread is None else f"#/run/{thread}"
    say(address)
    if not webbrowser.open(address):
        note("No browser was found on this machine: open the address above in one.")


def _check_served(address: str, port: int) -> None:
    import httpx

    try:
        status = httpx.get(address, timeout=_ANSWER_SECONDS, trust_env=False).status_code
    except httpx.HTTPError as error:
        why = tr("--port {port}: no server answers at {address}: start `contend serve`", port=port, address=address)
        raise InputError(why) from error
    if status == HTTPStatus.NOT_FOUND:
        raise input_error("--port {port}: the server there has no page at {address}: is it `contend serve`?",
                          port=port, address=address)  # fmt: skip


def _absolute(config: Path) -> str:
    """The server's config with the paths in it made absolute: it reads them from the folder it is started in."""
    folder = json.dumps(str(config.parent))[1:-1]
    return config.read_text("utf-8").replace('"./', f'"{folder}/')


def _from_env_file() -> dict[str, str]:
    """What a `.env` file sets for contend, as it stands there: the server runs in another folder and finds none."""
    own = {str(field.validation_alias) for field in Settings.model_fields.values() if field.validation_alias}
    return {
        name: value
        for name, value in dotenv_values(".env").items()
        if value is not None and (name.upper() in own or name.upper().startswith("CONTEND_"))
    }
