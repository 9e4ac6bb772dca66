"""Find figures, dates and identifiers of a text in another text, in English, German and Japanese notations.

A figure with two readings, such as `1.234`, counts as found if the other text has either.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from functools import lru_cache
from itertools import product
from typing import Any

from contend.checks.days import Day, without_days
from contend.checks.units import UNITS, Unit
from contend.text import ADDRESS, en, ja, without_marks

_SCALES: dict[str, Sequence[int]] = {
    "k": (3,), "thousand": (3,), "thousands": (3,), "tausend": (3,), "tsd": (3,),
    "m": (6,), "mn": (6,), "million": (6,), "millions": (6,), "millionen": (6,), "mio": (6,),
    "b": (9,), "bn": (9,), "billion": (9, 12), "billions": (9,), "billionen": (12,), "mrd": (9,), "milliarde": (9,),
    "milliarden": (9,), "tn": (12,), "trillion": (12,), "百": (2,), "千": (3,), "万": (4,), "百万": (6,), "億": (8,),
    "兆": (12,),
}  # fmt: skip
"""The powers of ten by which a word behind a number multiplies it."""
_CASED_SCALES = {"k", "m", "b"}
"""Letters that are also units. They multiply only as capitals directly after a number, or after a currency."""
_SPELT: dict[str, Decimal] = {word: Decimal(value) for word, value in en.SPELT.items()} | {
    word: Decimal(value)
    for value, words in {
        "0": "null", "1": "once ein eine einen eines einer", "2": "twice both zwei beide beiden",
        "3": "drei third thirds drittel", "4": "vier viertel quarter quarters",
        "5": "fünf fünftel fifth fifths", "6": "sechs sechstel sixth sixths", "7": "sieben",
        "8": "acht achtel eighth eighths",
        "9": "neun", "10": "zehn zehntel tenth tenths", "11": "elf",
        "12": "zwölf dutzend", "15": "fünfzehn", "20": "zwanzig", "30": "dreißig", "40": "vierzig", "50": "fünfzig",
        "100": "hundred hundert", "1000": "thousand tausend", "0.5": "half halb halbe hälfte",
    }.items()
    for word in words.split()
}  # fmt: skip
"""English and German number words. A figure may rest on them; they are not checked themselves."""
_OWN_PLACES = (
    "part|parts|step|steps|section|table|finding|criterion|option|phase|item|number|no|page|chapter|question|point|"
    "teil|teile|schritt|schritte|abschnitt|tabelle|punkt|frage|option|phase|seite|kapitel|nr"
)
"""Words before the number of a place, such as a section, in the report or a document."""

_GROUPED = r"\d{1,3}(?:['’\u00a0\u202f]\d{3})+(?:[.,]\d+)?"
_PLAIN = r"\d+(?:[.,]\d+)*"
_WORDS = "|".join(sorted((each for each in _SCALES if each not in _CASED_SCALES), key=len, reverse=True))
_NUMBER = re.compile(
    rf"(?P<currency>[$€£¥₹]\s?)?(?<![A-Za-z0-9_.])(?P<number>{_GROUPED}|{_PLAIN})"
    rf"(?:(?P<letter>[kKmMbB])(?![\w²³/])|[\s-]?(?P<scale>{_WORDS})\b\.?)?",
    re.IGNORECASE,
)
_SPELT_NUMBER = re.compile(
    rf"(?<![^\W\d_])(?P<number>{'|'.join(sorted(_SPELT, key=len, reverse=True))})"
    rf"(?:\s(?P<scale>{_WORDS}))?(?![^\W\d_])",
    re.IGNORECASE,
)
_KANJI_NUMBER = re.compile(r"(?<![\d.,])(?:\d[\d,]{0,18}+(?:\.\d{1,6}+)?[百千万億兆]{1,4}){1,6}(?:\d{1,8}+(?![\d.,]))?")
_KANJI_PART = re.compile(r"([\d,.]+)([百千万億兆]*)")
_IDENTIFIER = re.compile(
    r"(?<![\w.:/-])-{0,2}(?=[\w.:/-]{0,60}\d)(?:[^\W\d_][\w.:/-]{0,80}+|\d{1,9}+(?:\.\d{1,9}+){2,6}[\w.-]{0,40}+)",
    re.ASCII,
)
_UNITS = "|".join(re.escape(name) for name in sorted(UNITS, key=len, reverse=True))
_TIMES = "|".join(name for name in sorted(UNITS, key=len, reverse=True) if UNITS[name].measure == "time")
_UNIT_ENDS = r"(?![·a-z\u00df-\u024f0-9²³])"
_UNIT = re.compile(
    rf"[\s-]?(?P<unit>{_UNITS}){_UNIT_ENDS}"
    rf"(?:(?:\s?/\s?|\s(?:an?|per|each|every|pro|je)\s)(?P<time>{_TIMES}){_UNIT_ENDS})?",
    re.IGNORECASE,
)
_RATE_AHEAD = re.compile(r"(?:[時分秒]速|毎[時分秒])[約およそ]*\Z")
_RATE_TIMES = {"時": 3600.0, "分": 60.0, "秒": 1.0}
_HEAD_UNIT = re.compile(
    rf"(?:\b(?:in|einheit)\s|[(\[,]\s?|単位[:はが]?\s?)(?:(?P<scale>{_WORDS})\.?\s?)?(?P<unit>{_UNITS})"
    r"(?=\s*(?:\Z|[)\],.;:。、]))",
    re.IGNORECASE,
)
"""The unit of a table's numbers, in its caption or a column name."""
_NAMED_UNIT = re.compile(rf"(?<!\w)(?<!\d\s)(?:{_UNITS})(?!\w)", re.IGNORECASE)
_MEASURED = re.compile(r"\s?(?:[%‰°$€£¥₹]|(?P<word>[^\W\d_]+))")
_ONE_OF_TIME = re.compile(r"\s?(?:[日年月週度]|か月|時間|分|秒)(?!間?後)")
"""Behind a "one" that says how often, not how much."""
_LIST_MARK = re.compile(r"\A\W*\d{1,2}[.)]\s")
_OWN_PLACE = re.compile(
    rf"\b(?:{_OWN_PLACES})s?\.?\s(?:\d+(?:\.\d+)*(?:(?:,|\s?[–-]|\sand|\sund|\sor|\soder)\s?)?)+", re.IGNORECASE
)
_CLAUSE = re.compile(r"§§?\s?\d+[a-z]?\b(?:\s?\(\d+\))*")
_NUMBER_CELL = re.compile(r"[-+±]?[\d.,'’\s]+")
_OWN_PLACE_JA = re.compile(r"第\d+[章節部条項]|[表図]\d+|手順\d+")
_SMALL = 10
_POWERS = frozenset((0, 2, 3, 4, 6, 8, 9, 12))
"""Powers of ten by which the same figure may differ between two texts, as in 12 % and 0.12."""
_WHOLE = re.compile(r"\d+|\d{1,3}(?:[.,'’\u00a0\u202f]\d{3})+")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_ROUND = range(2, 5)
"""A whole number with this many digits before its trailing zeros counts as rounded."""


@dataclass(frozen=True)
class Figure:
    """A number in a text, with its possible values and their precision."""

    text: str
    readings: tuple[tuple[Decimal, Decimal], ...]
    """Each possible value, with the value of one unit in its last digit."""
    is_bare: bool
    """No unit, currency or scale stands beside it."""
    is_scaled: bool = False
    """A word such as million stands behind it."""
    scales: tuple[int, ...] = ()
    """Powers of ten that the text names elsewhere, for example in the head of a table."""
    rounded_to: Decimal = Decimal(0)
    """For a whole number that may be rounded, such as 341,000: the value of one unit in its last nonzero digit."""
    unit: Unit | None = None
    with_unit: str = ""
    """The number's text, with the unit behind it."""

    @property
    def is_small(self) -> bool:
        return self.is_bare and all(value < _SMALL and value == value.to_integral_value() for value, _ in self.readings)

    def has_digits(self, value: Decimal) -> bool:
        """Like `Notes.has_digits`, for this figure alone."""
        # 1.015 and 0.985 may be 1.5 % more and less.
        equal_numbers = [each for each in (value, value - 1, 1 - value) if each]
        return any(_is_scaled(each, number) for each in equal_numbers for number, _ in self.readings)

    def is_number(self, value: Decimal) -> bool:
        """Whether the value equals this number, exactly or after rounding to its last digit or its trailing zeros."""
        return any(self._reads_as(value, *reading) for reading in self.readings)

    def _reads_as(self, value: Decimal, number: Decimal, step: Decimal) -> bool:
        if self.rounded_to and number == self.readings[0][0] and abs(value - number) * 2 <= self.rounded_to:
            return True
        return _rounds_to(value, number, step)

    def has_unit_of(self, other: "Figure") -> bool:
        """Whether both figures mean the same amount. A missing unit fits any unit."""
        return self.unit is None or other.unit is None or self.unit == other.unit or self.is_converted(other)

    def is_converted(self, other: "Figure") -> bool:
        """Whether both are the same amount in different units of one measure, and read `5,180` in the same way."""
        ratio = self.unit.ratio(other.unit) if self.unit and other.unit else None
        same = len(self.readings) == len(other.readings)
        pairs = (zip if same else product)(self.readings, other.readings)
        return ratio is not None and any(self._reads_as(value * ratio, *own) for own, (value, _) in pairs)


def _is_scaled(value: Decimal, number: Decimal) -> bool:
    """Whether two numbers differ only by a scale, such as percent or million."""
    one, other = value.normalize().as_tuple(), number.normalize().as_tuple()
    return one.digits == other.digits and abs(int(one.exponent) - int(other.exponent)) in _POWERS


def _rounds_to(value: Decimal, number: Decimal, step: Decimal) -> bool:
    if value == number:
        return True
    if abs(value - number) >= step:
        return False
    steps = value / step
    return number / step in {steps.quantize(1, way) for way in (ROUND_DOWN, ROUND_HALF_UP)}


@dataclass(frozen=True)
class Notes:
    """The figures, dates and identifiers of a text."""

    figures: tuple[Figure, ...]
    days: tuple[Day, ...]
    identifiers: tuple[str, ...]
    plain: str
    """The whole text as `bare` gives it, with the hyphens of identifiers such as `SHA-1` left out."""

    def has_number(self, figure: Figure) -> bool:
        return any(
            figure.is_number(value.scaleb(power))
            for each in self.figures
            for value, _ in each.readings
            for power in (0, *_shifts(each, figure))
        )

    def has_other_unit(self, figure: Figure) -> bool:
        """Whether the figure's number stands here only with other units, and the same amount in no unit."""
        same = [each for each in self.figures if any(figure.is_number(value) for value, _ in each.readings)]
        return bool(same) and not (any(map(figure.has_unit_of, same)) or self.has_converted(figure))

    def has_converted(self, figure: Figure) -> bool:
        """Whether the same amount stands here in another unit of the figure's measure."""
        return any(map(figure.is_converted, self.figures))

    def beside(self, others: "Notes", cells: Sequence[Figure] = ()) -> "Notes":
        """Add other notes, to which no table's scale applies, and the numbers of table cells."""
        figures = (*self.figures, *cells, *(replace(each, scales=()) for each in others.figures))
        days, names = (*self.days, *others.days), (*self.identifiers, *others.identifiers)
        return Notes(figures, days, names, f"{self.plain}\n{others.plain}")

    def has_digits(self, value: Decimal) -> bool:
        """Whether this number stands here in some scale: 71.5 for 71,500,000, 0.84 for 84 %, 1.015 for 1.5 % more."""
        return any(each.has_digits(value) for each in self.figures)


def _shifts(own: Figure, other: Figure) -> Iterator[int]:
    """The powers of ten by which two figures may differ: a scale such as "million" may stand once, above a table."""
    if not own.is_scaled:
        yield from own.scales
    if not other.is_scaled:
        yield from (-power for power in own.scales)


@lru_cache(maxsize=4096)
def notes_of(text: str) -> Notes:
    """Find the figures, dates and identifiers of a text. Its number words count as figures."""
    plain = normal(text)
    days, rest = without_days(plain)
    identifiers = tuple(each.rstrip(".:/-") for each in _IDENTIFIER.findall(rest) if not _is_measure(each))
    years = tuple(Figure(str(each.year), ((Decimal(each.year), Decimal(1)),), True) for each in days if each.year)
    powers = {power for word in re.findall(r"[^\W\d_]+", rest.casefold()) for power in _SCALES.get(word, ())}
    scales = tuple(sorted(powers - {2}))
    figures = (*_figures(rest), *_spelt(rest), *_in_identifiers(identifiers), *years)
    return Notes(tuple(replace(each, scales=scales) for each in figures), days, identifiers, _JOINT.sub("", bare(text)))


def unfounded(text: str, *, carriers: Notes, values: Collection[Decimal] = (), small_too: bool = True) -> list[str]:
    """The figures, dates and identifiers of a text that the carriers do not have, as written in the text.

    `values`: other numbers that count as found, in any power of ten, such as the results of sums. `small_too`: also
    check whole numbers below ten without a unit. The numbers of parts, steps and tables are never checked.
    """
    said = ADDRESS.sub(" ", without_marks(text))
    plain = _LIST_MARK.sub(" ", normal(said))
    for place in (_OWN_PLACE, _CLAUSE, _OWN_PLACE_JA):
        plain = place.sub(" ", plain)
    days, rest = without_days(plain)
    shifted = [value.scaleb(power * sign) for value in values for power in _POWERS for sign in (-1, 1)]
    there = {
        each.text
        for each in days
        if any(each.fits(other) for other in carriers.days)
        or (each.may_be_number and _has_number(each.text.rstrip("."), carriers, shifted))
    }
    missing = [each.text for each in days if each.text not in there]
    identifiers = {each.rstrip(".:/-") for each in _IDENTIFIER.findall(rest) if not _is_measure(each)}
    missing += sorted(each for each in identifiers if not _has_name(each, carriers))
    for figure in _figures(_IDENTIFIER.sub(lambda each: each[0] if _is_measure(each[0]) else " ", rest)):
        if not small_too and figure.is_small:
            continue
        if not (carriers.has_number(figure) or carriers.has_converted(figure)):
            missing += [] if any(map(figure.is_number, shifted)) else [figure.text]
        elif not values and carriers.has_other_unit(figure):
            missing.append(figure.with_unit)
    for figure in _spelt(rest):
        if not values and carriers.has_other_unit(figure):
            missing.append(figure.with_unit)
        elif figure.is_scaled and not carriers.has_number(figure) and not any(map(figure.is_number, shifted)):
            missing.append(figure.text)
    return list(dict.fromkeys(missing))


def _has_number(text: str, carriers: Notes, values: Collection[Decimal]) -> bool:
    return bare(text) in carriers.plain or any(figure.is_number(each) for figure in _figures(text) for each in values)


_JOINT = re.compile(r"(?<=[^\W\d_])-(?=\d)")
"""The hyphen of identifiers that are written with or without it, such as `SHA-1`."""
_DECADE = re.compile(r"\d{4}s")


def _has_name(name: str, carriers: Notes) -> bool:
    """Whether the carriers have an identifier, written as it is or joined to others.

    It may be joined to a word, as in `SHA1-signed` or `late-1990s`, or by a slash to another identifier: `B1/B2`.
    """
    plain = _JOINT.sub("", bare(name)).removeprefix("v")
    if plain in carriers.plain:
        return True
    first, _, last = name.rpartition("-")
    if first and last.isalpha():
        return _has_name(first, carriers)
    if first.isalpha() and first.islower() and _DECADE.fullmatch(last):
        return _has_name(last, carriers)
    names = name.split("/")
    return len(names) > 1 and all(re.search(r"\d", each) and _has_name(each, carriers) for each in names)


def normal(text: str) -> str:
    """The text in one width and with one minus sign."""
    return unicodedata.normalize("NFKC", text).replace("−", "-")


_MARKS = re.compile(r"[\s*_`|#>\"'“”„‘’«»‹›「」『』…]|\.\.\.")


def bare(text: str) -> str:
    """The text without case, width, white space, quotation marks and Markdown, to compare two versions of it."""
    return _MARKS.sub("", normal(text)).casefold()


def _figures(plain: str) -> Iterator[Figure]:
    for match in _KANJI_NUMBER.finditer(plain):
        parts = [(Decimal(number.replace(",", "")), _power(signs)) for number, signs in _KANJI_PART.findall(match[0])]
        number, power = parts[-1]
        step = Decimal(1).scaleb(int(number.as_tuple().exponent) + power)
        value = sum((each.scaleb(by) for each, by in parts), Decimal(0))
        yield Figure(match[0], ((value, step),), is_bare=False, is_scaled=True, **_unit_of(match))
    for match in _NUMBER.finditer(_KANJI_NUMBER.sub(" ", plain)):
        readings = tuple(_readings(match))
        if numbers := _list_of(match):
            yield from _figures(numbers)
        elif readings:
            is_bare = not (match["currency"] or match["letter"] or match["scale"])
            behind = _MEASURED.match(match.string, match.end())
            is_bare = is_bare and (behind is None or (bool(behind["word"]) and behind["word"].casefold() not in UNITS))
            if _ONE_OF_TIME.match(match.string, match.end("number")) and readings[0][0] == 1:
                continue
            is_scaled = bool(match["letter"] or match["scale"])
            rounded_to = Decimal(0) if is_scaled else _rounded_to(match["number"])
            yield Figure(
                match[0].strip().rstrip("."), readings, is_bare, is_scaled, rounded_to=rounded_to, **_unit_of(match)
            )


def _list_of(match: re.Match[str]) -> str:
    """The numbers of a list without spaces, such as `60,55,50`, set apart; "" if it is one number."""
    first, *others = match["number"].split(",")
    if not others or not all(each.isdigit() for each in (first, *others)):
        return ""
    is_grouped = len(first) <= 3 and len(others[-1]) == 3 and {*map(len, others)} <= {2, 3}  # noqa: PLR2004 - India's too
    goes_on = match.string.startswith((",...", ", ..."), match.end("number"))
    # No decimal comma stands behind so many digits, and before so many.
    is_list = len(others) > 1 or goes_on or (len(first) > 3 and len(others[0]) > 2)  # noqa: PLR2004
    return ", ".join([first, *others]) if is_list and not is_grouped else ""


def _rounded_to(number: str) -> Decimal:
    """For a rounded whole number, the value of one unit in its last nonzero digit; 0 for years and all others."""
    if _YEAR.fullmatch(number) or not _WHOLE.fullmatch(number):
        return Decimal(0)
    digits = re.sub(r"\D", "", number)
    length = len(digits.rstrip("0"))
    return Decimal(10) ** (len(digits) - length) if length in _ROUND and length < len(digits) else Decimal(0)


def _is_measure(name: str) -> bool:
    """Whether a name is a unit such as m2 or m3/s, or a number such as 4.600.000, rather than an identifier."""
    return bool(_WHOLE.fullmatch(name.rstrip("."))) or UNITS.keys() >= {*name.rstrip(".:/-").casefold().split("/")}


def _unit_of(match: re.Match[str]) -> dict[str, Any]:
    """The fields of a figure that come from its unit."""
    currency, behind = match.groupdict().get("currency"), _UNIT.match(match.string, match.end())
    unit = UNITS.get((currency or (behind["unit"] if behind else "")).strip().lower())
    if unit and behind and behind["time"]:
        unit = unit._replace(seconds=UNITS[behind["time"].lower()].factor)
    if unit and (ahead := _RATE_AHEAD.search(match.string[: match.start()])):
        unit = unit._replace(seconds=next(each for sign, each in _RATE_TIMES.items() if sign in ahead[0]))
    text = match[0] + (behind[0] if behind else "")
    return {"unit": unit, "with_unit": text.strip().rstrip(".")}


def _power(signs: str) -> int:
    return sum(_SCALES[sign][0] for sign in signs)


def _readings(match: re.Match[str]) -> Iterator[tuple[Decimal, Decimal]]:
    word = match["scale"] or ""
    # In German, one Billion is a million millions.
    powers: Sequence[int] = (9,) if word == "billion" else _SCALES.get(word.casefold(), (0,))
    if letter := match["letter"]:
        is_scale = letter.isupper() or match["currency"]
        powers = _SCALES[letter.casefold()] if is_scale else (0, *_SCALES[letter.casefold()])
    for number, power in product(_numbers(match["number"]), powers):
        exponent = number.as_tuple().exponent
        yield number.scaleb(power), Decimal(1).scaleb(int(exponent) + power)


def _numbers(digits: str) -> Iterator[Decimal]:
    """The possible values of digits with points and commas, since either may separate thousands."""
    plain = re.sub(r"['’\u00a0\u202f]", "", digits)
    signs = [sign for sign in plain if sign in ".,"]
    if not signs:
        yield Decimal(plain)
    elif len({*signs}) == 2:  # noqa: PLR2004 - both: the last parts the decimals
        whole, _, rest = plain.rpartition(signs[-1])
        yield Decimal(f"{re.sub('[.,]', '', whole)}.{rest}")
    else:
        groups = re.split("[.,]", plain)
        if all(len(group) == 3 for group in groups[1:]) and len(groups[0]) <= 3:  # noqa: PLR2004
            yield Decimal("".join(groups))
        if len(groups) == 2:  # noqa: PLR2004
            yield Decimal(".".join(groups))


def _spelt(plain: str) -> Iterator[Figure]:
    for match in _SPELT_NUMBER.finditer(plain):
        value, scale = _SPELT[match["number"].lower()], (match["scale"] or "").lower()
        readings = tuple((value.scaleb(power), Decimal(1).scaleb(power)) for power in _SCALES.get(scale, (0,)))
        # A word may multiply hundreds and thousands.
        is_scaled = bool(scale) and 1 <= value < 100  # noqa: PLR2004
        yield Figure(match[0], readings, not scale, is_scaled, **_unit_of(match))
    for match in re.finditer(r"[〇一二三四五六七八九十百]+", plain):
        yield Figure(match[0], ((Decimal(_kanji_value(match[0])), Decimal(1)),), True, **_unit_of(match))


def _kanji_value(numeral: str) -> int:
    """The value of a number in kanji, such as 三十一."""
    total, digit = 0, 0
    for character in numeral:
        if character in ja.NUMERALS:
            digit = digit * 10 + ja.NUMERALS[character]
        else:
            total, digit = total + (digit or 1) * 10 ** {"十": 1, "百": 2}[character], 0
    return total + digit


def _in_identifiers(identifiers: Sequence[str]) -> Iterator[Figure]:
    for digits in re.findall(r"\d+(?:\.\d+)?", " ".join(identifiers)):
        value = Decimal(digits)
        yield Figure(digits, ((value, Decimal(1).scaleb(int(value.as_tuple().exponent))),), True)


def cell_figures(cell: str, *, column: str, label: str, caption: str) -> list[Figure]:
    """The number of a table cell, with the unit given by its column, its row's label or the table's caption.

    Empty if the cell is not a number, if nothing gives a unit, or if column or label mention a unit in another way.
    """
    heads = [_HEAD_UNIT.search(normal(each)) for each in (column, label, caption)]
    head = heads[0] or heads[1]
    if head is None and not any(_NAMED_UNIT.search(normal(each)) for each in (column, label)):
        head = heads[2]
    if head is None or not _NUMBER_CELL.fullmatch(normal(cell)):
        return []
    unit, power = UNITS[head["unit"].lower()], _SCALES.get((head["scale"] or "").lower(), (0,))[0]
    figures = []
    for each in _figures(normal(cell)):
        figures.append(replace(each, unit=unit._replace(factor=unit.factor * 10**power)))
        if power:
            readings = tuple((value.scaleb(power), step.scaleb(power)) for value, step in each.readings)
            figures.append(replace(each, readings=readings, is_scaled=True, unit=unit))
    return figures
