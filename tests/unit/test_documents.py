"""Long texts by the hash of their content."""

import asyncio
from hashlib import sha256
from pathlib import Path

import pytest

from contend.errors import StoreError
from contend.stores import DocumentStore, passage_id


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "documents"


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("text", ["", "The bridge hums.", "橋が鳴る。\r\n\x00", "torn \ud800"])
async def test_a_text_comes_back_as_it_was_put_in_another_process_too(folder: Path, text: str) -> None:
    document_id = await DocumentStore(folder).put(text)

    assert await DocumentStore(folder).get(document_id) == text


async def test_the_id_is_the_hash_of_the_content(folder: Path) -> None:
    assert await DocumentStore(folder).put("橋") == sha256("橋".encode()).hexdigest()


async def test_the_same_text_is_kept_once_and_nothing_is_left_beside_it(folder: Path) -> None:
    stores = [DocumentStore(folder) for _ in range(4)]

    ids = await asyncio.gather(*(store.put("The bridge hums.") for store in stores for _ in range(4)))

    assert len(set(ids)) == 1
    assert len(files(folder)) == 1


async def test_a_missing_text_is_a_clear_error(folder: Path) -> None:
    with pytest.raises(StoreError, match="is missing: run the search again"):
        await DocumentStore(folder).get("0" * 64)


async def test_a_text_changed_on_disk_is_not_given_out(folder: Path) -> None:
    document_id = await DocumentStore(folder).put("The bridge hums.")
    files(folder)[0].write_text("The bridge sings.")

    with pytest.raises(StoreError, match="was changed on disk"):
        await DocumentStore(folder).get(document_id)


async def test_putting_a_text_again_mends_its_damaged_file(folder: Path) -> None:
    document_id = await DocumentStore(folder).put("The bridge hums.")
    files(folder)[0].write_text("torn")

    await DocumentStore(folder).put("The bridge hums.")

    assert await DocumentStore(folder).get(document_id) == "The bridge hums."


async def test_a_recent_text_is_answered_from_memory(folder: Path) -> None:
    store = DocumentStore(folder)
    document_id = await store.put("The bridge hums.")
    files(folder)[0].unlink()

    assert await store.get(document_id) == "The bridge hums."


async def test_memory_holds_only_so_much(folder: Path) -> None:
    store = DocumentStore(folder)
    first = await store.put("a" * 5_000_000)
    await store.put("b" * 5_000_000)
    for path in files(folder):
        path.unlink()

    with pytest.raises(StoreError, match="missing"):
        await store.get(first)


async def test_many_texts_come_by_id(folder: Path) -> None:
    store = DocumentStore(folder)
    one, two = await store.put("one"), await store.put("two")

    assert await store.get_many([two, one, two]) == {one: "one", two: "two"}


async def test_a_deleted_text_is_gone_and_deleting_it_again_does_no_harm(folder: Path) -> None:
    store = DocumentStore(folder)
    document_id = await store.put("one")

    await store.delete([document_id])
    await store.delete([document_id])

    with pytest.raises(StoreError, match="missing"):
        await store.get(document_id)


@pytest.mark.parametrize("document_id", ["../../etc/passwd", "", "F" * 64, "0" * 63 + "\n", "0" * 65])
async def test_an_id_that_is_none_never_becomes_a_path(folder: Path, document_id: str) -> None:
    with pytest.raises(StoreError, match="is no document id"):
        await DocumentStore(folder).get(document_id)


async def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "documents").write_text("a file in the way")

    clear = r"/documents/\w{2}/\w{64}\.txt cannot be written: Not a directory; free space or mend its rights"
    with pytest.raises(StoreError, match=clear):
        await DocumentStore(tmp_path / "documents").put("one")


async def test_passages_of_two_documents_share_a_text_and_each_is_got_by_its_own_id(folder: Path) -> None:
    store = DocumentStore(folder)
    text = await store.put("The fee is 9,000 pounds.")
    one, other = passage_id(text, "file:///docs/2024.md"), passage_id(text, "file:///docs/2025.md")

    assert one != other
    for each in (store, DocumentStore(folder)):
        assert await each.get_many([other, text, one]) == dict.fromkeys([other, text, one], "The fee is 9,000 pounds.")
    assert len(files(folder)) == 1
