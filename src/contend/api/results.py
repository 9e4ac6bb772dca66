"""What a research came to, of the API's and of all others: report, evidence, drafts, ranking, statistics."""

import asyncio

from contend.api.models import Leaderboard, ResearchComparison, ResearchStatistics, RoundScore, Side
from contend.api.researches import Researches
from contend.errors import UnknownThread
from contend.exports import ReportFormat, report_file, scores_csv
from contend.models.events import SearchDone, StepDone
from contend.models.research import ResearchReport
from contend.report import EVIDENCE_FILE, ReportEvidence
from contend.stored_runs import read_run, report_of
from contend.stores.leases import checked_thread


async def report(researches: Researches, research_id: str) -> ResearchReport:
    """The report of the newest run.

    Raises:
        UnknownThread: it has none.
    """
    details = await researches.details(research_id)
    row = await researches.services.record.latest_execution(details.research_id)
    settings = researches.services.settings
    newest = await asyncio.to_thread(report_of, settings, row) if row and details.has_report else None
    if newest is None:
        raise UnknownThread(f"research {research_id!r} has no report: it is {details.outcome or details.status}")
    return newest


async def report_as(researches: Researches, research_id: str, kind: ReportFormat) -> bytes:
    """The report in a format; as `csv` the scores, also of a run without a report.

    Raises:
        UnknownThread: there is none.
        InputError: the server cannot make that format.
    """
    settings = researches.services.settings
    if kind == "csv":
        return scores_csv(await read_run(researches.services.record, settings, checked_thread(research_id)))
    newest = await report(researches, research_id)
    return await asyncio.to_thread(report_file, settings, research_id, newest, kind)


async def evidence(researches: Researches, research_id: str) -> ReportEvidence:
    """What the report's citations rest on. Raises: as `report`."""
    await report(researches, research_id)
    path = researches.services.folder / "results" / checked_thread(research_id) / EVIDENCE_FILE
    try:
        return ReportEvidence.model_validate_json(await asyncio.to_thread(path.read_text, "utf-8"))
    except FileNotFoundError as error:
        raise UnknownThread(f"research {research_id!r} has no {path.name}: it is of an earlier version") from error


async def document(researches: Researches, research_id: str, document_id: str) -> str:
    """The Markdown of a draft or a submission that an event of the research names.

    Raises:
        UnknownThread: none does.
    """
    record = researches.services.record
    kind = await record.told_document(checked_thread(research_id), document_id)
    if kind is None:
        raise UnknownThread(f"document {document_id[:12]}…: research {research_id!r} tells of none")
    if kind == "round_submitted":
        return (await researches.services.require_submission(document_id)).content
    return await researches.services.documents.get(document_id)


async def statistics(researches: Researches, research_id: str) -> ResearchStatistics:
    """Loops of all teams and rounds, addresses found, active seconds of the newest run."""
    details = await researches.details(research_id)
    record, execution_id = researches.services.record, details.execution_id
    events = await researches.all_events(details.research_id)
    steps = [event for event in events if isinstance(event, StepDone) and event.execution_id == execution_id]
    searches = [event for event in events if isinstance(event, SearchDone) and event.execution_id == execution_id]
    rows = await record.rounds(execution_id)
    urls = [hit.url for search in searches for hit in search.hits]
    urls += [url for row in rows for url in row.role_records.get("researcher", {}).get("sources", [])]
    return ResearchStatistics.of(
        iterations=len({(each.team_id, each.round_number, each.iteration) for each in steps}),
        urls=urls,
        seconds=await record.active_seconds(execution_id),
    )


async def leaderboard(researches: Researches, research_id: str | None) -> Leaderboard:
    """Of the newest run, where no research is named.

    Raises:
        UnknownThread: there is no such run.
    """
    if research_id is None:
        newest = await researches.services.record.executions(1)
        if not newest:
            raise UnknownThread("no runs yet: start one by POST /research")
        research_id = newest[0].thread_id
    run = await read_run(researches.services.record, researches.services.settings, checked_thread(research_id))
    return Leaderboard(
        research_id=research_id,
        theme=run.execution.theme,
        leaderboard=run.leaderboard,
        rounds=[
            RoundScore(**row.model_dump(include=set(RoundScore.model_fields)), metrics=row.metrics)
            for row in run.rounds
        ],
    )


async def compare(researches: Researches, first: str, second: str) -> ResearchComparison:
    """What each came to, and which of the sources that they cite are the same.

    Raises:
        UnknownThread: one of them is not there.
    """
    one, other = await _side(researches, first), await _side(researches, second)
    urls, others = [source.url for source in one.sources], [source.url for source in other.sources]
    return ResearchComparison(
        same_question=one.research.theme.strip() == other.research.theme.strip(),
        first=one,
        second=other,
        common_sources=[url for url in urls if url in others],
        only_first=[url for url in urls if url not in others],
        only_second=[url for url in others if url not in urls],
    )


async def _side(researches: Researches, research_id: str) -> Side:
    details = await researches.details(research_id)
    newest = await report(researches, details.research_id) if details.has_report else None
    return Side(
        research=details,
        statistics=await statistics(researches, research_id),
        sources=newest.cited_sources() if newest else [],
        executive_summary=newest.executive_summary if newest else "",
        key_findings=newest.key_findings if newest else [],
    )
