"""The questions of `contend batch`: a line each of a JSONL file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from pydantic import Field

from contend.cli.options import file_text
from contend.cli.text import plain
from contend.cli.words import input_error
from contend.errors import InputError
from contend.models.options import Instructions, RunOptions
from contend.models.record import QuestionText, Record
from contend.models.task import checked_theme
from contend.settings import checked


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
        return plain(self.id or self.theme)


def read_questions(file: Path, common: RunOptions) -> list[BatchQuestion]:
    """The questions of a JSONL file, in order.

    Raises:
        InputError: the file or a line is not usable; names the line.
    """
    lines = file_text(file).split("\n")
    questions = [
        _question(line, f"{file}:{number}", common) for number, line in enumerate(lines, start=1) if line.strip()
    ]
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
