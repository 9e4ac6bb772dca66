"""Learning from questions with labels: what counts as right, what is kept, and what goes on after a stop."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from contend.errors import InputError, ModelError
from contend.learning.curator import CuratorAgent
from contend.learning.labels import AnswerForm, LabelledQuestion, check, mcnemar, read_questions
from contend.learning.practice import Practice, set_aside
from contend.llm import Answer, R, Scope
from contend.models.playbook import Playbook
from contend.models.task import CallUsage
from contend.prompts import PromptBuilderSettings, PromptLibrary, PromptValues, UserPromptBuilder, mark_of
from contend.stores.playbooks import PlaybookStore

_LESSON = "When a growth rate is asked, divide the change by the first value."


@pytest.mark.parametrize(
    ("answer", "label", "form", "right", "kind"),
    [
        ("0.25", "0.25", "number", True, None),
        ("1,250", "1250.0", "number", True, None),
        ("8.333", "8.33", "number", True, None),
        ("8.35", "8.33", "number", False, "other"),
        ("-5", "5.0", "number", False, "sign"),
        ("25", "0.25", "number", False, "unit"),
        ("4", "0.25", "number", False, "ratio"),
        ("about four", "4", "number", False, "unreadable"),
        ("(1200 - 300) / 450", "2.0", "expression", True, None),
        ("(300 - 1200) / 450", "2.0", "expression", False, "sign"),
        ("(2.25 / 15) * 100 = 15.00", "15.0", "expression", True, None),
        ("EBIT / Interest = 300,000 / 50,000 = 6.00", "6.0", "expression", True, None),
        ("Income = Sales - Costs", "6.0", "expression", False, "unreadable"),
        ("(7% - 1.5%) / 8%", "0.69", "expression", True, None),
        ("__import__('os').system('true')", "2.0", "expression", False, "unreadable"),
        ("B)", "b", "choice", True, None),
        ("C", "b", "choice", False, "other"),
        ('{"b": 1, "a": [2]}', '{"a": [2], "b": 1}', "json", True, None),
        ("[2, 1]", "[1, 2]", "json", False, "order"),
        ("not json", "[1]", "json", False, "unreadable"),
        ("  North Pier. ", "north pier", "text", True, None),
        ("pier north", "north pier", "text", False, "order"),
    ],
)
def test_an_answer_is_checked_by_code_and_its_error_typed(
    answer: str,
    label: str,
    form: AnswerForm,
    right: bool,
    kind: str | None,
) -> None:
    assert check(answer, label, form)[:2] == (right, kind)


@pytest.mark.parametrize(("gained", "lost", "p"), [(0, 0, 1.0), (5, 0, 0.0625), (8, 2, 0.1094), (3, 3, 1.0)])
def test_discordant_pairs_are_tested_exactly(gained: int, lost: int, p: float) -> None:
    assert mcnemar(gained, lost) == pytest.approx(p, abs=1e-4)


def test_a_file_of_labels_is_read_in_the_usual_names_and_a_bad_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text('{"context": "What is 1 + 1?", "target": "2.0"}\n\n{"question": "Left or right?", "answer": 3}\n')
    assert [question.answer for question in read_questions(file)] == ["2.0", "3"]

    file.write_text('{"question": "What?"}\n')
    with pytest.raises(InputError, match=r"line 1.*give an object with `question` and `answer`"):
        read_questions(file)


def test_a_file_of_labels_may_have_what_editors_and_web_pages_leave_in_it(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text('{"question": "Left\u2028or right?", "answer": "left"}\r\n', "utf-8-sig", newline="")

    assert [question.question for question in read_questions(file)] == ["Left\u2028or right?"]


def test_one_question_in_five_is_set_aside_and_stays_so_as_the_file_grows() -> None:
    questions = [LabelledQuestion(question=f"Question {number}?", answer="1") for number in range(200)]

    _, few = set_aside(questions[:100])
    train, many = set_aside(questions)

    assert 20 < len(many) < 60
    assert [question.key for question in few] == [question.key for question in many if question in few]
    assert len(train) + len(many) == 200


class Pupil:
    """A model's wire: right with the lesson in its prompt, else by the question's number.

    From errors it draws `drawn`; it fails after `fails_after` calls.
    """

    name = "pupil"

    def __init__(self, drawn: str = _LESSON, *, reasoning: str = "so", fails_after: int | None = None) -> None:
        self.library = PromptLibrary(None)
        self.drawn = drawn
        self.reasoning = reasoning
        self.asked: list[str] = []
        self.shown: dict[str, str] = {}
        self.fails_after = fails_after

    async def ask(self, prompt: PromptValues, reply_type: type[R], *, scope: Scope) -> Answer[R]:
        rendered = self.library.call(prompt, language=scope.language, mark=mark_of(scope.execution_id))
        if self.fails_after is not None and len(self.asked) >= self.fails_after:
            raise ModelError("the endpoint went away")
        self.asked.append(prompt.prompt_name)
        self.shown[prompt.prompt_name] = rendered.user
        replies: dict[str, Any] = {
            "answers/question": lambda: self._answer(rendered.user, str(prompt.variables()["question"])),
            "errors/reflect": self._reflect,
            "curator/curate": self._curate,
            "lessons/same": lambda: {"pairs": []},
        }[prompt.prompt_name]()
        usage = CallUsage(call_key="c", role=scope.role, model="m", input_tokens=10, output_tokens=5, milliseconds=1)
        return Answer(reply_type.model_validate(replies), usage)

    def _answer(self, prompt: str, question: str) -> dict[str, str]:
        number = int(question.rsplit(maxsplit=1)[-1].rstrip("?"))
        right = _LESSON in prompt or (number % 2 == 0 and "always wrong" not in prompt)
        if "`expression`" in prompt:
            return {"expression": "1 / 4" if right else "100 / 4"}
        return {"reasoning": self.reasoning, "answer": "0.25" if right else "25"}

    def _reflect(self) -> dict[str, Any]:
        blank = dict.fromkeys(("reasoning", "error_identification", "root_cause_analysis", "correct_approach"), "")
        return {"insights": [{**blank, "key_insight": self.drawn}], "bullet_evaluations": []}

    def _curate(self) -> dict[str, Any]:
        operation = {"operation": "ADD", "content": self.drawn, "section": "", "always": True}
        return {"operations": [operation]}


def _questions(first: int, last: int) -> list[LabelledQuestion]:
    question_start = "What is the growth rate in case"
    return [LabelledQuestion(question=f"{question_start} {number}?", answer="0.25") for number in range(first, last)]


def _practice(pupil: Pupil, folder: Path, form: AnswerForm = "number") -> Practice:
    curator = CuratorAgent(pupil, UserPromptBuilder(PromptBuilderSettings()), PlaybookStore(folder / "playbooks"))
    return Practice(pupil, pupil, curator, "growth", form, folder / "learning", at_once=8)


async def test_lessons_from_errors_stay_where_the_questions_set_aside_fare_better(tmp_path: Path) -> None:
    learnt = await _practice(Pupil(), tmp_path).learn(_questions(0, 30), _questions(100, 120))

    assert learnt.comparison[:5] == (20, 10, 20, 10, 0)
    assert learnt.comparison.p < 0.01
    assert learnt.versions == (0, 1)
    assert learnt.batches[0].endswith("10 → 20, kept")
    assert learnt.batches[1] == "5 of 5 right, nothing to learn"
    assert learnt.tokens > 0


async def test_of_an_expression_nothing_but_the_expression_is_asked_for(tmp_path: Path) -> None:
    [answered] = await _practice(Pupil(), tmp_path, "expression").answer_all(
        _questions(2, 3), Playbook(dataset="growth")
    )

    assert answered.answer == "1 / 4"
    assert answered.reasoning == ""
    assert answered.check.right


async def test_who_reflects_on_a_wrong_expression_sees_what_it_comes_to(tmp_path: Path) -> None:
    pupil = Pupil()

    await _practice(pupil, tmp_path, "expression").learn(_questions(1, 2), _questions(100, 104))

    assert "100 / 4 = 25</answer-" in pupil.shown["errors/reflect"]


async def test_lessons_that_make_it_worse_do_not_land(tmp_path: Path) -> None:
    practice = _practice(Pupil("When in doubt, be always wrong."), tmp_path)

    learnt = await practice.learn(_questions(0, 10), _questions(100, 120))

    assert learnt.batches == ["5 of 10 right; 1 change: 10 → 0, not kept"]
    assert (await practice.curator.playbook_store.load("growth")).bullets == []


async def test_learning_goes_on_after_a_stop_without_asking_again(tmp_path: Path) -> None:
    train, test_set = _questions(0, 60), _questions(100, 120)
    whole = Pupil()
    expected = await _practice(whole, tmp_path / "whole").learn(train, test_set)

    first = Pupil(fails_after=60)
    with pytest.raises(ModelError):
        await _practice(first, tmp_path / "cut").learn(train, test_set)
    second = Pupil()
    learnt = await _practice(second, tmp_path / "cut").learn(train, test_set)

    assert (learnt.comparison, learnt.versions, learnt.batches) == (
        expected.comparison,
        expected.versions,
        expected.batches,
    )
    assert first.asked.count("answers/question") + second.asked.count("answers/question") == whole.asked.count(
        "answers/question"
    )


class LastReplies(Pupil):
    """Fails from its fourth call on; what was asked before is answered many turns of the event loop later."""

    calls = 0

    async def ask(self, prompt: PromptValues, reply_type: type[R], *, scope: Scope) -> Answer[R]:
        self.calls += 1
        answer = await super().ask(prompt, reply_type, scope=scope)
        for _ in range(100):
            await asyncio.sleep(0)
        return answer


async def test_what_was_asked_when_an_answer_failed_is_kept_and_no_more_is_asked(tmp_path: Path) -> None:
    test_set = _questions(100, 120)
    first = LastReplies(fails_after=3)
    with pytest.raises(ModelError, match="went away"):
        await _practice(first, tmp_path).answer_all(test_set, Playbook(dataset="growth"))
    assert len(first.asked) == 3
    assert first.calls == 4

    second = Pupil()
    answered = await _practice(second, tmp_path).answer_all(test_set, Playbook(dataset="growth"))

    assert len(second.asked) == 17
    assert [each.question for each in answered] == test_set


async def test_off_on_off_on_asks_each_anew_and_compares_off_with_off(tmp_path: Path) -> None:
    pupil = Pupil()
    practice = _practice(pupil, tmp_path)
    await practice.learn(_questions(0, 10), _questions(100, 120))
    on = await practice.curator.playbook_store.load("growth")
    before = len(pupil.asked)

    rounds, control = await practice.alternate(_questions(200, 220), Playbook(dataset="growth"), on)

    assert [sum(each.check.right for each in answered) for answered in rounds] == [10, 20, 10, 20]
    assert (control.gained, control.lost, control.p) == (0, 0, 1.0)
    assert len(pupil.asked) - before == 80


async def test_an_answer_with_a_line_separator_in_it_is_kept_too(tmp_path: Path) -> None:
    test_set = _questions(100, 105)
    await _practice(Pupil(reasoning="so\u2028it is"), tmp_path).answer_all(test_set, Playbook(dataset="growth"))

    pupil = Pupil()
    await _practice(pupil, tmp_path).answer_all(test_set, Playbook(dataset="growth"))

    assert pupil.asked == []


async def test_a_line_that_a_kill_cut_off_is_asked_again(tmp_path: Path) -> None:
    test_set = _questions(100, 105)
    practice = _practice(Pupil(), tmp_path)
    await practice.answer_all(test_set, Playbook(dataset="growth"))
    file = tmp_path / "learning" / "growth.answers.jsonl"
    file.write_text(file.read_text()[:-20] + "\n")

    pupil = Pupil()
    await _practice(pupil, tmp_path).answer_all(test_set, Playbook(dataset="growth"))

    assert len(pupil.asked) == 1
    assert all(json.loads(line) for line in file.read_text().splitlines()[-1:])
