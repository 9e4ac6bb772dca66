"""The graphs in a real Agent Server: what Studio, the SDK and chat front ends meet."""

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.errors import ConflictError

from contend.models.options import RunOptions
from contend.services import Services
from contend.settings import load_settings
from contend.stores import lease
from fakes.contests import Contest
from fakes.guide import definitions
from fakes.kilns import TOO_FEW
from fakes.servers import Server, changes
from fakes.vendors import Vendors

THEME = "How does resume work after a crash?"
OTHER = "What is a team?"
GRAPHS = {"contend", "team", "research", "learn"}


def test_the_server_knows_the_schemas_of_every_graph(server: Server) -> None:
    schemas = {graph: server.client.assistants.get_schemas(server.assistant(graph)) for graph in GRAPHS}

    assert {assistant["graph_id"] for assistant in server.client.assistants.search()} == GRAPHS
    shown = {graph: schema["input_schema"]["properties"] for graph, schema in schemas.items()}
    assert [set(shown[graph]) for graph in ("contend", "team", "research")] == [{"theme", "messages"}] * 3
    assert "dataset" in shown["learn"]
    assert all(field["description"] for fields in shown.values() for field in fields.values())


def test_a_graphs_form_shows_the_options_that_it_uses_and_no_others(server: Server) -> None:
    forms = {graph: server.client.assistants.get_schemas(server.assistant(graph))["context_schema"] for graph in GRAPHS}
    contest, team, research = (forms[graph]["properties"] for graph in ("contend", "team", "research"))

    assert not forms["learn"]
    assert set(contest) == set(RunOptions.model_fields)
    assert set(contest) - set(team) == {"synthesis", "learn", "playbook", "lesson_tokens", "dataset"}
    of_rounds = {"criteria", "depth", "teams", "min_rounds", "max_rounds", "target_score"}
    assert set(team) - set(research) == of_rounds
    assert {"instructions", "length", "documents", "sources", "model", "max_usd", "approve"} <= set(research)
    same = [(schema, contest[name]) for form in (team, research) for name, schema in form.items() if name != "approve"]
    assert all(schema == of_contest for schema, of_contest in same)
    assert all(option["description"] for option in contest.values())
    assert (contest["depth"]["default"], contest["read_top"]["default"], contest["language"]["default"]) == (
        "standard",
        5,
        "auto",
    )
    # What follows from the depth, or from what is left out, has no value of its own.
    assert {contest[name]["default"] for name in ("max_rounds", "length", "max_usd", "model")} == {None}


def test_a_form_sent_back_with_the_defaults_that_it_shows_changes_nothing(server: Server) -> None:
    form = server.client.assistants.get_schemas(server.assistant("contend"))["context_schema"]["properties"]
    values = {name: schema["default"] for name, schema in form.items() if schema.get("default") is not None}
    contexts = ({"max_rounds": 1, "learn": False}, {**values, "max_rounds": 1, "learn": False})
    threads = [server.thread() for _ in contexts]

    for thread, context in zip(threads, contexts, strict=True):
        assert server.run("contend", {"theme": THEME}, thread_id=thread, context=context)["status"] == "completed"

    left_out, sent_back = (server.client.threads.get_state(thread)["values"]["options"] for thread in threads)
    assert {"depth", "dataset", "language"} <= set(values)
    assert sent_back == left_out


@pytest.mark.parametrize("graph", ["team", "research"])
def test_a_part_of_the_contest_asks_for_its_plan_only_and_refuses_other_approvals_by_name(
    server: Server, graph: str
) -> None:
    with pytest.raises(Exception, match=r"InputError: context.*approve.*'plan'"):
        server.run(graph, {"theme": THEME}, context={"approve": ["plan", "report"]})


def test_a_contest_is_drawn_with_its_teams_and_their_research(server: Server) -> None:
    drawing = server.client.assistants.get_graph(server.assistant("contend"), xray=2)

    nodes = {node["id"] for node in drawing["nodes"]}
    assert {"open_run", "team:brief", "team:judge", "team:research:search", "learn:curate", "finish_run"} <= nodes


@pytest.mark.parametrize(
    "values", [{"theme": THEME}, {"messages": [{"role": "user", "content": THEME}]}], ids=["theme", "messages"]
)
def test_a_run_ends_with_a_report_a_message_and_a_status(
    server: Server, endpoint: Vendors, values: dict[str, Any]
) -> None:
    state = server.run("contend", values)

    assert state["status"] == "completed"
    assert state["report"]["theme"] == THEME
    assert state["report"]["sources"]
    assert [(message["type"], message["content"][:10]) for message in state["messages"]][:-1] == [("human", THEME[:10])]
    assert state["messages"][-1]["type"] == "ai"
    assert state["messages"][-1]["content"].startswith(f"# {THEME}")
    assert "## About this run" in state["messages"][-1]["content"]
    assert endpoint.calls


def test_a_run_without_a_thread_leaves_no_lease_and_no_defect_in_the_servers_log(server: Server) -> None:
    server.run("contend", {"theme": THEME})
    server.run("contend", {"theme": THEME})

    assert "Background worker failed" not in server.log_text
    assert [*(server.workspace / "leases").iterdir()] == []


def test_an_empty_theme_ends_the_run_with_its_line(server: Server) -> None:
    state = server.run("contend", {"theme": " "})

    assert state["status"] == "failed"
    assert state["message"].startswith("theme is empty: give the question")
    assert state["messages"][-1]["content"] == state["message"]


def test_a_team_that_fails_is_named_in_the_answer(server: Server, endpoint: Vendors) -> None:
    endpoint.fail(model="beta", status=401)

    state = server.run("contend", {"theme": THEME}, context={"teams": ["alpha", "beta"], "max_rounds": 1})

    assert state["status"] == "partial"
    assert state["message"].startswith("team beta failed: model 'beta' at http://127.0.0.1")
    assert "set OPENAI_API_KEY" in state["message"]
    assert state["message"] in state["messages"][-1]["content"]


def test_a_run_cancelled_midway_goes_on_with_the_options_it_began_with(server: Server, endpoint: Vendors) -> None:
    endpoint.hang(prompt="research/revise")
    thread = server.thread()
    first_options = {"min_rounds": 2, "max_rounds": 2, "dataset": "kept", "learn": False}
    context = {**first_options, "teams": ["alpha"]}
    run = server.client.runs.create(thread, "contend", input={"theme": THEME}, context=context)
    while not endpoint.hung:
        time.sleep(0.02)
    before = [*endpoint.calls]
    server.client.runs.cancel(thread, run["run_id"], wait=True)
    endpoint.heal()

    final = server.run("contend", None, thread_id=thread)

    state = server.client.threads.get_state(thread)["values"]
    assert final["status"] == "completed"
    assert {name: state["options"][name] for name in first_options} == first_options
    assert [team["team_id"] for team in final["summary"]["team_statuses"]] == ["alpha"]
    assert [each["round_number"] for each in state["outcomes"][0]["rounds"]] == [1, 2]
    assert not (server.workspace / "playbooks" / "kept.json").exists()
    after = endpoint.calls[len(before) :]
    calls_before, calls_after = (
        [call.prompt for call in calls if call.prompt not in {"evaluator/verdicts", "research/injection"}]
        for calls in (before, after)
    )
    steps = ["researcher/step"] * 2
    assert calls_before == ["evaluator/criteria", *steps, "research/write", "research/review", *steps]
    assert calls_after == ["research/revise"]


def test_runs_of_two_threads_go_at_the_same_time(server: Server, endpoint: Vendors) -> None:
    endpoint.hang(prompt="researcher/step")
    threads = [server.thread(), server.thread()]
    options = {"teams": ["alpha"]}

    runs = [server.client.runs.create(each, "contend", input={"theme": THEME}, context=options) for each in threads]

    while len(endpoint.hung) < len(threads):
        time.sleep(0.02)
    for thread, run in zip(threads, runs, strict=True):
        server.client.runs.cancel(thread, run["run_id"], wait=True)


def test_of_two_runs_at_once_on_one_thread_the_second_is_refused(server: Server, endpoint: Vendors) -> None:
    endpoint.hang(prompt="researcher/step")
    thread = server.thread()
    first = server.client.runs.create(thread, "contend", input={"theme": THEME}, context={"teams": ["alpha"]})
    while not endpoint.hung:
        time.sleep(0.02)

    with pytest.raises(ConflictError):
        server.client.runs.create(thread, "contend", input={"theme": THEME}, multitask_strategy="reject")

    server.client.runs.cancel(thread, first["run_id"], wait=True)
    assert len(endpoint.hung) == 1


async def test_a_thread_that_another_process_works_on_is_not_touched(server: Server) -> None:
    thread = server.thread()
    async with lease(load_settings(workspace=server.workspace), thread):
        with pytest.raises(Exception, match=f"ThreadBusy: thread {thread} is being worked on by process"):
            await asyncio.to_thread(server.run, "contend", {"theme": THEME}, thread_id=thread)

    assert not server.client.threads.get_state(thread)["values"]


def test_research_alone_ends_with_a_cited_report(server: Server) -> None:
    state = server.run("research", {"theme": THEME})

    assert state["report"]["sources"]
    assert state["messages"][-1]["content"].startswith(f"# {THEME}")


def test_a_team_alone_plays_its_rounds(server: Server) -> None:
    state = server.run("team", {"messages": [{"role": "user", "content": THEME}]}, context={"max_rounds": 1})

    assert [each["round_number"] for each in state["rounds"]] == [1]


def test_learning_alone_ends_with_a_playbook_version(server: Server) -> None:
    state = server.run("learn", {"dataset": "alone", "theme": THEME})

    assert state["result"]["dataset"] == "alone"


@pytest.mark.parametrize("graph", ["contend", "research", "team"])
def test_bad_input_is_answered_with_its_line(server: Server, graph: str) -> None:
    state = server.run(graph, {"theme": " "})

    assert [(message["type"], message["content"][:14]) for message in state["messages"]] == [("ai", "theme is empty")]


@pytest.mark.parametrize("graph", ["contend", "research", "team"])
def test_after_a_report_a_question_that_fails_is_answered_with_why(
    server: Server, endpoint: Vendors, graph: str
) -> None:
    of_all: dict[str, Any] = {"teams": ["beta"], "model": "beta", "max_rounds": 1, "learn": False}
    schema = server.client.assistants.get_schemas(server.assistant(graph))["context_schema"]["properties"]
    thread, options = server.thread(), {name: value for name, value in of_all.items() if name in schema}
    server.run(graph, {"theme": THEME}, thread_id=thread, context=options)
    endpoint.fail(prompt="research/write", status=401)

    state = server.run(graph, {"theme": OTHER}, thread_id=thread, context=options)

    question, answer, again, why = state["messages"]
    assert (question["content"], again["content"]) == (THEME, OTHER)
    assert answer["content"].startswith(f"# {THEME}")
    assert re.search(r"model 'beta' at http://127\.0\.0\.1.* set OPENAI_API_KEY", why["content"])


def test_a_report_is_sent_back_with_a_comment_once_and_rejected_with_the_reason(server: Server) -> None:
    thread = server.thread()
    server.run("contend", {"theme": THEME}, thread_id=thread, context={"approve": ["report"], "learn": False})

    reject = {"resume": {"type": "reject", "reason": "too thin"}}
    server.run("contend", None, thread_id=thread, command={"resume": "Say what a checkpoint holds."})
    waiting = server.open_questions(thread)
    state = server.run("contend", None, thread_id=thread, command=reject)

    assert [*waiting] == ["plain"]
    assert [message["type"] for message in state["messages"]] == ["human", "ai"]
    assert state["messages"][-1]["content"] == "a person rejected the report: too thin"


def test_plans_of_two_teams_are_approved_and_edited_through_the_sdk(server: Server, endpoint: Vendors) -> None:
    thread = server.thread()
    options = {"teams": ["alpha", "beta"], "approve": ["plan"], "max_rounds": 1, "learn": False, "model": "m"}
    server.run("contend", {"theme": THEME}, thread_id=thread, context=options)
    open_questions = server.open_questions(thread)
    assert set(open_questions) == {"alpha", "beta"}
    points = ["Which calls are repeated after a kill?"]
    action = {"name": "approve_plan", "args": {"investigation_points": points}}

    state = server.run(
        "contend",
        None,
        thread_id=thread,
        command={
            "resume": {
                open_questions["alpha"]: {"decisions": [{"type": "approve"}]},
                open_questions["beta"]: {"decisions": [{"type": "edit", "edited_action": action}]},
            }
        },
    )

    assert state["status"] == "completed"
    drafts = [call.user for call in endpoint.calls if call.model == "beta" and call.prompt == "research/write"]
    assert drafts
    assert all(points[0] in draft for draft in drafts)


TWO_PLANS = {"teams": ["alpha", "beta"], "approve": ["plan"], "max_rounds": 1, "learn": False, "model": "m"}


@pytest.mark.parametrize("answer", [True, {"decisions": [{"type": "approve"}]}])
def test_an_approval_without_an_id_as_chat_front_ends_send_it_goes_to_all_plans(server: Server, answer: object) -> None:
    thread = server.thread()
    server.run("contend", {"theme": THEME}, thread_id=thread, context=TWO_PLANS)

    state = server.run("contend", None, thread_id=thread, command={"resume": answer})

    assert (state["status"], state["message"]) == ("completed", "all teams delivered")


@pytest.mark.parametrize("by_id", [False, True], ids=["without an id", "by the question's id"])
def test_plans_that_wait_together_are_asked_as_one_question_and_answered_once_in_its_order(
    server: Server, endpoint: Vendors, by_id: bool
) -> None:
    thread = server.thread()
    parts = [*server.client.runs.stream(thread, "contend", input={"theme": THEME}, context=TWO_PLANS)]
    asked = [part.data["__interrupt__"] for part in parts if "__interrupt__" in part.data]

    state, thread_info = server.client.threads.get_state(thread), server.client.threads.get(thread)

    ((question,),) = asked
    of_tasks = [each for task in state["tasks"] for each in task["interrupts"]]
    of_thread = [each for task in thread_info["interrupts"].values() for each in task]
    for interrupts in (state["interrupts"], of_tasks, of_thread):
        assert [(each["id"], each["value"]) for each in interrupts] == [(question["id"], question["value"])]
    requests = question["value"]["action_requests"]
    assert {request["team_id"] for request in requests} == {"alpha", "beta"}
    assert all(request["args"]["search_queries"] and "Plan of team" in request["description"] for request in requests)
    assert [config["action_name"] for config in question["value"]["review_configs"]] == ["approve_plan"]

    action = {"name": "approve_plan", "args": {"investigation_points": ["Which calls are repeated after a kill?"]}}
    each = {"alpha": {"type": "approve"}, "beta": {"type": "edit", "edited_action": action}}
    answer = {"decisions": [each[request["team_id"]] for request in requests]}
    resume = {question["id"]: answer} if by_id else answer
    assert server.run("contend", None, thread_id=thread, command={"resume": resume})["status"] == "completed"
    drafts = [call.user for call in endpoint.calls if call.prompt == "research/write"]
    assert len([draft for draft in drafts if "repeated after a kill" in draft]) == len(drafts) // 2 > 0


@pytest.mark.parametrize(
    "answer",
    [{"decisions": [{"type": "reject", "message": "too broad"}]}, [{"type": "response", "args": "too broad"}]],
    ids=["agent-chat-ui", "agent inbox"],
)
def test_a_comment_without_an_id_answers_all_plans_that_wait(server: Server, endpoint: Vendors, answer: object) -> None:
    thread = server.thread()
    server.run("contend", {"theme": THEME}, thread_id=thread, context=TWO_PLANS)

    state = server.run("contend", None, thread_id=thread, command={"resume": answer})

    assert state["status"] == "completed"
    assert {call.model for call in endpoint.calls if "too broad" in call.user} == {"alpha", "beta"}


def test_an_edit_without_an_id_while_two_plans_wait_is_refused_in_a_front_ends_words(server: Server) -> None:
    thread = server.thread()
    server.run("contend", {"theme": THEME}, thread_id=thread, context=TWO_PLANS)
    answer = {"type": "edit", "args": {"plan_text": "Look at the leases."}}

    with pytest.raises(Exception, match="SeveralQuestions: 2 questions are open, and an edit fits") as excinfo:
        server.run("contend", None, thread_id=thread, command={"resume": answer})

    assert "--answer" not in str(excinfo.value)
    assert set(server.open_questions(thread)) == {"alpha", "beta"}
    assert asyncio.run(_on_record(server, thread))[0] == "interrupted"
    decisions = {"alpha": "approve", "beta": answer}
    state = server.run("contend", None, thread_id=thread, command={"resume": decisions})
    assert state["status"] == "completed"


@pytest.mark.parametrize("graph", ["contend", "team", "research"])
def test_a_misspelt_option_is_refused_where_the_server_would_drop_it(server: Server, graph: str) -> None:
    with pytest.raises(Exception, match="InputError: context: unknown key 'max_dollars'; remove it or mend its spell"):
        server.run(graph, {"theme": THEME}, context={"max_dollars": 0.5, "max_iterations": 1})
    with pytest.raises(Exception, match="InputError: context: unknown key 'max_dollars'"):
        server.run(graph, {"theme": THEME}, config={"configurable": {"max_dollars": 0.5}})


@pytest.mark.parametrize(("graph", "option"), [("team", "synthesis"), ("research", "max_rounds")])
def test_an_option_that_a_graph_does_not_use_is_refused_by_its_name(server: Server, graph: str, option: str) -> None:
    with pytest.raises(Exception, match=f"InputError: context: unknown key '{option}'"):
        server.run(graph, {"theme": THEME}, context={"max_usd": 0.5, option: 1})


def test_a_misspelt_option_of_an_assistant_is_refused(server: Server) -> None:
    assistant = server.client.assistants.create("contend", context={"max_dollars": 0.5})

    with pytest.raises(Exception, match="InputError: context: unknown key 'max_dollars'"):
        server.run(assistant["assistant_id"], {"theme": THEME})


def test_learning_alone_takes_no_options_and_says_so(server: Server) -> None:
    with pytest.raises(Exception, match="InputError: context: model may not be given: this graph takes no options"):
        server.run("learn", {"theme": THEME}, context={"model": "m"})


def test_what_the_server_itself_puts_into_a_runs_config_is_no_option(server: Server) -> None:
    values = {"configurable": {"thread_id": server.thread(), "user_id": "u", "__own": 1, "teams": ["plain"]}}

    assert server.run("contend", {"theme": THEME}, config=values)["status"] == "completed"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"rounds": [{"team_id": "a", "round_number": 0}]},
            "input: rounds.0.round_number = 0: Input should be g",
        ),
        ({"rounds": ["a"]}, "input: rounds.0 = 'a': Input should be a valid dictionary"),
        ({"rounds": [{"team_id": "a"}]}, "input: key 'rounds.0.round_number' is missing; add it"),
        ({"dataset": "../x"}, "input: dataset.* = '../x': "),
        ({"theme": 5}, "input: theme = 5: Input should be a valid string"),
    ],
)
def test_bad_input_to_learning_is_refused_with_field_and_value(
    server: Server, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(Exception, match=f"InputError: {message}") as excinfo:
        server.run("learn", {"theme": THEME, **values})

    assert "\n" not in str(excinfo.value)


@pytest.mark.parametrize("theme", [5, ["a"], {"lc": 1}, True])
def test_a_theme_that_is_no_text_is_refused_with_its_value(server: Server, theme: object) -> None:
    text = f"theme = {theme!r} is no text: give the question in quotes"

    for graph in ("contend", "team", "research"):
        state = server.run(graph, {"theme": theme})
        assert state["messages"][-1]["content"] == text


def test_an_option_out_of_range_is_refused_with_its_name(server: Server) -> None:
    with pytest.raises(Exception, match="InputError: context: max_rounds"):
        server.run("contend", {"theme": THEME}, context={"max_rounds": 99})


@pytest.mark.parametrize("graph", ["contend", "research"])
@pytest.mark.parametrize("command", [None, {"resume": "approve"}], ids=["go on", "answer"])
def test_a_thread_without_a_run_has_nothing_to_go_on_with(
    server: Server, graph: str, command: dict[str, Any] | None
) -> None:
    thread = server.thread()

    with pytest.raises(Exception, match=f"UnknownThread: thread '{thread}' has no run to go on with"):
        server.run(graph, None, thread_id=thread, command=command)

    assert not server.client.threads.get_state(thread)["values"]


def test_an_answer_to_a_finished_run_is_refused(server: Server) -> None:
    thread = server.thread()
    server.run("contend", {"theme": THEME}, thread_id=thread)

    with pytest.raises(Exception, match="InputError: no question is open"):
        server.run("contend", None, thread_id=thread, command={"resume": "approve"})

    assert server.client.threads.get_state(thread)["values"]["status"] == "completed"


def test_the_record_tells_a_run_that_waits_from_one_that_was_cancelled(server: Server, endpoint: Vendors) -> None:
    waits, cancelled = server.thread(), server.thread()
    options = {"teams": ["alpha"], "learn": False, "max_rounds": 1}
    server.run("contend", {"theme": THEME}, thread_id=waits, context={**options, "approve": ["plan"]})
    endpoint.hang(prompt="research/write")
    run = server.client.runs.create(cancelled, "contend", input={"theme": THEME}, context=options)
    while not endpoint.hung:
        time.sleep(0.02)
    server.client.runs.cancel(cancelled, run["run_id"], wait=True)

    assert asyncio.run(_on_record(server, waits)) == ("interrupted", "waiting for a person: plan of alpha")
    stopped = f"stopped; go on with `contend resume {cancelled}`"
    assert asyncio.run(_on_record(server, cancelled)) == ("interrupted", stopped)


def test_a_team_on_its_own_is_on_record_while_it_waits_and_at_its_end(server: Server) -> None:
    thread = server.thread()
    options = {"teams": ["alpha"], "approve": ["plan"], "max_rounds": 1}
    server.run("team", {"theme": THEME}, thread_id=thread, context=options)
    waiting = asyncio.run(_on_record(server, thread))

    server.run("team", None, thread_id=thread, command={"resume": "yes"})

    assert waiting == ("interrupted", "waiting for a person: plan of alpha")
    assert asyncio.run(_on_record(server, thread)) == ("completed", "team alpha delivered")


async def _on_record(server: Server, thread: str) -> tuple[str, str]:
    services = Services(load_settings(workspace=server.workspace))
    row = await services.record.latest_execution(thread)
    await services.aclose()
    assert row is not None
    return row.status, row.message


async def test_a_run_that_began_with_another_config_is_refused_with_the_difference_and_goes_on_by_force(
    server: Server, endpoint: Vendors, many_documents: Path
) -> None:
    contest = Contest(server.workspace, many_documents, endpoint.base_url, defaults={"evidence_tokens": TOO_FEW})
    team = server.workspace / "config" / "teams" / "alpha.toml"
    content = team.read_text("utf-8")
    team.write_text(f"{content}# of another time\n", "utf-8")
    thread = server.thread()
    await contest.run(THEME, thread_id=thread, teams=["alpha"], approve=["plan"], max_rounds=1, learn=False)
    team.write_text(content, "utf-8")

    text = f"RunChanged: .*: config/teams/alpha.toml; .* `contend resume {thread} --force`"
    with pytest.raises(Exception, match=text):
        await asyncio.to_thread(server.run, "contend", None, thread_id=thread, command={"resume": "approve"})

    assert [call.prompt for call in endpoint.calls] == ["evaluator/criteria", "researcher/step"]
    assert (await contest.resume(thread, "approve", force=True)).status == "completed"


async def test_the_guides_programs_for_the_sdk_get_a_report_and_approve_what_waits(bare: Server) -> None:
    ask = definitions("agent-server-and-code.md", "ask")["ask"]
    approve_all = definitions("agent-server-and-code.md", "approve_all")["approve_all"]
    context = {"documents": ["docs"], "sources": ["local"], "depth": "standard", "max_rounds": 1, "approve": ["plan"]}
    thread = await asyncio.to_thread(bare.thread)
    await asyncio.to_thread(bare.run, "contend", {"theme": THEME}, thread_id=thread, context=context)
    assert len(bare.open_questions(thread)) > 1

    assert callable(ask)
    assert callable(approve_all)
    await approve_all(bare.url, thread)

    assert bare.client.threads.get_state(thread)["values"]["status"] == "completed"
    assert "## References" in await ask(bare.url, THEME)


def test_all_four_graphs_run_in_a_fresh_clone_by_bare_langgraph_dev_and_leave_it_clean(bare: Server) -> None:
    values: dict[str, Any] = {"theme": THEME}
    context = {"documents": ["docs"], "sources": ["local"]}

    contest = bare.run("contend", values, thread_id=bare.thread(), context=context)
    team = bare.run("team", values, thread_id=bare.thread(), context=context)
    research = bare.run("research", values, thread_id=bare.thread(), context=context)
    state = bare.run("learn", {**values, "dataset": "alone"}, thread_id=bare.thread())

    assert contest["report"]["sources"]
    assert Path(contest["files"][0]).is_relative_to(bare.workspace)
    assert team["rounds"]
    assert research["report"]["sources"]
    assert state["result"]["dataset"] == "alone"
    assert not changes(bare.workspace)
