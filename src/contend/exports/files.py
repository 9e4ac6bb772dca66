"""The report of a thread's newest run in each format."""

from typing import Literal

from contend.errors import UnknownThread
from contend.exports.printing import to_docx, to_pdf
from contend.models.research import ResearchReport
from contend.report import to_bibtex
from contend.settings import Settings
from contend.stores.leases import checked_thread

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
            return to_pdf(_stored(settings, thread, "html"))
        case "docx":
            return to_docx(_stored(settings, thread, "html"))
    return _stored(settings, thread, kind)


def _stored(settings: Settings, thread: str, kind: ReportFormat) -> bytes:
    path = settings.folder / "results" / checked_thread(thread) / f"report.{kind}"
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise UnknownThread(f"research {thread!r} has no {path.name}: it is of an earlier version") from error
