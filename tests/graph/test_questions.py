import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import contend
from contend.app import RunOutcome
from contend.approval import Decision, Question, decision_of
from contend.errors import InputError, ThreadBusy
from contend.models.events import RoundScored
from fakes.contests import Contest, Finished, finished_contest, write_workspace
from fakes.kilns import THEME, TOO_FEW, WHOLE, action, prompts_of, script, step, write_kilns
from fakes.vendors import Vendors

REASONED = {"decisions": [{"type": "reject", "message": "Look at the leases."}]}


@pytest.fixture
def contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    return _contest(workspace, documents, vendors)


def _contest(workspace: Path, documents: Path, vendors: Vendors) -> Contest:
    write_workspace(workspace, ("alpha", "beta", "gamma"))
    defaults = {"learn": False, "evidence_tokens": TOO_FEW}
    return Contest(workspace, write_kilns(documents), vendors.base_url, defaults=defaults)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    """A run in which the plans of three teams wait for a person."""

    def prepare(workspace: Path, vendors: Vendors) -> Contest:
        return _contest(workspace, folder / "kilns", vendors)

    folder = tmp_path_factory.mktemp("asked")
    with finished_contest(folder, prepare, THEME, thread_id="asked", max_rounds=1, approve=["plan"]) as run:
        yield run


@pytest.fixture
def waiting(asked: Finished, contest: Contest) -> RunOutcome:
    """It waits in a test's own contest, which has made none of its calls."""
    shutil.copytree(asked.contest.workspace, contest.workspace, dirs_exist_ok=True)
    return asked.outcome


def _by_team(outcome: RunOutcome) -> dict[str, Question]:
    return {question.team_id: question for question in outcome.questions}


async def _run_one_team_until_question(contest: Contest) -> RunOutcome:
    return await contest.run(THEME, thread_id="asked", max_rounds=1, approve=["plan"], teams=["alpha"])


async def test_three_teams_ask_at_once_and_are_approved_edited_and_rejected(
    asked: Finished, waiting: RunOutcome, contest: Contest, vendors: Vendors
) -> None:
    assert waiting.exit_code == 3
    assert asked.vendors.prompts() == ["evaluator/criteria", *["researcher/step"] * 3]
    questions = _by_team(waiting)
    assert set(questions) == {"alpha", "beta", "gamma"}

    points = ["Which calls are repeated after a kill?"]
    outcome = await contest.resume(
        "asked",
        answers={
            questions["alpha"].id: "approve",
            questions["beta"].id: {"type": "edit", "args": {"investigation_points": points}},
            questions["gamma"].id: {"type": "reject", "reason": "look at the leases instead"},
        },
    )

    assert outcome.status == "completed"
    plans = {model: _plans(vendors, model) for model in ("alpha", "beta", "gamma")}
    assert [len(plans[model]) for model in ("alpha", "beta", "gamma")] == [1, 1, 2]
    assert "look at the leases instead" in plans["gamma"][0]
    drafts = [call.user for call in vendors.calls if call.model == "beta" and call.prompt == "research/write"]
    assert drafts
    assert all(points[0] in draft for draft in drafts)


def _plans(vendors: Vendors, model: str) -> list[str]:
    return [call.user for call in vendors.calls if call.model == model and call.prompt == "researcher/step"]


async def test_questions_may_be_answered_one_by_one(contest: Contest, waiting: RunOutcome) -> None:
    questions = _by_team(waiting)

    still_waiting = await contest.resume("asked", answers={questions["beta"].id: "approve"})

    assert {question.team_id for question in still_waiting.questions} == {"alpha", "gamma"}
    outcome = await contest.resume(
        "asked", answers={questions["alpha"].id: "approve", questions["gamma"].id: "approve"}
    )
    assert outcome.status == "completed"


async def test_an_answer_to_a_question_that_was_answered_is_refused_by_its_id(
    contest: Contest, waiting: RunOutcome
) -> None:
    questions = _by_team(waiting)
    await contest.resume("asked", answers={questions["beta"].id: "approve"})

    with pytest.raises(InputError, match=f"{questions['beta'].id}.*not open"):
        await contest.resume("asked", answers={questions["beta"].id: "approve"})


@pytest.mark.usefixtures("waiting")
async def test_a_bare_approval_answers_all_open_questions(contest: Contest, vendors: Vendors) -> None:
    outcome = await contest.resume("asked", "yes")

    assert outcome.status == "completed"
    assert not any("step 1 of" in each for each in prompts_of(vendors, "researcher/step"))


@pytest.mark.usefixtures("waiting")
async def test_a_bare_rejection_answers_all_open_questions(contest: Contest, vendors: Vendors) -> None:
    outcome = await contest.resume("asked", {"approved": False})

    assert outcome.status == "completed"
    assert sum("step 1 of" in each for each in prompts_of(vendors, "researcher/step")) == 3


async def test_a_list_of_decisions_answers_the_questions_in_turn(
    contest: Contest, waiting: RunOutcome, vendors: Vendors
) -> None:
    first = {"type": "reject", "message": "look at the leases instead"}

    outcome = await contest.resume("asked", {"decisions": [first, {"type": "approve"}, {"type": "approve"}]})

    assert outcome.status == "completed"
    again = [call.model for call in vendors.calls if "look at the leases instead" in call.user]
    assert set(again) == {waiting.questions[0].team_id}


@pytest.mark.usefixtures("waiting")
async def test_an_answer_that_does_not_fit_all_open_questions_is_refused_with_one_that_does(contest: Contest) -> None:
    unfit: list[tuple[object, str]] = [
        ({"type": "edit", "args": {"plan_text": "Look."}}, 'an edit fits one of them: .*"alpha": "approve"'),
        ({"decisions": [{"type": "approve"}, {"type": "reject"}]}, "2 decisions for 3 open questions"),
        ("maybe", 'give "approve", {"type": "edit"'),
    ]

    for answer, message in unfit:
        with pytest.raises(InputError, match=message) as excinfo:
            await contest.resume("asked", answer)
        assert "--" not in str(excinfo.value)

    services = contest.services()
    assert len((await contend.status("asked", services=services)).questions) == 3
    await services.aclose()


@pytest.mark.usefixtures("waiting")
@pytest.mark.parametrize(
    "answer", ["Look at the leases.", [{"type": "response", "args": "Look at the leases."}], REASONED]
)
async def test_one_comment_answers_several_open_plans(contest: Contest, vendors: Vendors, answer: object) -> None:
    outcome = await contest.resume("asked", answer)

    assert outcome.status == "completed"
    again = {call.model for call in vendors.calls if "Look at the leases." in call.user}
    assert again == {"alpha", "beta", "gamma"}


@pytest.mark.usefixtures("waiting")
async def test_answers_are_given_by_team_too(contest: Contest, vendors: Vendors) -> None:
    outcome = await contest.resume("asked", "approve", answers={"beta": {"type": "reject", "reason": "too broad"}})

    assert outcome.status == "completed"
    assert {call.model for call in vendors.calls if "too broad" in call.user} == {"beta"}


async def test_of_two_clients_answering_at_once_one_wins_and_the_other_is_told(
    contest: Contest, waiting: RunOutcome, vendors: Vendors
) -> None:
    questions = _by_team(waiting)
    answers = {question.id: "approve" for question in questions.values()}
    vendors.latency = 0.05

    results = await asyncio.gather(
        contest.resume("asked", answers=answers), contest.resume("asked", answers=answers), return_exceptions=True
    )

    outcomes = [result for result in results if isinstance(result, RunOutcome)]
    errors = [result for result in results if isinstance(result, ThreadBusy | InputError)]
    assert len(outcomes) == len(errors) == 1
    assert outcomes[0].status == "completed"
    drafts = [call for call in vendors.calls if call.prompt == "research/write"]
    assert len(drafts) == len(questions)


async def test_an_edit_that_is_no_plan_leaves_the_question_open_and_says_why(contest: Contest) -> None:
    (question,) = (await _run_one_team_until_question(contest)).questions

    waiting = await contest.resume("asked", {"type": "edit", "args": {"search_queries": []}})

    assert waiting.exit_code == 3
    assert waiting.questions[0].problem.startswith("search_queries = []: ")
    assert waiting.questions[0].asked == question.asked


async def test_a_run_that_waits_survives_its_process_and_says_so(asked: Finished) -> None:
    services = asked.contest.services()

    standing = await contend.status("asked", services=services)
    row = await services.record.latest_execution("asked")

    await services.aclose()
    assert standing.status == "interrupted"
    assert len(standing.questions) == 3
    assert row is not None
    assert row.message.startswith("waiting for a person")


async def test_plans_are_asked_for_in_round_one_only(contest: Contest) -> None:
    waiting = await contest.run(
        THEME, thread_id="asked", min_rounds=2, max_rounds=2, learn=False, approve=["plan"], teams=["alpha"]
    )

    outcome = await contest.resume("asked", "approve")

    assert len(waiting.questions) == 1
    assert outcome.status == "completed"
    assert max(event.round_number for event in contest.events if isinstance(event, RoundScored)) == 2


async def test_a_rejection_is_heard_by_who_writes_where_all_is_read_whole(contest: Contest, vendors: Vendors) -> None:
    await contest.run(THEME, thread_id="asked", max_rounds=1, approve=["plan"], teams=["alpha"], evidence_tokens=WHOLE)

    outcome = await contest.resume("asked", {"type": "reject", "reason": "look at the leases instead"})

    assert outcome.status == "completed"
    (draft,) = prompts_of(vendors, "research/write")
    assert "look at the leases instead" in draft


async def test_an_edited_report_is_published_and_may_not_cite_what_was_not_retrieved(contest: Contest) -> None:
    waiting = await contest.run(
        THEME, thread_id="asked", max_rounds=1, learn=False, approve=["report"], teams=["alpha"]
    )
    assert [question.asked for question in waiting.questions] == ["report"]
    assert waiting.report is None

    invented = await contest.resume("asked", {"type": "edit", "args": {"key_findings": ["Teams never sleep [99]."]}})
    assert "[99]" in invented.questions[0].problem

    finding = "A person looked at this finding [1]."
    outcome = await contest.resume("asked", {"type": "edit", "args": {"key_findings": [finding]}})

    assert outcome.status == "completed"
    assert outcome.report is not None
    assert outcome.report.key_findings == [finding]
    assert finding in (outcome.markdown or "")


async def _run_until_report(contest: Contest, **options: object) -> RunOutcome:
    return await contest.run(THEME, thread_id="asked", max_rounds=1, approve=["report"], **options)


@pytest.mark.parametrize("answer", ["no", {"type": "reject"}, [{"type": "ignore", "args": None}]])
async def test_a_rejected_report_is_not_published(contest: Contest, workspace: Path, answer: object) -> None:
    await _run_until_report(contest, teams=["alpha"])

    outcome = await contest.resume("asked", answer)

    assert outcome.report is None
    assert outcome.exit_code == 2
    assert "a person rejected the report: no reason given" in outcome.message
    assert not (workspace / "results").exists()


COMMENT = "Say in the summary what a checkpoint holds."
COMMENTS = [
    COMMENT,
    {"type": "response", "args": COMMENT},
    {"decisions": [{"type": "respond", "message": COMMENT}]},
    {"type": "reject", "reason": COMMENT},
]


@pytest.mark.parametrize("answer", COMMENTS)
async def test_a_comment_sends_the_report_back_once_and_asks_again(
    contest: Contest, vendors: Vendors, answer: object
) -> None:
    before = await _run_until_report(contest, teams=["alpha"])

    again = await contest.resume("asked", answer)
    outcome = await contest.resume("asked", "approve")

    (revision,) = [call for call in vendors.calls if call.prompt == "research/revise"]
    assert COMMENT in revision.user
    assert revision.model == "alpha"
    assert [question.asked for question in again.questions] == ["report"]
    assert again.questions[0].args != before.questions[0].args
    assert outcome.exit_code == 0
    assert outcome.report is not None
    assert outcome.report.key_findings == again.questions[0].args["key_findings"]
    assert f"revised once after a person's comment; the scores are those of the report before: {COMMENT}" in (
        outcome.markdown or ""
    )


async def test_a_report_is_revised_once_at_most(contest: Contest, vendors: Vendors) -> None:
    await _run_until_report(contest, teams=["alpha"])
    await contest.resume("asked", COMMENT)

    again = await contest.resume("asked", "Mention the leases too.")
    outcome = await contest.resume("asked", {"type": "reject", "reason": "still too thin"})

    assert vendors.prompts().count("research/revise") == 1
    assert again.questions[0].problem == "the report has been revised once: approve, edit or reject it"
    assert (outcome.exit_code, outcome.report) == (2, None)
    assert "a person rejected the report: still too thin" in outcome.message


async def test_a_revision_that_fails_leaves_the_report_and_says_why(contest: Contest, vendors: Vendors) -> None:
    await _run_until_report(contest, teams=["alpha"])
    vendors.fail(model="alpha", status=401)

    again = await contest.resume("asked", COMMENT)
    vendors.heal()
    outcome = await contest.resume("asked", "approve")

    assert again.questions[0].problem.startswith("the report could not be revised: model 'alpha'")
    assert outcome.exit_code == 0
    assert "revised once" not in (outcome.markdown or "")


async def test_a_comment_on_quotes_is_answered_with_what_can_be_done(workspace: Path, documents: Path) -> None:
    contest = Contest(workspace, documents, None)
    await contest.run(THEME, thread_id="asked", approve=["report"])

    again = await contest.resume("asked", COMMENT)

    assert again.questions[0].problem == "no language model can revise quotes: approve, edit or reject them"


@pytest.mark.parametrize(("answer", "bullets"), [("approve", True), ({"type": "reject", "reason": "no"}, False)])
async def test_the_playbook_changes_only_with_a_persons_word(contest: Contest, answer: object, bullets: bool) -> None:
    waiting = await contest.run(
        THEME, thread_id="asked", max_rounds=1, learn=True, approve=["playbook"], teams=["alpha"]
    )
    assert [question.asked for question in waiting.questions] == ["playbook"]
    assert waiting.questions[0].args["operations"]

    outcome = await contest.resume("asked", answer)

    services = contest.services()
    playbook = await services.playbooks.load("default")
    await services.aclose()
    assert outcome.status == "completed"
    assert bool(playbook.bullets) is bullets


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ("approve", Decision(type="approve")),
        ({"decisions": [{"type": "approve"}]}, Decision(type="approve")),
        (
            {"decisions": [{"type": "edit", "edited_action": {"name": "approve_plan", "args": {"plan_text": "x"}}}]},
            Decision(type="edit", args={"plan_text": "x"}),
        ),
        ({"decisions": [{"type": "reject", "message": "why"}]}, Decision(type="reject", reason="why")),
        ([{"type": "accept", "args": None}], Decision(type="approve")),
        (
            [{"type": "edit", "args": {"action": "approve_plan", "args": {"search_queries": '["a", "b"]'}}}],
            Decision(type="edit", args={"search_queries": ["a", "b"]}),
        ),
        ([{"type": "response", "args": "why"}], Decision(type="respond", reason="why")),
        ({"type": "respond", "message": "why"}, Decision(type="respond", reason="why")),
        ("Name the year.", Decision(type="respond", reason="Name the year.")),
        ("年を書いてください", Decision(type="respond", reason="年を書いてください")),
        ([{"type": "ignore", "args": None}], Decision(type="reject")),
        ("yes", Decision(type="approve")),
        (" Approve ", Decision(type="approve")),
        ("はい", Decision(type="approve")),
        (True, Decision(type="approve")),
        ({"approved": True}, Decision(type="approve")),
        ("no", Decision(type="reject")),
        (False, Decision(type="reject")),
        ({"approved": False, "reason": "why"}, Decision(type="reject", reason="why")),
    ],
)
def test_answers_of_both_front_ends_are_understood(answer: object, decision: Decision) -> None:
    assert decision_of(answer) == decision


@pytest.mark.parametrize(
    "answer", [None, 7, "maybe", "", " ", {}, [], {"type": "edit"}, {"type": "respond"}, {"decisions": []}]
)
def test_an_answer_in_no_known_shape_is_unusable(answer: object) -> None:
    with pytest.raises(InputError, match=r"approve|edit"):
        decision_of(answer)


def test_an_answer_in_no_known_shape_is_met_with_one_that_works() -> None:
    with pytest.raises(InputError) as error:
        decision_of("maybe")

    assert '"approve", {"type": "edit", "args": {…}} or {"type": "reject", "reason": "…"}' in str(error.value)


async def test_the_payload_serves_both_front_ends(
    contest: Contest,
    vendors: Vendors,
    snapshot: Any,  # noqa: ANN401 - syrupy's
) -> None:
    from contend.contest.graph import build_contest_graph  # noqa: PLC0415 - slow to import
    from contend.stores.checkpoints import open_checkpointer  # noqa: PLC0415 - the same

    script(vendors, step(action("search", "heat of the kilns"), action("find", "kiln-07"), action("read", "5.2")))
    await _run_one_team_until_question(contest)
    services = contest.services()
    async with open_checkpointer(services.settings) as saver:
        graph = build_contest_graph(services).compile(checkpointer=saver)
        state = await graph.aget_state({"configurable": {"thread_id": "asked"}})
    await services.aclose()
    payload = {**state.interrupts[0].value, "execution_id": "…"}
    assert payload == snapshot
