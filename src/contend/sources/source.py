"""What every source is to the researcher."""

from typing import Protocol

from contend.models.research import Found


class Source(Protocol):
    """A place to search. Adapters map their vendor's errors to SourceError once, here.

    `summarizes`: its texts are summaries of documents elsewhere, the best of which are read in full; the others are
    passages of documents.
    """

    name: str
    summarizes: bool

    async def check(self) -> str | None:
        """None if the source can be used, else the reason it is off; answers within 3 seconds."""
        ...

    async def search(self, query: str, *, limit: int) -> list[Found]:
        """At most `limit` results, best first.

        Raises:
            SourceError: the source refused or failed.
        """
        ...
