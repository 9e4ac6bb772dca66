"""Whether what is cited shows the statements: by code's proof, and by a judge's word, whose quotes code verifies."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from contend.checks.proof import stands_in, sums_of
from contend.errors import BudgetExhausted, ModelError
from contend.evidence.pool import numbers_of
from contend.models.evaluation import (
    MOST_CITATIONS,
    CitationReply,
    CitationVerdict,
    CitationWord,
    Doubt,
    MetricResult,
    Verdict,
)
from contend.models.options import MetricConfig
from contend.models.record import Language
from contend.models.research import SHOWN_BY_PASSAGES, CitedSentence, Draft, Passage
from contend.models.task import CallUsage
from contend.prompts.judging import CitationPrompt, UnquotedStatement
from contend.prompts.research import SourceDocument
from contend.run_context import RunContext
from contend.team.measurement import Measurement
from contend.text import WORDS, bare_text, estimate_tokens, shorten
from contend.writing import reasons_of

_COUNTS: dict[Verdict, float] = {"stated": 1.0, "derived": 1.0, "partly": 0.5, "contradicted": 0.0, "absent": 0.0}
_SHOWN_CHARACTERS = 160


@dataclass(frozen=True)
class CitedStatement:
    """A statement at its place, with the texts of the passages that it names, and a judge's word if there is one."""

    place: str
    sentence: CitedSentence
    passages: tuple[Passage, ...]
    word: CitationWord | None = None

    @property
    def text(self) -> str:
        return self.sentence.text

    @property
    def contradicted(self) -> bool:
        return self.word is not None and self.word.verdict == "contradicted"

    @property
    def key(self) -> str:
        """Equal for statements with the same text, sum and passages, across teams and rounds."""
        sums = self.sentence.basis if self.sentence.kind == "derived" else ""
        parts = [self.text, sums, *sorted(each.id for each in self.passages)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    @property
    def is_shown(self) -> bool:
        """Whether it says itself what carries it, and code refutes nothing of that."""
        return bool(self.sentence.quotes) or (self.sentence.kind == "derived" and bool(sums_of(self.sentence.basis)))

    @property
    def value(self) -> float | None:
        """1.0 shown, 0.5 said in part, 0.0 refuted or not shown; None: nobody has judged it."""
        if self.sentence.refuted:
            return 0.0
        if self.word is not None:
            return _COUNTS[self.word.verdict]
        return 1.0 if self.is_shown else None

    def reason(self, language: Language) -> str:
        """Why it is refuted or not shown; "" if nobody said so."""
        if self.sentence.refuted:
            return "; ".join(reasons_of(self.sentence, language))
        return self.word.lacking if self.word else ""


class Citations(NamedTuple):
    """The statements that name passages, or that code refutes, and how many others name none."""

    statements: list[CitedStatement]
    without_source: int

    def unjudged(self) -> list[CitedStatement]:
        """Those that a judge has to show and has not, each once."""
        by_key: dict[str, CitedStatement] = {}
        for each in self.statements:
            if each.value is None:
                by_key.setdefault(each.key, each)
        return [*by_key.values()]

    def with_words(self, words: Mapping[str, CitationWord]) -> "Citations":
        """The same with a judge's words, by key."""
        return self._replace(statements=[replace(each, word=words.get(each.key)) for each in self.statements])

    def weakest(self) -> list[CitedStatement]:
        """Each text once, as it is shown least."""
        by_text: dict[str, CitedStatement] = {}
        for each in self.statements:
            weakest = by_text.setdefault(bare_text(each.text), each)
            if weakest.value is None or (each.value is not None and each.value < weakest.value):
                by_text[bare_text(each.text)] = each
        return [*by_text.values()]


async def citation_support(work: Measurement, config: MetricConfig) -> MetricResult:
    """The share of statements with a source that nothing refutes and a judge accepts; None where there is none.

    What its passages say in part counts half; what nobody has judged takes no part.

    A statement counts once, however often it stands in the report: as it is shown least. One that names no passage
    counts as not shown, unless it is reckoned, a judgement, not found or one of the limits. `evidence`: the statements
    that are refuted or not shown, first those that are contradicted.
    """
    citations = citations_of(work)
    usage = await ask_about(work, citations.unjudged())
    return support_of(config, citations.with_words(work.run.verdicts), work.language, usage)


def support_of(
    config: MetricConfig, citations: Citations, language: Language, usage: CallUsage | None = None
) -> MetricResult:
    """As `citation_support`, of statements that were citations_of."""
    words, statements = WORDS[language].feedback, citations.weakest()
    judged = [each for each in statements if each.value is not None]
    unjudged = [each.text for each in statements if each.value is None]
    if not judged:
        reason = words.none_judged if statements else words.no_passage_cited
        return MetricResult(score=config.with_score(None, reason, applies=False, unjudged=unjudged), usage=usage)
    bad = sorted((each for each in judged if not each.value), key=lambda each: not each.contradicted)
    good = sum(each.value == 1 for each in judged)
    counts = (
        (words.sentences_partly, len(judged) - good - len(bad)),
        (words.sentences_unfounded, citations.without_source),
        (words.sentences_unjudged, len(unjudged)),
    )
    reason = words.sentences_supported.format(good=good, all=len(judged))
    reason += "".join(line.format(count=count) for line, count in counts if count)
    reason += words.weakest_sentence.format(text=shorten(bad[0].text, _SHOWN_CHARACTERS)) if bad else ""
    share = sum(each.value or 0.0 for each in judged) / (len(judged) + citations.without_source)
    partly = {each.text: why for each in judged if each.value != 1 and (why := each.reason(language))}
    evidence = [each.text for each in bad]
    score = config.with_score(share, reason, evidence=evidence, partly=partly, unjudged=unjudged)
    return MetricResult(score=score, usage=usage)


def citations_of(work: Measurement) -> Citations:
    """The submission's statements, with what a judge has said of them earlier in the run."""
    return cited_statements(work.submission.draft, work.passages).with_words(work.run.verdicts)


def keep_verdicts(run: RunContext, statements: Sequence[CitedStatement], verdicts: Sequence[CitationVerdict]) -> None:
    """Remember a judge's words for the rest of the run; a number that was not asked about says nothing."""
    for each in verdicts:
        if each.number <= len(statements):
            statement = statements[each.number - 1]
            run.verdicts[statement.key] = verified_word(each, statement.passages, run.options.language)


def keep_doubts(run: RunContext, citations: Citations, draft: Draft, doubts: Sequence[Doubt]) -> list[Doubt]:
    """Remember what a judge does not accept, for the rest of the run. Gives those of statements that cite nothing."""
    by_place, places = {each.place: each for each in citations.statements}, set[str]()
    places.update(each.place for each in draft.placed_sentences())
    for doubt in doubts:
        if statement := by_place.get(doubt.place):
            run.verdicts[statement.key] = verified_word(doubt, statement.passages, run.options.language)
    return [each for each in doubts if each.place in places - by_place.keys()]


def verified_word(verdict: CitationVerdict | Doubt, passages: Sequence[Passage], language: Language) -> CitationWord:
    """A judge's word, as far as its quote stands in the statement's passages.

    Without such a quote nothing shows the statement, and a contradiction says only that something is missing.
    """
    words, is_found = WORDS[language].feedback, any(stands_in(verdict.quote, each) for each in passages)
    match verdict.verdict:
        case "stated" | "derived" if is_found:
            return CitationWord(verdict.verdict)
        case "stated" | "derived":
            quote = verdict.quote.strip()
            return CitationWord("absent", words.quote_not_found.format(quote=quote) if quote else words.no_quote)
        case "contradicted" if is_found:
            return CitationWord(
                "contradicted", words.contradicted_by.format(reason=verdict.reason, quote=verdict.quote)
            )
        case "contradicted":
            return CitationWord("partly", verdict.reason)
        case _:
            return CitationWord(verdict.verdict, verdict.reason)


def cited_statements(draft: Draft, passages: Sequence[Passage]) -> Citations:
    """The draft's statements that are for passages to show, as code finds them. `passages`: with their texts."""
    by_id = {each.id: each for each in passages}
    statements = [
        CitedStatement(at.place, at.sentence, tuple(by_id[name] for name in at.sentence.passages if name in by_id))
        for at in draft.placed_sentences()
        if at.sentence.kind in SHOWN_BY_PASSAGES or at.sentence.refuted
    ]
    citing = [each for each in statements if each.passages or each.sentence.refuted]
    cited_texts = {bare_text(each.text) for each in citing}
    bare = [
        each for each in statements if not (each.passages or each.sentence.refuted or each.place.startswith("limit "))
    ]
    without_source = {bare_text(each.text) for each in bare if not sums_of(each.sentence.basis)}
    return Citations(citing, len(without_source - cited_texts))


async def ask_about(work: Measurement, statements: Sequence[CitedStatement], *, step: str = "") -> CallUsage | None:
    """Ask a judge about statements, in as few calls as they fit into: its word is kept for the run. None: no call.

    `step`: what tells these calls from others of the task.
    """
    run, scope = work.run, work.scope
    if not statements or not run.options.models:
        return None
    model = run.model("evaluator")
    usage: CallUsage | None = None
    for number, batch in enumerate(_batches(statements, run.profile("evaluator").evidence_tokens), start=1):
        name = scope.step + step + ("" if number == 1 else f"/{number}")
        try:
            batch_scope = replace(scope, step=name, sentences=tuple(each.text for each in batch))
            answer = await model.ask(_prompt(batch), CitationReply, scope=batch_scope)
        except (ModelError, BudgetExhausted):
            break
        usage = answer.usage if usage is None else usage + answer.usage
        keep_verdicts(run, batch, answer.value.citations)
    return usage


def _batches(statements: Sequence[CitedStatement], tokens: int) -> Iterator[list[CitedStatement]]:
    """As many statements a call as their passages, each shown once, leave room for."""
    batch: list[CitedStatement] = []
    for each in statements:
        texts = [f"{one.title}\n\n{one.text}" for one in _passages_of([*batch, each])]
        texts += [one.text for one in [*batch, each]]
        if batch and (len(batch) == MOST_CITATIONS or sum(map(estimate_tokens, texts)) > tokens):
            yield batch
            batch = []
        batch.append(each)
    if batch:
        yield batch


def _passages_of(statements: Sequence[CitedStatement]) -> list[Passage]:
    """Each once; those of one title next to each other."""
    passages = [*{passage.id: passage for each in statements for passage in each.passages}.values()]
    titles = [each.title for each in passages]
    return sorted(passages, key=lambda each: titles.index(each.title))


def _prompt(statements: Sequence[CitedStatement]) -> CitationPrompt:
    passages = _passages_of(statements)
    return CitationPrompt(
        passages=SourceDocument.of_passages(passages),
        claims=shown_citations(statements, numbers_of([each.id for each in passages])),
    )


def shown_citations(statements: Sequence[CitedStatement], numbers: Mapping[str, int]) -> list[UnquotedStatement]:
    """The statements as prompts show them, `numbers` being those of the passages there, by their ids."""
    return [
        UnquotedStatement(
            number=number,
            place=each.place,
            sentence=each.text,
            passages=[numbers[passage.id] for passage in each.passages],
        )
        for number, each in enumerate(statements, start=1)
    ]
