"""Search over texts by terms and vectors, fused by rank."""

import logging
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from contend.retrieval import HybridIndex, Match, default_embedder

ENGLISH = [
    "Suspension bridges hum when vortices are shed from both sides of the deck.",
    "The population of Japan has been falling since 2008.",
    "Coffee raises attention for some hours, and anxiety with it.",
    "Solar panels became ten times cheaper within a decade.",
    "Peer reviewers judge a paper's methods, not its fame.",
    "Antibiotics do nothing against viruses.",
]
JAPANESE = [
    "風によって生じる渦が橋桁を周期的に揺らすため、橋が振動することがある。",
    "東京都の人口は緩やかに増えたが、増加の幅は縮小している。",
    "眠っている間に記憶が整理され、学んだことが定着すると考えられている。",
    "太陽電池の価格が下がり、発電の費用は十年で大きく低下した。",
    "投稿された論文は、同じ分野の専門家が匿名で査読し、採否を勧告する。",
    "薬剤耐性菌は抗生物質の使いすぎで増え、治療を難しくしている。",
]
QUESTIONS = [
    ("Why does a bridge hum?", 0),
    ("Is the Japanese population falling?", 1),
    ("Does coffee help attention?", 2),
    ("How cheap did solar panels become?", 3),
    ("How do reviewers judge papers?", 4),
    ("Do antibiotics help against a virus?", 5),
    ("橋が風で揺れるのはなぜか", 6),
    ("東京の人口はどう変わったか", 7),
    ("睡眠と記憶の関係", 8),
    ("太陽光発電の費用", 9),
    ("論文の査読はどう行われるか", 10),
    ("抗生物質が効かない細菌", 11),
]


class Letters:
    """A tiny embedder: how often each of a, b and c occurs."""

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        counts = [[text.count(letter) for letter in "abc"] for text in texts]
        vectors: NDArray[np.float32] = np.array(counts, dtype=np.float32).reshape(-1, 3)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return vectors


@pytest.fixture(scope="module")
def index() -> HybridIndex:
    return HybridIndex([*ENGLISH, *JAPANESE])


def places(results: list[Match]) -> list[int]:
    return [each.index for each in results]


@pytest.mark.parametrize(("question", "answer"), QUESTIONS)
def test_a_question_finds_its_text_first_in_either_language(index: HybridIndex, question: str, answer: int) -> None:
    assert index.search(question, 3)[0].index == answer


def test_texts_without_a_term_of_the_query_take_no_part() -> None:
    index = HybridIndex(["wind aaa", "aaaa", "wind bbb"], Letters())

    assert sorted(places(index.search("wind aaa", 3))) == [0, 2]


def test_vectors_alone_decide_where_no_text_shares_a_term() -> None:
    index = HybridIndex(["bbbb", "aaaa", "aabb"], Letters())

    assert places(index.search("a-a-a", 3)) == [1, 2]


def test_vectors_mend_the_order_of_texts_that_terms_rank_alike() -> None:
    index = HybridIndex(["wind bcb", "wind aca"], Letters())

    assert places(index.search("wind aa", 2)) == [1, 0]


def test_a_clear_order_by_terms_stands_against_vectors(index: HybridIndex) -> None:
    against = index.vectors[5]

    assert index.search("bridges hum when vortices are shed", 1, vector=against)[0].index == 0


def test_ties_keep_the_order_of_the_list() -> None:
    index = HybridIndex(["wind", "wind", "wind"], Letters())

    assert places(index.search("wind", 3)) == [0, 1, 2]
    assert places(index.search("wind", 2)) == [0, 1]


def test_a_query_that_says_nothing_finds_nothing(index: HybridIndex) -> None:
    assert index.search("", 3) == []
    assert HybridIndex(["wind"], Letters()).search("…", 3) == []


def test_an_empty_index_finds_nothing() -> None:
    assert HybridIndex([]).search("wind", 3) == []


def test_texts_without_terms_can_be_indexed() -> None:
    index = HybridIndex(["", "…", "wind"])

    assert places(index.search("wind", 3)) == [2]


@settings(max_examples=50)
@given(st.lists(st.text("ab 橋風の", max_size=12), max_size=30), st.text("ab 橋風の", max_size=12), st.integers(0, 40))
def test_scores_fall_from_at_most_one_and_places_are_distinct(texts: list[str], query: str, k: int) -> None:
    results = HybridIndex(texts, Letters()).search(query, k)

    scores = [each.score for each in results]
    assert len(results) <= k
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert len(set(places(results))) == len(results)


def test_vectors_have_unit_length_or_are_zero_for_texts_without_words() -> None:
    vectors = default_embedder().embed(["bridges hum", "橋が鳴る", "", "\ud800"])

    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0, 1.0, 0.0, 0.0], abs=1e-5)


def test_the_embedder_knows_words_of_like_meaning() -> None:
    car, automobile, cheese = default_embedder().embed(["car", "automobile", "cheese"])

    assert car @ automobile > car @ cheese


def test_the_embedder_leaves_the_process_logging_alone() -> None:
    code = (
        "import logging; from contend.retrieval import default_embedder as d; d(); print(logging.getLogger().handlers)"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"  # noqa: S603 - our own code


def test_importing_the_room_loads_no_vendor() -> None:
    code = "import sys, contend.retrieval; print({'numpy', 'bm25s', 'wordllama'} & set(sys.modules))"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"  # noqa: S603 - our own code


def test_indexing_prints_and_logs_nothing(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        HybridIndex(ENGLISH).search("bridge", 2)

    assert capfd.readouterr() == ("", "")
    assert not [record for record in caplog.records if record.name == "bm25s"]
