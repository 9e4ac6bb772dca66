"""What an unexpected error is called, and where its details are kept."""

import errno
import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_SHORTEST_SECRET = 8


_REMEDIES = {
    errno.ENOSPC: "free disk space",
    errno.EDQUOT: "free disk space",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f)",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.EROFS: "name another folder, or make it writable",
}


def system_fault(error: OSError) -> str:
    """What the operating system refused, of which file where it says so, and what to do."""
    what = f"{error.filename}: " if error.filename else "an output or file: "
    return f"{what}{error.strerror or error}: {_REMEDIES.get(error.errno or 0, 'mend its rights or its path')}"


def defect(error: Exception) -> str:
    """What a defect is called, and where its details are where they could be kept."""
    said = f"{type(error).__name__}: {error}; a defect of contend's"
    try:
        return f"{said}, details in {keep_details(error)}"
    except OSError:
        return f"{said}; its details could not be kept"


def keep_details(error: Exception) -> Path:
    """Append the traceback, without secrets, to a log outside any workspace."""
    from platformdirs import user_log_path

    path = user_log_path("contend", appauthor=False, ensure_exists=True) / "errors.log"
    text = "".join(traceback.format_exception(error))
    with path.open("a", encoding="utf-8") as log:
        log.write(f"{datetime.now(UTC).isoformat(timespec='seconds')}\n{without_secrets(text)}\n")
    return path


def without_secrets(text: str) -> str:
    """The text without the values of this process's secret variables."""
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST_SECRET and any(word in name.upper() for word in _SECRET):
            text = text.replace(value, "***")
    return text
