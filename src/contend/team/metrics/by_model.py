"""Metrics by a model: its judge sees question, instructions and submission, and what to judge them by."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from contend.models.evaluation import Criterion, Fix, MetricScore
from contend.models.judging_replies import MOST_CITATIONS, CriterionVerdict, MetricReply, MetricVerdict, VerdictsReply
from contend.models.options import MetricConfig
from contend.models.record import Language
from contend.models.replies import FixReply
from contend.models.submission import Submission
from contend.models.task import CallUsage
from contend.prompts.judging import DoubtfulCitation, MetricPrompt, VerdictsPrompt
from contend.prompts.research import ShownPassage, SourceDocument
from contend.research.draft_view import length_of
from contend.research.full import length_values
from contend.services import Services
from contend.team.criteria import judged_by_criteria
from contend.team.evaluation import evidence_in
from contend.team.metrics.judge_view import cited_passages, reference_numbers, report_view
from contend.team.metrics.rejection import whole_text
from contend.team.metrics.support import CheckedClaim, citations_of, keep_verdicts
from contend.team.state import MetricTask, scope_of
from contend.text import WORDS, clean

WITH_PASSAGES = "correctness"
"""The metric whose judge has the cited passages at hand."""

_SHARES = {"met": 1.0, "partly": 0.5, "unmet": 0.0}


async def judge_by_model(
    services: Services, task: MetricTask, config: MetricConfig, submission: Submission
) -> tuple[MetricScore, CallUsage]:
    """One metric's verdict.

    Raises:
        ModelError: the metric's model failed.
    """
    run = await services.run(task)
    options, profile = run.options, run.profile("evaluator", name=config.model)
    with_passages = config.name == WITH_PASSAGES
    passages = await cited_passages(services, submission, tokens=profile.judged_tokens) if with_passages else []
    numbers = reference_numbers(submission)
    prompt = MetricPrompt(
        user_query=task["theme"],
        instructions=options.instructions,
        passages=[ShownPassage.of(each, numbers.get(each.id, 0)) for each in passages],
        submission=whole_text(submission.content),
        metric=config.name,
        rubric=services.rubric(config, options.language),
        points=submission.points,
    )
    model = run.model("evaluator", name=config.model)
    distribution_over = "percent" if options.evaluator.expected_score else None
    answer = await model.structured(prompt, MetricReply, scope=scope_of(run, task), distribution_over=distribution_over)
    evidence, unfound = evidence_in(answer.value.evidence, submission.content)
    score = MetricScore(
        name=config.name,
        score=answer.value.expected(answer.distribution) if answer.distribution else answer.value.score(),
        reason=answer.value.reason,
        weight=options.evaluator.weights()[config.name],
        evidence=evidence,
        dropped=unfound,
    )
    return score, answer.usage


async def judge_together(
    services: Services, task: MetricTask, configs: Sequence[MetricConfig], submission: Submission
) -> tuple[list[MetricScore], CallUsage]:
    """The verdicts on several metrics, of one call. Coverage is judged by the run's criteria, where it has any.

    What the submission lacks of its passages is among the fixes of the first.

    Doubtful citations are asked about in the same call, which has their passages: the answers are kept for the run.

    Raises:
        ModelError: the judges' model failed.
    """
    run = await services.run(task)
    options = run.options
    by_criteria = [each for each in configs if judged_by_criteria(services, each, options) and task["criteria"]]
    criteria = [Criterion.model_validate(each) for each in task["criteria"]] if by_criteria else []
    by_rubric = [each for each in configs if each not in by_criteria]
    profile = run.profile("evaluator")
    view = await report_view(services, submission, tokens=profile.judged_tokens, beside=profile.chosen_tokens)
    citations = await citations_of(services, task, submission)
    doubtful = [each for each in citations.doubtful() if view.numbers.keys() >= {one.id for one in each.passages}]
    doubtful = doubtful[:MOST_CITATIONS]
    rubrics = [f"## {each.name}\n\n{services.rubric(each, options.language)}" for each in by_rubric]
    prompt = VerdictsPrompt(
        user_query=task["theme"],
        instructions=options.instructions,
        passages=SourceDocument.numbered(view.passages),
        submission=view.text,
        structured=view.structured,
        invented=view.invented,
        declined=[clean(each, single_line=True) for each in submission.draft.declined],
        doubtful=_listed_doubts(doubtful, view.numbers),
        criteria=numbered_criteria(criteria),
        rubrics="\n\n".join(rubrics),
        **length_of(submission.draft),
        **length_values(options.length),
    )
    answer = await run.model("evaluator").structured(
        prompt,
        VerdictsReply,
        scope=replace(scope_of(run, task), sentences=tuple(each.text for each in doubtful)),
        faults=lambda reply: faults_of(reply, len(criteria), [each.name for each in by_rubric]),
    )
    keep_verdicts(run, doubtful, answer.value.citations)
    weights, text = options.evaluator.weights(), f"{submission.content}\n{view.text}"
    scores = [
        coverage_of(criteria, answer.value.criteria, weights[each.name], options.language) for each in by_criteria
    ]
    verdicts = {verdict.metric.strip(): verdict for verdict in reversed(answer.value.metrics)}
    scores += [
        _score(each.name, verdicts.get(each.name), text, weights[each.name], options.language) for each in by_rubric
    ]
    if scores:
        scores[0] = scores[0].model_copy(update={"fixes": [*scores[0].fixes, *map(_fix, answer.value.missing)]})
    return scores, answer.usage


def _listed_doubts(doubtful: Sequence[CheckedClaim], numbers: Mapping[str, int]) -> list[DoubtfulCitation]:
    """Doubtful statements by their places, with the numbers of their passages."""
    return [
        DoubtfulCitation(
            number=number,
            place=each.statement.place,
            passages=[numbers[passage.id] for passage in each.passages],
            expression=each.statement.claim.expression,
        )
        for number, each in enumerate(doubtful, start=1)
    ]


def numbered_criteria(criteria: Sequence[Criterion], *, with_weights: bool = False) -> str:
    """The criteria by number, with their weights where wanted. They are a model's words on a question of anybody's."""
    weights = [f" ({each.weight:.0%})" if with_weights else "" for each in criteria]
    lines = [f"{number}. {each.text}{weights[number - 1]}" for number, each in enumerate(criteria, start=1)]
    return "\n".join(lines)


def coverage_of(
    criteria: Sequence[Criterion], verdicts: Sequence[CriterionVerdict], weight: float, language: Language
) -> MetricScore:
    """The weighted share of the criteria that are met, a partly met one counting half; fixes, the weightiest first.

    A criterion on which the judge said nothing takes no part; without any verdict coverage is unscored.
    """
    words = WORDS[language].feedback
    by_criterion = {each.number: each for each in reversed(verdicts) if each.number <= len(criteria)}
    by_number = sorted(by_criterion.items())
    lacking = [(number, each) for number, each in by_number if each.verdict != "met"]
    lacking.sort(key=lambda one: -criteria[one[0] - 1].weight * (1 - _SHARES[one[1].verdict]))
    total = sum(criteria[number - 1].weight for number in by_criterion)
    if not total:
        return MetricScore(name="coverage", score=None, reason=words.no_verdict, weight=weight)
    points = sum(criteria[number - 1].weight * _SHARES[each.verdict] for number, each in by_number)
    counts = {name: sum(each.verdict == name for each in by_criterion.values()) for name in _SHARES}
    return MetricScore(
        name="coverage",
        score=min(1.0, points / total),
        reason=words.criteria_met.format(all=len(by_criterion), **counts),
        weight=weight,
        evidence=[each.evidence for _, each in by_number if each.verdict == "met" and each.evidence.strip()],
        fixes=[_unmet(criteria[number - 1], each, language) for number, each in lacking],
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


def faults_of(reply: VerdictsReply, criteria: int, metrics: Sequence[str]) -> str:
    """What the judge has to mend in its reply, a line each; "" where nothing is wrong."""
    numbers, names = {each.number for each in reply.criteria}, {each.metric.strip() for each in reply.metrics}
    lines = [f"criterion {number} has no verdict" for number in range(1, criteria + 1) if number not in numbers]
    lines += [f"there is no criterion {number}" for number in sorted(numbers) if number > criteria]
    lines += [f"metric {name} has no verdict" for name in metrics if name not in names]
    lines += [
        f"criterion {each.number} is {each.verdict}: say in `fix` what to change, and where"
        for each in reply.criteria
        if each.verdict != "met" and each.fix is None
    ]
    return "\n".join(lines)


def _score(name: str, verdict: MetricVerdict | None, text: str, weight: float, language: Language) -> MetricScore:
    if verdict is None:
        return MetricScore(name=name, score=None, reason=WORDS[language].feedback.no_verdict, weight=weight)
    evidence, unfound = evidence_in(verdict.evidence, text)
    return MetricScore(
        name=name,
        score=verdict.percent / 100,
        reason=verdict.reason,
        weight=weight,
        evidence=evidence,
        dropped=unfound,
        fixes=[_fix(each) for each in verdict.fixes],
    )


def _fix(reply: FixReply) -> Fix:
    return Fix(where=reply.where, what=reply.what)
