"""How a question and its documents may be given on the command line, and what is said of what is meant otherwise."""

import io
from pathlib import Path

import pytest

from fakes.terminal import Terminal

THEME = "Why were crossings of the Skarv cancelled in winter?"


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


def give(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "with a byte order mark"])
def test_a_question_is_read_from_standard_input_or_a_file(
    terminal: Terminal, documents: Path, monkeypatch: pytest.MonkeyPatch, mark: bytes
) -> None:
    content = mark + f"{THEME}\n".encode()
    Path("question.txt").write_bytes(content)
    give(content, monkeypatch)

    for given in ("-", "@question.txt"):
        result = terminal("run", given, "--docs", documents, "--dry-run")
        assert (result.code, result.err) == (0, "")
        assert result.out.startswith(THEME)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("-", "-: not UTF-8 text"),
        ("@latin.txt", "@latin.txt: not UTF-8 text"),
        ("@nowhere.txt", "@nowhere.txt: cannot be read: No such file"),
    ],
)
def test_a_question_that_cannot_be_read_is_refused_in_one_line(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, given: str, words: str
) -> None:
    Path("latin.txt").write_bytes("Wie lädt die Fähre?".encode("latin-1"))
    give(Path("latin.txt").read_bytes(), monkeypatch)

    result = terminal("run", given)

    assert (result.code, result.err.count("\n")) == (2, 1)
    assert words in result.err


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["run", *THEME.split()], "put the question in quotes"),
        (["playbook", "search", "default", *THEME.split()], "put the question in quotes"),
        (["playbook", "add", "default", "Name", "the", "year."], "put the lesson in quotes"),
        (["run", THEME, "--docs", "a.md", "b.md"], "name the folder, or each file by a --docs of its own"),
        (["run", THEME, "--docs", "*.md"], "name the folder, or each file by a --docs of its own"),
        (["run", THEME, "--docs", "https://example.org/a"], "save the page as a file and name that"),
    ],
)
def test_what_was_meant_otherwise_is_told_with_what_to_do(
    terminal: Terminal, arguments: list[str], remedy: str
) -> None:
    for name in ("a.md", "b.md"):
        Path(name).write_text("# On ferries", "utf-8")

    result = terminal(*arguments)

    assert (result.code, result.err.count("\n")) == (2, 1)
    assert remedy in result.err


def test_a_document_whose_name_looks_like_a_pattern_is_read(terminal: Terminal) -> None:
    Path("notes [2026].md").write_text(f"# Skarv\n\n{'Crossings were cancelled because of ice. ' * 20}", "utf-8")

    assert terminal("run", THEME, "--docs", "notes [2026].md", "--dry-run").code == 0
