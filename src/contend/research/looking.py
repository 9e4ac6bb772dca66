"""The nodes that act in the sources: search, find and read, sent one action each; and how failures of sources end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.errors import NodeError
from langgraph.types import Command

from contend.errors import SourceError
from contend.evidence import Action, ActionTask, Brought, store_hits
from contend.evidence.actions import HITS, PlaceToRead, place_to_read, words_to_find
from contend.langgraph_compat import known_cause
from contend.models.events import MOST_HITS, Event, Hit, SearchDone, SourceOff
from contend.models.research import FoundPassage, SearchResult
from contend.research.state import TeamRound
from contend.run_context import RunContext
from contend.services import Services
from contend.text import reason_text

MOST_DOCUMENTS = MOST_SECTIONS = 10**6


@dataclass(frozen=True)
class ActionNodes:
    """The three actions; what they bring goes into the state's `key`, and a failure goes on to `join`."""

    services: Services
    key: str
    join: Literal["collect", "collect_looks"]

    async def search(self, task: ActionTask) -> dict[str, Any]:
        """Key words in one source."""
        action, run = task["action"], await self.services.run(task)
        source = await self.services.sources.ready(action["source"], run.options.documents, run.execution_id)
        return await self._brought(task, await source.search(action["text"], limit=HITS))

    async def find(self, task: ActionTask) -> dict[str, Any]:
        """Words as they stand in the own documents."""
        run, url = await self.services.run(task), task["url"]
        words = words_to_find(task["action"]["text"], MOST_DOCUMENTS if url else 0)
        # Of one document all sections that hold the words are looked at.
        hits, total = await self.services.sources.find(
            run.options.documents, run.execution_id, words.text, limit=MOST_SECTIONS if url else HITS
        )
        own = [hit for hit in hits if not url or hit.result.url == url]
        return await self._brought(task, own[:HITS], len(own) if url else total)

    async def read(self, task: ActionTask) -> dict[str, Any]:
        """Sections of a document, or of a page that a search returned. One that cannot be read is noted."""
        run = await self.services.run(task)
        place = place_to_read(task["action"]["text"])
        if place is None or not task["url"]:
            return self._nothing(task, "there is no such document")
        try:
            hits, total = await self._sections(run, task, place)
        except SourceError as error:
            return self._nothing(task, reason_text(str(error), run.options.language))
        return await self._brought(task, hits, total)

    async def _sections(self, run: RunContext, task: ActionTask, place: PlaceToRead) -> tuple[list[FoundPassage], int]:
        """The sections, and how many the document has."""
        sources, url = self.services.sources, task["url"]
        if url.startswith("file:"):
            documents, execution_id = run.options.documents, run.execution_id
            entries = await sources.catalogue(documents, execution_id)
            total = next((entry.sections for entry in entries if entry.url == url), 0)
            return await sources.read(documents, execution_id, url, place.first, place.last), total
        page = await sources.full_texts.read(url)
        hits = await sources.read_page(SearchResult.model_validate(task["result"]), place.first, place.last)
        return hits, len(page.sections)

    async def act(self, task: ActionTask) -> dict[str, Any]:
        """Whichever action it is."""
        kinds: dict[str, Callable[[ActionTask], Any]] = {"search": self.search, "find": self.find, "read": self.read}
        brought: dict[str, Any] = await kinds[task["action"]["kind"]](task)
        return brought

    async def turn_off(self, task: ActionTask, error: NodeError) -> Command[Literal["collect", "collect_looks"]]:
        """Turn off a failing source for the rest of the run; the other sources continue."""
        why, source, run = known_cause(error, SourceError), task["action"]["source"], await self.services.run(task)
        reason = turn_off(run, source, why, team_id=task["team_id"], tell=self.services.tell)
        nothing = self._nothing(task, reason)
        # A failed node's edges are not followed: without this, actions that all fail would end the graph silently.
        failed = {"failed": [{"source": source, "reason": reason}]} if self.key == "brought" else {}
        return Command(update={**nothing, **failed}, goto=self.join)

    async def _brought(self, task: ActionTask, hits: list[FoundPassage], total: int = 0) -> dict[str, Any]:
        run_id, team_id, round_number = task["execution_id"], task["team_id"], task.get("round_number", 0)
        key = TeamRound(execution_id=run_id, team_id=team_id, round_number=round_number)
        self.services.tell(action_event(key, task["action"], hits))
        own = await store_hits(hits, task["action"], self.services.documents)
        return {self.key: [Brought(number=task["number"], hits=own, total=total, problem="", url=task["url"])]}

    def _nothing(self, task: ActionTask, problem: str) -> dict[str, Any]:
        return {self.key: [Brought(number=task["number"], hits=[], total=0, problem=problem, url=task["url"])]}


def turn_off(run: RunContext, source: str, error: SourceError, *, team_id: str, tell: Callable[[Event], None]) -> str:
    """Turn off the source of a failed action for the rest of the run, and announce it once.

    Gives the reason in the run's language.
    """
    reason = reason_text(str(error), run.options.language)
    if run.turn_off(source, reason):
        tell(SourceOff(execution_id=run.execution_id, team_id=team_id, source=source, reason=reason))
    return reason


def action_event(key: TeamRound, action: Action, hits: Sequence[FoundPassage]) -> SearchDone:
    """One action as the run's followers are told of it."""
    by_url = {hit.result.url: hit for hit in hits}
    return SearchDone(
        **key,
        kind=action["kind"],
        query=action["text"],
        source=action["source"],
        count=len(hits),
        hits=[
            Hit(title=hit.result.title, url=hit.result.url, published_date=hit.result.published_date)
            for hit in [*by_url.values()][:MOST_HITS]
        ],
    )
