"""Any text, scored as a submission would be: the same metrics, the same weights, no run."""

import asyncio
from uuid import uuid4

from contend.errors import DraftError, InputError, MetricError, ModelError
from contend.models.evaluation import EvaluationResult
from contend.models.options import ResolvedOptions, RunOptions
from contend.models.research import CitedSentence, Draft, ResearchReport, Section, flat_section
from contend.models.submission import Submission
from contend.models.task import RunUsage
from contend.report import build_report, parse_report
from contend.services import Services
from contend.settings import resolve_options
from contend.team.evaluation import evaluation_of
from contend.team.metrics import Measured, measure, metric_tasks, seen_by_judges, unscored
from contend.team.state import MetricTask
from contend.text import clean, split_sentences
from contend.theme import checked_theme

MOST_CHARACTERS = 100_000
MOST_FINDINGS = 20


async def evaluate(
    text: str, theme: str, *, services: Services, options: RunOptions | None = None
) -> tuple[EvaluationResult, RunUsage]:
    """Score a text as an answer to a theme; a metric that fails is unscored.

    Citations are held against the text's own list of references: nothing was retrieved for it.

    Raises:
        InputError: theme or text is not usable.
    """
    asked = checked_theme(theme)
    given = options or RunOptions()
    settings = services.settings
    resolved = resolve_options(
        services.config, given, theme=asked, has_language_model=settings.has_language_model
    ).options
    submission = submission_of(text, asked, resolved)
    document = await services.put_submission(submission)
    execution_id = str(uuid4())
    tasks = metric_tasks(
        resolved.model_dump(mode="json"),
        submission=document,
        theme=asked,
        execution_id=execution_id,
        team_id="",
        round_number=1,
    )
    measured = await asyncio.gather(*(_measured(services, task) for task in tasks))
    await services.documents.delete([document])
    services.forget(execution_id)
    calls = [usage for _, usage in measured if usage is not None]
    notes = seen_by_judges(submission.content).notes(resolved.language)
    result = evaluation_of([score for score, _ in measured], language=resolved.language, notes=notes)
    return result, RunUsage.of(calls)


def submission_of(text: str, theme: str, options: ResolvedOptions) -> Submission:
    """A text as a submission: its own report where it is laid out as one, else one made of its sentences.

    Raises:
        InputError: it is empty, too short or too long.
    """
    content = text if len(text) > 4 * MOST_CHARACTERS else clean(text).strip()
    if len(content) > MOST_CHARACTERS:
        raise InputError(f"the text has {len(content)} characters, at most {MOST_CHARACTERS} can be scored: shorten it")
    sentences = [CitedSentence(text=sentence) for sentence in split_sentences(content)]
    if not sentences:
        raise InputError("the text is empty: give a file with the text to score")
    body = Section.model_validate(flat_section(sentences))
    draft = Draft(summary=sentences[:2], findings=sentences[:MOST_FINDINGS], sections=[body])
    report = parse_report(content, theme=theme) or _plain_report(draft, theme, options)
    return Submission(content=content, report=report, draft=draft, results=report.sources)


def _plain_report(draft: Draft, theme: str, options: ResolvedOptions) -> ResearchReport:
    try:
        return build_report(draft, [], [], theme=theme, language=options.language)
    except DraftError as error:
        raise InputError(f"the text is too short to be scored: {error}") from error


async def _measured(services: Services, task: MetricTask) -> Measured:
    try:
        return await measure(services, task)
    except (ModelError, MetricError) as error:
        return unscored(task, error), None
