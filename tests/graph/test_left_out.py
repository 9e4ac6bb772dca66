"""Documents that cannot be read: the run goes on without them and tells which they are."""

import shutil
from pathlib import Path

import pytest

from contend.app import dry_run
from fakes.contests import Contest

THEME = "How does resume work after a crash, and what is a team?"


@pytest.fixture
def contest(workspace: Path, documents: Path) -> Contest:
    return Contest(workspace, documents, None)


async def test_the_report_names_a_broken_pdf_and_the_reason(contest: Contest, documents: Path) -> None:
    (documents / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")

    outcome = await contest.run(THEME)

    assert outcome.status == "completed"
    about = (outcome.markdown or "").partition("## About this run")[2]
    assert "- Left out of the documents: broken.pdf (broken, or no PDF)" in about


async def test_a_report_on_documents_that_could_all_be_read_says_nothing_of_it(contest: Contest) -> None:
    outcome = await contest.run(THEME)

    assert "Left out" not in (outcome.markdown or "")


async def test_a_japanese_report_names_them_in_japanese(contest: Contest, documents: Path) -> None:
    (documents / "壊れた.pdf").write_bytes(b"%PDF-1.7 and no more")

    outcome = await contest.run("強制終了した後、再開はどのように動きますか？")

    assert "検索しなかった文書：壊れた.pdf" in (outcome.markdown or "")


async def test_a_dry_run_names_what_a_listing_tells(contest: Contest, documents: Path) -> None:
    (documents / "tune.mp3").write_bytes(b"ID3")
    services = contest.services()

    planned = await dry_run(THEME, options=contest.options(), services=services)

    await services.aclose()
    (line,) = planned.opening.left_out
    assert line.startswith("tune.mp3 (of no known kind")


async def test_documents_that_are_gone_when_a_run_goes_on_are_told_and_end_nothing(
    contest: Contest, documents: Path
) -> None:
    services = contest.services()
    shutil.rmtree(documents)

    told = await services.left_out([str(documents)], read=True)

    await services.aclose()
    assert told == [f"documents: {documents} does not exist: give a file or a folder that does"]
