"""The arithmetic behind a derived figure, computed anew. Nothing is evaluated but numbers and the operators below."""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, DecimalException, localcontext
from typing import Any

from contend.checks.claims import Claim
from contend.checks.figures import Figure, claimed_figures, stated_figures

LONGEST_EXPRESSION = 300
_MOST_PARTS = 100
_HIGHEST_POWER = 64
_PRECISION = 30

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


_CALLS: Mapping[str, Callable[[Iterable[Decimal]], Decimal]] = {
    "min": min,
    "max": max,
    "sum": lambda numbers: sum(numbers, start=Decimal(0)),
}


class CalculationError(ValueError):
    """An expression that is not arithmetic, or has no result. The message says why."""


def calculate(expression: str) -> Decimal:
    """The value of numbers, + - * / ** %, parentheses, min, max, sum and round; `×`, `÷`, `^` and `,` are read too.

    Raises:
        CalculationError: anything else in it, more than 300 characters, a power over 64, a division by zero.
    """
    return _calculated(expression)[0]


def operands(expression: str) -> list[Decimal]:
    """The numbers in an expression, but for small counts of round and powers.

    Raises:
        CalculationError: as `calculate`.
    """
    return _calculated(expression)[1]


def _calculated(expression: str) -> tuple[Decimal, list[Decimal]]:
    if len(expression) > LONGEST_EXPRESSION:
        raise CalculationError(f"the expression is longer than {LONGEST_EXPRESSION} characters")
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", expression)
    for written, meant in (("×", "*"), ("÷", "/"), ("−", "-"), ("^", "**")):
        plain = plain.replace(written, meant)
    try:
        tree = ast.parse(plain.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CalculationError("the expression is not arithmetic") from error
    if sum(1 for _ in ast.walk(tree)) > _MOST_PARTS:
        raise CalculationError(f"the expression has more than {_MOST_PARTS} parts")
    reader = _Reader()
    with localcontext(prec=_PRECISION):
        try:
            value = reader.value(tree.body)
        except (DecimalException, ZeroDivisionError, OverflowError) as error:
            raise CalculationError("the expression has no result") from error
    if not value.is_finite():
        raise CalculationError("the expression has no result")
    return value, reader.operands


class _Reader:
    """Walks an expression, and notes the numbers that it meets."""

    def __init__(self) -> None:
        self.operands: list[Decimal] = []

    def value(self, node: ast.expr) -> Decimal:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                self.operands.append(Decimal(str(number)))
                return self.operands[-1]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.value(operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(self.value(left), self._count(right))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                value: Decimal = _BINARY[type(op)](self.value(left), self.value(right))
                return value
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if args:
                return self._called(name, args)
        raise CalculationError("the expression has something in it that is not arithmetic")

    def _power(self, base: Decimal, exponent: Decimal) -> Decimal:
        if abs(exponent) > _HIGHEST_POWER:
            raise CalculationError(f"the expression has a power over {_HIGHEST_POWER}")
        result: Decimal = base**exponent
        return result

    def _count(self, node: ast.expr) -> Decimal:
        """A number that is no operand of the sources, as a power or how many digits are kept."""
        before = len(self.operands)
        value = self.value(node)
        del self.operands[before:]
        return value

    def _called(self, name: str, args: list[ast.expr]) -> Decimal:
        if name == "round" and len(args) <= 2:  # noqa: PLR2004 - a number and its digits
            digits = int(self._count(args[1])) if len(args) > 1 else 0
            return round(self.value(args[0]), max(-9, min(9, digits)))
        values = [
            self.value(each) for arg in args for each in (arg.elts if isinstance(arg, ast.List | ast.Tuple) else [arg])
        ]
        if name in _CALLS and values:
            return _CALLS[name](values)
        raise CalculationError(f"the expression calls {name}, which is not one of min, max, sum, round")


# Numbers of nature rather than of a source: parts of a hundred, hours of a day, days of a week, months of a year …
_CONSTANTS = frozenset(
    map(Decimal, (1, 2, 7, 10, 12, 24, 30, 52, 60, 100, 365, 366, 1000, 10_000, 1_000_000, 1_000_000_000))
)


# A figure may be written in another scale than its expression: percent, thousand, million, 万, 億.
_SHIFTS = tuple(Decimal(10) ** power for power in (0, 2, 3, 4, 6, 8, 9, 12))


def result_of(claim: Claim) -> tuple[Decimal, Figure | None]:
    """What the claim's expression gives, and the figure of the claim that is this, rounded or not; None without one.

    Raises:
        CalculationError: as `calculate`.
    """
    value = calculate(claim.expression)
    given = claimed_figures(claim.text)
    return value, next((each for each in given for shift in _SHIFTS if _is(each, abs(value) * shift)), None)


def _is(figure: Figure, value: Decimal) -> bool:
    return figure.is_number_of(figure._replace(value=value))


def operands_missing(claim: Claim, text: str) -> list[str]:
    """The numbers of a claim's expression that a text does not hold; those of calendar and percentages need not stand.

    Raises:
        CalculationError: as `calculate`.
    """
    stated = stated_figures(text)
    numbers = {number for figure in stated for number in (figure.value, figure.number)}
    return [str(each) for each in operands(claim.expression) if each not in numbers and each not in _CONSTANTS]
