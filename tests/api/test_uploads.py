"""Documents that a client uploads for one research, over the HTTP API of a real Agent Server."""

from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from fakes.api_client import Api

TIDES = b"# Tides\n\nThe tide at the harbour of Nordmole rises by four metres. The tide falls again within six hours.\n"
THEME = "By how much does the tide at Nordmole rise?"
OPTIONS = {"teams": ["alpha"], "learn": False}


def upload(
    api: Api, research: str, name: str, content: bytes = TIDES, kind: str = "application/octet-stream"
) -> httpx.Response:
    path = f"/research/{research}/uploads/{quote(name, safe='')}"
    return api.http.put(path, content=content, headers={"Content-Type": kind})


def folder_of(api: Api, research: str) -> Path:
    return api.server.workspace / "uploads" / research


def texts_of_tides(api: Api) -> list[Path]:
    """Where the workspace keeps words of the document: passages, drafts, indexes."""
    kept = [path for path in (api.server.workspace / "documents").rglob("*") if path.is_file()]
    return [path for path in kept if b"harbour of Nordmole" in path.read_bytes()]


def test_what_is_uploaded_for_a_research_is_read_cited_and_deleted_with_it(api: Api) -> None:
    research = str(uuid4())

    uploaded = upload(api, research, "潮汐.md")

    assert uploaded.status_code == 201, uploaded.text
    assert uploaded.json()["uploads"] == [{"name": "潮汐.md", "bytes": len(TIDES)}]
    options = OPTIONS | {"documents": [uploaded.json()["folder"]]}
    assert api.http.put(f"/research/{research}", json={"theme": THEME, "options": options}).status_code == 202
    api.until(research, "status", status="completed")
    assert [source["title"] for source in api.get(f"/research/{research}/report?format=json")["sources"]] == ["Tides"]
    assert api.get(f"/research/{research}/uploads") == uploaded.json()
    assert folder_of(api, research).is_dir()
    assert texts_of_tides(api) != []

    assert api.http.delete(f"/research/{research}/data").status_code == 204
    assert not folder_of(api, research).exists()
    assert texts_of_tides(api) == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("tides.zip", b"PK", "tides.zip: of no known kind: read are .adoc, .asc, .cfg"),
        ("tides.md", b"", "tides.md: an empty file"),
        ("../../tides.md", TIDES, "'../../tides.md' names no file: give a name without folders"),
        ("a\\b.md", TIDES, "names no file"),
        (".env", TIDES, "'.env' names no file"),
        (f"{'a' * 200}.md", TIDES, "names no file"),
    ],
)
def test_a_document_that_cannot_be_read_or_whose_name_leads_elsewhere_is_refused_by_name(
    api: Api, name: str, content: bytes, said: str
) -> None:
    research = str(uuid4())
    before = {*api.server.workspace.rglob("*tides*")}

    refused = upload(api, research, name, content)

    assert refused.status_code == 422
    assert said in refused.json()["detail"]
    assert not folder_of(api, research).exists()
    assert {*api.server.workspace.rglob("*tides*")} == before


def test_a_document_larger_than_contend_reads_is_refused_by_name(api: Api) -> None:
    refused = upload(api, str(uuid4()), "tides.md", b"a" * 50_000_001)

    assert refused.status_code == 413
    assert refused.json()["detail"] == "tides.md is larger than 50,000,000 bytes: shorten it"


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"])
def test_a_kind_of_body_that_any_page_may_send_is_refused(api: Api, kind: str) -> None:
    refused = upload(api, str(uuid4()), "tides.md", kind=kind)

    assert refused.status_code == 415
    assert "application/octet-stream" in refused.json()["detail"]


def test_a_document_is_taken_back_and_one_that_is_not_there_is_said_to_be_missing(api: Api) -> None:
    research = str(uuid4())
    upload(api, research, "tides.md")

    assert api.http.delete(f"/research/{research}/uploads/tides.md").status_code == 204
    missing = api.http.delete(f"/research/{research}/uploads/tides.md")

    assert missing.status_code == 404
    assert "tides.md: no such document is uploaded" in missing.json()["detail"]
    assert api.get(f"/research/{research}/uploads")["uploads"] == []
    assert not folder_of(api, research).exists()


def test_of_too_many_documents_the_last_is_refused(api: Api) -> None:
    research = str(uuid4())
    folder = folder_of(api, research)
    folder.mkdir(parents=True)
    for number in range(100):
        (folder / f"{number}.md").write_bytes(TIDES)

    assert upload(api, research, "99.md").status_code == 201
    refused = upload(api, research, "100.md")

    assert refused.status_code == 422
    assert "100.md: 100 documents are uploaded already" in refused.json()["detail"]


def test_the_documents_of_a_research_at_work_stay_as_they_are(api: Api) -> None:
    research = api.start(THEME, options=OPTIONS | {"approve": ["plan"]})
    api.until(research, "question_asked")
    api.until(research, "status", status="interrupted")
    assert upload(api, research, "tides.md").status_code == 201
    api.http.post(f"/research/{research}/answers", json={"decision": "approve"})

    refused = upload(api, research, "more.md")

    assert refused.status_code == 409
    assert "is at work" in refused.json()["detail"]
    api.until(research, "status", status="completed")
