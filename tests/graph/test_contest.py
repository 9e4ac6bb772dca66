import asyncio
import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

import contend
from contend.checks import citation_numbers
from contend.contest.graph import build_contest_graph
from contend.errors import InputError, RunChanged, SourceError, UnknownThread
from contend.models.events import RoundScored, WinnerPicked
from contend.models.research import FoundPassage
from contend.models.task import ExecutionRow
from contend.stores.checkpoints import open_checkpointer
from fakes.contests import Contest, Finished, finished_contest, write_workspace
from fakes.kilns import TOO_FEW, write_kilns
from fakes.now import Now
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"


@pytest.fixture
def contest(contest: Contest) -> Contest:
    contest.defaults = {"learn": False}
    return contest


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> Iterator[Finished]:
    """Of two rounds, with what is learned from them."""

    def prepare(workspace: Path, vendors: Vendors) -> Contest:
        write_workspace(workspace)
        return Contest(workspace, shared_documents, vendors.base_url)

    with finished_contest(tmp_path_factory.mktemp("finished"), prepare, THEME, thread_id="finished") as finished:
        yield finished


async def test_a_contest_ends_with_a_cited_report_and_a_winner(finished: Finished) -> None:
    outcome = finished.outcome

    assert outcome.status == "completed"
    assert outcome.report is not None
    assert outcome.summary is not None
    assert outcome.summary.best_team_id in {"alpha", "beta"}
    numbers = citation_numbers(outcome.report)
    assert numbers
    assert set(numbers) <= set(range(1, len(outcome.report.sources) + 1))
    assert [Path(file).name for file in outcome.files] == ["report.md", "report.html", "report.json"]
    assert (await asyncio.to_thread(Path(outcome.files[0]).read_text, "utf-8")) == outcome.markdown


async def test_a_team_that_fails_leaves_the_others_and_is_named(contest: Contest, vendors: Vendors) -> None:
    vendors.fail(model="beta", status=401)

    outcome = await contest.run(THEME, max_rounds=1)

    assert outcome.status == "partial"
    assert outcome.exit_code == 1
    assert outcome.summary is not None
    assert [team.team_id for team in outcome.summary.team_statuses if team.status == "failed"] == ["beta"]
    assert "team beta failed" in outcome.message
    assert outcome.report is not None


async def test_a_team_that_fails_in_a_later_round_keeps_its_best(contest: Contest, vendors: Vendors) -> None:
    vendors.fail(model="beta", prompt="research/revise", status=401)

    outcome = await contest.run(THEME, min_rounds=2)

    assert outcome.summary is not None
    rounds_by_team = {result.team_id: result.round_number for result in outcome.summary.team_results}
    assert rounds_by_team["beta"] == 1
    assert all("## References" in result.submission_content for result in outcome.summary.team_results)
    assert outcome.status == "partial"
    assert outcome.usage.requests == sum(call.status == 200 for call in vendors.calls)


async def test_no_team_delivering_means_no_report(contest: Contest, vendors: Vendors, workspace: Path) -> None:
    vendors.fail(prompt="research/write", status=401)

    outcome = await contest.run(THEME)

    assert outcome.status == "failed"
    assert outcome.exit_code == 2
    assert outcome.report is None
    assert outcome.markdown is None
    assert not (workspace / "results").exists()


async def test_a_team_over_its_deadline_is_a_timeout(workspace: Path, documents: Path, vendors: Vendors) -> None:
    write_workspace(workspace, seconds=600, cap=1)
    contest, now = Contest(workspace, write_kilns(documents), vendors.base_url), Now(takes=598)
    contest.defaults = {"evidence_tokens": TOO_FEW}
    services = contest.services()
    services.now = now
    vendors.malform(now.slow, model="beta", prompt="researcher/step")
    vendors.hang(model="beta", prompt="research/write")  # with two seconds left

    outcome = await contend.run(THEME, options=contest.options(), services=services)

    await services.aclose()
    assert outcome.summary is not None
    assert {team.team_id: team.status for team in outcome.summary.team_statuses} == {
        "alpha": "completed",
        "beta": "timeout",
    }


async def test_a_metric_that_fails_is_unscored_and_the_others_count(contest: Contest, vendors: Vendors) -> None:
    path = contest.workspace / "config" / "evaluator.toml"
    path.write_text(EVALUATOR, "utf-8")
    vendors.fail(prompt="evaluator/metric", status=401)

    outcome = await contest.run(THEME, max_rounds=1)

    events = [event for event in contest.events if isinstance(event, RoundScored)]
    assert all({metric.name for metric in event.metrics if metric.score is None} == {"coverage"} for event in events)
    assert all(event.score is not None for event in events)
    assert outcome.status == "completed"


EVALUATOR = """[[evaluator.metrics]]
name = "relevance"

[[evaluator.metrics]]
name = "coverage"
model = "strict"
"""


async def test_submissions_that_no_judge_can_score_are_kept_and_published_unscored(
    contest: Contest, vendors: Vendors, workspace: Path
) -> None:
    (workspace / "config" / "evaluator.toml").write_text('[[evaluator.metrics]]\nname = "coverage"\n', "utf-8")
    vendors.fail(prompt="evaluator/verdicts", status=401)

    outcome = await contest.run(THEME, max_rounds=1)

    assert outcome.status == "partial"
    assert outcome.report is not None
    assert "unscored" in outcome.message


async def test_a_failing_judge_does_not_end_a_team(contest: Contest, vendors: Vendors) -> None:
    vendors.fail(prompt="judge/judge", status=401)

    outcome = await contest.run(THEME, min_rounds=1, max_rounds=2)

    assert outcome.status == "completed"
    assert {event.round_number for event in contest.events if isinstance(event, RoundScored)} == {1, 2}


class DownSource:
    """A source that answers its check and fails at its first search."""

    name = "arxiv"
    summarizes = True

    def __init__(self) -> None:
        self.searches = self.checks = 0

    async def check(self) -> str | None:
        self.checks += 1
        return None

    async def search(self, query: str, *, limit: int) -> list[FoundPassage]:
        self.searches += 1
        raise SourceError(f"arXiv gave no answer to {query[:20]!r} ({limit} wanted)", transient=True)


async def test_a_source_that_fails_is_off_and_named_and_the_others_go_on(contest: Contest, workspace: Path) -> None:
    team = workspace / "config" / "teams" / "alpha.toml"
    team.write_text(team.read_text("utf-8").replace('["local"]', '["arxiv", "local"]'), "utf-8")
    down = DownSource()
    services = contest.services()
    services.sources.factories["arxiv"] = lambda _: down

    outcome = await contend.run(
        THEME, options=contest.options(sources=["arxiv", "local"], min_rounds=2, max_rounds=2), services=services
    )
    await services.aclose()

    assert outcome.status == "completed"
    assert "arXiv gave no answer" in (outcome.markdown or "")
    queries_of_one_round = 6
    assert 1 <= down.searches <= queries_of_one_round
    assert down.checks == 1, "a run is checked once, by its entry point"


@pytest.mark.parametrize("theme", [THEME, "再開はどのように動きますか？"], ids=["en", "ja"])
async def test_sources_that_all_fail_leave_no_report_and_are_named(
    contest: Contest, workspace: Path, theme: str
) -> None:
    for team in (workspace / "config" / "teams").glob("*.toml"):
        team.write_text(team.read_text("utf-8").replace('["local"]', '["arxiv"]'), "utf-8")
    services = contest.services()
    services.sources.factories["arxiv"] = lambda _: DownSource()

    outcome = await contend.run(theme, options=contest.options(sources=["arxiv"]), services=services)
    await services.aclose()

    assert (outcome.status, outcome.exit_code, outcome.report) == ("failed", 2, None)
    assert "arXiv gave no answer" in outcome.message


async def test_a_run_without_any_source_is_refused_with_each_reason(contest: Contest, vendors: Vendors) -> None:
    with pytest.raises(InputError, match=r"none is on \(local: no documents given\); give `documents` \(--docs\)"):
        await contest.run(THEME, documents=[])

    assert not vendors.calls


async def test_lessons_of_one_run_stand_in_the_next_runs_prompts_but_one_team_goes_without(
    contest: Contest, vendors: Vendors
) -> None:
    await contest.run(THEME, learn=True, dataset="bridges", max_rounds=1)
    services = contest.services()
    (bullet,) = (await services.playbooks.load("bridges")).bullets
    before = len(vendors.calls)

    second = await contest.run(THEME, learn=True, dataset="bridges", max_rounds=1, synthesis=False)

    drafts = [call for call in vendors.calls[before:] if call.prompt == "research/write"]
    on_trial = re.compile(rf"{re.escape(bullet.content)}</bullet-\w+> \(on trial\)")
    on_trial_by_model = {call.model: bool(on_trial.search(call.user)) for call in drafts}
    assert sorted(on_trial_by_model.values()) == [False, True]
    trial = (await services.playbooks.load("bridges")).bullets[0].trial
    await services.aclose()
    assert (trial.shown, trial.withheld) == (1, 1)
    assert trial.difference is not None
    # Which team goes without is drawn anew in each run; a report names the lessons that its team had.
    assert second.summary is not None
    named = f"### Lessons of earlier runs that it used\n\n- {bullet.content}" in (second.markdown or "")
    assert named == on_trial_by_model[second.summary.best_team_id or ""]


async def test_without_learning_the_playbook_stays_as_it_was(contest: Contest, workspace: Path) -> None:
    await contest.run(THEME, learn=False, max_rounds=1)

    assert not (workspace / "playbooks").exists()


async def test_a_learning_loop_that_fails_leaves_the_report_and_makes_the_run_partial(
    contest: Contest, vendors: Vendors
) -> None:
    vendors.fail(prompt="reflector/reflect", status=401)

    outcome = await contest.run(THEME, learn=True, max_rounds=1)

    assert outcome.report is not None
    assert outcome.status == "partial"
    assert "learning failed" in outcome.message
    # The run's status was not known when its report was published.
    page = next(Path(file) for file in outcome.files if file.endswith("report.html")).read_text("utf-8")
    assert ">Report: complete<" in page
    assert "- Report: complete\n" in (outcome.markdown or "")


async def test_a_second_question_on_a_finished_thread_is_a_run_of_its_own(contest: Contest) -> None:
    first = await contest.run(THEME, learn=True, thread_id="chat", max_rounds=1)
    second = await contest.run("What is a team?", learn=True, thread_id="chat", max_rounds=1)

    assert second.execution_id != first.execution_id
    assert second.theme == "What is a team?"
    assert second.summary is not None
    assert len(second.summary.team_statuses) == 2


async def test_a_finished_run_is_not_run_again_by_resume(finished: Finished) -> None:
    calls = len(finished.vendors.calls)

    again = await finished.contest.resume("finished")

    assert not again.went_on
    assert again.markdown == finished.outcome.markdown
    assert len(finished.vendors.calls) == calls


async def test_resume_of_an_unknown_thread_starts_nothing(contest: Contest, workspace: Path) -> None:
    with pytest.raises(UnknownThread, match="nobody"):
        await contest.resume("nobody")

    assert not (workspace / "checkpoints.sqlite").exists()


async def _stop_midway(contest: Contest, vendors: Vendors, *, thread_id: str, **options: object) -> None:
    """Start a run and cancel it in the middle of its calls."""
    vendors.hang(prompt="research/write", after=1)
    vendors.hang(prompt="evaluator/verdicts")
    task = asyncio.create_task(contest.run(THEME, thread_id=thread_id, **options))
    while not any(call.prompt == "evaluator/verdicts" for call in vendors.hung):
        await asyncio.sleep(0.02)
        assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    vendors.heal()


async def test_options_of_the_start_hold_after_a_resume_without_any(contest: Contest, vendors: Vendors) -> None:
    await _stop_midway(contest, vendors, thread_id="stopped", min_rounds=2, max_rounds=2, dataset="kept", learn=False)

    outcome = await contest.resume("stopped")

    assert outcome.status == "completed"
    rounds = [event for event in contest.events if isinstance(event, RoundScored)]
    assert {(event.team_id, event.round_number) for event in rounds} == {
        ("alpha", 1), ("alpha", 2), ("beta", 1), ("beta", 2),
    }  # fmt: skip
    row = await _execution(contest, outcome.execution_id)
    assert row.dataset == "kept"
    assert row.status == "completed"


async def _execution(contest: Contest, execution_id: str) -> ExecutionRow:
    services = contest.services()
    row = await services.record.execution(execution_id)
    await services.aclose()
    assert row is not None
    return row


async def test_a_round_that_ends_after_a_resume_is_recorded_with_when_it_began(
    contest: Contest, vendors: Vendors
) -> None:
    await _stop_midway(contest, vendors, thread_id="stopped", teams=["alpha"], min_rounds=2, max_rounds=2)
    assert len(_starts_in_events(contest, "alpha")) == 1

    outcome = await contest.resume("stopped")

    assert len(_starts_in_events(contest, "alpha")) == 2
    assert await _starts_on_record(contest, outcome.execution_id, "alpha") == _starts_in_events(contest, "alpha")


def _starts_in_events(contest: Contest, team_id: str) -> list[datetime]:
    return [event.at for event in contest.events if event.type == "round_started" and event.team_id == team_id]


async def _starts_on_record(contest: Contest, execution_id: str, team_id: str) -> list[datetime | None]:
    services = contest.services()
    rows = await services.record.rounds(execution_id)
    await services.aclose()
    return [row.started_at for row in rows if row.team_id == team_id]


async def test_a_stopped_run_is_recorded_as_interrupted(contest: Contest, vendors: Vendors) -> None:
    await _stop_midway(contest, vendors, thread_id="stopped", max_rounds=1)

    services = contest.services()
    row = await services.record.latest_execution("stopped")
    await services.aclose()
    assert row is not None
    assert row.status == "interrupted"
    assert "contend resume stopped" in row.message


async def test_resume_after_a_changed_team_is_refused_with_its_name_and_goes_on_by_force(
    contest: Contest, vendors: Vendors, workspace: Path
) -> None:
    await _stop_midway(contest, vendors, thread_id="stopped", max_rounds=1)
    team = workspace / "config" / "teams" / "beta.toml"
    team.write_text(team.read_text("utf-8") + "# changed\n", "utf-8")

    with pytest.raises(RunChanged, match="beta"):
        await contest.resume("stopped")
    outcome = await contest.resume("stopped", force=True)

    assert outcome.status == "completed"


async def test_a_new_question_on_an_unfinished_thread_is_refused(contest: Contest, vendors: Vendors) -> None:
    await _stop_midway(contest, vendors, thread_id="stopped", max_rounds=1)

    with pytest.raises(InputError, match="unfinished run"):
        await contest.run("What is a team?", thread_id="stopped")


async def test_state_holds_plain_json_only(finished: Finished) -> None:
    services = finished.contest.services()
    async with open_checkpointer(services.settings) as saver:
        graph = build_contest_graph(services).compile(checkpointer=saver)
        count = 0
        async for checkpoint in saver.alist({"configurable": {"thread_id": "finished"}}):
            for name, value in checkpoint.checkpoint["channel_values"].items():
                if not name.startswith(("branch:", "__")):
                    _assert_plain(value, name)
                    count += 1
        final = (await graph.aget_state({"configurable": {"thread_id": "finished"}})).values
    await services.aclose()
    assert count > 50
    assert json.loads(json.dumps(final["summary"])) == final["summary"]


def _assert_plain(value: Any, path: str) -> None:  # noqa: ANN401 - any state
    if isinstance(value, BaseMessage):
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            assert isinstance(key, str), path
            _assert_plain(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            _assert_plain(inner, f"{path}[{place}]")
    else:
        assert value is None or type(value) in {str, int, float, bool}, f"{path}: {type(value)}"


async def test_prompts_events_record_and_report_show_one_ranking(finished: Finished) -> None:
    picked = next(event for event in finished.contest.events if isinstance(event, WinnerPicked))
    services = finished.contest.services()
    entries = await services.record.leaderboard(finished.outcome.execution_id)
    await services.aclose()
    assert [(entry.rank, entry.team_id, entry.best_score) for entry in entries] == [
        (entry.rank, entry.team_id, entry.best_score) for entry in picked.leaderboard
    ]


async def test_no_more_teams_than_the_cap_are_in_flight(workspace: Path, documents: Path, vendors: Vendors) -> None:
    teams = ("alpha", "beta", "delta", "gamma")
    write_workspace(workspace, teams, cap=2)
    contest = Contest(workspace, documents, vendors.base_url)

    await contest.run(THEME, max_rounds=1)

    running: set[str] = set()
    most = 0
    for event in contest.events:
        if event.type == "team_started":
            running.add(event.team_id)
        elif event.type == "team_done":
            running.discard(event.team_id)
        most = max(most, len(running))
    assert most == 2


async def test_a_japanese_question_gets_a_japanese_report(contest: Contest) -> None:
    outcome = await contest.run("強制終了した後、再開はどのように動きますか？", max_rounds=1)

    assert "## 参考文献" in (outcome.markdown or "")
    assert outcome.report is not None
    assert outcome.report.sources


async def test_bad_input_through_the_graph_ends_the_run_with_its_line(contest: Contest, vendors: Vendors) -> None:
    services = contest.services()
    graph = build_contest_graph(services).compile()

    state = await graph.ainvoke({"theme": "   "})

    await services.aclose()
    assert state["status"] == "failed"
    assert state["message"].startswith("theme is empty")
    assert state["messages"][-1].text == state["message"]
    assert not vendors.calls


async def test_a_chat_message_of_several_lines_is_the_question_whole(contest: Contest, vendors: Vendors) -> None:
    services = contest.services()
    graph = build_contest_graph(services).compile()
    text = f"{THEME}\nPlease keep the words of the operators. {'Mind the details. ' * 40}"

    state = await graph.ainvoke({"messages": [HumanMessage(text)]}, context=contest.options(max_rounds=1))

    await services.aclose()
    assert state["report"]["theme"].startswith(f"{THEME} Please keep the words of the operators. Mind")
    assert all("words of the operators" in call.user for call in vendors.calls if call.prompt == "research/write")


async def test_a_failed_round_is_played_again_while_retries_remain(
    contest: Contest, vendors: Vendors, workspace: Path
) -> None:
    path = workspace / "config" / "orchestrator.toml"
    path.write_text(
        path.read_text("utf-8").replace("[orchestrator]", "[orchestrator]\nmax_retries_per_team = 1"), "utf-8"
    )
    vendors.fail(model="beta", prompt="research/revise", times=1, status=401)

    outcome = await contest.run(THEME, min_rounds=2, max_rounds=2)

    assert outcome.status == "completed"
    rounds = [
        event.round_number for event in contest.events if event.type == "round_scored" and event.team_id == "beta"
    ]
    assert rounds == [1, 2]
    assert sum(call.model == "beta" and call.prompt == "research/revise" for call in vendors.calls) == 2
    first, second, again = _starts_in_events(contest, "beta")
    assert first < second < again
    assert await _starts_on_record(contest, outcome.execution_id, "beta") == [first, second]


async def test_a_round_that_fails_more_often_than_its_retries_is_the_teams_forfeit(
    contest: Contest, vendors: Vendors, workspace: Path
) -> None:
    path = workspace / "config" / "orchestrator.toml"
    path.write_text(
        path.read_text("utf-8").replace("[orchestrator]", "[orchestrator]\nmax_retries_per_team = 1"), "utf-8"
    )
    vendors.fail(model="beta", prompt="research/write", status=401)

    outcome = await contest.run(THEME, max_rounds=1)

    assert outcome.status == "partial"
    assert sum(call.model == "beta" and call.prompt == "research/write" for call in vendors.calls) == 2
