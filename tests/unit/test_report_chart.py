"""The chart of a contest in a report's page: what it draws, what it says to readers who cannot see it, and when."""

import re
from xml.etree.ElementTree import Element, fromstring

import pytest

from contend.models.record import Language
from contend.report import ReportHead, TeamScores, to_html
from fakes.reports import finished_report, run_head

SVG = "{http://www.w3.org/2000/svg}"
SCORES = {"Scout": {1: 0.84, 2: 0.895, 3: None}, "Skeptic": {1: 0.895}}


def contest(scores: dict[str, dict[int, float | None]] = SCORES, **fields: object) -> ReportHead:
    teams = [TeamScores(team_name=name, scores=of_team) for name, of_team in scores.items()]
    return run_head(scores=teams, **{"published": "team", "published_score": 0.895, **fields})


def chart(head: ReportHead, language: Language = "en") -> Element:
    page = to_html(finished_report(language), head, language)
    (svg,) = re.findall(r"<svg.*</svg>", page, re.DOTALL)
    assert page.index("</table>", page.index('id="about-run"')) < page.index(svg)
    return fromstring(svg)  # noqa: S314 - the page is made here


def texts(svg: Element) -> list[str]:
    return [each.text or "" for each in svg.iter(f"{SVG}text")]


def lines(svg: Element) -> list[list[tuple[float, float]]]:
    """The points of each line, as x and y."""
    return [
        [(float(x), float(y)) for x, y in (point.split(",") for point in each.attrib["points"].split())]
        for each in svg.iter(f"{SVG}polyline")
    ]


def ringed(svg: Element) -> list[tuple[float, float]]:
    return [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in svg.iter(f"{SVG}circle")]


def test_each_team_is_a_line_of_its_scored_rounds_higher_where_it_scored_more() -> None:
    scout, skeptic = lines(chart(contest()))

    assert [len(scout), len(skeptic)] == [2, 1]
    assert scout[0][0] < scout[1][0]
    assert scout[1][1] < scout[0][1]
    assert skeptic[0][1] == scout[1][1]  # as good


def test_of_equal_scores_in_a_round_none_hides_another() -> None:
    first, second = lines(chart(contest({"A": {1: 0.8}, "B": {1: 0.8}})))

    assert first[0][1] == second[0][1]
    assert abs(first[0][0] - second[0][0]) >= 5


def test_the_published_round_is_ringed_in_the_plot_and_in_the_legend() -> None:
    svg = chart(contest())

    assert len(ringed(svg)) == 2
    assert lines(svg)[0][1] in ringed(svg)
    assert "Scout: 89.5 (published)" in texts(svg)


def test_the_editors_merge_is_a_point_behind_the_rounds_ringed_only_where_it_is_published() -> None:
    merged = chart(contest(published="editor", published_score=0.922, merged_score=0.922))
    kept = chart(contest(merged_score=0.7))

    assert lines(merged)[-1][0] in ringed(merged)
    assert lines(merged)[-1][0][0] > max(x for line in lines(merged)[:-1] for x, _ in line)
    assert {"Merge", "Editor's merge: 92.2 (published)"} <= {*texts(merged)}
    assert lines(kept)[-1][0] not in ringed(kept)
    assert "Editor's merge: 70.0" in texts(kept)


def test_a_report_that_a_person_edited_has_no_point_of_its_own() -> None:
    assert ringed(chart(contest(published_score=None))) == []


@pytest.mark.parametrize(
    ("language", "title", "text", "axes"),
    [
        ("en", "Scores by round",
         "Scout: round 1 84.0, round 2 89.5; Skeptic: round 1 89.5; Editor's merge: 92.2 (published)",
         ["Score (of 100)", "Round", "100", "80", "1", "2", "3", "Merge"]),
        ("ja", "ラウンドごとの点数",
         "Scout：第1ラウンド 84.0、第2ラウンド 89.5; Skeptic：第1ラウンド 89.5; 編集者の統合レポート：92.2（公開）",
         ["点数（100点満点）", "ラウンド", "100", "80", "1", "2", "3", "統合"]),
    ],
)  # fmt: skip
def test_a_reader_who_cannot_see_it_gets_all_scores_and_the_axes_have_labels(
    language: Language, title: str, text: str, axes: list[str]
) -> None:
    svg = chart(contest(published="editor", published_score=0.922, merged_score=0.922), language)

    assert svg.attrib["role"] == "img"
    by_id = {each.attrib["id"]: each.text for each in svg if "id" in each.attrib}
    assert [by_id[svg.attrib[name]] for name in ("aria-labelledby", "aria-describedby")] == [title, text]
    assert {*axes} <= {*texts(svg)}


@pytest.mark.parametrize(
    "head",
    [contest({}), contest({"A": {1: 0.8}}), contest({"A": {1: 0.8}, "B": {1: None}}), run_head()],
    ids=["no scores", "one team", "one scored", "a head of an earlier release"],
)
def test_where_nothing_is_to_compare_there_is_no_chart(head: ReportHead) -> None:
    assert "<svg" not in to_html(finished_report(), head, "en")


@pytest.mark.parametrize(
    "attack",
    [
        "</text></svg><img src=x onerror=alert(1)>",
        "<script>alert(1)</script>",
        "]]><a href='javascript:x'>x",
        "a\x00\x08<b",
    ],
)
def test_a_teams_name_is_text_in_the_chart(attack: str) -> None:
    svg = chart(contest({attack: {1: 0.8}, f"{attack}{'long ' * 90}": {1: 0.7}}))

    tags = {each.tag.removeprefix(SVG) for each in svg.iter()}
    assert tags <= {"svg", "title", "desc", "g", "line", "polyline", "path", "circle", "text"}
    assert not [name for each in svg.iter() for name in each.attrib if name.startswith("on") or "href" in name]
    assert all(len(text) < 60 for text in texts(svg))


def test_shapes_and_dashes_tell_six_teams_apart_where_there_is_no_colour() -> None:
    svg = chart(contest({f"Team {name}": {1: 0.5, 2: name / 10} for name in range(1, 7)}))

    groups = [each for each in svg.iter(f"{SVG}g") if each.get("class")]
    assert len({each.attrib["stroke-dasharray"] for each in svg.iter(f"{SVG}polyline")}) == 6
    assert len({group.findall(f"{SVG}path")[0].attrib["d"] for group in groups}) == 6
    colours = {each.get("stroke") for each in svg.iter()} | {each.get("fill") for each in svg.iter()}
    assert colours <= {None, "none", "currentColor"}  # the page's ink, dark or light
