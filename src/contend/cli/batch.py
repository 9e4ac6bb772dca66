"""`contend batch`: a run for each line of a file, a result line each; the same command again goes on."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import Field
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from contend import app
from contend.cli import COMMAND, EXIT_ON_SIGNAL, input_error, tr, ui
from contend.cli.run import run_until_signal
from contend.cli.server import ResearchServer
from contend.errors import ContendError, InputError, UnknownThread
from contend.models.options import RunOptions
from contend.models.record import QuestionText, Record
from contend.models.task import checked_theme
from contend.parsing import parse_json
from contend.preflight import check_run
from contend.readiness import NotReady, check_folder
from contend.run_guard import TERMINAL
from contend.services import Services, open_services
from contend.settings import Settings, secret_text
from contend.settings.files import validate
from contend.stores import lease, write_file
from contend.stores.files import writing


class BatchLine(Record):
    """What a line of the file may hold."""

    theme: QuestionText
    id: str | None = Field(None, min_length=1, max_length=200)
    options: RunOptions = Field(default_factory=RunOptions)


@dataclass(frozen=True, eq=False)
class BatchQuestion:
    """A line with the options of its run. The same question with the same options has the same thread."""

    where: str
    id: str | None
    theme: str
    options: RunOptions

    @property
    def thread(self) -> str:
        identity = [self.id, self.theme, self.options.model_dump(mode="json", exclude_none=True)]
        return str(UUID(bytes=sha256(json.dumps(identity, sort_keys=True).encode()).digest()[:16], version=4))

    @property
    def identity(self) -> dict[str, str | None]:
        """How each result line begins."""
        return {"id": self.id, "thread": self.thread, "theme": self.theme}

    @property
    def name(self) -> str:
        return ui.plain(self.id or self.theme)


def read_batch(file: Path, common: RunOptions) -> list[BatchQuestion]:
    """The questions of a JSONL file, in order.

    Raises:
        InputError: the file or a line is not usable; names the line.
    """
    lines = enumerate(ui.file_text(file).split("\n"), start=1)
    questions = [_question(line, f"{file}:{number}", common) for number, line in lines if line.strip()]
    if not questions:
        raise input_error("{file}: holds no question: give one on each line", file=file)
    _check_distinct(questions)
    return questions


def _question(text: str, where: str, common: RunOptions) -> BatchQuestion:
    try:
        line = parse_json(text)
    except ValueError as error:
        raise input_error("{where}: no JSON ({why}): give an object with `theme`", where=where, why=error) from error
    values = {"theme": line} if isinstance(line, str) else line
    if not isinstance(values, Mapping):
        raise input_error("{where}: neither object nor text: give an object with `theme`", where=where)
    line = validate(BatchLine, values, where)
    both = common.model_dump(exclude_none=True) | line.options.model_dump(exclude_none=True)
    options = validate(RunOptions, both, where)
    try:
        return BatchQuestion(where, line.id, checked_theme(line.theme), options)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _check_distinct(questions: Sequence[BatchQuestion]) -> None:
    """Whether each result can be told from the others."""
    ids: dict[str, str] = {}
    for each in questions:
        first = ids.setdefault(each.id or each.thread, each.where)
        if first != each.where:
            raise input_error("{where}: the same as {first}: leave it out, or give each an `id` of its own",
                              where=each.where, first=first)  # fmt: skip


_BEGINNING = b'{"id": '
"""Of each result line: what is left of one that was cut off is told from another file's text."""


def run_batch(
    file: Path,
    options: RunOptions,
    *,
    out: Path | None,
    jobs: int,
    server: str | None,
    token: str | None,
    replay: Path | None,
) -> int:
    """Run each question of the file that has no result yet; the exit code. A line's own options win over `options`.

    With the address of a server the runs are in its queue, and it goes on with them when this process ends.

    Raises:
        InputError: the file, a line, the file of results or the token is not usable; nothing was spent.
        ContendError: a result could not be written, or the server does not answer.
    """
    settings = COMMAND.settings(replay=replay)
    path = (out or file.with_name(f"{file.stem}.results.jsonl")).expanduser().absolute()
    batch = Batch(read_batch(file, options), path, settings, queued=server is not None)
    check_folder(path.parent, "--out")
    key = token or secret_text(settings.server_token)
    work = batch.run(jobs) if server is None else batch.run_on(ResearchServer(server, key))
    with batch.progress:
        result = asyncio.run(run_until_signal(work, on_stop=batch.stopping, at_once=batch.progress.stop))
    statuses = [batch.statuses.get(each.thread, "") for each in batch.questions]
    code = EXIT_ON_SIGNAL if result is None else exit_code(statuses)
    batch.tell_end(code)
    return code


@dataclass
class Batch:
    """The questions, the file of their results, a line for each, and how their runs ended by thread."""

    questions: Sequence[BatchQuestion]
    file: Path
    settings: Settings
    queued: bool = False
    statuses: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        screen = ui.screen()
        is_hidden = COMMAND.as_json or not screen.is_terminal
        columns = (TextColumn("{task.description}"), MofNCompleteColumn(), BarColumn(), TimeElapsedColumn())
        self.progress = Progress(*columns, console=screen, transient=True, disable=is_hidden)
        self._bar = self.progress.add_task("", total=len(self.questions))

    async def run(self, jobs: int) -> bool:
        """Run what has no result yet, at most `jobs` at a time.

        Raises:
            InputError: a line would be refused; nothing was spent.
            ContendError: a result could not be written.
        """
        try:
            async with open_services(self.settings) as services, self._open_questions() as questions:
                await _check(services, questions)
                async with asyncio.TaskGroup() as group:
                    remaining = iter(questions)
                    for _ in range(jobs):
                        group.create_task(self._work(services, remaining))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        return True

    async def run_on(self, server: ResearchServer) -> bool:
        """Queue what has no result yet, and wait for the results.

        Raises:
            InputError: a line would be refused; nothing was spent.
            ContendError: the server does not answer, or a result could not be written.
        """
        async with aclosing(server), self._open_questions() as questions:
            await server.check(_one_of_each_options(questions))
            for each in questions:
                await server.start(each)
            async for question, result in server.results(questions):
                self._end(question, result)
        return True

    @asynccontextmanager
    async def _open_questions(self) -> AsyncIterator[list[BatchQuestion]]:
        """The questions without a result, which nobody else answers meanwhile."""
        batch = f"batch-{sha256(str(self.file).encode()).hexdigest()[:16]}"
        async with lease(self.settings, batch):
            self.statuses |= self._results()
            self.progress.update(self._bar, completed=len(self.statuses))
            yield [each for each in self.questions if each.thread not in self.statuses]

    def _results(self) -> dict[str, str]:
        """How the runs ended that have a line, by thread. A line that a full disk cut off goes: its run is on record.

        Raises:
            InputError: the file holds something else.
        """
        content = b""
        with writing(self.file), suppress(FileNotFoundError):
            content = self.file.read_bytes()
        lines, newline, cut_off = content.rpartition(b"\n")
        whole = lines + newline
        foreign = input_error("--out {file}: it holds other lines than results: name another file", file=self.file)
        if not _BEGINNING.startswith(cut_off[: len(_BEGINNING)]):
            raise foreign
        try:
            results = [json.loads(line) for line in whole.splitlines()]
            statuses = {str(result["thread"]): str(result["status"]) for result in results}
        except (ValueError, KeyError, TypeError) as error:
            raise foreign from error
        if cut_off:
            write_file(self.file, whole)
        return statuses

    async def _work(self, services: Services, remaining: Iterator[BatchQuestion]) -> None:
        for question in remaining:
            try:
                result = await _result(services, question)
            except (ContendError, OSError) as error:
                reason = ui.system_fault(error) if isinstance(error, OSError) else str(error)
                result = {"status": "not run", "message": reason}
            self._end(question, result)

    def _end(self, question: BatchQuestion, result: Mapping[str, Any]) -> None:
        status = self.statuses[question.thread] = result["status"]
        self.progress.update(self._bar, completed=len(self.statuses))
        result_line = {**question.identity, **result}
        if status in TERMINAL:
            with writing(self.file), self.file.open("ab", buffering=0) as file:  # a line is one write
                file.write(f"{json.dumps(result_line, ensure_ascii=False)}\n".encode())
        if COMMAND.as_json:
            ui.say_line({"type": "result", **result_line})
            return
        end = tr(ui.STATUS.get(status, "Failed"))
        score = result.get("best_score") if result.get("published") != "editor" else result["published_score"]
        best = "" if score is None else f" {ui.score_text(score)}"
        why = result.get("report") if status == "completed" else result["message"]
        why = ui.plain(tr(why)) if why else ""
        progress_line = f"{len(self.statuses)}/{len(self.questions)}  {question.name}: {end}{best}  {why}"
        self.progress.console.print(progress_line, soft_wrap=True)

    def stopping(self) -> None:
        self.progress.update(self._bar, description=tr("Stopping; Ctrl-C again ends at once"))
        if not self.progress.console.is_terminal:
            ui.note("stopping; once more ends at once")

    def tell_end(self, code: int) -> None:
        """How many came to which end, and where the results are."""
        statuses = list(self.statuses.values())
        completed, partial = statuses.count("completed"), statuses.count("partial")
        message = tr("{completed} of {all} completed, {partial} partial; results in {file}",
                     completed=completed, all=len(self.questions), partial=partial, file=self.file)  # fmt: skip
        if code == EXIT_ON_SIGNAL:
            goes_on = "{reason}; the server goes on, the same command fetches the rest"
            message = tr(goes_on if self.queued else "{reason}; the same command goes on", reason=message)
        if COMMAND.as_json:
            ui.say_line({"type": "outcome", "exit_code": code, "message": message})
        else:
            ui.say(message)


def _one_of_each_options(questions: Sequence[BatchQuestion]) -> list[BatchQuestion]:
    """The first of those with the same options: what is refused of one is refused of all."""
    return [*{str(each.options): each for each in reversed(questions)}.values()]


async def _check(services: Services, questions: Sequence[BatchQuestion]) -> None:
    """All that can be refused of a run."""
    for each in _one_of_each_options(questions):
        try:
            await check_run(services, each.theme, [], each.options)
        except NotReady:
            raise
        except InputError as error:
            raise InputError(f"{each.where}: {error}") from error


async def _result(services: Services, question: BatchQuestion) -> dict[str, Any]:
    """The result of a finished, resumed or new run."""
    on_event = ui.say_line if COMMAND.as_json else None
    try:
        outcome = await app.resume(question.thread, services=services, on_event=on_event)
    except UnknownThread:
        outcome = await app.run(
            question.theme, thread_id=question.thread, options=question.options, services=services, on_event=on_event
        )
    return {
        "status": "waiting" if outcome.questions else outcome.status,
        "message": outcome.message,
        "best_score": outcome.summary.best_score if outcome.summary else None,
        "published": outcome.summary.published if outcome.summary else None,
        "published_score": outcome.summary.published_score if outcome.summary else None,
        "report": outcome.files[0] if outcome.files else None,
        "usage": outcome.usage.model_dump(mode="json"),
    }


def exit_code(statuses: Sequence[str]) -> int:
    """0 where all completed, 3 where one waits for a person, 1 where there is a report, else 2."""
    if set(statuses) == {"completed"}:
        return 0
    if "waiting" in statuses:
        return app.WAITING
    return 1 if {"completed", "partial"}.intersection(statuses) else 2
