"""`contend serve`: becoming LangGraph's development server, opening its live page, and one elsewhere.

The queue of one elsewhere runs the questions of a batch, by its HTTP API.
"""

import asyncio
import json
import os
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Iterable, Mapping
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dotenv import dotenv_values
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from contend.cli import COMMAND, input_error, tr, ui
from contend.errors import ContendError, InputError
from contend.settings import SERVING, Settings, is_loopback
from contend.settings.files import load_config, resource
from contend.stores import write_file

if TYPE_CHECKING:
    import httpx

    from contend.cli.batch import BatchQuestion

_PAGE_SECONDS = 5.0


def serve_graphs(host: str, port: int, *, expose: bool) -> NoReturn:
    """Become the server's process.

    Raises:
        InputError: the extra is not installed, others could reach the address, the port is taken, or a config file is
            not usable.
    """
    if not expose and not is_loopback(host):
        raise input_error(
            "--host {host}: others could reach it; --expose allows it, with CONTEND_SERVER_TOKEN set", host=host
        )
    if not has_serve_extra():
        raise InputError(f"{tr('the extra `serve` is not installed')}: pip install 'contend[serve]'")
    settings = COMMAND.settings()
    if expose and settings.server_token is None:
        raise input_error(
            "--expose: set CONTEND_SERVER_TOKEN to a secret that clients send, such as `{command}` prints",
            command="openssl rand -hex 32",
        )
    folder = settings.folder
    load_config(folder)
    _check_free(host, port)
    config = folder / ".langgraph_api" / "contend.json"
    write_file(config, _absolute(resource("langgraph.json")))
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    line = tr("Serving the workspace {folder}: the live page is at {address}; Ctrl-C stops it.",
              folder=folder, address=f"http://{place}/app/")  # fmt: skip
    arguments = ["dev", "--no-browser", "--no-reload", "--config", str(config), "--host", host, "--port", str(port)]
    folders = {"CONTEND_WORKSPACE": str(folder), "CONTEND_STARTED_IN": str(settings.locate("."))}
    environment = {**_from_env_file(), **os.environ, **folders, SERVING: f"{place} {line}"}
    # The server keeps its queue below the folder it is started in: it belongs to the workspace.
    os.chdir(folder)
    os.execve(sys.executable, [sys.executable, "-m", "langgraph_cli", *arguments], environment)  # noqa: S606 - ours


def _check_free(host: str, port: int) -> None:
    """LangGraph's server would listen on a port that nobody was told of."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise input_error("--port {port}: {why}: end what listens there, or name another port",
                          port=port, why=why) from error  # fmt: skip


def has_serve_extra() -> bool:
    """Whether LangGraph's development server is installed."""
    return find_spec("langgraph_cli") is not None and find_spec("langgraph_api") is not None


def open_live_page(thread: str | None, port: int) -> None:
    """Print the page's address and open it in a browser, where there is one.

    Raises:
        UnknownThread: `latest` was asked for, and there is no run yet.
        InputError: no server of contend's answers at the port.
    """
    address = f"http://127.0.0.1:{port}/app/"
    if thread is not None:
        from contend.cli.runs import from_record, named_thread

        name = thread
        thread = from_record(COMMAND.settings(), lambda record: named_thread(record, name))
    _check_server(address, port)
    address += "" if thread is None else f"#/run/{thread}"
    ui.say(address)
    if not webbrowser.open(address):
        ui.note("No browser was found on this machine: open the address above in one.")


def _check_server(address: str, port: int) -> None:
    import httpx

    try:
        status = httpx.get(address, timeout=_PAGE_SECONDS, trust_env=False).status_code
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
        for name, value in dotenv_values(".env", encoding="utf-8-sig").items()
        if value is not None and (name.upper() in own or name.upper().startswith("CONTEND_"))
    }


_SECONDS_BETWEEN_LOOKS = 1.0
_ANSWER_SECONDS = 60.0


class ServerAwayError(ContendError):
    """The server does not answer, or not as one that works."""


_WHILE_AWAY = AsyncRetrying(
    retry=retry_if_exception_type(ServerAwayError),
    wait=wait_fixed(_SECONDS_BETWEEN_LOOKS),
    stop=stop_after_attempt(60),
    reraise=True,
)
"""A server that restarts is away for about a minute at most."""


class ResearchServer:
    """A client of the server at `url`; `token` may be empty."""

    def __init__(self, url: str, token: str) -> None:
        import httpx

        self._url = url.rstrip("/")
        headers = {b"Authorization": f"Bearer {token}".encode()} if token else {}
        try:
            self._http = httpx.AsyncClient(base_url=self._url, headers=headers, timeout=_ANSWER_SECONDS)
        except httpx.InvalidURL as error:
            raise input_error("--server {url}: no address: give one such as http://host:2024", url=url) from error

    async def aclose(self) -> None:
        await self._http.aclose()

    async def check(self, questions: Iterable["BatchQuestion"]) -> None:
        """All that the server can refuse of a question.

        Raises:
            InputError: it refuses one; nothing was spent.
            ContendError: it does not answer.
        """
        for each in questions:
            await self._ask("POST", "/research/dry-run", each, _request(each))

    async def start(self, question: "BatchQuestion") -> None:
        """Queue a question's run, unless the server knows it. Raises: as `check`."""
        await self._ask("PUT", f"/research/{question.thread}", question, _request(question))

    async def results(
        self, questions: Iterable["BatchQuestion"]
    ) -> AsyncIterator[tuple["BatchQuestion", dict[str, Any]]]:
        """The result of each question as it ends, `waiting` where a person is asked.

        A run that stopped is taken up again, once.

        Raises:
            ContendError: the server was away for more than a minute.
        """
        remaining, taken_up = list(questions), set[str]()
        while remaining:
            for each in [*remaining]:
                details: Mapping[str, Any] = await _WHILE_AWAY(self._ask, "GET", f"/research/{each.thread}", each)
                can_resume = details["status"] == "interrupted" and not details["waiting"]
                if can_resume and each.thread not in taken_up:
                    taken_up.add(each.thread)
                    await _WHILE_AWAY(self._ask, "POST", f"/research/{each.thread}/resume", each)
                elif details["status"] in {"completed", "failed", "interrupted"}:
                    remaining.remove(each)
                    yield each, self._result(each, details)
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS if remaining else 0)

    async def _ask(
        self, method: str, path: str, question: "BatchQuestion", body: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        import httpx

        try:
            answer = await self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            message = tr("--server {url}: it does not answer ({why}); the same command goes on when it does",
                         url=self._url, why=error or type(error).__name__)  # fmt: skip
            raise ServerAwayError(message) from error
        if answer.is_success:
            content: dict[str, Any] = answer.json()
            return content
        if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ServerAwayError(f"--server {self._url}: {_detail(answer)}")
        if answer.status_code == HTTPStatus.CONFLICT:
            return {}
        where = question.where if answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY else f"--server {self._url}"
        raise InputError(f"{where}: {_detail(answer)}")

    def _result(self, question: "BatchQuestion", details: Mapping[str, Any]) -> dict[str, Any]:
        # A run that could not begin has no execution: it is no result, and is tried again.
        has_run = bool(details["execution_id"])
        outcome = details["outcome"] if details["status"] != "interrupted" else None
        status = "waiting" if details["waiting"] else outcome if has_run and outcome else "not run"
        return {
            "status": status,
            "message": details["message"],
            "best_score": details["best_score"],
            "published": details.get("published"),
            "published_score": details.get("published_score"),
            "report": f"{self._url}/research/{question.thread}/report" if details["has_report"] else None,
            "usage": details["usage"],
        }


def _request(question: "BatchQuestion") -> dict[str, Any]:
    return {"theme": question.theme, "options": question.options.model_dump(mode="json", exclude_none=True)}


def _detail(answer: "httpx.Response") -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} {answer.reason_phrase}: is it a `contend serve`?"
