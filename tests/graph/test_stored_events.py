"""What a run tells is kept with its record: whoever comes late is told all of it."""

import pytest

from contend.app import delete
from contend.errors import StoreError
from contend.models.events import AnyEvent, QuestionAsked, RoundSubmitted, RunResumed, SearchDone, StepDone
from contend.services import Services
from fakes.contests import Contest

THEME = "How does resume work after a crash?"


async def _stored_events(contest: Contest, thread_id: str) -> list[AnyEvent]:
    services = contest.services()
    events = await services.record.events(thread_id)
    await services.aclose()
    assert [each.number for each in events] == sorted(each.number for each in events)
    return [each.event for each in events]


async def test_a_runs_events_are_kept_in_the_order_in_which_they_were_told(contest: Contest) -> None:
    outcome = await contest.run(THEME)

    assert await _stored_events(contest, outcome.thread_id) == contest.events
    assert {"run_started", "criteria_set", "round_scored", "report_published", "run_done"} <= {
        event.type for event in contest.events
    }


async def test_what_a_team_searched_planned_and_wrote_can_be_followed(stepping: Contest, services: Services) -> None:
    contest = stepping
    await contest.run(THEME, teams=["alpha"], max_rounds=1)

    searches = [event for event in contest.events if isinstance(event, SearchDone)]
    steps = {event.step: event for event in contest.events if isinstance(event, StepDone)}
    (submission,) = [event for event in contest.events if isinstance(event, RoundSubmitted)]
    assert {(each.team_id, each.round_number, each.source) for each in searches} == {("alpha", 1, "local")}
    assert {hit.title for hit in searches[0].hits} & {"How resume works", "What a team is"}
    assert steps["plan"].plan is not None
    assert steps["plan"].iteration == 1
    assert (await services.documents.get(steps["write"].document)).startswith(f"# {THEME}")
    assert (await services.require_submission(submission.document)).content.startswith(f"# {THEME}")
    requests = [event.spent.requests for event in contest.events if event.spent]
    assert requests == sorted(requests)
    assert requests[-1] > requests[0]


async def test_questions_answers_and_what_follows_are_told_in_turn(contest: Contest) -> None:
    outcome = await contest.run(THEME, teams=["alpha"], max_rounds=1, approve=["plan"])
    (question,) = outcome.questions

    await contest.resume(outcome.thread_id, "approve")

    events = await _stored_events(contest, outcome.thread_id)
    (question_event,) = [event for event in events if isinstance(event, QuestionAsked)]
    (resume_event,) = [event for event in events if isinstance(event, RunResumed)]
    assert (question_event.question_id, question_event.args["search_queries"]) == (
        question.id,
        question.args["search_queries"],
    )
    assert resume_event.answers[question.id] == {"type": "approve", "args": {}, "reason": ""}
    assert events.index(question_event) < events.index(resume_event) < len(events) - 1
    assert events[-1].type == "run_done"


async def test_a_client_goes_on_after_the_number_it_has_seen(contest: Contest, services: Services) -> None:
    outcome = await contest.run(THEME, teams=["alpha"], max_rounds=1)
    everything = await services.record.events(outcome.thread_id)

    rest = await services.record.events(outcome.thread_id, after=everything[3].number, limit=2)

    assert rest == everything[4:6]


async def test_a_deleted_thread_leaves_neither_events_nor_drafts(contest: Contest, services: Services) -> None:
    outcome = await contest.run(THEME, teams=["alpha"], max_rounds=1)
    drafts = [event.document for event in contest.events if isinstance(event, StepDone) and event.document]

    await delete(outcome.thread_id, services=services)

    assert await services.record.events(outcome.thread_id) == []
    with pytest.raises(StoreError, match=drafts[0][:8]):
        await contest.services().documents.get(drafts[0])
