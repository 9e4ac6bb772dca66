"""The HTTP research API, which the Agent Server mounts on its own port and lists in its OpenAPI."""

from collections.abc import MutableMapping
from importlib.metadata import version
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Response
from fastapi.responses import StreamingResponse
from fastapi.staticfiles import StaticFiles
from starlette.routing import Route

from contend.api import models, playbooks, results
from contend.api.problems import BUSY, PROBLEMS, UNKNOWN, WITH_BODY, LimitedRoute, add_problems
from contend.api.requests import RequestGuard, server_cors
from contend.api.researches import Researches, server_researches
from contend.api.stream import event_stream
from contend.api.tools import Tools
from contend.demo import has_demo
from contend.exports import MEDIA, ReportFormat
from contend.models.record import IDENTIFIER_RULE, Identifier
from contend.report import ReportEvidence
from contend.settings import Settings
from contend.standings import Standings, standings

_NUMBER = r"^[0-9]{1,18}$"
_ONLY_ITS_OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

Live = Annotated[Researches, Depends(server_researches)]
ResearchId = Annotated[
    str, Path(description="The research's id: a UUID, or the name of a run's thread.", min_length=1, max_length=64)
]
DatasetQuery = Annotated[Identifier, Query(description=f"The dataset of the runs: {IDENTIFIER_RULE}.")]

_REPORTS: dict[str, Any] = {media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA.values()} | {
    "application/json": {"schema": {"$ref": "#/components/schemas/ResearchReport"}}
}

router = APIRouter(responses=PROBLEMS, route_class=LimitedRoute)


@router.post("/research", status_code=202, tags=["research"], responses=BUSY)
async def start_research(request: models.ResearchRequest, live: Live) -> models.ResearchResponse:
    """Start a research. It is checked at once, and waits in the server's queue until a worker is free."""
    return await live.start(request)


@router.post("/research/dry-run", tags=["research"], responses=WITH_BODY)
async def estimate_research(request: models.ResearchRequest, live: Live) -> models.Estimate:
    """Check a research, and estimate what it might cost. Nothing is started or spent."""
    dry_run = await live.dry_run(request)
    return models.Estimate(models=dry_run.opening.options.models_told, **dry_run.summary())


@router.post("/research/demo", status_code=202, tags=["research"])
async def play_demo(live: Live) -> models.ResearchResponse:
    """Play the recorded demo: three teams over the documents of a ferry company. It needs no key and spends nothing."""
    return await live.start_demo()


@router.get("/research", tags=["research"])
async def list_researches(
    live: Live,
    search: Annotated[str, Query(description="Words that the question holds.", max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> models.ResearchPage:
    """The history, the newest first: researches of the API, of Studio and of the command line."""
    return await live.page(search=search, limit=limit, offset=offset)


@router.put("/research/{research_id}", status_code=202, tags=["research"], responses=WITH_BODY)
async def start_research_once(
    research_id: ResearchId, request: models.ResearchRequest, live: Live
) -> models.ResearchResponse:
    """Start a research under a UUID of your own. Again, it answers how that research stands and starts nothing."""
    return await live.start_once(request, research_id)


@router.get("/research/{research_id}", tags=["research"], responses=UNKNOWN)
async def get_research(research_id: ResearchId, live: Live) -> models.ResearchDetails:
    """Where a research stands: teams, ranking, cost, questions."""
    return await live.details(research_id)


@router.delete("/research/{research_id}", tags=["research"], responses=UNKNOWN | BUSY)
async def cancel_research(research_id: ResearchId, live: Live) -> models.ResearchResponse:
    """Stop a research where it is. Nothing that was found is lost, and it can go on."""
    return await live.cancel(research_id)


@router.delete("/research/{research_id}/data", status_code=204, tags=["research"], responses=UNKNOWN | BUSY)
async def delete_research(research_id: ResearchId, live: Live) -> None:
    """Delete all that is kept of a research: its state, its rows in the record, its texts, its report."""
    await live.delete(research_id)


@router.post("/research/{research_id}/resume", status_code=202, tags=["research"], responses=UNKNOWN | BUSY)
async def resume_research(research_id: ResearchId, live: Live) -> models.ResearchResponse:
    """Go on with a research that was cancelled, or whose process ended. Finished calls are not paid again."""
    return await live.resume(research_id)


@router.post("/research/{research_id}/follow-up", status_code=202, tags=["research"], responses=UNKNOWN | BUSY)
async def ask_again(research_id: ResearchId, request: models.ResearchRequest, live: Live) -> models.ResearchResponse:
    """Ask a further question on a finished research: a run of its own, which knows the last report."""
    return await live.start(request, research_id=research_id)


@router.get("/research/{research_id}/progress", tags=["research"], responses=UNKNOWN)
async def get_progress(research_id: ResearchId, live: Live) -> models.ProgressInfo:
    """Round, loop and node of each team, what is done and to come, the cost so far, and when it may end."""
    return await live.progress(research_id)


@router.get(
    "/research/{research_id}/events",
    tags=["research"],
    response_class=Response,
    responses=UNKNOWN
    | {
        200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
        204: {"description": "The research is at its end, and all of it was told."},
    },
)
async def follow_research(
    research_id: ResearchId,
    live: Live,
    last_event_id: Annotated[
        str | None, Header(description="The id of the last event that came; those after it follow.", pattern=_NUMBER)
    ] = None,
    after: Annotated[int, Query(description="As Last-Event-ID, where a header cannot be sent.", ge=0, le=2**53)] = 0,
) -> Response:
    """What the research tells, from its beginning or from where the client was, until its end."""
    start = int(last_event_id) if last_event_id else after
    current = await live.response(research_id)
    is_over = current.status in {"completed", "failed"}
    if start and is_over and not await live.services.record.events(research_id, after=start, limit=1):
        return Response(status_code=204)
    stream = event_stream(live, research_id, after=start)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.get(
    "/research/{research_id}/documents/{document_id}",
    tags=["research"],
    response_class=Response,
    responses=UNKNOWN | {200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}},
)
async def get_document(
    research_id: ResearchId,
    document_id: Annotated[str, Path(description="As events name it.", pattern=r"^[0-9a-f]{64}$")],
    live: Live,
) -> Response:
    """A draft's or a submission's text in Markdown."""
    return Response(await results.document(live, research_id, document_id), media_type="text/markdown; charset=utf-8")


@router.get(
    "/research/{research_id}/report",
    tags=["research"],
    response_class=Response,
    responses=UNKNOWN | {200: {"content": _REPORTS}},
)
async def get_report(
    research_id: ResearchId,
    live: Live,
    kind: Annotated[
        ReportFormat, Query(alias="format", description="md, html, json, bibtex, csv (the scores), pdf or docx.")
    ] = "md",
) -> Response:
    """The report, with the facts of the run but in JSON and BibTeX; `pdf` and `docx` need the extra `export`."""
    content = await results.report_as(live, research_id, kind)
    headers = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"} if kind == "html" else None
    return Response(content, media_type=MEDIA[kind], headers=headers)


@router.get("/research/{research_id}/evidence", tags=["research"], responses=UNKNOWN)
async def get_evidence(research_id: ResearchId, live: Live) -> ReportEvidence:
    """What each citation of the report rests on: its sentence, the passages, and what is doubtful about it."""
    return await results.evidence(live, research_id)


@router.get("/research/{research_id}/statistics", tags=["research"], responses=UNKNOWN)
async def get_statistics(research_id: ResearchId, live: Live) -> models.ResearchStatistics:
    """Loops, sources, seconds."""
    return await results.statistics(live, research_id)


@router.get("/research/{research_id}/questions", tags=["research"], responses=UNKNOWN)
async def get_questions(research_id: ResearchId, live: Live) -> models.Questions:
    """What waits for a person; what stands under `args` may be edited."""
    return models.Questions(questions=(await live.details(research_id)).questions)


@router.post("/research/{research_id}/answers", status_code=202, tags=["research"], responses=UNKNOWN | BUSY)
async def answer_questions(research_id: ResearchId, answers: models.Answers, live: Live) -> models.ResearchResponse:
    """Approve, edit or reject what waits; the research goes on. Questions that are left out wait on."""
    return await live.answer(research_id, answers.decision, answers.answers)


@router.get("/research/{research_id}/compare/{other_id}", tags=["research"], responses=UNKNOWN)
async def compare_researches(research_id: ResearchId, other_id: ResearchId, live: Live) -> models.ResearchComparison:
    """Two researches side by side."""
    return await results.compare(live, research_id, other_id)


@router.get("/standings", tags=["leaderboard"])
async def get_standings(live: Live, dataset: DatasetQuery = "default") -> Standings:
    """The teams rated over all finished runs of a dataset; without any, no teams."""
    return await standings(live.services.record, dataset)


@router.get("/leaderboard", tags=["leaderboard"], responses=UNKNOWN)
async def get_leaderboard(
    live: Live,
    research_id: Annotated[str | None, Query(description="Of the newest run if left out.", max_length=64)] = None,
) -> models.Leaderboard:
    """Ranking and rounds of a run, with what the judges said."""
    return await results.leaderboard(live, research_id)


@router.get("/health", tags=["health"])
async def get_health(live: Live) -> models.Health:
    """Whether the server can do its work."""
    settings = live.services.settings
    problems = [] if settings.has_language_model else ["no OPENAI_API_KEY or OPENAI_BASE_URL is set: runs give quotes"]
    return models.Health(
        status="ok",
        version=version("contend"),
        checkpointer=settings.checkpointer,
        language_model=settings.has_language_model,
        demo=has_demo(),
        teams=[*live.services.config.teams],
        problems=problems,
    )


class LivePage(StaticFiles):
    """The page's files, which load nothing from elsewhere and run no script of a report's."""

    def __init__(self) -> None:
        super().__init__(directory=FilePath(__file__).with_name("page"), html=True)

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Content-Security-Policy"] = _ONLY_ITS_OWN
        response.headers["X-Content-Type-Options"] = "nosniff"
        # Asked for again each time, so that a newer contend is never shown by an older page.
        response.headers["Cache-Control"] = "no-cache"
        return response


def research_app(settings: Settings) -> FastAPI:
    """The routes behind the check of who asks; the Agent Server adds its own."""
    tools = Tools()
    app = FastAPI(
        title="contend",
        version=version("contend"),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=tools.served,
    )
    app.add_middleware(RequestGuard, settings=settings, cors=server_cors())
    app.include_router(router)
    app.include_router(playbooks.router)
    app.mount("/app", LivePage())
    app.router.routes.append(Route("/mcp", tools))
    add_problems(app)
    return app
