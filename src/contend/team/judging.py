"""What a model judges: a metric alone, or all of them together with the run's criteria.

Its judge sees question, instructions and submission, and what to judge them by.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from contend.criteria import goes_by_criteria, numbered_criteria
from contend.models.evaluation import (
    MOST_CITATIONS,
    Criterion,
    CriterionVerdict,
    Fix,
    MetricReply,
    MetricResult,
    MetricScore,
    MetricVerdict,
    Submission,
    VerdictsReply,
)
from contend.models.options import MetricConfig, ResolvedOptions
from contend.models.record import Language
from contend.models.replies import FixReply
from contend.models.research import Passage
from contend.prompts.judging import MetricPrompt, VerdictsPrompt
from contend.prompts.research import ResearchHead, ShownPart, ShownPassage, SourceDocument
from contend.run_context import RunContext
from contend.team.judge_view import (
    ReportView,
    cited_passages,
    fitting_passages,
    reference_numbers,
    report_view,
    whole_text,
)
from contend.team.measurement import Measurement
from contend.team.support import (
    Citations,
    CitedStatement,
    ask_about,
    citations_of,
    keep_doubts,
    keep_verdicts,
    shown_citations,
)
from contend.text import WORDS, bare_text, clean
from contend.writing import DraftLength, length_of, target_length

WITH_PASSAGES = "correctness"
"""The metric whose judge has the cited passages at hand."""

_LEAST_WHOLE_CONTEXT = 64_000
"""In a smaller one all passages at hand would leave a judge too little for its reply."""
BESIDE_TOKENS = 8_000
"""Passages that a judge sees beside those that a report cites, where it cannot see all."""

_AROUND_QUOTES = "\"'“”‘’「」『』…."
_SHARES = {"met": 1.0, "partly": 0.5, "unmet": 0.0}


async def judge_by_model(work: Measurement, config: MetricConfig) -> MetricResult:
    """One metric's verdict.

    Raises:
        ModelError: the metric's model failed.
    """
    run, submission = work.run, work.submission
    options, profile = run.options, run.profile("evaluator", name=config.model)
    with_passages = config.name == WITH_PASSAGES
    passages = cited_passages(submission, work.passages, tokens=profile.evidence_tokens) if with_passages else []
    numbers = reference_numbers(submission)
    prompt = MetricPrompt(
        user_query=work.question,
        instructions=options.instructions,
        passages=[ShownPassage.of(each, numbers.get(each.id, 0)) for each in passages],
        submission=whole_text(submission.content),
        metric=config.name,
        rubric=work.rubric(config),
        points=submission.points,
    )
    model = run.model("evaluator", name=config.model)
    distribution_over = "percent" if options.evaluator.expected_score else None
    answer = await model.ask(prompt, MetricReply, scope=work.scope, distribution_over=distribution_over)
    reply = answer.value
    percent = reply.expected_score(answer.distribution) if answer.distribution else reply.score()
    return MetricResult(score=_score(config, reply, percent, submission.content), usage=answer.usage)


class _JudgeInput(NamedTuple):
    """What one call judges of a submission: metrics `by_criteria` and `by_rubric`, and statements that are `unquoted`.

    `without_room`: those that are too many for one reply.
    """

    submission: Submission
    view: ReportView
    citations: Citations
    by_criteria: list[MetricConfig]
    criteria: list[Criterion]
    by_rubric: list[MetricConfig]
    rubrics: list[str]
    unquoted: list[CitedStatement]
    without_room: list[CitedStatement]
    with_fixes: bool
    nearest: Sequence[Passage]


async def judge_together(work: Measurement) -> list[MetricResult]:
    """The verdicts on several metrics, of one call. Coverage is judged by the run's criteria, where it has any.

    What the submission lacks of its passages is among the fixes of the first.

    Statements that quote nothing are asked about in the same call, which has their passages, and those that one reply
    has no room for in calls of their own: the answers are kept for the run.

    Raises:
        ModelError: the judges' model failed.
    """
    run, submission, judge_input = work.run, work.submission, _judge_input(work)
    answer = await run.model("evaluator").ask(
        _verdicts_prompt(run, judge_input, theme=work.question),
        VerdictsReply,
        scope=replace(work.scope, sentences=tuple(each.text for each in judge_input.unquoted)),
        faults=lambda reply: faults_of_verdicts(
            reply,
            len(judge_input.criteria),
            [each.name for each in judge_input.by_rubric],
            with_fixes=judge_input.with_fixes and not _length_of(submission, run.options)["is_full"],
        ),
    )
    keep_verdicts(run, judge_input.unquoted, answer.value.citations)
    others = keep_doubts(run, judge_input.citations, submission.draft, answer.value.doubts)
    more = await ask_about(work, judge_input.without_room, step="/citations")
    usage = answer.usage + more if more else answer.usage
    first, *rest = _scores(judge_input, answer.value, run.options)
    fixes = [Fix(where=each.place, what=each.reason) for each in others]
    texts = {each.place: each.sentence.text for each in submission.draft.placed_sentences()}
    partly, doubted = (
        {texts[each.place]: each.reason for each in others if (each.verdict == "partly") is in_part}
        for in_part in (True, False)
    )
    first = first.model_copy(update={"fixes": [*fixes, *first.fixes], "partly": partly, "doubted": doubted})
    return [MetricResult(score=first, usage=usage), *(MetricResult(score=each) for each in rest)]


def _judge_input(work: Measurement) -> _JudgeInput:
    run, submission, profile = work.run, work.submission, work.run.profile("evaluator")
    by_model = [each for each in work.metrics if each.kind == "model"]
    by_criteria = [each for each in by_model if goes_by_criteria(run.library, each, run.options) and work.criteria]
    by_rubric = [each for each in by_model if each not in by_criteria]
    view = report_view(
        submission,
        work.passages,
        tokens=profile.evidence_tokens,
        beside=min(BESIDE_TOKENS, profile.tokens // 4),
        whole=profile.evidence_tokens * 5 // 4 if profile.tokens >= _LEAST_WHOLE_CONTEXT else 0,
    )
    citations = citations_of(work)
    unquoted = citations.unjudged()
    with_passages = [each for each in unquoted if view.numbers.keys() >= {one.id for one in each.passages}]
    return _JudgeInput(
        submission,
        view,
        citations,
        by_criteria,
        [*work.criteria] if by_criteria else [],
        by_rubric,
        [f"## {each.name}\n\n{work.rubric(each)}" for each in by_rubric],
        with_passages[:MOST_CITATIONS],
        with_passages[MOST_CITATIONS:],
        work.with_fixes,
        fitting_passages(work.nearest, tokens=profile.step_tokens),
    )


def _verdicts_prompt(run: RunContext, judge_input: _JudgeInput, *, theme: str) -> VerdictsPrompt:
    options = run.options
    submission, view = judge_input.submission, judge_input.view
    numbers = submission.number_of([*view.passages, *judge_input.nearest])
    head = ResearchHead(
        theme=theme,
        instructions=options.instructions,
        for_writers=False,
        passages=SourceDocument.of((numbers[each.id], each) for each in view.passages),
    )
    return VerdictsPrompt(
        head=run.render(head),
        has_passages=bool(head.passages),
        parts=[
            ShownPart(number=number, text=part.text, state=part.state, missing=part.missing)
            for number, part in enumerate(submission.parts, start=1)
        ],
        nearest=SourceDocument.of((numbers[each.id], each) for each in judge_input.nearest),
        submission=view.text,
        structured=view.structured,
        invented=view.invented,
        declined=[clean(each, single_line=True) for each in submission.draft.declined],
        left_out=[clean(each, single_line=True) for each in submission.draft.left_out],
        unquoted=shown_citations(judge_input.unquoted, view.numbers),
        criteria=numbered_criteria(judge_input.criteria, options.language),
        rubrics="\n\n".join(judge_input.rubrics),
        with_fixes=judge_input.with_fixes,
        **_length_of(submission, options),
    )


def _length_of(submission: Submission, options: ResolvedOptions) -> DraftLength:
    return length_of(submission.draft, target_length(options.length, len(submission.parts)))


def _scores(judge_input: _JudgeInput, reply: VerdictsReply, options: ResolvedOptions) -> list[MetricScore]:
    """One for each metric; the first has the fixes of what the submission lacks, too."""
    text = f"{judge_input.submission.content}\n{judge_input.view.text}"
    verdicts = {verdict.metric.strip(): verdict for verdict in reversed(reply.metrics)}
    language, is_full = options.language, _length_of(judge_input.submission, options)["is_full"]
    scores = [
        coverage_of(each, judge_input.criteria, reply.criteria, language, is_full=is_full)
        for each in judge_input.by_criteria
    ]
    for each in judge_input.by_rubric:
        verdict = verdicts.get(each.name)
        none = each.with_score(None, WORDS[language].feedback.no_verdict)
        scores.append(_score(each, verdict, verdict.percent / 100, text, fixes=verdict.fixes) if verdict else none)
    first, *others = scores
    return [first.model_copy(update={"fixes": [*first.fixes, *map(_fix, reply.missing)]}), *others]


def coverage_of(
    config: MetricConfig,
    criteria: Sequence[Criterion],
    verdicts: Sequence[CriterionVerdict],
    language: Language,
    *,
    is_full: bool = False,
) -> MetricScore:
    """The weighted share of the criteria that are met, a partly met one counting half; fixes, the weightiest first.

    `is_full`: the report has no room, so that the judge may ask for nothing where a criterion is not met.

    A criterion on which the judge said nothing takes no part; without any verdict coverage is unscored.
    """
    words = WORDS[language].feedback
    by_criterion = {each.number: each for each in reversed(verdicts) if each.number <= len(criteria)}
    by_number = sorted(by_criterion.items())
    lacking = [(number, each) for number, each in by_number if each.verdict != "met"]
    lacking.sort(key=lambda one: -criteria[one[0] - 1].weight * (1 - _SHARES[one[1].verdict]))
    total = sum(criteria[number - 1].weight for number in by_criterion)
    if not total:
        return config.with_score(None, words.no_verdict)
    points = sum(criteria[number - 1].weight * _SHARES[each.verdict] for number, each in by_number)
    counts = {name: sum(each.verdict == name for each in by_criterion.values()) for name in _SHARES}
    return config.with_score(
        min(1.0, points / total),
        words.criteria_met.format(all=len(by_criterion), **counts),
        evidence=[each.evidence for _, each in by_number if each.verdict == "met" and each.evidence.strip()],
        fixes=[_unmet(criteria[number - 1], each, language) for number, each in lacking if each.fix or not is_full],
        verdicts={str(number): each.verdict for number, each in by_number},
    )


def _unmet(criterion: Criterion, verdict: CriterionVerdict, language: Language) -> Fix:
    """What to mend, with the criterion: from here on the team may know it."""
    words = WORDS[language].feedback
    criterion_text = (words.criterion_partly if verdict.verdict == "partly" else words.criterion_unmet).format(
        text=criterion.text
    )
    if verdict.fix is None:
        return Fix(where=words.whole_report, what=criterion_text)
    return Fix(where=verdict.fix.where, what=f"{verdict.fix.what} ({criterion_text})")


def faults_of_verdicts(reply: VerdictsReply, criteria: int, metrics: Sequence[str], *, with_fixes: bool = True) -> str:
    """What the judge has to mend in its reply, a line each; "" where nothing is wrong."""
    numbers, names = {each.number for each in reply.criteria}, {each.metric.strip() for each in reply.metrics}
    lines = [f"criterion {number} has no verdict" for number in range(1, criteria + 1) if number not in numbers]
    lines += [f"there is no criterion {number}" for number in sorted(numbers) if number > criteria]
    lines += [f"metric {name} has no verdict" for name in metrics if name not in names]
    lines += [
        f"criterion {each.number} is {each.verdict}: say in `fix` what to change, and where"
        for each in reply.criteria
        if with_fixes and each.verdict != "met" and each.fix is None
    ]
    return "\n".join(lines)


def _score(
    config: MetricConfig, reply: MetricReply | MetricVerdict, score: float, text: str, *, fixes: Sequence[FixReply] = ()
) -> MetricScore:
    evidence, unfound = evidence_in(reply.evidence, text)
    to_mend = [*map(_fix, fixes)]
    return config.with_score(score, reply.reason, evidence=evidence, dropped=unfound, fixes=to_mend)


def evidence_in(evidence: Sequence[str], content: str) -> tuple[list[str], int]:
    """The quotes that stand in the submission, white space, emphasis and citation marks aside, and how many do not."""
    body = bare_text(content)
    quotes = [quote for quote in evidence if (plain := bare_text(quote).strip(_AROUND_QUOTES)) and plain in body]
    return quotes, len(evidence) - len(quotes)


def _fix(reply: FixReply) -> Fix:
    return Fix(where=reply.where, what=reply.what)
