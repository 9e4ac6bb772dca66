"""Figures and years of a text, with their units, and how they compare with those of another."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from functools import lru_cache
from itertools import chain
from math import prod
from typing import NamedTuple

from contend.text import en, ja

SCALES = {
    "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "k": 10**3, "m": 10**6, "b": 10**9,
    "mn": 10**6, "bn": 10**9, "tn": 10**12, "十": 10, "百": 10**2, "千": 10**3, "万": 10**4, "億": 10**8, "兆": 10**12,
}  # fmt: skip
"""What a word or character after a number multiplies it by."""

CURRENCIES: dict[str, str] = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "ドル": "usd", "米ドル": "usd",
    "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur", "ユーロ": "eur",
    "£": "gbp", "gbp": "gbp", "pound": "gbp", "pounds": "gbp", "ポンド": "gbp",
    "¥": "jpy", "jpy": "jpy", "yen": "jpy", "円": "jpy",
    "franc": "chf", "francs": "chf", "chf": "chf", "フラン": "chf", "kroner": "kr", "kronor": "kr", "krone": "kr",
    "yuan": "cny", "rmb": "cny", "cny": "cny", "元": "cny", "won": "krw", "ウォン": "krw", "rupees": "inr", "₹": "inr",
}  # fmt: skip

_MEASURES: dict[str, dict[float, str]] = {
    "share": {1: "% percent パーセント", 0.1: "‰"},
    "points": {1: "pp pts points point パーセントポイント ポイント 点"},
    "length": {
        1e-9: "nm", 1e-6: "µm μm", 1e-3: "mm millimetre millimetres millimeter millimeters ミリ ミリメートル",
        1e-2: "cm centimetre centimetres centimeter centimeters センチ センチメートル",
        1: "m metre metres meter meters メートル", 1e3: "km kilometre kilometres kilometer kilometers キロメートル",
        0.3048: "ft foot feet フィート", 0.0254: "inch inches インチ", 1609.344: "mile miles マイル",
    },
    "time": {
        1e-9: "ns", 1e-6: "µs μs", 1e-3: "ms millisecond milliseconds ミリ秒", 1: "s sec second seconds 秒 秒間",
        60: "min mins minute minutes 分 分間", 3600: "h hr hrs hour hours 時間", 86400: "day days 日 日間",
        604800: "week weeks 週 週間", 2629746: "month months か月 ヶ月 カ月 ヵ月 箇月", 31556952: "year years 年 年間",
        315569520: "decade decades",
    },
    "mass": {
        1e-9: "µg μg", 1e-6: "mg ミリグラム", 1e-3: "g gram grams グラム", 1: "kg kilogram kilograms キログラム",
        1e3: "t tonne tonnes ton tons トン", 0.45359237: "lb lbs", 1e6: "kt", 1e9: "mt",
    },
    "temperature C": {1: "°c ℃ 度"},
    "temperature F": {1: "°f ℉"},
    "temperature K": {1: "k"},
    "volume": {
        1e-3: "ml ミリリットル", 1: "l litre litres liter liters リットル",
        1e3: "m³ 立方メートル", 3.785411784: "gallons",
    },
    "area": {
        1: "m² 平方メートル", 1e4: "ha hectare hectares ヘクタール", 1e6: "km² 平方キロメートル",
        4046.86: "acre acres",
    },
    "power": {1: "w watt watts ワット", 1e3: "kw キロワット", 1e6: "mw メガワット", 1e9: "gw ギガワット"},
    "energy": {1: "wh", 1e3: "kwh キロワット時", 1e6: "mwh", 1e9: "gwh", 1e12: "twh"},
    "charge": {1e-3: "mah", 1: "ah"},
    "data": {
        1: "bytes byte", 1e3: "kb キロバイト", 1e6: "mb メガバイト", 1e9: "gb ギガバイト",
        1e12: "tb テラバイト", 1e15: "pb",
    },
    "frequency": {1: "hz ヘルツ", 1e3: "khz", 1e6: "mhz", 1e9: "ghz"},
    "speed": {1: "m/s", 1 / 3.6: "km/h 時速"},
    "people": {1: "people persons person 人 名"},
    "companies": {1: "companies firms 社"},
    "cases": {1: "cases case 件"},
    "machines": {1: "台"},
    "times": {1: "times 回"},
    "fold": {1: "倍"},
    "flats": {1: "戸"},
    "sheets": {1: "枚"},
    "places": {1: "か所 ヶ所 カ所 箇所"},
}  # fmt: skip

UNITS: dict[str, tuple[str, float]] = {
    name: (measure, factor)
    for measure, factors in _MEASURES.items()
    for factor, names in factors.items()
    for name in names.split()
} | {name: (currency, 1.0) for name, currency in CURRENCIES.items()}
"""What a unit measures, and how many of the measure's first unit it is."""

_NO_PERIOD_AFTER = "".join(f"(?<!{word} )" for word in ("for", "of", "in", "after", "within"))
_RATES: dict[str, tuple[str, str]] = {
    "second": (r"(?:per|each|every)\s+second", r"毎秒|秒(?:あたり|当たり|につき)"),
    "minute": (r"(?:a|per|each|every)\s+minute", r"毎分|分(?:あたり|当たり|につき)"),
    "hour": (r"(?:an|per|each|every)\s+hour|hourly", r"毎時|時間(?:あたり|当たり|につき)"),
    "day": (
        r"(?:a|per|each|every)\s+(?:day|night)|daily",
        r"毎日|毎晩|[1一][日晩](?:に|の|あたり|当たり|\d)|日(?:あたり|当たり|につき)",
    ),
    "week": (r"(?:a|per|each|every)\s+week|weekly", r"毎週|[1一]週に|週(?:あたり|当たり)|週間(?:あたり|当たり|に)"),
    "month": (
        r"(?:a|per|each|every)\s+month|monthly",
        r"毎月|月(?:あたり|当たり)|(?<!\d)月に|[1一]?[かヶカ]月(?:に|あたり|当たり|で)",
    ),
    "year": (r"(?:a|per|each|every)\s+year|annual|yearly|annually", r"毎年|年間|年会費|[1一]年に|年(?:あたり|当たり)"),
}
RATES = {rate: rf"{_NO_PERIOD_AFTER}\b(?:{english})\b|{japanese}" for rate, (english, japanese) in _RATES.items()}
"""How often something is so: patterns of both languages."""

_DIGITS = r"\d++(?:,\d{3})*+(?:\.\d++)?+"
_NUMBER = rf"{_DIGITS}(?:[十百千万億兆]++(?:{_DIGITS}(?=[千万億]))?+)*+"
_NAMES_OF_UNITS = "|".join(re.escape(name) for name in sorted(UNITS, key=len, reverse=True))
_FIGURE = re.compile(
    rf"""
    (?P<currency>(?:us)?[$€£¥₹])?\s?
    (?P<sign>(?<![^\s(（「、:：])-)?
    (?<![A-Za-z0-9_.^,])(?<![A-Za-z]-)
    (?P<number>{_NUMBER})
    (?:\s?(?P<scale>thousand|million|billion|trillion|[mbt]n)\b|(?(currency)(?P<short>[kmb])\b|(?!)))?
    (?:[\s-]?(?P<unit>{_NAMES_OF_UNITS})(?![a-z0-9²³]))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PART = re.compile(rf"({_DIGITS})([十百千万億兆]*)")
_KANJI = re.compile(
    r"(?<![〇一二三四五六七八九十百千])[〇一二三四五六七八九十百千]++(?=[万億兆年か月日時分秒人名件社台回倍枚つ個校点])"
)
_YEAR = re.compile(
    r"(?<![\d.,$€£¥-])(1[5-9]\d\d|20\d\d)(?!\d|[.,]\d|\s?(?:%|[万億千]))(?:\s?(?P<unit>[a-z°℃%µ]+))?", re.IGNORECASE
)
_ERA = re.compile(rf"({'|'.join(ja.ERAS)})(元|\d+)年")
_SECOND_YEAR = re.compile(r"(?<=\b20\d\d|\b19\d\d)[–/-]\d\d\b(?![.,–/-]?\d)")
# As in Llama-7B, No.5 and the days of 2024-03-05; what follows a point behind a digit are decimals.
_DIGITS_IN_NAME = re.compile(r"(?:(?<=[A-Za-z_^])|(?<=\D\.)|(?<=[A-Za-z\d]-))\d{1,9}(?:\.\d{1,4})?(?![\d.])")
_LIST_MARK = re.compile(r"\A\W*\d{1,2}[.)]\s|\(\d{1,2}\)\s")
_ABOUT = re.compile(rf"{en.ABOUT}|{ja.ABOUT}", re.IGNORECASE)
_SPELT = re.compile(rf"\b({'|'.join(en.SPELT)})\b(?:[\s-](?P<unit>[a-z]+))?", re.IGNORECASE)
# More digits than any figure in prose; it keeps rounding within the precision of decimals.
_LONGEST = 18
_LONGEST_WORD = 40
"""How many characters before a figure are searched for a word such as "approximately"."""
_NEAR = Decimal("0.05")
# Tables say "thousand" or "million" once, above their columns. One digit alone is met by chance.
_TABLE_SCALES = tuple(Decimal(10) ** power for power in (-6, -3, 3, 6))
_FEWEST_DIGITS = 2


class Figure(NamedTuple):
    """A number as it stands in a text.

    `value`: with its scale (21.4 million); `step`: the value of its last digit; `measure` and `factor`: what its unit
    is; `about`: the text calls it rounded.
    """

    text: str
    number: Decimal
    value: Decimal
    step: Decimal
    measure: str
    factor: float
    about: bool
    negative: bool

    def is_amount_of(self, other: "Figure") -> bool:
        """Whether the other is as much as this, in whatever unit of the same measure; a missing unit is any."""
        if not self.measure or not other.measure:
            return self.is_number(other.value)
        if self.measure != other.measure:
            return False
        return self.is_number(other.value * Decimal(str(other.factor)) / Decimal(str(self.factor)))

    def is_in_other_words(self, other: "Figure") -> bool:
        """Whether the other, without a scale beside it, stands in thousands or millions of this, or this in its."""
        if other.value != other.number or len(self.number.normalize().as_tuple().digits) < _FEWEST_DIGITS:
            return False
        agree = not self.measure or not other.measure or self.measure == other.measure
        return agree and any(self.is_number(other.value * scale) for scale in _TABLE_SCALES)

    def is_number(self, value: Decimal) -> bool:
        """Whether the value is this number, rounded or not, whatever their units are."""
        gap = abs(self.value - value)
        if self.about and gap <= _NEAR * abs(value):
            return True
        if gap >= self.step:
            return False
        steps = value / self.step
        return self.value / self.step in {steps, *(steps.quantize(1, way) for way in (ROUND_DOWN, ROUND_HALF_UP))}


@lru_cache(maxsize=1024)
def years(text: str) -> frozenset[str]:
    """The years that a text names, Japanese eras counted as the years they are."""
    plain = _plain(text)
    eras = (str(ja.ERAS[era] + (1 if number == "元" else int(number))) for era, number in _ERA.findall(plain))
    return frozenset(chain((match[1] for match in _YEAR.finditer(plain) if not _is_measured(match)), eras))


def _is_measured(year: re.Match[str]) -> bool:
    """Whether it is an amount instead, as 2000 m: what follows is a unit. The s of 1990s is none."""
    return bool(year["unit"]) and year["unit"].lower() in UNITS and year["unit"] != "s"


@lru_cache(maxsize=1024)
def claimed_figures(text: str) -> tuple[Figure, ...]:
    """The figures that a claim gives, spelt out only with a unit, and no years, list numbers or names (GPT-4)."""
    plain = _SECOND_YEAR.sub("", _ERA.sub(" ", _plain(_LIST_MARK.sub(" ", text))))
    year_starts = {year.start(1) for year in _YEAR.finditer(plain) if not _is_measured(year)}
    figures = [figure for start, figure in _figures(plain) if start not in year_starts]
    figures += [figure for figure in _spelt(plain) if figure.measure]
    # One unit of time says how often and not how much, as "1日に" does.
    return tuple(figure for figure in figures if not (figure.measure == "time" and figure.value == 1))


@lru_cache(maxsize=1024)
def stated_figures(text: str) -> tuple[Figure, ...]:
    """All figures of a text, those too that are spelt out or part of a name (Llama-7B)."""
    plain = _plain(text)
    return (
        *(figure for _, figure in _figures(plain)),
        *_spelt(plain),
        *(_whole(digits, digits) for digits in _DIGITS_IN_NAME.findall(plain)),
    )


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("−", "-")


def _figures(plain: str) -> Iterator[tuple[int, Figure]]:
    for match in _FIGURE.finditer(plain):
        if len(match["number"]) <= _LONGEST and (figure := _figure(match, plain)):
            yield match.start("number"), figure


def _figure(match: re.Match[str], plain: str) -> Figure:
    scale = SCALES.get((match["scale"] or match["short"] or "").lower(), 1)
    parts = [
        (Decimal(number.replace(",", "")), prod(SCALES[scale] for scale in scales))
        for number, scales in _PART.findall(match["number"])
    ]
    value = sum((number * by for number, by in parts), start=Decimal(0)) * scale
    number, by = parts[-1]
    unit = UNITS.get((match["unit"] or "").lower(), ("", 1.0))
    measure, factor = (CURRENCIES[match["currency"].lower()], 1.0) if match["currency"] else unit
    return Figure(
        text=match[0].strip(),
        number=number if len(parts) == 1 else value,
        value=value,
        step=Decimal(1).scaleb(int(number.as_tuple().exponent)) * by * scale,
        measure=measure,
        factor=factor,
        about=bool(_ABOUT.search(plain[max(0, match.start() - _LONGEST_WORD) : match.start()])),
        negative=bool(match["sign"]),
    )


def _spelt(plain: str) -> Iterator[Figure]:
    for match in _SPELT.finditer(plain):
        yield _whole(match[0], en.SPELT[match[1].lower()], match["unit"] or "")
    for numeral in _KANJI.findall(plain):
        yield _whole(numeral, kanji_value(numeral))


def _whole(text: str, value: int | str, unit: str = "") -> Figure:
    measure, factor = UNITS.get(unit.lower(), ("", 1.0))
    number = Decimal(value)
    return Figure(text, number, number, Decimal(1), measure, factor, about=False, negative=False)


def kanji_value(numeral: str) -> int:
    """The value of a number in kanji, such as 三十一."""
    total, digit = 0, 0
    for character in numeral:
        if character in ja.NUMERALS:
            digit = digit * 10 + ja.NUMERALS[character]
        else:
            total, digit = total + (digit or 1) * SCALES[character], 0
    return total + digit


def missing(figures: Iterable[Figure], others: Sequence[Figure]) -> list[Figure]:
    """Those whose number or amount is not among the stated ones, rounded or not."""
    return [
        figure
        for figure in figures
        if not any(
            figure.is_number(other.value) or figure.is_amount_of(other) or figure.is_in_other_words(other)
            for other in others
        )
    ]


def in_other_units(figures: Iterable[Figure], others: Sequence[Figure]) -> list[Figure]:
    """Those of which the stated ones have the number, and only with another unit."""
    return [
        figure
        for figure in figures
        if any(figure.is_number(other.value) for other in others) and not any(map(figure.is_amount_of, others))
    ]
