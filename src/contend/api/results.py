"""What a research tells and came to: events, drafts, report, statistics, comparison, ranking.

Events are server-sent; a client takes them up again where it lost them.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Header, HTTPException, Path, Query, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from contend.api import models
from contend.api.requests import NOT_FOUND, Responses
from contend.api.researches import Researches
from contend.api.routes import Live, ResearchId, research, router
from contend.errors import UnknownThread
from contend.evidence import with_texts
from contend.exports import MEDIA, ReportFormat, report_file, scores_csv
from contend.models.events import KeptEvent, SearchDone, StepDone
from contend.models.record import IDENTIFIER_RULE, THREAD_CHARACTERS, Identifier
from contend.report import PAGE_POLICY, PublishedReport, published_lines, statement_changes, with_ledger
from contend.standings import Standings, standings
from contend.stored_runs import StoredRun, judged_criteria, read_run, report_of, winners_submission
from contend.stores import checked_thread

_NUMBER = r"^[0-9]{1,18}$"
_SOON, _LATE = 0.25, 2.0
"""Seconds between looks at the record: while something is told, and after a while of silence."""

_TEXT = {"schema": {"type": "string"}}
_REPORTS: dict[str, Any] = {media.partition(";")[0]: _TEXT for media in MEDIA.values()} | {
    "application/json": {"schema": {"$ref": "#/components/schemas/ResearchReport"}}
}
ROUTERS = (research, router)
"""With the routes of `routes`, which come first."""


async def last_event(
    research_id: ResearchId,
    live: Live,
    last_event_id: Annotated[
        str | None, Header(description="The id of the last event that came; those after it follow.", pattern=_NUMBER)
    ] = None,
) -> int:
    """The number of the event behind which a client goes on; it has nothing to come for where all was told."""
    start = int(last_event_id or 0)
    current = await live.response(research_id)
    if start and current.is_over and not await live.services.record.events(research_id, after=start, limit=1):
        raise HTTPException(HTTPStatus.NO_CONTENT)
    return start


class Events(EventSourceResponse):
    """A stream whose refusals are JSON: FastAPI describes those by the media type of the route's response."""

    media_type = "application/json"


_NO_MORE_EVENTS: Responses = {204: {"description": "The research is at its end, and all of it was told."}}


@research.get("/events", response_class=Events, responses=_NO_MORE_EVENTS)
async def follow_research(
    research_id: ResearchId, live: Live, last: Annotated[int, Depends(last_event)]
) -> AsyncIterator[ServerSentEvent]:
    """What the research tells, from its beginning or from where the client was, until its end.

    Between the events stands one of type `status`, without an id, each time the status has changed: it is never told
    again.
    """
    last_status, pause = "", 0.0
    while True:
        current = await live.response(research_id)
        status = current.model_dump_json(include=set(models.ResearchResponse.model_fields))
        events = await live.services.record.events(research_id, after=last)
        for each in events:
            yield _message(each)
            last = each.number
        if status != last_status:
            yield ServerSentEvent(event="status", raw_data=status)
            last_status = status
        if not events and current.is_over:
            return
        pause = _SOON if events else min(_LATE, max(_SOON, pause * 1.5))
        await asyncio.sleep(pause)


def _message(each: KeptEvent) -> ServerSentEvent:
    """An event as it is sent: its number as id, its type as name, and for all events team and round."""
    values = each.event.model_dump(mode="json")
    data = {"id": each.number, "team_id": "", "round_number": 0, **values}
    return ServerSentEvent(id=str(each.number), event=values["type"], raw_data=json.dumps(data, ensure_ascii=False))


@research.get(
    "/documents/{document_id}", response_class=Response, responses={200: {"content": {"text/markdown": _TEXT}}}
)
async def get_document(
    research_id: ResearchId,
    document_id: Annotated[str, Path(description="As events name it.", pattern=r"^[0-9a-f]{64}$")],
    live: Live,
) -> Response:
    """A draft's or a submission's text in Markdown."""
    kind = await live.services.record.event_type_of_document(checked_thread(research_id), document_id)
    if kind is None:
        raise UnknownThread(f"document {document_id[:12]}…: research {research_id!r} tells of none")
    if kind == "round_submitted":
        text = (await live.services.require_submission(document_id)).content
    else:
        text = await live.services.documents.get(document_id)
    return Response(text, media_type="text/markdown; charset=utf-8")


@research.get("/report", response_class=Response, responses={200: {"content": _REPORTS}})
async def get_report(
    research_id: ResearchId,
    live: Live,
    kind: Annotated[
        ReportFormat,
        Query(alias="format", description="md, html, json, bibtex, csv (scores), statements (a CSV), pdf or docx."),
    ] = "md",
) -> Response:
    """The report, with the facts of the run but in JSON and BibTeX; `pdf` and `docx` need the extra `export`."""
    settings = live.services.settings
    if kind == "csv":  # also of a run without a report
        content = scores_csv(await read_run(live.services.record, settings, checked_thread(research_id)))
    else:
        details = await live.details(research_id)
        if (report := await _report(live, details)) is None:
            raise UnknownThread(f"research {research_id!r} has no report: it is {details.outcome or details.status}")
        content = await asyncio.to_thread(report_file, settings, research_id, report, kind)
    headers = {"Content-Security-Policy": PAGE_POLICY} if kind == "html" else None
    return Response(content, media_type=MEDIA[kind], headers=headers)


async def _report(live: Researches, details: models.ResearchDetails) -> PublishedReport | None:
    """The report of the newest run; None where it has none."""
    row = await live.services.record.latest_execution(details.research_id) if details.has_report else None
    return await asyncio.to_thread(report_of, live.services.settings, row) if row else None


@research.get("/statistics")
async def get_statistics(research_id: ResearchId, live: Live) -> models.ResearchStatistics:
    """Loops, sources, seconds."""
    details = await live.details(research_id)
    record, execution_id = live.services.record, details.execution_id
    events = [each for each in await live.all_events(details.research_id) if each.execution_id == execution_id]
    steps = {(each.team_id, each.round_number, each.iteration) for each in events if isinstance(each, StepDone)}
    urls = [hit.url for each in events if isinstance(each, SearchDone) for hit in each.hits]
    for row in await record.rounds(execution_id):
        urls += row.role_records.get("researcher", {}).get("sources", [])
    seconds = await record.active_seconds(execution_id)
    statistics = models.ResearchStatistics.of(iterations=len(steps), urls=urls, seconds=seconds)
    return statistics.model_copy(update=details.published_fields())


@research.get("/compare/{other_id}")
async def compare_researches(research_id: ResearchId, other_id: ResearchId, live: Live) -> models.ResearchComparison:
    """Two researches side by side, with what their reports say differently."""
    one, other = await _side(live, research_id), await _side(live, other_id)
    urls, others = [source.url for source in one.sources], [source.url for source in other.sources]
    reports = [await _report(live, side.research) for side in (one, other)]
    ledgers = [report.statements for report in reports if report and report.statements]
    return models.ResearchComparison(
        same_question=one.research.theme.strip() == other.research.theme.strip(),
        first=one,
        second=other,
        common_sources=[url for url in urls if url in others],
        only_first=[url for url in urls if url not in others],
        only_second=[url for url in others if url not in urls],
        statements=await asyncio.to_thread(statement_changes, *ledgers) if len(ledgers) == len(reports) else None,
    )


async def _side(live: Researches, research_id: str) -> models.Side:
    details = await live.details(research_id)
    newest = await _report(live, details)
    record, settings = live.services.record, live.services.settings
    run = await read_run(record, settings, details.research_id) if details.execution_id else None
    return models.Side(
        research=details,
        statistics=await get_statistics(research_id, live),
        rounds=_round_scores(run) if run else [],
        criteria=await judged_criteria(record, run) if run else [],
        sources=newest.cited_sources() if newest else [],
        executive_summary=newest.executive_summary if newest else "",
        key_findings=newest.key_findings if newest else [],
    )


@research.get("/merge")
async def get_merge_changes(research_id: ResearchId, live: Live) -> models.MergeChanges:
    """What the editor's published report says otherwise than the best team's."""
    details = await live.details(research_id)
    record, settings = live.services.record, live.services.settings
    report = await _report(live, details) if details.published == "editor" else None
    best = await winners_submission(record, await read_run(record, settings, details.research_id)) if report else None
    if report is None or best is None:
        raise UnknownThread(f"research {research_id!r} has published no merged report: see `published` of a research")
    handed_in = await _handed_in(live, best.document)
    return models.MergeChanges(
        team_id=best.team_id,
        team_name=next(entry.team_name for entry in details.leaderboard if entry.team_id == best.team_id),
        document=best.document,
        statements=await asyncio.to_thread(statement_changes, handed_in.statements, report.statements),
    )


async def _handed_in(live: Researches, document: str) -> PublishedReport:
    """A team's own report with its ledger, as it would have been published."""
    submission = await live.services.require_submission(document)
    passages = await with_texts(live.services.documents, submission.passages)
    draft, lines = submission.draft, published_lines(submission.draft, passages, submission.results)
    printed = {each.statement for each in lines}
    return await asyncio.to_thread(
        with_ledger, submission.report, draft, passages, question="", printed=printed, doubts={}, judged=()
    )


def _round_scores(run: StoredRun) -> list[models.RoundScore]:
    fields = set(models.RoundScore.model_fields)
    return [models.RoundScore(**row.model_dump(include=fields), metrics=row.metrics) for row in run.rounds]


@router.get("/standings", tags=["leaderboard"])
async def get_standings(
    live: Live,
    dataset: Annotated[Identifier, Query(description=f"The dataset of the runs: {IDENTIFIER_RULE}.")] = "default",
) -> Standings:
    """The teams rated over all finished runs of a dataset; without any, no teams."""
    return await standings(live.services.record, dataset)


@router.get("/leaderboard", tags=["leaderboard"], responses=NOT_FOUND)
async def get_leaderboard(
    live: Live,
    research_id: Annotated[
        str | None, Query(description="Of the newest run if left out.", max_length=THREAD_CHARACTERS)
    ] = None,
) -> models.Leaderboard:
    """Ranking and rounds of a run, with what the judges said."""
    record = live.services.record
    if research_id is None:
        newest = await record.executions(1)
        if not newest:
            raise UnknownThread("no runs yet: start one by POST /research")
        research_id = newest[0].thread_id
    run = await read_run(record, live.services.settings, checked_thread(research_id))
    fields_of_run = {"research_id": research_id, "theme": run.execution.theme, **run.execution.published_fields()}
    return models.Leaderboard(**fields_of_run, leaderboard=run.leaderboard, rounds=_round_scores(run))
