"""The error of a failed node as JSON, and back: for checkpoints, which hold plain data only."""

import json
from collections.abc import Mapping

from contend import errors

_KINDS: Mapping[str, type[Exception]] = {"TimeoutError": TimeoutError} | {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)
}
"""The errors by which handlers decide what became of a node."""


def failure_json(error: BaseException) -> bytes:
    """The nearest of those kinds, what it says, its plain attributes; another error as a ContendError that names it."""
    kind = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _KINDS), None)
    said = str(error) if kind else f"{type(error).__name__}: {error}"
    details = {name: value for name, value in vars(error).items() if isinstance(value, str | int)}
    return json.dumps({"kind": kind or errors.ContendError.__name__, "said": said, "details": details}).encode()


def failure_of(kept: bytes) -> Exception:
    """The error again."""
    failure = json.loads(kept)
    kind = _KINDS[failure["kind"]]
    error = kind.__new__(kind, failure["said"])
    vars(error).update(failure["details"])
    return error
