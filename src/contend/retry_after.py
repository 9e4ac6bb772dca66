"""Whether a service may answer when asked again, and how long it asks to be left alone."""

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_PASSING = {408, 409, 425, 429}
_SERVER_FAULT = 500


def is_passing(status: object) -> bool:
    """Whether an HTTP status says that asking again may help."""
    return status in _PASSING or (isinstance(status, int) and status >= _SERVER_FAULT)


def retry_after(header: str | None) -> float | None:
    """Seconds to wait by a `Retry-After` header, a number or a date; None without a usable one."""
    if header is None:
        return None
    if re.fullmatch(r"\s*\d{1,9}(\.\d{1,9})?\s*", header):
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def wanted_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait, given as milliseconds, seconds or a date; None without a usable value."""
    milliseconds = retry_after(headers.get("retry-after-ms"))
    return retry_after(headers.get("retry-after")) if milliseconds is None else milliseconds / 1000
