import shutil
from pathlib import Path

import pytest

from contend.app import delete, status
from contend.errors import UnknownThread
from fakes.contests import Contest

THEME = "How does resume work after a crash, and what is a team?"


async def test_a_deleted_thread_leaves_no_checkpoint_row_text_or_report(contest: Contest, workspace: Path) -> None:
    outcome = await contest.run(THEME, thread_id="gone", max_rounds=1)
    services = contest.services()

    deletion = await delete("gone", services=services)

    assert deletion.executions == 1
    assert deletion.documents > 2
    assert await services.record.executions() == []
    assert await services.record.rounds(outcome.execution_id) == []
    assert not (workspace / "results" / "gone").exists()
    assert not (workspace / "documents" / "runs" / outcome.execution_id).exists()
    with pytest.raises(UnknownThread):
        await status("gone", services=services)
    playbook = await services.playbooks.load("default")
    await services.aclose()
    assert playbook.bullets


async def test_texts_that_another_thread_uses_stay_also_where_it_read_them_in_copies(
    contest: Contest, documents: Path, tmp_path: Path
) -> None:
    copies = shutil.copytree(documents, tmp_path / "copies")
    await contest.run(THEME, thread_id="gone", max_rounds=1)
    other = await contest.run(THEME, thread_id="kept", max_rounds=1, documents=[str(copies)])
    services = contest.services()

    await delete("gone", services=services)

    submissions = (await services.record.submission_documents())["kept"]
    for document in submissions:
        submission = await services.require_submission(document)
        await services.documents.get_many(passage.id for passage in submission.passages)
    again = await status("kept", services=services)
    await services.aclose()
    assert again.markdown == other.markdown


async def test_deleting_an_unknown_thread_is_refused(contest: Contest) -> None:
    services = contest.services()

    with pytest.raises(UnknownThread, match="nobody"):
        await delete("nobody", services=services)

    await services.aclose()
