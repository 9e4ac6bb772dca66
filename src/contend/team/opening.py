"""A team opened on its own, in Studio or from code: it settles for itself what a contest would have brought."""

from uuid import uuid4

from contend.models.options import RunOptions
from contend.preflight import asked_of, open_asked
from contend.services import Services
from contend.team.state import TeamState, TeamUpdate


async def opened_alone(services: Services, state: TeamState, context: RunOptions | None) -> TeamUpdate:
    """Theme, options and the first team that may enter, for a team without a contest.

    Raises:
        InputError: the theme or an option is not usable, or no source is on.
    """
    opened = await open_asked(services, state, context)
    execution_id = str(uuid4())
    team = opened.teams[0]
    services.board.enter(execution_id, [(team.team_id, team.name)])
    return {
        "alone": True,
        "theme": opened.theme,
        "asked": {**asked_of(state), "theme": opened.theme},
        "options": opened.options.model_dump(mode="json"),
        "team": team.model_dump(mode="json"),
        "execution_id": execution_id,
        "bullets": [],
        "sources_off": opened.sources_off,
        "round_number": 0,
        "rounds": [],
        "retries": 0,
        "time_used": 0.0,
        "clock": None,
    }
