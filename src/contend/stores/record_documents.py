"""Records in a document store: put as JSON, got back checked; those used last are kept as they are."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Generic, TypeVar

from pydantic import BaseModel

from contend.stores.documents import DocumentStore

T = TypeVar("T", bound=BaseModel)
_KEPT = 256


class RecordDocuments(Generic[T]):
    """Records of one kind by document id."""

    def __init__(self, kind: type[T], documents: DocumentStore) -> None:
        self._kind = kind
        self._documents = documents
        self._recent: OrderedDict[str, T] = OrderedDict()

    async def put(self, record: T) -> str:
        """Gives the record's document id.

        Raises:
            StoreError: the document cannot be written.
        """
        document = await self._documents.put(record.model_dump_json())
        self._keep(document, record)
        return document

    async def get(self, document: str) -> T:
        """The record that was put under this id.

        Raises:
            StoreError: the document cannot be read.
        """
        known = self._recent.get(document)
        if known is None:
            known = self._kind.model_validate_json(await self._documents.get(document))
        self._keep(document, known)
        return known

    async def get_many(self, documents: Sequence[str]) -> list[T]:
        """In turn; raises as `get`."""
        return [await self.get(document) for document in documents]

    def _keep(self, document: str, record: T) -> None:
        self._recent[document] = record
        self._recent.move_to_end(document)
        if len(self._recent) > _KEPT:
            self._recent.popitem(last=False)
