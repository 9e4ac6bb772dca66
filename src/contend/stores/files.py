"""Files that are whole or not there: written beside their place, then moved into it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from contend.errors import StoreUnwritable


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, folders included, text as UTF-8; a kill leaves the old file or the new one.

    Raises:
        StoreUnwritable: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(content if isinstance(content, bytes) else content.encode())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the disk refuses in the block names the path.

    Raises:
        StoreUnwritable: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise StoreUnwritable(f"{path} cannot be written: {reason}; free space or mend its rights") from error
