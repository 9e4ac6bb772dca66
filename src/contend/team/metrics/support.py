"""Whether the cited texts say the sentences: by code, and for the doubtful ones by the judges' language model."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from contend.citations import (
    CheckedSentence,
    CitationCheck,
    Validity,
    check_support,
    check_validity,
    cited_in_draft,
    text_of,
)
from contend.errors import BudgetExhausted, ModelError
from contend.models.options import ResolvedOptions
from contend.models.record import Language
from contend.models.replies import MOST_CITATIONS, CitationReply
from contend.models.research import Passage
from contend.models.submission import Submission
from contend.models.task import CallUsage
from contend.prompts import Untrusted
from contend.report import PublishedLine, published_lines
from contend.retrieval import default_embedder
from contend.services import Services
from contend.settings import EXTRACTIVE
from contend.team.metrics.by_model import scope_of
from contend.team.metrics.finding import Finding
from contend.team.state import MetricTask
from contend.text import shared_content, shorten, squeezed

DOUBTFUL = (0.4, 0.6)
"""Where experts' citations and wrong ones score alike: a quarter of both, of which code gets a third wrong."""
_SOURCE_CHARACTERS = 1_500
_SHOWN_CHARACTERS = 160
_SAID: dict[Language, dict[str, str]] = {
    "en": {
        "uncited": "nothing is cited",
        "supported": "{good} of {all} cited sentences are said by what they cite",
        "unfounded": "; sentences that cite nothing and that no passage says: {count}",
        "worst": "; least of all: “{text}”",
    },
    "ja": {
        "uncited": "引用が一つもない",
        "supported": "引用のある{all}文のうち{good}文が、引用元で裏付けられている",
        "unfounded": "。引用がなく、どの抜粋にも書かれていない文: {count}",
        "worst": "。最も弱い文:「{text}」",
    },
}


class _Claim(NamedTuple):
    """A cited sentence with the texts it cites, and what code found."""

    sentence: CheckedSentence
    check: CitationCheck


async def citation_support(services: Services, task: MetricTask, submission: Submission) -> Finding:
    """The share of cited sentences that their passages support; None where nothing is cited.

    A sentence counts once, however often it stands in the report: with its weakest citation. One that cites nothing and
    that no passage says counts as not supported, but for what the report names as its limits. In a run set to a
    language model, its word decides on the doubtful ones; where it fails, code's stands. `evidence`: the sentences that
    are not supported, the weakest first.
    """
    said = _SAID[task["options"]["language"]]
    claims, unfounded = await _weighed(services, submission)
    if not claims:
        return Finding(None, said["uncited"])
    doubtful = sorted((claim for claim in claims.values() if _is_doubtful(claim.check)), key=_doubt)
    verdicts, usage = await _asked(services, task, [claim.sentence for claim in doubtful])
    bad = sorted(
        (claim.check for claim in claims.values() if not verdicts.get(claim.check.text, claim.check.verified)),
        key=lambda check: check.support,
    )
    good = len(claims) - len(bad)
    reason = said["supported"].format(good=good, all=len(claims))
    if unfounded:
        reason += said["unfounded"].format(count=unfounded)
    if bad:
        reason += said["worst"].format(text=shorten(bad[0].text, _SHOWN_CHARACTERS))
    return Finding(good / (len(claims) + unfounded), reason, [check.text for check in bad], usage)


class CitationCounts(NamedTuple):
    """Of so many `sentences` the sources say `supported`; of so many `citations` name a retrieved source `real`."""

    supported: int
    sentences: int
    real: int
    citations: int


async def citation_counts(services: Services, submission: Submission) -> CitationCounts:
    """What code finds of a submission's citations, in numbers."""
    validity = await checked_validity(services, submission)
    claims, unfounded = await _weighed(services, submission)
    supported = sum(claim.check.verified for claim in claims.values())
    return CitationCounts(supported, len(claims) + unfounded, validity.valid, validity.total)


async def checked_validity(services: Services, submission: Submission) -> Validity:
    """Whether what the submission cites was retrieved; an address that stands in a passage is no citation."""
    texts = [text_of(passage) for passage in await _with_texts(services, submission)]
    return check_validity(submission.report, {result.url for result in submission.results}, texts=texts)


async def unsupported(services: Services, submission: Submission) -> list[str]:
    """The cited sentences that their passages do not support, by code alone."""
    return [claim.check.text for claim in await _claims(services, submission) if not claim.check.verified]


async def lines_of(services: Services, submission: Submission) -> list[PublishedLine]:
    """What the submission's draft publishes, line by line, with the texts of the passages behind it."""
    return published_lines(submission.draft, await _with_texts(services, submission), submission.results)


async def _claims(services: Services, submission: Submission) -> list[_Claim]:
    passages = await _with_texts(services, submission)
    sentences = cited_in_draft(submission.draft, passages)
    checks = await _checked(sentences, [text_of(passage) for passage in passages])
    return [_Claim(*each) for each in zip(sentences, checks, strict=True)]


async def _weighed(services: Services, submission: Submission) -> tuple[dict[str, _Claim], int]:
    """Each cited sentence once, with its weakest citation, and how many others no passage says."""
    different: dict[str, _Claim] = {}
    for claim in await _claims(services, submission):
        key = squeezed(claim.check.text)
        different[key] = min(claim, different.get(key, claim), key=lambda known: known.check.support)
    return different, len(set(await _unfounded(services, submission)) - different.keys())


def _is_doubtful(check: CitationCheck) -> bool:
    least, most = DOUBTFUL
    return least <= check.support < most


def _doubt(claim: _Claim) -> float:
    return abs(claim.check.support - sum(DOUBTFUL) / 2)


async def _asked(
    services: Services, task: MetricTask, doubtful: Sequence[CheckedSentence]
) -> tuple[dict[str, bool], CallUsage | None]:
    """The model's word on the most doubtful sentences, by their texts."""
    options = ResolvedOptions.model_validate(task["options"])
    if not doubtful or options.models["evaluator"] == EXTRACTIVE:
        return {}, None
    asked = dict(enumerate(doubtful[:MOST_CITATIONS], start=1))
    model = services.model("evaluator", options, task["execution_id"])
    try:
        answer = await model.structured("citation/check", CitationReply, _shown(asked), scope=scope_of(task))
    except (ModelError, BudgetExhausted):
        return {}, None
    verdicts = {verdict.number: verdict.supported for verdict in answer.value.verdicts}
    return {asked[number].text: said for number, said in verdicts.items() if number in asked}, answer.usage


def _shown(asked: Mapping[int, CheckedSentence]) -> Mapping[str, object]:
    return {
        "claims": [
            {
                "number": number,
                "sentence": Untrusted(sentence.text, label="sentence"),
                "source": Untrusted(_nearest_text(sentence), label="source"),
            }
            for number, sentence in asked.items()
        ]
    }


def _nearest_text(sentence: CheckedSentence) -> str:
    ordered = sorted(sentence.passages, key=lambda text: -shared_content(sentence.text, text))
    return shorten("\n\n".join(ordered), _SOURCE_CHARACTERS)


async def _unfounded(services: Services, submission: Submission) -> list[str]:
    """The sentences, squeezed, that cite nothing although they are no limits, and that no passage says."""
    draft = submission.draft
    uncited = [each.text for each in draft.body() if not each.passages and each.kind in {"stated", "derived"}]
    if not uncited:
        return []
    texts = [text_of(passage) for passage in await _with_texts(services, submission)]
    checks = await _checked([CheckedSentence(text, texts) for text in uncited], [])
    return [squeezed(check.text) for check in checks if not check.verified]


async def _with_texts(services: Services, submission: Submission) -> list[Passage]:
    texts = await services.documents.get_many(passage.id for passage in submission.passages)
    return [passage.model_copy(update={"text": texts[passage.id]}) for passage in submission.passages]


async def _checked(sentences: Sequence[CheckedSentence], alternatives: Sequence[str]) -> list[CitationCheck]:
    return await asyncio.to_thread(
        lambda: check_support(sentences, alternatives=alternatives, embedder=default_embedder())
    )
