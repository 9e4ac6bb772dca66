import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

import contend
from contend.app import RunOutcome, dry_run
from contend.errors import InputError
from contend.llm import LEAST_CONTEXT_TOKENS
from contend.models.events import AnyEvent
from fakes.contests import Contest, write_workspace
from fakes.now import Now
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
TEAMS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
LIMIT = 60_000


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace, TEAMS)
    (workspace / "config" / "models.toml").write_text(
        f'default = "m"\n\n[context]\n"*" = {LEAST_CONTEXT_TOKENS}\n\n[max_output_tokens]\n'
        + "".join(
            f"{role} = 400\n" for role in ("supervisor", "reviewer", "evaluator", "judge", "reflector", "curator")
        )
        + "writer = 1500\n",
        "utf-8",
    )
    return Contest(workspace, documents, vendors.base_url)


async def test_eight_teams_at_once_never_exceed_the_tokens_and_the_best_until_then_is_published(
    contest: Contest,
) -> None:
    outcome = await contest.run(THEME, max_tokens=LIMIT, min_rounds=5, max_rounds=5)

    spent = outcome.usage.input_tokens + outcome.usage.output_tokens
    assert LIMIT / 2 < spent <= LIMIT
    assert outcome.status == "partial"
    assert outcome.report is not None
    assert "max_tokens was reached" in outcome.message
    assert "max_tokens was reached" in (outcome.markdown or "")


async def test_rounds_and_lessons_fit_a_small_models_context_with_the_longest_reply(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    write_workspace(workspace, reads=LEAST_CONTEXT_TOKENS)
    for number in range(60):
        note = f"A run that crashed, number {number}, resumes from its checkpoint; a team loses the call in flight. "
        (documents / f"note-{number}.md").write_text(
            f"# Notes on crash and resume, week {number}\n\n{note * 6}", "utf-8"
        )
    vendors.context = LEAST_CONTEXT_TOKENS

    outcome = await Contest(workspace, documents, vendors.base_url).run(
        THEME, instructions="Be exact. " * 40, min_rounds=3, max_rounds=3
    )

    assert (outcome.status, outcome.message) == ("completed", "all teams delivered")
    assert max(call.body["max_tokens"] for call in vendors.calls) > 1_000


async def stop(run: Coroutine[object, object, RunOutcome], is_there: Callable[[], object]) -> None:
    """In the middle of it, as soon as it is there."""
    task = asyncio.create_task(run)
    while not is_there():
        await asyncio.sleep(0.02)
        assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_calls_are_counted_over_a_resume(contest: Contest, vendors: Vendors) -> None:
    teams = TEAMS[:4]
    vendors.hang(prompt="evaluator/verdicts", after=5)
    options = {"teams": [*teams], "max_calls": 45, "min_rounds": 5, "max_rounds": 5}
    await stop(
        contest.run(THEME, thread_id="stopped", **options), lambda: vendors.prompts().count("evaluator/verdicts") == 5
    )
    vendors.heal()
    before = len(vendors.calls)

    outcome = await contest.resume("stopped")

    assert outcome.status == "partial"
    assert "max_calls was reached" in outcome.message
    assert outcome.usage.requests <= 45
    in_flight_when_stopped = len(teams) * 3
    assert before + 5 < len(vendors.calls) <= 45 + in_flight_when_stopped


async def test_a_limit_in_dollars_without_a_price_is_refused_before_anything_is_spent(
    contest: Contest, vendors: Vendors, workspace: Path
) -> None:
    with pytest.raises(InputError, match="max_usd needs the price of"):
        await contest.run(THEME, max_usd=1.0)

    assert not vendors.calls
    assert not (workspace / "contend.duckdb").exists()


async def test_minutes_end_a_run_with_the_best_until_then(contest: Contest, vendors: Vendors) -> None:
    now, services = Now(takes=4), contest.services()
    services.now = now
    vendors.malform(now.slow, prompt="research/revise")
    options = contest.options(max_minutes=0.1, min_rounds=10, max_rounds=10, teams=["alpha"])

    outcome = await contend.run(THEME, options=options, services=services)

    await services.aclose()
    assert outcome.status == "partial"
    assert "max_minutes was reached" in outcome.message
    assert outcome.report is not None


async def test_minutes_of_an_unfinished_round_are_counted_over_a_resume(contest: Contest, vendors: Vendors) -> None:
    vendors.latency = 0.5
    vendors.hang(prompt="research/review")
    await stop(contest.run(THEME, thread_id="stopped", teams=["alpha"]), lambda: vendors.hung)
    vendors.heal()
    vendors.latency = 0.0
    services, counted = contest.services(), []

    def read(event: AnyEvent) -> None:
        if event.type == "step_done":
            counted.append(services.runs[event.execution_id].clock.seconds)

    await contend.resume("stopped", services=services, on_event=read)

    await services.aclose()
    plan_and_draft = 2 * 0.5
    assert counted[0] > plan_and_draft


async def test_minutes_of_finished_rounds_are_counted_over_a_resume_after_them(
    contest: Contest, vendors: Vendors
) -> None:
    """No team is left whose state knows them."""
    now, first, second = Now(takes=4), contest.services(), contest.services()
    first.now, second.now, counted = now, Now(), list[float]()
    vendors.malform(now.slow, prompt="research/write")
    vendors.hang(prompt="reflector/reflect")
    options = contest.options(teams=["alpha"], max_rounds=1)
    await stop(contend.run(THEME, options=options, thread_id="stopped", services=first), lambda: vendors.hung)
    await first.aclose()
    vendors.heal()

    def read(reply: str) -> str:
        counted.extend(run.clock.seconds for run in second.runs.values())
        return reply

    vendors.malform(read, prompt="reflector/reflect")

    await contend.resume("stopped", services=second)

    await second.aclose()
    assert counted == [now.seconds]


async def test_nothing_is_learned_after_a_budget_has_ended(contest: Contest, vendors: Vendors) -> None:
    await contest.run(THEME, max_calls=9, min_rounds=5, max_rounds=5, teams=["alpha"])

    assert "reflector/reflect" not in {call.prompt for call in vendors.calls}


async def test_money_ends_a_run_where_every_model_has_its_price(contest: Contest, workspace: Path) -> None:
    models = workspace / "config" / "models.toml"
    prices = "".join(f"[prices.{name}]\ninput = 1000\noutput = 1000\n" for name in ("m", *TEAMS))
    models.write_text(models.read_text("utf-8") + prices, "utf-8")

    outcome = await contest.run(THEME, max_usd=30.0, min_rounds=5, max_rounds=5, teams=[*TEAMS[:3]])

    assert outcome.status == "partial"
    assert "max_usd was reached" in outcome.message
    assert outcome.usage.cost_usd is not None
    assert 10 < outcome.usage.cost_usd <= 30


async def test_without_prices_a_run_has_no_cost_and_says_so(contest: Contest) -> None:
    outcome = await contest.run(THEME, max_rounds=1, teams=["alpha"])

    assert outcome.usage.requests > 0
    assert outcome.usage.cost_usd is None
    assert "cost unknown" in (outcome.markdown or "")


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_a_budget_too_small_for_any_submission_ends_without_a_report(
    contest: Contest, vendors: Vendors, language: str
) -> None:
    outcome = await contest.run(THEME, max_calls=2, teams=["alpha"], language=language)

    assert (outcome.status, outcome.exit_code, outcome.report) == ("failed", 2, None)
    assert "max_calls = 2 would be exceeded" in outcome.message
    assert "submission" not in outcome.message  # there is none
    assert len(vendors.calls) == 2


@pytest.mark.parametrize("loops", [1, 2, 3])
async def test_a_round_whose_first_draft_is_good_makes_the_least_calls_that_a_dry_run_names(
    contest: Contest, vendors: Vendors, workspace: Path, loops: int
) -> None:
    team = workspace / "config" / "teams" / "alpha.toml"
    team.write_text(team.read_text("utf-8").replace("max_iterations = 2", f"max_iterations = {loops}"), "utf-8")
    options = contest.options(teams=["alpha"], max_rounds=1, learn=False)
    services = contest.services()

    planned = await dry_run(THEME, options=options, services=services)
    await contend.run(THEME, options=options, services=services)

    await services.aclose()
    assert planned.estimate.calls[0] == len(vendors.calls)
    assert planned.estimate.calls[1] >= planned.estimate.calls[0]
