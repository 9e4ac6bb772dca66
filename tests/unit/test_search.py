"""The search that a run without a language model is: parts, passages, editions, and how they are shown."""

import re

import pytest
from markdown_it import MarkdownIt

from contend.models.research import FoundPassage, ResearchReport, SearchResult
from contend.search import (
    Edition,
    NearPassage,
    PartPassages,
    newest_editions,
    newest_first,
    parts_in,
    search_report,
    shown_passages,
)
from contend.text import question_language


def found(text: str, *, name: str = "a.md", title: str = "A", heading: str = "") -> FoundPassage:
    result = SearchResult(title=title, summary="x", source="local", url=f"file:///papers/{name}")
    return FoundPassage(result, text, heading)


def shown(part: str, *hits: FoundPassage, newest: dict[str, Edition] | None = None) -> list[NearPassage]:
    return shown_passages(part, hits, newest or {})


def report_of(question: str, *hits: FoundPassage, newest: dict[str, Edition] | None = None) -> ResearchReport:
    parts = [PartPassages(part, shown(part, *hits, newest=newest)) for part in parts_in(question)]
    return search_report(question, parts, question_language(question))


def edition(path: str, title: str = "", published: str | None = None) -> Edition:
    return Edition(f"file:///papers/{path}", title or path.rpartition("/")[2].rpartition(".")[0], published)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Why do bridges hum?", ["Why do bridges hum?"]),
        ("Why do bridges hum? Who dampens them?", ["Why do bridges hum?", "Who dampens them?"]),
        ("橋はなぜ鳴りますか？誰が直しますか？", ["橋はなぜ鳴りますか？", "誰が直しますか？"]),
        ("橋が鳴ります。誰が直しますか。", ["橋が鳴ります。", "誰が直しますか。"]),
        ("桥为什么会响？谁来修理？", ["桥为什么会响？", "谁来修理？"]),
        ("لماذا تهتز الجسور؟ من يصلحها؟", ["لماذا تهتز الجسور؟", "من يصلحها؟"]),
        ("Tell me:\n- the price of a desk\n- the price of a room", ["the price of a desk", "the price of a room"]),
        ("Say 1. what a desk costs 2. who pays 3. the day", ["Say", "what a desk costs", "who pays", "the day"]),
        ("(1) price of a desk (2) price of a room", ["price of a desk", "price of a room"]),
        ("①机の料金②部屋の料金", ["机の料金", "部屋の料金"]),
        ("Is the limit 2. or 3.5 euros?", ["Is the limit 2. or 3.5 euros?"]),
        ("Do articles 5(1) and 5(2) hold?", ["Do articles 5(1) and 5(2) hold?"]),
        ("We rent rooms.\nWhat does a desk cost?", ["We rent rooms.", "What does a desk cost?"]),
        ("How long, and how wide is it", ["How long, and how wide is it"]),
        ("?!", ["?!"]),
    ],
)
def test_a_question_is_parted_at_its_sentences_lines_and_numbered_items(question: str, parts: list[str]) -> None:
    assert parts_in(question) == parts


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("What does a desk cost?", "A desk costs 240 euros."),
        ("Was kostet ein Schreibtisch?", "Ein Schreibtisch kostet 240 Euro."),
        ("Сколько стоит стол?", "Один стол стоит 240 евро."),
        ("机の料金はいくらですか？", "机の料金は月に240ユーロです。"),
        ("电池的容量下降多少？", "低温下电池的容量下降百分之三十。"),
        ("كم سعر المكتب؟", "سعر المكتب ٢٤٠ يورو."),
    ],
)
def test_a_question_in_any_language_finds_passages_with_its_words(part: str, text: str) -> None:
    (passage,) = shown(part, found(text), found("XYZ."))

    assert passage.text == text
    assert "**" in report_of(part, found(text)).key_findings[0]


def test_what_has_no_word_of_a_part_is_not_shown() -> None:
    assert shown("Which vaccinations does the dog need?", found("A desk costs 240 euros.")) == []


def test_of_a_long_section_the_run_of_blocks_with_most_of_the_words_is_shown_word_for_word() -> None:
    blocks = [f"Rule {number} of the house is about {word} " + "and so on. " * 30 for number, word in enumerate("ABCD")]
    text = "\n\n".join([*blocks[:2], "The key deposit is 50 euros, paid on the first day.", *blocks[2:]])

    (passage,) = shown("How much is the key deposit?", found(text))

    assert "The key deposit is 50 euros, paid on the first day." in passage.blocks
    assert all(sentence.strip() in text for block in passage.blocks for sentence in block.split(". "))
    assert len(passage.text) < len(text) / 2


def test_an_excerpt_from_within_a_table_has_the_names_of_its_columns() -> None:
    rows = [f"| Room {number} | {number} seats and a long remark on what else stands there |" for number in range(40)]
    table = "\n".join(["| Name | Seats |", "|---|---|", *rows, "| Heron | 8 |"])

    (passage,) = shown("Heron?", found(table))

    assert passage.blocks[:2] == ("| Name | Seats |", "|---|---|")
    assert passage.blocks[-1] == "| Heron | 8 |"
    assert "Name: **Heron**; Seats: 8" in report_of("Heron?", found(table)).key_findings[0]


def test_of_code_the_line_with_the_words_asked_for_is_the_finding_and_all_of_it_is_shown() -> None:
    code = "Setting up:\n\n```sh\nimport nothing\n\ncontend resume latest\n```"

    report = report_of("How do I resume the latest?", found(code))

    assert "`contend resume latest`" in report.key_findings[0]
    assert "> ```sh\n> import nothing\n>\n> contend resume latest\n> ```" in report.detailed_analysis


def test_the_words_that_were_asked_for_are_bold_and_what_a_document_holds_is_inert() -> None:
    text = "A desk costs *240* euros, see [the list](https://evil.example/x) or <script>alert(1)</script> [7]."

    markdown = report_of("What does a <b>desk</b> cost?", found(text)).detailed_analysis

    assert "A **desk** **costs** \\*240\\* euros, see the list or" in markdown
    assert "<script" not in markdown.replace("\\<script", "")
    assert "https://evil.example" not in markdown
    assert re.search(r"(?<!\\)\[7", markdown) is None


def test_what_would_be_a_heading_or_an_entity_is_shown_letter_by_letter() -> None:
    report = report_of("What does a desk cost?", found("- # A desk costs &lt; 240 &#38; more"))

    tokens = MarkdownIt().parse(report.detailed_analysis.partition("\n\n")[2])
    assert [token.tag for token in tokens if token.type == "heading_open"] == []
    texts = "".join(child.content for token in tokens for child in token.children or ())
    assert texts.startswith("# A desk costs &lt; 240 &#38; more")


def test_a_cell_with_a_bar_stays_one_cell() -> None:
    report = report_of("How many seats has Heron?", found("| Room | Seats |\n|---|---|\n| Heron \\| old | 8 |"))

    assert "| **Heron** \\| old | 8 |" in report.detailed_analysis


def test_in_a_run_of_japanese_only_the_words_asked_for_are_bold() -> None:
    report = report_of("退会の期限はいつですか？", found("退会の期限はkWhの利用と毎月二十日です。"))

    assert "> **退会**の**期限**はkWhの利用と毎月二十日です。" in report.detailed_analysis


def test_the_report_says_where_passages_stand_what_has_none_and_that_nobody_judged() -> None:
    question = "What does a desk cost? Which vaccinations are needed?"

    report = report_of(question, found("A desk costs 240 euros.", heading="p. 3"))

    assert report.executive_summary == (
        "Passages near to 1 of 2 parts of the question stand in: a.md. Nobody has judged whether they answer it."
    )
    assert "— a.md › p. 3[1]" in report.detailed_analysis
    assert report.constraints_and_challenges == (
        "- No passage of your documents has a word of this part: Which vaccinations are needed?"
    )


def test_without_passages_a_report_says_so_and_names_no_source() -> None:
    report = report_of("What does a desk cost?")

    assert (report.executive_summary, report.sources) == ("No passage of your documents has a word of it.", [])


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (edition("handbook-2023.md"), edition("handbook-2025.md")),
        (edition("policy_v2.pdf"), edition("policy_v10.docx")),
        (edition("規程_第1版.md"), edition("規程_第2版.md")),
        (edition("就業規則2023年4月.md"), edition("就業規則2024年10月.md")),
        (edition("2023/policy.md"), edition("2025/policy.md")),
        (edition("x.md", "Staff handbook, 2nd edition"), edition("y.md", "Staff handbook, 3rd edition")),
        (edition("tariff.md", "Tariff", "2024-01-01"), edition("tariff-new.md", "Tariff", "2025-01-01")),
        (edition("tariff.md", "Tariff (tariff.md)", "2024-01-01"), edition("b.md", "Tariff (b.md)", "2025-01-01")),
    ],
)
def test_editions_differ_in_a_version_or_a_day(older: Edition, newer: Edition) -> None:
    assert newest_editions([newer, older]) == newest_editions([older, newer]) == {older.url: newer}


@pytest.mark.parametrize(
    ("document", "other"),
    [
        (edition("chapter-1.md"), edition("chapter-2.md")),
        (edition("README.md"), edition("sub/README.md")),
        (edition("minutes-2024-03.md"), edition("budget-2024-04.md")),
        (edition("anna/notes.md", published="2024-01-01"), edition("ben/notes.md", published="2025-01-01")),
        (edition("handbook.md"), edition("handbook-2025.md")),
        (edition("a.md", "Tariff", "2024-01-01"), edition("b.md", "Tariff", "2024-01-01")),
    ],
)
def test_what_differs_otherwise_is_no_edition(document: Edition, other: Edition) -> None:
    assert newest_editions([document, other]) == {}


def test_a_superseded_passage_brings_the_newest_editions_one_with_it_and_is_marked() -> None:
    new = edition("handbook-2025.md", published="2025-02-01")
    old = found("Staff have 25 days of leave.", name="handbook-2023.md")
    hits = [old, *(found(f"Leave {number}.", name=f"{number}.md") for number in range(5)),
            found("Leave is 28 days.", name="handbook-2025.md")]  # fmt: skip
    newest = {old.result.url: new}

    chosen = newest_first(shown("How much leave?", *hits, newest=newest), 3, newest=newest)

    assert [passage.url.rpartition("/")[2] for passage in chosen] == ["handbook-2025.md", "0.md", "handbook-2023.md"]
    report = search_report("How much leave?", [PartPassages("How much leave?", chosen)], "en")
    mark = "**superseded, by its name or day: handbook-2025.md (2025-02-01) is newer**"
    assert f"— handbook-2023.md[3] {mark}" in report.detailed_analysis


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("全固体電池の低温特性", "ja"),
        ("バッテリー容量", "ja"),
        ("习近平とは誰ですか", "ja"),
        ("电池在低温下容量下降多少？", "en"),
        ("為什麼電池在低溫下容量下降？", "en"),
        ("中国人口多少", "en"),
        ("请介绍「ソニー」公司", "en"),
        ("학생 회비는 얼마입니까?", "en"),
    ],
)
def test_only_a_question_in_japanese_is_answered_in_japanese(question: str, language: str) -> None:
    assert question_language(question) == language
