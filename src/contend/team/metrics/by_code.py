"""Metrics by code: were the cited sources retrieved, do they say it, are the plan's points answered?"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from contend.citations import (
    CheckedSentence,
    CitationCheck,
    check_support,
    check_validity,
    cited_in_draft,
    text_of,
)
from contend.models.record import Language
from contend.models.research import Passage
from contend.models.submission import Submission
from contend.points import names_something, uncovered_points
from contend.retrieval import default_embedder
from contend.services import Services
from contend.text import shorten, squeezed

_SHOWN_CHARACTERS = 160
_SAID: dict[Language, dict[str, str]] = {
    "en": {
        "uncited": "nothing is cited",
        "valid": "{good} of {all} citations name a retrieved source",
        "supported": "{good} of {all} cited sentences are said by what they cite",
        "unfounded": "; sentences that cite nothing and that no passage says: {count}",
        "worst": "; least of all: “{text}”",
        "planless": "there is no plan with points to answer",
        "answered": "{good} of {all} points of the plan are answered",
        "missing": "; not answered: {text}",
    },
    "ja": {
        "uncited": "引用が一つもない",
        "valid": "引用{all}件のうち{good}件が、取得した資料を指している",
        "supported": "引用のある{all}文のうち{good}文が、引用元で裏付けられている",
        "unfounded": "。引用がなく、どの抜粋にも書かれていない文: {count}",
        "worst": "。最も弱い文:「{text}」",
        "planless": "答えるべき計画の項目がない",
        "answered": "計画の{all}項目のうち{good}項目に答えている",
        "missing": "。答えていない項目: {text}",
    },
}


class Finding(NamedTuple):
    """A metric's score, 0.0 to 1.0 or None where there is nothing to measure, and its reason."""

    score: float | None
    reason: str


CodeMetric = Callable[[Services, Submission, Language], Awaitable[Finding]]


async def citation_validity(_: Services, submission: Submission, language: Language) -> Finding:
    """The share of citations whose source was retrieved; 0.0 where nothing is cited."""
    validity = check_validity(submission.report, {result.url for result in submission.results})
    if not validity.total:
        return Finding(0.0, _SAID[language]["uncited"])
    return _share(validity.valid, validity.total, "valid", language)


async def citation_support(services: Services, submission: Submission, language: Language) -> Finding:
    """The share of cited sentences that their passages support; None where nothing is cited.

    A sentence counts once, however often it stands in the report: with its weakest citation. One that cites nothing and
    that no passage says counts as not supported, but for what the report names as its limits.
    """
    cited, unfounded = await _weighed(services, submission)
    if not cited:
        return Finding(None, _SAID[language]["uncited"])
    good = sum(check.verified for check in cited)
    reason = _SAID[language]["supported"].format(good=good, all=len(cited))
    if unfounded:
        reason += _SAID[language]["unfounded"].format(count=unfounded)
    worst = min(cited, key=lambda check: check.support)
    if not worst.verified:
        reason += _SAID[language]["worst"].format(text=shorten(worst.text, _SHOWN_CHARACTERS))
    return Finding(good / (len(cited) + unfounded), reason)


async def point_coverage(_: Services, submission: Submission, language: Language) -> Finding:
    """The share of the plan's points that the report answers; None without a plan."""
    points = [point for point in submission.points if names_something(point)]
    if not points:
        return Finding(None, _SAID[language]["planless"])
    missing = uncovered_points(points, submission.content)
    finding = _share(len(points) - len(missing), len(points), "answered", language)
    if not missing:
        return finding
    shown = "; ".join(shorten(point, _SHOWN_CHARACTERS) for point in missing)
    return finding._replace(reason=finding.reason + _SAID[language]["missing"].format(text=shown))


class CitationFaults(NamedTuple):
    """Of so many `sentences` the sources do not say `unsupported`; of so many `citations` name no retrieved source."""

    unsupported: int
    sentences: int
    invented: int
    citations: int

    @property
    def share(self) -> float:
        """The share of faulty sentences, 0.0 to 1.0, and of faulty citations if that is more; 1.0 without any."""
        return max(
            self.unsupported / self.sentences if self.sentences else 1.0,
            self.invented / self.citations if self.citations else 1.0,
        )


async def citation_faults(services: Services, submission: Submission) -> CitationFaults:
    """What is wrong with a submission's citations, in numbers."""
    validity = check_validity(submission.report, {result.url for result in submission.results})
    cited, unfounded = await _weighed(services, submission)
    good, every = sum(check.verified for check in cited), len(cited) + unfounded
    return CitationFaults(every - good, every, validity.total - validity.valid, validity.total)


async def checked_citations(services: Services, submission: Submission) -> list[CitationCheck]:
    """How far the passages that the draft's sentences cite support them."""
    passages = await _with_texts(services, submission)
    return await _checked(cited_in_draft(submission.draft, passages), [text_of(passage) for passage in passages])


async def _weighed(services: Services, submission: Submission) -> tuple[list[CitationCheck], int]:
    """Each cited sentence once, with its weakest citation, and how many others no passage says."""
    cited: dict[str, CitationCheck] = {}
    for check in await checked_citations(services, submission):
        key = squeezed(check.text)
        cited[key] = min(check, cited.get(key, check), key=lambda known: known.support)
    return list(cited.values()), len(set(await _unfounded(services, submission)) - cited.keys())


async def _unfounded(services: Services, submission: Submission) -> list[str]:
    """The sentences, squeezed, that cite nothing although they are no limits, and that no passage says."""
    draft = submission.draft
    uncited = [each.text for each in (*draft.summary, *draft.findings, *draft.analysis) if not each.passages]
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


def _share(good: int, total: int, said: str, language: Language) -> Finding:
    return Finding(good / total, _SAID[language][said].format(good=good, all=total))


CODE_METRICS: Mapping[str, CodeMetric] = {
    "citation_validity": citation_validity,
    "citation_support": citation_support,
    "point_coverage": point_coverage,
}
"""By the names that `config/evaluator.toml` gives them; `contend.models.evaluation` lists them too."""
