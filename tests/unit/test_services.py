"""What one container keeps for the runs of its process."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from threading import Event

import pytest

from contend.errors import BudgetExhausted
from contend.models.options import EvaluatorConfig, MetricConfig, ResolvedOptions
from contend.services import Services
from contend.settings import load_settings
from contend.sources.source import Source
from fakes.record_rows import RUN, call, decision, execution


def options(**given: object) -> ResolvedOptions:
    evaluator = EvaluatorConfig(metrics=[MetricConfig(name="coverage")])
    return ResolvedOptions.model_validate({"evaluator": evaluator, **given})


def state_of(**given: object) -> dict[str, object]:
    """What the state says of a run that this process has not begun."""
    return {"execution_id": RUN, "options": options(**given).model_dump(mode="json")}


async def test_runs_of_one_process_have_budgets_of_their_own(workspace: Path) -> None:
    services = Services(load_settings(workspace=workspace))
    first, second = (services.open_run(name, options(max_calls=1)).ledger for name in ("first", "second"))

    first.reserve(input_tokens=1, output_tokens=1)

    second.reserve(input_tokens=1, output_tokens=1)
    with pytest.raises(BudgetExhausted):
        first.reserve(input_tokens=1, output_tokens=1)


def test_what_is_built_on_a_container_is_built_once_for_each(workspace: Path) -> None:
    first, second = (Services(load_settings(workspace=workspace)) for _ in range(2))
    built: list[Services] = []

    for services in (first, second, first):
        assert services.once(built.append) is None

    assert built == [first, second]


async def test_branches_that_come_first_in_a_process_share_one_run_and_its_budget(workspace: Path) -> None:
    before, services = (Services(load_settings(workspace=workspace)) for _ in range(2))
    await before.open_run(RUN, options(max_calls=1)).keep_options()

    first, second = await asyncio.gather(*(services.run({"execution_id": RUN}) for _ in range(2)))

    await services.aclose()
    assert first is second
    assert first.options.max_calls == 1


async def test_a_team_cancelled_while_a_run_is_recalled_leaves_the_others(workspace: Path) -> None:
    services = Services(load_settings(workspace=workspace))
    cancelled, other = (asyncio.create_task(services.run(state_of())) for _ in range(2))
    await asyncio.sleep(0)

    cancelled.cancel()

    await other
    await services.aclose()


async def test_a_recalled_run_has_used_the_tokens_money_and_minutes_that_are_on_record(workspace: Path) -> None:
    services = Services(load_settings(workspace=workspace))
    await services.record.start_execution(execution())
    await services.record.save_usage(RUN, "a", 1, [call("a/1/one"), call("a/1/two")])
    await services.record.save_round_status(decision())
    await services.record.flush()

    ledger = (await services.run(state_of(max_calls=3, max_minutes=1))).ledger

    await services.aclose()
    assert (ledger.usage.requests, ledger.usage.input_tokens, ledger.usage.cost_usd) == (2, 20, 1.0)
    assert 1.5 <= ledger.clock.seconds < 30


async def test_teams_that_search_one_source_share_it(workspace: Path, documents: Path) -> None:
    services = Services(load_settings(workspace=workspace))

    assert services.sources.get("tavily", []) is services.sources.get("tavily", ["elsewhere"])
    assert services.sources.get("local", [str(documents)]) is services.sources.get("local", [str(documents)])
    await services.aclose()


async def test_teams_that_open_a_source_at_the_same_time_share_it(workspace: Path) -> None:
    services = Services(load_settings(workspace=workspace))
    sources, make, first, second = services.sources, services.sources.factories["arxiv"], Event(), Event()
    source_returned = Event()

    def make_late(paths: Sequence[Path]) -> Source:
        """The first waits until the second is being made; that one until the first is returned."""
        if first.is_set():
            second.set()
            source_returned.wait(10)
        else:
            first.set()
            second.wait(10)
        return make(paths)

    sources.factories["arxiv"] = make_late
    one = asyncio.create_task(asyncio.to_thread(sources.get, "arxiv", []))
    await asyncio.to_thread(first.wait, 10)
    other = asyncio.create_task(asyncio.to_thread(sources.get, "arxiv", []))
    source = await one
    source_returned.set()

    assert await other is source
    await services.aclose()
