"""The routes of documents that are uploaded for one research and deleted with it."""

import asyncio
from contextlib import suppress
from pathlib import Path as FilePath
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Request
from pydantic import Field

from contend.api.models import example
from contend.api.requests import BUSY, NOT_FOUND, PROBLEMS, LimitedRoute
from contend.api.routes import Live, ResearchId
from contend.errors import ThreadBusy, UnknownThread
from contend.models.record import Record
from contend.sources.local import MOST_BYTES
from contend.sources.uploads import delete_upload, save_upload, uploads, uploads_folder
from contend.stores.leases import checked_thread


class UploadRoute(LimitedRoute):
    """A route that takes a document, up to the size that contend reads."""

    most_bytes = MOST_BYTES


router = APIRouter(
    prefix="/research/{research_id}/uploads", tags=["uploads"], responses=PROBLEMS, route_class=UploadRoute
)


class Upload(Record):
    """A document that was uploaded; `bytes` is its size."""

    name: str
    bytes: int = Field(ge=0)


class Uploads(Record):
    """A research's documents; `folder` is what its options name as one of their `documents`."""

    model_config = example(
        '{"folder": "/srv/contend/uploads/0b9f3c6e-4f43-4b2c-9a3a-0f6f2f1f7a55", '
        '"uploads": [{"name": "tides.pdf", "bytes": 48213}]}'
    )

    folder: str
    uploads: list[Upload]


async def thread_of_uploads(research_id: ResearchId, live: Live) -> str:
    """A research that there is, or a UUID under which one may begin."""
    thread = checked_thread(research_id)
    with suppress(ValueError):
        return str(UUID(thread))
    return (await live.response(thread)).research_id


Thread = Annotated[str, Depends(thread_of_uploads)]


async def folder_at_rest(thread: Thread, live: Live) -> FilePath:
    """Of a research that nobody works on: its documents may change."""
    with suppress(UnknownThread):  # it has not begun
        if (await live.response(thread)).is_going:
            raise ThreadBusy(f"research {thread} is at work: wait for its end, or cancel it")
    return uploads_folder(live.services.folder, thread)


Folder = Annotated[FilePath, Depends(folder_at_rest)]
Name = Annotated[str, Path(description="The document's file name: its end tells its kind.")]
_BINARY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("", responses=NOT_FOUND)
async def list_uploads(thread: Thread, live: Live) -> Uploads:
    """The documents that were uploaded for a research."""
    return await asyncio.to_thread(_listed, uploads_folder(live.services.folder, thread))


@router.put("/{name:path}", status_code=201, responses=BUSY | NOT_FOUND, openapi_extra=_BINARY)
async def upload_document(name: Name, request: Request, folder: Folder) -> Uploads:
    """Upload a document as it is, for a research that begins under this id, or for its next question."""
    content = await request.body()
    await asyncio.to_thread(save_upload, folder, name, content)
    return await asyncio.to_thread(_listed, folder)


@router.delete("/{name:path}", status_code=204, responses=BUSY | NOT_FOUND)
async def remove_upload(name: Name, folder: Folder) -> None:
    """Delete a document that was uploaded."""
    if not await asyncio.to_thread(delete_upload, folder, name):
        raise UnknownThread(f"{name}: no such document is uploaded; see GET …/uploads")


def _listed(folder: FilePath) -> Uploads:
    documents = [Upload(name=path.name, bytes=path.stat().st_size) for path in uploads(folder)]
    return Uploads(folder=str(folder), uploads=documents)
