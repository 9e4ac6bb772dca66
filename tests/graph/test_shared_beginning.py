"""Calls of a round begin with the same bytes, so that providers' caches serve them, whatever their replies' shapes."""

import json
import re
from os.path import commonprefix
from pathlib import Path

import pytest

from fakes.contests import Contest, write_workspace
from fakes.kilns import THEME, TOO_FEW, action, prompts_of, script, step, write_kilns
from fakes.vendors import Call, Vendors

PART = "\n# Your part: "
OF_ROUND = ("research/write", "research/injection", "research/review", "evaluator/verdicts")


async def calls_of(workspace: Path, tmp_path: Path, vendors: Vendors, *, kilns: int) -> dict[str, Call]:
    """The first call of each kind in a run of one round; all its calls begin with its documents, whole."""
    write_workspace(workspace, ("alpha",))
    contest = Contest(workspace, write_kilns(tmp_path / "kilns", kilns=kilns), vendors.base_url)
    await contest.run(THEME, teams=["alpha"], max_rounds=1, learn=False, model="one", models={})
    return {call.prompt: call for call in reversed(vendors.calls) if call.prompt in OF_ROUND}


def beginning_of(call: Call) -> str:
    """All that is sent before what its role alone is told."""
    assert PART in call.user
    return json.dumps(call.body.get("response_format")) + call.system + call.user.partition(PART)[0]


async def test_who_screens_writes_reviews_and_judges_shares_nine_tenths_of_what_comes_before_their_parts(
    workspace: Path, tmp_path: Path, vendors: Vendors
) -> None:
    calls = await calls_of(workspace, tmp_path, vendors, kilns=60)

    draft, *others = (beginning_of(calls[name]) for name in OF_ROUND)
    for other in others:
        assert len(commonprefix([draft, other])) >= 0.9 * min(len(draft), len(other))  # noqa: RUF071 - of texts
    for call in calls.values():
        assert call.body["response_format"] == {"type": "json_object"}
        assert call.user.rstrip().endswith("}")
    criteria = [call.user.count("criteria-") for call in calls.values()]
    assert [count > 0 for count in criteria] == [name == "evaluator/verdicts" for name in calls]
    assert "<criteria-" not in beginning_of(calls["evaluator/verdicts"])


async def test_where_little_is_shared_a_model_is_bound_to_the_shape(
    workspace: Path, tmp_path: Path, vendors: Vendors
) -> None:
    calls = await calls_of(workspace, tmp_path, vendors, kilns=6)

    assert {call.body["response_format"]["type"] for call in calls.values()} == {"json_schema"}


@pytest.fixture
def quick(workspace: Path, tmp_path: Path, vendors: Vendors) -> Contest:
    """A run by the depth `quick`, for which nobody set the rounds."""
    write_workspace(workspace, ("alpha",))
    orchestrator = workspace / "config" / "orchestrator.toml"
    orchestrator.write_text(orchestrator.read_text("utf-8").replace("max_rounds = 2\n", ""), "utf-8")
    defaults = {"depth": "quick", "teams": ["alpha"], "learn": False}
    return Contest(workspace, write_kilns(tmp_path / "kilns", kilns=3), vendors.base_url, defaults=defaults)


async def test_a_quick_run_mends_what_its_judge_named_and_no_more(quick: Contest, vendors: Vendors) -> None:
    await quick.run(THEME)

    prompts = [call.prompt for call in vendors.calls]
    first, second = (at for at, name in enumerate(prompts) if name == "evaluator/verdicts")
    assert set(prompts[first + 1 : second]) <= {"research/revise", "research/mend"}
    assert prompts[first + 1 : second].count("research/revise") == 1
    assert "judge/judge" not in prompts
    revised = next(call for call in vendors.calls[first:] if call.prompt == "research/revise")
    assert "Raise correctness." in revised.user
    assert "nobody follows fixes any more" in vendors.calls[second].user
    assert "nobody follows fixes any more" not in vendors.calls[first].user


async def test_what_its_judge_saw_of_a_part_that_is_not_answered_is_before_who_mends(
    quick: Contest, vendors: Vendors
) -> None:
    write_kilns(quick.documents)
    search = action("search", "heat of the kilns at noon")
    script(vendors, step(search), step(hold=(1,), state="partly"))

    await quick.run(THEME, evidence_tokens=TOO_FEW)

    judged = (
        prompts_of(vendors, "evaluator/verdicts")[0]
        .partition("# Nearest passages of all documents")[2]
        .partition("# Submission")[0]
    )
    nearest = re.findall(r"^<P\d+-\w+>.*\n(.+)", judged, re.MULTILINE)
    assert nearest
    (drafted,) = prompts_of(vendors, "research/write")
    assert not any(text in drafted for text in nearest)
    mended = prompts_of(vendors, "research/revise")[-1]
    assert all(text in mended for text in nearest)


async def test_a_quick_run_ends_after_a_round_that_leaves_nothing_to_mend(quick: Contest, vendors: Vendors) -> None:
    def met(reply: str) -> str:
        verdicts = json.loads(reply)
        criteria = [{**each, "verdict": "met", "fix": None} for each in verdicts["criteria"]]
        metrics = [{**each, "fixes": []} for each in verdicts["metrics"]]
        cited = [{"number": at, "reason": "so", "verdict": "stated"} for at in range(1, 60)]
        return json.dumps(verdicts | {"criteria": criteria, "metrics": metrics, "missing": [], "citations": cited})

    vendors.malform(met, prompt="evaluator/verdicts")

    await quick.run(THEME)

    assert vendors.prompts().count("evaluator/verdicts") == 1
    (judged,) = (event for event in quick.events if event.type == "round_judged")
    assert (judged.exit_reason, judged.asked_judge) == ("criteria_met", False)


async def test_where_rounds_are_set_a_judge_decides_on_whole_ones(quick: Contest, vendors: Vendors) -> None:
    await quick.run(THEME, max_rounds=2)

    assert "judge/judge" in vendors.prompts()
