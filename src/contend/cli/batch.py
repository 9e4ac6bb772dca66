"""`contend batch`: a run for each line of a file, a result line each; the same command again goes on."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import Field
from rich.console import Console
from rich.live import Live
from rich.table import Table

from contend import app
from contend.cli import COMMAND, input_error, tr, ui
from contend.cli.live import Board
from contend.cli.run import STOPPED, until_stopped
from contend.cli.server import ResearchServer
from contend.errors import ContendError, InputError, UnknownThread
from contend.models.events import AnyEvent
from contend.models.options import Instructions, RunOptions
from contend.models.record import QuestionText, Record
from contend.models.task import checked_theme
from contend.preflight import check_run
from contend.readiness import NotReady, check_folder
from contend.run_guard import TERMINAL
from contend.services import Services, open_services
from contend.settings import Settings, checked, secret_text
from contend.stores import write_file, writing
from contend.stores.leases import lease


class Line(Record):
    """What a line of the file may hold."""

    theme: QuestionText
    id: str | None = Field(None, min_length=1, max_length=200)
    options: RunOptions = Field(default_factory=RunOptions)
    instructions: Instructions | None = None


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


def read_questions(file: Path, common: RunOptions) -> list[BatchQuestion]:
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
        line = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise input_error("{where}: no JSON ({why}): give an object with `theme`", where=where, why=error) from error
    values = {"theme": line} if isinstance(line, str) else line
    if not isinstance(values, Mapping):
        raise input_error("{where}: neither object nor text: give an object with `theme`", where=where)
    line = checked(Line, values, where)
    own = line.options.model_dump(exclude_none=True)
    if line.instructions is not None:
        if "instructions" in own:
            raise input_error("{where}: instructions stand there twice: leave out options.instructions", where=where)
        own["instructions"] = line.instructions
    options = checked(RunOptions, {**common.model_dump(exclude_none=True), **own}, where)
    try:
        return BatchQuestion(where, line.id, checked_theme(line.theme), options)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _check_distinct(questions: Sequence[BatchQuestion]) -> None:
    """Whether each result can be told from the others."""
    ids: dict[str, str] = {}
    for each in questions:
        first = ids.setdefault(each.id or each.thread, each.where)
        if first == each.where:
            continue
        if each.id:
            raise input_error("{where}: id = {id}: {first} has it too: give each its own",
                              where=each.where, id=repr(each.id), first=first)  # fmt: skip
        where = each.where
        raise input_error("{where}: the same as {first}: leave it out, or give it an `id`", where=where, first=first)


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
    batch = Batch(read_questions(file, options), Results(path), settings, queued=server is not None)
    check_folder(path.parent, "--out")
    key = token or secret_text(settings.server_token)
    work = batch.run(jobs) if server is None else batch.run_on(ResearchServer(server, key))
    with batch.view() as view:
        at_once = view.stop if view else lambda: None
        done = asyncio.run(until_stopped(work, on_stop=batch.stopping, at_once=at_once))
    statuses = [batch.statuses.get(each.thread, "") for each in batch.questions]
    code = STOPPED if done is None else exit_code(statuses)
    batch.tell_end(code)
    return code


@dataclass(frozen=True)
class Results:
    """The file of result lines, one for each thread."""

    path: Path

    def statuses(self) -> dict[str, str]:
        """How the runs ended that have a line, by thread. A last line that was cut off counts as none.

        Raises:
            InputError: the file holds something else.
        """
        whole, _ = self._parts()
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            return {str(line["thread"]): str(line["status"]) for line in lines}
        except (ValueError, KeyError, TypeError) as error:
            raise self._foreign() from error

    def drop_cut_off(self) -> None:
        """A line that a full disk cut off goes; its run is on record."""
        whole, cut_off = self._parts()
        if cut_off:
            write_file(self.path, whole)

    def add(self, result: Mapping[str, Any]) -> None:
        """Append a line by one write."""
        line = json.dumps(result, ensure_ascii=False)
        with writing(self.path), self.path.open("ab", buffering=0) as file:
            file.write(f"{line}\n".encode())

    def _parts(self) -> tuple[bytes, bytes]:
        """The whole lines, and what stands behind them."""
        content = b""
        with writing(self.path), suppress(FileNotFoundError):
            content = self.path.read_bytes()
        at = content.rfind(b"\n") + 1
        if content[at : at + len(_BEGINNING)] != _BEGINNING[: len(content) - at]:
            raise self._foreign()
        return content[:at], content[at:]

    def _foreign(self) -> InputError:
        return input_error("--out {file}: it holds other lines than results: name another file", file=self.path)


@dataclass
class Batch:
    """The questions, how their runs ended by thread, and the boards of those that go."""

    questions: Sequence[BatchQuestion]
    results: Results
    settings: Settings
    queued: bool = False
    statuses: dict[str, str] = field(default_factory=dict)
    boards: dict[BatchQuestion, Board] = field(default_factory=dict)
    stage: str = ""
    console: Console = field(default_factory=ui.screen)

    async def run(self, jobs: int) -> bool:
        """Run what has no result yet, at most `jobs` at a time.

        Raises:
            InputError: a line would be refused; nothing was spent.
            ContendError: a result could not be written.
        """
        try:
            async with open_services(self.settings) as services:
                done = self.results.statuses()
                await _check(services, [each for each in self.questions if each.thread not in done])
                async with self._open_questions() as questions, asyncio.TaskGroup() as group:
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
        batch = f"batch-{sha256(str(self.results.path).encode()).hexdigest()[:16]}"
        async with lease(self.settings, batch):
            self.results.drop_cut_off()
            self.statuses |= self.results.statuses()
            yield [each for each in self.questions if each.thread not in self.statuses]

    async def _work(self, services: Services, remaining: Iterator[BatchQuestion]) -> None:
        for question in remaining:
            self.boards[question] = Board(theme=question.theme)
            try:
                outcome = await _outcome(services, question, partial(self._show, question))
            except (ContendError, OSError) as error:
                reason = ui.system_fault(error) if isinstance(error, OSError) else str(error)
                self._end(question, {"status": "not run", "message": reason})
                continue
            finally:
                del self.boards[question]
            self._end(question, _result(outcome))

    def _show(self, question: BatchQuestion, event: AnyEvent) -> None:
        self.boards[question].apply(event)
        if COMMAND.as_json:
            ui.say_line(event)

    def _end(self, question: BatchQuestion, result: Mapping[str, Any]) -> None:
        status = self.statuses[question.thread] = result["status"]
        if status in TERMINAL:
            self.results.add({**question.identity, **result})
        if COMMAND.as_json:
            ui.say_line({"type": "result", **question.identity, **result})
            return
        end = tr(ui.STATUS.get(status, "Failed"))
        best = "" if result.get("best_score") is None else f" {ui.score_text(result['best_score'])}"
        why = result.get("report") if status == "completed" else result["message"]
        line = f"{self._progress_text()}  {question.name}: {end}{best}  {ui.plain(tr(why)) if why else ''}"
        self.console.print(line, soft_wrap=True)

    def _progress_text(self) -> str:
        return f"{len(self.statuses)}/{len(self.questions)}"

    def stopping(self) -> None:
        self.stage = tr("Stopping; Ctrl-C again ends at once")
        if not self.console.is_terminal:
            ui.note("stopping; once more ends at once")

    def view(self) -> AbstractContextManager[Live | None]:
        """On a terminal a line for each run that goes."""
        if COMMAND.as_json or not self.console.is_terminal:
            return nullcontext()
        return Live(get_renderable=self._table, console=self.console, refresh_per_second=4, transient=True)

    def _table(self) -> Table:
        table = ui.plain_table(self._progress_text(), "Theme", "Best", "Now", right={"Best"})
        for question, board in list(self.boards.items()):
            best = next((ui.score_text(row.best) for row in board.rows() if row.rank), "–")
            table.add_row("", question.name, best, self.stage or board.stage)
        return table

    def tell_end(self, code: int) -> None:
        """How many came to which end, and where the results are."""
        statuses = list(self.statuses.values())
        completed, partial = statuses.count("completed"), statuses.count("partial")
        message = tr("{completed} of {all} completed, {partial} partial; results in {file}",
                     completed=completed, all=len(self.questions), partial=partial, file=self.results.path)  # fmt: skip
        if code == STOPPED:
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


async def _outcome(services: Services, question: BatchQuestion, on_event: app.OnEvent) -> app.RunOutcome:
    """A run's end: of one that ended before, of one that goes on, or of a new one."""
    try:
        return await app.resume(question.thread, services=services, on_event=on_event)
    except UnknownThread:
        return await app.run(
            question.theme, thread_id=question.thread, options=question.options, services=services, on_event=on_event
        )


def _result(outcome: app.RunOutcome) -> dict[str, Any]:
    return {
        "status": "waiting" if outcome.questions else outcome.status,
        "message": outcome.message,
        "best_score": outcome.summary.best_score if outcome.summary else None,
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
