"""Starting LangGraph's development server on contend's graphs."""

import ipaddress
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from pydantic import SecretStr

from contend.cli.screen import note
from contend.errors import InputError
from contend.resources import resource
from contend.settings import Settings, load_config, load_settings
from contend.stores.files import write_file

RUNS_AT_ONCE = 4
"""By itself the development server lets a thread's run wait until another thread's has ended."""

_ENVIRONMENT = {
    "LANGSMITH_TRACING": "false",
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_STRICT_MSGPACK": "true",
}


def serve_graphs(host: str, port: int, *, expose: bool, workspace: Path | None) -> NoReturn:
    """Become the server's process.

    Raises:
        InputError: the extra is not installed, the address is open to others, or a config file is not usable.
    """
    if not expose and not is_loopback(host):
        raise InputError(f"--host {host}: others could reach it, and nobody is asked who they are; --expose allows it")
    if find_spec("langgraph_cli") is None or find_spec("langgraph_api") is None:
        raise InputError("the extra `serve` is not installed: pip install 'contend[serve]'")
    settings = load_settings(workspace=workspace)
    folder = settings.folder
    load_config(folder)
    config = folder / ".langgraph_api" / "contend.json"
    write_file(config, json.dumps(_absolute(resource("langgraph.json")), indent=2))
    note(f"Serving the workspace {folder} on http://{host}:{port}; Ctrl-C stops it.")
    sys.stderr.flush()
    arguments = ["dev", "--no-browser", "--no-reload", "--n-jobs-per-worker", str(RUNS_AT_ONCE)]
    arguments += ["--config", str(config), "--host", host, "--port", str(port)]
    environment = {**_ENVIRONMENT, **os.environ, **_own_variables(settings), "CONTEND_WORKSPACE": str(folder)}
    # The server keeps its queue below the folder it is started in: it belongs to the workspace.
    os.chdir(folder)
    os.execve(sys.executable, [sys.executable, "-m", "langgraph_cli", *arguments], environment)  # noqa: S606 - ours


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _absolute(path: Path) -> dict[str, Any]:
    """The server's config with the paths in it made absolute: it reads them from the folder it is started in."""

    def settled(value: Any) -> Any:  # noqa: ANN401 - JSON
        if isinstance(value, dict):
            return {key: settled(inner) for key, inner in value.items()}
        if isinstance(value, str) and value.startswith("./"):
            return str(path.parent / value)
        return value

    config: dict[str, Any] = settled(json.loads(path.read_text("utf-8")))
    return config


def _own_variables(settings: Settings) -> dict[str, str]:
    """What this process was set to, also by a `.env` file that the server would not find."""
    variables = {}
    for name in settings.model_fields_set - {"workspace"}:
        variable = str(Settings.model_fields[name].validation_alias or f"CONTEND_{name.upper()}")
        value = getattr(settings, name)
        variables[variable] = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
    return variables
