"""What teams are shown of each other: at every round the one ranking, and never a rival's words."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from contend.models.events import AnyEvent, RoundScored, RoundStarted, RoundSubmitted, RunStarted, WinnerPicked
from contend.models.round import LeaderboardEntry
from contend.stores.checkpoints import open_checkpointer
from fakes.contests import Contest, write_workspace
from fakes.rankings import Place, by_the_rule
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
TEAMS = tuple(f"team{number:02}" for number in range(1, 13))
ROUNDS = 3
SHOWN = 10

_ROW = re.compile(r"^- (\S+) <team-\w{8}>Team(\d\d)</team-\w{8}>: ([^←\n]*?)(?: (←) your team)?$", re.MULTILINE)
_MEDALS = {"🥇": "1", "🥈": "2", "🥉": "3"}


class Seen(NamedTuple):
    """What one team saw of the ranking when a round of its began."""

    leaderboard: list[Place]
    brief: str


async def seen_by_teams(contest: Contest, thread_id: str) -> dict[tuple[str, int], Seen]:
    """From the checkpoints of the teams' graphs, by team and round."""
    services, rankings = contest.services(), {}
    async with open_checkpointer(services.settings) as saver:
        async for snapshot in saver.alist({"configurable": {"thread_id": thread_id}}):
            values: dict[str, Any] = snapshot.checkpoint["channel_values"]
            if "leaderboard_seen" in values:
                entries = [LeaderboardEntry.model_validate(entry) for entry in values["leaderboard_seen"]]
                key = values["team"]["team_id"], values["round_number"]
                rankings[key] = Seen(places(entries), values["brief"])
    await services.aclose()
    return rankings


def places(entries: list[LeaderboardEntry]) -> list[Place]:
    return [Place(entry.rank, entry.team_id, entry.best_score) for entry in entries]


def follow(events: list[AnyEvent]) -> Iterator[tuple[AnyEvent, list[Place]]]:
    """Each event with the ranking that the rule makes of all that had happened by then."""
    teams: dict[str, dict[int, float | None]] = {}
    keys: dict[str, float] = {}
    for event in events:
        match event:
            case RunStarted():
                teams = {team: {} for team in event.teams}
            case RoundSubmitted():
                teams[event.team_id].setdefault(event.round_number, None)
            case RoundScored():
                teams[event.team_id][event.round_number] = event.score
            case WinnerPicked():
                compared = {entry.team_id: entry.pairwise_key for entry in event.leaderboard}
                keys = {team: key for team, key in compared.items() if key is not None}
        yield event, by_the_rule(teams, keys)


def shown_ranking(place: Place, own: str) -> tuple[str, str, str, str]:
    """A line of the ranking as a brief shows it: place, team, score, own team's mark."""
    score = "nothing handed in yet" if place.rank is None else "unscored"
    if place.best is not None:
        score = f"{place.best * 100:.1f}/100"
    return str(place.rank or "–"), place.team_id, score, "←" if place.team_id == own else ""


def read_in(brief: str) -> list[tuple[str, str, str, str]]:
    return [(_MEDALS.get(rank, rank), f"team{number}", score, own) for rank, number, score, own in _ROW.findall(brief)]


def words_of(team: str) -> str:
    return f"crew {'abcdefghijkl'[int(team[-2:]) - 1] * 3}: "


@pytest.fixture
def crowd(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    """Twelve teams, each with words of its own in every sentence it hands in."""
    write_workspace(workspace, TEAMS)
    for team in TEAMS:
        own = partial(re.sub, '"text": "', f'"text": "{words_of(team)}')
        vendors.malform(own, model=team, prompt="research/write")
    return Contest(workspace, documents, vendors.base_url)


async def test_every_brief_of_every_round_shows_the_ranking_of_its_moment(crowd: Contest, vendors: Vendors) -> None:
    vendors.fail(model=TEAMS[4], prompt="research/write", status=401)

    await crowd.run(THEME, thread_id="crowd", min_rounds=ROUNDS, max_rounds=ROUNDS, learn=False)

    seen = await seen_by_teams(crowd, "crowd")
    rankings = set()
    for event, ranking in follow(crowd.events):
        if isinstance(event, RoundScored | WinnerPicked):
            assert places(event.leaderboard) == ranking
        elif isinstance(event, RoundStarted):
            shown = seen.pop((event.team_id, event.round_number))
            rankings.add(tuple(ranking))
            assert shown.leaderboard == ranking
            if event.round_number > 1:
                own = next(place.rank for place in ranking if place.team_id == event.team_id)
                assert read_in(shown.brief) == [shown_ranking(place, event.team_id) for place in ranking[:SHOWN]]
                assert f"Your team is in place {own} of {len(TEAMS)}" in shown.brief
    assert seen == {}
    assert len(rankings) > ROUNDS


async def test_no_prompt_of_a_team_or_its_judges_holds_a_rivals_words(crowd: Contest, vendors: Vendors) -> None:
    teams = TEAMS[:3]

    await crowd.run(THEME, teams=list(teams), min_rounds=2, max_rounds=3, learn=False, synthesis=False)

    for call in vendors.calls:
        whose = {team for team in teams if words_of(team) in call.system + call.user}
        if call.model in teams:
            assert whose <= {call.model}
        elif call.prompt != "pairwise/compare":
            assert len(whose) <= 1
    calls = [call for call in vendors.calls if any(words_of(team) in call.user for team in teams)]
    assert {call.model for call in calls if call.prompt == "research/revise"} == set(teams)
    assert {call.prompt for call in calls} >= {"evaluator/verdicts", "judge/judge"}
