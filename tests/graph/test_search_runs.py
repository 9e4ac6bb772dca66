"""Runs without a language model: a search of the user's documents, no contest."""

import asyncio
import json
import re
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage

import contend
from contend.contest.graph import build_contest_graph
from contend.errors import InputError
from contend.models.events import RoundScored, WinnerPicked
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.settings import load_settings
from contend.team.graph import build_team_graph
from fakes.contests import Contest, write_workspace
from fakes.search_questions import read_questions, write_documents
from fakes.terminal import Terminal
from fakes.vendors import Vendors

QUESTION = "What is the upload speed of the Plus tariff? How much is the key deposit?"
NOWHERE = "Xylophone qqq?"
JAPANESE = "駱駝？"
CHINESE = "学生会员每月的费用是多少？退会的期限是什么时候？"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "papers")


@pytest.fixture
def searching(workspace: Path, documents: Path) -> Contest:
    return Contest(workspace, documents, None)


async def test_a_run_without_a_language_model_searches_and_scores_nothing(searching: Contest, workspace: Path) -> None:
    outcome = await searching.run(QUESTION, dataset="bridges")

    assert (outcome.status, outcome.exit_code, outcome.usage.requests) == ("completed", 0, 0)
    assert outcome.summary is not None
    assert [(each.team_id, each.round_number, each.evaluation_score) for each in outcome.summary.team_results] == [
        ("search", 1, None)
    ]
    assert outcome.report is not None
    assert len(outcome.report.key_findings) == 2
    assert not [event for event in searching.events if isinstance(event, WinnerPicked)]
    assert [event.metrics for event in searching.events if isinstance(event, RoundScored)] == [[]]
    assert not (workspace / "playbooks" / "bridges.json").exists()


@pytest.mark.parametrize(
    ("theme", "message"),
    [
        (QUESTION, "Note: a search of your documents; no language model"),
        ("学生会員の月額はいくらですか？", "注記：お手元の文書を検索した結果です。言語モデルは使っていません"),
    ],
    ids=["en", "ja"],
)
async def test_the_report_says_that_nobody_judged_it_and_how_to_set_a_model(
    searching: Contest, theme: str, message: str
) -> None:
    outcome = await searching.run(theme)

    text = outcome.markdown or ""
    about = text.partition("*Generated at")[2]
    assert message in about
    assert "OPENAI_API_KEY" in about
    assert ("Nobody has judged" in text) or ("だれも判定していません" in text)
    assert "Published unscored" not in about
    page = next(Path(file) for file in outcome.files if file.endswith(".html")).read_text("utf-8")
    assert "<blockquote>" in page
    assert "<strong>" in page


@pytest.mark.parametrize(
    ("theme", "message"),
    [
        (NOWHERE, "no passage of your documents has a word of the question"),
        (JAPANESE, "no passage of your documents has a word of the question"),
        ("ラクダはいますか？", "お手元の文書に、質問の言葉を含む箇所はありません"),
    ],
    ids=["en", "kanji", "ja"],
)
async def test_a_question_without_a_passage_ends_with_1_and_says_so(
    searching: Contest, theme: str, message: str
) -> None:
    outcome = await searching.run(theme)

    assert (outcome.status, outcome.exit_code, outcome.message) == ("partial", 1, message)


async def test_a_run_is_the_same_twice(searching: Contest) -> None:
    first, second = [await searching.run(QUESTION) for _ in range(2)]

    assert first.report is not None
    assert second.report is not None
    assert first.report.model_copy(update={"generated_at": second.report.generated_at}) == second.report


async def test_a_run_without_documents_or_a_language_model_names_both(searching: Contest) -> None:
    with pytest.raises(InputError, match=r"searches documents of your own.*--docs\), or set OPENAI_API_KEY"):
        await searching.run(QUESTION, documents=[])


async def test_a_chat_without_documents_or_a_key_is_told_the_field_and_the_variables_and_no_flag(
    workspace: Path,
) -> None:
    services = Services(load_settings(workspace=workspace), served=True)
    state = await build_contest_graph(services).compile().ainvoke({"messages": [HumanMessage(QUESTION)]})
    await services.aclose()

    text = state["messages"][-1].text
    assert "give some as `documents`, or set OPENAI_API_KEY or OPENAI_BASE_URL" in text
    assert "--" not in text


async def test_a_team_that_needs_a_language_model_is_refused_without_one(searching: Contest) -> None:
    with pytest.raises(InputError, match=r"team skeptic needs a language model: set one, or name no team"):
        await searching.run(QUESTION, teams=["skeptic"])


async def test_a_workspace_without_the_team_that_searches_has_it_all_the_same(workspace: Path, documents: Path) -> None:
    write_workspace(workspace)

    outcome = await Contest(workspace, documents, None).run(QUESTION)

    assert outcome.status == "completed"


async def test_with_a_language_model_a_search_is_for_who_names_its_team_alone(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    contest = Contest(workspace, documents, vendors.base_url)

    outcome = await contest.run(QUESTION, teams=["search"])

    assert (outcome.status, vendors.calls) == ("completed", [])
    with pytest.raises(InputError, match="search only searches and competes with nobody: name it alone"):
        await contest.run(QUESTION, teams=["search", "skeptic"])


async def test_team_and_research_opened_alone_search_too(workspace: Path, documents: Path) -> None:
    services = Services(load_settings(workspace=workspace))
    context = Contest(workspace, documents, None).options()

    for graph in (build_team_graph(services).compile(), build_research_graph(services).compile()):
        final = await graph.ainvoke({"theme": QUESTION}, context=context)
        message = final["messages"][-1]
        assert isinstance(message, AIMessage)
        assert "> Key **deposit**: 50 euros" in str(message.text).replace("**Key**", "Key")

    await services.aclose()


async def test_a_passage_is_found_among_many_others(workspace: Path, documents: Path) -> None:
    noise = (
        f"Note {number} of the archive tells of the weather on day {number}, and of nothing else."
        for number in range(15_000)
    )
    (documents / "archive.txt").write_text("\n\n".join(noise), "utf-8")

    outcome = await Contest(workspace, documents, None).run(QUESTION)

    assert "50 euros" in (outcome.markdown or "")


def test_the_terminal_shows_the_passages_and_how_to_set_a_model(
    workspace: Path, documents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal(workspace, capsys.readouterr)

    result = terminal("run", QUESTION, "--docs", documents, "--thread", "searched")
    verified = terminal("verify", next((workspace / "results").rglob("report.json")))
    dry = terminal("run", QUESTION, "--docs", documents, "--dry-run")
    refused = terminal("run", NOWHERE, "--docs", documents, "--json")

    assert (result.code, result.err) == (0, "")
    assert re.search(r"round 1: found \d passages", result.out)
    assert "Completed: a search of your documents; no language model" in result.out
    assert "Key deposit: 50 euros, returned when you leave" in result.out
    assert "Set OPENAI_API_KEY, or OPENAI_BASE_URL" in result.out
    assert "contend leaderboard" not in result.out  # there is no score
    assert "unscored" not in result.out
    assert (verified.code, verified.out.strip()) == (0, "holds: 5 statements")
    assert "nothing: no model calls" in dry.out
    assert (refused.code, json.loads(refused.out.splitlines()[-1])["message"]) == (
        1,
        "no passage of your documents has a word of the question",
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


async def test_of_every_question_the_passages_shown_hold_the_facts(searching: Contest) -> None:
    lost: list[str] = []
    for case in read_questions():
        outcome = await searching.run(case.question)
        parts = re.split(r"^### ", (outcome.markdown or "").replace("*", ""), flags=re.MULTILINE)[1:]
        pairs = zip(parts, case.parts, strict=False)
        lost += [fact for part, facts in pairs for fact in facts if fact not in part]

    assert lost == []


_KANA = re.compile("[\u3041-\u30ff]")


@pytest.mark.parametrize("set_to_a_model", [True, False], ids=["model", "search"])
async def test_a_question_in_chinese_is_shown_no_japanese(
    workspace: Path, tmp_path: Path, vendors: Vendors, set_to_a_model: bool
) -> None:
    folder = tmp_path / "chinese"
    folder.mkdir()
    rules = "学生会员每月的费用是90元，从入会之日起按月收取。退会的期限是每月二十日，过期则顺延到下个月。"
    (folder / "guize.md").write_text(f"# 会员规则\n\n{rules}\n", "utf-8")
    if set_to_a_model:
        write_workspace(workspace)

    outcome = await Contest(workspace, folder, vendors.base_url if set_to_a_model else None).run(CHINESE)

    assert (outcome.status, outcome.exit_code) == ("completed", 0)
    assert "90元" in (outcome.markdown or "")
    files = [Path(file) for file in outcome.files]
    assert [file for file in files if _KANA.search(file.read_text("utf-8"))] == []


def test_the_terminal_speaks_no_japanese_to_a_question_in_chinese(
    workspace: Path, documents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (documents / "guize.md").write_text("学生会员每月的费用是90元。", "utf-8")

    output = Terminal(workspace, capsys.readouterr)("run", CHINESE, "--docs", documents / "guize.md").out

    assert "90元" in output
    assert not _KANA.search(output)


async def test_of_two_editions_the_newest_stands_first_and_the_other_is_marked(
    searching: Contest, documents: Path
) -> None:
    (documents / "lockers-2023.md").write_text("# Lockers 2023\n\nA giraffe locker costs 7 euros.\n", "utf-8")
    (documents / "lockers-2025.md").write_text("# Lockers 2025\n\nThe giraffe locker: 9 euros.\n", "utf-8")

    text = (await searching.run("What does a giraffe locker cost?")).markdown or ""

    assert text.index("— lockers-2025.md") < text.index("— lockers-2023.md")
    assert "**superseded, by its name or day: lockers-2025.md is newer**" in text


async def test_a_workspace_of_an_earlier_release_calls_its_search_quotes(workspace: Path, documents: Path) -> None:
    write_workspace(workspace, ("quotes",))
    team = workspace / "config" / "teams" / "quotes.toml"
    team.write_text('team_id = "quotes"\nname = "Quotes"\nkind = "quotes"\nsources = ["local"]\n', "utf-8")

    outcome = await Contest(workspace, documents, None).run(QUESTION)

    assert outcome.summary is not None
    assert (outcome.status, outcome.summary.best_team_id) == ("completed", "quotes")


async def test_a_run_that_an_earlier_release_stored_as_quotes_is_read(
    workspace: Path, documents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contest = Contest(workspace, documents, None)
    outcome = await contest.run(QUESTION, thread_id="old")
    assert _rename_kind(workspace / "checkpoints.sqlite")

    services = contest.services()
    status = await contend.status("old", services=services)
    await services.aclose()

    assert (status.status, status.report) == ("completed", outcome.report)
    shown = await asyncio.to_thread(Terminal(workspace, capsys.readouterr), "report", "old")
    assert (shown.code, shown.out.strip()) == (0, (outcome.markdown or "").strip())


def _rename_kind(file: Path) -> int:
    """Write the kind of each team as earlier releases named it; how many places were changed."""
    count = 0
    with closing(sqlite3.connect(file)) as connection, connection:
        for table, column in (("checkpoints", "checkpoint"), ("writes", "value")):
            for row, packed in connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall():  # noqa: S608
                plain = zlib.decompress(packed) if packed[:1] == b"x" else packed
                count += plain.count(b"kind\xa6search")
                former = zlib.compress(plain.replace(b"kind\xa6search", b"kind\xa6quotes"))
                new = former if packed[:1] == b"x" else plain
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))  # noqa: S608
    return count
