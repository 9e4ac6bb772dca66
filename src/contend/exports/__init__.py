"""A stored run as files for others: its report in every format, its scores as a table."""

import csv
import io
from collections.abc import Sequence
from typing import Literal

from contend.errors import UnknownThread
from contend.exports.printing import to_docx, to_pdf
from contend.models.research import ResearchReport
from contend.report import to_bibtex
from contend.settings import Settings
from contend.stored_runs import StoredRun
from contend.stores.leases import checked_thread
from contend.text import clean

ReportFormat = Literal["md", "html", "json", "bibtex", "csv", "pdf", "docx"]
"""`csv` holds the scores, `bibtex` the sources; `pdf` and `docx` need the extra `export`."""

MEDIA: dict[ReportFormat, str] = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "json": "application/json; charset=utf-8",
    "bibtex": "application/x-bibtex; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}

_COLUMNS = ("rank", "team_id", "team", "round", "score", "exit_reason")
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
        case "pdf":
            return to_pdf(_stored_file(settings, thread, "html"))
        case "docx":
            return to_docx(_stored_file(settings, thread, "html"))
    return _stored_file(settings, thread, kind)


def _stored_file(settings: Settings, thread: str, kind: ReportFormat) -> bytes:
    path = settings.folder / "results" / checked_thread(thread) / f"report.{kind}"
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
    table = io.StringIO()
    csv.writer(table, lineterminator="\r\n").writerows(
        [[_cell(each) for each in line] for line in ((*_COLUMNS, *names), *lines)]
    )
    return table.getvalue().encode("utf-8-sig")


def _cell(value: object) -> object:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if not isinstance(value, str):
        return value
    text = clean(value, single_line=True).strip()
    return f"'{text}" if text.startswith(_FORMULA) else text
