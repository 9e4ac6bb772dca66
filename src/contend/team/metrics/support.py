"""Whether the named passages say the sentences: by code, and for the doubtful ones by the judges' language model."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from contend.checks import (
    ClaimCheck,
    DraftClaim,
    Mark,
    PassageText,
    Validity,
    check_claim,
    check_validity,
    claims_of,
    passage_text,
)
from contend.errors import BudgetExhausted, ModelError
from contend.models.evaluation import Measurement
from contend.models.record import Language
from contend.models.replies import MOST_CITATIONS, CitationReply, Verdict
from contend.models.research import Passage
from contend.models.submission import Submission
from contend.models.task import CallUsage
from contend.prompts import Untrusted
from contend.report import PublishedLine, published_lines
from contend.services import Services
from contend.team.metrics.by_model import scope_of
from contend.team.state import MetricTask
from contend.text import estimate_tokens, shorten, squeezed

NEAR_COUNTS = 0.5
"""What a sentence counts that code finds near and that no model was asked about: of such ones in
benchmarks/citations_*.toml about as many are true (94) as changed (73)."""
_SHOWN_CHARACTERS = 160
_SAID: dict[Language, dict[str, str]] = {
    "en": {
        "uncited": "nothing is cited",
        "supported": "{good} of {all} cited sentences are said by what they cite",
        "near": "; near to what they cite, and no more: {count}",
        "unfounded": "; sentences that cite nothing and that no passage says: {count}",
        "worst": "; least of all: “{text}”",
    },
    "ja": {
        "uncited": "引用が一つもない",
        "supported": "引用のある{all}文のうち{good}文が、引用元で裏付けられている",
        "near": "。引用元に近いだけの文: {count}",
        "unfounded": "。引用がなく、どの抜粋にも書かれていない文: {count}",
        "worst": "。最も弱い文:「{text}」",
    },
}


@dataclass(frozen=True)
class _Checked:
    """A claim of the draft, what code found, and a model's word where it was asked."""

    claim: DraftClaim
    check: ClaimCheck
    verdict: Verdict | None = None

    @property
    def text(self) -> str:
        return self.claim.claim.text

    @property
    def doubtful(self) -> bool:
        """All that code does not see supported: it compares words, and a strong model's sentences have their own."""
        return bool(self.claim.passages) and self.check.level != "supported"

    @property
    def value(self) -> float:
        """1.0 supported, 0.0 not."""
        if self.verdict is not None:
            return float(self.verdict in {"stated", "derived"})
        return {"supported": 1.0, "near": NEAR_COUNTS}.get(self.check.level, 0.0)


async def citation_support(services: Services, task: MetricTask, submission: Submission) -> Measurement:
    """The share of sentences with a source that their passages support, near ones by half; None where nothing is cited.

    A sentence counts once, however often it stands in the report: with its weakest citation. One that names no passage
    counts as not supported, unless a passage says it or it is a judgement, an open question or one of the limits. In a
    run set to a language model, its word decides on the doubtful ones; where it fails, code's stands. `evidence`: the
    sentences that are not supported, the weakest first.
    """
    said = _SAID[(await services.run(task)).options.language]
    claims, unfounded = await _weighed(services, submission)
    if not claims:
        return Measurement(None, said["uncited"])
    claims, usage = await _asked(services, task, claims)
    bad = sorted((each for each in claims if not each.value), key=lambda each: each.check.support)
    good = sum(each.value == 1 for each in claims)
    near = len(claims) - good - len(bad)
    reason = said["supported"].format(good=good, all=len(claims))
    reason += said["near"].format(count=near) if near else ""
    reason += said["unfounded"].format(count=unfounded) if unfounded else ""
    reason += said["worst"].format(text=shorten(bad[0].text, _SHOWN_CHARACTERS)) if bad else ""
    total = sum(each.value for each in claims)
    return Measurement(total / (len(claims) + unfounded), reason, [each.text for each in bad], usage)


async def checked_validity(services: Services, submission: Submission) -> Validity:
    """Whether what the submission cites was retrieved; an address that stands in a passage is no citation."""
    texts = [passage_text(passage).whole for passage in await _with_texts(services, submission)]
    return check_validity(submission.report, {result.url for result in submission.results}, texts=texts)


class Doubt(NamedTuple):
    """What the check marked in a sentence, and what of its passages is nearest to it; "" where nothing is.

    `refused`: by code alone it is not supported.
    """

    marks: Sequence[Mark] = ()
    excerpt: str = ""
    refused: bool = False

    def reason(self, shown: str) -> str:
        """The marks on what stands in the sentence as it is published: what was left out of it is not repeated."""
        return "; ".join(mark.line for mark in self.marks if all(part in shown for part in mark.detail.split(", ")))


async def doubts_of(services: Services, submission: Submission) -> dict[str, Doubt]:
    """What code finds of each sentence that names passages, by the sentence as it was written."""
    claims, _ = await _weighed(services, submission)
    return {each.text: Doubt(each.check.marks, each.check.excerpt, not each.value) for each in claims}


async def lines_of(services: Services, submission: Submission) -> list[PublishedLine]:
    """What the submission's draft publishes, line by line, with the texts of the passages behind it."""
    return published_lines(submission.draft, await _with_texts(services, submission), submission.results)


async def _weighed(services: Services, submission: Submission) -> tuple[list[_Checked], int]:
    """Each sentence that names passages once, with its weakest citation, and how many others no passage says."""
    passages = await _with_texts(services, submission)
    texts = [passage_text(passage) for passage in passages]
    needing = [each for each in claims_of(submission.draft, passages) if each.claim.kind in {"stated", "derived"}]
    cited = [each for each in needing if each.passages]
    bare = [each._replace(passages=tuple(texts)) for each in needing if not each.passages and not each.limit]
    different: dict[str, _Checked] = {}
    for checked in await _check_all(cited, texts):
        key = squeezed(checked.text)
        different[key] = min(checked, different.get(key, checked), key=lambda known: known.check.support)
    unfounded = {squeezed(each.text) for each in await _check_all(bare, ()) if each.check.level == "unsupported"}
    return list(different.values()), len(unfounded - different.keys())


async def _check_all(claims: Sequence[DraftClaim], others: Sequence[PassageText]) -> list[_Checked]:
    return await asyncio.to_thread(
        lambda: [_Checked(each, check_claim(each.claim, each.passages, others)) for each in claims]
    )


async def _asked(
    services: Services, task: MetricTask, claims: Sequence[_Checked]
) -> tuple[list[_Checked], CallUsage | None]:
    """The claims, the doubtful ones with the model's word on them, in as few calls as they fit into."""
    run = await services.run(task)
    doubtful = [each for each in claims if each.doubtful]
    if not doubtful or not run.options.models:
        return list(claims), None
    model = run.model("evaluator")
    scope = scope_of(run, task)
    verdicts: dict[str, Verdict] = {}
    usage: CallUsage | None = None
    for number, batch in enumerate(_batches(doubtful, run.profile("evaluator").offered_tokens), start=1):
        step = scope.step if number == 1 else f"{scope.step}/{number}"
        try:
            asked = replace(scope, step=step, sentences=tuple(each.text for each in batch))
            answer = await model.structured("citation/check", CitationReply, _shown(batch), scope=asked)
        except (ModelError, BudgetExhausted):
            break
        usage = answer.usage if usage is None else usage + answer.usage
        by_number = {each.number: each.verdict for each in answer.value.verdicts}
        verdicts |= {each.text: by_number[at] for at, each in enumerate(batch, start=1) if at in by_number}
    return [replace(each, verdict=verdicts.get(each.text)) for each in claims], usage


def _batches(claims: Sequence[_Checked], tokens: int) -> Iterator[list[_Checked]]:
    """As many claims a call as their passages, each shown once, leave room for."""
    batch: list[_Checked] = []
    for each in claims:
        if batch and (len(batch) == MOST_CITATIONS or _size([*batch, each]) > tokens):
            yield batch
            batch = []
        batch.append(each)
    if batch:
        yield batch


def _size(claims: Sequence[_Checked]) -> int:
    passages = _passages_of(claims)
    return sum(estimate_tokens(text) for text in [*(each.whole for each in passages), *(each.text for each in claims)])


def _passages_of(claims: Sequence[_Checked]) -> list[PassageText]:
    return list(dict.fromkeys(passage for each in claims for passage in each.claim.passages))


def _shown(claims: Sequence[_Checked]) -> Mapping[str, object]:
    numbers = {passage: number for number, passage in enumerate(_passages_of(claims), start=1)}
    return {
        "passages": [
            {"number": number, "text": Untrusted(passage.whole, label="passage")} for passage, number in numbers.items()
        ],
        "claims": [
            {
                "number": number,
                "sentence": Untrusted(each.text, label="sentence"),
                "expression": Untrusted(each.claim.claim.expression, label="arithmetic"),
                "passages": [numbers[passage] for passage in each.claim.passages],
            }
            for number, each in enumerate(claims, start=1)
        ],
    }


async def _with_texts(services: Services, submission: Submission) -> list[Passage]:
    texts = await services.documents.get_many(passage.id for passage in submission.passages)
    return [passage.model_copy(update={"text": texts[passage.id]}) for passage in submission.passages]
