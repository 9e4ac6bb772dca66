"""The control, composed by extraction, in a run set to a language model: it competes and is no fallback."""

from pathlib import Path

import pytest

from fakes.contests import Contest, write_workspace
from fakes.vendors import Vendors

THEME = "How does resume work after a crash, and what is a team?"
JAPANESE = "強制終了した後、再開はどのように動きますか？"


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace, ("alpha", "control"))
    team = workspace / "config" / "teams" / "control.toml"
    team.write_text(team.read_text("utf-8").partition("[models]")[0] + 'kind = "extractive"\n', "utf-8")
    return Contest(workspace, documents, vendors.base_url)


async def test_the_controls_text_alone_is_not_published_and_the_run_failed(
    contest: Contest, vendors: Vendors, workspace: Path
) -> None:
    vendors.fail(model="alpha", status=401)

    outcome = await contest.run(THEME, max_rounds=1)

    assert (outcome.status, outcome.exit_code) == ("failed", 2)
    assert outcome.report is outcome.markdown is None
    assert outcome.summary is not None
    assert [result.team_id for result in outcome.summary.team_results] == ["control"]
    assert outcome.summary.best_team_id is None
    assert "team alpha failed" in outcome.message
    assert not (workspace / "results").exists()


@pytest.mark.parametrize(
    ("theme", "words"),
    [(THEME, "composed by extraction; no language model"), (JAPANESE, "抽出による構成です")],
    ids=["en", "ja"],
)
async def test_where_that_is_allowed_the_controls_text_is_published_and_says_what_it_is(
    contest: Contest, vendors: Vendors, theme: str, words: str
) -> None:
    vendors.fail(model="alpha", status=401)

    outcome = await contest.run(theme, max_rounds=1, allow_extractive=True)

    assert outcome.status == "partial"
    assert outcome.summary is not None
    assert outcome.summary.best_team_id == "control"
    assert words in (outcome.markdown or "")


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_control_with_the_best_score_does_not_win_over_a_team_that_delivered(
    contest: Contest, vendors: Vendors, allowed: bool
) -> None:
    written_by_alpha = "This report rests on the passages"
    zero = '{"reason": "It says too little.", "evidence": [], "percent": 0}'
    vendors.reply(zero, prompt="evaluator/metric", match=written_by_alpha)

    outcome = await contest.run(THEME, max_rounds=1, allow_extractive=allowed)

    assert outcome.summary is not None
    scores = {result.team_id: result.evaluation_score or 0 for result in outcome.summary.team_results}
    assert scores["control"] > scores["alpha"]
    assert outcome.summary.best_team_id == "alpha"
    assert "composed by extraction" not in (outcome.markdown or "")


async def test_in_a_run_without_a_language_model_a_control_may_win(contest: Contest) -> None:
    by_extraction = Contest(contest.workspace, contest.documents, None)

    outcome = await by_extraction.run(THEME, max_rounds=1, teams=["control"])

    assert outcome.status == "completed"
    assert outcome.summary is not None
    assert outcome.summary.best_team_id == "control"


async def test_a_run_without_a_language_model_is_the_same_twice(workspace: Path, documents: Path) -> None:
    contest = Contest(workspace, documents, None)

    first, second = [await contest.run(THEME, learn=False) for _ in range(2)]

    assert first.report is not None
    assert second.report is not None
    assert first.report.model_copy(update={"generated_at": second.report.generated_at}) == second.report
