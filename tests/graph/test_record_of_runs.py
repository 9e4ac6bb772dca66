"""What the record says of runs: while they go, after they failed, and of teams on their own."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

import contend
from contend.app import delete
from contend.contest.graph import build_contest_graph
from contend.errors import UnknownThread
from contend.models.task import ExecutionRow
from contend.services import Services
from contend.stores.checkpoints import open_checkpointer
from contend.team.graph import build_team_graph
from fakes.contests import Contest
from fakes.now import Now
from fakes.record_rows import rows_in
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"
CONFIG: Any = {"configurable": {"thread_id": "alone"}}
STAY = '{"should_continue": true, "reasoning": "There is more to say.", "confidence_percent": 80}'


async def test_a_team_at_work_is_on_record_with_its_round(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    vendors.hang(prompt="research/revise")
    options = contest.options(teams=["alpha"], min_rounds=2, max_rounds=2)
    run = asyncio.create_task(contend.run(THEME, thread_id="t", options=options, services=services))
    while not vendors.hung:
        await asyncio.sleep(0.02)
        assert not run.done()

    row = await services.record.latest_execution("t")
    (team,) = await services.record.team_statuses(row.execution_id if row else "")

    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert (team.status, team.current_round) == ("running", 2)


async def test_a_forfeit_leaves_the_judges_word_on_the_round_before(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    vendors.reply(STAY, prompt="judge/judge")
    vendors.fail(prompt="research/revise", status=401)

    outcome = await contend.run(THEME, options=contest.options(teams=["alpha"], max_rounds=3), services=services)

    (row,) = await services.record.rounds(outcome.execution_id)
    (team,) = outcome.summary.team_statuses if outcome.summary else []
    assert (row.decision, row.confidence, row.exit_reason) == ("continue", 0.8, None)
    assert row.reasoning == "There is more to say."
    assert (team.status, team.current_round) == ("failed", 2)
    assert await services.record.exit_reasons(outcome.execution_id) == {"alpha": "failed"}


async def test_a_team_over_its_time_ends_by_its_deadline(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    now = Now(takes=1000)
    services.now = now
    vendors.malform(now.slow, prompt="research/write", model="beta")

    outcome = await contend.run(THEME, options=contest.options(teams=["beta"], learn=False), services=services)

    (team,) = outcome.summary.team_statuses if outcome.summary else []
    assert team.status == "timeout"
    assert await services.record.exit_reasons(outcome.execution_id) == {"beta": "deadline"}


async def test_runs_with_the_same_options_have_one_fingerprint(contest: Contest, services: Services) -> None:
    for rounds in (1, 1, 2):
        await contend.run(THEME, options=contest.options(teams=["alpha"], max_rounds=rounds), services=services)

    third, second, first = [row.options_fingerprint for row in await services.record.executions()]
    assert first == second != third
    assert len(first) == 8


async def test_the_task_names_the_teams_that_entered(contest: Contest, services: Services) -> None:
    graph = build_contest_graph(services).compile()

    async for state in graph.astream({"theme": THEME}, context=contest.options(teams=["beta"]), stream_mode="values"):
        if "task" in state:
            assert state["task"]["team_configs"] == ["config/teams/beta.toml"]
            return
    pytest.fail("no task")


async def _row(services: Services) -> ExecutionRow:
    row = await services.record.latest_execution("alone")
    assert row is not None
    return row


async def test_a_team_on_its_own_is_on_record_while_it_waits_and_at_its_end_and_can_be_deleted(
    contest: Contest, services: Services, workspace: Path
) -> None:
    options = contest.options(teams=["alpha"], max_rounds=1, approve=["plan"])
    async with open_checkpointer(services.settings) as saver:
        graph = build_team_graph(services).compile(checkpointer=saver)
        await graph.ainvoke({"theme": THEME}, CONFIG, context=options)
        waiting = await _row(services)
        await graph.ainvoke(Command(resume="approve"), CONFIG)
    row = await _row(services)
    (team,) = await services.record.team_statuses(row.execution_id)

    assert (waiting.theme, waiting.status) == (THEME, "running")
    assert (row.status, row.winner_team_id, row.message) == ("completed", "alpha", "team alpha delivered")
    assert row.best_score is not None
    assert (team.status, team.current_round) == ("completed", 1)

    assert (await delete("alone", services=services)).executions == 1
    await services.record.close()
    tables = ("execution", "team_status", "round_history", "leader_board", "round_status", "usage")
    assert [rows_in(workspace / "contend.duckdb", table) for table in tables] == [[]] * len(tables)


async def test_a_team_on_its_own_that_fails_is_on_record_with_why(
    contest: Contest, services: Services, vendors: Vendors
) -> None:
    vendors.fail(prompt="research/write", status=401)
    async with open_checkpointer(services.settings) as saver:
        await (
            build_team_graph(services)
            .compile(checkpointer=saver)
            .ainvoke({"theme": THEME}, CONFIG, context=contest.options())
        )

    row = await _row(services)
    (team,) = await services.record.team_statuses(row.execution_id)
    assert (row.status, row.winner_team_id) == ("failed", None)
    assert "set OPENAI_API_KEY" in row.message
    assert (team.status, team.error_message) == ("failed", row.message)


@pytest.mark.parametrize("call", [contend.resume, contend.status])
async def test_a_team_on_its_own_is_no_contest_to_go_on_with(contest: Contest, services: Services, call: Any) -> None:  # noqa: ANN401 - either
    async with open_checkpointer(services.settings) as saver:
        graph = build_team_graph(services).compile(checkpointer=saver)
        await graph.ainvoke({"theme": THEME}, CONFIG, context=contest.options(max_rounds=1, approve=["plan"]))

    with pytest.raises(UnknownThread, match="thread 'alone' holds a run of another graph"):
        await call("alone", services=services)
