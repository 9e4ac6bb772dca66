"""Record model replies in a file, and replay a run from it without asking a model.

Each line is one reply. Numbers that refer to passages or lessons are stored as ids, and those of sentences as their
texts, so that they refer to the same ones if a replay shows them in another order.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from contend.errors import InputError, ModelError
from contend.llm import Answer, Model, R, Scope
from contend.models.options import RecordedReplies, Role
from contend.models.record import Record, UtcDatetime, utc_now
from contend.models.replies import MOST_ORDERS
from contend.models.task import CallUsage
from contend.prompts import PromptValues
from contend.stores import text_id
from contend.stores.files import writing
from contend.text import shorten

PASSAGE_FIELDS = ("sources", "passages", "others", "give_up")
LESSON_FIELDS = ("lessons",)
"""Fields of replies that list numbers of passages, and of lessons, as numbered in the prompt."""

_SCREENING = "research/injection"
"""The prompt that asks which passages speak to AI systems."""

_VERDICT_FIELD = "citations"
"""The field of replies with verdicts on sentences, each with the sentence's `number` in the prompt."""


class RecordedReply(Record):
    """A reply, its call and its cost. `context`: the model's context in tokens.

    `seen`: the rounds of other teams that the team saw when it began this one.
    """

    run: str
    role: Role
    team: str
    round: int = Field(ge=0)
    step: str
    prompt: str
    reply: dict[str, Any]
    spread: dict[int, float] | None = None
    seen: dict[str, int] | None = None
    model: str
    context: int = Field(gt=0)
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    requests: int = Field(ge=0)
    recorded_at: UtcDatetime = Field(default_factory=utc_now)

    @property
    def call_key(self) -> str:
        scope = Scope("", self.role, "en", team_id=self.team, round_number=self.round, step=self.step)
        return scope.call_key(self.prompt)


class RecordingModel:
    """A model whose replies are appended to a file; implements `Model`.

    `context`: the model's context in tokens in an execution.
    """

    def __init__(self, model: Model, file: Path, *, context: Callable[[str], int]) -> None:
        self.name = model.name
        self._model = model
        self._file = file
        self._context = context

    async def ask(self, prompt: PromptValues, reply_type: type[R], *, scope: Scope, **options: Any) -> Answer[R]:  # noqa: ANN401 - passed on
        """Ask, and record the answer; see `Model.ask`.

        Raises:
            StoreUnwritable: the file cannot be written.
        """
        answer = await self._model.ask(prompt, reply_type, scope=scope, **options)
        line = self._line(prompt.prompt_name, scope, answer).model_dump_json(exclude_none=True)
        await asyncio.to_thread(_add_line, self._file, line)
        return answer

    def _line(self, prompt: str, scope: Scope, answer: Answer[R]) -> RecordedReply:
        return RecordedReply(
            run=scope.execution_id,
            role=scope.role,
            team=scope.team_id,
            round=scope.round_number,
            step=scope.step,
            prompt=prompt,
            reply=_translate(answer.value.model_dump(mode="json"), _ids(scope)),
            spread=dict(answer.distribution) if answer.distribution else None,
            seen=dict(scope.seen) if scope.seen is not None else None,
            model=self.name,
            context=self._context(scope.execution_id),
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
            requests=answer.usage.requests,
        )


class Recording:
    """The replies of one run, by role, team, round, step and prompt."""

    def __init__(self, file: Path, replies: Sequence[RecordedReply]) -> None:
        self.file = file
        # A call repeated after a crash is there twice: the run continued with the later one.
        self._replies = {reply.call_key: reply for reply in replies}

    @classmethod
    def read(cls, file: Path) -> "Recording":
        """Read the last run in a file. Blocking.

        Raises:
            InputError: the file cannot be read, or has no reply or an invalid line.
        """
        try:
            # Not `splitlines`: a reply may contain Unicode line separators.
            lines = file.read_text("utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
            raise InputError(f"replay {file}: {reason}; name a file that CONTEND_RECORD wrote") from error
        replies = [_read_line(file, number, line) for number, line in enumerate(lines, start=1) if line.strip()]
        if not replies:
            raise InputError(f"replay {file}: it holds no reply; name a file that CONTEND_RECORD wrote")
        return cls(file, [reply for reply in replies if reply.run == replies[-1].run])

    @property
    def summary(self) -> RecordedReplies:
        replies = self._replies.values()
        return RecordedReplies(
            recorded_on=max(reply.recorded_at for reply in replies).date(),
            model=", ".join(sorted({reply.model for reply in replies})),
            calls=sum(reply.requests for reply in replies),
            tokens=sum(reply.input_tokens + reply.output_tokens for reply in replies),
        )

    @property
    def models(self) -> dict[Role, str]:
        """The model of each role."""
        return {reply.role: reply.model for reply in self._replies.values()}

    def _screening(self, prompt: str) -> RecordedReply | None:
        """Answers about passages that address AI systems, of all teams together: which team asks first is chance."""
        replies = [reply for reply in self._replies.values() if reply.prompt == _SCREENING == prompt]
        orders = [each for reply in replies for each in reply.reply.get("orders", [])]
        return replies[0].model_copy(update={"reply": {"orders": orders[:MOST_ORDERS]}}) if replies else None

    def context(self, model: str) -> int:
        """A model's context in tokens; the smallest of all models if it is not in the file."""
        own = [reply.context for reply in self._replies.values() if reply.model == model]
        return min(own or [reply.context for reply in self._replies.values()])

    def seen(self, team_id: str, round_number: int) -> dict[str, int] | None:
        """Which rounds of other teams a team saw when it began a round; None if not recorded."""
        own = (reply.seen for reply in self._replies.values() if (reply.team, reply.round) == (team_id, round_number))
        return next((seen for seen in own if seen is not None), None)

    def reply_to(self, prompt: str, scope: Scope) -> RecordedReply:
        """The recorded reply to a call.

        Raises:
            ModelError: the recording lacks it.
        """
        reply = self._replies.get(scope.call_key(prompt)) or self._screening(prompt)
        if reply is None:
            raise ModelError(f"{self.file} holds no reply of {_caller(prompt, scope)}: {_REMEDY}")
        return reply


@dataclass(eq=False)
class ReplayModel:
    """Replays a recording for any model name: no calls, no cost. Implements `Model`."""

    name: str
    recording: Recording

    async def ask(
        self,
        prompt: PromptValues,
        reply_type: type[R],
        *,
        scope: Scope,
        **options: Any,  # noqa: ANN401, ARG002 - the recording holds what was asked for, and the reply once mended
    ) -> Answer[R]:
        """The recorded reply, with this run's passage numbers; passages that this run does not show are left out.

        Raises:
            ModelError: the recording lacks the reply, or it does not fit this version of contend.
        """
        record = self.recording.reply_to(prompt.prompt_name, scope)
        try:
            value = reply_type.model_validate(_translate(record.reply, _numbers(scope)))
        except ValidationError as error:
            place = ".".join(map(str, error.errors()[0]["loc"]))
            caller = _caller(prompt.prompt_name, scope)
            raise ModelError(
                f"{self.recording.file}: the reply of {caller} does not fit this version of contend "
                f"({place}: {error.errors()[0]['msg']}): {_REMEDY}"
            ) from error
        return Answer(value, _zero_usage(record), record.spread)


_REMEDY = "record the run anew with CONTEND_RECORD=FILE, or ask a model: leave --replay and CONTEND_REPLAY out"


def _caller(prompt: str, scope: Scope) -> str:
    team = f" of team {scope.team_id}" if scope.team_id else ""
    number = f", round {scope.round_number}" if scope.round_number else ""
    step = f", step {scope.step}" if scope.step else ""
    return f"the {scope.role}{team}{number}{step} ({prompt})"


def _ids(scope: Scope) -> dict[str, dict[Any, Any]]:
    """Ids by number, for each numbering field."""
    passages, lessons, sentences = (
        dict(enumerate(each, start=1)) for each in (scope.passages, scope.lessons, scope.sentences)
    )
    listing = {**dict.fromkeys(PASSAGE_FIELDS, passages), **dict.fromkeys(LESSON_FIELDS, lessons)}
    return {**listing, _VERDICT_FIELD: sentences}


def _numbers(scope: Scope) -> dict[str, dict[Any, Any]]:
    """Numbers by id, for each numbering field.

    Also by a passage's text id: documents may have moved, and earlier releases stored only that.
    """
    ids_of = _ids(scope)
    texts = {name: {text_id(each): number for number, each in reversed(ids.items())} for name, ids in ids_of.items()}
    return {name: texts[name] | {each: number for number, each in ids.items()} for name, ids in ids_of.items()}


def _translate(value: Any, tables: Mapping[str, Mapping[Any, Any]]) -> Any:  # noqa: ANN401 - JSON
    """The value with the items of numbering fields replaced by the field's table."""
    if isinstance(value, list):
        return [_translate(each, tables) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _translate_list(inner, tables[name]) if name in tables else _translate(inner, tables)
        for name, inner in value.items()
    }


def _translate_list(values: list[Any], table: Mapping[Any, Any]) -> list[Any]:
    """Items missing in the table are left out; with an empty table numbers stay as they are."""
    return [number for each in values if (number := _translate_item(each, table)) is not None]


def _translate_item(each: Any, table: Mapping[Any, Any]) -> Any:  # noqa: ANN401 - JSON
    if isinstance(each, dict):
        number = _translate_item(each.get("number"), table)
        return None if number is None else {**each, "number": number}
    return table.get(each, table.get(text_id(str(each)))) if table or isinstance(each, str) else each


def _zero_usage(reply: RecordedReply) -> CallUsage:
    """No time either, so that each replay leaves the same record."""
    return CallUsage(
        call_key=reply.call_key,
        role=reply.role,
        model=reply.model,
        input_tokens=0,
        output_tokens=0,
        cost_usd=0.0,
        milliseconds=0,
        requests=0,
    )


def _read_line(file: Path, number: int, line: str) -> RecordedReply:
    try:
        return RecordedReply.model_validate_json(line)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"])) or "line"
        fault_text = shorten(fault["msg"], 200)
        raise InputError(f"replay {file}, line {number}: {place}: {fault_text}; record the run anew") from error


def _add_line(file: Path, line: str) -> None:
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as recording:
            recording.write(f"{line}\n")
