"""Files that are whole or not there: written beside their place, then moved into it."""

from pathlib import Path
from uuid import uuid4

from contend.errors import StoreError


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, folders included, text as UTF-8; a kill leaves the old file or the new one.

    Raises:
        StoreError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(content if isinstance(content, bytes) else content.encode())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}; free space or mend its rights") from error
