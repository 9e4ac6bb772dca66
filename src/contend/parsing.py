"""Parse JSON and TOML from outside, with a byte order mark or extreme nesting."""

import json
import tomllib
from typing import Any

_BYTE_ORDER_MARK = "\ufeff"
_TOO_DEEP = "brackets nested too deeply"


def parse_json(text: str) -> Any:  # noqa: ANN401 - JSON
    """Raises: ValueError where it is no JSON, or nested too deeply."""
    try:
        return json.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def parse_toml(text: str) -> dict[str, Any]:
    """Raises: ValueError where it is no TOML, or nested too deeply."""
    try:
        return tomllib.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
