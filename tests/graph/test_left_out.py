"""Documents of all kinds in one run; those that cannot be read are told, and the run goes on without them."""

import json
import re
import shutil
from pathlib import Path

import pytest

from contend.app import dry_run
from contend.models.events import DocumentsLeftOut
from fakes.contests import Contest, write_workspace
from fakes.files import make_docx, make_pdf
from fakes.terminal import Terminal
from fakes.vendors import Vendors

THEME = "What does the command resume read?"


@pytest.fixture
def contest(workspace: Path, documents: Path) -> Contest:
    return Contest(workspace, documents, None)


NAMES = ("notes.md", "page.html", "paper.pdf", "letter.docx", "table.csv")
ENGLISH = (
    "Wind sheds vortices from the cables, and the bridge hums at 41 hertz.",
    "Engineers heard the railing of the bridge hum at 42 hertz in a storm.",
    "A gust of wind makes the deck of the bridge sound at 43 hertz.",
    "Neighbours wrote that the bridge in the wind sings at 44 hertz every night.",
    "At the northern tower the wind was strong, and the bridge hummed at 45 hertz.",
)
JAPANESE = (
    "ケーブルから渦が放出されると、橋は風の中で41ヘルツの音を出します。",
    "嵐の日に、技術者は橋の手すりが42ヘルツで鳴るのを聞きました。",
    "突風が床版に当たると、橋の全体が43ヘルツの低い音を立てます。",
    "近くの住民は、風のある夜に橋が44ヘルツで歌うと手紙に書いています。",
    "北の塔では風が強く、橋から45ヘルツの音が記録されました。",
)


def _all_kinds(folder: Path, sentences: tuple[str, ...]) -> None:
    """A file of each kind, each with a sentence of its own, and one that is broken."""
    folder.mkdir()
    contents = (
        f"# Notes\n\n{sentences[0]}\n".encode(),
        f"<html><head><title>Page</title></head><body><p>{sentences[1]}</p></body></html>".encode(),
        make_pdf([["# Paper", sentences[2]]], title="Paper"),
        make_docx(("Normal", sentences[3]), title="Letter"),
        f'remark\n"{sentences[4]}"\n'.encode(),
    )
    for name, content in zip(NAMES, contents, strict=True):
        (folder / name).write_bytes(content)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")


@pytest.mark.parametrize(
    ("theme", "sentences"),
    [
        ("At how many hertz does the bridge hum in the wind?", ENGLISH),
        ("橋は風の中で何ヘルツの音を出しますか？", JAPANESE),
    ],
    ids=["en", "ja"],
)
def test_documents_of_every_kind_serve_one_run_and_a_broken_one_is_named(
    workspace: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    vendors: Vendors,
    monkeypatch: pytest.MonkeyPatch,
    *,
    theme: str,
    sentences: tuple[str, ...],
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    _all_kinds(tmp_path / "mixed", sentences)
    terminal = Terminal(workspace, capsys.readouterr)

    ran = terminal("run", theme, "--docs", tmp_path / "mixed", "--source", "local", "--thread", "mixed")

    report, about = terminal("report", "mixed").out.split("*Generated at: ")
    assert ran.code == 0, ran.out
    assert [sentence for sentence in sentences[:4] if sentence.rstrip(".。") not in report] == []
    assert [name for name in NAMES if name not in report.rpartition("\n## ")[2]] == []
    assert "broken.pdf" in about


def test_a_run_on_hundreds_of_documents_tells_how_far_their_reading_is(
    documents: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(300):
        (documents / f"{number}.txt").write_text(f"Note {number} is short and about nothing else.", "utf-8")
    terminal = Terminal(workspace, capsys.readouterr)
    options = ("run", THEME, "--docs", documents, "--source", "local", "--no-learn", "--rounds", "1")

    events = [json.loads(line) for line in terminal(*options, "--json").out.splitlines()]
    # What was read is kept in a workspace, and not read again.
    lines = Terminal(workspace.with_name("another"), capsys.readouterr)(*options).out

    progress = [(event["read"], event["files"]) for event in events if event["type"] == "documents_read"]
    assert progress == [*((read, 304) for read in range(25, 304, 25)), (304, 304)]
    assert re.findall(r"contend +read (\d+) of 304 documents\n", lines) == [str(read) for read, _ in progress]


@pytest.mark.parametrize(
    ("theme", "notice", "music", "pdf"),
    [
        (
            THEME,
            "left out of the documents, and no part of the answer: ",
            "tune4.mp3 and 2 more (of no known kind: read are",
            "broken.pdf (broken, or no PDF)",
        ),
        (
            "コマンド resume は何を読みますか？",
            "次の文書は検索できず、回答に含まれません: ",
            "tune4.mp3 ほか2件（読めない種類。読めるのは",
            "broken.pdf（壊れているか、PDFではない）",
        ),
    ],
    ids=["en", "ja"],
)
def test_a_person_is_told_once_by_name_which_files_are_no_part_of_the_answer(
    workspace: Path,
    documents: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    theme: str,
    notice: str,
    music: str,
    pdf: str,
) -> None:
    (documents / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    for number in range(7):
        (documents / f"tune{number}.mp3").write_bytes(b"ID3")

    lines = Terminal(workspace, capsys.readouterr)("run", theme, "--docs", documents).out

    (line,) = (each for each in lines.splitlines() if notice in each)
    assert music in line
    assert pdf in line


async def test_of_several_teams_the_first_alone_says_which_files_are_left_out(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    write_workspace(workspace)
    (documents / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    contest = Contest(workspace, documents, vendors.base_url)

    await contest.run(THEME, max_rounds=1, learn=False, synthesis=False)

    (left_out,) = [event for event in contest.events if isinstance(event, DocumentsLeftOut)]
    assert left_out.files == ["broken.pdf (broken, or no PDF)"]


async def test_the_report_names_a_broken_pdf_and_the_reason(contest: Contest, documents: Path) -> None:
    (documents / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")

    outcome = await contest.run(THEME)

    assert outcome.status == "completed"
    about = (outcome.markdown or "").partition("## About this run")[2]
    assert "- Left out of the documents: broken.pdf (broken, or no PDF)" in about


async def test_a_report_on_documents_that_could_all_be_read_says_nothing_of_it(contest: Contest) -> None:
    outcome = await contest.run(THEME)

    assert "Left out" not in (outcome.markdown or "")


async def test_a_japanese_report_names_them_in_japanese(contest: Contest, documents: Path) -> None:
    (documents / "壊れた.pdf").write_bytes(b"%PDF-1.7 and no more")

    outcome = await contest.run("強制終了した後、再開はどのように動きますか？")

    assert "検索しなかった文書：壊れた.pdf" in (outcome.markdown or "")


async def test_a_dry_run_names_what_a_listing_tells(contest: Contest, documents: Path) -> None:
    (documents / "tune.mp3").write_bytes(b"ID3")
    services = contest.services()

    dry = await dry_run(THEME, options=contest.options(), services=services)

    await services.aclose()
    (line,) = dry.opening.left_out
    assert line.startswith("tune.mp3 (of no known kind")


async def test_documents_that_are_gone_when_a_run_goes_on_are_told_and_end_nothing(
    contest: Contest, documents: Path
) -> None:
    services = contest.services()
    shutil.rmtree(documents)

    lines = await services.sources.left_out([str(documents)], read=True)

    await services.aclose()
    assert lines == [f"documents: {documents} does not exist: give a file or a folder that does"]
