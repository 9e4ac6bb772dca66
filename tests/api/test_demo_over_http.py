"""The recorded demo over the HTTP API, on a server without a key."""

from collections.abc import Iterator

import pytest

from fakes.api_client import Api, research_api
from fakes.servers import Server


@pytest.fixture
def keyless(keyless_server: Server) -> Iterator[Api]:
    with research_api(keyless_server) as client:
        yield client


def test_the_recorded_demo_plays_without_a_key(keyless: Api) -> None:
    response = keyless.http.post("/research/demo")

    assert response.status_code == 202, response.text
    research = response.json()["research_id"]
    events = [*keyless.events(research)]
    assert events[-1]["status"] == "completed"
    details = keyless.get(f"/research/{research}")
    assert "recorded on" in details["models"]["replies"]
    assert {team["team_id"] for team in details["teams"]} == {"archivist", "skeptic", "scout"}
    assert {"criteria_set", "round_scored", "report_merged", "learned"} <= {each["type"] for each in events}
    assert keyless.http.get(f"/research/{research}/report").text.startswith("# ")
    # A comparison is of what reports rest on, as at the terminal; this one lists a source that it read only.
    sources_compared = keyless.get(f"/research/{research}/compare/{research}")["first"]["sources"]
    sources = keyless.get(f"/research/{research}/report?format=json")["sources"]
    assert sources_compared == sources[: len(sources_compared)]
    assert len(sources_compared) == len(sources) - 1


def test_without_a_key_and_documents_a_research_is_refused_with_what_to_give(keyless: Api) -> None:
    response = keyless.http.post("/research", json={"theme": "Why do bridges hum?"})

    assert response.status_code == 422
    assert "documents" in response.json()["detail"]
    assert keyless.get("/health")["language_model"] is False
