"""What a hit brings: the section that the passage stands in, and the day of its document."""

import io
from pathlib import Path

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.sources.local import LocalDocuments
from contend.sources.passages import LONGEST_TOKENS, sections_of, split_passages
from contend.sources.readers import read_document
from contend.text import estimate_tokens
from fakes.files import make_pdf

PARAGRAPH = "The pump of line {0} is serviced every {0} weeks by the crew on duty. Its filter is changed with it. " * 3
BLOCKS = st.lists(
    st.sampled_from(
        ["# A", "## B", "- item", "| a | b |", "```\ncode. Here\n\nmore\n```", "word " * 300, "橋。", PARAGRAPH]
    )
)


def texts(markdown: str) -> list[str]:
    return [section.text for section in sections_of(split_passages(markdown))]


async def test_a_hit_brings_its_whole_section_and_two_hits_in_it_are_one(tmp_path: Path) -> None:
    wind = "\n\n".join(PARAGRAPH.format(number).strip() for number in range(3, 9))
    (tmp_path / "pumps.md").write_text(f"# Pumps\n\nOld ones.\n\n## Lines\n\n{wind}\n\n## Spares\n\nNone.\n", "utf-8")

    results = await LocalDocuments([tmp_path]).search("pump of line 5 serviced, pump of line 8 serviced", limit=9)

    assert [hit.heading for hit in results].count("Lines") == 1
    assert results[0].text == wind
    assert results[0].result.summary.startswith("The pump of line")


async def test_a_table_comes_whole_with_its_names_of_columns(tmp_path: Path) -> None:
    rows = "\n".join(f"| Hall {number} | {number * 17} m2 | {number * 3} doors |" for number in range(1, 40))
    table = f"| Hall | Area | Doors |\n| --- | --- | --- |\n{rows}"
    (tmp_path / "halls.md").write_text(f"# Halls\n\nAll halls, measured again:\n\n{table}\n", "utf-8")

    (result,) = await LocalDocuments([tmp_path]).search("Hall 31 area", limit=3)

    assert "| Hall | Area | Doors |" in result.text
    assert "| Hall 31 | 527 m2 | 93 doors |" in result.text
    assert "| Hall 1 | 17 m2 | 3 doors |" in result.text


def test_a_table_too_long_to_come_whole_is_cut_with_its_names_of_columns_on_each_part() -> None:
    rows = "\n".join(f"| Hall {number} | {number * 17} m2 | {number * 3} doors |" for number in range(1, 400))

    parts = texts(f"# Halls\n\n| Hall | Area | Doors |\n| --- | --- | --- |\n{rows}\n")

    assert len(parts) > 1
    assert all(part.startswith("| Hall | Area | Doors |\n| --- | --- | --- |\n| Hall ") for part in parts)


def test_a_list_too_long_to_come_whole_is_cut_with_the_line_before_it_on_each_part() -> None:
    items = "\n".join(
        f"- Valve {number} opens at {number} bar and closes again at half of that." for number in range(1, 200)
    )

    parts = texts(f"# Valves\n\nOf the valves in hall two these are checked:\n\n{items}\n")

    assert len(parts) > 1
    assert all(part.startswith("Of the valves in hall two these are checked:\n- Valve") for part in parts)


def test_a_long_section_is_parted_between_paragraphs_and_evenly() -> None:
    paragraphs = [PARAGRAPH.format(number).strip() for number in range(30)]

    parts = texts("# Pumps\n\n" + "\n\n".join(paragraphs))

    sizes = [estimate_tokens(part) for part in parts]
    assert "\n\n".join(parts).split("\n\n") == paragraphs
    assert max(sizes) < 1.4 * min(sizes)


@given(BLOCKS)
def test_each_passage_stands_in_one_section_and_nothing_is_lost(blocks: list[str]) -> None:
    markdown = "\n\n".join(blocks)
    pieces = split_passages(markdown)

    sections = sections_of(pieces)

    assert [number for section in sections for number in section.passages] == [*range(len(pieces))]
    assert all(pieces[number].text in section.text for section in sections for number in section.passages)
    assert all(pieces[number].heading == section.heading for section in sections for number in section.passages)
    assert all(estimate_tokens(section.text) <= 2 * LONGEST_TOKENS for section in sections)


async def test_the_same_text_is_the_same_section_whatever_was_searched(tmp_path: Path) -> None:
    (tmp_path / "pumps.md").write_text(
        "# Pumps\n\n" + "\n\n".join(PARAGRAPH.format(each) for each in range(9)), "utf-8"
    )
    source = LocalDocuments([tmp_path])

    results = {
        hit.text for query in ("pump line 3", "filter changed", "crew") for hit in await source.search(query, limit=9)
    }

    assert results == {hit.text for hit in await source.whole(100_000)}


@pytest.mark.parametrize(
    ("name", "content", "day"),
    [
        ("a.md", "---\ntitle: A\ndate: 2024-05-01T10:00\n---\nText.", "2024-05-01"),
        ("a.md", '+++\ntitle = "A"\ndate = "2024-05-01"\n+++\nText.', "2024-05-01"),
        ("a-2023-02-03.md", "---\ndate: 2024-05-01\n---\nText.", "2024-05-01"),
        ("価格表2023-02-03.txt", "本文。", "2023-02-03"),
        ("a-2023-02-30.txt", "No such day.", None),
        ("a.md", "Date: 2024-05-01\n\nText.", "2024-05-01"),
        (
            "a.md",
            "# Paper (version 2)\nDepot · 12 May 2026 · Author: Finance\n\nReplaces 20 January 2025.",
            "2026-05-12",
        ),
        ("a.md", "# Study (Brandt & Oie, 30 March 2026)\n\n**Summary.** Text.", "2026-03-30"),
        ("a.txt", "Register of chambers, state of Apr 1, 2026\n\nText.", "2026-04-01"),
        ("a.md", "# Register\nKept by the office; as of 2026-04-01\n\nText.", "2026-04-01"),
        ("a.html", "<h1>Invoice</h1><p>Customer: Depot. Date: 14 January 2026.</p>", "2026-01-14"),
        ("a.md", "# 契約書\n\n丸徳水産 2025年4月1日締結\n\n2026年5月1日から有効。", "2025-04-01"),
        ("a.txt", "議事録　令和6年5月1日\n\n本文。", "2024-05-01"),
        ("a.txt", "作成日：２０２４年５月１日\n\n本文。", "2024-05-01"),
        ("a-2023-02-03.md", "# Paper\n\n12 May 2026\n\nText.", "2026-05-12"),
        ("a.md", "# Brief\n\nThe board decides on 10 December 2026 whether it orders.", None),
        ("a.txt", "覚書\n\n2026年5月1日から有効である。", None),
        ("a.md", "# Log\n\nText.\n\nMore text.\n\n12 May 2026", None),
        ("a.md", "# Log\n\n31 February 2026", None),
        ("a.md", "# Bids, April 2026\nPurchasing\n\n| | A |\n|---|---|\n\nOrder planned for 26 May 2026.", None),
        ("a.md", "# 入札比較（2026年4月）\n購買部\n\n| | 甲 |\n|---|---|\n\n発注予定日は2026年5月26日。", None),
        ("a.md", "# Bids\n\n| | A |\n|---|---|\n\nPurchasing, 26 May 2026", None),
        ("a.md", "# Brief\n\nThe board decides on Thursday, 10 December 2026.", None),
        ("a.txt", "The board decides on 10 December 2026.\n\nText.", None),
        ("a.md", "# 概要\n\n取締役会は2026年12月10日。", None),
        ("a.md", "# Offer\nDelivery date: 26 May 2026\nValid: 1 January 2026 – 31 May 2026", None),
        ("a.txt", "見積書\n納期：2026年5月26日\n有効期限　2026年6月30日", None),
        ("a.md", "# Steps\n\n- 26 May 2026, order\n- 1 June 2026: delivery", None),
        ("a.md", "# Agenda for the meeting on 26 May 2026\n\nSecretary, Tuesday, 12 May 2026", "2026-05-12"),
        ("a.md", "# 取締役会（2026年5月26日）の議題\n\n総務部　２０２６年５月１２日（火）", "2026-05-12"),
        ("a.md", "# Minutes of the meeting of 18 June 2026\n\nPresent: five.", "2026-06-18"),
        ("a.md", "# 2026年6月18日取締役会議事録\n\n出席：五名。", "2026-06-18"),
        ("a.md", "# Notes\n\n- **Author:** Finance\n- **Date:** 12 May 2026", "2026-05-12"),
        ("a.md", "# Notes\n\nOslo, 12 May 2026 — Norrvik said on 14 May 2026 that it orders.", "2026-05-12"),
        ("a.md", "# 通知\n\n第12号　令和8年5月12日付", "2026-05-12"),
        ("README.md", "# Pumps\n\n> _Last modified: 2026-05-12T10:30Z_", "2026-05-12"),
        ("a.md", "# Policy\n\nEffective date: 1 June 2026\nLast revised: May 12th, 2026", "2026-05-12"),
        ("a.md", "# Minutes of the board\n\nHeld on Tuesday, 12 May 2026\n\nPresent: five.", "2026-05-12"),
        ("a.md", "# 手順書\n\n最終更新日時：2026/5/12 10:30", "2026-05-12"),
        ("a.md", "# Hastings\n\nThe Battle of Hastings (14 October 1066) was fought by two armies.", None),
        ("a.md", "# 夏目漱石\n\n夏目 漱石（1867年2月9日〈慶応3年1月5日〉 - 1916年12月9日）は、小説家。", None),
        ("a.md", "# 説明会のご案内\n\n日時：2026年6月1日\n場所：本社", None),
        ("a.md", "# Pumps\n\nBy Jane Doe | May 12, 2026 | 5 min read", "2026-05-12"),
        ("a.md", "# Pumps\n\nFinance — 12 May 2026", "2026-05-12"),
        ("a.txt", "議事録\n\n丸徳水産(株)2026年5月12日 総務部", "2026-05-12"),
        ("a.txt", "議事録\n\n総務部／2026年5月12日", "2026-05-12"),
        ("a.md", "# 2026年5月26日（火）の議題", None),
        ("a.csv", "Day,Fault\n2024-12-19,cold\n", None),
        ("a.html", '<meta property="article:published_time" content="2024-05-01T10:00Z"><p>Text.', "2024-05-01"),
        ("a.html", '<meta name="DCTERMS.created" content="2024-05-01"><p>Text.', "2024-05-01"),
        ("a.html", '<meta name="date" content="yesterday"><p>Text.', None),
    ],
)
def test_the_day_of_a_document_is_what_the_file_itself_tells(
    tmp_path: Path, name: str, content: str, day: str | None
) -> None:
    (tmp_path / name).write_text(content, "utf-8")

    assert read_document(tmp_path / name).published == day


def test_a_word_file_tells_the_day_it_was_saved_and_not_that_of_the_model_it_was_made_from(tmp_path: Path) -> None:
    document, content = docx.Document(), io.BytesIO()
    document.add_paragraph("Text.")
    document.save(str(tmp_path / "a.docx"))
    document.core_properties.modified = document.core_properties.created.replace(year=2024)
    document.save(content)
    (tmp_path / "b.docx").write_bytes(content.getvalue())

    assert read_document(tmp_path / "a.docx").published is None
    assert read_document(tmp_path / "b.docx").published == "2024-12-23"


@pytest.mark.parametrize(
    ("name", "created", "day"),
    [
        ("a.pdf", "D:20240501235959+09'00'", "2024-05-01"),
        ("prices-2023-02-03.pdf", "D:20240501", "2023-02-03"),
        ("a.pdf", "", None),
        ("a.pdf", "D:20241301", None),
    ],
)
def test_a_pdf_tells_its_day_in_its_name_or_its_properties(
    tmp_path: Path, name: str, created: str, day: str | None
) -> None:
    (tmp_path / name).write_bytes(make_pdf([["Text."]], created=created))

    assert read_document(tmp_path / name).published == day


def test_the_title_of_a_pdf_may_tell_its_day_below_the_heading_of_its_first_page(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(make_pdf([["Minutes of the meeting of 18 June 2026", "Present: five."]]))

    assert read_document(tmp_path / "a.pdf").published == "2026-06-18"


async def test_a_documents_day_and_its_headings_stand_in_the_catalogue_and_its_day_at_each_hit(
    tmp_path: Path,
) -> None:
    inner = "## Lines\n\n### North\n\n#### Deep\n\nThey hum.\n\n## Spares\n\nNone.\n"
    text = f"---\ndate: 2024-05-01\n---\n# Pumps\n\nOld.\n\n{inner}"
    (tmp_path / "pumps.md").write_text(text, "utf-8")
    source = LocalDocuments([tmp_path])

    (entry,), (hit, *_) = await source.catalogue(), await source.search("hum", limit=1)

    assert entry.published == hit.result.published_date == "2024-05-01"
    assert [heading.path for heading in entry.headings] == [
        "Lines",
        "Lines › North",
        "Lines › North › Deep",
        "Spares",
    ]


async def test_documents_are_given_whole_and_in_order_where_they_fit_and_not_at_all_where_they_do_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "b.md").write_text("# B\n\nTwo.\n\n## C\n\nThree.", "utf-8")
    (tmp_path / "a.md").write_text("# A\n\nOne.", "utf-8")
    source = LocalDocuments([tmp_path])

    assert [hit.text for hit in await source.whole(100)] == ["One.", "Two.", "Three."]
    assert await source.whole(2) == []
