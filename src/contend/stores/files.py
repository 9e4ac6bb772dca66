"""Write files atomically: to a temporary file, then renamed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from contend.errors import StoreUnwritable


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file and its folders, text as UTF-8; after a kill the old file or the new one is there.

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
    """Turn an OSError in the block into an error that names the path.

    Raises:
        StoreUnwritable: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise StoreUnwritable(f"{path} cannot be written: {reason}; free space or mend its rights") from error
