"""The curator: turns lessons into operations on a dataset's playbook, and carries them out."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol
from uuid import uuid4

from contend.learning.merging import MergeRules, merged
from contend.learning.screening import Sources
from contend.learning.sections import SectionFile
from contend.llm.model import Model, Scope
from contend.models.playbook import (
    Bullet,
    CurationResult,
    DeltaContextItem,
    Insight,
    Playbook,
    ReflectionResult,
    Section,
    Skipped,
)
from contend.models.record import Language
from contend.models.replies import CurationReply
from contend.models.task import CallUsage
from contend.prompts.lessons import curator_values, nearest
from contend.resources import resource
from contend.retrieval import Embedder
from contend.stores.playbooks import Curated, PlaybookStore
from contend.text import estimate_tokens


class CuratorPrompts(Protocol):
    """What the curator asks of the prompt builder: its prompt as it will be, to measure it before it is sent."""

    def build_curator_prompt(
        self, dataset: str, insights: Sequence[Insight], bullets: Sequence[Bullet], sections: Sequence[Section]
    ) -> str: ...


class Proposal(NamedTuple):
    """Operations to carry out, those already refused and why, and the calls made."""

    delta_items: list[DeltaContextItem]
    skipped: list[Skipped]
    usage: list[CallUsage]


def shipped_sections() -> SectionFile:
    return SectionFile(resource("config/sections.yaml"))


@dataclass(frozen=True)
class CuratorAgent:
    """Curates playbooks in one model call each. `prompt_tokens` bounds the prompt, `playbook_tokens` the playbook."""

    llm: Model
    prompt_builder: CuratorPrompts
    playbook_store: PlaybookStore
    sections: SectionFile = field(default_factory=shipped_sections, kw_only=True)
    embedder: Embedder | None = field(default=None, kw_only=True)
    prompt_tokens: int = field(default=6000, kw_only=True)
    playbook_tokens: int = field(default=20_000, kw_only=True)

    async def curate(
        self,
        reflection: ReflectionResult,
        dataset: str,
        *,
        execution_id: str | None = None,
        language: Language = "en",
        sources: Sequence[str] = (),
        theme: str = "",
    ) -> CurationResult:
        """Propose and apply. An execution that was curated before gets its first result back, without a call.

        Without `execution_id` every call is a curation of its own. Errors are those of `propose` and `apply`.
        """
        execution = execution_id or str(uuid4())
        if done := await self.playbook_store.applied(dataset, execution):
            return done
        delta, skipped, _ = await self.propose(
            reflection, dataset, execution_id=execution, language=language, sources=sources, theme=theme
        )
        return await self.apply(delta, reflection, dataset, execution_id=execution, skipped=skipped)

    async def propose(
        self,
        reflection: ReflectionResult,
        dataset: str,
        *,
        execution_id: str,
        language: Language = "en",
        sources: Sequence[str] = (),
        theme: str = "",
    ) -> Proposal:
        """The operations that would be carried out on the playbook as it is now; nothing is saved.

        They include what code decides: duplicates made UPDATEs, harmful bullets and those over the budget DELETEd.
        `sources` are texts that lessons may not copy from; codes and odd names of the `theme` may not enter either.
        Without insights there is no call.

        Raises:
            ModelError: as `Model.structured`.
            PlaybookDamaged, InputError: the playbook or the sections cannot be read.
        """
        playbook = await self.playbook_store.load(dataset)
        sections = await asyncio.to_thread(self.sections.of, dataset)
        asked, usage = await self._ask(
            reflection.insights, playbook, sections, Scope(execution_id, "curator", language)
        )
        forbidden = await asyncio.to_thread(Sources, sources, marks_of=[theme])
        rules = self._rules(execution_id, sections, forbidden)
        rehearsed = await asyncio.to_thread(merged, playbook, asked, reflection.bullet_evaluations, rules)
        return Proposal([_proposed(item) for item in rehearsed.delta_items], rehearsed.skipped, usage)

    async def apply(
        self,
        delta_items: Sequence[DeltaContextItem],
        reflection: ReflectionResult,
        dataset: str,
        *,
        execution_id: str,
        skipped: Sequence[Skipped] = (),
    ) -> CurationResult:
        """Count the votes, carry out the operations on the newest playbook, save it: once for each execution.

        `skipped` is what was refused before; the result names it too.

        Raises:
            StoreError: as `PlaybookStore.apply`.
            InputError: the sections cannot be read.
        """
        sections = await asyncio.to_thread(self.sections.of, dataset)
        rules = self._rules(execution_id, sections, Sources())

        def change(newest: Playbook) -> Curated:
            curated = merged(newest, delta_items, reflection.bullet_evaluations, rules)
            every = [*skipped, *(found for found in curated.skipped if found not in skipped)]
            skipped_too = f", {len(every)} skipped" if every else ""
            return curated._replace(skipped=every, summary=f"{curated.summary}{skipped_too}")

        return await self.playbook_store.apply(dataset, execution_id, change, reason="learned from a run")

    def _rules(self, execution_id: str, sections: Sequence[Section], sources: Sources) -> MergeRules:
        return MergeRules(execution_id, self.embedder, sections, self.playbook_tokens, sources)

    async def _ask(
        self, insights: Sequence[Insight], playbook: Playbook, sections: Sequence[Section], scope: Scope
    ) -> tuple[list[DeltaContextItem], list[CallUsage]]:
        if not insights:
            return [], []
        without = self.prompt_builder.build_curator_prompt(playbook.dataset, insights, [], sections)
        shown = nearest(playbook.bullets, insights, tokens=self.prompt_tokens - estimate_tokens(without))
        values = curator_values(playbook.dataset, insights, shown, sections)
        answer = await self.llm.structured("curator/curate", CurationReply, values, scope=scope)
        return [DeltaContextItem(**operation.model_dump()) for operation in answer.value.operations], [answer.usage]


def _proposed(item: DeltaContextItem) -> DeltaContextItem:
    """An ADD gets its id when it is carried out."""
    return item.model_copy(update={"bullet_id": None}) if item.operation == "ADD" else item
