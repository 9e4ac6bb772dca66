"""Whether the named passages say the sentences: by code, and for the doubtful ones by the judges' language model."""

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from contend.checks import (
    ClaimCheck,
    DraftClaim,
    PassageText,
    check_claim,
    claims_of,
    passage_text,
)
from contend.checks.proof import stands_in, sums_of
from contend.errors import BudgetExhausted, ModelError
from contend.evidence import with_texts
from contend.evidence.pool import numbers_of
from contend.llm import Scope
from contend.models.evaluation import (
    MOST_CITATIONS,
    CitationReply,
    CitationVerdict,
    CitationWord,
    Doubt,
    MetricResult,
    Submission,
    Verdict,
)
from contend.models.options import MetricConfig
from contend.models.record import Language
from contend.models.research import Draft, Passage
from contend.models.task import CallUsage
from contend.prompts.judging import CitationPrompt, DoubtfulCitation
from contend.prompts.research import SourceDocument
from contend.report import PublishedLine, published_lines
from contend.run_context import RunContext
from contend.services import Services
from contend.team.state import MetricTask
from contend.text import WORDS, bare_text, estimate_tokens, shorten

NEAR_COUNTS = 0.5
"""What a sentence counts that code finds near and that no model was asked about: of such ones in
benchmarks/citations_*.toml about as many are true (94) as changed (73)."""
_COUNTS: dict[Verdict, float] = {"stated": 1.0, "derived": 1.0, "partly": 0.5, "contradicted": 0.0, "absent": 0.0}
_SHOWN_CHARACTERS = 160


@dataclass(frozen=True)
class CheckedClaim:
    """A statement of the draft, what code says of it, and a model's word where it was asked."""

    statement: DraftClaim
    check: ClaimCheck
    verdict: CitationWord | None = None

    @property
    def text(self) -> str:
        return self.statement.claim.text

    @property
    def passages(self) -> tuple[PassageText, ...]:
        return self.statement.passages

    def doubt(self, sentence: str) -> str:
        """The marks on what stands in the sentence as it is published: what was left out of it is not repeated."""
        marks = [each for each in self.check.marks if all(part in sentence for part in each.detail.split(", "))]
        return "; ".join(each.line for each in marks)

    @property
    def doubtful(self) -> bool:
        """What code neither refutes nor sees quoted: it compares words, and a strong model has its own."""
        return self.check.level != "supported" and not self.statement.claim.refuted

    @property
    def contradicted(self) -> bool:
        return self.verdict is not None and self.verdict.verdict == "contradicted"

    @property
    def key(self) -> str:
        """The same for the same words with the same passages, whoever wrote them, in whichever round."""
        parts = [self.text, self.statement.claim.expression, *sorted(each.id for each in self.passages)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    @property
    def value(self) -> float:
        """1.0 supported, 0.0 not. What code refutes, nobody's word supports."""
        if self.statement.claim.refuted:
            return 0.0
        if self.verdict is not None:
            return _COUNTS[self.verdict.verdict]
        return {"supported": 1.0, "near": NEAR_COUNTS}.get(self.check.level, 0.0)


class Citations(NamedTuple):
    """Each sentence that names passages once, with its weakest citation, and how many others no passage says."""

    claims: list[CheckedClaim]
    without_source: int

    def doubtful(self) -> list[CheckedClaim]:
        """Those that only a model can decide on, and on which none has."""
        return [each for each in self.claims if each.doubtful and each.verdict is None]

    def with_verdicts(self, verdicts: Mapping[str, CitationWord]) -> "Citations":
        """The same with a model's word on the doubtful ones, by key."""
        return self._replace(claims=[replace(each, verdict=verdicts.get(each.key)) for each in self.claims])


async def citation_support(
    services: Services, task: MetricTask, config: MetricConfig, submission: Submission
) -> MetricResult:
    """The share of sentences with a source that their passages support; None where no sentence names a passage.

    What they say in part, and what code finds near, counts half.

    A sentence counts once, however often it stands in the report: with its weakest citation. One that names no passage
    counts as not supported, unless a passage says it or it is a judgement, an open question or one of the limits. In a
    run set to a language model, its word decides on the doubtful ones; where it fails, code's stands. `evidence`: the
    sentences that are not supported, first those that are contradicted, then the weakest.
    """
    run, citations = await services.run(task), await citations_of(services, task, submission)
    usage = await ask_about(services, task, citations.doubtful())
    return support_of(config, citations.with_verdicts(run.verdicts), run.options.language, usage)


def support_of(
    config: MetricConfig, citations: Citations, language: Language, usage: CallUsage | None = None
) -> MetricResult:
    """As `citation_support`, of claims that were citations_of."""
    words, claims, without_source = WORDS[language].feedback, citations.claims, citations.without_source
    if not claims:
        return MetricResult(score=config.with_score(None, words.no_passage_cited, applies=False))
    bad = sorted(
        (each for each in claims if not each.value), key=lambda each: (not each.contradicted, each.check.support)
    )
    good = sum(each.value == 1 for each in claims)
    near = len(claims) - good - len(bad)
    reason = words.sentences_supported.format(good=good, all=len(claims))
    reason += words.sentences_near.format(count=near) if near else ""
    reason += words.sentences_unfounded.format(count=without_source) if without_source else ""
    reason += words.weakest_sentence.format(text=shorten(bad[0].text, _SHOWN_CHARACTERS)) if bad else ""
    total = sum(each.value for each in claims)
    partly = {each.text: each.verdict.lacking for each in claims if each.verdict and each.verdict.lacking}
    share, evidence = total / (len(claims) + without_source), [each.text for each in bad]
    return MetricResult(score=config.with_score(share, reason, evidence=evidence, partly=partly), usage=usage)


async def citations_of(services: Services, task: MetricTask, submission: Submission) -> Citations:
    """The submission's claims, with what a model has said of the doubtful ones earlier in the run."""
    return (await _check_citations(services, submission)).with_verdicts((await services.run(task)).verdicts)


def keep_verdicts(run: RunContext, claims: Sequence[CheckedClaim], verdicts: Sequence[CitationVerdict]) -> None:
    """Remember a model's word for the rest of the run; a number that was not asked about says nothing."""
    run.verdicts.update({claims[each.number - 1].key: each.word() for each in verdicts if each.number <= len(claims)})


def keep_doubts(run: RunContext, citations: Citations, draft: Draft, doubts: Sequence[Doubt]) -> list[Doubt]:
    """Remember what a judge does not accept, for the rest of the run. Gives those of statements that cite nothing.

    A contradiction counts as one where its words stand in a passage of the statement; else something is said in part.
    """
    texts = {each.place: bare_text(each.sentence.text) for each in draft.placed_sentences()}
    claims = {bare_text(each.text): each for each in citations.claims}
    others = []
    for doubt in doubts:
        claim = claims.get(texts.get(doubt.place, ""))
        if claim is None:
            others.append(doubt)
        else:
            is_shown = doubt.verdict != "contradicted" or any(
                stands_in(doubt.quote, Passage(url="", **each._asdict())) for each in claim.passages
            )
            run.verdicts[claim.key] = CitationWord(doubt.verdict if is_shown else "partly", doubt.reason)
    return [each for each in others if each.place in texts]


async def claims_by_text(services: Services, submission: Submission) -> dict[str, CheckedClaim]:
    """What code finds of each sentence that names passages, by the sentence as it was written."""
    return {each.text: each for each in (await _check_citations(services, submission)).claims}


async def lines_of(services: Services, submission: Submission) -> list[PublishedLine]:
    """What the submission's draft publishes, line by line, with the texts of the passages behind it."""
    return published_lines(
        submission.draft, await with_texts(services.documents, submission.passages), submission.results
    )


async def _check_citations(services: Services, submission: Submission) -> Citations:
    passages = await with_texts(services.documents, submission.passages)
    texts = [passage_text(passage) for passage in passages]
    claims = claims_of(submission.draft, passages)
    statements = [each for each in claims if each.claim.kind in {"stated", "derived"} or each.claim.refuted]
    citing = [each for each in statements if each.passages or each.claim.refuted]
    bare = [
        each._replace(passages=tuple(texts))
        for each in statements
        if not (
            each.passages or each.claim.refuted or sums_of(each.claim.expression) or each.place.startswith("limit ")
        )
    ]
    weakest: dict[str, CheckedClaim] = {}
    for claim in await _check_all(citing, texts):
        key = bare_text(claim.text)
        weakest[key] = min(claim, weakest.get(key, claim), key=lambda each: each.check.support)
    without_source = {bare_text(each.text) for each in await _check_all(bare, ()) if each.check.level == "unsupported"}
    return Citations(list(weakest.values()), len(without_source - weakest.keys()))


async def _check_all(statements: Sequence[DraftClaim], others: Sequence[PassageText]) -> list[CheckedClaim]:
    return await asyncio.to_thread(
        lambda: [CheckedClaim(each, check_claim(each.claim, each.passages, others)) for each in statements]
    )


async def ask_about(
    services: Services, task: MetricTask, doubtful: Sequence[CheckedClaim], *, step: str = ""
) -> CallUsage | None:
    """Ask a model about claims, in as few calls as they fit into: its word is kept for the run. None without a call.

    `step`: what tells these calls from others of the task.
    """
    run = await services.run(task)
    if not doubtful or not run.options.models:
        return None
    model, scope = run.model("evaluator"), scope_of(run, task)
    usage: CallUsage | None = None
    for number, batch in enumerate(_batches(doubtful, run.profile("evaluator").evidence_tokens), start=1):
        name = scope.step + step + ("" if number == 1 else f"/{number}")
        try:
            batch_scope = replace(scope, step=name, sentences=tuple(each.text for each in batch))
            answer = await model.ask(_prompt(batch), CitationReply, scope=batch_scope)
        except (ModelError, BudgetExhausted):
            break
        usage = answer.usage if usage is None else usage + answer.usage
        keep_verdicts(run, batch, answer.value.citations)
    return usage


def _batches(claims: Sequence[CheckedClaim], tokens: int) -> Iterator[list[CheckedClaim]]:
    """As many claims a call as their passages, each shown once, leave room for."""
    batch: list[CheckedClaim] = []
    for each in claims:
        texts = [*(one.whole for one in _passages_of([*batch, each])), *(one.text for one in [*batch, each])]
        if batch and (len(batch) == MOST_CITATIONS or sum(map(estimate_tokens, texts)) > tokens):
            yield batch
            batch = []
        batch.append(each)
    if batch:
        yield batch


def _passages_of(claims: Sequence[CheckedClaim]) -> list[PassageText]:
    """Each once; those of one title next to each other."""
    passages = list(dict.fromkeys(passage for each in claims for passage in each.passages))
    titles = [each.title for each in passages]
    return sorted(passages, key=lambda each: titles.index(each.title))


def _prompt(claims: Sequence[CheckedClaim]) -> CitationPrompt:
    passages = _passages_of(claims)
    return CitationPrompt(
        passages=SourceDocument.of_passages(Passage(url="", **each._asdict()) for each in passages),
        claims=shown_citations(claims, numbers_of([each.id for each in passages])),
    )


def shown_citations(claims: Sequence[CheckedClaim], numbers: Mapping[str, int]) -> list[DoubtfulCitation]:
    """The claims as prompts show them, `numbers` being those of the passages there, by their ids."""
    return [
        DoubtfulCitation(
            number=number,
            place=each.statement.place,
            sentence=each.text,
            passages=[numbers[passage.id] for passage in each.passages],
            expression=each.statement.claim.expression,
        )
        for number, each in enumerate(claims, start=1)
    ]


def metric_names(task: MetricTask) -> list[str]:
    return [each if isinstance(each, str) else each["name"] for each in task["metrics"]]


def scope_of(run: RunContext, task: MetricTask) -> Scope:
    """Whose call it is, by metrics and sample."""
    name = "+".join(metric_names(task))
    return run.scope(
        "evaluator",
        team_id=task["team_id"],
        round_number=task["round_number"],
        step=name if task["sample"] == 1 else f"{name}#{task['sample']}",
        sampled=run.options.evaluator.samples > 1,
    )
