"""Learning from labelled questions: answer, check by code, reflect on errors, keep what a paired test does not refuse.

Every answer is kept in a file as soon as it is there, by question and lessons shown, so that what was stopped goes on
without asking again.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from contend.learning.curator import CuratorAgent
from contend.learning.labels import AnswerForm, Check, LabelledQuestion, check, mcnemar
from contend.learning.reflector import reflection_of
from contend.learning.selection import lesson_index, select_bullets
from contend.llm import Model, Scope
from contend.models.playbook import AnswerReply, Bullet, ExpressionReply, Playbook, ReflectionReply, ReflectionResult
from contend.models.record import Language
from contend.models.task import CallUsage
from contend.parsing import parse_json
from contend.prompts.judging import AnswerPrompt, ErrorsPrompt, ShownBullet, WrongAnswer
from contend.stores import write_file
from contend.text import count_text

BATCH = 25
"""Training questions from whose errors lessons are drawn at once."""
_ANSWERS_BETWEEN_LINES = 25
_MOST_ERRORS = 8
_HELD_OUT = 5
"""One in so many questions is set aside where no file of them is given."""


class AnsweredQuestion(NamedTuple):
    """A question, what was answered and how, and whether it is right."""

    question: LabelledQuestion
    answer: str
    reasoning: str
    check: Check
    bullets: tuple[str, ...]
    """Ids of the lessons shown."""


class PairedTest(NamedTuple):
    """The same questions twice: how many were right, in how many the two differ, and McNemar's p."""

    questions: int
    before: int
    after: int
    gained: int
    lost: int
    p: float

    @classmethod
    def of(cls, first: Sequence[AnsweredQuestion], second: Sequence[AnsweredQuestion]) -> "PairedTest":
        pairs = [(one.check.right, other.check.right) for one, other in zip(first, second, strict=True)]
        only_first, only_second = pairs.count((True, False)), pairs.count((False, True))
        before, after = (sum(pair[place] for pair in pairs) for place in (0, 1))
        return cls(len(pairs), before, after, only_second, only_first, mcnemar(only_second, only_first))


class LearningResult(NamedTuple):
    """What came of learning on labels."""

    comparison: PairedTest
    batches: list[str]
    """How each ended, a line each."""
    versions: tuple[int, int]
    """Of the playbook, before and after."""
    tokens: int
    minutes: float


@dataclass
class Practice:
    """Learns from labelled questions into a dataset, `at_once` of them at a time. `on_line` is told each step."""

    writer: Model
    reflector: Model
    curator: CuratorAgent
    dataset: str
    form: AnswerForm
    folder: Path
    at_once: int
    language: Language = "en"
    lesson_tokens: int = 600
    on_line: Callable[[str], None] = lambda _: None
    tokens: int = field(default=0, init=False)

    async def learn(self, train: Sequence[LabelledQuestion], validation: Sequence[LabelledQuestion]) -> LearningResult:
        """Learn from `train` and say how `validation` fares before and after.

        A batch's lessons stay where the validation questions, answered with and without, are not fewer right.

        Raises:
            ModelError: the endpoint failed; what was answered is kept.
        """
        began = time.monotonic()
        store = self.curator.playbook_store
        progress = await asyncio.to_thread(self._progress, [*train, *validation])
        start = progress.setdefault("start", (await store.load(self.dataset)).version)
        first = await self.answer_all(validation, await store.load(self.dataset, version=start))
        self.on_line(f"before: {_right(first)} of the questions set aside")
        best = await self.answer_all(validation, await store.load(self.dataset))
        batches: list[str] = progress.setdefault("batches", [])
        for number, begin in enumerate(range(0, len(train), BATCH), start=1):
            if number > len(batches):
                best, line = await self._batch(train[begin : begin + BATCH], validation, best)
                batches.append(line)
                await asyncio.to_thread(write_file, self._progress_file, json.dumps(progress))
            self.on_line(f"batch {number}: {batches[number - 1]}")
        end = (await store.load(self.dataset)).version
        await asyncio.to_thread(self._progress_file.unlink, missing_ok=True)
        minutes = (time.monotonic() - began) / 60
        return LearningResult(PairedTest.of(first, best), batches, (start, end), self.tokens, minutes)

    async def alternate(
        self, questions: Sequence[LabelledQuestion], off: Playbook, on: Playbook
    ) -> tuple[list[list[AnsweredQuestion]], PairedTest]:
        """Off, on, off, on over the same questions, each asked anew; and the control: the two offs.

        Raises:
            ModelError: the endpoint failed; what was answered is kept.
        """
        rounds: list[list[AnsweredQuestion]] = []
        for turn, playbook in enumerate((off, on, off, on), start=1):
            rounds.append(await self.answer_all(questions, playbook, turn=turn))
            self.on_line(f"turn {turn} of 4, version {playbook.version}: {_right(rounds[-1])}")
        return rounds, PairedTest.of(rounds[0], rounds[2])

    async def answer_all(
        self, questions: Sequence[LabelledQuestion], playbook: Playbook, *, turn: int = 0
    ) -> list[AnsweredQuestion]:
        """Each question answered with the lessons that fit it.

        Raises:
            ModelError: an answer failed. What was asked by then was waited for and is kept; the rest is not asked.
        """
        lessons = await asyncio.to_thread(self._lessons, questions, playbook)
        queue = deque(enumerate(zip(questions, lessons, strict=True)))
        answers: dict[int, AnsweredQuestion] = {}

        async def answer_in_turn() -> None:
            try:
                while queue:
                    place, (question, bullets) = queue.popleft()
                    answers[place] = await self._answer(question, bullets, turn)
            finally:
                queue.clear()  # after a failure, the others finish what they have asked, and ask no more

        ends = await asyncio.gather(*(answer_in_turn() for _ in range(self.at_once)), return_exceptions=True)
        if failures := [end for end in ends if end]:
            raise failures[0]
        return [answers[place] for place in range(len(questions))]

    def _lessons(self, questions: Sequence[LabelledQuestion], playbook: Playbook) -> list[list[Bullet]]:
        index = lesson_index(playbook.bullets)
        tokens = self.lesson_tokens
        return [select_bullets(playbook, question.question, tokens=tokens, index=index) for question in questions]

    async def _answer(self, question: LabelledQuestion, bullets: Sequence[Bullet], turn: int) -> AnsweredQuestion:
        # What many questions share stands first: endpoints keep what they have read of a prompt's beginning.
        lessons = [bullet.lesson for bullet in sorted(bullets, key=lambda bullet: (not bullet.always, bullet.id))]
        conditions = blake2b("\0".join([self.writer.name, self.form, *lessons]).encode(), digest_size=8).hexdigest()
        key = f"{turn}/{question.key}/{conditions}"
        reply = self._replies.get(key) or await self._ask(question, lessons, key)
        ids = tuple(bullet.id for bullet in bullets)
        verdict = check(reply["answer"], question.answer, self.form)
        return AnsweredQuestion(question, reply["answer"], reply["reasoning"], verdict, ids)

    async def _ask(self, question: LabelledQuestion, lessons: list[str], key: str) -> dict[str, str]:
        scope = Scope(f"learn-{self.dataset}", "writer", self.language, step=key)
        prompt = AnswerPrompt(question=question.question, lessons=lessons, form=self.form)
        reply = {"key": key, **await self._reply(prompt, scope)}
        await asyncio.to_thread(self._keep, reply)
        if len(self._replies) % _ANSWERS_BETWEEN_LINES == 0:
            self.on_line(f"{count_text(len(self._replies), 'answers')} kept")
        return reply

    async def _reply(self, prompt: AnswerPrompt, scope: Scope) -> dict[str, str]:
        if self.form == "expression":
            expression = await self.writer.ask(prompt, ExpressionReply, scope=scope)
            self._count(expression.usage)
            return {"answer": expression.value.expression, "reasoning": ""}
        answer = await self.writer.ask(prompt, AnswerReply, scope=scope)
        self._count(answer.usage)
        return answer.value.model_dump()

    def _count(self, usage: CallUsage) -> None:
        self.tokens += usage.input_tokens + usage.output_tokens

    async def _batch(
        self, train: Sequence[LabelledQuestion], validation: Sequence[LabelledQuestion], best: list[AnsweredQuestion]
    ) -> tuple[list[AnsweredQuestion], str]:
        """Lessons from one batch's errors, kept or not; how the questions set aside fare then, and a line."""
        store = self.curator.playbook_store
        playbook = await store.load(self.dataset)
        answers = await self.answer_all(train, playbook)
        errors = [each for each in answers if not each.check.right]
        if not errors:
            return best, f"{_right(answers)}, nothing to learn"
        reflection = await self._reflect(errors, answers, playbook)
        batch = "\0".join(question.key for question in train)
        execution = str(uuid5(NAMESPACE_URL, f"{self.dataset}/{playbook.version}/{batch}"))
        proposal = await self.curator.propose(reflection, self.dataset, execution_id=execution, language=self.language)
        for call in proposal.usage:
            self._count(call)
        delta = proposal.delta_items
        candidate = playbook.model_copy(update={"bullets": proposal.bullets})
        now = await self.answer_all(validation, candidate)
        test = PairedTest.of(best, now)
        line = f"{_right(answers)}; {count_text(len(delta), 'changes')}: {test.before} → {test.after}"
        if test.after < test.before:
            return best, f"{line}, not kept"
        await self.curator.apply(delta, reflection, self.dataset, execution_id=execution, skipped=proposal.skipped)
        return now, f"{line}, kept"

    async def _reflect(
        self, errors: Sequence[AnsweredQuestion], answers: Sequence[AnsweredQuestion], playbook: Playbook
    ) -> ReflectionResult:
        """Lessons from the errors; a lesson that stood before right answers too is not harmful."""
        by_id = {bullet.id: bullet for bullet in playbook.bullets}
        bullets = [by_id[key] for key in dict.fromkeys(key for each in errors for key in each.bullets) if key in by_id]
        scope = Scope(f"learn-{self.dataset}", "reflector", self.language, step=errors[0].question.key)
        prompt = ErrorsPrompt(
            errors=[_error(each) for each in errors[:_MOST_ERRORS]],
            bullets=[ShownBullet.of(bullet) for bullet in bullets],
        )
        answer = await self.reflector.ask(prompt, ReflectionReply, scope=scope)
        self._count(answer.usage)
        result = reflection_of(answer.value, by_id)
        helpful = {key for each in answers if each.check.right for key in each.bullets}
        tags = [tag for tag in result.bullet_evaluations if tag.tag != "harmful" or tag.bullet_id not in helpful]
        return result.model_copy(update={"bullet_evaluations": tags})

    @cached_property
    def _replies(self) -> dict[str, dict[str, str]]:
        """By question and lessons shown; those of earlier tries are read at first use."""
        if not self._file.exists():
            return {}
        lines = self._file.read_text("utf-8").split("\n")  # not `splitlines`: as in `read_questions`
        replies = {reply["key"]: reply for line in lines if (reply := _reply_in(line))}
        self.on_line(f"{count_text(len(replies), 'answers')} of earlier tries in {self._file}; delete it to start anew")
        return replies

    def _keep(self, reply: dict[str, str]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(reply, ensure_ascii=False) + "\n")
        self._replies[reply["key"]] = reply

    def _progress(self, questions: Sequence[LabelledQuestion]) -> dict[str, Any]:
        """How far learning on these questions came; nothing where it was on others or ended."""
        questions_hash = blake2b(
            "\0".join([self.writer.name, self.form, *(each.key for each in questions)]).encode()
        ).hexdigest()
        try:
            progress = parse_json(self._progress_file.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            progress = {}
        same = isinstance(progress, dict) and progress.get("asked") == questions_hash
        return progress if same else {"asked": questions_hash}

    @property
    def _progress_file(self) -> Path:
        return self.folder / f"{self.dataset}.progress.json"

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.dataset}.answers.jsonl"


def set_aside(questions: Sequence[LabelledQuestion]) -> tuple[list[LabelledQuestion], list[LabelledQuestion]]:
    """Questions to learn from, and one in five to test on, by what they say: a file that grows keeps its parts."""
    test = [question for question in questions if int(question.key, 16) % _HELD_OUT == 0]
    return [question for question in questions if question not in test], test


def _error(answer: AnsweredQuestion) -> WrongAnswer:
    value = answer.check.value
    return WrongAnswer(
        question=answer.question.question,
        # Beside what was expected, the result tells most: a missing "million", a percentage for a ratio.
        answer=answer.answer if value is None else f"{answer.answer} = {value:.6g}",
        expected=answer.question.answer,
        kind=answer.check.kind or "other",
        reasoning=answer.reasoning,
    )


def _right(answers: Sequence[AnsweredQuestion]) -> str:
    return f"{sum(each.check.right for each in answers)} of {len(answers)} right"


def _reply_in(line: str) -> dict[str, str] | None:
    """A line of the file; None for one that a kill cut off."""
    try:
        reply = parse_json(line)
    except ValueError:
        return None
    return reply if isinstance(reply, dict) and {"key", "answer", "reasoning"} <= reply.keys() else None
