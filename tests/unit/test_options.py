"""What a caller may set for a run, and the bounds of it."""

from typing import Any

import pytest
from pydantic import ValidationError

from contend.models.options import ResolvedOptions, RunOptions


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("instructions", ["", "指" * 20_000]),
        ("max_iterations", [1, 10]),
        ("max_tokens", [1]),
        ("max_usd", [0.01]),
        ("max_minutes", [0.1]),
        ("max_calls", [1]),
        ("approve", [[], ["plan", "report", "playbook"]]),
        ("language", ["auto", "en", "ja"]),
    ],
)
def test_an_option_within_its_bounds_is_kept_and_loads_again(name: str, values: list[Any]) -> None:
    for value in values:
        options = RunOptions.model_validate({name: value})

        assert getattr(options, name) == value
        assert RunOptions.model_validate_json(options.model_dump_json()) == options


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("instructions", ["x" * 20_001]),
        ("max_iterations", [0, 11, 2.5]),
        ("max_tokens", [0, -1]),
        ("max_usd", [0, -0.5, float("nan"), float("inf")]),
        ("max_minutes", [0, float("nan"), float("inf")]),
        ("max_calls", [0]),
        ("approve", [["plans"]]),
        ("language", ["fr"]),
        ("max_iteration", [1]),
    ],
)
def test_an_option_out_of_its_bounds_is_refused_by_its_name(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ValidationError, match=name):
            RunOptions.model_validate({name: value})


def test_a_run_loops_five_times_and_has_no_budget_unless_told_otherwise() -> None:
    fields = ResolvedOptions.model_fields

    assert fields["max_iterations"].default == 5
    assert {name: fields[name].default for name in ("max_tokens", "max_usd", "max_minutes", "max_calls")} == {
        "max_tokens": None,
        "max_usd": None,
        "max_minutes": None,
        "max_calls": None,
    }
