"""`contend.research`: a single agent's research in one call."""

import pytest

import contend
from contend.errors import InputError
from contend.models.events import RunStarted
from contend.services import Services
from fakes.contests import Contest

THEME = "How does resume work after a crash?"


async def test_a_research_is_one_team_in_one_round_without_an_editor(contest: Contest, services: Services) -> None:
    events: list[object] = []

    outcome = await contend.research(THEME, options=contest.options(), services=services, on_event=events.append)

    assert outcome.status == "completed"
    assert outcome.report is not None
    assert outcome.summary is not None
    assert (outcome.summary.total_teams, [each.round_number for each in outcome.summary.team_results]) == (1, [1])
    (start,) = [event for event in events if isinstance(event, RunStarted)]
    assert (start.options["depth"], start.options["synthesis"]) == ("quick", False)


async def test_a_research_of_another_depth_is_refused(contest: Contest, services: Services) -> None:
    with pytest.raises(InputError, match=r"depth: 'deep' is a contest"):
        await contend.research(THEME, options=contest.options(depth="deep"), services=services)
