"""A person's changes to a playbook over HTTP: the same versions, checks and undo as on the terminal."""

import json
from collections.abc import Mapping
from uuid import uuid4

import httpx
import pytest

from contend.learning.by_hand import read_bullets
from fakes.api_client import Api

PRIMARY = "Search primary sources before opinion pieces."
YEAR = "Name the year of every figure you cite."
TIDES = "For tides, trust the table."
LESSONS = json.dumps(
    {
        "bullets": [
            {"id": "b-1", "section": "searching", "content": PRIMARY, "helpful": 3},
            {"id": "b-2", "section": "writing", "content": YEAR},
        ]
    }
)


@pytest.fixture
def ports(api: Api) -> str:
    """The path of a playbook of two lessons, one with votes, at version 1."""
    path = f"/playbooks/ports-{uuid4().hex[:8]}"
    api.server.import_lessons(path.rpartition("/")[2], LESSONS)
    return path


def result(answer: httpx.Response) -> dict[str, object]:
    assert answer.status_code == 200, answer.text
    body: dict[str, object] = answer.json()
    return body


def contents(api: Api, path: str) -> list[str]:
    return [bullet["content"] for bullet in api.get(path)["bullets"]]


def test_a_lesson_is_added_edited_retired_restored_and_each_step_is_a_version_with_its_author(
    api: Api, ports: str
) -> None:
    added = result(
        api.http.post(f"{ports}/lessons", json={"content": TIDES, "example": "the May table", "always": True})
    )
    new = api.get(ports)["bullets"][-1]
    reworded = "Before opinion pieces, search primary sources."
    result(api.http.patch(f"{ports}/lessons/b-1", json={"content": reworded}))
    result(api.http.delete(f"{ports}/lessons/b-2"))
    removed_lessons = api.get(f"{ports}/retired")["bullets"]
    result(api.http.post(f"{ports}/lessons/b-2/restore"))

    assert added["playbook_version"] == 2
    assert (new["status"], new["provenance"], new["example"], new["always"]) == (
        "active",
        "by hand",
        "the May table",
        True,
    )
    assert [bullet["content"] for bullet in removed_lessons] == [YEAR]
    assert sorted(contents(api, ports)) == sorted([reworded, TIDES, YEAR])
    assert api.get(ports)["bullets"][0]["helpful"] == 0
    versions = api.get(f"{ports}/versions")["versions"]
    assert [(each["reason"], [item["operation"] for item in each["delta_items"]]) for each in versions] == [
        ("restored by hand", ["ADD"]),
        ("removed by hand", ["DELETE"]),
        ("edited by hand", ["UPDATE"]),
        ("added by hand", ["ADD"]),
        ("imported from lessons.json", ["ADD", "ADD"]),
    ]


def test_another_meaning_begins_without_votes(api: Api, ports: str) -> None:
    result(api.http.patch(f"{ports}/lessons/b-1", json={"content": "Search opinion pieces only."}))

    assert (api.get(ports)["bullets"][0]["content"], api.get(ports)["bullets"][0]["helpful"]) == (
        "Search opinion pieces only.",
        0,
    )


def test_a_version_is_compared_with_the_newest_and_gone_back_to(api: Api, ports: str) -> None:
    result(api.http.post(f"{ports}/lessons", json={"content": TIDES}))
    result(api.http.patch(f"{ports}/lessons/b-1", json={"section": "reading"}))
    result(api.http.delete(f"{ports}/lessons/b-2"))

    diff = api.get(f"{ports}/diff?first=1")
    assert [bullet["content"] for bullet in diff["added"]] == [TIDES]
    assert [bullet["id"] for bullet in diff["removed"]] == ["b-2"]
    assert [(each["before"]["section"], each["after"]["section"]) for each in diff["changed"]] == [
        ("searching", "reading")
    ]

    back = result(api.http.post(f"{ports}/versions/1/rollback"))
    assert back["version"] == 5
    assert contents(api, ports) == [PRIMARY, YEAR]
    assert api.get(f"{ports}/versions")["versions"][0]["reason"] == "rolled back to version 1"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/lessons", {"content": TIDES}),
        ("PATCH", "/lessons/b-1", {"content": TIDES}),
        ("DELETE", "/lessons/b-1", None),
        ("POST", "/lessons/b-3/restore", None),
        ("POST", "/versions/1/rollback", None),
    ],
)
def test_a_change_to_a_version_that_is_no_longer_the_newest_is_told_and_not_made(
    api: Api, ports: str, method: str, path: str, body: Mapping[str, str] | None
) -> None:
    api.server.import_lessons(ports.rpartition("/")[2], '[{"id": "b-3", "content": "Ask early."}]')
    result(api.http.delete(f"{ports}/lessons/b-3"))

    stale = api.http.request(method, f"{ports}{path}?version=1", json=body)

    assert stale.status_code == 409, stale.text
    assert "is at version 3, not 1: somebody changed it since: read it again" in stale.json()["detail"]
    assert contents(api, ports) == [PRIMARY, YEAR]
    assert api.http.request(method, f"{ports}{path}?version=3", json=body).status_code == 200


def test_a_playbook_as_it_is_read_is_a_file_that_an_import_reads(api: Api, ports: str) -> None:
    bullets, left_out = read_bullets(api.http.get(ports).text, name="ports.json")

    assert [(bullet.content, bullet.helpful) for bullet in bullets] == [(PRIMARY, 3), (YEAR, 0)]
    assert left_out == []


@pytest.mark.parametrize(
    ("call", "status", "message"),
    [
        (("POST", "/lessons", {"content": " "}), 422, "content: String should have at least 1 character"),
        (("POST", "/lessons", {"content": "長" * 2001}), 422, "content: String should have at most 2000 characters"),
        (("POST", "/lessons", {"content": "Read https://evil.example first."}), 422, "holds a link: leave that out"),
        (("POST", "/lessons", {"content": TIDES, "section": "a\nb"}), 422, "section"),
        (("PATCH", "/lessons/b-1", {"content": "The password is harbour-gull-77."}), 422, "looks like a secret"),
        (("PATCH", "/lessons/b-1", {}), 422, "nothing to change: give content, section, example or always"),
        (("PATCH", "/lessons/b-1", {"votes": 3}), 422, "votes: Extra inputs are not permitted"),
        (("PATCH", "/lessons/b-9", {"content": TIDES}), 404, "lesson 'b-9': it is not in playbook 'ports"),
        (("DELETE", "/lessons/b-9", None), 404, "lesson 'b-9': it is not in playbook 'ports"),
        (("POST", "/lessons/b-1/restore", None), 404, "lesson 'b-1': no such one is retired"),
        (("POST", "/versions/7/rollback", None), 404, "has no version 7"),
        (("GET", "/diff?first=1&second=7", None), 404, "has no version 7"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_changes_nothing(
    api: Api, ports: str, call: tuple[str, str, object], status: int, message: str
) -> None:
    method, path, body = call
    response = api.http.request(method, f"{ports}{path}", json=body)

    assert (response.status_code, "\n" in response.json()["detail"]) == (status, False), response.text
    assert message in response.json()["detail"]
    assert (contents(api, ports), api.get(ports)["version"]) == ([PRIMARY, YEAR], 1)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/lessons/b-1"),
        ("POST", "/lessons/b-1/restore"),
        ("POST", "/versions/0/rollback"),
    ],
)
def test_a_playbook_that_is_not_there_is_not_made(api: Api, method: str, path: str) -> None:
    answer = api.http.request(method, f"/playbooks/nothing{path}")

    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        "playbook 'nothing': there is none; see GET /playbooks",
    )
    assert not list((api.server.workspace / "playbooks").glob("nothing*"))


def test_a_name_that_is_no_datasets_is_refused(api: Api) -> None:
    answer = api.http.post("/playbooks/ports.json/lessons", json={"content": TIDES})

    assert answer.status_code == 422
    assert "dataset 'ports.json': use 1 to 64 letters" in answer.json()["detail"]


def test_a_body_too_large_is_refused_before_it_is_read_to_its_end(api: Api, ports: str) -> None:
    text = b'{"content": "' + b"x" * (9 * 1024 * 1024) + b'"}'

    def in_parts() -> object:
        yield from (text[start : start + 65536] for start in range(0, len(text), 65536))

    headers = {"content-type": "application/json"}
    for path, body in ((f"{ports}/lessons", text), (f"{ports}/lessons", in_parts()), ("/research", in_parts())):
        large = api.http.post(path, content=body, headers=headers)  # type: ignore[arg-type]  # a generator

        assert large.status_code == 413, large.text
        assert large.json()["detail"] == "the body is larger than 8,388,608 bytes: shorten it"


def test_another_web_page_changes_no_playbook(api: Api, ports: str) -> None:
    elsewhere = api.http.delete(f"{ports}/lessons/b-1", headers={"Origin": "https://evil.example"})
    plain = api.http.post(f"{ports}/lessons", content="{}", headers={"Content-Type": "text/plain"})

    assert (elsewhere.status_code, plain.status_code) == (403, 415)
    assert contents(api, ports) == [PRIMARY, YEAR]


def test_a_damaged_playbook_is_told_beside_the_others_and_a_version_takes_its_place(api: Api, ports: str) -> None:
    result(api.http.delete(f"{ports}/lessons/b-2"))
    name = ports.removeprefix("/playbooks/")
    (api.server.workspace / "playbooks" / f"{name}.json").write_text('{"dataset":', "utf-8")

    problems = {item["dataset"]: item["problem"] for item in api.get("/playbooks")["playbooks"]}
    assert "the last good version is 2" in problems.pop(name)
    assert set(problems.values()) <= {None}
    assert api.http.get(ports).status_code == 503
    assert [each["version"] for each in api.get(f"{ports}/versions")["versions"]] == [2, 1]

    assert result(api.http.post(f"{ports}/versions/1/rollback?version=2"))["version"] == 3
    assert contents(api, ports) == [PRIMARY, YEAR]
