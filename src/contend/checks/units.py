"""The units of figures as data, in English, German and Japanese."""

import unicodedata
from decimal import Decimal
from typing import NamedTuple


class Unit(NamedTuple):
    """A unit. `measure`: what it measures; `factor`: its size in the measure's base unit.

    `seconds`: for a rate, the time it refers to; 0 for any other unit.
    """

    measure: str
    factor: float
    seconds: float = 0.0

    def ratio(self, other: "Unit") -> Decimal | None:
        """How many of this unit make one of the other; None if they measure different things. No rate fits any rate."""
        if self.measure != other.measure:
            return None
        by_time = self.seconds / other.seconds if self.seconds and other.seconds else 1.0
        return Decimal(str(other.factor * by_time / self.factor))


_CURRENCIES: dict[str, str] = {
    "$": "usd", "us$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "ドル": "usd", "米ドル": "usd",
    "€": "eur", "eur": "eur", "euro": "eur", "euros": "eur", "ユーロ": "eur",
    "£": "gbp", "gbp": "gbp", "pfund": "gbp", "pound": "gbp", "pounds": "gbp", "ポンド": "gbp",
    "¥": "jpy", "jpy": "jpy", "yen": "jpy", "円": "jpy",
    "franken": "chf", "franc": "chf", "francs": "chf", "chf": "chf", "フラン": "chf", "kronen": "kr", "kroner": "kr",
    "kronor": "kr", "krone": "kr",
    "yuan": "cny", "rmb": "cny", "cny": "cny", "元": "cny", "won": "krw", "ウォン": "krw", "rupees": "inr",
    "₹": "inr",
}  # fmt: skip

_MEASURES: dict[str, dict[float, str]] = {
    "share": {1: "% percent prozent パーセント", 0.1: "‰"},
    "points": {1: "pp pts points point prozentpunkt prozentpunkte prozentpunkten パーセントポイント ポイント 点"},
    "length": {
        1e-9: "nm", 1e-6: "µm μm",
        1e-3: "mm millimetre millimetres millimeter millimeters millimetern ミリ ミリメートル",
        1e-2: "cm centimetre centimetres centimeter centimeters zentimeter zentimetern センチ センチメートル",
        1: "m metre metres meter meters metern メートル",
        1e3: "km kilometre kilometres kilometer kilometers kilometern キロメートル",
        0.3048: "ft foot feet フィート", 0.0254: "inch inches インチ", 1609.344: "mile miles meile meilen マイル",
    },
    "time": {
        1e-9: "ns", 1e-6: "µs μs", 1e-3: "ms millisecond milliseconds millisekunde millisekunden ミリ秒",
        1: "s sec second seconds sekunde sekunden 秒 秒間",
        60: "min mins minute minutes minuten 分 分間", 3600: "h hr hrs hour hours stunde stunden 時間",
        86400: "day days tag tage tagen 日 日間",
        604800: "week weeks woche wochen 週 週間",
        2629746: "month months monat monate monaten か月 ヶ月 カ月 ヵ月 箇月",
        31556952: "year years jahr jahre jahren 年 年間",
        315569520: "decade decades jahrzehnt jahrzehnte jahrzehnten",
    },
    "mass": {
        1e-9: "µg μg", 1e-6: "mg ミリグラム", 1e-3: "g gram grams gramm グラム",
        1: "kg kilogram kilograms kilogramm キログラム",
        1e3: "t tonne tonnes tonnen ton tons トン", 0.45359237: "lb lbs", 1e6: "kt", 1e9: "mt",
    },
    "temperature C": {1: "°c ℃ 度"},
    "temperature F": {1: "°f ℉"},
    "temperature K": {1: "k"},
    "volume": {
        1e-3: "ml ミリリットル", 1: "l litre litres liter liters litern リットル",
        1e3: "m³ cubic_metre cubic_metres cubic_meters kubikmeter kubikmetern 立方メートル", 3.785411784: "gallons",
    },
    "area": {
        1e-4: "cm²", 1: "m² square_metre square_metres square_meters quadratmeter quadratmetern 平方メートル",
        1e4: "ha hectare hectares hektar ヘクタール", 1e6: "km² square_kilometres quadratkilometer 平方キロメートル",
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
    "pressure": {1: "pa", 1e2: "hpa mbar", 1e3: "kpa", 1e5: "bar", 1e6: "mpa"},
    "people": {1: "people persons person personen 人 名"},
    "companies": {1: "companies firms 社"},
    "cases": {1: "cases case 件"},
    "machines": {1: "台"},
    "times": {1: "times 回"},
    "fold": {1: "倍"},
    "flats": {1: "戸"},
    "sheets": {1: "枚"},
    "places": {1: "か所 ヶ所 カ所 箇所"},
}  # fmt: skip

_SPEEDS = {"mph": 1609.344, "stundenkilometer": 1000, "knots": 1852, "knoten": 1852, "kn": 1852, "ノット": 1852}
"""Metres per hour. Other speeds are written as rates."""

UNITS: dict[str, Unit] = (
    {
        unicodedata.normalize("NFKC", name.replace("_", " ")): Unit(measure, factor)
        for measure, factors in _MEASURES.items()
        for factor, names in factors.items()
        for name in names.split()
    }
    | {name: Unit(currency, 1.0) for name, currency in _CURRENCIES.items()}
    | {name: Unit("length", metres, 3600) for name, metres in _SPEEDS.items()}
)
"""All units, by their names in normalized text."""
