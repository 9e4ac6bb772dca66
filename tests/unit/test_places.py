"""Sections by place: literal words found in them, read in order, named by the catalogue; own documents and pages."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.errors import InputError, SourceError
from contend.models.research import SearchResult
from contend.services import Services
from contend.settings import load_settings
from contend.sources.catalogue import CatalogueEntry, CatalogueHeading, catalogue_lines, headings_of
from contend.sources.literal import ComparableText, LiteralWords
from contend.sources.local import LocalDocuments
from contend.sources.passages import LONGEST_TOKENS, sections_of, split_passages
from contend.sources.source_set import FullText
from contend.text import estimate_tokens
from fakes.record_rows import RUN
from fakes.replay import Answer, Replay

PUMPS = """# Pumps

They hum.

## Limits

The `max_flow_rate` is 12 l/s, and E-4711 is told above it.

### Night

At night max_flow_rate
is halved.

## Spares

None.
"""
VALVES = "# Valves\n\nSee max_flow_rate.\n\n## max_flow_rate\n\nHow much a valve lets through.\n"


@pytest.fixture
def source(tmp_path: Path) -> LocalDocuments:
    (tmp_path / "pumps.md").write_text(PUMPS, "utf-8")
    (tmp_path / "valves.md").write_text(VALVES, "utf-8")
    return LocalDocuments([tmp_path])


@pytest.mark.parametrize(
    ("words", "text", "stands"),
    [
        ("max_flow_rate", "The `max_flow_rate` is 12.", True),
        ("MAX_flow", "the max_flow_rate", True),
        ("listen  port", "Listen\nport of it", True),
        ("listenport", "listen port", False),
        ("max_*_rate", "the max_flow_rate", True),
        ("max_*_rate", "the max_flow\nand a_rate", False),
        ("max_*_rate*_rate", "the max_flow_rate", False),
        ("E-47?1", "error E‑4711", True),
        ("E-4711?", "error E-4711", False),
        ("E-47?1", "error E-471", False),
        ("a.c", "abc", False),
        ("(x|y)+", "xy", False),
        ("C:\\temp", "in C:\\temp", True),
        ("snake\\_case", "snake_case", True),
        ("エラー４７１１", "ｴﾗｰ4711が出る", True),
        ("最大接続数", "最大\n接続数", True),
        ("第3条", "第 3 条", True),
        ("4.2.1", "**4.2.1** Scope", True),
        ("user’s", "the user's", True),
        ("*", "anything", False),
        (" ?? ", "anything", False),
        ("", "anything", False),
    ],
)
def test_words_stand_in_a_text_as_they_are_whatever_their_case_width_and_white_space(
    words: str, text: str, stands: bool
) -> None:
    literal = LiteralWords(words)

    assert (bool(literal) and literal.stand_in(ComparableText.of(text))) is stands


@given(st.text(alphabet="ab*? 橋\n", max_size=8), st.text(alphabet="ab 橋", max_size=30))
def test_no_words_fail_and_a_text_holds_each_part_of_itself(words: str, text: str) -> None:
    LiteralWords(words).stand_in(ComparableText.of(text))
    part = text[3:9]
    if part.strip():
        assert LiteralWords(part).stand_in(ComparableText.of(text))


@pytest.mark.parametrize(
    "words", ["a*" * 90 + "b", "a?" * 99 + "b", "?" * 199 + "b", "a" * 199 + "b", "*a?" * 60 + "b"]
)
def test_no_words_take_long_over_a_large_text(words: str) -> None:
    literal, text = LiteralWords(words), ComparableText.of("a" * 300_000)

    begin = time.process_time()
    assert not literal.stand_in(text)

    assert time.process_time() - begin < 3


async def test_words_are_found_in_headings_first_and_in_every_document_before_twice_in_one(
    source: LocalDocuments,
) -> None:
    found, count = await source.find("MAX_FLOW_RATE", limit=9)

    assert [(Path(hit.result.url).name, hit.place) for hit in found] == [
        ("valves.md", 2),
        ("pumps.md", 2),
        ("valves.md", 1),
        ("pumps.md", 3),
    ]
    assert count == 4
    assert found[0].heading == "max_flow_rate"


async def test_words_that_open_a_line_are_found_before_those_within_one(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nIt takes max_level.\n\n## B\n\nAnd then:\n\n- `max_level`: ten.\n", "utf-8")
    (tmp_path / "b.md").write_text("# B\n\nSee max_level.\n\n## C\n\n| max_level | 10 |\n", "utf-8")

    found, _ = await LocalDocuments([tmp_path]).find("max_level", limit=9)

    assert [(hit.result.title, hit.place) for hit in found] == [("A", 2), ("B", 2), ("A", 1), ("B", 1)]


@pytest.mark.parametrize(
    ("words", "places"), [("nat", [2, 1]), ("nat*", [1, 2]), ("*nat", [2, 1]), ("n?t", [2, 1]), ("橋", [1])]
)
async def test_words_within_other_words_are_found_last(words: str, places: list[int], tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Native 橋梁\n\nA natural signature.\n\n## B\n\nSet it behind NAT.\n", "utf-8")

    found, _ = await LocalDocuments([tmp_path]).find(words, limit=9)

    assert [hit.place for hit in found] == places


async def test_fewer_than_all_are_given_where_more_are_found_and_all_are_counted(source: LocalDocuments) -> None:
    found, count = await source.find("max_*_rate", limit=1)

    assert ([hit.heading for hit in found], count) == (["max_flow_rate"], 4)
    assert await source.find("min_flow_rate", limit=9) == ([], 0)
    assert await source.find("*", limit=9) == ([], 0)


async def test_nothing_is_found_where_no_document_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty.md").write_text("", "utf-8")

    assert await LocalDocuments([tmp_path]).find("pump", limit=9) == ([], 0)


async def test_a_heading_without_a_text_of_its_own_is_found_where_the_text_beneath_it_begins(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\n## Clause 7\n\n### Scope\n\nAll.\n\n### Term\n\nOne year.\n", "utf-8")

    found, count = await LocalDocuments([tmp_path]).find("clause 7", limit=9)

    assert ([hit.place for hit in found], count) == ([1], 1)


async def test_sections_are_read_by_place_as_a_search_names_them(source: LocalDocuments) -> None:
    (hit, *_) = await source.search("halved at night", limit=1)
    read = await source.read(hit.result.url, hit.place, hit.place)

    assert hit.place == 3
    assert [(each.text, each.heading, each.place) for each in read] == [(hit.text, hit.heading, hit.place)]
    assert [each.place for each in await source.whole(100_000)] == [1, 2, 3, 4, 1, 2]


@pytest.mark.parametrize(
    ("first", "last", "places"),
    [(2, 3, [2, 3]), (0, 1, [1]), (3, 99, [3, 4]), (9, 12, [4]), (3, 2, [3]), (-5, -2, [1])],
)
async def test_places_that_a_document_does_not_have_are_those_nearest_to_them(
    source: LocalDocuments, first: int, last: int, places: list[int]
) -> None:
    url = (await source.catalogue())[0].url

    assert [each.place for each in await source.read(url, first, last)] == places


async def test_what_is_none_of_the_documents_cannot_be_read(source: LocalDocuments) -> None:
    with pytest.raises(SourceError, match="no document has this address"):
        await source.read("file:///etc/passwd", 1, 9)


async def test_the_catalogue_names_each_heading_with_its_place_and_the_size_of_what_stands_beneath(
    source: LocalDocuments,
) -> None:
    pumps, valves = await source.catalogue()
    sizes = [estimate_tokens(hit.text) for hit in await source.read(pumps.url, 1, 9)]

    assert (pumps.number, pumps.title, pumps.sections, valves.number) == (1, "Pumps", 4, 2)
    assert pumps.headings == (
        CatalogueHeading("Limits", 2, sizes[1] + sizes[2]),
        CatalogueHeading("Limits › Night", 3, sizes[2]),
        CatalogueHeading("Spares", 4, sizes[3]),
    )


def test_a_heading_that_only_begins_as_the_title_does_is_kept_whole() -> None:
    sections = sections_of(split_passages("# Pumps\n\n## Pumpsets\n\nText.\n\n# Pumpsets\n\nText."))

    assert [heading.path for heading in headings_of(sections, "Pump")] == ["Pumps", "Pumps › Pumpsets", "Pumpsets"]


def entry(number: int, sections: list[tuple[str, int]]) -> CatalogueEntry:
    headings = tuple(CatalogueHeading(path, place, tokens) for place, (path, tokens) in enumerate(sections, start=1))
    total = sum(tokens for path, tokens in sections if "›" not in path)
    return CatalogueEntry(number, f"Title {number}", f"file:///a/page{number}.md", headings, total, len(sections))


def test_the_catalogue_shows_headings_as_far_as_there_is_room_those_of_the_longest_texts_first() -> None:
    entries = [
        entry(1, [("Short", 60), ("Other", 70)]),
        entry(2, [("Long", 9000), ("Long › Inner", 4000), ("Long › Deep", 500), ("Rest", 5000)]),
    ]

    assert catalogue_lines(entries, tokens=1000) == [
        "1. Title 1 (page1.md, 130 tokens)\n1.1 Short\n1.2 Other",
        "2. Title 2 (page2.md, 14,000 tokens)\n2.1 Long\n2.2 Long › Inner\n2.3 Long › Deep\n2.4 Rest",
    ]
    assert catalogue_lines(entries, tokens=48) == [
        "1. Title 1 (page1.md, 130 tokens)",
        "2. Title 2 (page2.md, 14,000 tokens)\n2.1 Long\n2.4 Rest",
    ]
    assert catalogue_lines(entries, tokens=24) == ["1. Title 1 (page1.md, 130 tokens)"]


@pytest.mark.parametrize(
    ("title", "url", "line"),
    [
        ("Pumps and valves", "file:///a/valves-pumps.html", "7. Pumps and valves (90 tokens)"),
        ("A (a.md)", "file:///a/a.md", "7. A (a.md) (90 tokens)"),
        ("契約書", "file:///a/%E5%A5%91%E7%B4%84.txt", "7. 契約書 (90 tokens)"),
        ("Pumps", "file:///a/report-7.html", "7. Pumps (report-7.html, 90 tokens)"),
        ("p " * 100, f"file:///a/{'x' * 100}.md", f"7. {'p ' * 59}p… ({'x' * 59}…, 90 tokens)"),
    ],
)
def test_the_catalogue_names_a_file_where_its_title_does_not(title: str, url: str, line: str) -> None:
    assert catalogue_lines([CatalogueEntry(7, title, url, (), 90, 1)], tokens=100) == [line]


def test_a_heading_that_begins_with_its_first_inner_one_is_named_by_that_alone() -> None:
    headings = (CatalogueHeading("Outer", 1, 90), CatalogueHeading("Outer › Inner", 1, 40))
    one = CatalogueEntry(3, "A (a.md)", "file:///a.md", headings, 90, 2, "2024-05-01")

    assert catalogue_lines([one], tokens=100) == ["3. A (a.md) (2024-05-01, 90 tokens)\n3.1 Outer › Inner"]


@given(st.lists(st.lists(st.tuples(st.sampled_from(["A", "A › B", "橋"]), st.integers(1, 999)))), st.integers(0, 400))
def test_the_catalogue_never_takes_more_than_it_may(sections: list[list[tuple[str, int]]], tokens: int) -> None:
    lines = catalogue_lines([entry(number, own) for number, own in enumerate(sections, start=1)], tokens=tokens)

    assert sum(estimate_tokens(f"{line}\n") for line in lines) <= tokens


def test_the_sections_of_a_page_are_those_of_a_file_with_the_same_text() -> None:
    page = FullText.of(PUMPS)

    assert page.sections == sections_of(split_passages(PUMPS))
    assert [section.place for section in page.sections] == [1, 2, 3, 4]
    assert all(section.tokens <= LONGEST_TOKENS for section in page.sections)


async def test_a_run_finds_and_reads_its_own_documents(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "pumps.md").write_text(PUMPS, "utf-8")
    services = Services(load_settings(workspace=workspace))
    documents = [str(tmp_path / "pumps.md")]

    (hit, *_), count = await services.sources.find(documents, RUN, "max_flow_rate", limit=1)
    read = await services.sources.read(documents, RUN, hit.result.url, hit.place, hit.place)

    await services.aclose()
    assert (count, read) == (2, [hit])


async def test_over_a_server_nothing_is_found_or_read_outside_of_what_its_operator_lets_be_read(
    workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "pumps.md").write_text(PUMPS, "utf-8")
    services = Services(load_settings(workspace=workspace), served=True)
    documents = [str(tmp_path / "pumps.md")]

    with pytest.raises(InputError, match="this server may not read"):
        await services.sources.find(documents, RUN, "max_flow_rate", limit=1)
    with pytest.raises(InputError, match="this server may not read"):
        await services.sources.read(documents, RUN, (tmp_path / "pumps.md").as_uri(), 1, 1)
    await services.aclose()


async def test_a_page_that_a_search_gave_is_read_by_place(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEND_FETCH_ALLOW", "127.0.0.1/32")
    services = Services(load_settings(workspace=workspace))
    pumps = "<p>The pump of line one is serviced by the crew on duty.</p>" * 9
    page = f"<article><h1>Pumps</h1>{pumps}<h2>Limits</h2><p>It is 12 l/s, and {pumps}</article>"

    with Replay(lambda _: Answer(page.encode(), headers={"Content-Type": "text/html"})) as web:
        result = SearchResult(title="Pumps", summary="Of pumps.", source="tavily", url=f"{web.url}/pumps")
        read = await services.sources.read_page(result, 2, 9)

    await services.aclose()
    assert [(hit.result, hit.heading, hit.place) for hit in read] == [(result, "Pumps › Limits", 2)]
    assert read[0].text.startswith("It is 12 l/s")
