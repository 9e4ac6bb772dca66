"""Long texts by the hash of their content: state and record hold ids, the texts lie here once.

Each step writes a checkpoint of the whole state, which ids keep small. A step that is repeated writes the same file.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from contend.errors import StoreError
from contend.stores.files import write_file

_ID = re.compile(r"([0-9a-f]{64})(?:-[0-9a-f]{16})?")
_CHARACTERS_IN_MEMORY = 8_000_000
_RECORDS_IN_MEMORY = 256
T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")


def content_id(text: str) -> str:
    """The id of a text: its SHA-256 as 64 hex digits."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def passage_id(text: str, address: str) -> str:
    """The id of a passage: the same words in another document are another passage.

    `text`: the text's id in the store. The store accepts both ids.
    """
    return f"{text}-{sha256(address.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def text_id(document_id: str) -> str:
    """The text id within a passage id; any other id unchanged."""
    match = _ID.fullmatch(document_id)
    return match[1] if match else document_id


def ids_in(state: object) -> set[str]:
    """All text ids in a state, at any depth."""
    match state:
        case str():
            return {text_id(state)} if _ID.fullmatch(state) else set()
        case Mapping():
            return ids_in(list(state.values()))
        case list() | tuple():
            return set().union(*map(ids_in, state))
    return set()


class DocumentStore:
    """Texts in a folder, which is created with the first. Safe to share between tasks and processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._recent: _Recent[str] = _Recent(_CHARACTERS_IN_MEMORY)

    async def put(self, text: str) -> str:
        """Store the text and return its id.

        Raises:
            StoreError: the folder cannot be written.
        """
        (document_id,) = await self.put_many([text])
        return document_id

    async def put_many(self, texts: Sequence[str]) -> list[str]:
        """Store several texts and return their ids in the same order; raises as `put`."""
        contents = [text.encode("utf-8", "surrogatepass") for text in texts]
        ids = [*map(content_id, texts)]
        paths = [self._path(document_id) for document_id in ids]
        # All in one thread call: the switch costs more than writing a small file.
        await asyncio.to_thread(lambda: [*map(_write, paths, contents)])
        for document_id, text in zip(ids, texts, strict=True):
            self._recent.put(document_id, text, size=len(text))
        return ids

    async def get(self, document_id: str) -> str:
        """The text of this id.

        Raises:
            StoreError: it is missing, cannot be read, or was changed on disk.
        """
        return (await self.get_many([document_id]))[document_id]

    async def get_many(self, document_ids: Iterable[str]) -> dict[str, str]:
        """Texts by id, in the order given; several passages may share a text.

        Raises:
            StoreError: as `get`, for the first that fails.
        """
        ids = {document_id: text_id(document_id) for document_id in document_ids}
        texts: dict[str, Any] = {each: self._recent.get(each) for each in ids.values()}
        missing = {each: self._path(each) for each, text in texts.items() if text is None}
        if missing:
            texts |= await asyncio.to_thread(lambda: {each: _read(path, each) for each, path in missing.items()})
        for each, text in texts.items():
            self._recent.put(each, text, size=len(text))
        return {document_id: texts[each] for document_id, each in ids.items()}

    async def missing(self, document_ids: Iterable[str]) -> list[str]:
        """The ids whose texts are not in the folder."""
        paths = {each: self._path(each) for each in document_ids}
        return await asyncio.to_thread(lambda: [each for each, path in paths.items() if not path.is_file()])

    async def delete(self, document_ids: Iterable[str]) -> None:
        """Remove texts; missing ones are ignored.

        Raises:
            StoreError: a file cannot be removed.
        """
        paths = {each: self._path(each) for each in map(text_id, document_ids)}
        for document_id in paths:
            self._recent.drop(document_id)
        await asyncio.to_thread(lambda: [*map(_remove, paths.values())])

    def _path(self, document_id: str) -> Path:
        """The first two digits name a subfolder, to keep folders small."""
        if not _ID.fullmatch(document_id):
            raise StoreError(f"{document_id[:80]!r} is no document id: ids are 64 hex digits")
        return self._folder / document_id[:2] / f"{document_id}.txt"


class RecordDocuments(Generic[T]):
    """Records of one type, stored as JSON documents and validated when read; recent ones stay in memory."""

    def __init__(self, kind: type[T], documents: DocumentStore) -> None:
        self._kind = kind
        self._documents = documents
        self._recent: _Recent[T] = _Recent(_RECORDS_IN_MEMORY)

    async def put(self, record: T) -> str:
        """Store the record and return its document id.

        Raises:
            StoreError: the document cannot be written.
        """
        document = await self._documents.put(record.model_dump_json())
        self._recent.put(document, record, size=1)
        return document

    async def get(self, document: str) -> T:
        """The record of this document id.

        Raises:
            StoreError: the document cannot be read.
        """
        record = self._recent.get(document)
        if record is None:
            record = self._kind.model_validate_json(await self._documents.get(document))
            self._recent.put(document, record, size=1)
        return record

    async def get_many(self, documents: Sequence[str]) -> list[T]:
        """Records in the order of the ids; raises as `get`."""
        return [await self.get(document) for document in documents]


class _Recent(Generic[V]):
    """A cache of the most recently used values, limited by the sum of their sizes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: dict[str, tuple[V, int]] = {}
        self._size = 0

    def get(self, key: str) -> V | None:
        if key not in self._values:
            return None
        value, _ = self._values[key] = self._values.pop(key)
        return value

    def put(self, key: str, value: V, *, size: int) -> None:
        self.drop(key)
        self._values[key] = (value, size)
        self._size += size
        while self._size > self._capacity:
            self.drop(next(iter(self._values)))

    def drop(self, key: str) -> None:
        _, size = self._values.pop(key, (None, 0))
        self._size -= size


def _write(path: Path, content: bytes) -> None:
    with suppress(OSError):  # what is not there, or cannot be read, is written
        if path.read_bytes() == content:
            return
    write_file(path, content)


def _read(path: Path, document_id: str) -> str:
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise StoreError(f"document {path} is missing: run the search again") from error
    except OSError as error:
        raise StoreError(f"cannot read document {path}: {error.strerror}") from error
    if sha256(content).hexdigest() != document_id:
        raise StoreError(f"document {path} was changed on disk: delete it and search again")
    return content.decode("utf-8", "surrogatepass")


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot remove document {path}: {error.strerror}") from error
