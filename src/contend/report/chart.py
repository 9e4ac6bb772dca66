"""Draw the contest behind a report as SVG: each team's scores by round, the editor's merge, and which is published."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from contend.models.record import Language, Score
from contend.models.round import best_number
from contend.report.head import ReportHead
from contend.report.plain import plain_title
from contend.text import WORDS, shorten

ATTRIBUTES: Mapping[str, set[str]] = {
    "svg": {"aria-describedby", "aria-labelledby", "class", "height", "role", "viewBox", "width", "xmlns"},
    "title": {"id"},
    "desc": {"id"},
    "g": {"class", "fill", "font-family", "font-size"},
    "line": {"stroke", "stroke-opacity", "x1", "x2", "y1", "y2"},
    "polyline": {"fill", "points", "stroke", "stroke-dasharray", "stroke-width"},
    "path": {"d", "fill", "transform"},
    "circle": {"cx", "cy", "fill", "r", "stroke", "stroke-width"},
    "text": {"text-anchor", "x", "y"},
}
"""The tags of a chart, and the attributes of each."""

_WIDTH, _LEFT, _RIGHT, _TOP, _PLOT = 480, 44, 24, 30, 150
_LEGEND_FROM, _LEGEND_ROW = _TOP + _PLOT + 56, 22
_BESIDE = 8
"""Between the marks of two teams in one round."""
_NAME_MOST = 24
_SHAPES = (
    "M5 0A5 5 0 1 1-5 0A5 5 0 1 1 5 0z",
    "M-5-5h10v10h-10z",
    "M0-6.5L6.5 0 0 6.5-6.5 0z",
    "M0-6L6 5H-6z",
    "M0 6L6-5H-6z",
    "M-6-2h4v-4h4v4h4v4h-4v4h-4v-4h-4z",
)
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 4", "12 4")


class _Series(NamedTuple):
    """A line of the chart. `points`: scores by column, from 0; `published`: the column of the published report."""

    name: str
    points: dict[int, Score]
    published: int | None = None


def chart_html(head: ReportHead, language: Language) -> str:
    """The chart as an SVG element; "" if the run has fewer than two scores."""
    rounds = max((number for team in head.scores for number in team.scores), default=0)
    series = _series(head, rounds, language)
    if sum(len(each.points) for each in series) < 2:  # noqa: PLR2004 - one score is nothing to compare
        return ""
    columns = [
        *map(str, range(1, rounds + 1)),
        *([WORDS[language].chart.merge] if head.merged_score is not None else []),
    ]
    return _Chart(series, columns, language).svg()


def _series(head: ReportHead, rounds: int, language: Language) -> list[_Series]:
    """The teams with a score in rank order, and the editor. A report that a person has edited has no score."""
    series, origin = [], head.published if head.published_score is not None else None
    for place, team in enumerate(head.scores):
        best = best_number(team.scores) if place == 0 and origin == "team" else None
        points = {number - 1: score for number, score in team.scores.items() if score is not None}
        series.append(_Series(plain_title(team.team_name), points, None if best is None else best - 1))
    if head.merged_score is not None:
        published = rounds if origin == "editor" else None
        series.append(_Series(WORDS[language].chart.editor, {rounds: head.merged_score}, published))
    return [each for each in series if each.points]


class _Chart:
    """Shapes and dashes tell series apart without colour. Colours are the page's: `.c0` to `.c5`, else its ink."""

    def __init__(self, series: Sequence[_Series], columns: Sequence[str], language: Language) -> None:
        self._series, self._columns = series, columns
        self._words = WORDS[language]
        self._apart = (_WIDTH - _LEFT - 2 * _RIGHT) / len(columns)
        scores = [score * 100 for each in series for score in each.points.values()]
        self._low = max(0, int((min(scores) - 3) // 10) * 10)

    def svg(self) -> str:
        height = _LEGEND_FROM + _LEGEND_ROW * len(self._series)
        root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": "chart", "role": "img"})
        root.attrib |= {"width": f"{_WIDTH}", "height": f"{height}", "viewBox": f"0 0 {_WIDTH} {height}"}
        root.attrib |= {"aria-labelledby": "chart-title", "aria-describedby": "chart-text"}
        SubElement(root, "title", {"id": "chart-title"}).text = self._words.chart.title
        SubElement(root, "desc", {"id": "chart-text"}).text = "; ".join(map(self._alternative, self._series))
        drawing = SubElement(root, "g", {"fill": "currentColor", "font-family": "sans-serif", "font-size": "13"})
        self._draw_axes(drawing)
        for place, each in enumerate(self._series):
            group = SubElement(drawing, "g", {"class": f"c{place % len(_SHAPES)}"})
            self._draw_line(group, each, place)
            self._draw_legend(group, each, place)
        return tostring(root, encoding="unicode")

    def _alternative(self, series: _Series) -> str:
        """A series for readers who cannot see it."""
        return self._labelled(series, [self._point(column, score) for column, score in series.points.items()])

    def _labelled(self, series: _Series, points: Iterable[str]) -> str:
        text = f"{shorten(series.name, _NAME_MOST)}{self._words.colon}{self._words.between.join(points)}"
        if series.published is None:
            return text
        return self._words.with_reason.format(text=text, reason=self._words.chart.published)

    def _point(self, column: int, score: Score) -> str:
        name = self._columns[column]
        return f"{self._words.chart.round.format(number=name)} {_figure(score)}" if name.isdecimal() else _figure(score)

    def _draw_axes(self, group: Element) -> None:
        step = 20 if self._low < 60 else 10  # noqa: PLR2004 - five grid lines or fewer
        for level in range(self._low, 101, step):
            y = _number(self._y(level / 100))
            ends = {"x1": f"{_LEFT}", "x2": f"{_WIDTH - 6}", "y1": y, "y2": y}
            SubElement(group, "line", {**ends, "stroke": "currentColor", "stroke-opacity": "0.25"})
            _write(group, f"{level}", _LEFT - 8, self._y(level / 100) + 4, anchor="end")
        _write(group, self._words.chart.score, 4, 14)
        for column, name in enumerate(self._columns):
            _write(group, name, self._middle(column), _TOP + _PLOT + 20, anchor="middle")
        _write(group, self._words.leaderboard_columns[3], (_LEFT + _WIDTH) / 2, _TOP + _PLOT + 38, anchor="middle")

    def _draw_line(self, group: Element, series: _Series, place: int) -> None:
        points = [(self._x(column, series), self._y(score)) for column, score in series.points.items()]
        dashes = _DASHES[place % len(_DASHES)]
        line = {"points": " ".join(f"{_number(x)},{_number(y)}" for x, y in points), "fill": "none"}
        SubElement(
            group, "polyline", {**line, "stroke": "currentColor", "stroke-width": "2", "stroke-dasharray": dashes}
        )
        for column, (x, y) in zip(series.points, points, strict=True):
            _mark(group, place, x, y, ringed=column == series.published)

    def _draw_legend(self, group: Element, series: _Series, place: int) -> None:
        y = _LEGEND_FROM + _LEGEND_ROW * place
        _mark(group, place, _LEFT, y, ringed=series.published is not None)
        text = self._labelled(series, [_figure(max(series.points.values()))])
        _write(group, text, _LEFT + 18, y + 4)

    def _middle(self, column: int) -> float:
        return _LEFT + _RIGHT + self._apart * (column + 0.5)

    def _x(self, column: int, series: _Series) -> float:
        """Where a series has its mark in a column, beside those of others: of equal scores none hides another."""
        marks = [each for each in self._series if column in each.points]
        beside = min(_BESIDE, self._apart / len(marks))
        return self._middle(column) + (marks.index(series) - (len(marks) - 1) / 2) * beside

    def _y(self, score: Score) -> float:
        return _TOP + (100 - score * 100) * _PLOT / (100 - self._low)


def _mark(group: Element, place: int, x: float, y: float, *, ringed: bool) -> None:
    shape = {"d": _SHAPES[place % len(_SHAPES)], "fill": "currentColor"}
    SubElement(group, "path", {**shape, "transform": f"translate({_number(x)} {_number(y)})"})
    if ringed:
        ring = {"cx": _number(x), "cy": _number(y), "r": "10", "fill": "none"}
        SubElement(group, "circle", {**ring, "stroke": "currentColor", "stroke-width": "2"})


def _write(group: Element, text: str, x: float, y: float, *, anchor: str = "start") -> None:
    SubElement(group, "text", {"x": _number(x), "y": _number(y), "text-anchor": anchor}).text = text


def _figure(score: Score) -> str:
    return f"{score * 100:.1f}"


def _number(value: float) -> str:
    return f"{value:.1f}"
