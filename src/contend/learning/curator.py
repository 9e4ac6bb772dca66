"""The curator: turns lessons into operations on a dataset's playbook, in its sections, and carries them out."""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import uuid4

import yaml
from pydantic import TypeAdapter, ValidationError

from contend.errors import InputError, ModelError
from contend.learning.meaning import Nearness, same_words
from contend.learning.merging import MergeRules, merge
from contend.learning.screening import Sources
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
from contend.models.record import Identifier, Language
from contend.models.replies import Reply
from contend.models.task import CallUsage
from contend.prompts import UserPromptBuilder
from contend.prompts.judging import CuratorPrompt, LessonPair, SameLessonsPrompt, nearest
from contend.prompts.values import PromptValues
from contend.retrieval import Embedder
from contend.settings.files import first_fault, resource
from contend.stores.playbooks import Curation, PlaybookStore
from contend.text import estimate_tokens, shorten

_Reply = TypeVar("_Reply", bound=Reply)
_FILE: TypeAdapter[dict[Identifier, list[PlaybookSection]]] = TypeAdapter(dict[Identifier, list[PlaybookSection]])


def read_sections(file: Path, dataset: str) -> list[PlaybookSection]:
    """A dataset's sections in a YAML file; none where the file or the dataset is missing. Blocks.

    Raises:
        InputError: the file is malformed.
    """
    try:
        sections = _FILE.validate_python(yaml.safe_load(file.read_text("utf-8")) or {})
        for key, own in sections.items():
            for name, times in Counter(section.name for section in own).items():
                if times > 1:
                    raise _file_error(file, f"{key}: section {name!r} stands there twice")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _file_error(file, error.strerror or str(error)) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise _file_error(file, f"not YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        raise _file_error(file, first_fault(error)) from error
    return sections.get(dataset, [])


def _file_error(file: Path, why: str) -> InputError:
    return InputError(f"{file}: {why}: write `dataset:` with a list of `name` and `description`, or remove it")


_log = logging.getLogger(__name__)
_STEERS = "{operation} would steer its readers to a product, a person or an action outside research"
_IDS = re.compile(r"[\w-]+")
_NEAR_EACH = 3


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
    section_file: Path = field(default_factory=lambda: resource("config/sections.yaml"), kw_only=True)
    """For each dataset a list of `name` and `description`."""
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
        if result := await self.playbook_store.result_of(dataset, execution):
            return result
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

        They include what follows from a model's readings and the votes: duplicates made UPDATEs, UPDATEs of another
        meaning made ADDs, bullets that did harm or never helped retired. `sources` are texts that lessons may not copy
        from; codes and odd names of the `theme` may not enter either. `approved`: a person will see the operations.
        Without insights there is no call; where the model fails, the votes still count and `skipped` says why there are
        no operations.

        Raises:
            PlaybookDamaged, InputError: the playbook or the sections cannot be read.
        """
        playbook = await self.playbook_store.load(dataset)
        sections = await asyncio.to_thread(read_sections, self.section_file, dataset)
        calls = _Calls(self.llm, Scope(execution_id, "curator", language))
        items = await self._operations(reflection.insights, playbook, sections, calls)
        nearness = await asyncio.to_thread(Nearness, playbook.bullets, self.embedder)
        items = await self._with_readings(items, nearness, calls)
        texts = await asyncio.to_thread(Sources, sources, marks_of=[theme])
        rules = MergeRules(execution_id, self.embedder, sections, texts, approved=approved)
        outcome = await asyncio.to_thread(merge, playbook, items, reflection, rules)
        # An ADD gets its id when it is carried out.
        delta = [
            item.model_copy(update={"bullet_id": None}) if item.operation == "ADD" else item
            for item in outcome.delta_items
        ]
        return Proposal(delta, [*calls.refusals, *outcome.skipped], calls.usage, outcome.bullets)

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
        sections = await asyncio.to_thread(read_sections, self.section_file, dataset)
        rules = MergeRules(execution_id, self.embedder, sections, approved=approved)
        # What takes time is done before the lock, and again within it only where somebody else saved meanwhile.
        await asyncio.to_thread(Nearness, (await self.playbook_store.load(dataset)).bullets, self.embedder)

        def change(newest: Playbook) -> Curation:
            outcome = merge(newest, delta_items, reflection, rules)
            every = [*skipped, *(each for each in outcome.skipped if each not in skipped)]
            count = f", {len(every)} skipped" if every else ""
            return outcome._replace(skipped=every, summary=f"{outcome.summary}{count}")

        return await self.playbook_store.apply(dataset, execution_id, change, reason="learned from a run")

    async def _operations(
        self, insights: Sequence[Insight], playbook: Playbook, sections: Sequence[PlaybookSection], calls: "_Calls"
    ) -> list[DeltaContextItem]:
        if not insights:
            return []
        without = self.prompt_builder.build_curator_prompt(playbook.dataset, insights, [], sections)
        bullets = nearest(playbook.bullets, insights, tokens=self.prompt_tokens - estimate_tokens(without))
        prompt = CuratorPrompt.of(playbook.dataset, insights, bullets, sections)
        reply = await calls.ask(prompt, CurationReply, "the curator gave no operations: {error}")
        if reply is None:
            return []
        calls.refuse(*reply.unreadable)
        steering = [each for each in reply.operations if each.steers_outside and each.operation != "DELETE"]
        calls.refuse(*(_STEERS.format(operation=each.operation) for each in steering))
        fit = [each for each in reply.operations if each not in steering]
        return [DeltaContextItem(**each.model_dump(exclude={"steers_outside"})) for each in fit]

    async def _with_readings(
        self, items: list[DeltaContextItem], nearness: Nearness, calls: "_Calls"
    ) -> list[DeltaContextItem]:
        """The items with what a model says of each beside the bullets near to it, in both directions."""
        pairs = await asyncio.to_thread(_pairs_to_ask, items, nearness)
        if not pairs:
            return items
        lesson_pairs = [
            LessonPair(number=number, first=items[place].content or "", second=bullet.content)
            for number, (place, bullet) in enumerate(pairs, start=1)
        ]
        failure = "nobody said which lessons are the same ({error}): they are kept apart"
        reply = await calls.ask(SameLessonsPrompt(pairs=lesson_pairs), LessonPairsReply, failure)
        readings: list[dict[str, Likeness]] = [{} for _ in items]
        for each in reply.pairs if reply else []:
            if each.number <= len(pairs):
                place, bullet = pairs[each.number - 1]
                readings[place][bullet.id] = _reading(each)
        return [item.model_copy(update={"readings": each}) for item, each in zip(items, readings, strict=True)]


@dataclass
class _Calls:
    """The calls of a proposal: their usage, and what was refused. Where the model fails, work goes on without."""

    llm: Model
    scope: Scope
    usage: list[CallUsage] = field(default_factory=list)
    refusals: list[Skipped] = field(default_factory=list)

    async def ask(self, prompt: PromptValues, shape: type[_Reply], failure: str) -> _Reply | None:
        try:
            answer = await self.llm.ask(prompt, shape, scope=self.scope)
        except ModelError as error:
            self.refuse(shorten(failure.format(error=error), 400))
            return None
        self.usage.append(answer.usage)
        return answer.value

    def refuse(self, *reasons: str) -> None:
        for reason in reasons:
            _log.info("skipped: %s", reason)
        self.refusals += [Skipped(bullet_id=None, reason=reason) for reason in reasons]


def _pairs_to_ask(items: Sequence[DeltaContextItem], nearness: Nearness) -> list[tuple[int, Bullet]]:
    """Pairs of item and nearby bullet, nearest first. Items with exactly a bullet's words are left out."""
    pairs: list[tuple[float, int, Bullet]] = []
    for place, item in enumerate(items):
        if item.operation == "DELETE" or not item.content:
            continue
        content = item.content
        near = nearness.near(content, most=_NEAR_EACH)
        if any(same_words(content, each.bullet.content) for each in near):
            continue
        # The curator has read all bullets: it names the nearest one, also in another language.
        names = [item.bullet_id or "", *_IDS.findall(item.reasoning)]
        near += [each for name in names if (each := nearness.of(content, name))]
        pairs += {each.bullet.id: (each.likeness, place, each.bullet) for each in near}.values()
    best = sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2].id))[:MOST_LESSON_PAIRS]
    return [(place, bullet) for _, place, bullet in best]


def _reading(reply: LessonPairReply) -> Likeness:
    if reply.polarity == "opposite":
        return "opposite"
    is_one = reply.polarity == "same" and reply.first_says_second and reply.second_says_first
    return "same" if is_one and not reply.difference.strip(" .-—–") else "different"
