"""A draft is held against what can go wrong and what it does not cite; what a revision takes out is seen by judges."""

import json
import re
from os.path import commonprefix
from pathlib import Path

import pytest

from fakes.chat_replies import report_reply
from fakes.contests import Contest, write_workspace
from fakes.kilns import THEME, fixes, prompts_of, write_kilns
from fakes.vendors import Vendors

UNCITED = re.compile(r"the draft cites none of these passages: ((?:P\d+(?:, )?)+)\.")


@pytest.fixture
def contest(workspace: Path, tmp_path: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace, ("alpha",))
    vendors.reply(report_reply([{"text": "Kilns get hot.", "sources": [2, 4]}]), prompt="research/write")
    defaults = {"learn": False, "teams": ["alpha"], "max_rounds": 1, "max_iterations": 2}
    return Contest(workspace, write_kilns(tmp_path / "kilns", kilns=2), vendors.base_url, defaults=defaults)


async def test_a_reviewer_is_asked_of_each_passage_that_the_draft_does_not_cite(
    contest: Contest, vendors: Vendors
) -> None:
    await contest.run(THEME)

    (asked,) = prompts_of(vendors, "research/review")
    named = UNCITED.search(asked)
    assert named is not None
    assert named[1] == "P1, P3, P5, P6"


async def test_a_draft_that_fails_in_a_scenario_is_not_accepted_without_a_fix(
    contest: Contest, vendors: Vendors
) -> None:
    failed = {"event": "The guard falls ill at noon.", "outcome": "Nobody watches the heat.", "holds": False}
    accepted = json.loads(fixes(accept=True)) | {"scenarios": [failed]}
    vendors.reply(fixes("Name a second guard."), prompt="research/review")
    vendors.reply(json.dumps(accepted), prompt="research/review", times=1)

    await contest.run(THEME)

    (revising,) = prompts_of(vendors, "research/revise")
    assert "Name a second guard." in revising


async def test_judges_see_what_a_rounds_revisions_took_out_and_why(contest: Contest, vendors: Vendors) -> None:
    vendors.reply(fixes("Be short."), prompt="research/review", times=1)
    gone = [{"place": "finding 1", "why": "it stands in the summary"}, {"place": "9.9.9", "why": "no such place"}]
    unchanged = {"not_done": [], "summary": None, "findings": None, "sections": [], "limits": None, "lessons": []}
    vendors.reply(json.dumps({**unchanged, "left_out": gone}), prompt="research/revise", times=1)

    await contest.run(THEME, min_rounds=2, max_rounds=2)

    first, second = prompts_of(vendors, "evaluator/verdicts")
    assert "# Statements that its writer took out" in first
    assert "Kilns get hot. (it stands in the summary)" in first
    assert "no such place" not in first
    assert "# Statements that its writer took out" not in second


async def test_a_judge_with_a_model_of_its_own_sees_all_that_was_at_hand_in_one_order(
    contest: Contest, vendors: Vendors
) -> None:
    write_kilns(contest.documents, kilns=60)

    await contest.run(THEME, max_rounds=2, min_rounds=2, max_iterations=1)

    first, second = prompts_of(vendors, "evaluator/verdicts")
    (drafted,) = prompts_of(vendors, "research/write")
    assert len(re.findall(r"^<P\d+-", first, re.MULTILINE)) == len(re.findall(r"^<P\d+-", drafted, re.MULTILINE)) == 180
    passages = first.partition("\n# Question\n")[0]
    assert len(commonprefix([passages, second])) == len(passages)  # noqa: RUF071 - of texts
