"""The depth `auto` in runs: one team, another round, further teams, an editor, each only where it is needed."""

import asyncio
import json
from pathlib import Path
from typing import Any, Unpack

import pytest
from langgraph.types import Command

import contend
from contend.errors import RunChanged
from contend.models.events import AnyEvent, StepChosen, TeamStarted
from fakes.chat_replies import whole
from fakes.contests import Contest, rounds_of, write_workspace
from fakes.vendors import Vendors, Where

THEME = "How does resume work after a crash, and what is a team?"
BETA = "Betting is not allowed here."


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace, ("alpha", "beta", "gamma"), depth="auto")
    return Contest(workspace, documents, vendors.base_url, defaults={"learn": False})


def verdicts(vendors: Vendors, *, unmet: int, **where: Unpack[Where]) -> None:
    """A judge that accepts all but some criteria, the last ones, or the first by a negative number."""

    def judge(reply: str) -> str:
        values = json.loads(reply)
        unmet_ones = values["criteria"][-unmet:] if unmet > 0 else values["criteria"][:-unmet]
        fix = {"where": "summary 1", "what": "Say more."}
        criteria = [
            {
                **each,
                "evidence": "",
                "verdict": "unmet" if each in unmet_ones else "met",
                "fix": fix if each in unmet_ones else None,
            }
            for each in values["criteria"]
        ]
        return json.dumps({**values, "criteria": criteria})

    vendors.malform(judge, prompt="evaluator/verdicts", **where)


def sign(vendors: Vendors, team: str, text: str) -> None:
    """A sentence in the team's reports by which a judge's prompt is known."""

    def add(reply: str) -> str:
        draft = json.loads(reply)
        return json.dumps({**draft, "findings": [whole({"text": text, "sources": []}), *draft["findings"]][:8]})

    vendors.malform(add, model=team, prompt="research/write")


def steps_of(contest: Contest) -> list[StepChosen]:
    return [event for event in contest.events if isinstance(event, StepChosen)]


def played(contest: Contest) -> list[tuple[str, int]]:
    return [(row.team_id, row.round_number) for row in rounds_of(contest)]


async def test_one_team_and_one_round_are_enough_where_all_criteria_are_met(contest: Contest, vendors: Vendors) -> None:
    verdicts(vendors, unmet=0)

    outcome = await contest.run(THEME)

    (step,) = steps_of(contest)
    assert outcome.status == "completed"
    assert outcome.summary is not None
    assert (played(contest), outcome.summary.total_teams) == ([("alpha", 1)], 1)
    assert "criteria met after round 1: no contest was needed." in step.reason
    assert "tokens instead of about" in step.reason
    assert {"judge/judge", "research/merge", "pairwise/compare"}.isdisjoint(vendors.prompts())


async def test_a_team_plays_another_round_where_a_criterion_is_open_and_nobody_asks_a_round_judge(
    contest: Contest, vendors: Vendors
) -> None:
    verdicts(vendors, unmet=0)
    verdicts(vendors, unmet=2, times=1)

    await contest.run(THEME)

    (step,) = steps_of(contest)
    assert played(contest) == [("alpha", 1), ("alpha", 2)]
    assert "criteria met after round 2" in step.reason
    assert "judge/judge" not in vendors.prompts()


@pytest.mark.parametrize(("beta_lacks", "last", "merges"), [(-3, "merge", 1), (3, "publish", 0)])
async def test_an_editor_merges_only_where_a_further_team_meets_what_the_first_does_not(
    contest: Contest, vendors: Vendors, beta_lacks: int, last: str, merges: int
) -> None:
    verdicts(vendors, unmet=3)
    verdicts(vendors, unmet=beta_lacks, match=BETA)
    sign(vendors, "beta", BETA)

    outcome = await contest.run(THEME, max_rounds=1)

    first, second = steps_of(contest)
    assert outcome.status == "completed"
    assert played(contest)[0] == ("alpha", 1)
    assert sorted(played(contest)) == [("alpha", 1), ("beta", 1), ("gamma", 1)]
    assert (first.step, first.teams, second.step) == ("send", ["beta", "gamma"], last)
    assert "Still open after round 1: criteria not met: 3 of" in first.reason
    assert first.reason.endswith("Expected gain: about 1 point, as contests on short documents gave.")
    assert vendors.prompts().count("research/merge") == merges


async def test_named_teams_all_play_at_once_and_a_wish_for_the_editor_holds(contest: Contest, vendors: Vendors) -> None:
    verdicts(vendors, unmet=0)

    await contest.run(THEME, teams=["alpha", "beta"], synthesis=True)

    (step,) = steps_of(contest)
    assert sorted(played(contest)) == [("alpha", 1), ("beta", 1)]
    assert step.step == "merge"
    assert vendors.prompts().count("research/merge") == 1


async def test_rounds_that_are_asked_for_are_played_whatever_is_met(contest: Contest, vendors: Vendors) -> None:
    verdicts(vendors, unmet=0)

    await contest.run(THEME, min_rounds=2, max_rounds=2)

    assert played(contest) == [("alpha", 1), ("alpha", 2)]


async def test_further_teams_play_where_the_first_fails(contest: Contest, vendors: Vendors) -> None:
    verdicts(vendors, unmet=0)
    vendors.fail(status=401, model="alpha", prompt="research/write")

    outcome = await contest.run(THEME, max_rounds=1)

    first, second = steps_of(contest)
    assert outcome.status == "partial"
    assert first.reason == "Alpha delivered nothing. Further teams: Beta, Gamma."
    assert second.step == "publish"
    assert sorted(played(contest)) == [("beta", 1), ("gamma", 1)]


async def test_no_further_team_plays_where_too_little_of_a_budget_is_left(contest: Contest, vendors: Vendors) -> None:
    verdicts(vendors, unmet=3)

    await contest.run(THEME, max_rounds=1, max_calls=4)

    (step,) = steps_of(contest)
    assert "Too little of a budget is left for a further team." in step.reason
    assert played(contest) == [("alpha", 1)]


def _chosen(step: StepChosen) -> tuple[str, str, list[str]]:
    return step.step, step.reason, step.teams


def of_step(event: AnyEvent, number: int) -> bool:
    return isinstance(event, StepChosen) and event.step == ("send", "merge")[number]


@pytest.mark.parametrize(
    "stops",
    [
        lambda event: of_step(event, 0),
        lambda event: isinstance(event, TeamStarted) and event.team_id == "beta",
        lambda event: of_step(event, 1),
    ],
    ids=["while further teams are chosen", "once they are sent", "while the editor is chosen"],
)
async def test_a_run_that_is_stopped_at_a_decision_goes_on_as_it_would_have(
    contest: Contest,
    vendors: Vendors,
    stops: Any,  # noqa: ANN401 - of an event
) -> None:
    verdicts(vendors, unmet=3)
    verdicts(vendors, unmet=-3, match=BETA)
    sign(vendors, "beta", BETA)
    await contest.run(THEME, max_rounds=1)
    undisturbed, calls = [_chosen(step) for step in steps_of(contest)], len(vendors.calls)
    contest.events.clear()
    vendors.calls.clear()

    def stop(event: AnyEvent) -> None:
        if stops(event):
            running.cancel()

    services, options = contest.services(), contest.options(max_rounds=1)
    running = asyncio.ensure_future(
        contend.run(THEME, thread_id="stopped", options=options, services=services, on_event=stop)
    )
    with pytest.raises(asyncio.CancelledError):
        await running
    await services.aclose()
    outcome = await contest.resume("stopped")

    services = contest.services()
    told = await services.record.events_of(outcome.execution_id, "step_chosen")
    await services.aclose()
    assert outcome.status == "completed"
    assert [_chosen(step) for step in told if isinstance(step, StepChosen)] == undisturbed
    assert len(vendors.calls) <= calls + 2


@pytest.mark.parametrize("by", ["context", "environment"])
async def test_a_resume_under_another_depth_is_refused_by_name(
    contest: Contest, vendors: Vendors, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    verdicts(vendors, unmet=0)
    await contest.run(THEME, thread_id="waits", approve=["report"])
    services = contest.services()
    graph = await asyncio.to_thread(contend.build_graph, "contend", services)

    if by == "environment":
        monkeypatch.setenv("CONTEND_DEPTH", "quick")
        with pytest.raises(RunChanged, match="CONTEND_DEPTH"):
            await contest.resume("waits", "approve")
        monkeypatch.delenv("CONTEND_DEPTH")
    else:
        with pytest.raises(RunChanged, match=r"depth: the run began with 'auto', not 'quick'"):
            await graph.ainvoke(
                Command(resume="approve"), {"configurable": {"thread_id": "waits"}}, context={"depth": "quick"}
            )
    await services.aclose()

    assert (await contest.resume("waits", "approve")).status == "completed"


async def test_a_dry_run_of_one_team_tells_what_it_costs_where_it_is_enough_and_the_contest_where_it_is_not(
    contest: Contest, vendors: Vendors
) -> None:
    services = contest.services()
    values = {"length": "brief"}  # the fake's reports are short
    auto, standard = [
        (await contend.dry_run(THEME, options=contest.options(depth=depth, **values), services=services)).estimate
        for depth in ("auto", "standard")
    ]
    await services.aclose()
    verdicts(vendors, unmet=0)

    outcome = await contest.run(THEME, **values)

    tokens = outcome.usage.input_tokens + outcome.usage.output_tokens
    assert auto.calls[0] == outcome.usage.requests
    assert 0.5 <= tokens / auto.tokens[0] <= 2
    assert auto.calls[1] == standard.calls[1]
    assert 0.5 <= auto.tokens[1] / standard.tokens[1] <= 1
