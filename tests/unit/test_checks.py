"""The check of a claim against the passages that it names: by code alone, in English and Japanese."""

import os
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.checks import RULES, Claim, ClaimCheck, PassageText, calculate, check_claim, claims_of
from contend.checks.checking import CalculationError
from contend.models.research import CitedSentence, Draft, Passage, Section, Table, TableCell, TableRow

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import citations

SLATS = PassageText(
    "p1",
    "The west railing",
    "The slats on the west railing sing at 280 Hz in winds above 9 m/s. Neighbours complained for two years, from 2019 "
    "to 2021. Rubber sleeves cost $4 million and were not tested in winter. Ada Brandt measured 35.9 % less noise.",
)
JAPANESE = PassageText(
    "p2",
    "西側の欄干",
    "西側の欄干の板は風速9 m/sを超えると280 Hzで鳴る。住民は2019年から二年間苦情を述べた。"
    "ゴム管の費用は54万円で、冬の試験は行われなかった。騒音は36%減少した。",
)


def check(text: str, *passages: PassageText, kind: str = "stated", expression: str = "") -> ClaimCheck:
    return check_claim(Claim(text=text, kind=kind, expression=expression), passages)  # type: ignore[arg-type]  # a test's


def rules(claim_check: ClaimCheck) -> set[str]:
    return {mark.rule for mark in claim_check.marks}


@pytest.mark.parametrize(
    ("text", "passage"),
    [
        ("The slats on the west railing sing at 280 Hz in winds above 9 m/s.", SLATS),
        ("Neighbours complained for two years, from 2019 to 2021.", SLATS),
        ("西側の欄干の板は風速9 m/sを超えると280 Hzで鳴る。", JAPANESE),
    ],
)
def test_a_sentence_of_the_passage_is_supported_and_shown_beside_it(text: str, passage: PassageText) -> None:
    claim_check = check(text, passage)

    assert (claim_check.level, claim_check.marks, claim_check.nearest) == ("supported", [], passage.id)
    assert text.rstrip(".。") in claim_check.excerpt


def test_the_decimals_of_a_figure_are_no_figure_of_their_own_and_digits_in_a_name_are() -> None:
    lens = PassageText("p5", "Lens", "The lens GX-17, shown in fig.12, has a focal length of 35.14 mm.")

    assert "figure" in rules(check("The lens has a focal length of 14 mm.", lens))
    assert not rules(check("The lens has a focal length of 35.14 mm.", lens))
    assert "figure" not in rules(check("Figure 12 has the lens of 17.", lens))


def test_a_minus_and_the_lack_of_one_are_told_apart_and_a_fall_is_a_minus() -> None:
    cold = PassageText("p4", "Store", "The temperature of the store is -20 °C. Noise since 2024-03-05: -35.9 %.")

    assert "sign" in rules(check("The temperature of the store is 20 °C.", cold))
    assert not rules(check("The temperature of the store is -20 °C.", cold))
    assert "sign" not in rules(check("Noise since 2024-03-05 fell by 35.9 %.", cold))
    assert "name" not in rules(check("Noise since 5 March 2024: -35.9 %.", cold))


@pytest.mark.parametrize(
    ("text", "passage"),
    [
        ("Slats of the railing sing at 280 Hz when the wind exceeds 9 m/s.", SLATS),
        ("Ada Brandt found that noise went down by 36 %.", SLATS),
        ("欄干の板は風が強いと280 Hzの音を出す。", JAPANESE),
    ],
)
def test_a_paraphrase_is_at_least_near(text: str, passage: PassageText) -> None:
    assert check(text, passage).level in {"supported", "near"}


@pytest.mark.parametrize(
    ("text", "passage", "rule", "detail"),
    [
        ("Neighbours complained for two years, from 2017 to 2021.", SLATS, "year", "2017"),
        ("The slats on the west railing sing at 340 Hz in winds above 9 m/s.", SLATS, "figure", "340 Hz"),
        ("The slats on the west railing sing at 280 kHz in winds above 9 m/s.", SLATS, "unit", "280 kHz"),
        ("Rubber sleeves cost $4 billion.", SLATS, "figure", "$4 billion"),
        ("Rubber sleeves cost €4 million.", SLATS, "unit", "€4 million"),
        ("Neighbours complained for two months.", SLATS, "unit", "two months"),
        ("住民は2018年から二年間苦情を述べた。", JAPANESE, "year", "2018"),
        ("板は風速9 m/sを超えると340 Hzで鳴る。", JAPANESE, "figure", "340 Hz"),
        ("ゴム管の費用は54億円であった。", JAPANESE, "figure", "54億円"),
        ("ゴム管の費用は54万ドルであった。", JAPANESE, "unit", "54万ドル"),
    ],
)
def test_what_differs_from_the_passage_is_named_and_not_supported(
    text: str, passage: PassageText, rule: str, detail: str
) -> None:
    claim_check = check(text, passage)

    assert claim_check.level == "unsupported"
    assert [mark.detail for mark in claim_check.marks if mark.rule == rule] == [detail]
    assert all(mark.line for mark in claim_check.marks)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Ida Brandt measured 35.9 % less noise.", "name"),
        ("Neighbours complained for two years, from 2021 to 2019.", "place"),
        ("The slats on the west railing sing at -280 Hz in winds above 9 m/s.", "sign"),
        ("Rubber sleeves were tested in winter.", "negation"),
        ("Ada Brandt measured 35.9 % more noise.", "direction"),
        ("ゴム管の冬の試験は行われた。", "negation"),
        ("騒音は36%増加した。", "direction"),
    ],
)
def test_what_only_compares_words_leaves_a_sentence_near_at_most_for_a_model_to_decide(text: str, rule: str) -> None:
    claim_check = check(text, SLATS if text.isascii() else JAPANESE)

    assert rule in rules(claim_check)
    assert claim_check.level == "near"


def test_a_name_that_another_sentence_speaks_of_is_in_the_wrong_place() -> None:
    passage = PassageText("a", "", "Priya Nair wrote the parser, and Tomasz Wolski found the deadlock in the journal.")

    assert check("Priya Nair wrote the parser.", passage).level == "supported"
    assert rules(check("Tomasz Wolski wrote the parser.", passage)) == {"place"}


def test_a_japanese_subject_that_is_the_passages_object_is_in_the_wrong_place() -> None:
    passage = PassageText("a", "", "監査は書簡を訂正する。")

    assert rules(check("書簡は監査を訂正する。", passage)) == {"place"}


@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("35 %", "35.9 %"), ("36 %", "35.9 %"), ("1,200", "1200"), ("3 teams", "three teams"), ("２８０", "280"),
        ("1.8 million", "1,836,000"), ("90 minutes", "1.5 hours"), ("5 km", "5,000 m"), ("about 1,800", "1,836"),
    ],
)  # fmt: skip
def test_a_figure_is_found_when_rounded_or_written_otherwise(message: str, written: str) -> None:
    passage = PassageText("a", "", f"The slats on the west railing sing, say {written} of all.")

    claim_check = check(f"The slats on the west railing sing, say {message} of all.", passage)

    assert not rules(claim_check) & {"figure", "unit"}


@pytest.mark.parametrize(
    ("message", "written"),
    [("120万人", "1,200,000人"), ("1.2億円", "1億2000万円"), ("2年", "二年"), ("令和元年", "2019年")],
)
def test_a_japanese_figure_is_found_in_another_writing(message: str, written: str) -> None:
    claim_check = check(f"住民の記録は{message}である。", PassageText("a", "", f"住民の記録は{written}である。"))

    assert not rules(claim_check) & {"figure", "unit", "year"}


def test_the_second_year_of_a_winter_is_no_figure() -> None:
    assert not rules(check("In the winter 2019–20 neighbours complained.", SLATS))


def test_list_numbers_and_digits_in_names_need_no_counterpart() -> None:
    assert not rules(check("2. The slats of GPT-4 on the west railing sing.", SLATS)) & {"figure"}


def test_a_sentence_on_something_else_is_not_supported() -> None:
    assert check("Photosynthesis turns light into sugar in green leaves.", SLATS).level == "unsupported"
    assert check("光合成は葉で糖を作る。", JAPANESE).level == "unsupported"


def test_a_claim_is_held_against_the_passages_it_names_together() -> None:
    other = PassageText("p3", "Damping", "Steel springs under the deck carry the load of trams.")

    alone = check("The slats sing at 280 Hz, and steel springs carry the load of trams.", SLATS)
    both = check("The slats sing at 280 Hz, and steel springs carry the load of trams.", SLATS, other)

    assert both.support > alone.support


def test_a_passage_that_says_it_clearly_better_is_named() -> None:
    other = PassageText("p3", "Damping", "Steel springs under the deck carry the load of trams.")
    claim = Claim(text="Steel springs under the deck carry the load of trams on the west railing.")

    claim_check = check_claim(claim, [SLATS], [SLATS, other])

    assert [mark.detail for mark in claim_check.marks if mark.rule == "elsewhere"] == ["Damping"]
    assert "elsewhere" not in rules(check_claim(claim, [other], [SLATS, other]))


def test_what_a_passage_says_nothing_of_gains_nothing_by_others_that_say_nothing_of_it_either() -> None:
    claim, other = Claim(text="Yeast."), PassageText("p3", "Trams", "Trams ring.")

    assert check_claim(claim, [SLATS], [SLATS, other]).support == check_claim(claim, [SLATS]).support


def test_a_passage_in_another_language_is_not_outdone_by_one_in_the_claims() -> None:
    claim = Claim(text="The slats on the west railing sing at 280 Hz in winds above 9 m/s.")

    claim_check = check_claim(claim, [JAPANESE], [JAPANESE, SLATS])

    assert (claim_check.level, rules(claim_check)) == ("near", {"language"})


def test_the_sentence_shown_beside_a_claim_is_cut_and_what_differs_is_named_once_and_in_order() -> None:
    long = PassageText("l", "Slats", f"The slats sing {'and sing ' * 90}in the wind.")

    assert len(check("The slats sing in the wind.", long).excerpt) <= 300
    assert check("The slats sing at 300 Hz, and at 300 Hz.", SLATS).marks[0].detail == "300 Hz"
    years = "1966, 1961, 1964, 1962, 1965 and 1963"
    assert check(f"They sang in {years}.", SLATS).marks[0].detail == "1961, 1962, 1963, 1964, 1965, 1966"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("It is rated 2.5 there.", "figure"),
        ("The slats sing at 5 Hz.", "figure"),
        ("Rubber sleeves tear every year.", ""),
    ],
)
def test_small_figures_that_are_no_counts_are_held_against_passages_and_rates_only_beside_figures(
    text: str, rule: str
) -> None:
    passage = SLATS._replace(text=f"{SLATS.text} They tear twice a month.")

    assert rules(check(text, passage)) & {"figure", "unit"} == {*filter(None, [rule])}


@pytest.mark.parametrize("negation", ["didn't complain", "didn’t complain", "never complained"])
def test_what_is_denied_in_any_spelling_is_marked(negation: str) -> None:
    assert "negation" in rules(check(f"Neighbours {negation} for two years.", SLATS))


@pytest.mark.parametrize(
    "claim",
    [
        "The WHO rated the GPU.",
        "They rated the GPUs.",
        "The BIS rated it.",
        "They rated Kolby’s GPU.",
        "They rated This and That.",
    ],
)
def test_a_name_in_another_form_is_no_missing_name(claim: str) -> None:
    passage = PassageText(
        "n",
        "Rating",
        "The World Health Organization and the Bank for International Settlements rated the GPU of Kolby.",
    )

    assert "name" not in rules(check(claim, passage))


def test_a_claim_that_has_both_sides_of_a_scale_is_not_held_against_one() -> None:
    passage = PassageText("n", "Prices", "Prices fell through the long wet summer.")

    assert "direction" in rules(check("Prices rose through the long wet summer.", passage))
    assert "direction" not in rules(check("Prices that rose then fell through the long wet summer.", passage))


def test_a_sentence_that_begins_with_a_denial_is_read() -> None:
    assert check("ないです。", JAPANESE).level != "supported"


def test_across_languages_names_and_figures_are_compared_and_nothing_is_supported_by_code() -> None:
    passage = PassageText("a", "SparseGPT", "SparseGPT prunes OPT-175B to 60 % sparsity in under 4.5 hours.")

    right = check("SparseGPTはOPT-175Bを60 %の疎性まで刈り込む。", passage)
    wrong = check("SparseGPTはOPT-175Bを80 %の疎性まで刈り込む。", passage)

    assert (right.level, rules(right)) == ("near", {"language"})
    assert (wrong.level, rules(wrong)) == ("unsupported", {"language", "figure"})


@pytest.mark.parametrize("kind", ["judgement", "not_found"])
def test_judgements_and_what_is_not_found_need_no_source(kind: str) -> None:
    assert check("The slats should be taken down.", kind=kind).level == "not_needed"
    speaking = SLATS._replace(speaks_to_ai=True)
    assert check("The slats should be taken down.", speaking, kind=kind).level == "not_needed"


def test_a_stated_sentence_without_a_passage_is_not_supported() -> None:
    claim_check = check("The slats sing.")

    assert (claim_check.level, claim_check.support, rules(claim_check)) == ("unsupported", 0.0, {"no_passage"})


HALDEN = PassageText("h", "Halden", "Halden Ferries carried 21.4 million tonnes in each of 4 quarters.")


def test_a_derived_figure_is_computed_anew() -> None:
    text = "Halden Ferries carried {} million tonnes in the year."

    right = check(text.format("85.6"), HALDEN, kind="derived", expression="21.4 * 4")
    wrong = check(text.format("95.6"), HALDEN, kind="derived", expression="21.4 * 4")

    claim_check = check(text.format("95.6"), HALDEN, kind="derived", expression="21.4 * 4 = 95.6")

    assert (right.level, right.marks) == ("near", [])
    assert rules(claim_check) == {"arithmetic"}
    assert (wrong.level, rules(wrong)) == ("unsupported", {"arithmetic"})
    assert wrong.marks[0].detail == "21.4 * 4 = 85.6"


# From reports that a strong model wrote: all of them are right.
DEPOT = PassageText(
    "d",
    "Tarn depot",
    "The study saves 18 % of 3,840 MWh at EUR 0.112 a kWh. The grant is EUR 310,000 of EUR 2,460,000. Fourteen sensors "
    "are needed and 9 are ordered. Notice is given 60 days before work starts on 5 October.",
)


@pytest.mark.parametrize(
    ("text", "basis"),
    [
        ("Five sensors are not ordered.", "14 - 9"),
        ("After the grant EUR 2.15 million remain.", "2.46 - 0.31"),
        ("The saving is 691 MWh, or EUR 77,414.", "3840 * 0.18; 691.2 * 112"),
        ("Notice must be given by 6 August.", "5 October - 60 days"),
        ("Payback takes 18.1 years, though nobody states it and the board never asked.", "2150000 / 118726"),
        ("All in all EUR 118,726 a year.", "77414 + 35700 + 5612"),
        ("The two are 2,640 MWh apart.", "1200 - 3840"),
        ("Fourteen sensors are needed and 9 are ordered.", "14 / 9"),
        ("The study saves 18 % of 3,840 MWh at EUR 0.112 a kWh.", ""),
    ],
)
def test_what_is_derived_is_near_whatever_its_words_and_figures_are(text: str, basis: str) -> None:
    claim_check = check(text, DEPOT, kind="derived", expression=basis)

    assert (claim_check.level, claim_check.marks) == ("near", [])


COSTS = PassageText("c", "Costs (EUR million)", "Item | Cost\nRack | 1.18\nPiping | 0.34\nTotal | 2.46")


@pytest.mark.parametrize(("message", "found"), [("2.46 million", True), ("2,460,000", True), ("2.64 million", False)])
def test_a_figure_is_found_in_a_table_whose_heading_has_the_scale(message: str, *, found: bool) -> None:
    assert ("figure" not in rules(check(f"The rack and its piping are part of EUR {message}.", COSTS))) == found


def test_a_passage_in_another_language_leaves_a_sentence_near_and_its_names_unmarked() -> None:
    claim = "Marutoku's chamber sings at 280 Hz in winds above 9 m/s; the penalty is JPY 180,000 an hour."
    contract = PassageText("m", "保管契約書", "マルトクの第四室の中断には一時間あたり180,000円の違約金を課す。")

    claim_check = check(claim, SLATS, contract)

    assert (claim_check.level, rules(claim_check)) == ("near", {"language"})


def test_a_row_is_held_against_its_passages_without_the_headings_of_its_columns() -> None:
    row = TableRow(cells=[TableCell(text="280 Hz"), TableCell(text="winds above 9 m/s")], passages=["p1"])
    table = Table(columns=["Frequency By Our Reading", "Required Wind"], rows=[row])
    sentence = CitedSentence(text="The slats sing.", passages=["p1"])
    draft = Draft(summary=[sentence], findings=[sentence], sections=[Section(blocks=[table])])

    claim = claims_of(draft, [Passage(id="p1", url="https://a.example", title=SLATS.title, text=SLATS.text)])[2]

    assert check_claim(claim.claim, claim.passages).marks == []


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("21.4 * 4", "85.6"), ("(1,200 + 300) / 3", "500"), ("2 ** 10", "1024"), ("-5 % 3", "-2"),
        ("6 × 7 − 2", "40"),
        ("8 ÷ 2", "4"), ("0.1 + 0.2", "0.3"),
        ("(7% - 1.5%) / 8%", "0.6875"), ("1,200 * 5 %", "60"), ("(1 + 50%) ** 2", "2.25"), ("7 % 4", "3"),
        ("4%*2", "0.08"), (" +5 - 2", "3"),
    ],
)  # fmt: skip
def test_arithmetic_is_computed_exactly(expression: str, value: str) -> None:
    assert calculate(expression) == Decimal(value)


@pytest.mark.parametrize(
    "expression",
    [
        "", "__import__('os')", "open('x')", "a + 1", "1 if 2 else 3", "10 ** 1000", "2 ** 2 ** 9", "1 / 0", "'a' * 9",
        "True", "(" * 500, "+".join("1" * 200), "lambda: 1",
        "1,5 * 2", "1" * 301, "2 ** -400", "[1][0]", "max()", "max(1, 7)", "1 << 9", "0 ** -1", "1_0j", "(-8) ** 0.5",
    ],
)  # fmt: skip
def test_what_is_not_bounded_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(CalculationError):
        calculate(expression)


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=3), st.text(max_size=40))
def test_any_text_gets_a_level_that_its_support_says(text: str, passages: list[str], expression: str) -> None:
    claim = Claim(text=f"x{text}", kind="derived", expression=expression)

    claim_check = check_claim(claim, [PassageText(str(n), "", passage) for n, passage in enumerate(passages)], [SLATS])

    assert 0.0 <= claim_check.support <= 1.0
    assert (claim_check.level == "supported") == (claim_check.support >= 0.8)
    assert claim_check.level != "supported" or not claim_check.marks


def test_each_rule_says_where_its_threshold_comes_from() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.calibration.data and rule.calibration.date for rule in RULES)


@pytest.mark.parametrize("chosen_on", [True, False])
def test_changed_sentences_are_hardly_ever_shown_as_supported_and_true_ones_are_found(*, chosen_on: bool) -> None:
    counts_of_changed, true = Counter[str](), Counter[str]()
    for language in ("en", "ja"):
        for kind, counts in citations.levels(language, chosen_on=chosen_on).items():
            (true if kind in citations.TRUE else counts_of_changed).update(counts)

    assert (counts_of_changed.total(), true.total()) == (100, 100)
    assert counts_of_changed["supported"] <= 5
    assert true["supported"] + true["near"] >= 90
    assert true["supported"] >= 0.85 * (true["supported"] + counts_of_changed["supported"])


@pytest.fixture(scope="module")
def taken() -> dict[bool, dict[str, float]]:
    """What is taken of experts' citations, beside the other passages and by itself."""
    folder = os.environ.get("CONTEND_DATA")
    if folder is None:
        needs = "CONTEND_DATA is not set: it names the folder with citations/expert_answers.json"
        pytest.fail(needs) if "CI" in os.environ else pytest.skip(needs)
    return citations.taken(citations.expert_pairs(Path(folder)))


def test_experts_citations_are_told_from_wrong_ones(taken: dict[bool, dict[str, float]]) -> None:
    shares = taken[True]

    assert citations.balanced(shares) >= 0.86
    assert (shares["own"] + 1 - shares["near"]) / 2 >= 0.81
    assert shares["far"] <= 0.05


def test_experts_citations_are_told_from_wrong_ones_by_themselves(taken: dict[bool, dict[str, float]]) -> None:
    assert citations.balanced(taken[False]) >= 0.8


def check_beside_another(claim: str, passage: str) -> ClaimCheck:
    """Against a Japanese passage that has another sentence before this one."""
    return check(claim, PassageText("p", "点検報告", f"点検は年に二回行われ、担当課が結果を公表する。{passage}"))


@pytest.mark.parametrize(
    ("claim", "passage", "rule"),
    [
        ("この装置の遠隔停止は不可能である。", "この装置の遠隔停止は可能である。", "negation"),
        ("第二期工事は未完了である。", "第二期工事は完了である。", "negation"),
        ("当該地区は非課税の対象である。", "当該地区は課税の対象である。", "negation"),
        ("西橋は東橋より長い。", "東橋は西橋より長い。", "place"),
        ("市は県に用地を譲渡した。", "県は市に用地を譲渡した。", "place"),
        ("市は古い図書館を改修した。", "市は古い体育館を改修した。", "word"),
    ],
)
def test_a_japanese_word_that_a_prefix_denies_a_particle_turns_round_or_no_passage_holds_is_marked(
    claim: str, passage: str, rule: str
) -> None:
    assert rules(check_beside_another(claim, passage)) == {rule}


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("管理者はファイルを送る。", "管理者はファイルを受け取る。"),
        ("夜間は東側の門を開ける。", "夜間は東側の門を閉める。"),
        ("古い倉庫は再開発の後も残る。", "古い倉庫は再開発の後に消える。"),
        ("担当者は記録をすぐに捨てる。", "担当者は記録をすぐに拾う。"),
    ],
)
def test_a_japanese_sentence_with_another_verb_is_not_supported(claim: str, passage: str) -> None:
    assert check_beside_another(claim, passage).level == "near"


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("雨の日には屋上の扉を閉めておかなければならない。", "雨の日は屋上の扉を閉める。"),
        ("古い写本はすべて地下の書庫におさめられている。", "古い写本は地下の書庫に収める。"),
        ("展示は春まで続けられることになっている。", "展示は春まで続ける。"),
    ],
)
def test_a_japanese_sentence_with_other_endings_in_hiragana_is_supported(claim: str, passage: str) -> None:
    assert check_beside_another(claim, passage).level == "supported"
