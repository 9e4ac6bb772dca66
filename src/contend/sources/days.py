"""The day of a document as the file itself tells it. Pure."""

import re
from datetime import date

_ISO_DAY = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")
_PDF_DAY = re.compile(r"(?:D:)?(\d{4})(\d{2})(\d{2})")


def day_of(stamp: str) -> str | None:
    """The day that a time in ISO 8601 begins with, as YYYY-MM-DD; None for anything else."""
    found = _ISO_DAY.match(stamp.strip().strip("\"'"))
    return _valid(found[1]) if found else None


def day_in_name(stem: str) -> str | None:
    """The last day in a file's name."""
    days = [day for found in _ISO_DAY.finditer(stem) if (day := _valid(found[1]))]
    return days[-1] if days else None


def day_of_pdf(stamp: str) -> str | None:
    """The day of a time as PDF files write it: `D:20250301120000+09'00'`."""
    found = _PDF_DAY.match(stamp.strip())
    return _valid("-".join(found.groups())) if found else None


def _valid(day: str) -> str | None:
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        return None
