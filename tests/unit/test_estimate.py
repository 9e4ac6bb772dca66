"""What a run may cost: a range of calls, tokens and money that follows from its options and its documents."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from contend.estimate import RunEstimate, estimate_run
from contend.models.options import RunOptions, TeamConfig
from contend.preflight import Opening
from contend.services import Services
from contend.settings import load_settings, resolve_options
from contend.settings.files import ModelsConfig

CONTEXTS = {"large": 200_000, "small": 16_000}
TEAMS = [TeamConfig(team_id=f"team{number}", name="A", sources=["local"]) for number in range(3)]


@pytest.fixture
def services(workspace: Path) -> Services:
    return Services(load_settings(workspace=workspace))


def estimate(services: Services, corpus: int | None, *, teams: int = 1, **given: Any) -> RunEstimate:  # noqa: ANN401 - any option
    request = RunOptions.model_validate({"model": "large", "sources": ["local"], **given})
    found = resolve_options(services.config, request, theme="Why?", has_language_model=True, environment=RunOptions())
    options = found.options.model_copy(update={"contexts": CONTEXTS})
    opening = Opening("Why?", request, options, TEAMS[:teams], {}, [], {}, [], [])
    return estimate_run(opening, ModelsConfig(default="large"), corpus=corpus)


def test_documents_that_are_read_whole_need_no_steps(services: Services) -> None:
    whole, searched = (estimate(services, corpus, depth="quick") for corpus in (40_000, 400_000))

    assert searched.calls[0] == whole.calls[0] + 1
    assert searched.calls[1] == whole.calls[1] + 10


@pytest.mark.parametrize(("given", "calls"), [({"max_steps": 1}, 1), ({"max_steps": 30}, 30), ({}, 10)])
def test_a_round_takes_a_step_at_least_and_as_many_as_it_may_at_most(
    services: Services, given: dict[str, int], calls: int
) -> None:
    whole, searched = (estimate(services, corpus, depth="quick", **given) for corpus in (1_000, 400_000))

    assert [after - before for before, after in zip(whole.calls, searched.calls, strict=True)] == [1, calls]


def test_a_model_of_a_smaller_context_reads_the_same_documents_in_steps(services: Services) -> None:
    large, small = (estimate(services, 10_000, depth="quick", model=model) for model in ("large", "small"))

    assert small.calls[1] > large.calls[1]


def test_a_run_that_may_hold_more_costs_more(services: Services) -> None:
    few, many = (estimate(services, 400_000, depth="quick", evidence_tokens=tokens) for tokens in (5_000, 60_000))

    assert few.calls == many.calls
    assert few.tokens[0] < many.tokens[0]
    assert few.tokens[1] < many.tokens[1]


@pytest.mark.parametrize("corpus", [1_000, 400_000, None])
def test_each_further_team_round_and_depth_costs_more(services: Services, corpus: int | None) -> None:
    estimates = [
        estimate(services, corpus, depth="quick"),
        estimate(services, corpus, depth="standard"),
        estimate(services, corpus, depth="standard", teams=2),
        estimate(services, corpus, depth="standard", teams=3),
        estimate(services, corpus, depth="deep", teams=3),
    ]

    for fewer, more in pairwise(estimates):
        assert fewer.tokens[1] < more.tokens[1]
        assert fewer.calls[1] < more.calls[1]
    for each in estimates:
        assert 0 < each.calls[0] < each.calls[1]
        assert 0 < each.tokens[0] < each.tokens[1]
        assert each.usd is None


def test_a_run_without_a_language_model_costs_nothing(services: Services) -> None:
    request = RunOptions(sources=["local"])
    found = resolve_options(services.config, request, theme="Why?", has_language_model=False, environment=RunOptions())
    opening = Opening("Why?", request, found.options.model_copy(update={"models": {}}), TEAMS[:1], {}, [], {}, [], [])

    assert estimate_run(opening, ModelsConfig(default="large"), corpus=9) == RunEstimate((0, 0), (0, 0), (0.0, 0.0))
