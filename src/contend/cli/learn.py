"""Learning alone, on the terminal: from a run, or from questions with labels; and whether a playbook helps."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from contend.app import learn_from
from contend.cli.invocation import COMMAND
from contend.cli.screen import advise, note, print_json, say
from contend.cli.text import counted
from contend.cli.words import input_error
from contend.errors import InputError, UnknownThread
from contend.learning.labels import AnswerForm, LabelledQuestion, read_questions
from contend.learning.practice import LearningResult, PairedTest, Practice, set_aside
from contend.models.playbook import Playbook
from contend.services import open_services


def learn_dataset(
    dataset: str,
    source: str,
    *,
    form: AnswerForm,
    validation: Path | None,
    limit: int | None,
) -> None:
    """Learn from a thread's run, or from a JSONL file of labelled questions, into a dataset.

    Raises:
        InputError: neither file nor thread, a line cannot be read, or no language model is set.
    """
    file = Path(source).expanduser()
    if file.suffix == ".jsonl" or file.is_file():
        train, validation_set = _parts(file, validation, limit)
        _show(asyncio.run(_learn(dataset, train, validation_set, form)), dataset, form)
        return
    try:
        result = asyncio.run(learn_from(source, dataset=dataset, settings=COMMAND.settings()))
    except UnknownThread as error:
        raise input_error("--from {source}: neither a file nor a thread with a run: see `contend runs`",
                          source=source) from error  # fmt: skip
    if print_json(result):
        return
    say(f"Playbook {result.dataset}: {result.summary}, now version {result.playbook_version}.")
    advise(f"contend playbook show {result.dataset}")


def compare_versions(
    dataset: str,
    labels: Path,
    versions: tuple[int, int],
    *,
    form: AnswerForm,
    limit: int | None,
) -> None:
    """The ABAB test: the same questions with one version's lessons, another's, and both again.

    Raises:
        InputError: the file or a version is not usable, or no language model is set.
    """
    questions = read_questions(labels)[:limit]
    asyncio.run(_compare(dataset, questions, versions, form))


async def _compare(
    dataset: str,
    questions: list[LabelledQuestion],
    versions: tuple[int, int],
    form: AnswerForm,
) -> None:
    async with _practice(dataset, form) as practice:
        store = practice.curator.playbook_store
        off, on = [
            await store.load(dataset, version=version) if version else Playbook(dataset=dataset) for version in versions
        ]
        rounds, control = await practice.alternate(questions, off, on)
        first, second = PairedTest.of(rounds[0], rounds[1]), PairedTest.of(rounds[2], rounds[3])
    pairs = {"first": first, "second": second, "control": control}
    if print_json({name: each._asdict() for name, each in pairs.items()} | {"format": form, "tokens": practice.tokens}):
        return
    for number, answers in enumerate(rounds):
        right = sum(each.check.right for each in answers)
        say(f"version {versions[number % 2]}: {right} of {len(answers)} right ({right / len(answers):.1%}, {form})")
    say(f"first pair: {_mcnemar(first)}")
    say(f"second pair: {_mcnemar(second)}")
    say(f"control, version {versions[0]} twice: {_mcnemar(control)}")
    say(f"{practice.tokens:,} tokens")


def _parts(
    file: Path, validation: Path | None, limit: int | None
) -> tuple[list[LabelledQuestion], list[LabelledQuestion]]:
    questions = read_questions(file)
    train, validation_set = (questions, read_questions(validation)) if validation else set_aside(questions)
    if not train or not validation_set:
        raise InputError(f"{file}: too few questions to set some aside: give --validation FILE")
    return train[:limit], validation_set


async def _learn(
    dataset: str, train: list[LabelledQuestion], validation_set: list[LabelledQuestion], form: AnswerForm
) -> LearningResult:
    async with _practice(dataset, form) as practice:
        note(f"{counted(len(train), 'question')} to learn from, {len(validation_set)} set aside")
        return await practice.learn(train, validation_set)


@asynccontextmanager
async def _practice(dataset: str, form: AnswerForm) -> AsyncIterator[Practice]:
    async with open_services(COMMAND.settings()) as services:
        if not services.models.providers.are_set():
            raise InputError("no OPENAI_API_KEY or OPENAI_BASE_URL is set: a language model answers; set one")
        asked_for = f"learn-{dataset}"
        yield Practice(
            services.named("writer", asked_for),
            services.named("reflector", asked_for),
            services.curator,
            dataset,
            form,
            services.folder / "learning",
            services.settings.max_calls_in_flight,
            on_line=note,
        )


def _show(result: LearningResult, dataset: str, form: AnswerForm) -> None:
    test = result.comparison
    if print_json({**result._asdict(), "comparison": test._asdict(), "format": form}):
        return
    before, after = test.before / test.questions, test.after / test.questions
    say(f"Before: {before:.1%} of {test.questions} right, after: {after:.1%} ({form}).")
    say(f"{_mcnemar(test)}; {result.tokens:,} tokens, {result.minutes:.1f} minutes.")
    say(f"Playbook {dataset}: version {result.versions[0]} before, {result.versions[1]} now.")
    advise(
        f"contend playbook show {dataset}",
        f"contend playbook ab {dataset} --labels FILE --versions {result.versions[0]},{result.versions[1]}",
    )


def _mcnemar(test: PairedTest) -> str:
    return f"{test.gained} gained, {test.lost} lost, p = {test.p:.3f} (McNemar, exact)"
