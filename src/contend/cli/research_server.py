"""A `contend serve` elsewhere, whose queue runs the questions of a batch, by its HTTP API."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from http import HTTPStatus
from typing import Any

import httpx

from contend.cli.batch_questions import BatchQuestion
from contend.cli.words import input_error, tr
from contend.errors import ContendError, InputError

_SECONDS_BETWEEN_LOOKS = 1.0
_ANSWER_SECONDS = 60.0
_LOOKS_IN_VAIN = 60
"""A server that restarts is away for so many looks at most."""


class ResearchServer:
    """A client of the server at `url`; `token` may be empty."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        headers = {b"Authorization": f"Bearer {token}".encode()} if token else {}
        try:
            self._http = httpx.AsyncClient(base_url=self._url, headers=headers, timeout=_ANSWER_SECONDS)
        except httpx.InvalidURL as error:
            raise input_error("--server {url}: no address: give one such as http://host:2024", url=url) from error

    async def aclose(self) -> None:
        await self._http.aclose()

    async def check(self, questions: Iterable[BatchQuestion]) -> None:
        """All that the server can refuse of a question, once for those with the same options.

        Raises:
            InputError: it refuses one; nothing was spent.
            ContendError: it does not answer.
        """
        for each in {str(each.options): each for each in reversed([*questions])}.values():
            await self._ask("POST", "/research/dry-run", each, _request(each))

    async def start(self, question: BatchQuestion) -> None:
        """Queue a question's run, unless the server knows it. Raises: as `check`."""
        await self._ask("PUT", f"/research/{question.thread}", question, _request(question))

    async def results(self, questions: Iterable[BatchQuestion]) -> AsyncIterator[tuple[BatchQuestion, dict[str, Any]]]:
        """The result of each question as it ends, `waiting` where a person is asked.

        A run that stopped is taken up again, once.

        Raises:
            ContendError: the server was away for more than a minute.
        """
        remaining, taken_up, in_vain = list(questions), set[str](), 0
        while remaining:
            try:
                for each in [*remaining]:
                    details = await self._ask("GET", f"/research/{each.thread}", each)
                    can_resume = details["status"] == "interrupted" and not details["waiting"]
                    if can_resume and each.thread not in taken_up:
                        taken_up.add(each.thread)
                        await self._ask("POST", f"/research/{each.thread}/resume", each)
                    elif details["status"] in {"completed", "failed", "interrupted"}:
                        remaining.remove(each)
                        yield each, self._result(each, details)
                in_vain = 0
            except ServerAwayError:
                in_vain += 1
                if in_vain >= _LOOKS_IN_VAIN:
                    raise
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS if remaining else 0)

    async def _ask(
        self, method: str, path: str, question: BatchQuestion, body: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
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

    def _result(self, question: BatchQuestion, details: Mapping[str, Any]) -> dict[str, Any]:
        # A run that could not begin has no execution: it is no result, and is tried again.
        has_run = bool(details["execution_id"])
        outcome = details["outcome"] if details["status"] != "interrupted" else None
        status = "waiting" if details["waiting"] else outcome if has_run and outcome else "not run"
        return {
            "status": status,
            "message": details["message"],
            "best_score": details["best_score"],
            "report": f"{self._url}/research/{question.thread}/report" if details["has_report"] else None,
            "usage": details["usage"],
        }


class ServerAwayError(ContendError):
    """The server does not answer, or not as one that works."""


def _request(question: BatchQuestion) -> dict[str, Any]:
    return {"theme": question.theme, "options": question.options.model_dump(mode="json", exclude_none=True)}


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} {answer.reason_phrase}: is it a `contend serve`?"
