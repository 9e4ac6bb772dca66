"""Outside values made into records, or refused in one line."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from contend.errors import InputError

M = TypeVar("M", bound=BaseModel)


def checked(kind: type[M], values: Mapping[str, Any], where: str) -> M:
    """A record made of outside values.

    Raises:
        InputError: one clear line with place, field, value and what is wrong with it.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{where}: {first_fault(error)}") from error


def first_fault(error: ValidationError) -> str:
    """The first fault as one line: field, value, and what would be right."""
    fault = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in fault["loc"]) or "value"
    if fault["type"] == "extra_forbidden":
        return f"unknown key {field!r}; remove it or mend its spelling"
    if fault["type"] == "missing":
        return f"key {field!r} is missing; add it"
    message = fault["msg"].removeprefix("Value error, ")
    value = repr(fault["input"])
    shown = value if len(value) <= 60 else f"{value[:57]}…"  # noqa: PLR2004 - one line
    return message if fault["type"] == "value_error" else f"{field} = {shown}: {message}"
