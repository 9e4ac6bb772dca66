"""What a machine needs beside Python packages to make a PDF."""

import os
from functools import cache

import pytest

from contend.errors import InputError
from contend.exports import to_pdf

_PAGE = '<!DOCTYPE html><html lang="ja"><body><p>Why? 橋はなぜ鳴るのか。</p></body></html>'


def require_pdf() -> None:
    """Without Pango or a font for Japanese a test is skipped, and fails where nothing may be skipped."""
    if missing := _missing():
        if os.environ.get("CI"):
            raise AssertionError(missing)
        pytest.skip(missing)


@cache
def _missing() -> str:
    try:
        to_pdf(_PAGE.encode())
    except InputError as error:
        return str(error)
    return ""
