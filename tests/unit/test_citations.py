"""Citations: numbers, validity, and whether the cited text says the sentence."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.citations import (
    CheckedSentence,
    check_support,
    check_validity,
    citation_numbers,
    cited_in_draft,
    cited_in_report,
    support,
)
from contend.models.research import CitedSentence, Draft, Passage, ResearchReport, SearchResult
from contend.retrieval import default_embedder
from contend.text import split_sentences, terms

SLATS = "The slats on the west railing sing at 280 Hz in winds above 9 m/s. Neighbours complained for two years."
DAMPING = "Rubber sleeves between slat and rail add damping. They remove most of the sound."


def source(url: str) -> SearchResult:
    return SearchResult(title="A title", summary="A summary.", source="tavily", url=url)


def report(text: str, *urls: str) -> ResearchReport:
    filler = "Wind that passes a cable sheds vortices on alternating sides, and each of them pushes the cable. "
    return ResearchReport(
        theme="Why do bridges hum?",
        executive_summary=filler,
        key_findings=[text],
        detailed_analysis=filler * 2,
        sources=[source(url) for url in urls],
    )


def verified(sentence: str, *passages: str, alternatives: tuple[str, ...] = ()) -> bool:
    return check_support([CheckedSentence(sentence, list(passages))], alternatives=alternatives)[0].verified


def test_numbers_are_found_in_order_up_to_the_references() -> None:
    markdown = "It hums [2][1]. It sings [2].\n\n## References\n\n1. **[7] A title**\n"

    assert citation_numbers(markdown) == [2, 1, 2]


def test_numbers_of_a_japanese_report_end_at_its_references() -> None:
    assert citation_numbers("橋は鳴る[1]。\n\n## 参考文献\n\n1. **[7]**\n") == [1]


def test_numbers_in_code_and_indices_from_nought_are_no_citations() -> None:
    markdown = "It is `x[3]`, ``y`[4]`` and z[0] [2].\n\n```\na[5]\n\nb[6]\n```\n\nNo `code [1]."

    assert citation_numbers(markdown) == [2, 1]


def test_a_citation_of_a_retrieved_source_is_valid() -> None:
    validity = check_validity(report("It hums [1].", "https://a.example/x"), {"https://a.example/x"})

    assert validity == (1, 1, [])


def test_a_citation_without_an_entry_is_unknown() -> None:
    validity = check_validity(report("It hums [1][2].", "https://a.example/x"), {"https://a.example/x"})

    assert validity == (1, 2, ["[2]"])


def test_a_citation_of_a_source_that_was_not_retrieved_is_unknown() -> None:
    assert check_validity(report("It hums [1].", "https://a.example/x"), set()).unknown == ["[1]"]


def test_an_invented_address_in_the_text_is_unknown() -> None:
    shown = report("It hums, see (https://evil.example/a).", "https://a.example/x")

    assert check_validity(shown, {"https://a.example/x"}).unknown == ["https://evil.example/a"]


def test_an_address_that_stands_in_a_passage_is_no_citation() -> None:
    shown = report("It asks http://localhost:8000/v1 and doi:10.9999/x [1].", "https://a.example/x")

    validity = check_validity(shown, {"https://a.example/x"}, texts=["By default <http://localhost:8000/v1/>."])

    assert validity == (1, 2, ["doi:10.9999/x"])


@pytest.mark.parametrize("written", ["doi:10.1234/HUM", "https://doi.org/10.1234/hum", "10.1234/hum"])
def test_a_doi_is_the_address_it_resolves_to(written: str) -> None:
    assert check_validity(f"It hums, see {written}.", {"https://doi.org/10.1234/hum"}).unknown == []


def test_an_address_in_code_is_no_citation() -> None:
    assert check_validity("Run `curl http://localhost:8000`.", set()).total == 0


def test_an_address_before_a_japanese_mark_ends_there() -> None:
    assert (
        check_validity(report("橋は https://a.example/x[1]。", "https://a.example/x"), {"https://a.example/x"}).unknown
        == []
    )


def test_a_retrieved_address_in_the_text_is_valid_with_its_brackets() -> None:
    address = "https://a.example/hum_(sound)"

    assert check_validity(f"It hums (see {address}).", {address}) == (1, 1, [])


@pytest.mark.parametrize(
    "references",
    [
        "1. **A title**\n   - Source: tavily\n   - URL: https://a.example/x\n",
        "[1] A title. https://a.example/x.\n",
        "1. [A title](https://a.example/x)\n",
    ],
)
def test_citations_of_markdown_are_looked_up_in_its_references(references: str) -> None:
    markdown = f"It hums [1].\n\n## References\n\n{references}"

    assert check_validity(markdown, {"https://a.example/x"}) == (1, 1, [])


def test_a_drafts_citing_sentences_come_with_all_text_of_the_source() -> None:
    passages = [
        Passage(id="a1", url="https://a.example", title="A", text="First part."),
        Passage(id="a2", url="https://a.example", title="A", text="Second part."),
        Passage(id="b1", url="https://b.example", title="B", text="Other."),
    ]
    plain = CitedSentence(text="No source.")
    draft = Draft(summary=[CitedSentence(text="It hums.", passages=["a1"])], findings=[plain], analysis=[plain])

    assert cited_in_draft(draft, passages) == [("It hums.", ["A\n\nFirst part.", "A\n\nSecond part."])]


def test_a_reports_citing_sentences_come_without_marks() -> None:
    passages = [Passage(id="a1", url="https://a.example", title="A", text="Text.")]

    sentences = cited_in_report(report("It hums [1]. It sings. It hums [2].", "https://a.example"), passages)

    assert sentences == [("It hums.", ["A\n\nText."]), ("It hums.", [])]


def test_a_sentence_of_the_passage_is_verified() -> None:
    assert support("The slats on the west railing sing at 280 Hz in winds above 9 m/s.", [SLATS]) == 1.0


def test_a_paraphrase_is_verified() -> None:
    assert verified("Slats of the railing sing at 280 Hz when wind exceeds 9 m/s.", SLATS)


def test_a_sentence_on_something_else_is_not_verified() -> None:
    assert not verified("Photosynthesis turns light into sugar in green leaves.", SLATS)


def test_a_sentence_that_cites_nothing_is_not_verified() -> None:
    assert support("The slats sing.", []) == 0.0


def test_a_changed_figure_is_not_verified() -> None:
    assert not verified("The slats on the west railing sing at 340 Hz in winds above 9 m/s.", SLATS)


@pytest.mark.parametrize(
    ("said", "written"),
    [("35 %", "35.9 %"), ("36 %", "35.9 %"), ("1,200", "1200"), ("3 teams", "three teams"), ("２８０", "280")],
)
def test_a_figure_is_found_when_rounded_or_written_otherwise(said: str, written: str) -> None:
    assert verified(
        f"The slats on the west railing sing, say {said} of all.",
        f"The slats on the west railing sing, say {written} of all.",
    )


@pytest.mark.parametrize(
    "sentence", ["2. The slats on the west railing sing.", "In 2021 the slats of the railing sang."]
)
def test_list_numbers_and_years_need_no_counterpart(sentence: str) -> None:
    assert verified(sentence, SLATS)


def test_a_citation_is_not_verified_when_another_passage_says_it_clearly_better() -> None:
    sentence = "Rubber sleeves on the railing add damping and remove sound."

    assert verified(sentence, DAMPING, alternatives=(SLATS,))
    assert not verified(sentence, SLATS, alternatives=(DAMPING,))


@pytest.mark.parametrize(
    ("mixed", "one", "other"),
    [
        ("Neighbours complained for two years, and rubber sleeves remove most of the sound.", SLATS, DAMPING),
        (
            "住民は二年間苦情を述べたが、ゴム管が振動を抑えた。",
            "西側の欄干の板は強い風で鳴る。住民は二年間苦情を述べた。",
            "板の間のゴム管が振動を抑える。音の大半が消える。",
        ),
    ],
    ids=["en", "ja"],
)
def test_a_sentence_of_which_another_source_says_half_is_verified_by_both_only(
    mixed: str, one: str, other: str
) -> None:
    assert verified(mixed, one, other)
    assert verified(mixed, one)
    assert not verified(mixed, one, alternatives=(other,))
    assert not verified(mixed, other, alternatives=(one,))


def test_two_passages_support_a_sentence_together() -> None:
    sentence = "The west railing slats sing at 280 Hz, and rubber sleeves remove most of the sound."

    assert support(sentence, [SLATS, DAMPING]) > support(sentence, [SLATS])


def test_a_japanese_sentence_is_verified_by_its_passage() -> None:
    passage = "西側の欄干の板は風速9 m/sを超えると280 Hzで鳴る。住民は二年間苦情を述べた。"

    assert verified("欄干の板は280 Hzで鳴る。", passage)
    assert not verified("欄干の板は340 Hzで鳴る。", passage)
    assert not verified("光合成は葉で糖を作る。", passage)


def test_a_japanese_sentence_on_something_else_is_not_verified_by_nearness_in_meaning() -> None:
    sentence = "日本の学校給食には長い歴史があり、地域ごとに特色のある献立が見られる。"
    passage = "西側の欄干の板は風で鳴る。住民は二年間苦情を述べた。"

    assert support(sentence, [passage], embedder=default_embedder()) == support(sentence, [passage]) < 0.5


def test_a_japanese_sentence_on_an_english_passage_is_compared_by_names_and_figures() -> None:
    passage = "SparseGPT prunes OPT-175B to 60 % sparsity in under 4.5 hours."

    assert verified("SparseGPTはOPT-175Bを60 %の疎性まで刈り込む。", passage)
    assert verified(
        "SparseGPTは再学習をまったくせずに、非常に大きな言語モデルのOPT-175Bを60 %の疎性まで刈り込む。", passage
    )
    assert not verified("SparseGPTはOPT-175Bを80 %の疎性まで刈り込む。", passage)


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=3))
def test_support_stays_between_none_and_full(sentence: str, passages: list[str]) -> None:
    assert 0.0 <= support(sentence, passages, alternatives=[SLATS]) <= 1.0


@given(st.sampled_from(split_sentences(SLATS + " " + DAMPING)), st.integers(0, 3))
def test_more_cited_text_never_weakens_a_verbatim_sentence(sentence: str, repeats: int) -> None:
    assert support(sentence, [SLATS, DAMPING, *[SLATS] * repeats]) == 1.0


class Answer(NamedTuple):
    """An expert's answer: the passages it had, and its citing sentences with the numbers they cite."""

    passages: list[str]
    sentences: list[tuple[str, list[int]]]


def expert_answers() -> Iterator[Answer]:
    folder = os.environ.get("CONTEND_DATA")
    if folder is None:
        if "CI" in os.environ:
            pytest.fail("CONTEND_DATA is not set: it names the folder with citations/expert_answers.json")
        pytest.skip("CONTEND_DATA is not set: it names the folder with citations/expert_answers.json")
    marks = re.compile(r"\[(\d+(?:\s*,\s*\d+)*)\]")
    for entry in json.loads((Path(folder) / "citations" / "expert_answers.json").read_text("utf-8")):
        passages = [f"{context['title']}\n\n{context['text']}" for context in entry["ctxs"]]
        sentences = []
        for sentence in split_sentences(entry["output"]):
            numbers = {int(number) for mark in marks.findall(sentence) for number in mark.split(",")}
            plain = " ".join(marks.sub("", sentence).split())
            cited = [number for number in sorted(numbers) if number < len(passages)]
            if cited and len(terms(plain)) >= 3:
                sentences.append((plain, cited))
        yield Answer(passages, sentences)


def verdicts(claims: list[tuple[str, list[str]]], retrieved: list[str]) -> list[bool]:
    """Which claims (a sentence, the texts it cites) are verified."""
    sentences = [CheckedSentence(*claim) for claim in claims]
    checks = check_support(sentences, alternatives=retrieved, embedder=default_embedder())
    return [check.verified for check in checks]


def test_experts_citations_are_told_from_wrong_ones() -> None:
    """Wrong passages are, in equal parts, others of the same answer (its very subject) and those of another answer."""
    answers = list(expert_answers())
    own: list[bool] = []
    near: list[bool] = []
    far: list[bool] = []
    for place, (passages, sentences) in enumerate(answers):
        elsewhere = answers[(place + len(answers) // 2) % len(answers)].passages
        right = [(sentence, [passages[number] for number in cited]) for sentence, cited in sentences]
        wrong = [(claim, [other]) for claim, cited in right for other in passages if other not in cited]
        foreign = [(claim, [elsewhere[order % len(elsewhere)]]) for order, (claim, _) in enumerate(right)]
        own += verdicts(right, passages)
        near += verdicts(wrong, passages)
        far += verdicts(foreign, elsewhere)

    found, taken_near, taken_far = (sum(part) / len(part) for part in (own, near, far))

    assert (found + 1 - (taken_near + taken_far) / 2) / 2 >= 0.85
    assert (found + 1 - taken_near) / 2 >= 0.83
    assert taken_far <= 0.05
