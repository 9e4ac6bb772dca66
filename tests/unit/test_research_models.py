"""What a plan, a search result and a report may hold."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from contend.models.record import Record
from contend.models.research import ResearchPlan, ResearchReport, SearchResult

PLAN: dict[str, Any] = {
    "theme": "Why do bridges hum?",
    "investigation_points": ["What makes the sound"],
    "search_queries": ["bridge hum"],
    "plan_text": "Search and read.",
}
RESULT: dict[str, Any] = {"title": "Wind", "summary": "It blows.", "source": "tavily", "url": "https://a.example/x"}
REPORT: dict[str, Any] = {
    "theme": "Why do bridges hum?",
    "executive_summary": "s" * 50,
    "key_findings": ["It is the wind."],
    "detailed_analysis": "a" * 100,
}


def test_what_a_plan_leaves_out_has_its_default() -> None:
    plan = ResearchPlan(**PLAN)

    assert plan.source_priority == {"tavily": 1, "arxiv": 2}
    assert plan.created_at.tzinfo is UTC


def test_what_a_report_leaves_out_has_its_default() -> None:
    report = ResearchReport(**REPORT)

    assert (report.constraints_and_challenges, report.sources) == ("", [])
    assert report.generated_at.tzinfo is UTC


@pytest.mark.parametrize(
    ("kind", "fields", "field", "values"),
    [
        (ResearchPlan, PLAN, "theme", ["x", "橋" * 500]),
        (ResearchPlan, PLAN, "investigation_points", [["x"], ["x"] * 10]),
        (ResearchPlan, PLAN, "search_queries", [["x"], ["x"] * 20]),
        (ResearchPlan, PLAN, "plan_text", ["x" * 10, "調査の計画を述べる。"]),
        (SearchResult, RESULT, "title", ["x", "橋" * 500]),
        (SearchResult, RESULT, "summary", ["x", "風" * 2000]),
        (SearchResult, RESULT, "source", ["arxiv", "local", "my_wiki"]),
        (SearchResult, RESULT, "url", ["http://a.example", "https://日本.example/橋", "https://[::1]:8080/x"]),
        (SearchResult, RESULT | {"source": "local"}, "url", ["file:///home/ann/a%20b.md", "file://host/a.md"]),
        (SearchResult, RESULT, "published_date", ["2024-02-29", None]),
        (SearchResult, RESULT, "authors", [["A. Weiss"] * 50, [], None]),
        (SearchResult, RESULT, "categories", [["cs.CL"] * 20, [], None]),
        (SearchResult, RESULT, "relevance_score", [0.0, 1.0, None]),
        (ResearchReport, REPORT, "theme", ["x", "橋" * 500]),
        (ResearchReport, REPORT, "executive_summary", ["橋", "x" * 1000]),
        (ResearchReport, REPORT, "key_findings", [["x"], ["x"] * 20]),
        (ResearchReport, REPORT, "detailed_analysis", ["橋"]),
        (ResearchReport, REPORT, "constraints_and_challenges", ["", "x" * 2000]),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__ if isinstance(value, type) else "",
)
def test_a_value_within_its_range_is_kept_and_loads_again(
    kind: type[Record], fields: dict[str, Any], field: str, values: list[object]
) -> None:
    for value in values:
        made = kind.model_validate(fields | {field: value})

        assert getattr(made, field) == value
        assert kind.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize(
    ("kind", "fields", "field", "values"),
    [
        (ResearchPlan, PLAN, "theme", [" \u3000", "橋" * 501]),
        (ResearchPlan, PLAN, "investigation_points", [[], ["x"] * 11, [" "]]),
        (ResearchPlan, PLAN, "search_queries", [[], ["x"] * 21, [""]]),
        (ResearchPlan, PLAN, "plan_text", ["x" * 9, "x        x "[:9] + "  "]),
        (SearchResult, RESULT, "title", [" ", "x" * 501]),
        (SearchResult, RESULT, "summary", ["", "\n", "x" * 2001]),
        (SearchResult, RESULT, "source", ["", "a b", "../x"]),
        (
            SearchResult,
            RESULT,
            "url",
            [
                "",
                "a.example/x",
                "https://",
                "http:///x",
                "https://a.example:99999/x",
                "ftp://a.example",
                "file:///etc/passwd",
                "javascript:alert(1)",
            ],
        ),
        (
            SearchResult,
            RESULT,
            "published_date",
            ["2023-02-29", "2024-1-5", "20240105", "2024-W01-1", "5 May 2024", ""],
        ),
        (SearchResult, RESULT, "authors", [["x"] * 51, [" "]]),
        (SearchResult, RESULT, "categories", [["x"] * 21, [""]]),
        (SearchResult, RESULT, "relevance_score", [-0.01, 1.01, float("nan"), float("inf")]),
        (ResearchReport, REPORT, "theme", ["", "x" * 501]),
        (ResearchReport, REPORT, "executive_summary", ["", " "]),
        (ResearchReport, REPORT, "key_findings", [[], ["x"] * 21, [" "]]),
        (ResearchReport, REPORT, "detailed_analysis", ["", "\n"]),
        (ResearchReport, REPORT, "generated_at", [datetime(2026, 1, 2, 12, 0)]),  # noqa: DTZ001 - refused for it
        (ResearchReport, REPORT, "unknown", ["x"]),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__ if isinstance(value, type) else "",
)
def test_a_value_out_of_its_range_is_refused_by_the_name_of_its_field(
    kind: type[Record], fields: dict[str, Any], field: str, values: list[object]
) -> None:
    for value in values:
        with pytest.raises(ValidationError, match=field):
            kind.model_validate(fields | {field: value})


def test_a_moment_in_another_zone_is_shown_in_utc() -> None:
    report = ResearchReport.model_validate(REPORT | {"generated_at": "2026-01-02T08:30:00+09:00"})

    assert report.to_markdown().endswith("\n*Generated at: 2026-01-01 23:30:00 UTC*")
