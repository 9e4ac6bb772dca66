"""The HTTP research API in a real Agent Server, as a program or a page uses it."""

import json
import time
from itertools import islice
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from fakes.api_client import Api, finished_research
from fakes.contests import Contest
from fakes.printing import require_pdf
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"


def test_a_research_is_followed_from_its_start_to_its_report(api: Api) -> None:
    response = api.http.post("/research", json={"theme": THEME, "options": {"teams": ["alpha"], "dataset": "followed"}})

    assert (response.status_code, response.json()["status"]) == (202, "started")
    research = response.json()["research_id"]
    assert UUID(research).version == 4
    events = [*api.events(research)]
    kinds = [event["type"] for event in events if event["type"] not in {"status", "documents_read"}]
    once = [kind for place, kind in enumerate(kinds) if kind not in kinds[:place]]
    assert once == [
        "run_started", "criteria_set", "team_started", "round_started", "step_done", "search_done", "round_submitted",
        "round_scored", "round_judged", "team_done", "winner_picked", "report_published", "learned", "run_done",
    ]  # fmt: skip
    ids = [event["id"] for event in events if event["type"] != "status"]
    assert ids == sorted(set(ids))
    assert all({"team_id", "round_number", "at", "spent"} <= event.keys() for event in events if "id" in event)
    states = [event["status"] for event in events if event["type"] == "status"]
    assert states[-1] == "completed"
    assert set(states[:-1]) <= {"started", "processing"}
    (write_event, *_) = [event for event in events if event.get("step") == "write"]
    draft = api.http.get(f"/research/{research}/documents/{write_event['document']}")
    assert draft.text.startswith(f"# {THEME}")


def test_a_research_is_judged_by_criteria_of_the_workspace_and_an_unknown_name_is_refused(api: Api) -> None:
    folder = api.server.workspace / "criteria"
    folder.mkdir(exist_ok=True)
    folder.joinpath("recovery.toml").write_text('parts = ["All"]\n[[criteria]]\ntext = "It says what is repeated."')
    options = {"teams": ["alpha"], "learn": False, "criteria": "recovery"}

    research = api.http.post("/research", json={"theme": THEME, "options": options}).json()["research_id"]
    told = api.until(research, "criteria_set")
    refused = api.http.post("/research", json={"theme": THEME, "options": {**options, "criteria": "else"}})

    assert [each["text"] for each in told["criteria"]] == ["It says what is repeated."]
    assert refused.status_code == 422
    assert "criteria = 'else': there is no" in refused.text
    api.until(research, "run_done")


def test_a_finished_research_is_told_in_full_in_every_form(api: Api, finished: str) -> None:
    details = api.get(f"/research/{finished}")
    progress = api.get(f"/research/{finished}/progress")
    statistics = api.get(f"/research/{finished}/statistics")
    board = api.get(f"/leaderboard?research_id={finished}")

    assert (details["theme"], details["status"], details["outcome"]) == (THEME, "completed", "completed")
    assert [team["team_id"] for team in details["teams"]] == ["alpha"]
    assert details["usage"]["requests"] == progress["spent"]["requests"] > 5
    assert (progress["current_node"], progress["nodes_remaining"]) == ("finish_run", [])
    assert [(team["team_id"], team["status"], team["round_number"]) for team in progress["teams"]] == [
        ("alpha", "completed", 1)
    ]
    assert statistics["iterations"] >= 1
    hits = [hit["url"] for event in api.events(finished) if event["type"] == "search_done" for hit in event["hits"]]
    assert statistics["sources_collected"] == len(set(hits)) >= 1
    assert board["rounds"][0]["score"] == details["best_score"]
    (listed,) = [each for each in api.get("/research?limit=100")["items"] if each["research_id"] == finished]
    for told in (details, listed, statistics, board):
        assert (told["published"], told["published_score"]) == ("team", details["best_score"])
    standings = api.get(f"/standings?dataset={details['dataset']}")
    assert standings["dataset"] in standings["datasets"]
    assert api.get("/standings?dataset=nothing")["teams"] == []
    assert api.http.get("/standings?dataset=-q").status_code == 422
    assert {metric["name"] for metric in board["rounds"][0]["metrics"]} > {"citation_support"}


@pytest.mark.parametrize(
    ("kind", "media", "begin"),
    [
        ("md", "text/markdown", f"# {THEME}"),
        ("html", "text/html", "<!doctype html>"),
        ("json", "application/json", "{"),
        ("bibtex", "application/x-bibtex", "@misc{"),
        ("csv", "text/csv", "\ufeffrank,team_id,team,round,score"),
        ("statements", "text/csv", "\ufeffplace,kind,text,quotes"),
        ("pdf", "application/pdf", "%PDF"),
        ("docx", "application/vnd.openxmlformats", "PK"),
    ],
)
def test_the_report_comes_in_each_format(api: Api, finished: str, kind: str, media: str, begin: str) -> None:
    if kind == "pdf":
        require_pdf()

    report = api.http.get(f"/research/{finished}/report?format={kind}")

    assert report.headers["content-type"].startswith(media)
    assert report.text.lower().startswith(begin.lower())


def test_a_client_that_lost_its_connection_goes_on_where_it_was(api: Api) -> None:
    research = api.start(THEME, options={"teams": ["alpha"], "learn": False})
    first = [event for event in islice(api.events(research), 5) if "id" in event]

    rest = [event for event in api.events(research, after=first[-1]["id"]) if "id" in event]

    everything = [event for event in api.events(research) if "id" in event]
    assert [*first, *rest] == everything
    assert rest[-1]["type"] == "run_done"
    over = api.http.get(f"/research/{research}/events", headers={"Last-Event-ID": str(rest[-1]["id"])})
    assert over.status_code == 204


def test_plans_of_two_teams_are_edited_and_approved_one_after_the_other(api: Api) -> None:
    research = api.start(THEME, enable_human_intervention=True, options={"learn": False})
    api.until(research, "status", status="interrupted")
    item = next(each for each in api.get("/research")["items"] if each["research_id"] == research)
    assert (item["status"], item["waiting"]) == ("interrupted", True)
    assert api.get(f"/research/{research}/progress")["estimated_completion_time"] is None
    questions = {each["team_id"]: each for each in api.get(f"/research/{research}/questions")["questions"]}
    assert set(questions) == {"alpha", "beta"}
    for team_id, question in questions.items():
        assert api.until(research, "question_asked", team_id=team_id)["question_id"] == question["id"]

    edit = {"type": "edit", "args": {"search_queries": ["checkpoint after every step"]}}
    first = api.http.post(f"/research/{research}/answers", json={"answers": {"alpha": edit}})
    waits = api.until(research, "run_resumed")
    api.until(research, "status", status="interrupted")
    open_questions = api.get(f"/research/{research}/questions")["questions"]
    second = api.http.post(f"/research/{research}/answers", json={"decision": "approve"})
    run_done = api.until(research, "run_done")
    late = api.http.post(f"/research/{research}/answers", json={"answers": {questions["beta"]["id"]: "approve"}})

    assert (first.status_code, second.status_code) == (202, 202)
    assert waits["answers"] == {questions["alpha"]["id"]: {**edit, "reason": ""}}
    assert [each["team_id"] for each in open_questions] == ["beta"]
    assert run_done["status"] == "completed"
    queries = {
        event["query"]
        for event in api.events(research)
        if event["type"] == "search_done" and event["team_id"] == "alpha"
    }
    assert "checkpoint after every step" in queries
    assert late.status_code in {409, 422}
    assert "is not open" in late.json()["detail"] or "at work" in late.json()["detail"]


def test_a_cancelled_research_stops_says_so_and_goes_on(api: Api, endpoint: Vendors) -> None:
    endpoint.hang(prompt="research/write")
    research = api.start(THEME, options={"teams": ["alpha"], "learn": False})
    api.until(research, "step_done", step="plan")
    while not endpoint.hung:
        time.sleep(0.02)
    progress, at_work = api.get(f"/research/{research}/progress"), api.get(f"/research/{research}")

    cancelled = api.http.delete(f"/research/{research}")
    endpoint.heal()
    again = api.http.delete(f"/research/{research}")
    stopped = api.get(f"/research/{research}/progress")
    resumed = api.http.post(f"/research/{research}/resume")
    run_done = api.until(research, "run_done")

    assert (progress["current_node"], progress["current_iteration"]) == ("writer", 1)
    assert progress["nodes_completed"] == ["open_run", "set_criteria", "brief", "supervisor", "researcher"]
    assert progress["estimated_completion_time"] is not None
    assert at_work["estimated_completion_time"] is not None
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "interrupted")
    assert "contend resume" in cancelled.json()["message"]
    assert (again.status_code, again.json()["status"]) == (200, "interrupted")
    assert (stopped["estimated_completion_time"], stopped["teams"][0]["status"]) == (None, "interrupted")
    assert resumed.status_code == 202
    assert run_done["status"] == "completed"
    assert [event["type"] for event in api.events(research)].count("run_stopped") == 1
    assert api.http.delete(f"/research/{research}").status_code == 409


def test_a_research_that_is_cancelled_in_the_queue_says_so_and_goes_on_as_it_was_asked(
    api: Api, endpoint: Vendors
) -> None:
    endpoint.hang(prompt="researcher/step")
    options = {"teams": ["alpha"], "learn": False}
    working = [api.start(THEME, options=options) for _ in range(4)]
    while len(endpoint.hung) < len(working):
        time.sleep(0.02)
    queued = api.start(THEME, options={**options, "dataset": "of-the-queue"})
    before = api.get(f"/research/{queued}")["status"]

    cancelled = api.http.delete(f"/research/{queued}").json()
    items = {each["research_id"]: each for each in api.get("/research")["items"]}
    for research in working:
        api.http.delete(f"/research/{research}")
    endpoint.heal()
    resumed = api.http.post(f"/research/{queued}/resume")
    run_done = api.until(queued, "run_done")

    assert (before, cancelled["status"]) == ("started", "interrupted")
    assert cancelled["message"] == "stopped before it began: nothing is spent, and it can go on"
    assert (items[queued]["status"], items[queued]["outcome"]) == ("interrupted", None)
    assert {items[each]["status"] for each in working} == {"processing"}
    assert all(items[each]["progress"]["teams"][0]["current_node"] == "supervisor" for each in working)
    assert (resumed.status_code, run_done["status"]) == (202, "completed")
    assert api.get(f"/research/{queued}")["dataset"] == "of-the-queue"


async def test_a_research_that_began_with_another_config_is_refused_with_the_difference(
    api: Api, endpoint: Vendors, shared_documents: Path
) -> None:
    contest = Contest(api.server.workspace, shared_documents, endpoint.base_url)
    team = api.server.workspace / "config" / "teams" / "alpha.toml"
    content, research = team.read_text("utf-8"), str(uuid4())
    team.write_text(f"{content}# of another time\n", "utf-8")
    await contest.run(THEME, thread_id=research, teams=["alpha"], approve=["plan"], learn=False)
    team.write_text(content, "utf-8")

    response = api.http.post(f"/research/{research}/answers", json={"decision": "approve"})

    assert response.status_code == 409
    assert "changed since the run began: config/teams/alpha.toml" in response.json()["detail"]
    details = api.get(f"/research/{research}")
    assert (details["status"], details["waiting"], len(details["questions"])) == ("interrupted", True, 1)


def test_a_deleted_research_is_gone_and_one_at_work_is_not_deleted(api: Api, endpoint: Vendors) -> None:
    finished = finished_research(api)
    endpoint.hang(prompt="researcher/step")
    working = api.start(THEME, options={"teams": ["alpha"], "learn": False})
    while not endpoint.hung:
        time.sleep(0.02)

    response = api.http.delete(f"/research/{working}/data")
    deleted = api.http.delete(f"/research/{finished}/data")
    api.http.delete(f"/research/{working}")

    assert (response.status_code, deleted.status_code) == (409, 204)
    assert api.http.get(f"/research/{finished}").status_code == 404
    assert finished not in [each["research_id"] for each in api.get("/research?limit=200")["items"]]


def test_a_further_question_is_a_run_of_its_own_on_the_thread(api: Api) -> None:
    finished = finished_research(api)
    response = api.http.post(
        f"/research/{finished}/follow-up",
        json={"theme": "What is a team?", "options": {"teams": ["alpha"], "learn": False}},
    )
    events = []
    for event in api.events(finished):
        events.append(event)
        if event["type"] == "run_done" and len([each for each in events if each["type"] == "run_done"]) == 2:
            break

    assert (response.status_code, response.json()["research_id"]) == (202, finished)
    started = [event for event in events if event["type"] == "run_started"]
    assert [event["theme"] for event in started] == [THEME, "What is a team?"]
    assert api.get(f"/research/{finished}")["theme"] == "What is a team?"
    assert api.get(f"/research/{finished}/progress")["spent"]["requests"] == events[-1]["spent"]["requests"]


def test_the_history_is_searched_and_paged(api: Api, finished: str) -> None:
    other = api.start(
        "How does resume work after a crash of a team of WALRUS?", options={"teams": ["alpha"], "learn": False}
    )
    api.until(other, "status", status="completed")

    page = api.get("/research?limit=1")
    history = api.get("/research?search=walrus")

    assert [item["research_id"] for item in page["items"]] == [other]
    assert page["total"] >= 2
    assert [item["research_id"] for item in history["items"]] == [other]
    both = api.get(f"/research/{finished}/compare/{other}")
    assert not both["same_question"]
    assert both["first"]["statistics"]["iterations"] >= 1
    assert both["common_sources"]
    assert both["statements"]["common"] + len(both["statements"]["changed"]) + len(both["statements"]["only_first"]) > 1


def test_a_report_of_a_release_without_a_ledger_is_compared_without_its_statements(api: Api, finished: str) -> None:
    old = finished_research(api)
    file = api.server.workspace / "results" / old / "report.json"
    values = json.loads(file.read_text("utf-8"))
    del values["statements"], values["passages"]
    file.write_text(json.dumps(values), "utf-8")

    compared = api.get(f"/research/{finished}/compare/{old}")

    assert compared["statements"] is None
    assert compared["common_sources"]


@pytest.mark.parametrize(
    ("request_body", "line"),
    [
        ({"theme": " "}, "theme: "),
        ({"theme": "橋" * 8001}, "theme: "),
        ({}, "theme: Field required"),
        ({"theme": THEME, "max_iterations": 11}, "max_iterations: Input should be less than or equal to 10"),
        ({"theme": THEME, "maximum": 1}, "maximum: Extra inputs are not permitted"),
        ({"theme": THEME, "options": {"min_rounds": 3, "max_rounds": 2}}, "rounds: min_rounds 3 is above max_rounds 2"),
        ({"theme": THEME, "options": {"teams": ["nobody"]}}, "nobody"),
        ({"theme": THEME, "options": {"documents": ["/etc/passwd"]}}, "documents: this server may not read"),
    ],
)
def test_bad_input_is_refused_in_one_line_before_anything_is_spent(
    api: Api, endpoint: Vendors, request_body: dict[str, object], line: str
) -> None:
    for path in ("/research", "/research/dry-run"):
        response = api.http.post(path, json=request_body)

        assert response.status_code == 422, response.text
        assert line in response.json()["detail"]
        assert "\n" not in response.json()["detail"]
    assert [call for call in endpoint.calls if call.prompt] == []


@pytest.mark.parametrize("saver", ["memory", "postgres"])
def test_any_checkpointer_of_the_format_is_accepted_and_the_one_in_use_named(api: Api, saver: str) -> None:
    started = api.http.post("/research", json={"theme": THEME, "checkpointer_type": saver})

    assert started.status_code == 202, started.text
    assert started.json()["message"] == "waits for a place in the queue; its checkpoints are kept in SQLite"
    api.until(started.json()["research_id"], "status", status="completed")


def test_a_dry_run_estimates_and_starts_nothing(api: Api) -> None:
    before = api.get("/research")["total"]

    estimate = api.http.post("/research/dry-run", json={"theme": THEME}).json()

    assert estimate["teams"] == ["alpha", "beta"]
    assert 0 < estimate["calls"][0] < estimate["calls"][1]
    assert api.get("/research")["total"] == before


@pytest.mark.parametrize("path", ["", "/progress", "/events", "/report", "/statistics", "/questions"])
def test_an_unknown_research_is_not_found(api: Api, path: str) -> None:
    missing = api.http.get(f"/research/{uuid4()}{path}")

    assert missing.status_code == 404
    assert "there is none" in missing.json()["detail"]


def test_playbooks_are_read_with_every_version(api: Api) -> None:
    research = api.start(THEME, options={"teams": ["alpha"], "dataset": "taught"})
    learned = api.until(research, "learned")

    playbook = api.get("/playbooks/taught")
    versions = api.get("/playbooks/taught/versions")

    assert "taught" in [item["dataset"] for item in api.get("/playbooks")["playbooks"]]
    assert playbook["version"] == learned["playbook_version"] == versions["versions"][0]["version"] >= 1
    assert api.get("/playbooks/taught/versions/1")["version"] == 1
    assert api.http.get("/playbooks/taught/versions/99").status_code == 404
    assert api.http.get("/playbooks/nothing").status_code == 404


def test_the_routes_are_in_the_servers_openapi_with_examples(api: Api) -> None:
    spec = api.get("/openapi.json")

    assert {"/research", "/research/{research_id}/events", "/leaderboard", "/threads"} <= spec["paths"].keys()
    assert spec["components"]["schemas"]["ResearchRequest"]["example"]["theme"]
    assert api.get("/health")["language_model"] is True
