"""Web addresses and DOIs in a text, and addresses as readers see them."""

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from contend.text.cleaning import clean

ADDRESS = re.compile(
    r"""
    (?: \b[a-z][a-z0-9+.-]{0,20}:// | \bwww\.(?=\w) | (?<![:/\w])//(?=[a-z0-9-]{1,63}\.[a-z0-9])
      | \b(?:javascript|vbscript|mailto|blob):(?=\S) | \bdata:(?=[\w.+-]{0,60}[/;,])
      | \bdoi:\s?(?=10\.\d) | (?<![\w./-])10\.\d{4,9}/
      | (?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,8}
        (?:com|org|net|edu|gov|info|biz|io|dev|app|ai|co|jp|uk|de|fr|eu|cn|ru)(?::\d{1,5})?/ )
    [!#-;=?-_a-z{-~]*
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi\.org/|doi:\s?)?(10\.\d{4,9}/.+)", re.IGNORECASE)
_AFTER_ADDRESS = ".,;:!?)]}'*_"


def addresses(text: str) -> set[str]:
    """The addresses that stand in a text, as `address_key` has them."""
    return {address_key(match[0]) for match in ADDRESS.finditer(text)}


def address_key(address: str) -> str:
    """What two spellings of one address share: a DOI may be written with its resolver, its scheme or alone."""
    core = without_tail(address)
    doi = _DOI.match(core)
    return f"doi:{doi[1].lower()}" if doi else core.rstrip("/")


def without_tail(address: str) -> str:
    """The address without the punctuation of the sentence around it."""
    end, excess = len(address), address.count(")") - address.count("(")
    while end and address[end - 1] in _AFTER_ADDRESS and not (address[end - 1] == ")" and excess <= 0):
        end -= 1
        excess -= address[end] == ")"
    return address[:end]


def file_name(url: str) -> str:
    """The name of a local document's file; "" for what stands elsewhere."""
    parts = urlsplit(url)
    return clean(Path(unquote(parts.path)).name, single_line=True) if parts.scheme == "file" else ""


def shown_address(url: str, folders: Sequence[Path] = ()) -> str:
    """A web address as it is, and a local document as its path in one of the folders, which may be files themselves.

    Of several folders the path names its own. Documents elsewhere keep their whole address.
    """
    parts = urlsplit(url)
    path = Path(unquote(parts.path))
    folder = next((each for each in folders if parts.scheme == "file" and path.is_relative_to(each)), None)
    if folder is None:
        return url
    outer = folder.parent if len(folders) > 1 or path == folder else folder
    # Names of files may hold line ends and what moves a terminal's cursor or turns a line's direction.
    return clean(path.relative_to(outer).as_posix(), single_line=True)
