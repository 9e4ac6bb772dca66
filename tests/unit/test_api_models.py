from datetime import UTC, datetime
from uuid import UUID

import pytest
from pydantic import ValidationError

from contend.models.api import (
    ProgressInfo,
    ResearchRequest,
    ResearchResponse,
    ResearchStatistics,
    shown_node,
)
from contend.models.options import RunOptions
from contend.models.record import Record
from contend.models.task import RunStatus

RESEARCH = UUID("0b9f3c6e-4f43-4b2c-9a3a-0f6f2f1f7a55")


@pytest.mark.parametrize("kind", [ResearchRequest, ResearchResponse, ProgressInfo, ResearchStatistics])
def test_every_example_is_valid_and_loads_again_unchanged(kind: type[Record]) -> None:
    extra = kind.model_config["json_schema_extra"]
    assert isinstance(extra, dict)

    made = kind.model_validate(extra["example"])

    assert kind.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize("values", [{"theme": "  "}, {"theme": "x" * 501}, {"theme": "x", "max_iterations": 11}])
def test_a_request_out_of_range_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ResearchRequest.model_validate(values)


def test_human_intervention_is_a_persons_word_on_the_plan() -> None:
    request = ResearchRequest(
        theme="x", enable_human_intervention=True, options=RunOptions(approve=["report"], max_rounds=2)
    )

    options = request.run_options()

    assert options.approve == ["plan", "report"]
    assert options.max_rounds == 2
    assert options.max_iterations == 5


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ("running", "processing"),
        ("partial", "completed"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("interrupted", "interrupted"),
    ],
)
def test_a_runs_status_is_shown_in_the_words_of_the_api(status: RunStatus, shown: str) -> None:
    response = ResearchResponse.of(RESEARCH, status, "", created_at=datetime(2026, 1, 15, tzinfo=UTC))

    assert response.status == shown


def test_times_are_rounded_down_and_addresses_counted_once() -> None:
    statistics = ResearchStatistics.of(iterations=2, urls=["https://a.org", "https://a.org"], seconds=9.99)

    assert (statistics.sources_collected, statistics.processing_time_seconds) == (1, 9)


@pytest.mark.parametrize(
    ("node", "shown"),
    [
        ("supervise", "supervisor"),
        ("approve_plan", "supervisor"),
        ("search", "researcher"),
        ("collect", "researcher"),
        ("write", "writer"),
        ("review", "reviewer"),
        ("publish", "publish"),
    ],
)
def test_research_nodes_are_shown_by_role(node: str, shown: str) -> None:
    assert shown_node(node) == shown
