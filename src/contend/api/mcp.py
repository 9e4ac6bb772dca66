"""contend over MCP, at `/mcp` of the Agent Server: a question in, its report out.

In place of the Agent Server's own tools, which show every graph with its bare input and answer with a Python `repr`.
"""

import asyncio
import time
from importlib.metadata import version
from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import Field
from starlette.applications import Starlette

from contend.api.models import ResearchDetails, ResearchRequest
from contend.api.researches import Researches, server_researches
from contend.api.results import get_report
from contend.api.routes import cancel_research
from contend.errors import ContendError
from contend.models.options import Depth, Length, RunOptions
from contend.models.record import QUESTION_CHARACTERS
from contend.preflight import question_of
from contend.settings.files import validate

_LOOK_SECONDS = 1.0
_INSTRUCTIONS = (
    "Research with checked citations. `contest` lets teams compete for the best report, and takes minutes; `research` "
    "is one agent's round, faster and cheaper. Ask one self-contained question a call, in English or Japanese."
)
Question = Annotated[
    str,
    Field(
        description="One self-contained question, in English or Japanese; the report is in its language.",
        min_length=1,
        max_length=QUESTION_CHARACTERS,
    ),
]
Documents = Annotated[
    list[str] | None,
    Field(
        description="Files and folders of the server to research: paths below its workspace, or that its operator "
        "serves (PDF, Word, HTML, Markdown, text, CSV). Left out: as the server's workspace says."
    ),
]
ReportLength = Annotated[
    Length | None, Field(description="How long the report is to be. Left out: as depth and workspace say.")
]
ContestDepth = Annotated[
    Depth | None,
    Field(
        description="How thoroughly. Left out, `auto`: one team, and further ones where it leaves something open; "
        "`quick` is one team and one round, `deep` all teams, three rounds, most costly."
    ),
]


def mcp_app() -> tuple[MCPServer, Starlette]:
    """The MCP server and its routes. Stateless, so that any replica answers; who may ask is settled before it."""
    server = MCPServer("contend", version=version("contend"), instructions=_INSTRUCTIONS)
    for tool in (contest, research):
        server.add_tool(tool, structured_output=False)
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server, server.streamable_http_app(stateless_http=True, transport_security=security)


async def contest(
    question: Question,
    context: Context,
    documents: Documents = None,
    depth: ContestDepth = None,
    length: ReportLength = None,
) -> str:
    """Answer a question by a contest: teams research it in rounds, judges score them, the best report wins.

    Returns the report in Markdown with its sources; each citation was checked against its passage. Takes minutes.
    """
    return await _answer(question, context, documents=documents, depth=depth, length=length)


async def research(
    question: Question, context: Context, documents: Documents = None, length: ReportLength = None
) -> str:
    """Answer a question by one agent's research: one round, no contest. Faster and cheaper than `contest`.

    Returns the report in Markdown with its sources; each citation was checked against its passage.
    """
    return await _answer(question, context, documents=documents, depth="quick", max_rounds=1, length=length)


async def _answer(question: str, context: Context, **options: object) -> str:
    researches = await server_researches()
    try:
        request = ResearchRequest(theme=question_of(question), options=validate(RunOptions, options, "options"))
        details = await _wait_for_end(researches, (await researches.start(request)).research_id, context)
        if details.has_report:
            return bytes((await get_report(details.research_id, researches)).body).decode()
    except ContendError as error:
        raise ToolError(str(error)) from error
    raise ToolError(f"no report: {details.message} (research {details.research_id}, see /app/ of the server)")


async def _wait_for_end(researches: Researches, research_id: str, context: Context) -> ResearchDetails:
    """The research at its end, or where it waits for a person. One whose client is gone is stopped, and can go on."""
    began = time.monotonic()
    try:
        while (current := await researches.response(research_id)).is_going:
            await context.report_progress(time.monotonic() - began, message=current.message)
            await asyncio.sleep(_LOOK_SECONDS)
    except asyncio.CancelledError:
        await asyncio.shield(cancel_research(research_id, researches))
        raise
    return await researches.details(research_id)
