"""Criteria that people wrote: judges go by them, teams never see them, and no model is asked for any."""

import asyncio
from pathlib import Path

import pytest

from contend.app import dry_run
from contend.errors import InputError, RunChanged
from contend.models.events import CriteriaSet, RunStarted
from fakes.contests import Contest, judge_apart, metrics_of, rounds_of
from fakes.vendors import Call, Vendors

THEME = "How does resume work after a crash, and what is a team?"
PARTS = ["What is repeated after a crash", "What a team is"]
CRITERIA = """
[[criteria]]
text = "It says which step is repeated after a crash."
example = "The step that was cut off is repeated; the N steps before it are not."
weight = 5

[[criteria]]
text = "It says of whom a team consists."
"""
WITH_PARTS = f"parts = {PARTS}\n{CRITERIA}"
EXAMPLE = "the N steps before it are not"


@pytest.fixture
def contest(contest: Contest) -> Contest:
    contest.defaults = {"learn": False, "max_rounds": 1, "criteria": "recovery"}
    return contest


def write_criteria(contest: Contest, text: str) -> Path:
    path = contest.workspace / "criteria" / "recovery.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def calls_of(vendors: Vendors, *prompts: str) -> list[Call]:
    return [call for call in vendors.calls if call.prompt in prompts]


async def calls_estimated(contest: Contest) -> tuple[int, int]:
    services = contest.services()
    plan = await dry_run(THEME, options=contest.options(), services=services)
    await services.aclose()
    return plan.estimate.calls


async def test_judges_go_by_criteria_from_a_file_and_teams_see_its_parts_alone(
    contest: Contest, vendors: Vendors
) -> None:
    write_criteria(contest, WITH_PARTS)

    outcome = await contest.run(THEME, min_rounds=2, max_rounds=2, synthesis=True)

    assert outcome.status == "completed"
    assert not calls_of(vendors, "evaluator/criteria")
    judges = calls_of(vendors, "evaluator/verdicts")
    assert len(judges) == 2 * 2 + 1, "each team's rounds, and the merged report"
    for call in judges:
        assert "1. It says which step is repeated after a crash.\n   Example: The step that was cut off" in call.user
        assert "2. It says of whom a team consists.\n</criteria" in call.user
    pairs = calls_of(vendors, "pairwise/compare")
    assert pairs
    assert all("a crash. (62%)\n   Example: The step" in call.user for call in pairs)
    teams = [call for call in vendors.calls if call.model in {"alpha", "beta"}]
    assert any(PARTS[0] in call.user for call in teams)
    assert not any(EXAMPLE in call.user for call in teams)
    assert all(call.prompt == "research/revise" for call in teams if "It says of whom" in call.user)


async def test_the_record_of_a_run_names_its_criteria_file_and_has_them_by_their_weights(contest: Contest) -> None:
    write_criteria(contest, WITH_PARTS)

    await contest.run(THEME, teams=["alpha"])

    (started,) = [event for event in contest.events if isinstance(event, RunStarted)]
    (told,) = [event for event in contest.events if isinstance(event, CriteriaSet)]
    assert started.options["criteria"] == "recovery"
    assert told.parts == PARTS
    assert [round(criterion.weight, 3) for criterion in told.criteria] == [0.625, 0.375]
    assert metrics_of(rounds_of(contest)[0])["coverage"].verdicts.keys() == {"1", "2"}


async def test_without_parts_in_the_file_a_model_names_them_and_no_criteria(contest: Contest, vendors: Vendors) -> None:
    write_criteria(contest, CRITERIA)

    await contest.run(THEME, teams=["alpha"])

    (call,) = calls_of(vendors, "evaluator/criteria")
    assert "`parts`" in call.user
    assert "criteri" not in call.user.split("# Task")[1]
    (told,) = [event for event in contest.events if isinstance(event, CriteriaSet)]
    assert (told.parts, len(told.criteria)) == ([THEME], 2)


async def test_parts_that_no_model_names_leave_the_criteria_of_the_file_in_force(
    contest: Contest, vendors: Vendors
) -> None:
    write_criteria(contest, CRITERIA)
    vendors.fail(prompt="evaluator/criteria", status=401)

    outcome = await contest.run(THEME, teams=["alpha"])

    assert "the parts of the question could not be named" in outcome.message
    assert metrics_of(rounds_of(contest)[0])["coverage"].verdicts


async def test_a_dry_run_counts_the_call_only_where_something_is_asked_for(contest: Contest) -> None:
    write_criteria(contest, CRITERIA)
    least, most = await calls_estimated(contest)
    write_criteria(contest, WITH_PARTS)

    assert await calls_estimated(contest) == (least - 1, most - 1)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "recovery.toml: key 'criteria' is missing; add it"),
        ("[[criteria]\n", "recovery.toml: not valid TOML"),
        ("criteria = []", "recovery.toml: criteria: 0 entries: give 1 to 15"),
        (
            "\n".join(f'[[criteria]]\ntext = "It names item {number}"' for number in range(16)),
            "recovery.toml: criteria: 16 entries: give 1 to 15",
        ),
        (f"{CRITERIA}\n[[criteria]]\ntext = 'It says of whom a  team consists.'", "criteria.2 = .*: it stands there"),
        ("parts = ['One part', 'One part']\n" + CRITERIA, "recovery.toml: parts.1 = 'One part': it stands there twice"),
        ("[[criteria]]\ntext = 'It names the day.'\nweight = 9", "criteria.0.weight = 9: Input should be less"),
        ("[[criteria]]\ntext = 'It names the day.'\nsample = ''", "unknown key 'criteria.0.sample'; remove it"),
    ],
    ids=["empty", "no TOML", "none", "too many", "twice", "part twice", "weight", "unknown key"],
)
async def test_a_criteria_file_that_is_not_usable_is_refused_before_anything_is_spent(
    contest: Contest, vendors: Vendors, text: str, fault: str
) -> None:
    write_criteria(contest, text)

    with pytest.raises(InputError, match=fault):
        await contest.run(THEME)

    assert not vendors.calls


async def test_an_unknown_criteria_file_is_refused_with_those_that_are_there(
    contest: Contest, vendors: Vendors
) -> None:
    write_criteria(contest, CRITERIA)

    with pytest.raises(InputError, match=r"criteria = 'recovry': there is no .*recovry\.toml: .* \(recovery\)"):
        await contest.run(THEME, criteria="recovry")

    assert not vendors.calls


async def test_criteria_that_no_judge_would_go_by_are_refused(contest: Contest, vendors: Vendors) -> None:
    write_criteria(contest, CRITERIA)
    judge_apart(contest.workspace)

    with pytest.raises(InputError, match="no judge here goes by criteria: metric coverage"):
        await contest.run(THEME)

    assert not vendors.calls


async def test_resume_after_a_changed_criteria_file_is_refused_with_its_name(contest: Contest) -> None:
    path = write_criteria(contest, WITH_PARTS)
    await contest.run(THEME, thread_id="waiting", teams=["alpha"], approve=["report"])
    await asyncio.to_thread(path.write_text, CRITERIA, "utf-8")

    with pytest.raises(RunChanged, match=r"changed since the run began: criteria/recovery\.toml;"):
        await contest.resume("waiting", "approve")
    outcome = await contest.resume("waiting", "approve", force=True)

    assert outcome.status == "completed"
