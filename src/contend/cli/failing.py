"""Where the details of an unexpected error are kept."""

import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_SHORTEST_SECRET = 8


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
