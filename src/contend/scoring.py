"""Any text, scored as a submission would be: the same metrics, the same weights, no run."""

import asyncio
from collections.abc import Mapping
from uuid import uuid4

from pydantic import ValidationError

from contend.errors import DraftError, InputError, MetricError, ModelError
from contend.models.evaluation import EvaluationResult, MetricResult, Submission
from contend.models.options import RunOptions
from contend.models.research import ResearchReport, SearchResult
from contend.models.task import RunUsage, checked_theme, title_of
from contend.readiness import check_contexts, models_of_run
from contend.report import Reference, ReferencedText, read_draft, read_references
from contend.report.plain import plain_title
from contend.services import Services
from contend.team.measurement import Measurement, open_measurement
from contend.team.metrics import evaluation_of, measure, metric_tasks, results_without_score
from contend.text import ADDRESS, clean, without_tail

MOST_CHARACTERS = 100_000
_PAGE = ("<!doctype html", "<html")
_NOWHERE = Reference("not in the list of references", "")


async def evaluate(
    text: str, theme: str, *, services: Services, options: RunOptions | None = None
) -> tuple[EvaluationResult, RunUsage]:
    """Score a text as an answer to a theme; a metric that fails is unscored.

    Citations are held against the text's own list of references: nothing was retrieved for it.

    Raises:
        InputError: theme or text is not usable.
    """
    question = checked_theme(theme)
    resolved_options = services.resolve(options or RunOptions(), theme=question).options
    if not resolved_options.models:
        raise InputError("no OPENAI_API_KEY or OPENAI_BASE_URL is set: a language model gives the scores; set one")
    contexts = await services.models.contexts(models_of_run(resolved_options, []))
    check_contexts(contexts)
    resolved_options = resolved_options.model_copy(
        update={"contexts": {name: tokens for name, (tokens, _) in contexts.items()}}
    )
    submission = submission_of_text(text, question)
    document = await services.submissions.put(submission)
    run = services.open_run(str(uuid4()), resolved_options)
    tasks = metric_tasks(run, submission=document, theme=question, team_id="", round_number=1)
    works = [await open_measurement(services, task) for task in tasks]
    by_task = await asyncio.gather(*(_measure(work) for work in works))
    results = [each for of_task in by_task for each in of_task]
    await services.documents.delete([document])
    services.close_run(run.execution_id)
    calls = [each.usage for each in results if each.usage is not None]
    result = evaluation_of([each.score for each in results], language=resolved_options.language)
    return result, RunUsage.of(calls)


def submission_of_text(text: str, theme: str) -> Submission:
    """A text as a submission whose sources are its own references.

    Raises:
        InputError: it is empty, too long or a page of HTML.
    """
    content = text if len(text) > 4 * MOST_CHARACTERS else clean(text).strip()
    if content[:20].casefold().startswith(_PAGE):
        # Its styles would be sentences, and the numbers of its references are in no text.
        raise InputError(
            "the text is a page of HTML: give it in Markdown, as report.md beside a report.html of contend"
        )
    if len(content) > MOST_CHARACTERS:
        raise InputError(f"the text has {len(content)} characters, at most {MOST_CHARACTERS} can be scored: shorten it")
    try:
        draft = read_draft(content).draft
    except DraftError as error:
        raise InputError("the text is empty, or says nothing: give a file with the text to score") from error
    references = read_references(content)
    sources = _sources(references)
    first = draft.summary[0].text
    report = ResearchReport(
        theme=title_of(theme),
        executive_summary=first,
        key_findings=[first],
        detailed_analysis=references.body,
        sources=[sources.get(number) or _source(number, _NOWHERE) for number in range(1, max(sources, default=0) + 1)],
    )
    return Submission(
        content=references.text.strip(), report=report, draft=draft, results=_results(references, sources)
    )


def _sources(references: ReferencedText) -> dict[int, SearchResult]:
    return {number: _source(number, reference) for number, reference in references.entries.items() if number}


def _source(number: int, reference: Reference) -> SearchResult:
    """A reference, which may be a book: then no address leads to it."""
    title = plain_title(reference.text.split("\n", maxsplit=1)[0])[:500] or f"[{number}]"
    for address in (reference.address, f"https://reference.invalid/{number}"):
        try:
            return SearchResult(title=title, summary=title, source="cited", url=address)
        except ValidationError:
            continue
    raise InputError(f"reference [{number}] cannot be read: {title}")


def _results(references: ReferencedText, sources: Mapping[int, SearchResult]) -> list[SearchResult]:
    """What counts as retrieved: the references; in a text without any, the pages that it links to itself."""
    if sources:
        return list(sources.values())
    addresses = {without_tail(match[0]) for match in ADDRESS.finditer(references.body)}
    return [_source(0, Reference(url, url)) for url in sorted(addresses) if url]


async def _measure(work: Measurement) -> list[MetricResult]:
    try:
        return await measure(work)
    except (ModelError, MetricError) as error:
        return results_without_score(work, error)
