"""A stored run as files for others: its report in every format, its scores and its statements as tables.

PDF is made by WeasyPrint and the Word document by pandoc, each in a process of its own, which can be ended where a
thread cannot. Both get the page that nh3 has cleaned, may fetch nothing and see no key: in a report stands what anybody
may have written on the web. Word's styles are in `word.py`.
"""

import csv
import io
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import nh3

from contend.errors import ContendError, InputError, UnknownThread
from contend.exports.word import finished, reference_document, styled_body
from contend.models.record import Language, utc_now
from contend.models.research import ResearchReport
from contend.report import PublishedReport, to_bibtex
from contend.settings import Settings
from contend.sources.readers.process import KEPT_VARIABLES
from contend.stored_runs import StoredRun
from contend.stores import thread_name
from contend.text import clean

ReportFormat = Literal["md", "html", "json", "bibtex", "csv", "statements", "pdf", "docx"]
"""`csv` and `statements` are tables of scores and of statements, `bibtex` the sources; `pdf`, `docx` need an extra."""

MEDIA: dict[ReportFormat, str] = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "bibtex": "application/x-bibtex; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "statements": "text/csv; charset=utf-8",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}

_COLUMNS = ("rank", "team_id", "team", "round", "score", "exit_reason")
_STATEMENT_COLUMNS = (
    "place", "kind", "text", "quotes", "documents", "headings", "addresses", "passages", "read_at", "sums", "checks",
    "doubt", "teams", "found_by",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_DIGITS = 6
"""Of a score: a mean of percents has 0.9600000000000001 for 0.96."""


def report_file(settings: Settings, thread: str, report: ResearchReport, kind: ReportFormat) -> bytes:
    """The report's file in a format other than `csv`. Blocking, `pdf` and `docx` for seconds.

    Raises:
        UnknownThread: the run left no such file, for it is of an earlier version.
        InputError: `pdf` or `docx` cannot be made on this machine: says what is missing.
        ContendError: making it failed or took too long.
    """
    match kind:
        case "bibtex":
            return to_bibtex(report).encode()
        case "statements":
            return statements_csv(PublishedReport.model_validate_json(_stored_file(settings, thread, "json")))
        case "pdf":
            return to_pdf(_stored_file(settings, thread, "html"))
        case "docx":
            return to_docx(_stored_file(settings, thread, "html"))
    return _stored_file(settings, thread, kind)


def _stored_file(settings: Settings, thread: str, kind: ReportFormat) -> bytes:
    path = settings.folder / "results" / thread_name(thread) / f"report.{kind}"
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise UnknownThread(f"research {thread!r} has no {path.name}: it is of an earlier version") from error


def scores_csv(run: StoredRun) -> bytes:
    """A row for each round of each team, by rank, and a column for each metric; scores are 0.0 to 1.0, unscored empty.

    UTF-8 with a byte order mark, which spreadsheets tell Japanese by. A cell that one would compute begins with `'`.
    """
    ranks = {entry.team_id: entry.rank for entry in run.leaderboard}
    places = [entry.team_id for entry in run.leaderboard]
    rounds = sorted(run.rounds, key=lambda row: (places.index(row.team_id), row.round_number))
    metrics = [{each.name: each.score for each in row.metrics} for row in rounds]
    names = list(dict.fromkeys(name for scores in metrics for name in scores))
    lines: list[Sequence[object]] = [
        [ranks.get(row.team_id), row.team_id, row.team_name, row.round_number, row.score, row.exit_reason]
        + [scores.get(name) for name in names]
        for row, scores in zip(rounds, metrics, strict=True)
    ]
    return _table([*_COLUMNS, *names], lines)


def statements_csv(report: PublishedReport) -> bytes:
    """A row for each statement of a report's ledger; several values of a cell are separated by ` | `.

    As `scores_csv` for spreadsheets. A report of a release without a ledger has no rows.
    """
    passages = {each.id: each for each in report.passages}
    lines: list[Sequence[object]] = []
    for each in report.statements:
        cited = [passages[one] for one in each.passages if one in passages]
        columns = (
            each.quotes,
            [one.title for one in cited],
            [one.heading for one in cited],
            [one.url for one in cited],
            each.passages,
            [one.read_at for one in cited],
            each.sums,
            [f"{one.check}: {one.outcome}" for one in each.checks],
        )
        lines.append(
            [
                each.place,
                each.kind,
                each.text,
                *map(" | ".join, columns),
                each.doubt,
                " | ".join(each.teams),
                " | ".join(each.found_by),
            ]
        )
    return _table(_STATEMENT_COLUMNS, lines)


def _table(columns: Sequence[str], lines: Sequence[Sequence[object]]) -> bytes:
    table = io.StringIO()
    csv.writer(table, lineterminator="\r\n").writerows([[_cell(each) for each in line] for line in (columns, *lines)])
    return table.getvalue().encode("utf-8-sig")


def _cell(value: object) -> object:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if not isinstance(value, str):
        return value
    text = clean(value, single_line=True)
    return f"'{text}" if text.startswith(_FORMULA) else text


_MOST_SECONDS = 120.0
# Ends as soon as the file is written: Pango looks for fonts in a thread, which crashed now and then when an ordinary
# end unloaded what it was running.
_WEASYPRINT = (
    "import os, runpy, sys; runpy.run_module('weasyprint', run_name='__main__'); sys.stdout.flush(); os._exit(0)"
)
_PDF = ("-P", "-c", _WEASYPRINT, "--presentational-hints", "--allowed-protocols", "none", "-", "-")
# The page's h1 is the document's title, which pandoc takes from its head.
_DOCX = ("--sandbox", "--from=html", "--to=docx", "--shift-heading-level-by=-1", "--output=-")
_LEFT_OUT = {"aside", "button", "details", "div", "h1", "svg"}
"""Left out of Word documents: what opens on a screen, filters, the chart, and the title, which Word has already."""
_NO_GLYPH = re.compile(r'^WARNING: \.notdef glyph rendered .*?: "(.+?)"', re.MULTILINE)


def to_pdf(page: bytes) -> bytes:
    """A report's page as PDF, by its own print styles.

    Raises:
        InputError: WeasyPrint, Pango or a font for the report's script is missing.
        ContendError: it failed, or took more than two minutes.
    """
    _require("weasyprint", "pdf")
    process = _run([sys.executable, *_PDF], page, "pdf")
    log = process.stderr.decode(errors="replace")
    if "cannot load library" in log:
        raise InputError("format pdf: WeasyPrint finds no Pango here: install it (Debian: libpango-1.0-0, "
                         "libpangoft2-1.0-0, libharfbuzz-subset0; macOS: brew install pango), or use docx")  # fmt: skip
    missing = "".join(dict.fromkeys(filter(str.isalpha, "".join(_NO_GLYPH.findall(log)))))
    if missing:
        raise InputError(f"format pdf: no font here has {missing[:10]!r}: install one (Debian: fonts-noto-cjk for "
                         "Japanese), or use docx")  # fmt: skip
    return _output_of(process, "pdf")


def to_docx(page: bytes) -> bytes:
    """A report's page as Word document.

    Raises:
        InputError: pandoc is missing.
        ContendError: it failed, or took more than two minutes.
    """
    _require("pypandoc", "docx")
    from pypandoc import get_pandoc_path  # noqa: PLC0415 - of the extra `export`

    head, body = re.split(r"(?<=<body>)", page.decode(), maxsplit=1)
    language: Language = "ja" if '<html lang="ja"' in head else "en"
    title = re.search(r"<title>[^<]*</title>", head)
    content = nh3.clean(
        body,
        tags=nh3.ALLOWED_TAGS - {"img"} - _LEFT_OUT,
        clean_content_tags=_LEFT_OUT | {"script", "style"},
        attributes={
            "a": {"class", "href", "id"},
            "h2": {"id"},
            "li": {"id"},
            "ol": {"start"},
            "p": {"class"},
            "span": {"class"},
        },
        url_schemes={"http", "https", "file"},
        link_rel=None,
    )
    source = f'<html lang="{language}"><head>{title[0] if title else ""}</head>{styled_body(content, language)}</html>'
    with TemporaryDirectory() as folder:
        reference = Path(folder) / "reference.docx"
        reference.write_bytes(reference_document())
        process = _run([get_pandoc_path(), *_DOCX, f"--reference-doc={reference}"], source.encode(), "docx")
    return finished(_output_of(process, "docx"), utc_now())


def _require(module: str, kind: str) -> None:
    if find_spec(module) is None:
        raise InputError(f"format {kind}: {module} is not installed: pip install 'contend[export]'")


def _run(command: Sequence[str], page: bytes, kind: str) -> "subprocess.CompletedProcess[bytes]":
    names = (*KEPT_VARIABLES, "FONTCONFIG_FILE", "FONTCONFIG_PATH", "XDG_CACHE_HOME", "HOME")
    environment = {name: os.environ[name] for name in names if name in os.environ}
    try:
        return subprocess.run(  # noqa: S603 - fixed words; the page goes in by a pipe
            command, input=page, capture_output=True, timeout=_MOST_SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ContendError(f"format {kind}: not done within {_MOST_SECONDS:g} s: use html") from error
    except OSError as error:
        raise InputError(f"format {kind}: {command[0]} cannot be started: {error.strerror}") from error


def _output_of(process: "subprocess.CompletedProcess[bytes]", kind: str) -> bytes:
    if process.returncode or not process.stdout:
        last = process.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ContendError(f"format {kind}: it could not be made: {last or f'exit {process.returncode}'}: use html")
    return process.stdout
