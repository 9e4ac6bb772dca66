"""Runs without a language model: quotes from the user's documents, no contest."""

import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from contend.contest.graph import build_contest_graph
from contend.errors import InputError
from contend.models.events import RoundScored, WinnerPicked
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.settings import load_settings
from contend.team.graph import build_team_graph
from fakes.contests import Contest, write_workspace
from fakes.quote_questions import write_documents
from fakes.terminal import Terminal
from fakes.vendors import Vendors

QUESTION = "What is the upload speed of the Plus tariff? How much is the key deposit?"
UNANSWERED = "Which vaccinations does the office dog need?"
JAPANESE = "駐車場の予約方法を教えてください。"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "papers")


@pytest.fixture
def quoting(workspace: Path, documents: Path) -> Contest:
    return Contest(workspace, documents, None)


async def test_a_run_without_a_language_model_quotes_and_scores_nothing(quoting: Contest, workspace: Path) -> None:
    outcome = await quoting.run(QUESTION, dataset="bridges")

    assert (outcome.status, outcome.exit_code, outcome.usage.requests) == ("completed", 0, 0)
    assert outcome.summary is not None
    assert [(each.team_id, each.round_number, each.evaluation_score) for each in outcome.summary.team_results] == [
        ("quotes", 1, None)
    ]
    assert outcome.report is not None
    assert len(outcome.report.key_findings) == 2
    assert not [event for event in quoting.events if isinstance(event, WinnerPicked)]
    assert [event.metrics for event in quoting.events if isinstance(event, RoundScored)] == [[]]
    assert not (workspace / "playbooks" / "bridges.json").exists()


@pytest.mark.parametrize(
    ("theme", "message"),
    [
        (QUESTION, "Note: quotes from your documents; no language model"),
        ("学生会員の月額はいくらですか？", "注記：お手元の文書からの引用です。言語モデルは使っていません"),
    ],
    ids=["en", "ja"],
)
async def test_the_report_says_that_it_quotes_and_how_to_set_a_model(
    quoting: Contest, theme: str, message: str
) -> None:
    outcome = await quoting.run(theme)

    about = (outcome.markdown or "").partition("*Generated at")[2]
    assert message in about
    assert "OPENAI_API_KEY" in about
    assert "Published unscored" not in about
    page = next(Path(file) for file in outcome.files if file.endswith(".html")).read_text("utf-8")
    assert "<blockquote>" in page
    assert "<strong>" in page


@pytest.mark.parametrize(
    ("theme", "message"),
    [(UNANSWERED, "your documents don't answer this"), (JAPANESE, "お手元の文書はこの質問に答えていません")],
    ids=["en", "ja"],
)
async def test_a_question_that_the_documents_do_not_answer_ends_with_1_and_says_so(
    quoting: Contest, theme: str, message: str
) -> None:
    outcome = await quoting.run(theme)

    assert (outcome.status, outcome.exit_code, outcome.message) == ("partial", 1, message)


async def test_a_run_is_the_same_twice(quoting: Contest) -> None:
    first, second = [await quoting.run(QUESTION) for _ in range(2)]

    assert first.report is not None
    assert second.report is not None
    assert first.report.model_copy(update={"generated_at": second.report.generated_at}) == second.report


async def test_a_run_without_documents_or_a_language_model_names_both(quoting: Contest) -> None:
    with pytest.raises(InputError, match=r"quotes from documents of your own.*--docs\), or set OPENAI_API_KEY"):
        await quoting.run(QUESTION, documents=[])


async def test_a_chat_without_documents_or_a_key_is_told_the_field_and_the_variables_and_no_flag(
    workspace: Path,
) -> None:
    services = Services(load_settings(workspace=workspace), served=True)
    state = await build_contest_graph(services).compile().ainvoke({"messages": [HumanMessage(QUESTION)]})
    await services.aclose()

    text = state["messages"][-1].text
    assert "give some as `documents`, or set OPENAI_API_KEY or OPENAI_BASE_URL" in text
    assert "--" not in text


async def test_a_team_that_needs_a_language_model_is_refused_without_one(quoting: Contest) -> None:
    with pytest.raises(InputError, match=r"team skeptic needs a language model: set one, or name no team"):
        await quoting.run(QUESTION, teams=["skeptic"])


async def test_a_workspace_without_the_team_of_quotes_has_it_all_the_same(workspace: Path, documents: Path) -> None:
    write_workspace(workspace)

    outcome = await Contest(workspace, documents, None).run(QUESTION)

    assert outcome.status == "completed"


async def test_with_a_language_model_quotes_are_given_to_who_names_their_team_alone(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    contest = Contest(workspace, documents, vendors.base_url)

    outcome = await contest.run(QUESTION, teams=["quotes"])

    assert (outcome.status, vendors.calls) == ("completed", [])
    with pytest.raises(InputError, match="quotes gives quotes and competes with nobody: name it alone"):
        await contest.run(QUESTION, teams=["quotes", "skeptic"])


async def test_team_and_research_opened_alone_quote_too(workspace: Path, documents: Path) -> None:
    services = Services(load_settings(workspace=workspace))
    context = Contest(workspace, documents, None).options()

    for graph in (build_team_graph(services).compile(), build_research_graph(services).compile()):
        final = await graph.ainvoke({"theme": QUESTION}, context=context)
        message = final["messages"][-1]
        assert isinstance(message, AIMessage)
        assert "> Key **deposit**: 50 euros" in str(message.text).replace("**Key**", "Key")

    await services.aclose()


async def test_more_documents_than_are_looked_through_whole_are_searched(workspace: Path, documents: Path) -> None:
    noise = (
        f"Note {number} of the archive tells of the weather on day {number}, and of nothing else."
        for number in range(15_000)
    )
    (documents / "archive.txt").write_text("\n\n".join(noise), "utf-8")

    outcome = await Contest(workspace, documents, None).run(QUESTION)

    assert "50 euros" in (outcome.markdown or "")
    assert "archive.txt" not in (outcome.markdown or "")


def test_the_terminal_shows_the_quotes_and_how_to_set_a_model(
    workspace: Path, documents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal(workspace, capsys.readouterr)

    result = terminal("run", QUESTION, "--docs", documents, "--thread", "quoted")
    dry = terminal("run", QUESTION, "--docs", documents, "--dry-run")
    refused = terminal("run", UNANSWERED, "--docs", documents, "--json")

    assert (result.code, result.err) == (0, "")
    assert "Completed: quotes from your documents; no language model" in result.out
    assert "Key deposit: 50 euros, returned when you leave" in result.out
    assert "Set OPENAI_API_KEY, or OPENAI_BASE_URL" in result.out
    assert "contend leaderboard" not in result.out  # there is no score
    assert "unscored" not in result.out
    assert "nothing: no model calls" in dry.out
    assert (refused.code, json.loads(refused.out.splitlines()[-1])["message"]) == (
        1,
        "your documents don't answer this",
    )


def test_a_text_is_not_scored_without_a_language_model(
    workspace: Path, documents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal(workspace, capsys.readouterr)

    result = terminal("evaluate", documents / "network.md", "--theme", QUESTION)

    assert (result.code, result.out) == (2, "")
    assert "a language model gives the scores" in result.err


@pytest.mark.parametrize(
    ("theme", "message"),
    [
        ("How much is the key deposit?", "planned 1 part of the question"),
        (QUESTION, "planned 2 parts of the question"),
        ("学生会員の月額はいくらですか？", "計画: 質問の1項目"),
    ],
    ids=["one", "two", "ja"],
)
def test_a_person_is_told_of_one_part_as_of_one(
    workspace: Path, documents: Path, capsys: pytest.CaptureFixture[str], theme: str, message: str
) -> None:
    assert message in Terminal(workspace, capsys.readouterr)("run", theme, "--docs", documents).out
