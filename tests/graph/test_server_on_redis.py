"""The Agent Server on a real Redis: runs and a person's answers, as on SQLite."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from fakes.redis_server import RedisServer
from fakes.servers import Server, ask
from fakes.vendors import Vendors
from graph.conftest import TOKEN

THEME = "How does resume work after a crash?"
TEAMS = ("alpha", "beta", "gamma")
REASON = "look at the leases instead"
POINTS = ["Which calls are repeated after a kill?"]
APPROVED = {"decisions": [{"type": "approve"}]}
EDIT = {"name": "approve_plan", "args": {"investigation_points": POINTS}}
EDITED = {"decisions": [{"type": "edit", "edited_action": EDIT}]}
REJECTED = {"decisions": [{"type": "reject", "message": REASON}]}


@pytest.fixture
def server(server_on_redis: Server) -> Server:
    return server_on_redis


def asked_of(endpoint: Vendors, team: str, prompt: str) -> list[str]:
    return [call.user for call in endpoint.calls if (call.model, call.prompt) == (team, prompt)]


def test_a_run_ends_with_its_report_and_checkpoints_in_redis(server: Server, redis_of_server: RedisServer) -> None:
    thread = server.thread()

    state = server.run("contend", {"theme": THEME}, thread_id=thread, context={"teams": ["alpha"]})

    assert state["message"] == "all teams delivered"
    assert state["report"]["sources"]
    assert thread in redis_of_server.say("KEYS", f"checkpoint:{thread}:*")
    assert server.client.threads.get_state(thread)["values"]["status"] == "completed"
    assert not (server.workspace / "checkpoints.sqlite").exists()
    assert redis_of_server.password not in server.log_text


def test_three_teams_ask_at_once_and_are_approved_edited_and_rejected(server: Server, endpoint: Vendors) -> None:
    thread = server.thread()
    server.run("contend", {"theme": THEME}, thread_id=thread, context={"approve": ["plan"]})
    open_questions = server.open_questions(thread)
    answers = {open_questions["alpha"]: APPROVED, open_questions["beta"]: EDITED, open_questions["gamma"]: REJECTED}

    state = server.run("contend", None, thread_id=thread, command={"resume": answers})

    assert state["message"] == "all teams delivered"
    assert [len(asked_of(endpoint, team, "researcher/step")) for team in TEAMS] == [2, 2, 3]
    assert REASON in asked_of(endpoint, "gamma", "researcher/step")[1]
    assert POINTS[0] in asked_of(endpoint, "beta", "research/write")[0]


def test_of_two_that_answer_at_once_one_wins_and_the_other_is_told(server: Server, endpoint: Vendors) -> None:
    thread = server.thread()
    server.run("contend", {"theme": THEME}, thread_id=thread, context={"approve": ["plan"], "teams": ["alpha"]})
    command = {"resume": {server.open_questions(thread)["alpha"]: APPROVED}}

    with ThreadPoolExecutor(2) as clients:
        both = [clients.submit(server.run, "contend", None, thread_id=thread, command=command) for _ in range(2)]
    messages = [str(error) for each in both if (error := each.exception())]

    assert [each.result()["message"] for each in both if not each.exception()] == ["all teams delivered"]
    assert len(messages) == 1
    assert "InputError: question" in messages[0]
    assert "is not open: answered before or never asked" in messages[0]
    assert [call.prompt for call in endpoint.calls].count("research/write") == 1


def test_questions_of_a_thread_are_answered_one_by_one_and_each_once(server: Server) -> None:
    thread = server.thread()
    server.run("contend", {"theme": THEME}, thread_id=thread, context={"approve": ["plan"], "teams": ["alpha", "beta"]})
    open_questions = server.open_questions(thread)

    server.run("contend", None, thread_id=thread, command={"resume": {open_questions["beta"]: APPROVED}})
    assert server.open_questions(thread) == {"alpha": open_questions["alpha"]}
    with pytest.raises(Exception, match=rf"InputError: question '{open_questions['beta']}' is not open"):
        server.run("contend", None, thread_id=thread, command={"resume": {open_questions["beta"]: APPROVED}})
    state = server.run("contend", None, thread_id=thread, command={"resume": APPROVED})

    assert state["message"] == "all teams delivered"


def test_a_second_message_on_a_finished_thread_is_answered(server: Server) -> None:
    thread = server.thread()
    for question in (THEME, "What is a team?"):
        request = {"messages": [{"role": "user", "content": question}]}
        state = server.run("contend", request, thread_id=thread, context={"teams": ["alpha"]})
        assert state["report"]["theme"] == question
        assert state["messages"][-1]["content"].startswith(f"# {question}")


def test_a_server_with_a_token_answers_nobody_without_it(server: Server) -> None:
    search = {"Content-Type": "application/json", "Host": "contend.example"}
    without = ask(server, "POST", "/threads/search", search, "{}")
    wrong = ask(server, "POST", "/threads/search", {**search, "X-Api-Key": TOKEN[:-1]}, "{}")
    studio = ask(server, "POST", "/threads/search", {**search, "X-Auth-Scheme": "langsmith"}, "{}")
    bearer = ask(server, "POST", "/threads/search", {**search, "Authorization": f"Bearer {TOKEN}"}, "{}")

    assert [without[0], wrong[0], studio[0], bearer[0]] == [401, 401, 401, 200]
    assert "CONTEND_SERVER_TOKEN" in without[2]
    assert TOKEN not in server.log_text
    assert len(server.client.assistants.search()) == 4
