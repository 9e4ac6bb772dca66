"""`contend run` and `contend resume`: events go to a view, signals stop it, its end is an exit code."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from rich.console import Group
from rich.text import Text

from contend import app
from contend.cli import COMMAND, EXIT_ON_SIGNAL, input_error, speak, tr, ui
from contend.cli.live import Board, board_of, view_on
from contend.cli.outcome import check_out, leave_files, remember_out, remembered_out, show_outcome
from contend.cli.runs import LATEST, from_record, named_thread
from contend.errors import ContendError, InputError, SeveralQuestions, UnknownThread
from contend.estimate import RunEstimate
from contend.llm.budget import limits_of
from contend.models.events import AnyEvent, RunStarted
from contend.models.options import RunOptions
from contend.parsing import parse_json, parse_toml
from contend.preflight import Opening
from contend.settings import Settings
from contend.stored_runs import read_run
from contend.stores import resume_command, thread_name
from contend.stores.record import RecordStore

Work = Callable[..., Awaitable[app.RunOutcome]]
"""A run that tells its events to `on_event`."""

_T = TypeVar("_T")


def run_theme(
    theme: str, options: RunOptions, *, thread: str | None, replay: Path | None, out: Path | None, dry_run: bool
) -> int:
    """Run a contest and show it; the exit code. `dry_run`: only check it, and say what it would do.

    Raises:
        ContendError: nothing was begun, or a store failed.
    """
    settings = COMMAND.settings(replay=replay)
    if dry_run:
        check_out(out)
        _show_plan(asyncio.run(app.dry_run(theme, options=options, settings=settings)))
        return 0
    thread_id = str(uuid4()) if thread is None else thread
    if thread_id == LATEST:
        raise input_error("--thread 'latest' names the newest run wherever a thread is asked for: give another id")
    work = partial(app.run, theme, thread_id=thread_id, options=options, settings=settings)
    own = settings.folder / "results" / thread_name(thread_id)
    return _drive(thread_id, work, Board(theme=theme), out=check_out(out), own=own)


def resume_thread(thread: str, *, force: bool, out: Path | None, **answers: Any) -> int:  # noqa: ANN401 - as `answers_of` takes them
    """Go on with a thread's run and show it; the exit code. `answers`: as `answers_of` takes them.

    Raises:
        ContendError: there is nothing to go on with, or a store failed.
    """
    decision, by_question = answers_of(**answers)
    settings = COMMAND.settings()
    thread, board = from_record(settings, partial(_thread_and_board, settings=settings, name=thread))
    work = partial(app.resume, thread, decision, answers=by_question, force=force, settings=settings)
    speak(board.theme)
    own = settings.folder / "results" / thread_name(thread)
    return _drive(thread, work, board, out=check_out(out or remembered_out(own), own), own=own)


def _drive(thread: str, work: Work, board: Board, *, out: Path | None, own: Path) -> int:
    """`out`: the output folder; `own`: the run's own folder."""
    with view_on(board) as view:

        def show(event: AnyEvent) -> None:
            if isinstance(event, RunStarted):
                remember_out(own, out)
            view.show(event)

        def at_once() -> None:
            view.close()
            # Whatever was being printed is left as it is: a second print within it would fail.
            os.write(2, f"{_stopped_text(thread, began=board.began)}\n".encode())

        run = run_until_signal(work(on_event=show), on_stop=view.stopping, at_once=at_once)
        try:
            outcome = asyncio.run(run)
        except SeveralQuestions as several:
            raise InputError(several_questions(several)) from several
        except (ContendError, OSError) as error:
            if isinstance(error, InputError | BrokenPipeError) or not board.began:
                raise
            reason = ui.system_fault(error) if isinstance(error, OSError) else str(error)
            raise ContendError(_with_resume(reason, thread)) from error
    if outcome is None:
        return _tell_stop(thread, began=board.began)
    outcome = outcome.model_copy(update={"files": leave_files(outcome.files, out, outcome.theme)})
    if COMMAND.as_json:
        ui.say_line({"type": "outcome", "exit_code": outcome.exit_code, **outcome.model_dump(mode="json")})
    else:
        show_outcome(outcome, board)
    return outcome.exit_code


def _with_resume(reason: str, thread: str) -> str:
    """What stopped a run, and how it goes on where that is not said yet."""
    if resume_command(thread) in reason:
        return reason
    command = ui.in_workspace(resume_command(thread))
    return tr("{reason}; then go on with `{command}`", reason=reason, command=command)


def _stopped_text(thread: str, *, began: bool) -> str:
    command = ui.in_workspace(resume_command(thread))
    return tr("stopped; go on with `{command}`", command=command) if began else tr("stopped before the run began")


def _tell_stop(thread: str, *, began: bool) -> int:
    message = _stopped_text(thread, began=began)
    if COMMAND.as_json:
        outcome = {"type": "outcome", "exit_code": EXIT_ON_SIGNAL, "thread_id": thread, "status": "interrupted"}
        ui.say_line({**outcome, "message": message})
    ui.note(message)
    return EXIT_ON_SIGNAL


async def _thread_and_board(record: RecordStore, settings: Settings, name: str) -> tuple[str, Board]:
    """The id of the thread, and what the record knows of its run."""
    thread = await named_thread(record, name)
    try:
        return thread, board_of(await read_run(record, settings, thread))
    except UnknownThread:  # cut off before its first step
        return thread, Board(stage=tr("Going on"))


async def run_until_signal(
    work: Awaitable[_T], *, on_stop: Callable[[], None], at_once: Callable[[], None]
) -> _T | None:
    """The work's result; None where SIGINT or SIGTERM stopped it.

    `on_stop` is called at the first signal; `at_once` at the second, just before the process ends.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    is_stopping = False

    def stop(*_: int | FrameType | None) -> None:
        nonlocal is_stopping
        if is_stopping:
            at_once()
            os._exit(EXIT_ON_SIGNAL)
        is_stopping = True
        loop.call_soon_threadsafe(on_stop)
        loop.call_soon_threadsafe(task.cancel)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        # The loop's own handler has each signal write to the loop's pipe: one that comes just before the loop waits
        # would else be seen at the next event. It is called by the loop, and would not end a loop that is blocked.
        with suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, lambda: None)
        signal.signal(number, stop)
    try:
        return await task
    except asyncio.CancelledError:
        if not is_stopping:
            raise
        return None
    finally:
        for number, handler in before.items():
            with suppress(NotImplementedError):  # Windows
                loop.remove_signal_handler(number)
            signal.signal(number, handler)


def _show_plan(dry_run: app.DryRun) -> None:
    if ui.print_json({"theme": dry_run.opening.theme, "options": dry_run.opening.options, **dry_run.summary()}):
        return
    title = Text(ui.plain(dry_run.opening.theme), style="bold")
    note = Text(tr("Dry run: nothing was spent or written."), style="cyan")
    ui.show(Group(title, note, "", ui.facts_table(_facts(dry_run)), ""))
    ui.advise(tr("the same command without --dry-run"))


def _facts(dry_run: app.DryRun) -> Iterator[tuple[str, str]]:
    opening, options = dry_run.opening, dry_run.opening.options
    yield tr("Depth"), tr("{depth}, length {length}", depth=options.depth, length=options.length)
    yield tr("Teams"), _teams_text(opening)
    yield tr("Rounds"), tr("{least} to {most}", least=options.min_rounds, most=options.max_rounds)
    yield tr("Sources"), ", ".join(options.sources)
    if options.criteria:
        yield tr("Criteria"), f"criteria/{options.criteria}.toml"
    for name, reason in opening.sources_off.items():
        yield tr("Off"), f"{name}: {reason}"
    for line in opening.left_out:
        yield tr("Left out"), line
    yield tr("Model"), ui.models_text(options.model_names)
    yield tr("Playbook"), options.dataset if options.learn else tr("{dataset} (read only)", dataset=options.dataset)
    if options.recorded is None:
        yield from _costs(dry_run.estimate)
    else:
        yield tr("Cost"), tr("nothing: no model is asked")
    if limits := limits_of(options):
        yield tr("Limits"), ", ".join(f"{name} {limit:,g}" for name, limit in limits.items())
    for warning in opening.warnings:
        yield tr("Warning"), warning


def _teams_text(opening: Opening) -> str:
    first, *others = [team.name for team in opening.teams]
    if opening.options.begins_with_one and others:
        return tr("{team}; where it leaves something open also {others}", team=first, others=", ".join(others))
    return ", ".join([first, *others])


def _costs(estimate: RunEstimate) -> Iterator[tuple[str, str]]:
    if not estimate.calls[1]:
        yield tr("Cost"), tr("nothing: no model calls")
        return
    least, most = estimate.calls
    yield tr("Calls"), tr("{least} to {most} model calls", least=f"{least:,}", most=f"{most:,}")
    yield tr("Tokens"), _roughly(*(f"{_rough(each):,.0f}" for each in estimate.tokens))
    if estimate.usd is None:
        yield tr("Cost"), tr("unknown: add the model's price under [prices] in config/models.toml")
    else:
        yield tr("Cost"), _roughly(*(f"${each:,.2f}" for each in estimate.usd))


def _roughly(least: str, most: str) -> str:
    return tr("roughly {least} to {most}", least=least, most=most)


def _rough(number: float) -> float:
    """Two digits say all that an estimate knows."""
    return float(f"{number:.1e}")


class PersonAnswers(NamedTuple):
    """A decision for the one open question, or decisions by question."""

    decision: object
    by_question: dict[str, object]


def answers_of(*, approve: bool, edit: Path | None, reject: str | None, answer: Sequence[str] | None) -> PersonAnswers:
    """What the options say. `answer` holds `QUESTION=approve`, `QUESTION=reject:WHY` or `QUESTION=edit:FILE`.

    Raises:
        InputError: two options answer the same question, or one can't be read.
    """
    answers: list[object] = ["approve"] if approve else []
    answers += [] if edit is None else [_edit(edit)]
    answers += [] if reject is None else [_reject(reject)]
    if len(answers) > 1 or (answers and answer):
        raise input_error("give one of --approve, --edit, --reject; where several questions wait, --answer for each")
    by_question = [_answer_by_name(text) for text in answer or ()]
    twice = [name for name, times in Counter(name for name, _ in by_question).items() if times > 1]
    if twice:
        raise input_error("--answer: {name} has two answers: give one", name=", ".join(twice))
    return PersonAnswers(answers[0] if answers else None, dict(by_question))


def _answer_by_name(text: str) -> tuple[str, object]:
    question, equals, word = text.partition("=")
    kind, _, rest = word.partition(":")
    match kind:
        case "approve" if question and equals:
            return question, "approve"
        case "reject" if question:
            return question, _reject(rest)
        case "edit" if question and rest:
            return question, _edit(Path(rest))
    raise input_error(
        "--answer {answer}: give QUESTION=approve, QUESTION=reject:WHY or QUESTION=edit:FILE", answer=repr(text)
    )


def _reject(why: str) -> dict[str, object]:
    return {"type": "reject", "reason": why}


def _edit(path: Path) -> dict[str, object]:
    """The edited values of a JSON or TOML file; names left out keep their values."""
    text = ui.file_text(path, "--edit ")
    try:
        values: Any = parse_toml(text) if path.suffix == ".toml" else parse_json(text)
    except ValueError as error:
        raise input_error("--edit {path}: neither JSON nor, as .toml, TOML: {why}", path=path, why=error) from error
    if not isinstance(values, Mapping):
        raise input_error("--edit {path}: give an object with the edited values", path=path)
    return {"type": "edit", "args": dict(values)}


def several_questions(several: SeveralQuestions) -> str:
    """What a person does about it at the terminal."""
    first, second, *_ = several.names
    return tr(
        "{count} questions are open, and an edit fits one of them: {all} approves all, {each} answers each",
        count=len(several.names),
        all="--approve",
        each=f"--answer {first}=approve --answer {second}=edit:FILE",
    )
