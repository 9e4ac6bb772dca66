"""A research opened on its own, in Studio or from code: it settles for itself what a team would have brought."""

from uuid import uuid4

from contend.models.options import RunOptions, TeamConfig
from contend.preflight import asked_of, open_asked
from contend.research.state import ResearchState, ResearchUpdate
from contend.services import Services


async def opened_alone(services: Services, state: ResearchState, context: RunOptions | None) -> ResearchUpdate:
    """Theme, options and a plain team for a research without a contest.

    Raises:
        InputError: the theme or an option is not usable, or no source is on.
    """
    opened = await open_asked(services, state, context)
    team = TeamConfig(team_id="research", name="Research", sources=opened.sources)
    return {
        "alone": True,
        "theme": opened.theme,
        "asked": {**asked_of(state), "theme": opened.theme},
        "options": opened.options.model_dump(mode="json"),
        "team": team.model_dump(mode="json"),
        "execution_id": str(uuid4()),
        "round_number": 1,
        "brief": "",
        "bullets": [],
        "history": [],
        "best_submission": None,
        "sources_off": opened.sources_off,
        "clock": None,
    }
