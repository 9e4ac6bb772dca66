"""Models measured without a contest: learning from labels, whether a playbook helps, the scores of a text."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import typer
from rich.console import Group
from rich.text import Text

from contend.app import learn_from
from contend.cli import COMMAND, input_error, speak, tr, ui
from contend.cli.runs import from_record, named_thread
from contend.errors import InputError, UnknownThread
from contend.learning.labels import AnswerForm, LabelledQuestion, read_questions
from contend.learning.practice import LearningResult, PairedTest, Practice, set_aside
from contend.models.evaluation import EvaluationResult
from contend.models.options import RunOptions
from contend.models.playbook import Playbook
from contend.models.task import RunUsage
from contend.scoring import evaluate
from contend.services import open_services
from contend.text import WORDS


def learn_dataset(dataset: str, *, source: str, form: AnswerForm, validation: Path | None, limit: int | None) -> None:
    """Learn from a thread's run, or from a JSONL file of labelled questions, into a dataset.

    Raises:
        InputError: neither file nor thread, a line cannot be read, or no language model is set.
    """
    file = Path(source).expanduser()
    if file.suffix == ".jsonl" or file.is_file():
        _learn_from_file(dataset, file, form, validation, limit)
        return
    try:
        settings = COMMAND.settings()
        thread = from_record(settings, lambda record: named_thread(record, source))
        result = asyncio.run(learn_from(thread, dataset=dataset, settings=settings))
    except UnknownThread as error:
        raise input_error("--from {source}: neither a file nor a thread with a run: see `contend runs`",
                          source=source) from error  # fmt: skip
    if ui.print_json(result):
        return
    summary, now = ui.summary_text(result.summary), result.playbook_version
    ui.say("Playbook {dataset}: {summary}, now version {now}.", dataset=result.dataset, summary=summary, now=now)
    ui.advise(f"contend playbook show {result.dataset}")


def _learn_from_file(dataset: str, file: Path, form: AnswerForm, validation: Path | None, limit: int | None) -> None:
    questions = read_questions(file)
    train, test_set = (questions, read_questions(validation)) if validation else set_aside(questions)
    if not train or not test_set:
        raise InputError(f"{file}: too few questions to set some aside: give --validation FILE")

    async def learn() -> LearningResult:
        async with _practice(dataset, form) as practice:
            ui.note(f"{ui.counted(len(train[:limit]), 'question')} to learn from, {len(test_set)} set aside")
            return await practice.learn(train[:limit], test_set)

    result = asyncio.run(learn())
    test, (first, last) = result.comparison, result.versions
    if ui.print_json({**result._asdict(), "comparison": test._asdict(), "format": form}):
        return
    before, after = test.before / test.questions, test.after / test.questions
    ui.say(f"Before: {before:.1%} of {test.questions} right, after: {after:.1%} ({form}).")
    ui.say(f"{_mcnemar(test)}; {result.tokens:,} tokens, {result.minutes:.1f} minutes.")
    ui.say(f"Playbook {dataset}: version {first} before, {last} now.")
    ab = f"contend playbook ab {dataset} --labels FILE --versions {first},{last}"
    ui.advise(f"contend playbook show {dataset}", ab)


def compare_versions(dataset: str, *, labels: Path, versions: str, form: AnswerForm, limit: int | None) -> None:
    """The ABAB test: the same questions with one version's lessons, another's, and both again.

    Raises:
        InputError: the file or a version is not usable, or no language model is set.
    """
    numbers = [number.strip() for number in versions.split(",", maxsplit=1)]
    if len(numbers) < 2 or not all(map(str.isdigit, numbers)):  # noqa: PLR2004 - a pair
        raise typer.BadParameter(f"--versions {versions!r}: give two numbers such as 0,3")
    questions = read_questions(labels)[:limit]
    asyncio.run(_compare(dataset, questions, [int(number) for number in numbers], form))


async def _compare(dataset: str, questions: list[LabelledQuestion], versions: list[int], form: AnswerForm) -> None:
    async with _practice(dataset, form) as practice:
        store = practice.curator.playbook_store
        empty = Playbook(dataset=dataset)
        off, on = [await store.load(dataset, version=version) if version else empty for version in versions]
        rounds, control = await practice.alternate(questions, off, on)
    tests = {"first": PairedTest.of(*rounds[:2]), "second": PairedTest.of(*rounds[2:]), "control": control}
    if ui.print_json(
        {name: each._asdict() for name, each in tests.items()} | {"format": form, "tokens": practice.tokens}
    ):
        return
    for number, answers in enumerate(rounds):
        right = sum(each.check.right for each in answers)
        ui.say(f"version {versions[number % 2]}: {right} of {len(answers)} right ({right / len(answers):.1%}, {form})")
    names = ("first pair", "second pair", f"control, version {versions[0]} twice")
    for name, test in zip(names, tests.values(), strict=True):
        ui.say(f"{name}: {_mcnemar(test)}")
    ui.say(f"{practice.tokens:,} tokens")


@asynccontextmanager
async def _practice(dataset: str, form: AnswerForm) -> AsyncIterator[Practice]:
    async with open_services(COMMAND.settings()) as services:
        if not services.models.are_set():
            raise InputError("no OPENAI_API_KEY or OPENAI_BASE_URL is set: a language model answers; set one")
        execution_id = f"learn-{dataset}"
        yield Practice(
            services.model_of("writer", execution_id),
            services.model_of("reflector", execution_id),
            services.curator,
            dataset,
            form,
            services.folder / "learning",
            services.settings.max_calls_in_flight,
            on_line=ui.note,
        )


def _mcnemar(test: PairedTest) -> str:
    return f"{test.gained} gained, {test.lost} lost, p = {test.p:.3f} (McNemar, exact)"


def evaluate_file(file: Path, *, theme: str, model: str | None) -> int:
    """Print what each metric says of a file; 1 if a metric that applies failed.

    Raises:
        InputError: the file or the theme is not usable.
    """
    speak(theme)
    result, usage = asyncio.run(_evaluate(ui.file_text(file), theme, model))
    if not ui.print_json({**result.model_dump(mode="json"), "usage": usage}):
        rows = []
        for metric in result.metrics:
            note = tr("(quotes that are not in the text, and were dropped: {count})", count=metric.dropped)
            reason = f"{metric.reason} {note}" if metric.dropped else metric.reason
            rows.append((metric.name, ui.score_text(metric.score) if metric.applies else "–", reason))
        table = ui.plain_table("Metric", "Score", "Reason", rows=rows, right={"Score"}, fold={"Reason"})
        overall = Text(tr("Overall {score}", score=ui.score_text(result.overall)), style="bold")
        cap_lines = {words.feedback.capped for words in WORDS.values()}
        notes = [Text(line) for line in result.feedback.splitlines() if line in cap_lines]
        ui.show(Group(table, "", overall, *notes, Text(ui.usage_text(usage), style="dim")))
    return int(any(metric.score is None and metric.applies and metric.weight > 0 for metric in result.metrics))


async def _evaluate(text: str, theme: str, model: str | None) -> tuple[EvaluationResult, RunUsage]:
    async with open_services(COMMAND.settings()) as services:
        return await evaluate(text, theme, services=services, options=RunOptions(model=model))
