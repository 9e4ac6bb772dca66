"""Messages in Japanese, where the run's language or the locale is; ids, options, commands and JSON stay."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

import contend.cli
from contend.cli import japanese
from contend.cli.ui import STATUS, STOP_REASONS
from contend.models.options import Approval
from contend.models.task import RunStatus, TeamStage
from contend.text import detect_language
from fakes.terminal import Terminal
from fakes.vendors import Vendors

ROOM = Path(contend.cli.__file__).parent
QUESTION = "How does resume go on after a crash?"
JAPANESE_QUESTION = "強制終了の後、実行はどのように再開されますか"


@pytest.fixture
def terminal(
    workspace: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    return Terminal(workspace, capsys.readouterr)


@pytest.fixture
def japanese_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")


def _run(terminal: Terminal, theme: str, documents: Path, *more: str) -> str:
    options = ("--docs", documents, "--source", "local", "--depth", "standard", "--rounds", "1", "--thread", "first")
    result = terminal("run", theme, *options, *more)
    assert result.code == 0
    return result.out


HEADLINE = r"^完了 · 公開: 編集者の統合レポート \d+\.\d/100、最良のチーム \w+ \d+\.\d/100$"


def test_a_japanese_run_is_told_in_japanese_from_its_first_line_to_its_last(
    terminal: Terminal, documents: Path
) -> None:
    out = _run(terminal, JAPANESE_QUESTION, documents)

    assert "第1ラウンド: 開始" in out
    assert "第1ラウンド: 終了: 全ラウンドを終えた\n" in out
    assert re.search(HEADLINE, out, re.MULTILINE)
    assert "次は  contend report first" in out
    assert out.splitlines()[-1].startswith("レポート  contend-results/強制終了の後")
    status, board = terminal("status", "first").out, terminal("leaderboard", "first").out
    assert all(re.search(HEADLINE.removeprefix("^完了 · "), each, re.MULTILINE) for each in (status, board))
    assert "全ラウンドを終えた" in status
    assert "第1ラウンド" in board


def test_an_english_run_is_told_in_english_and_after_a_japanese_one_too(terminal: Terminal, documents: Path) -> None:
    terminal("run", JAPANESE_QUESTION, "--docs", documents, "--dry-run")

    assert not re.search("[ぁ-んァ-ヶ]", terminal("run", QUESTION, "--docs", documents, "--dry-run").out)


def test_the_language_that_is_chosen_counts_not_the_questions(terminal: Terminal, documents: Path) -> None:
    japanese = terminal("run", QUESTION, "--docs", documents, "--dry-run", "--language", "ja").out
    english = terminal("run", JAPANESE_QUESTION, "--docs", documents, "--dry-run", "--language", "en").out

    assert "試し実行: 何も費やさず" in japanese
    assert "審査員が執筆と同じモデル（" in japanese
    assert "Dry run: nothing was spent" in english
    assert "the judges use the writer's model (" in english


@pytest.mark.usefixtures("japanese_locale")
def test_a_japanese_locale_speaks_japanese_whatever_the_run_does(terminal: Terminal, documents: Path) -> None:
    assert "完了 · 公開: " in _run(terminal, QUESTION, documents)
    assert "スレッド" in terminal("runs").out
    doctor = terminal("doctor").out
    assert "準備" in doctor
    assert "審査員が執筆と同じモデル（" in doctor
    assert terminal("delete", "first").out.startswith("スレッド first を削除しました")


@pytest.mark.usefixtures("japanese_locale")
def test_refusals_are_japanese_with_field_value_and_remedy(terminal: Terminal, documents: Path, tmp_path: Path) -> None:
    rounds = terminal("run", QUESTION, "--docs", documents, "--rounds", "many")
    wishes = terminal("run", QUESTION, "--instructions", tmp_path / "missing.txt")
    option = terminal("run", QUESTION, "--colour", "red")
    deletion = terminal("delete", "nothing")

    assert (rounds.code, wishes.code, option.code, deletion.code) == (2, 2, 2, 2)
    assert deletion.err.startswith("error: スレッド 'nothing' の実行は")
    assert rounds.err == "error: --rounds 'many': 1:3 のような MIN:MAX か、一つの数を指定してください\n"
    assert wishes.err.startswith(f"error: --instructions {tmp_path / 'missing.txt'}: 読めません")
    assert option.err.endswith("`contend run --help` を見てください。\n")


@pytest.mark.usefixtures("japanese_locale")
def test_json_is_the_same_in_every_language(terminal: Terminal, documents: Path) -> None:
    lines = _run(terminal, JAPANESE_QUESTION, documents, "--json").splitlines()
    checks = json.loads(terminal("doctor", "--json").out)["checks"]
    result = terminal("status", "nothing", "--json")

    assert json.loads(lines[-1])["message"] == "all teams delivered"
    assert not any(re.search("[ぁ-んァ-ヶ]", check["said"] + check["remedy"]) for check in checks)
    assert result.err.startswith("error: thread 'nothing' has no run")


def test_the_locale_is_read_as_other_programs_read_it(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(**locale: str) -> str:
        for name in ("LANG", "LC_MESSAGES", "LC_ALL"):
            monkeypatch.setenv(name, locale.get(name, ""))
        return terminal("report", "latest").err

    assert "実行はまだありません" in said(LANG="ja_JP.UTF-8")
    assert "実行はまだありません" in said(LANG="en_US.UTF-8", LC_MESSAGES="ja_JP.UTF-8")
    assert "no runs yet" in said(LANG="ja_JP.UTF-8", LC_ALL="C.UTF-8")


# The table of words


def _messages() -> Iterator[str]:
    """Each message that the room translates where it stands."""
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
                    yield from _messages_of(name, args)


def _messages_of(name: str, args: list[ast.expr]) -> Iterator[str]:
    match name, args:
        case "tr", [message] if not isinstance(message, ast.JoinedStr):
            yield from _texts(message)
        case "say" | "note" | "input_error", [ast.Constant() | ast.IfExp() as message]:
            yield from _texts(message)
        case "plain_table", names:
            yield from (name for each in names for name in _texts(each) if name.isalpha())
        case "counted", [_, ast.Constant(value=str(thing))]:
            yield f"{{count}} {thing}"


def _texts(tree: ast.AST) -> Iterator[str]:
    nodes = ast.walk(tree)
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def test_every_message_of_the_command_line_has_its_japanese() -> None:
    messages = set(_messages())

    states = {*STATUS.values(), *STOP_REASONS.values(), *get_args(TeamStage), *get_args(RunStatus), *get_args(Approval)}

    assert len(messages) > 150
    assert (messages | states) - japanese().keys() == set()


def test_every_japanese_message_belongs_to_one_that_is_said() -> None:
    files = ROOM.parent.rglob("*.py")
    texts = {text for path in files for text in _texts(ast.parse(path.read_text("utf-8")))}

    assert japanese().keys() - texts - set(_messages()) == set()


_SAME = (r"\{\w+\}", r"`[^`]+`", r"(?<!\w)--[a-z-]+", r"\b[A-Z][A-Z_]{3,}\b", r"\[\w+\]")
"""Values, commands, options, variables and placeholders."""


def test_both_languages_have_the_same_values_commands_and_options() -> None:
    for message, translated in japanese().items():
        assert detect_language(translated) == "ja" or not re.search("[a-z]{3}", re.sub(r"\{\w+\}", "", translated))
        for same in _SAME:
            assert sorted(re.findall(same, message)) == sorted(re.findall(same, translated)), message
        names = {name for _, name, _, _ in Formatter().parse(message) if name}
        assert translated.format(**dict.fromkeys(names, "x"))
