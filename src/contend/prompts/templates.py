"""Jinja2 in a sandbox: plain values in, at most 200,000 characters out beside passages, loops that end."""

import re
import traceback
from collections.abc import Callable, Mapping, Sized
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, markup_join, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from contend.errors import PromptError
from contend.models.record import Language
from contend.prompts.values import DelimitedText
from contend.text import shown_score

MAX_CHARACTERS = 200_000
"""What one render may hold beside the passages that a model reads: how much that is, its context says."""
MAX_STEPS = 100_000
"""Passes through loops and macros in one render."""
MAX_MADE = 50_000_000
"""Characters that one render may make on its way, shown or not."""

_MEDALS = {1: "🥇", 2: "🥈", 3: "🥉"}
_FAULTS = (
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
_MULTIPLYING = frozenset(
    {"expandtabs", "indent", "join", "replace", "tojson", "translate", "urlize", "wordwrap", "xmlattr"}
)
"""Filters and methods that may write one argument as often as another is long."""
_WIDE_FIELD = re.compile(r"%(?:\([^)%]*\))?[#0 +-]*(?:\*|\d{4}|\d*\.(?:\*|\d{4}))|\{[^{}:!]*[:!][^{}]*(?:\{|\d{4})")
"""A field of `%` or `format` of four digits or more, or whose width is a value."""


@dataclass
class _Use:
    """What a render has used up."""

    steps: int = 0
    made: int = 0


_use: ContextVar[_Use | None] = ContextVar("use of the render", default=None)


class PromptTemplate:
    """One compiled template. `shown` is how messages name it: a path or a setting."""

    def __init__(self, text: str, *, label: str, language: Language) -> None:
        """Compile.

        Raises:
            PromptError: a syntax error.
        """
        self._label = label
        environment = _sandbox(language)
        try:
            code = environment.compile(text, name=label, filename=label)
        except TemplateSyntaxError as error:
            raise _error(label, error.lineno, str(error.message)) from error
        self._template = Template.from_code(environment, code, environment.make_globals(None))

    def render(self, values: Mapping[str, object], *, passage_characters: int = 0) -> str:
        """The text, without white space at its ends. `values` are plain or sealed, so much of them passages.

        Raises:
            PromptError: an undefined variable, a forbidden attribute, too long, or any other fault of the template.
        """
        before = _use.set(_Use())
        try:
            return self._join(values, MAX_CHARACTERS + passage_characters).strip()
        except _FAULTS as error:
            raise _error(self._label, self._line_of(error), str(error) or type(error).__name__) from error
        finally:
            _use.reset(before)

    def _join(self, values: Mapping[str, object], most: int) -> str:
        parts: list[str] = []
        length = 0
        for part in self._template.generate(values):
            parts.append(part)
            length += len(part)
            if length > most:
                raise SecurityError(f"renders to more than {most:,} characters; show less")
        return "".join(parts)

    def _line_of(self, error: BaseException) -> int | None:
        frames = traceback.walk_tb(error.__traceback__)
        lines = [line for frame, line in frames if frame.f_code.co_filename == self._label]
        return lines[-1] if lines else None


class _CodeGenerator(CodeGenerator):
    """Lets the sandbox join texts and count passes."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - jinja2's own
        self.write("environment.concat_within((")
        for operand in node.nodes:
            self.visit(operand, frame)
            self.write(", ")
        self.write("))")

    def visit_ExprStmt(self, node: nodes.ExprStmt, frame: Frame) -> None:  # noqa: N802 - jinja2's own
        """Count a pass of so many characters. Only `_generate` makes such statements, so the sandbox need not check."""
        self.writeline("environment.count_step(1, ", node)
        self.visit(node.node, frame)
        self.write(")")


class _Sandbox(ImmutableSandboxedEnvironment):
    """Counts passes through loops and macros and the characters made, and refuses what would fill the memory."""

    code_generator_class = _CodeGenerator
    intercepted_binops = frozenset({"+", "%", "*", "**"})

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        for node in [each for each in source.find_all(nodes.Stmt) if isinstance(each, nodes.For | nodes.Macro)]:
            text = sum(len(data.data) for inner in node.body for data in inner.find_all(nodes.TemplateData))
            node.body.insert(0, nodes.ExprStmt(nodes.Const(text)).set_lineno(node.lineno))
        return super()._generate(source, name, filename, defer_init)

    def count_step(self, count: int = 1, characters: int = 0) -> None:
        use = _use.get() or _Use()
        use.steps += count
        if use.steps > MAX_STEPS:
            raise SecurityError(f"more than {MAX_STEPS:,} passes through loops")
        _count_made(characters)

    def concat_within(self, operands: tuple[object, ...]) -> str:
        """As `~` joins them."""
        _count_made(_whole_size(*operands))
        return markup_join(operands) if self.autoescape else str_join(operands)

    def counted_range(self, *bounds: int) -> range:
        """A filter goes through a range without a loop: its numbers count as passes."""
        numbers = range(*bounds)
        self.count_step(len(numbers[: MAX_STEPS + 1]))
        return numbers

    def call(self, context: Context, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - jinja2's own
        _refuse_large(*arguments, *options.values())
        method = getattr(function, "__wrapped__", function)  # the sandbox wraps `format`
        owner = getattr(method, "__self__", None)
        if not isinstance(owner, str):
            return super().call(context, function, *arguments, **options)
        _refuse_product(method.__name__, owner, *arguments, *options.values())
        return _counted(super().call(context, function, *arguments, **options))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401 - jinja2's own
        if operator == "**" or (operator == "*" and _size(left) * _size(right) > MAX_CHARACTERS):
            raise SecurityError(f"a power, or a product or repetition of more than {MAX_CHARACTERS:,}")
        if operator == "%" and isinstance(left, str):
            _refuse_product("format", left, right)
        _count_made(_whole_size(left, right) if isinstance(left, Sized) else 0)
        return super().call_binop(context, operator, left, right)


@lru_cache(maxsize=2)
def _sandbox(language: Language) -> _Sandbox:
    sandbox = _Sandbox(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False, finalize=_counted
    )
    # Of Jinja2's own functions, what loops need: `lipsum` makes text by the minute.
    sandbox.globals = {"range": sandbox.counted_range, "namespace": Namespace, "dict": dict}

    def format_score(score: float | None) -> str:
        return shown_score(score, language)

    sandbox.filters = {name: _with_bounds(name, each) for name, each in sandbox.filters.items()}
    sandbox.filters |= {"format_score": format_score, "summarize": _summarize, "medal": _medal}
    return sandbox


def _with_bounds(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter of Jinja2's that refuses widths and counts which would fill the memory."""
    before = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def checked_filter(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - any filter's
        value, *others = arguments[before:]
        if name == "join":
            value = [*value]  # a filter before it may give them one by one
        _refuse_large(*others, *options.values())
        _refuse_product(name, value, *others, *options.values())
        return _counted(function(*arguments[:before], value, *others, **options))

    return checked_filter


def _refuse_product(name: str, value: object, *others: object) -> None:
    """What a filter or method, by its name, would make of a value and its other arguments."""
    size = _whole_size(value)
    if name == "format" and isinstance(value, str):
        if _WIDE_FIELD.search(value):
            raise SecurityError("a field of `format` or `%` is wider than 999, or its width is no number")
        size += (value.count("%") + value.count("{")) * _whole_size(*others)
    if name in _MULTIPLYING:
        size *= max([1, *(abs(each) if isinstance(each, int) else _whole_size(each) for each in others)])
    if size > MAX_MADE:
        raise SecurityError(f"`{name}` would make more than {MAX_MADE:,} characters")


def _whole_size(*values: object) -> int:
    """Characters of texts, however deep; at most a little more than `MAX_MADE`."""
    size, rest = 0, [*values]
    while rest and size <= MAX_MADE:
        match rest.pop():
            case str() | bytes() as text:
                size += len(text)
            case Mapping() as mapping:
                rest += [*mapping.keys(), *mapping.values()]
            case list() | tuple() | set() | frozenset() as items:
                rest += items
        size += 1
    return size


def _counted(value: Any) -> Any:  # noqa: ANN401 - any value
    """A value that is made or shown, counted."""
    _count_made(_whole_size(value))
    return value


def _count_made(characters: int) -> None:
    use = _use.get() or _Use()
    use.made += characters
    if use.made > MAX_MADE:
        raise SecurityError(f"more than {MAX_MADE:,} characters on the way to the text")


def _refuse_large(*numbers: object) -> None:
    if any(isinstance(number, int) and abs(number) > MAX_CHARACTERS for number in numbers):
        raise SecurityError(f"a number over {MAX_CHARACTERS:,} given to a function or filter")


def _size(operand: Any) -> float:  # noqa: ANN401 - whatever a template multiplies
    return len(operand) if isinstance(operand, Sized) else abs(operand)


def _summarize(text: str, max_len: int = 200) -> str:
    if isinstance(text, DelimitedText):
        return text.summarize(max_len)
    return text if len(text) <= max_len else text[:max_len] + "..."


def _medal(rank: int | None) -> str:
    return "–" if rank is None else _MEDALS.get(rank, str(rank))


def _error(label: str, line: int | None, message: str) -> PromptError:
    where = label if line is None else f"{label}, line {line}"
    return PromptError(f"Jinja2 template error: {where}: {' '.join(message.split())}")
