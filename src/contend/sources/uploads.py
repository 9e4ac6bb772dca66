"""Documents that clients of a server upload for one thread, in a folder of their own in the workspace."""

import os
import shutil
from pathlib import Path
from uuid import uuid4

from contend.errors import InputError
from contend.sources.local import index_folder, list_files
from contend.sources.local_index import forget_indexes
from contend.stores.leases import thread_name
from contend.text import clean, shorten

MOST_UPLOADS = 100
"""Of one thread; who has more names a folder."""
_NAME_BYTES = 200


def uploads_folder(workspace: Path, thread_id: str) -> Path:
    """Where a thread's uploads lie; it is there from the first one on."""
    return workspace / "uploads" / thread_name(thread_id)


def uploads(folder: Path) -> list[Path]:
    """The documents in the folder by name. Blocking."""
    return sorted(folder.glob("*"))


def save_upload(folder: Path, name: str, content: bytes) -> Path:
    """Keep a document, in place of one of the same name. Blocking.

    Raises:
        InputError: the name is not that of a file, the document is none that is read, or the thread has too many.
    """
    path = _path(folder, name)
    if len({*uploads(folder)} - {path}) >= MOST_UPLOADS:
        raise InputError(f"{path.name}: {MOST_UPLOADS} documents are uploaded already: name a folder of the server")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Hidden and outside until it is checked; its end tells its kind.
    draft = folder.parent / f".{uuid4().hex}-{path.name}"
    try:
        draft.write_bytes(content)
        _, left_out = list_files([draft])
        reason = left_out[0].reason if left_out else "" if content else "an empty file"
        if reason:
            raise InputError(f"{path.name}: {reason}; upload another file")
        folder.mkdir(exist_ok=True)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def _path(folder: Path, name: str) -> Path:
    """Where a document of this name lies, whether or not it is there.

    Raises:
        InputError: the name leads out of the folder, is hidden or too long.
    """
    plain = clean(name, single_line=True)
    if not plain or plain.startswith(".") or {"/", "\\"} & {*plain} or len(os.fsencode(plain)) > _NAME_BYTES:
        raise InputError(
            f"{shorten(plain, 80)!r} names no file: give a name without folders, of 1 to {_NAME_BYTES} bytes, "
            "no dot first"
        )
    return folder / plain


def delete_upload(folder: Path, name: str) -> bool:
    """Delete a document, and the folder with the last one; whether it was there. Blocking.

    Raises:
        InputError: the name is not that of a file.
    """
    path = _path(folder, name)
    if not path.is_file():
        return False
    path.unlink()
    if not uploads(folder):
        folder.rmdir()
    return True


def delete_uploads(workspace: Path, thread_id: str) -> None:
    """Delete a thread's documents, and the indexes with their text. Blocking."""
    folder = uploads_folder(workspace, thread_id).resolve()
    if folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)
        forget_indexes(index_folder(workspace), beneath=folder)
