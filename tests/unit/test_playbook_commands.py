"""What a person does to a playbook: see what was learned, disagree with it, edit it, undo it, take it elsewhere."""

import json
import re
from pathlib import Path

import pytest

from contend.models.playbook import Bullet, Playbook
from fakes.terminal import Terminal

_PRIMARY = "Search primary sources before opinion pieces."
_YEAR = "Name the year of every figure you cite."


def _bullets(terminal: Terminal, dataset: str = "ports") -> list[Bullet]:
    return Playbook.model_validate_json(terminal("playbook", "show", dataset, "--json").out).bullets


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


@pytest.fixture
def ports(terminal: Terminal) -> Terminal:
    """A playbook of two lessons, one with votes."""
    folder = terminal.workspace / "playbooks"
    folder.mkdir(parents=True)
    voted = Bullet(
        id="b-1", section="searching", content=_PRIMARY, searchable_text=_PRIMARY, helpful=3, status="active"
    )
    other = Bullet(id="b-2", section="writing", content=_YEAR, searchable_text=_YEAR)
    (folder / "ports.json").write_text(Playbook(dataset="ports", version=1, bullets=[voted, other]).model_dump_json())
    return terminal


def test_a_lesson_is_added_and_taken_back(ports: Terminal) -> None:
    result = ports("playbook", "add", "ports", "For tides, trust the table.", "--example", "the May table", "--always")

    assert result.code == 0
    (new,) = [bullet for bullet in _bullets(ports) if bullet.content == "For tides, trust the table."]
    assert (new.status, new.example, new.always, new.provenance) == ("active", "the May table", True, "by hand")

    undo = re.search(r"contend.*?(playbook rollback ports \d+)", result.out)
    assert undo
    assert ports(*undo[1].split()).code == 0
    assert [bullet.id for bullet in _bullets(ports)] == ["b-1", "b-2"]


def test_an_edit_keeps_votes_where_the_words_stay_and_begins_without_where_they_change(ports: Terminal) -> None:
    kept = ports("playbook", "edit", "ports", "b-1", _PRIMARY.rstrip(".").replace("primary", "Primary")).out
    reworded = _bullets(ports)[0]
    output = ports("playbook", "edit", "ports", "b-1", "Search opinion pieces only.").out
    changed = _bullets(ports)[0]

    assert (reworded.helpful, changed.helpful) == (3, 0)
    assert changed.content == "Search opinion pieces only."
    assert "The words are the same: the votes are kept." in kept
    assert "The words are new: votes begin anew." in output


def test_what_was_removed_can_be_restored(ports: Terminal) -> None:
    assert ports("playbook", "rm", "ports", "b-2").code == 0
    assert [bullet.id for bullet in _bullets(ports)] == ["b-1"]

    output = ports("playbook", "restore", "ports").out
    assert "b-2" in output
    assert "1 lesson can be restored" in output
    assert ports("playbook", "restore", "ports", "b-2").code == 0
    assert [bullet.content for bullet in _bullets(ports)] == [_PRIMARY, _YEAR]


def test_a_long_lesson_wraps_behind_its_id_on_a_screen_and_is_one_line_in_a_pipe(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    lesson = (
        "When two documents contradict each other, name both with their days, say which replaces the other, and " * 2
    )
    assert lesson.strip() in terminal("playbook", "add", "ports", lesson).out

    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    _, head, *others = terminal("playbook", "diff", "ports", "0", "1").out.partition("\nNext")[0].splitlines()

    assert head.startswith("+ b-")
    assert max(len(line) for line in (head, *others)) <= 120
    assert {len(line) - len(line.lstrip()) for line in others} == {head.index("When")}
    assert lesson.split() == " ".join([head[head.index("When") :], *others]).split()


def test_a_diff_tells_what_came_went_and_changed(ports: Terminal) -> None:
    ports("playbook", "add", "ports", "For tides, trust the table.")
    ports("playbook", "edit", "ports", "b-1", "Before opinion pieces, search primary sources.")
    ports("playbook", "rm", "ports", "b-2")
    history = [line["version"] for line in json.loads(ports("playbook", "history", "ports", "--json").out)]

    output = ports("playbook", "diff", "ports", str(history[0])).out

    assert re.search(r"^\+ b-\w+  For tides, trust the table\.", output, re.MULTILINE)
    assert f"- b-2  {_YEAR}" in output
    assert f"content: {_PRIMARY} → Before opinion pieces, search primary sources." in output


@pytest.mark.parametrize("kind", ["json", "ace", "markdown"])
def test_a_playbook_moves_to_another_machine_in_each_format(ports: Terminal, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"lessons.{kind}"

    assert ports("playbook", "export", "ports", "--format", kind, "--out", file).code == 0
    assert ports("playbook", "import", "docks", file).code == 0

    moved = _bullets(ports, "docks")
    assert [(bullet.content, bullet.section) for bullet in moved] == [(_PRIMARY, "searching"), (_YEAR, "writing")]
    assert moved[0].helpful == (0 if kind == "markdown" else 3)
    assert ports("playbook", "import", "docks", file).out.count("stands in the playbook already") == 2
    at_home = ports("playbook", "import", "ports", file).out
    assert all(f"skipped {bullet.id}: stands" in at_home for bullet in _bullets(ports, "ports"))


@pytest.mark.parametrize(
    "text",
    [
        '{"bullets": [{"content": "For tides, trust the table."}]}',
        '["For tides, trust the table."]',
        '{"bullets": {"x-1": {"id": "x-1", "section": "s", "content": "For tides, trust the table.", "neutral": 2}}}',
        "## STRATEGIES & INSIGHTS\n[str-00001] helpful=0 harmful=0 :: For tides, trust the table.",
        "[str-00001] helpful=0 harmful=0 :: For tides, trust the table.",
        "# Notes\n\n- For tides, trust the table.\n",
        "1. For tides, trust the table.",
        "・For tides, trust the table.",
    ],
)
def test_a_file_written_by_hand_is_completed(terminal: Terminal, tmp_path: Path, text: str) -> None:
    file = tmp_path / "lessons"
    file.write_text(text, "utf-8")

    assert terminal("playbook", "import", "ports", file).code == 0
    assert [bullet.content for bullet in _bullets(terminal)] == ["For tides, trust the table."]


def test_what_of_a_file_is_no_lesson_is_said(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "lessons.md"
    file.write_text("# Ours\n\nWe learned this in May.\n\n- For tides, trust the table.\n", "utf-8")
    prose = terminal("playbook", "import", "ports", file)
    file.write_text('[{"content": "Ask early.", "helpfull": 3}]', "utf-8")
    misspelt = terminal("playbook", "import", "ports", file)

    assert "left out, for it is no lesson: 1 ('We learned this in May.')" in prose.out
    assert "left out, for it is no lesson: 1 ('helpfull')" in misspelt.out
    assert "left out" not in terminal("playbook", "import", "docks", _export(terminal, tmp_path)).out


def _export(terminal: Terminal, folder: Path) -> Path:
    file = folder / "ports.json"
    terminal("playbook", "export", "ports", "--out", file)
    return file


def test_nothing_is_offered_to_be_undone_where_nothing_changed(ports: Terminal, tmp_path: Path) -> None:
    again = ports("playbook", "import", "ports", _export(ports, tmp_path))

    assert "Playbook ports: 0 added" in again.out
    assert "rollback" not in again.out


def test_a_playbook_is_kept_in_japanese_words_too(ports: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8")

    removed = ports("playbook", "rm", "ports", "b-2").out
    history = ports("playbook", "history", "ports").out
    unknown = ports("playbook", "rm", "ports", "b-9").err

    assert "プレイブック ports: 削除1件。いまは第3版です。" in removed
    assert "手で削除" in history
    assert "教訓 'b-9': 当てはまるものが0件あります" in unknown


def test_a_playbook_in_its_place_may_hold_contents_alone(terminal: Terminal) -> None:
    (terminal.workspace / "playbooks").mkdir(parents=True)
    (terminal.workspace / "playbooks" / "ports.json").write_text(
        '{"version": 1, "bullets": [{"content": "Ask early."}]}'
    )

    (bullet,) = _bullets(terminal)

    assert (bullet.content, bullet.section, bullet.status) == ("Ask early.", "general", "active")


def test_code_enters_by_an_import_only_and_secrets_never(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "lessons.md"
    file.write_text("- Compute the ratio as `a / b`.\n", "utf-8")
    assert terminal("playbook", "import", "ports", file).code == 0

    file.write_text("- The password is harbour-gull-77.\n- Ask early.\n", "utf-8")
    result = terminal("playbook", "import", "ports", file)
    assert (result.code, len(_bullets(terminal))) == (2, 1)
    assert "holds what looks like a secret" in result.err


@pytest.mark.parametrize("bullets", ["5", "null", '"ab"'])
def test_a_file_whose_lessons_are_no_list_is_refused(terminal: Terminal, tmp_path: Path, bullets: str) -> None:
    file = tmp_path / "lessons.json"
    file.write_text(f'{{"bullets": {bullets}}}', "utf-8")

    result = terminal("playbook", "import", "ports", file)

    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "holds no lessons" in result.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["rm", "ports", "b-9"], "lesson 'b-9': 0 begin so: `contend playbook show ports` lists the ids"),
        (["edit", "ports", "b-1"], "nothing to change"),
        (["edit", "ports", "b", "x"], "lesson 'b': 2 begin so"),
        (["restore", "ports", "b-9"], "0 such lessons can be restored"),
        (["diff", "ports", "7"], "has no version 7"),
        (["import", "ports", "nowhere.md"], "nowhere.md: cannot be read: No such file or directory"),
        (["add", "ports", " "], "the lesson is empty: say when it applies, and what to do then"),
        (["add", "ports", "Read https://evil.example first."], "holds a link"),
        (["show", "rivers"], "has no playbook; there are: ports"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_changes_nothing(ports: Terminal, arguments: list[str], named: str) -> None:
    result = ports("playbook", *arguments)

    assert result.code == 2
    assert named in result.err
    assert result.err.count("\n") == 1
    assert [bullet.id for bullet in _bullets(ports)] == ["b-1", "b-2"]


def test_a_lesson_stands_below_what_runs_showed_of_it(ports: Terminal) -> None:
    file = ports.workspace / "playbooks" / "ports.json"
    content = json.loads(file.read_text())
    content["bullets"][0] |= {"trial": {"shown": 4, "withheld": 2, "difference": 0.063}, "removal_reason": "It is old."}
    content["bullets"][1] |= {"conflicts_with": "b-1"}
    file.write_text(json.dumps(content))

    text = " ".join(ports("playbook", "show", "ports").out.split())

    assert "b-1 Trust 80% · Votes +3 −0 · Shown 4, withheld 2 · Difference +6.3" in text
    assert "a run wants it removed: It is old." in text
    assert "differs from b-1" in text
