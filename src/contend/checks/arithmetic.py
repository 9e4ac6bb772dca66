"""The arithmetic behind a derived figure, computed anew. Nothing is evaluated but numbers and the operators below."""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal, DecimalException, localcontext
from typing import Any

from contend.checks.claims import Claim
from contend.checks.figures import stated_figures

LONGEST_EXPRESSION = 300
_MOST_PARTS = 100
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
    ast.Pow: operator.pow,
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
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CalculationError("the expression is not arithmetic") from error
    if sum(1 for _ in ast.walk(tree)) > _MOST_PARTS:
        raise CalculationError(f"the expression has more than {_MOST_PARTS} parts")
    with localcontext(prec=_PRECISION):
        try:
            value = _value(tree.body)
        except (DecimalException, ZeroDivisionError, OverflowError) as error:
            raise CalculationError("the expression has no result") from error
    if not value.is_finite():
        raise CalculationError("the expression has no result")
    return value


def _value(node: ast.expr) -> Decimal:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Decimal(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            value: Decimal = _BINARY[type(op)](_value(left), _value(right))
            return value
    raise CalculationError("the expression has something in it that is not arithmetic")


def _power(base: Decimal, exponent: Decimal) -> Decimal:
    if abs(exponent) > _HIGHEST_POWER:
        raise CalculationError(f"the expression has a power over {_HIGHEST_POWER}")
    result: Decimal = base**exponent
    return result


# A figure may be written in another scale than its expression: percent, thousand, million, 万, 億.
_SHIFTS = tuple(Decimal(10) ** power for power in (0, 2, 3, 4, 6, 8, 9, 12))


def missing_results(claim: Claim) -> Iterator[str]:
    """The parts of a claim's expression, set apart by semicolons, whose result the claim does not give.

    Each is said with its result. A result may be rounded. What is no arithmetic, such as days that are counted, is for
    readers.
    """
    figures = stated_figures(claim.compared)
    for part in re.split("[;；]", claim.expression):
        formula = part.partition("=")[0].strip()
        with suppress(CalculationError):
            value = calculate(formula)
            results = [abs(value) * shift for shift in _SHIFTS]
            if not any(each.is_number_of(each._replace(value=result)) for each in figures for result in results):
                yield f"{formula} = {value.normalize():f}"
