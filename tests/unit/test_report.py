"""Reports built from drafts: only code writes citations, headings and addresses."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from contend.checks import citation_numbers
from contend.errors import DraftError
from contend.models.research import CitedSentence, flat_section
from contend.report import (
    build_report,
    state_to_report,
)
from contend.report.plain import plain_sentence
from contend.text import clean, split_code
from fakes.reports import FILLER, build, draft, passage, sentence, source


def finding(text: str, *passages: str) -> str:
    """How one sentence reads as a finding."""
    return build(draft(findings=[sentence("First, a plain one.", "a"), sentence(text, *passages)])).key_findings[1]


def test_a_mark_stands_before_the_full_stop() -> None:
    assert finding("Bridges hum.", "a") == "Bridges hum[1]."


def test_a_japanese_mark_stands_before_its_full_stop_without_a_space() -> None:
    assert finding("橋は風で鳴る。", "a") == "橋は風で鳴る[1]。"


def test_a_sentence_without_a_full_stop_gets_one() -> None:
    assert finding("Bridges hum", "a") == "Bridges hum[1]."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It hums where:", "It hums where[1]:"),
        ("橋は次の場合に鳴る：", "橋は次の場合に鳴る[1]："),
        ("wind; ", "wind[1];"),
        ("It hums where :", "It hums where[1] :"),
    ],
)
def test_what_leads_on_to_the_next_keeps_its_end(text: str, shown: str) -> None:
    assert finding(text, "a") == shown
    assert finding(text) == text.strip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It hums, ", "It hums[1]."),
        ("橋は鳴り、", "橋は鳴り[1]。"),
        ("**When it hums:**", "**When it hums:**[1]"),
        ("**橋について：**", "**橋について：**[1]"),
    ],
)
def test_a_full_stop_takes_the_place_of_a_comma_at_the_end(text: str, shown: str) -> None:
    assert finding(text, "a") == shown


def test_no_space_follows_what_ends_a_japanese_statement() -> None:
    statements = [sentence(text, "a") for text in ("橋は次の場合に鳴る：", "風；", "雨。")]

    report = build(draft(summary=statements), language="ja")

    assert report.executive_summary == "橋は次の場合に鳴る[1]：風[1]；雨[1]。"


def test_a_sentence_that_rests_on_two_sources_shows_both_in_order() -> None:
    assert finding("Bridges hum!", "b", "a", "b") == "Bridges hum[1][2]!"


def test_a_mark_follows_a_closing_quote() -> None:
    assert finding('She said "it hums."', "a") == 'She said "it hums."[1]'


def test_letters_with_stops_keep_their_last_stop() -> None:
    assert finding("It was seen in the U.S.", "a") == "It was seen in the U.S.[1]."


def test_a_passage_that_no_source_has_is_not_cited() -> None:
    assert finding("Bridges hum.", "nowhere") == "Bridges hum."


def test_cited_sources_come_first_in_the_order_of_their_first_citation() -> None:
    report = build(draft(summary=[sentence(f"{FILLER}.", "c")], findings=[sentence("It hums.", "b")]), names="abcd")

    assert [entry.title for entry in report.sources] == ["Title c", "Title b", "Title a", "Title d"]


def test_passages_of_one_page_share_its_number() -> None:
    passages = [passage("a"), passage("a").model_copy(update={"id": "a2"})]
    cited = draft(findings=[sentence("It hums.", "a2", "a")])

    report = build_report(cited, passages, [source("a"), source("a")], theme="Why?", language="en")

    assert report.key_findings == ["It hums[1]."]
    assert len(report.sources) == 1


def test_a_part_that_says_nothing_says_what_was_found() -> None:
    report = build(
        draft(summary=[sentence("[1]")], findings=[sentence("It hums.", "b")], analysis=[sentence("https://a.b")])
    )

    assert report.executive_summary == report.detailed_analysis == "It hums[1]."


def test_a_short_right_answer_is_a_report() -> None:
    answer = [sentence("The plant makes 4,200 units a month.", "a")]

    report = build(draft(summary=answer, findings=answer, analysis=answer))

    assert report.executive_summary == report.detailed_analysis == "The plant makes 4,200 units a month[1]."
    assert report.model_validate_json(report.model_dump_json()) == report


def test_an_analysis_is_set_in_paragraphs_of_three_or_four_sentences() -> None:
    report = build(draft(analysis=[sentence(f"{FILLER}, said report {number}.") for number in range(11)]))

    assert [part.count(FILLER) for part in report.detailed_analysis.split("\n\n")] == [3, 4, 4]


def test_a_draft_of_nothing_but_an_address_is_refused() -> None:
    with pytest.raises(DraftError, match="findings say nothing: add documents"):
        build(draft(findings=[sentence("https://evil.example/page")]))


def test_a_long_part_loses_nothing() -> None:
    report = build(draft(summary=[sentence(f"{FILLER}.", "a")] * 20, limits=[sentence(f"{FILLER}.", "a")] * 30))

    assert report.executive_summary.count(FILLER) == 20
    assert report.constraints_and_challenges.count(FILLER) == 30


def test_japanese_sentences_meet_without_a_space() -> None:
    analysis = [
        sentence("橋は風で鳴る。" + "風の渦がケーブルを横に押すためである" * 3 + number, "a") for number in "一二三"
    ]

    report = build(draft(analysis=analysis), language="ja")

    assert " " not in report.detailed_analysis
    assert report.detailed_analysis.count("[1]。") == 3


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Bridges hum [3] in wind [1, 2].", "Bridges hum in wind[1]."),
        ("Bridges hum [[1]2] in wind【4†source】.", "Bridges hum in wind[1]."),
        ("Bridges hum &#91;3&#93; in wind \\[3\\].", "Bridges hum in wind[1]."),
        ("Bridges hum [3] in wind [^4].", "Bridges hum in wind[1]."),
        ("橋は風［３］で鳴る。", "橋は風で鳴る[1]。"),
    ],
)
def test_citation_marks_of_a_model_are_taken_out(reply: str, text: str) -> None:
    assert finding(reply, "a") == text


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("# Bridges\n\n- hum.", r"\# Bridges - hum."),
        ("1. Bridges hum.", r"1\. Bridges hum."),
        ("- 5 degrees is cold.", r"\- 5 degrees is cold."),
        (">90 % of bridges hum.", r"\>90 % of bridges hum."),
        ("Bridges ## References hum.", "Bridges ## References hum."),
        ("Bridges `hum.", r"Bridges \`hum."),
        ("[a]: https://b.example/page Bridges hum.", r"\[a]: https://b.example/page Bridges hum."),
        ("Call [f](x) of bridges.", r"Call [f]\(x) of bridges."),
    ],
)
def test_what_would_be_a_block_or_a_link_is_escaped(reply: str, text: str) -> None:
    assert finding(reply) == text


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Bridges <b>hum</b>.", r"Bridges \<b>hum\</b>."),
        ("Bridges <script>alert(1)</script>hum.", r"Bridges \<script>alert(1)\</script>hum."),
        ("Bridges <img src=x onerror=alert(1)>hum.", r"Bridges \<img src=x onerror=alert(1)>hum."),
        ("Bridges &lt;iframe src=x&gt;hum.", r"Bridges \<iframe src=x>hum."),
        (r"Bridges \<b>hum.", r"Bridges \<b>hum."),
        ("Bridges hum if a<b.", "Bridges hum if a<b."),
        ("Bridges </div><img src=x onerror=", r"Bridges \</div>\<img src=x onerror=."),
    ],
)
def test_html_of_a_model_is_shown_as_text(reply: str, text: str) -> None:
    assert finding(reply) == text


@pytest.mark.parametrize(
    "technical",
    [
        "Call main() before `x[0]`.",
        "An empty list is x[0] of the values in [0, 1].",
        "Vec<String> and HashMap<String, i32> grow; Option<&str> does not.",
        "Use `Vec<std::String>`, `<b>`, `&lt;` and `[3]` with ``a ` b``.",
        "Set C:\\new\\x, $HOME, --flag=1, #include, 50% and C++ -> {a: b} | c.",
        "Input data: 5 of 6, and // is a comment; see src/main.rs:12.",
        "配列は `x[1]` と main() です。",
    ],
)
def test_technical_text_stays_as_it_was_written(technical: str) -> None:
    assert finding(technical) == technical


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (
            "According to https://evil.example/x, bridges hum.",
            "According to (address not in the sources), bridges hum.",
        ),
        ("According to [3], bridges hum.", "According to the source, bridges hum."),
        ("[3] shows that bridges hum.", "The source shows that bridges hum."),
        ("[3] Bridges [6], [7] hum ([4], [5]).", "Bridges hum."),
        ("[3]によると橋は鳴る。", "出典によると橋は鳴る。"),
        ("Bridges hum (see [[2]](http://evil.example/a)).", "Bridges hum (see (address not in the sources))."),
        (
            "It is doi:10.9999/hum and 10.9999/hum.",
            "It is (address not in the sources) and (address not in the sources).",
        ),
    ],
)
def test_what_is_taken_out_leaves_a_whole_sentence(reply: str, text: str) -> None:
    assert finding(reply) == text


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/a?b=[1]",
        "(https://evil.example/a_(b))",
        "[here](https://evil.example)",
        "![here](//evil.example/x.png)",
        "<https://evil.example/a>",
        "www.evil.com",
        "//evil.example/x",
        "evil.com/login",
        "javascript:alert(1)",
        "hthttp://x.ytp://evil.example",
        "data:text/html,evil",
        "doi:10.1000/evil",
    ],
)
def test_an_address_that_no_source_has_does_not_survive(address: str) -> None:
    text = finding(f"Bridges hum {address} in wind.")

    assert "evil" not in text
    assert "//" not in text
    assert "script" not in text


def test_an_address_in_a_cited_passage_stays_as_text() -> None:
    served = passage("a").model_copy(
        update={"text": "It asks <http://localhost:8000/v1>, see [x](https://x.example/a)."}
    )
    sentences = [
        sentence("The default URL is http://localhost:8000/v1 unless it is set.", "a"),
        sentence("Read [x](https://x.example/a) and https://x.example/b."),
    ]

    report = build_report(draft(findings=sentences), [served], [source("a")], theme="Why?", language="en")

    assert report.key_findings == [
        "The default URL is http://localhost:8000/v1 unless it is set[1].",
        "Read x (https://x.example/a) and (address not in the sources).",
    ]


def test_an_address_in_a_passage_that_nothing_cites_does_not_stay() -> None:
    other = passage("b").model_copy(update={"text": "It asks http://localhost:8000/v1."})
    sentences = [sentence("The default URL is http://localhost:8000/v1.", "a")]

    report = build_report(
        draft(findings=sentences), [passage("a"), other], [source("a"), source("b")], theme="Why?", language="en"
    )

    assert report.key_findings == ["The default URL is (address not in the sources)[1]."]


def test_an_address_of_a_source_stays() -> None:
    assert finding("Read https://b.example/page.", "b") == "Read https://b.example/page[2]."


def test_a_title_with_html_and_links_is_made_plain() -> None:
    hostile = source("a", title="Bridges\n<script>alert(1)</script> [hum](javascript:alert(1))")

    report = build_report(draft(), [passage("a")], [hostile], theme="Why?", language="en")

    assert report.sources[0].title == "Bridges hum"


HOSTILE = st.text(alphabet="ab1[]()<>/#`:.&;\\!*_^ =-+~@\n［］１。橋", max_size=40)
CODE = st.builds(
    lambda ticks, text: f"{ticks}{text}{ticks}",
    st.sampled_from(["`", "``"]),
    st.text(alphabet="x[01]()<b>/:&lt;\\h.", min_size=1, max_size=12).filter(str.strip),
)
WORDS = st.sampled_from(
    [
        "main()",
        "x[0]",
        "Vec<String>",
        "a_b",
        "f(x, y)",
        "{a: b}",
        "->",
        "C++",
        "50 %",
        "#1",
        "[a]",
        "(see)",
        "data:",
        "風",
    ]
)


def render(sentence: str) -> list[Token]:
    """The inline tokens of a sentence that stands alone, which is one paragraph or nothing."""
    blocks = MarkdownIt("commonmark").parse(sentence)
    assert [token.type for token in blocks] in ([], ["paragraph_open", "inline", "paragraph_close"])
    return list(blocks[1].children or []) if blocks else []


@given(text=st.lists(st.one_of(HOSTILE, CODE, WORDS), max_size=5).map("".join))
@example(text="[ `a`](http://x)")
@example(text="\\``a`<b>")
def test_no_sentence_becomes_html_a_link_or_a_block(text: str) -> None:
    tokens = render(plain_sentence(f"{text} a"))

    types = {token.content for token in tokens if token.type == "html_inline"}
    assert not [name for name in types if name in {"<a>", "<b>"} or not re.fullmatch(r"<[A-Za-z]\w*>", name)]
    assert {token.type for token in tokens if token.content not in types} <= {
        "text",
        "code_inline",
        "em_open",
        "em_close",
        "strong_open",
        "strong_close",
    }


@given(parts=st.lists(st.tuples(HOSTILE, CODE), min_size=1, max_size=3))
def test_code_spans_of_a_sentence_are_untouched(parts: list[tuple[str, str]]) -> None:
    text = " a ".join(f"{prose.replace('`', '')} {code}" for prose, code in parts)

    code_spans = [code for code in split_code(clean(text))[1::2] if "\n" not in code]

    assert all(code in plain_sentence(f"a {text}") for code in code_spans)


@given(words=st.lists(st.one_of(CODE, WORDS), min_size=1, max_size=8))
def test_a_technical_sentence_reads_as_it_was_written(words: list[str]) -> None:
    assert plain_sentence(f"Use {' '.join(words)}") == f"Use {' '.join(words)}"


SENTENCES = st.lists(
    st.builds(CitedSentence, text=HOSTILE.filter(str.strip), passages=st.lists(st.sampled_from("abcdz"), max_size=3)),
    max_size=6,
)


@given(summary=SENTENCES, findings=SENTENCES, analysis=SENTENCES, limits=SENTENCES)
def test_every_mark_is_an_entry_of_the_sources(
    summary: list[CitedSentence],
    findings: list[CitedSentence],
    analysis: list[CitedSentence],
    limits: list[CitedSentence],
) -> None:
    shipped = draft()
    report = build(
        draft(
            summary=[*summary, *shipped.summary],
            findings=[*findings, *shipped.findings],
            analysis=[*analysis, *shipped.sections[0].statements()],
            limits=[*limits, sentence("Few sources were open.", "b")],
        )
    )

    numbers = citation_numbers(report)

    assert set(numbers) <= set(range(1, len(report.sources) + 1))
    firsts = list(dict.fromkeys(numbers))
    assert firsts == sorted(firsts)


@given(text=HOSTILE)
def test_a_model_can_write_no_mark_of_its_own(text: str) -> None:
    report = build(draft(findings=[sentence("First, a plain one.", "a"), sentence(f"x {text}")]))

    assert not re.search(r"\[\s*\d+\s*\]", report.key_findings[1])


def state(**changed: object) -> dict[str, Any]:
    return {
        "theme": "Why do bridges hum?",
        "task_plan": None,
        "research_data": [source(name).model_dump(mode="json") for name in "ab"],
        "passages": [{"id": name, "url": f"https://{name}.example/page", "title": name} for name in "ab"],
        "draft_report": draft().model_dump(mode="json"),
        "options": {"language": "en"},
    } | changed


def test_a_states_report_has_the_theme_of_its_plan() -> None:
    assert state_to_report(state(task_plan={"theme": "Which bridges hum?"})).theme == "Which bridges hum?"


def test_a_state_without_a_plan_gives_the_theme_of_the_run() -> None:
    assert state_to_report(state()).theme == "Why do bridges hum?"


def test_a_states_report_has_the_cited_source_as_entry_one() -> None:
    report = state_to_report(state(draft_report=draft(summary=[sentence(f"{FILLER}.", "b")]).model_dump(mode="json")))

    assert report.executive_summary == f"{FILLER}[1]."
    assert report.sources[0].title == "Title b"


@pytest.mark.parametrize("missing", [None, {}])
def test_a_state_without_a_draft_is_refused(missing: dict[str, Any] | None) -> None:
    with pytest.raises(DraftError, match="no draft"):
        state_to_report(state(draft_report=missing))


def test_a_state_with_a_broken_draft_is_refused_naming_the_field() -> None:
    with pytest.raises(DraftError, match="Draft summary: Field required"):
        state_to_report(state(draft_report={"findings": [], "analysis": []}))


LIVE = ["![a](//host/x.png)", "<details ontoggle=alert(1)>", "[[x]](http://host)", "See http://host/x", "<http://host>"]


@pytest.mark.parametrize("text", LIVE)
@pytest.mark.parametrize("own_headings", [True, False])
def test_title_and_headings_open_no_link_no_image_and_no_html(text: str, *, own_headings: bool) -> None:
    section = flat_section([sentence(f"{FILLER}.", "a")]).model_copy(update={"heading": text})
    parts = {"title": text, "sections": [section], "opening_heading": text, "own_headings": own_headings}

    report = build(draft().model_copy(update=parts))

    markdown = report.model_copy(update={"sources": []}).to_markdown()
    tokens = MarkdownIt("commonmark", {"html": True}).parse(markdown)
    kinds = {each.type for token in tokens for each in [token, *(token.children or [])]}
    assert not kinds & {"link_open", "image", "html_inline", "html_block"}
    assert "http://host" not in markdown


def test_values_in_square_brackets_are_no_citation_marks_of_a_model() -> None:
    text = "The only values that it takes, in %, are [60,55,50,45]."

    assert plain_sentence(text) == "The only values that it takes, in %, are (60,55,50,45)."
