# ruff: noqa: ANN401 - what the parser of patterns makes has no types
"""Regular expressions under text that is made to be hard for them.

The measure is the growth of processor time from a text to one twelve times as long: 12 where the work is linear, 144
where it is quadratic, the least of a few measures of each. A busy machine makes single ones larger, some by half or
twice; a verdict would be wrong if it made all of them more than three times as large. Longer searches are ended.
"""

import ast
import importlib
import pkgutil
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, product
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]  # the only way to see what a pattern is made of
from re import _parser as parser  # type: ignore[attr-defined]  # the same
from types import FrameType, ModuleType
from typing import Any, NamedTuple

SIZE = 1_000
TIMES = 12
MOST_GROWTH = 40.0
_SUSPECT = 12
"""Times a plain scan of one word: what costs less is not looked at again. Quadratic work costs twice that."""

_MOST_SECONDS = 0.05
"""For the short text: no linear work takes more than a twentieth of it."""
_MEASURES = 3
_MOST_ATOMS, _MOST_STARTS, _MOST_ITEMS = 8, 12, 4
_CATEGORIES = {
    codes.CATEGORY_SPACE: " \n",
    codes.CATEGORY_NOT_SPACE: "x",
    codes.CATEGORY_DIGIT: "1",
    codes.CATEGORY_NOT_DIGIT: "x",
    codes.CATEGORY_WORD: "aB",
    codes.CATEGORY_NOT_WORD: "-",
}
_AnyPattern = re.Pattern[str] | re.Pattern[bytes]


class Use(NamedTuple):
    """A pattern, and whether it is only tried at one place of a text."""

    name: str
    pattern: _AnyPattern
    at_one_place: bool


class Cost(NamedTuple):
    """How many times more four times the text costs, at worst; infinite where it was ended."""

    growth: float
    text: str


def uses_in(package: str) -> list[Use]:
    """Each pattern of a package once: those that its modules hold, and those written into a call."""
    return list({(use.pattern, use.at_one_place): use for use in _all_uses(package)}.values())


def _all_uses(package: str) -> Iterator[Use]:
    for module in _modules(package):
        source = Path(str(module.__file__)).read_text("utf-8")
        for name, value in vars(module).items():
            for pattern in _patterns(value):
                calls = set(re.findall(rf"\b{name}\.(\w+)\(", source))
                yield Use(f"{module.__name__}.{name}", pattern, bool(calls) and calls <= {"match", "fullmatch"})
        for function, pattern in _inline(source):
            yield Use(f"{module.__name__}: {pattern.pattern!r}", pattern, function in {"match", "fullmatch"})


def _modules(package: str) -> Iterator[ModuleType]:
    for each in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not each.name.endswith("__main__"):
            yield importlib.import_module(each.name)


def _patterns(value: object) -> Iterator[_AnyPattern]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from (found for pair in value.items() for each in pair for found in _patterns(each))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (found for each in value for found in _patterns(each))


def _inline(source: str) -> Iterator[tuple[str, _AnyPattern]]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=function),
                args=[ast.Constant(value=str() | bytes() as text), *_],
            ) if function in {"sub", "subn", "split", "search", "match", "fullmatch", "findall", "finditer"}:
                yield function, re.compile(text)


class Recipe(NamedTuple):
    """A text: `lead`, then `pump` again and again, then `tail`."""

    lead: str
    pump: str
    tail: str

    def text(self, size: int) -> str:
        return f"{self.lead}{self.pump * (size // len(self.pump))}{self.tail}"


def cost(use: Use) -> Cost:
    """That of the first text whose cost grows too much, else of the one that costs most."""
    worst, cheapest = Cost(0.0, ""), _least(_SCAN, "x" * SIZE)
    for recipe in _recipes(use.pattern):
        if _seconds(use, recipe.text(SIZE)) > _SUSPECT * cheapest:
            worst = max(worst, Cost(_growth(use, recipe), repr(recipe)))
        if worst.growth > MOST_GROWTH:
            break
    return worst


def _growth(use: Use, recipe: Recipe) -> float:
    if _seconds(use, recipe.text(SIZE)) == float("inf"):
        return float("inf")
    short = _least(use, recipe.text(SIZE))
    if short == float("inf"):  # a busy machine
        return float("inf")
    return _least(use, recipe.text(SIZE * TIMES), enough=MOST_GROWTH * short) / short


def _least(use: Use, text: str, *, enough: float = 0.0) -> float:
    """Of a few measures, the last of which is the first that is small enough; each is ended where it is more."""
    least = float("inf")
    for _ in range(_MEASURES):
        least = min(least, _seconds(use, text, most=enough or _MOST_SECONDS))
        if least <= enough:
            break
    return least


_SCAN = Use("a plain scan", re.compile(r"[^\W\d_]+|\s+|.", re.DOTALL), at_one_place=False)


def _seconds(use: Use, text: str, *, most: float = _MOST_SECONDS) -> float:
    """Of the processor; infinite where it was ended."""
    subject: Any = text.encode("utf-8", "replace") if isinstance(use.pattern.pattern, bytes) else text
    began = time.thread_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    try:
        if use.at_one_place:
            use.pattern.match(subject)
            use.pattern.fullmatch(subject)
        else:
            sum(1 for _ in use.pattern.finditer(subject))
    except TimeoutError:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.thread_time() - began


def _end(_: int, __: FrameType | None) -> None:
    raise TimeoutError


def _recipes(pattern: _AnyPattern) -> Iterator[Recipe]:
    text: Any = pattern.pattern
    tree = parser.parse(text, pattern.flags & ~re.DEBUG)
    atoms = [*dict.fromkeys(_atoms(tree))][:_MOST_ATOMS]
    starts = [
        *dict.fromkeys(filter(None, [*islice(_starts(tree, 1), _MOST_STARTS), *islice(_starts(tree, 0), _MOST_STARTS)]))
    ]
    pumps = dict.fromkeys([*starts, *atoms, *("".join(pair) for pair in product(atoms, atoms))])
    for pump in pumps:
        yield from (Recipe("", pump, tail) for tail in ("", "\x00"))
    for lead, pump in product(starts, atoms):
        yield Recipe(lead, pump, "\x00")


def _atoms(tree: Any) -> Iterator[str]:
    """Characters that stand for each literal and each class."""
    for code, values in tree:
        if code in {codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY}:
            yield from _characters(code, values)
        for inner in _inner(values):
            yield from _atoms(inner)


def _inner(argument: Any) -> Iterator[Any]:
    if isinstance(argument, parser.SubPattern):
        yield argument
    elif isinstance(argument, list | tuple):
        for each in argument:
            yield from _inner(each)


def _characters(code: Any, argument: Any) -> list[str]:
    if code is codes.LITERAL:
        return [chr(argument)]
    if code is codes.ANY:
        return ["x"]
    if code is codes.NOT_LITERAL:
        return ["x" if argument != ord("x") else "y"]
    inside = [character for item in argument if item[0] is not codes.NEGATE for character in _class_item(*item)]
    if argument[0][0] is codes.NEGATE:
        return [character for character in ("x", " ", "(", "あ") if character not in inside][:1]
    return inside[:_MOST_ITEMS]


def _class_item(code: Any, argument: Any) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    return chr(argument[0]) if code is codes.RANGE else _CATEGORIES.get(argument, "")


def _starts(tree: Any, repeats: int) -> Iterator[str]:
    """What the beginnings of each sequence match, the longest first; what may be left out is there `repeats` times."""
    parts = [_sample(code, values, repeats) for code, values in tree]
    yield from ("".join(parts[:length]) for length in range(len(parts), 0, -1))
    for _, values in tree:
        for inner in _inner(values):
            yield from _starts(inner, repeats)


def _sample(code: Any, argument: Any, repeats: int) -> str:
    """A text that the element matches, as short as is easy."""
    if code in {codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY}:
        return (_characters(code, argument) or [""])[0]
    if code in {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}:
        least, _, body = argument
        return "".join(_sample(*each, repeats) for each in body) * max(repeats, min(least, 20))
    if code in {codes.SUBPATTERN, codes.ATOMIC_GROUP, codes.BRANCH}:
        body = next(_inner(argument))
        return "".join(_sample(*each, repeats) for each in body)
    return ""


@contextmanager
def ended_in_time() -> Iterator[None]:
    """Within it, a search is ended when it has taken its seconds."""
    before = signal.signal(signal.SIGVTALRM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGVTALRM, before)
