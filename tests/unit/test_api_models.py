from pathlib import Path
from typing import Any, get_args

import pytest
from langgraph.graph import StateGraph
from pydantic import ValidationError

from contend.api.models import (
    RESEARCH_STATUS,
    ProgressInfo,
    ResearchRequest,
    ResearchResponse,
    ResearchStatistics,
    ShownNode,
)
from contend.contest.graph import build_contest_graph
from contend.learning.graph import build_learn_graph
from contend.models.options import RunOptions
from contend.models.record import Record
from contend.models.task import RunStatus
from contend.research.graph import build_research_graph
from contend.services import Services
from contend.settings import load_settings
from contend.team.graph import build_team_graph

RESEARCH = "0b9f3c6e-4f43-4b2c-9a3a-0f6f2f1f7a55"


@pytest.mark.parametrize("kind", [ResearchRequest, ResearchResponse, ProgressInfo, ResearchStatistics])
def test_every_example_is_valid_and_loads_again_unchanged(kind: type[Record]) -> None:
    extra = kind.model_config["json_schema_extra"]
    assert isinstance(extra, dict)

    record = kind.model_validate(extra["example"])

    assert kind.model_validate_json(record.model_dump_json()) == record


@pytest.mark.parametrize(
    "values",
    [
        {"theme": " \u3000"},
        {"theme": "橋" * 8001},
        {"theme": "x", "max_iterations": 0},
        {"theme": "x", "max_iterations": 11},
        {"theme": "x", "checkpointer_type": "oracle"},
        {"theme": "x", "options": {"max_rounds": 11}},
        {"theme": "x", "unknown": 1},
    ],
)
def test_a_request_out_of_range_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ResearchRequest.model_validate(values)


def test_what_a_request_leaves_out_has_its_default() -> None:
    request = ResearchRequest(theme="橋" * 8000)

    assert request.model_dump(exclude={"theme"}) == {
        "max_iterations": 5,
        "enable_human_intervention": False,
        "checkpointer_type": None,
        "options": None,
    }
    assert request.run_options() == RunOptions()
    assert ResearchRequest(theme="x", max_iterations=5).run_options() == RunOptions(max_iterations=5)


def test_human_intervention_is_a_persons_word_on_the_plan() -> None:
    request = ResearchRequest(
        theme="x",
        max_iterations=5,
        enable_human_intervention=True,
        options=RunOptions(approve=["report"], max_rounds=2),
    )

    options = request.run_options()

    assert options.approve == ["plan", "report"]
    assert options.max_rounds == 2
    assert options.max_iterations == 5


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("running", "processing"),
        ("partial", "completed"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("interrupted", "interrupted"),
    ],
)
def test_a_runs_status_is_shown_in_the_words_of_the_api(status: RunStatus, text: str) -> None:
    assert RESEARCH_STATUS[status] == text


def test_times_are_rounded_down_and_addresses_counted_once() -> None:
    statistics = ResearchStatistics.of(iterations=2, urls=["https://a.org", "https://a.org"], seconds=9.99)

    assert (statistics.sources_collected, statistics.processing_time_seconds) == (1, 9)


def test_a_node_that_plays_no_role_is_shown_by_its_name_in_a_graph(workspace: Path) -> None:
    services = Services(load_settings(workspace=workspace))
    graphs: list[StateGraph[Any, Any, Any, Any]] = [
        build_contest_graph(services),
        build_team_graph(services),
        build_research_graph(services),
        build_learn_graph(services.learn_nodes),
    ]
    nodes = {name for graph in graphs for name in graph.nodes}

    assert set(get_args(ShownNode)) - {"supervisor", "researcher", "writer", "reviewer"} <= nodes


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (ProgressInfo, {"current_iteration": -1, "max_iterations": 1, "current_node": "team"}),
        (ProgressInfo, {"current_iteration": 0, "max_iterations": 0, "current_node": "team"}),
        (ProgressInfo, {"current_iteration": 0, "max_iterations": 1, "current_node": "supervise"}),
        (ResearchStatistics, {"iterations": -1, "sources_collected": 0, "processing_time_seconds": 0}),
        (ResearchStatistics, {"iterations": 0, "sources_collected": 0, "processing_time_seconds": 1.5}),
    ],
)
def test_progress_and_statistics_out_of_range_are_refused(kind: type[Record], values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate(values)
