"""The routes that start a research, change it, and say where it stands."""

import asyncio
from contextlib import suppress
from importlib.metadata import version
from typing import Annotated
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends, Path, Query

from contend import app
from contend.agent_server import DemoName, recorded_demo, server_services
from contend.api import models
from contend.api.progress import progress_of
from contend.api.requests import BUSY, NOT_FOUND, PROBLEMS, WITH_BODY, LimitedRoute
from contend.api.researches import IN_QUEUE, Researches, of_server, server_researches
from contend.approval import chosen_answers
from contend.contest.state import input_options
from contend.errors import InputError, ThreadBusy
from contend.models.record import THREAD_CHARACTERS
from contend.sources.uploads import delete_uploads
from contend.stored_runs import status_of
from contend.stores import is_leased

router = APIRouter(responses=PROBLEMS, route_class=LimitedRoute)
researches = APIRouter(prefix="/research", tags=["research"], responses=PROBLEMS, route_class=LimitedRoute)
research = APIRouter(
    prefix="/research/{research_id}", tags=["research"], responses=PROBLEMS | NOT_FOUND, route_class=LimitedRoute
)

Live = Annotated[Researches, Depends(server_researches)]
ResearchId = Annotated[
    str,
    Path(
        description="The research's id: a UUID, or the id of a run's thread.",
        min_length=1,
        max_length=THREAD_CHARACTERS,
    ),
]


@researches.post("", status_code=202, responses=BUSY)
async def start_research(request: models.ResearchRequest, live: Live) -> models.ResearchResponse:
    """Start a research. It is checked at once, and waits in the server's queue until a worker is free."""
    return await live.start(request)


@researches.post("/dry-run", responses=WITH_BODY)
async def estimate_research(request: models.ResearchRequest, live: Live) -> models.Estimate:
    """Check a research, and estimate what it might cost. Nothing is started or spent."""
    dry_run = await live.dry_run(request)
    return models.Estimate(models=dry_run.opening.options.model_names, **dry_run.summary())


@researches.post("/demo", status_code=202)
async def play_demo(
    live: Live,
    name: Annotated[
        DemoName,
        Query(description="`contest`: on a ferry; `ja`: on an inn, in Japanese; `steps`: one team reads a long guide."),
    ] = "contest",
) -> models.ResearchResponse:
    """Play a recorded demo: a contest of teams, or one team's research in steps. It needs no key and spends nothing."""
    demo = await asyncio.to_thread(recorded_demo, name)
    if demo is None:
        raise InputError(
            f"demo {name}: this install lacks it; play it in a clone of contend, where `make help` names it"
        )
    await app.dry_run(demo.theme, options=demo.options, services=await server_services(demo=name))
    thread = str(uuid4())
    await live.queue.run(thread, demo.theme, input_options(demo.options), demo=name, input={"theme": demo.theme})
    return models.ResearchResponse(research_id=thread, status="started", message=IN_QUEUE)


@researches.get("")
async def list_researches(
    live: Live,
    search: Annotated[str, Query(description="Words that the question holds.", max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> models.ResearchPage:
    """The history, the newest first: researches of the API, of Studio and of the command line."""
    record = live.services.record
    rows, total = await record.history(search=search, limit=limit, offset=offset)
    on_record = {*await record.threads()}
    at_server = await live.queue.newest(on_record)
    settings = live.services.settings
    items = [await live.item(row, await status_of(settings, row), at_server.get(row.thread_id)) for row in rows]
    # Those that have not begun stand at its head.
    to_begin = [of_server(thread, at_server[thread]) for thread in at_server if thread not in on_record]
    matches = [each for each in to_begin if search.casefold() in each.theme.casefold()]
    return models.ResearchPage(total=total + len(matches), items=items if offset else [*matches, *items])


@researches.put("/{research_id}", status_code=202, responses=WITH_BODY)
async def start_research_once(
    research_id: ResearchId, request: models.ResearchRequest, live: Live
) -> models.ResearchResponse:
    """Start a research under a UUID of your own. Again, it answers how that research stands and starts nothing."""
    try:
        thread = str(UUID(research_id))
    except ValueError as error:
        raise InputError(f"research {research_id}: an id of your own is a UUID") from error
    at_server = await live.queue.find(thread)
    if await live.services.record.latest_execution(thread) is None and not (at_server and at_server.run):
        with suppress(ThreadBusy):  # the same request came twice at once
            await live.start(request, thread=thread)
    return await live.response(thread)


@research.get("")
async def get_research(research_id: ResearchId, live: Live) -> models.ResearchDetails:
    """Where a research stands: teams, ranking, cost, questions."""
    return await live.details(research_id)


@research.delete("", responses=BUSY)
async def cancel_research(research_id: ResearchId, live: Live) -> models.ResearchResponse:
    """Stop a research where it is. Nothing that was found is lost, and it can go on."""
    details = await live.details(research_id)
    at_server = await live.queue.find(details.research_id)
    if at_server and at_server.is_going:
        await live.queue.cancel(at_server)
    elif details.is_over:
        raise ThreadBusy(f"research {research_id} is {details.outcome}: there is nothing to cancel")
    elif await is_leased(live.services.settings, details.research_id):
        raise ThreadBusy(f"research {research_id} is worked on by another process: stop it there, by Ctrl-C")
    return await live.response(details.research_id)


@research.delete("/data", status_code=204, responses=BUSY)
async def delete_research(research_id: ResearchId, live: Live) -> None:
    """Delete all that is kept of a research: its state, rows in the record, texts, uploads, report."""
    details = await live.details(research_id)
    if details.is_going:
        raise ThreadBusy(f"research {research_id} is at work: cancel it first")
    if details.outcome is not None:
        await app.delete(details.research_id, services=live.services)
    await asyncio.to_thread(delete_uploads, live.services.folder, details.research_id)
    await live.queue.delete(details.research_id)


@research.post("/resume", status_code=202, responses=BUSY)
async def resume_research(research_id: ResearchId, live: Live) -> models.ResearchResponse:
    """Go on with a research that was cancelled, or whose process ended. Finished calls are not paid again."""
    details = await live.details(research_id)
    if details.waiting:
        raise InputError(f"research {research_id}: {details.message}: answer at …/answers")
    if details.is_over:
        raise ThreadBusy(f"research {research_id} is {details.outcome}: ask a further question instead")
    unbegun = await live.unbegun_run(details)
    if not unbegun:
        await live.check_goes_on(details)
    await live.queue.run(details.research_id, details.theme, unbegun.get("context"), input=unbegun.get("input"))
    return await live.response(details.research_id)


@research.post("/follow-up", status_code=202, responses=BUSY)
async def ask_again(research_id: ResearchId, request: models.ResearchRequest, live: Live) -> models.ResearchResponse:
    """Ask a further question on a finished research: a run of its own, which knows the last report."""
    details = await live.details(research_id)
    if not details.is_over:
        raise ThreadBusy(f"research {research_id} is {details.status}: wait for its end, or cancel it")
    return await live.start(request, thread=details.research_id)


@research.get("/progress")
async def get_progress(research_id: ResearchId, live: Live) -> models.ProgressInfo:
    """Round, loop and node of each team, what is done and to come, the cost so far, and when it may end."""
    details = await live.details(research_id)
    return details.progress or progress_of(await live.all_events(details.research_id), is_going=False)


@research.get("/questions")
async def get_questions(research_id: ResearchId, live: Live) -> models.Questions:
    """What waits for a person; what stands under `args` may be edited."""
    return models.Questions(questions=(await live.details(research_id)).questions)


@research.post("/answers", status_code=202, responses=BUSY)
async def answer_questions(research_id: ResearchId, answers: models.Answers, live: Live) -> models.ResearchResponse:
    """Approve, edit or reject what waits; the research goes on. Questions that are left out wait on."""
    outcome = await live.check_goes_on(await live.details(research_id))
    by_question = chosen_answers(outcome.questions, answers.decision, answers.answers)
    if not by_question:
        raise InputError("answers: none is given: give `decision`, or `answers` by question id or team")
    await live.queue.run(outcome.thread_id, outcome.theme, None, command={"resume": by_question})
    return await live.response(outcome.thread_id)


@router.get("/health", tags=["health"])
async def get_health(live: Live) -> models.Health:
    """Whether the server can do its work."""
    settings = live.services.settings
    problems = [] if settings.has_language_model else ["no OPENAI_API_KEY or OPENAI_BASE_URL is set: runs are searches"]
    return models.Health(
        status="ok",
        version=version("contend"),
        checkpointer=settings.checkpointer,
        language_model=settings.has_language_model,
        demo=await asyncio.to_thread(recorded_demo, "contest") is not None,
        teams=[*live.services.config.teams],
        problems=problems,
    )
