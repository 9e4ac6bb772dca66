"""The check of a claim against the passages that it names, also of its arithmetic; whether what is cited was retrieved.

Nothing of an expression is evaluated but numbers and operators.
"""

import ast
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, DecimalException, localcontext
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from contend.checks.claims import Claim, ClaimCheck, Mark, PassageText, Strength, strength
from contend.checks.figures import stated_figures
from contend.checks.rules import DOUBTED, NOT_SUPPORTED, RULES, figure_differs
from contend.models.research import MARK, ResearchReport
from contend.text import ADDRESS, WORDS, address_key, addresses, question_language, shorten, without_code, without_tail

# Chosen on the first halves of benchmarks/citations_*.toml and of experts' answers (data/citations), as
# benchmarks/citations.py counts what they tell apart.
SUPPORTED, NEAR = 0.8, 0.5
_SCALE = ((0.0, 0.1), (0.18, NEAR), (0.85, SUPPORTED), (1.0, 1.0))
"""Lift, and the support that it amounts to."""
_BONUS_WITHOUT_RIVAL = 0.17
"""What lift gains where no other passage at hand says the claim clearly better."""
_CLEARLY_BETTER = 0.135
_LONGEST_EXCERPT = 300


def check_claim(claim: Claim, passages: Sequence[PassageText], others: Sequence[PassageText] = ()) -> ClaimCheck:
    """How far the passages that a claim names say it. They are read whole, and nothing else.

    `others`: what the claim could have named instead. That none of them says it as well speaks for the citation; where
    one says it clearly better, the claim is marked. Sources that speak to AI systems support nothing.
    """
    honest = tuple(passage for passage in passages if not passage.speaks_to_ai)
    if passages and not honest and claim.kind in {"stated", "derived"}:
        return ClaimCheck(level="unsupported", support=0.0, marks=[_mark(claim, "speaks_to_ai")])
    return _check(claim, honest, tuple(other for other in others if not other.speaks_to_ai))


# The metrics, the comparison of two teams and the published report ask about the same sentences.
@lru_cache(maxsize=4096)
def _check(claim: Claim, passages: tuple[PassageText, ...], others: tuple[PassageText, ...]) -> ClaimCheck:
    if claim.refuted:
        mark = Mark(rule="refuted", detail="", line=claim.refuted)
        return ClaimCheck(level="unsupported", support=0.0, marks=[mark])
    if claim.kind in {"judgement", "not_found", "lead_in"}:
        return ClaimCheck(level="not_needed", support=1.0)
    if not passages:
        return ClaimCheck(level="unsupported", support=0.0, marks=[_mark(claim, "no_passage")])
    if claim.quoted:
        return ClaimCheck(level="supported", support=1.0)
    strongest = strength(claim.comparison_text, passages)
    if claim.kind == "derived":
        support, marks = _check_derived_claim(claim, strongest, passages)
    else:
        support, marks = _check_stated_claim(claim, strongest, passages, others)
    return ClaimCheck(
        level="supported" if support >= SUPPORTED else "near" if support >= NEAR else "unsupported",
        support=round(support, 3),
        marks=marks,
        nearest=strongest.nearest,
        excerpt=shorten(strongest.sentence, _LONGEST_EXCERPT),
    )


def _check_derived_claim(
    claim: Claim, comparison: Strength, passages: Sequence[PassageText]
) -> tuple[float, list[Mark]]:
    """It has other words than its passages: code only computes, and whether it follows is for a language model."""
    foreign = any(figure_differs(claim, passages))
    wrong = [_mark(claim, "arithmetic", each) for each in missing_results(claim)] if foreign else []
    return NOT_SUPPORTED if wrong else min(DOUBTED, max(NEAR, _support_of_lift(comparison.lift))), wrong


def _check_stated_claim(
    claim: Claim, comparison: Strength, passages: Sequence[PassageText], others: Sequence[PassageText]
) -> tuple[float, list[Mark]]:
    marks = list(_marks(claim, passages))
    support, better = _support(claim, comparison, passages, others)
    if any(mark.rule == "language" for mark, _ in marks):
        support, better = max(support, NEAR), ""
    if better:
        marks.append((_mark(claim, "elsewhere", better), NOT_SUPPORTED))
    return min([support, *(cap for _, cap in marks)]), [mark for mark, _ in marks]


def _support(
    claim: Claim, comparison: Strength, passages: Sequence[PassageText], others: Sequence[PassageText]
) -> tuple[float, str]:
    """The support by strength alone, and the title of another passage that says it clearly better."""
    ids = {passage.id for passage in passages}
    rivals = [other for other in others if other.id not in ids]
    if not rivals:
        return _support_of_lift(comparison.lift), ""
    if comparison.share + _CLEARLY_BETTER < 1:
        best, title = max((strength(claim.comparison_text, (other,)).share, other.title) for other in rivals)
        if best - comparison.share > _CLEARLY_BETTER:
            return _support_of_lift(comparison.lift), title
    return _support_of_lift(comparison.lift + _BONUS_WITHOUT_RIVAL if comparison.lift else 0.0), ""


def _support_of_lift(lift: float) -> float:
    within = min(1.0, lift)
    (low, least), (high, most) = next(pair for pair in pairwise(_SCALE) if within <= pair[1][0])
    return least + (most - least) * (within - low) / (high - low)


def _marks(claim: Claim, passages: Sequence[PassageText]) -> Iterator[tuple[Mark, float]]:
    for rule in RULES:
        details = list(dict.fromkeys(rule.find(claim, passages)))
        if details:
            yield _mark(claim, rule.name, ", ".join(details)), rule.cap


def _mark(claim: Claim, rule: str, detail: str = "") -> Mark:
    lines = WORDS[question_language(claim.text)].rule_lines
    return Mark(rule=rule, detail=detail, line=lines[rule].format(detail=detail))


class Validity(NamedTuple):
    """Of `total` distinct citations `valid` name a retrieved source; `unknown` lists the others as written."""

    valid: int
    total: int
    unknown: list[str]


def citation_numbers(report: ResearchReport) -> list[int]:
    """The numbers of all `[n]` in a report's text, in order, repeats kept; those in code are none."""
    return [int(number) for number in MARK.findall(without_code(body_of(report)))]


def check_validity(report: ResearchReport, retrieved_urls: Collection[str], *, texts: Iterable[str] = ()) -> Validity:
    """Whether each `[n]`, and each address in the text of a report, is a source that was retrieved.

    An address that one of the `texts` has, such as the default of an option, is no citation.
    """
    keys = {address_key(url) for url in retrieved_urls}
    url_of = {number: source.url for number, source in enumerate(report.sources, start=1)}
    citations = {f"[{number}]": url_of.get(number, "") for number in citation_numbers(report)}
    in_texts = {address for text in texts for address in addresses(text)} - keys
    in_report = (without_tail(match[0]) for match in ADDRESS.finditer(MARK.sub(" ", without_code(body_of(report)))))
    citations |= {url: url for url in in_report if url and address_key(url) not in in_texts}
    unknown = [name for name, url in citations.items() if address_key(url) not in keys]
    return Validity(valid=len(citations) - len(unknown), total=len(citations), unknown=unknown)


def body_of(report: ResearchReport) -> str:
    """The report's text without its list of references."""
    return report.model_copy(update={"sources": []}).to_markdown()


LONGEST_EXPRESSION = 300
_HIGHEST_POWER = 366
"""Interest by the day for a year."""
_PRECISION = 30
_PERCENT = re.compile(r"(?<![\d.])(\d++(?:\.\d*+)?|\.\d++)\s*+[%％](?!\s*[\w.(])")

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}


class CalculationError(ValueError):
    """An expression that is not arithmetic, or has no result. The message says why."""


def calculate(expression: str) -> Decimal:
    """The value of numbers, + - * / ** % and parentheses; `×`, `÷`, `^` and `,` are read too.

    A % that no number or parenthesis follows is percent: 4% is 0.04.

    Raises:
        CalculationError: anything else in it, more than 300 characters, a power over 366, a division by zero.
    """
    if len(expression) > LONGEST_EXPRESSION:
        raise CalculationError(f"the expression is longer than {LONGEST_EXPRESSION} characters")
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", expression)
    for sign, operator_sign in (("×", "*"), ("÷", "/"), ("−", "-"), ("^", "**")):
        plain = plain.replace(sign, operator_sign)
    plain = _PERCENT.sub(r"(\1/100)", plain)
    try:
        tree = ast.parse(plain.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise CalculationError("the expression is not arithmetic") from error
    with localcontext(prec=_PRECISION):
        try:
            value = _value(tree.body)
        except DecimalException as error:
            raise CalculationError("the expression has no result") from error
    if not value.is_finite():
        raise CalculationError("the expression has no result")
    return value


def _value(node: ast.expr) -> Decimal:
    match node:
        case ast.Constant(value=int() | float() as number):
            return Decimal(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            exponent = _value(right)
            if abs(exponent) > _HIGHEST_POWER:
                raise CalculationError(f"the expression has a power over {_HIGHEST_POWER}")
            return Decimal(_value(left) ** exponent)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return Decimal(_BINARY[type(op)](_value(left), _value(right)))
    raise CalculationError("the expression has something in it that is not arithmetic")


# A figure may be written in another scale than its expression: percent, thousand, million, 万, 億.
_SHIFTS = tuple(Decimal(10) ** power for power in (0, 2, 3, 4, 6, 8, 9, 12))


def missing_results(claim: Claim) -> Iterator[str]:
    """The parts of a claim's expression, set apart by semicolons, whose result the claim does not give.

    Each is said with its result. A result may be rounded. What is no arithmetic, such as days that are counted, is for
    readers.
    """
    figures = stated_figures(claim.comparison_text)
    for part in re.split("[;；]", claim.expression):
        formula = part.partition("=")[0].strip()
        with suppress(CalculationError):
            value = calculate(formula)
            results = [abs(value) * shift for shift in _SHIFTS]
            if not any(each.is_number(result) for each in figures for result in results):
                yield f"{formula} = {value.normalize():f}"
