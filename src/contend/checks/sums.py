"""Calculate arithmetic expressions. Only numbers and operators are evaluated."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, DecimalException, localcontext
from typing import Any

LONGEST_EXPRESSION = 300
_HIGHEST_POWER = 366
"""The largest exponent: enough for daily interest over a year."""
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
    """Evaluate numbers with + - * / ** % and parentheses. `×`, `÷`, `^` and thousands commas are accepted.

    A % without a number or parenthesis behind it means percent: 4% is 0.04.

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
