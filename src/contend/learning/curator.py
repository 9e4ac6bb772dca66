"""The curator: turns lessons into operations on a dataset's playbook, and carries them out."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import uuid4

from contend.errors import ModelError
from contend.learning.meaning import contradicts
from contend.learning.merging import MergeRules, merged
from contend.learning.nearness import Nearness
from contend.learning.screening import Sources
from contend.learning.sections import SectionFile
from contend.llm import Model, Scope
from contend.models.playbook import (
    MOST_LESSON_PAIRS,
    Bullet,
    CurationReply,
    CurationResult,
    DeltaContextItem,
    Insight,
    LessonPairReply,
    LessonPairsReply,
    Likeness,
    Playbook,
    PlaybookSection,
    ReflectionResult,
    Skipped,
)
from contend.models.record import Language
from contend.models.task import CallUsage
from contend.prompts import UserPromptBuilder
from contend.prompts.judging import CuratorPrompt, LessonPair, SameLessonsPrompt, nearest
from contend.retrieval import Embedder
from contend.settings.files import resource
from contend.stores.playbooks import Curated, PlaybookStore
from contend.text import estimate_tokens, shorten

_IDS = re.compile(r"[\w-]+")
_ASKED_EACH = 3


class Proposal(NamedTuple):
    """Operations to carry out, those already refused and why, the calls made, and the bullets as there would be."""

    delta_items: list[DeltaContextItem]
    skipped: list[Skipped]
    usage: list[CallUsage]
    bullets: list[Bullet]


@dataclass(frozen=True)
class CuratorAgent:
    """Curates playbooks: a call for the operations, another for lessons near to bullets.

    `prompt_tokens` bounds the first one's prompt.
    """

    llm: Model
    prompt_builder: UserPromptBuilder
    playbook_store: PlaybookStore
    sections: SectionFile = field(default_factory=lambda: SectionFile(resource("config/sections.yaml")), kw_only=True)
    embedder: Embedder | None = field(default=None, kw_only=True)
    prompt_tokens: int = field(default=6000, kw_only=True)

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
        proposal = await self.propose(
            reflection, dataset, execution_id=execution, language=language, sources=sources, theme=theme
        )
        delta, skipped = proposal.delta_items, proposal.skipped
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
        approved: bool = False,
    ) -> Proposal:
        """The operations that would be carried out on the playbook as it is now; nothing is saved.

        They include what code decides: duplicates made UPDATEs, UPDATEs of another meaning made ADDs, bullets that did
        harm or never helped retired. `sources` are texts that lessons may not copy from; codes and odd names of the
        `theme` may not enter either. `approved`: a person will see the operations. Without insights there is no call;
        where the model fails, the votes still count and `skipped` says why there are no operations.

        Raises:
            PlaybookDamaged, InputError: the playbook or the sections cannot be read.
        """
        playbook = await self.playbook_store.load(dataset)
        sections = await asyncio.to_thread(self.sections.of, dataset)
        scope = Scope(execution_id, "curator", language)
        items, faults, usage = await self._ask(reflection.insights, playbook, sections, scope)
        nearness = await asyncio.to_thread(Nearness, playbook.bullets, self.embedder)
        items, more_faults, calls = await self._compared(items, nearness, scope)
        texts = await asyncio.to_thread(Sources, sources, marks_of=[theme])
        rules = MergeRules(execution_id, self.embedder, sections, texts, approved=approved)
        outcome = await asyncio.to_thread(merged, playbook, items, reflection, rules)
        refusals = [Skipped(bullet_id=None, reason=why) for why in [*faults, *more_faults]]
        # An ADD gets its id when it is carried out.
        delta = [
            item.model_copy(update={"bullet_id": None}) if item.operation == "ADD" else item
            for item in outcome.delta_items
        ]
        return Proposal(delta, [*refusals, *outcome.skipped], [*usage, *calls], outcome.bullets)

    async def apply(
        self,
        delta_items: Sequence[DeltaContextItem],
        reflection: ReflectionResult,
        dataset: str,
        *,
        execution_id: str,
        skipped: Sequence[Skipped] = (),
        approved: bool = False,
    ) -> CurationResult:
        """Count the votes, carry out the operations on the newest playbook, save it: once for each execution.

        `skipped` is what was refused before; the result names it too. `approved`: a person saw the operations.

        Raises:
            StoreError: as `PlaybookStore.apply`.
            InputError: the sections cannot be read.
        """
        sections = await asyncio.to_thread(self.sections.of, dataset)
        rules = MergeRules(execution_id, self.embedder, sections, approved=approved)
        # What takes time is done before the lock, and again within it only where somebody else saved meanwhile.
        await asyncio.to_thread(Nearness, (await self.playbook_store.load(dataset)).bullets, self.embedder)

        def change(newest: Playbook) -> Curated:
            outcome = merged(newest, delta_items, reflection, rules)
            every = [*skipped, *(each for each in outcome.skipped if each not in skipped)]
            count = f", {len(every)} skipped" if every else ""
            return outcome._replace(skipped=every, summary=f"{outcome.summary}{count}")

        return await self.playbook_store.apply(dataset, execution_id, change, reason="learned from a run")

    async def _ask(
        self, insights: Sequence[Insight], playbook: Playbook, sections: Sequence[PlaybookSection], scope: Scope
    ) -> tuple[list[DeltaContextItem], list[str], list[CallUsage]]:
        """Operations, why there are no others, and the call."""
        if not insights:
            return [], [], []
        without = self.prompt_builder.build_curator_prompt(playbook.dataset, insights, [], sections)
        bullets = nearest(playbook.bullets, insights, tokens=self.prompt_tokens - estimate_tokens(without))
        prompt = CuratorPrompt.of(playbook.dataset, insights, bullets, sections)
        try:
            answer = await self.llm.structured(prompt, CurationReply, scope=scope)
        except ModelError as error:
            return [], [f"the curator gave no operations: {error}"], []
        items = [DeltaContextItem(**operation.model_dump()) for operation in answer.value.operations]
        return items, answer.value.unreadable, [answer.usage]

    async def _compared(
        self, items: list[DeltaContextItem], nearness: Nearness, scope: Scope
    ) -> tuple[list[DeltaContextItem], list[str], list[CallUsage]]:
        """The items with what a model says of each beside the bullets near to it, in both directions."""
        pairs = await asyncio.to_thread(_pairs_to_ask, items, nearness)
        if not pairs:
            return items, [], []
        prompt = SameLessonsPrompt(
            pairs=[
                LessonPair(number=number, first=items[place].content or "", second=bullet.content)
                for number, (place, bullet) in enumerate(pairs, start=1)
            ]
        )
        try:
            answer = await self.llm.structured(prompt, LessonPairsReply, scope=scope)
        except ModelError as error:
            why = f"nobody said which lessons are the same ({error}): those that code is not sure of are kept apart"
            return items, [shorten(why, 400)], []
        readings: list[dict[str, Likeness]] = [{} for _ in items]
        for reply in answer.value.pairs:
            if reply.number <= len(pairs):
                place, bullet = pairs[reply.number - 1]
                readings[place][bullet.id] = _reading(reply)
        items = [item.model_copy(update={"readings": each}) for item, each in zip(items, readings, strict=True)]
        return items, [], [answer.usage]


def _pairs_to_ask(items: Sequence[DeltaContextItem], nearness: Nearness) -> list[tuple[int, Bullet]]:
    """Each item's place with a bullet near to it that code cannot tell from it, the nearest first."""
    pairs: list[tuple[float, int, Bullet]] = []
    for place, item in enumerate(items):
        if item.operation == "DELETE" or not item.content:
            continue
        content = item.content
        near = nearness.near(content, most=_ASKED_EACH)
        if any(each.bullet.content == content for each in near):
            continue
        # The curator has read all bullets: it names the nearest one, also in another language.
        names = [item.bullet_id or "", *_IDS.findall(item.reasoning)]
        near += [each for name in names if (each := nearness.of(content, name))]
        candidates = {
            each.bullet.id: (each.likeness, place, each.bullet)
            for each in near
            if not contradicts(content, each.bullet.content)
        }
        pairs += candidates.values()
    best = sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2].id))[:MOST_LESSON_PAIRS]
    return [(place, bullet) for _, place, bullet in best]


def _reading(reply: LessonPairReply) -> Likeness:
    if reply.polarity == "opposite":
        return "opposite"
    is_one = reply.polarity == "same" and reply.first_says_second and reply.second_says_first
    return "same" if is_one and not reply.difference.strip(" .-—–") else "different"
