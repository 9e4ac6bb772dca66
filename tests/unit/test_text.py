"""Text: cleaned, counted, cut, split, compared, in English and Japanese alike."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import wordllama
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from contend.text import (
    WORDS,
    clean,
    count_text,
    detect_language,
    estimate_tokens,
    shared_content,
    shorten,
    shown_score,
    split_sentences,
    terms,
    token_bounds,
    without_marks,
)
from fakes.token_counts import BRIEFS

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
LINES = st.lists(
    st.sampled_from(["- one. Two", "橋が鳴る。風", "# A", "", "```", "x = (1. 5", "「はい。", "」と言う"])
).map("\n".join)

ENGLISH = (
    "Suspension bridges hum in the wind because vortices are shed alternately from both sides of the deck. When the "
    "shedding frequency approaches one of the structure's natural frequencies, the amplitude grows quickly. Most "
    "engineers now attribute the failure of the Tacoma Narrows Bridge to flutter rather than to resonance."
)
JAPANESE = (
    "橋が風で鳴るのは、渦が橋の両側から交互に放出されるためである。この現象はカルマン渦列と呼ばれ、放出の周波数が構造物の"
    "固有振動数に近づくと、振幅が急に大きくなる。りんごはそのまま食べてもおいしいですが、焼くと甘みが増して、また違った"
    "おいしさになります。オーブンがなければ、フライパンでも作れます。"
)


def bare_text(text: str) -> str:
    return "".join(text.split())


@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert clean(clean(text, single_line=True), single_line=True) == clean(text, single_line=True)


@given(ANY_TEXT)
def test_cleaned_text_can_be_stored_anywhere(text: str) -> None:
    cleaned = clean(text)

    assert cleaned.encode().decode() == cleaned
    assert not [mark for mark in cleaned if unicodedata.category(mark) in {"Cc", "Cs"} and mark not in "\n\t"]


def test_hidden_and_reordering_characters_are_dropped() -> None:
    assert clean("pay\u200bload \u202eright\u202c \ufefftag\U000e0041 so\u00adft\x00") == "payload right tag soft"


def test_line_ends_become_newlines_and_tabs_stay() -> None:
    assert clean("a\r\nb\rc\x0cd\u2028e\tf") == "a\nb\nc\nd\ne\tf"


def test_letters_and_their_marks_are_composed() -> None:
    assert clean("e\u0301 か\u3099") == "é が"


def test_a_single_line_has_single_spaces() -> None:
    assert clean("  a\n\n b\u3000c\t", single_line=True) == "a b c"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    path = Path(wordllama.__file__).parent / "tokenizers" / "l2_supercat_tokenizer_config.json"
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@pytest.mark.parametrize("text", [ENGLISH, JAPANESE, f"{ENGLISH}\n\n{JAPANESE}"], ids=["english", "japanese", "both"])
def test_estimated_tokens_are_within_a_quarter_of_real_ones(text: str, tokenizer: Tokenizer) -> None:
    real = len(tokenizer.encode(text, add_special_tokens=False).ids)

    assert estimate_tokens(text) == pytest.approx(real, rel=0.25)


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_tokens_of_a_brief_are_estimated_within_a_quarter_by_old_and_new_vocabularies(
    language: str, tokenizer: Tokenizer
) -> None:
    text, newer = BRIEFS[language]
    older = len(tokenizer.encode(text, add_special_tokens=False).ids)

    assert estimate_tokens(text) == pytest.approx(older, rel=0.25)
    assert estimate_tokens(text) == pytest.approx(newer, rel=0.25)


def test_an_empty_text_has_no_tokens() -> None:
    assert estimate_tokens("") == 0


@given(ANY_TEXT | LINES)
def test_the_estimate_of_tokens_is_within_the_bounds_told_at_once(text: str) -> None:
    least, most = token_bounds(text)

    assert least <= estimate_tokens(text) <= most


@given(st.text(st.characters(codec="ascii")) | LINES)
def test_a_foreign_letter_leaves_the_estimate_of_the_text_before_it_as_it_is(text: str) -> None:
    # The letter has the whole text counted character by character; it and the stops around it are three tokens.
    assert estimate_tokens(f"{text}.é.") == pytest.approx(estimate_tokens(text) + 3, abs=1)


@given(ANY_TEXT, st.sampled_from(["e", "가", "か", "\N{HANGUL CHOSEONG KIYEOK}", "\N{COMBINING ACUTE ACCENT}"]))
def test_a_text_is_cleaned_the_same_whatever_stands_before_it(text: str, before: str) -> None:
    assert clean(f"{before}{text}") == unicodedata.normalize("NFC", f"{before}{clean(text)}")


@given(ANY_TEXT, st.integers(min_value=0, max_value=60))
def test_shortened_text_never_exceeds_its_limit(text: str, limit: int) -> None:
    assert len(shorten(text, limit)) <= limit


@given(ANY_TEXT)
def test_text_that_fits_is_left_alone(text: str) -> None:
    assert shorten(text, len(text)) == text


def test_english_is_cut_between_words() -> None:
    assert shorten("The quick brown fox jumps", 14) == "The quick…"


def test_japanese_is_cut_between_characters() -> None:
    assert shorten("橋が風で鳴るのはなぜか", 6) == "橋が風で鳴…"


def test_one_endless_word_is_cut_within() -> None:
    assert shorten("x" * 100, 10) == "x" * 9 + "…"


@given(st.one_of(ANY_TEXT, LINES))
def test_splitting_into_sentences_loses_nothing_but_white_space(text: str) -> None:
    assert bare_text("".join(split_sentences(text))) == bare_text(text)


@given(st.one_of(ANY_TEXT, LINES))
def test_no_sentence_is_empty_or_has_loose_ends(text: str) -> None:
    assert all(sentence and sentence == sentence.strip() for sentence in split_sentences(text))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It hums. It sways! Why?", ["It hums.", "It sways!", "Why?"]),
        ("Dr. Smith paid $3.14, e.g. for tea.", ["Dr. Smith paid $3.14, e.g. for tea."]),
        ("J. R. Tolkien wrote it. So he did.", ["J. R. Tolkien wrote it.", "So he did."]),
        ("See Fig. 3 for more. The answer is no. We left.", ["See Fig. 3 for more.", "The answer is no.", "We left."]),
        ("“It hums. It sways,” she said. He left.", ["“It hums. It sways,” she said.", "He left."]),
        ("It hums [1]. It sways. [2][3] It fell.", ["It hums [1].", "It sways. [2][3]", "It fell."]),
        ("Use example.com v1.2.3 now. Done.", ["Use example.com v1.2.3 now.", "Done."]),
    ],
)
def test_english_sentences_end_where_a_reader_says(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("橋が鳴る。風が吹く！なぜか？", ["橋が鳴る。", "風が吹く！", "なぜか？"]),
        ("「はい。そうです。」と彼は言った。次の文。", ["「はい。そうです。」と彼は言った。", "次の文。"]),
        ("「終わりだ。」彼は去った。", ["「終わりだ。」", "彼は去った。"]),
        ("円周率は３．１４である．よく使う．", ["円周率は３．１４である．", "よく使う．"]),
        ("本当か!?そうだ。Pythonを使う。", ["本当か!?", "そうだ。", "Pythonを使う。"]),
        ("行の途中で\n折り返す文。", ["行の途中で折り返す文。"]),
    ],
)
def test_japanese_sentences_end_where_a_reader_says(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


def test_headings_list_items_and_blank_lines_end_sentences() -> None:
    text = "# Title\nSome words\nthat go on\n\n- one\n- two\n1. First. Second\n・項目一\n・項目二"

    assert split_sentences(text) == [
        "# Title",
        "Some words that go on",
        "- one",
        "- two",
        "1. First.",
        "Second",
        "・項目一",
        "・項目二",
    ]


def test_a_code_block_stays_whole() -> None:
    text = "Before it.\n```python\nx = 1. + y\n\nprint(x)\n```\nAfter it."

    assert split_sentences(text) == ["Before it.", "```python\nx = 1. + y\n\nprint(x)\n```", "After it."]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (ENGLISH, "en"),
        (JAPANESE, "ja"),
        ("LangGraphのcheckpointerをRedisに変える方法", "ja"),
        ("What does 寿司 mean in restaurants?", "en"),
        ("", "en"),
        ("42", "en"),
    ],
)
def test_the_language_is_told_from_the_letters(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_word_forms_share_a_term() -> None:
    for forms in (
        "hum hums humming hummed",
        "study studies studied",
        "hope hoped hoping",
        "class classes",
        "box boxes",
    ):
        assert len(set(terms(forms))) == 1, forms


def test_terms_leave_out_words_that_say_nothing() -> None:
    assert terms("Why is it that the wind…") == ["wind"]
    assert terms("です、ます") == []


def test_japanese_terms_are_character_pairs_and_kanji() -> None:
    assert terms("橋梁") == ["橋梁", "橋", "梁"]


def test_width_case_accents_and_thousands_marks_make_no_difference() -> None:
    assert terms("ＢＲＩＤＧＥ ｶﾞｽ Café 1,000") == terms("bridge ガス cafe 1000")


@given(ANY_TEXT)
def test_a_text_shares_all_its_content_with_itself(text: str) -> None:
    assert shared_content(text, text) == (1.0 if terms(text) else 0.0)


def test_shared_content_is_the_share_of_the_first_texts_terms() -> None:
    assert shared_content("wind bridges", "The bridge hums in the wind at night") == 1.0
    assert shared_content("wind towers", "The bridge hums in the wind at night") == 0.5


def test_a_terminals_colours_leave_no_tail() -> None:
    assert clean("\x1b[31mred\x1b[0m and \x1b[1;4mbold\x1b[0m") == "red and bold"


@pytest.mark.parametrize(
    ("score", "english", "japanese"),
    [
        (0.873, "87.3/100", "87.3/100"),
        (1.0, "100.0/100", "100.0/100"),
        (0.0, "0.0/100", "0.0/100"),
        (None, "unscored", "未採点"),
    ],
)
def test_a_score_is_shown_of_100_with_one_decimal_and_none_as_unscored(
    score: float | None, english: str, japanese: str
) -> None:
    assert (shown_score(score, "en"), shown_score(score, "ja")) == (english, japanese)


def test_a_report_leaves_no_word_in_english_to_a_japanese_reader() -> None:
    """What both languages write alike holds nothing but places for values."""
    english, japanese = (WORDS[language]._asdict() for language in ("en", "ja"))

    def pairs(one: object, other: object) -> Iterator[tuple[str, str]]:
        if isinstance(one, str):
            yield one, str(other)
        elif isinstance(one, Mapping):
            assert one.keys() == other.keys()
            yield from (pair for key in one for pair in pairs(one[key], other[key]))
        else:
            yield from (pair for each in zip(one, other, strict=True) for pair in pairs(*each))

    for field, english_words in english.items():
        for one, other in pairs(english_words, japanese[field]):
            assert one != other or not re.sub(r"\{\w+\}", "", one).strip(), field
            assert set(re.findall(r"\{\w+", one)) == set(re.findall(r"\{\w+", other)), field


@pytest.mark.parametrize("thing", sorted(WORDS["en"].counts))
def test_one_thing_is_counted_as_one_and_both_languages_name_the_same_values(thing: str) -> None:
    assert WORDS["ja"].counts.keys() == WORDS["en"].counts.keys()
    assert count_text(1, thing, part=1) != count_text(2, thing, part=1).replace("2", "1")
    values = {language: {*re.findall(r"\{\w+\}", words.counts[thing][0])} for language, words in WORDS.items()}
    assert values["ja"] == values["en"]


def test_the_mark_of_a_judgement_is_no_part_of_the_sentence() -> None:
    assert without_marks("It hums [1]†.") == "It hums."
