"""The recorded demos over the HTTP API, on a server without a key."""

import re
from collections.abc import Iterator, Mapping, Sequence

import pytest

from fakes.api_client import Api, research_api
from fakes.servers import Server


@pytest.fixture
def keyless(keyless_server: Server) -> Iterator[Api]:
    with research_api(keyless_server) as client:
        yield client


def play(keyless: Api, query: str = "") -> str:
    response = keyless.http.post(f"/research/demo{query}")
    assert response.status_code == 202, response.text
    return str(response.json()["research_id"])


def test_the_recorded_demo_plays_without_a_key(keyless: Api) -> None:
    research = play(keyless)

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


def test_of_a_published_merge_all_statements_are_told_with_those_of_the_best_team_that_they_changed(
    keyless: Api,
) -> None:
    research = play(keyless, "?name=contest")
    keyless.until(research, "status", status="completed")
    details = keyless.get(f"/research/{research}")
    assert details["published"] == "editor"

    merge = keyless.get(f"/research/{research}/merge")

    assert merge["team_id"] == details["winner_team_id"]
    found, report = merge["statements"], keyless.get(f"/research/{research}/report?format=json")
    published = {bare(each["text"]) for each in report["statements"]}
    second = [*(text_of(each, "second") for each in found["changed"]), *found["only_second"]]
    assert found["changed"]
    assert {*second} <= published
    assert len(second) + found["common"] == len(published)
    # A row of a table is told with the names of its columns, and printed without.
    first = [*(text_of(each, "first") for each in found["changed"]), *found["only_first"]]
    own = bare(keyless.http.get(f"/research/{research}/documents/{merge['document']}").text)
    assert [each for each in first if "; " not in each and each.rstrip(".") not in own] == []
    same = keyless.get(f"/research/{research}/compare/{research}")["statements"]
    assert same == {"common": len(published), "changed": [], "only_first": [], "only_second": []}


def bare(markdown: str) -> str:
    """Without emphasis, marks and kinds."""
    return re.sub(r"\*|\[[^\]]*\]| \([a-z ]+\)(?=\.)", "", markdown)


def text_of(words: Sequence[Mapping[str, str]], side: str) -> str:
    return "".join(each["text"] for each in words if each["side"] in {"both", side})


def test_the_second_demo_is_one_team_that_goes_step_by_step_and_leaves_no_lesson(keyless: Api) -> None:
    research = play(keyless, "?name=steps")

    events = [*keyless.events(research)]
    assert events[-1]["status"] == "completed"
    details = keyless.get(f"/research/{research}")
    assert "recorded on" in details["models"]["replies"]
    assert [team["team_id"] for team in details["teams"]] == ["archivist"]
    assert len({each["iteration"] for each in events if each.get("step") == "research"}) > 1
    assert {"round_scored", "report_published"} <= {each["type"] for each in events}
    assert not [each for each in events if each["type"] == "learned"]
    refusal = keyless.http.get(f"/research/{research}/merge")
    assert refusal.status_code == 404
    assert "has published no merged report" in refusal.json()["detail"]


def test_the_japanese_demo_is_played_by_its_name(keyless: Api) -> None:
    research = play(keyless, "?name=ja")

    assert [*keyless.events(research)][-1]["status"] == "completed"
    details = keyless.get(f"/research/{research}")
    assert "に記録（モデル" in details["models"]["replies"]
    assert {team["team_id"] for team in details["teams"]} == {"archivist", "skeptic"}
    assert "取締役会資料" in keyless.http.get(f"/research/{research}/report").text


def test_a_demo_of_another_name_is_refused_with_the_names_that_there_are(keyless: Api) -> None:
    before = keyless.get("/research")["total"]

    response = keyless.http.post("/research/demo?name=race")

    assert response.status_code == 422
    assert response.json() == {
        "detail": "name: Input should be 'contest', 'steps' or 'ja' (given: 'race')",
        "field": "name",
    }
    assert keyless.get("/research")["total"] == before


def test_without_a_key_and_documents_a_research_is_refused_with_what_to_give(keyless: Api) -> None:
    response = keyless.http.post("/research", json={"theme": "Why do bridges hum?"})

    assert response.status_code == 422
    assert "documents" in response.json()["detail"]
    assert keyless.get("/health")["language_model"] is False
