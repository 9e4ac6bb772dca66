"""PDF, Word documents and tables of scores, as who opens them finds them."""

import csv
import io
import re
import socket
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import pypdfium2
import pytest
from docx import Document

from contend.errors import ContendError, InputError
from contend.exports import scores_csv, statements_csv, to_docx, to_pdf
from contend.models.record import Language
from contend.models.research import Passage
from contend.models.round import LeaderboardEntry, RoundRow, rank_entries
from contend.models.task import ExecutionRow, RunUsage
from contend.report import LedgerPassage, LedgerStatement, PublishedLine, PublishedMark, PublishedReport, to_html
from contend.report.ledger import LedgerCheck
from contend.stored_runs import StoredRun
from fakes.printing import require_pdf
from fakes.reports import FILLER, NOON, finished_report, run_head

TABLE = "| Deck | Depth |\n| :-- | --: |\n| Slats `x[i]` | 1,250 ⚠ [2] |\n\n1. First\n   - inner\n"


def page(language: Language = "en", **parts: object) -> bytes:
    report = finished_report(language)
    analysis = f"{report.detailed_analysis}\n\n{TABLE}"
    behind = Passage(id="1", url="u", title="t", heading="p. 3", text="Behind the mark.")
    lines = [PublishedLine("", "", [PublishedMark(1, [behind])])]
    report = report.model_copy(update={"detailed_analysis": analysis, **parts})
    return to_html(report, run_head(), language, lines=lines).encode()


@cache
def pdf(source: bytes) -> bytes:
    """Each is made in a process of its own, and tests look at the same one."""
    require_pdf()
    return to_pdf(source)


def pdf_text(content: bytes) -> str:
    document = pypdfium2.PdfDocument(content)
    return "\n".join(sheet.get_textpage().get_text_bounded() for sheet in document)


def word_text(word: bytes) -> str:
    document = Document(io.BytesIO(word))
    cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
    return "\n".join([*(paragraph.text for paragraph in document.paragraphs), *cells])


def parts_of(word: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(word)) as archive:
        return {name: archive.read(name).decode(errors="replace") for name in archive.namelist()}


@pytest.mark.parametrize("make", [to_docx, pdf])
@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ["Why do bridges hum?", "Executive Summary", "Depth", "1,250 ⚠", "x[i]", "inner", "damping.md",
                "partial", "Leaderboard", "Citations to check"]),
        ("ja", ["橋はなぜ鳴るのか。", "円柱を過ぎる風は", "一部のみ完成", "この実行について"]),
    ],
)  # fmt: skip
def test_a_report_has_all_its_parts_in_either_format_and_language(
    make: Callable[[bytes], bytes], language: Language, texts: list[str]
) -> None:
    text_of = pdf_text if make is pdf else word_text

    text = text_of(make(page(language)))

    # A line of a PDF may end anywhere.
    assert [part for part in texts if part.replace(" ", "") not in re.sub(r"\s", "", text)] == []
    assert "Behind the mark." not in text
    assert text.count(texts[0]) == 1


def test_each_mark_of_a_pdf_leads_to_its_source_and_nothing_leads_out_but_the_sources() -> None:
    document = pdf(page())

    links = re.findall(rb"/URI \(([^)]*)\)", _uncompress(document))
    assert {link.decode() for link in links} == {
        "https://a.example/page", "file:///home/ann/My%20notes/damping.md",
    }  # fmt: skip
    assert b"source-1" in _uncompress(document)


def test_no_line_of_a_pdf_ends_within_a_mark_or_early_where_its_mark_does_not_fit() -> None:
    ends = {"[1]": "[1].", "[1][3]": "[1,3].", "[1][2][3]": "[1–3]."}
    widths = [(words, letters) for words in (16, 17) for letters in range(1, 14, 2)]
    findings = [f"{'hum ' * words}{'x' * letters}{marks}." for marks in ends for words, letters in widths]

    lines = [line.strip() for line in pdf_text(pdf(page(key_findings=findings))).splitlines()]

    for end in ends.values():
        assert any(re.fullmatch(rf"x+{re.escape(end)}", line) for line in lines)  # one did not fit
        assert len([line for line in lines if line.endswith(f"x{end}")]) == len(widths)
    assert [line for line in lines if line in {"hum", "hum hum"}] == []


def _uncompress(content: bytes) -> bytes:
    texts = [content]
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL):
        with suppress(zlib.error):
            texts.append(zlib.decompress(stream))
    return b"\n".join(texts)


def test_each_mark_of_a_word_document_leads_to_its_source_and_lists_and_headings_are_words_own() -> None:
    word = to_docx(page())

    xml = parts_of(word)["word/document.xml"]
    assert 'w:anchor="source-1"' in xml
    assert 'w:name="source-1"' in xml
    document = Document(io.BytesIO(word))
    assert {"Title", "Heading 1", "Heading 2"} <= {
        paragraph.style.name for paragraph in document.paragraphs if paragraph.style
    }
    assert "<w:numPr>" in xml
    assert len(document.tables) == 2


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.mark.parametrize("make", [to_docx, pdf])
def test_nothing_is_fetched_for_a_format_and_what_looks_like_markup_stays_text(
    make: Callable[[bytes], bytes], listener: socket.socket
) -> None:
    site = f"http://127.0.0.1:{listener.getsockname()[1]}"
    attacks = [
        f'<img src="{site}/a">',
        f"![x]({site}/b)",
        f'<link rel="attachment" href="{site}/c">',
        f'<style>@import "{site}/d"; p {{ background: url({site}/e) }}</style>',
        f'<object data="{site}/f"></object>',
        "![x](file:///etc/passwd)",
    ]
    hostile = page(detailed_analysis=f"{FILLER}\n\n" + "\n\n".join(attacks), theme=f"Why? {attacks[0]}")

    text_of = pdf_text if make is pdf else word_text
    text = text_of(make(hostile))

    with pytest.raises(BlockingIOError):  # nobody came
        listener.accept()
    assert "<object" in text
    assert "root:" not in text


@pytest.mark.parametrize("make", [to_docx, pdf])
def test_nothing_is_fetched_either_for_a_page_that_nobody_has_cleaned(
    make: Callable[[bytes], bytes], listener: socket.socket
) -> None:
    site = f"http://127.0.0.1:{listener.getsockname()[1]}"

    make(f'<html><head></head><body><h2>Why</h2><img src="{site}/a"><style>@import "{site}/d";</style></body>'.encode())

    with pytest.raises(BlockingIOError):  # nobody came
        listener.accept()


def test_control_characters_leave_a_word_document_that_opens() -> None:
    hostile = page().replace(b"It is loud.", "It \x00\x08\x1b[31m\x0c is \ufffe loud. ]]> &#1; &#8;".encode())

    assert "loud. ]]>" in word_text(to_docx(hostile))


def test_fields_and_macros_of_word_cannot_be_written_into_a_report() -> None:
    parts = parts_of(to_docx(page(key_findings=['{ INCLUDETEXT "C:\\\\x" }', "=cmd|'/c calc'!A0", "{=openxml}"])))

    assert not [name for name in parts if "vba" in name.lower() or "embed" in name]
    assert "INCLUDETEXT" not in "".join(re.findall(r"<w:instrText[^>]*>[^<]*", parts["word/document.xml"]))


def test_without_a_font_for_japanese_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_pdf()
    fonts = tmp_path / "fonts.conf"
    folder = "/usr/share/fonts/truetype/dejavu"
    fonts.write_text(
        f'<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>{folder}</dir>'
        f"<cachedir>{tmp_path}</cachedir></fontconfig>"
    )
    monkeypatch.setenv("FONTCONFIG_FILE", str(fonts))

    with pytest.raises(InputError, match=r"format pdf: no font here has '[橋は一部].*fonts-noto-cjk.*or use docx"):
        to_pdf(page("ja"))


def test_a_format_that_fails_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")

    with pytest.raises(ContendError, match=r"^format pdf: it could not be made: exit 1: use html$"):
        to_pdf(page())


def run(*rounds: RoundRow) -> StoredRun:
    execution = ExecutionRow(execution_id="e", thread_id="t", theme="Why?", status="completed")
    teams = {row.team_id: row.team_name for row in rounds}
    return StoredRun(
        execution=execution,
        status="completed",
        message="",
        teams=[],
        leaderboard=rank_entries(
            _entry(team, name, [row for row in rounds if row.team_id == team]) for team, name in teams.items()
        ),
        rounds=list(rounds),
        exit_reasons={},
        usage=RunUsage(),
    )


def _entry(team: str, name: str, rounds: Sequence[RoundRow]) -> LeaderboardEntry:
    return LeaderboardEntry.of(team, name, {row.round_number: row.score for row in rounds}, None)


def row_of(team: str, name: str, number: int, score: float | None, **metrics: float | None) -> RoundRow:
    scores_of_metrics = [{"name": metric, "score": value, "weight": 0.5} for metric, value in metrics.items()]
    return RoundRow(
        team_id=team,
        team_name=name,
        round_number=number,
        submission="s",
        submitted_at=NOON,
        score=score,
        details={"metrics": scores_of_metrics},
    )


def test_scores_are_a_row_for_each_round_by_rank_and_a_column_for_each_metric() -> None:
    table = scores_csv(run(row_of("a", "橋", 1, 0.5, insight=0.4), row_of("b", "B", 1, 0.7, insight=0.9, coverage=None),
                           row_of("b", "B", 2, None)))  # fmt: skip

    assert table.startswith(b"\xef\xbb\xbf")
    assert list(csv.reader(io.StringIO(table.decode("utf-8-sig"), newline=""))) == [
        ["rank", "team_id", "team", "round", "score", "exit_reason", "insight", "coverage"],
        ["1", "b", "B", "1", "0.7", "", "0.9", ""],
        ["1", "b", "B", "2", "", "", "", ""],
        ["2", "a", "橋", "1", "0.5", "", "0.4", ""],
    ]


def test_scores_are_written_without_the_noise_of_binary_fractions() -> None:
    table = scores_csv(run(row_of("a", "A", 1, 0.1 + 0.2, insight=0.9999999999999999, coverage=49 / 60)))

    row = list(csv.reader(io.StringIO(table.decode("utf-8-sig"), newline="")))[1]
    assert (row[4], *row[6:]) == ("0.3", "1.0", "0.816667")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "＝1", '=HYPERLINK("x";"y")', "\x00=1"])
def test_no_cell_of_the_scores_is_computed(name: str) -> None:
    table = scores_csv(run(row_of("a", name, 1, 0.5)))

    cell = list(csv.reader(io.StringIO(table.decode("utf-8-sig"), newline="")))[1][2]
    assert cell.startswith("'")


def ledger_of(*statements: LedgerStatement) -> PublishedReport:
    passage = LedgerPassage(
        id="h1",
        url="file:///a.md",
        title="Plant",
        heading="p. 3",
        published=None,
        read_at="2026-01-02T12:00:00Z",
        text="x",
    )
    return PublishedReport(**finished_report().model_dump(), statements=[*statements], passages=[passage])


def test_statements_are_a_row_each_with_what_they_rest_on_and_no_cell_is_computed() -> None:
    total = LedgerStatement(
        place="1.1.1",
        text="=1+1 橋",
        says="x",
        kind="derived",
        quotes=["+49 30", "two"],
        passages=["h1"],
        sums=["4200 / 21 = 200"],
        doubt="@who",
        checks=[LedgerCheck(check="sums", outcome="holds"), LedgerCheck(check="judge", outcome="doubted")],
        teams=["alpha", "beta", "gamma"],
        found_by=["alpha", "beta"],
    )

    table = statements_csv(ledger_of(total))

    assert table.startswith(b"\xef\xbb\xbf")
    assert list(csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline=""))) == [
        {
            "place": "1.1.1",
            "kind": "derived",
            "text": "'=1+1 橋",
            "quotes": "'+49 30 | two",
            "documents": "Plant",
            "headings": "p. 3",
            "addresses": "file:///a.md",
            "passages": "h1",
            "read_at": "2026-01-02T12:00:00Z",
            "sums": "4200 / 21 = 200",
            "checks": "sums: holds | judge: doubted",
            "doubt": "'@who",
            "teams": "alpha | beta | gamma",
            "found_by": "alpha | beta",
        }
    ]


@pytest.mark.parametrize("make", [to_docx, pdf])
def test_marks_of_what_is_calculated_judged_not_found_disputed_and_struck_out_are_printed_in_either_format(
    make: Callable[[bytes], bytes],
) -> None:
    marked = "Total 200[1][=4200÷21]. Hire†. Profit‡. 9 or 8⇄. ~~It makes 9[1].~~ ⚠"
    head = run_head(unverified=["It makes 9[1]. (nothing that it quotes has 9)"])
    statement = LedgerStatement(place="1.1.1", text="Total 200.", says="x", kind="derived", sums=["4200 / 21 = 200"])
    ledger = ledger_of(statement).model_copy(update={"detailed_analysis": marked})
    lines = [PublishedLine("Total 200.", "Total 200[1][=4200÷21].", [], "1.1.1")]

    content = make(to_html(ledger, head, "en", lines=lines).encode())

    text = re.sub(r"\s+", " ", pdf_text(content) if make is pdf else word_text(content)).replace("\u2060", "")
    reason = "(nothing that it quotes has 9)"
    for part in ("Total 200[1][=4200÷21].", "Hire†.", "Profit‡.", "9 or 8⇄.", "It makes 9[1]. ⚠", reason):
        assert part in text
    assert "4200 / 21" not in text  # opens on a screen
    assert "Point out" not in text  # as the filters
    if make is to_docx:
        assert "<w:strike" in parts_of(content)["word/document.xml"]
