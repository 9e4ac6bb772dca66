"""A report says each thing once, and in doubt says it again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.research.repeats import Told


def again(earlier: str, later: str) -> bool:
    told = Told()
    assert not told.again(earlier)
    return told.again(later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Wind sheds vortices.", "Wind  sheds *vortices* [1]."),
        ("In 2019, forty dampers were fitted to the bridge.", "Forty dampers were fitted to the bridge in 2019."),
        ("After a crash, a run goes on from its checkpoint.", "Additionally, a run goes on from its checkpoints."),
        ("A run of 4,000 calls took 5 % more.", "A run of 4000 calls took 5% more."),
        ("Costs fall when errors rise.", "When errors rise, costs fall."),
        ("The lease, which is a file, ends after 30 seconds.", "The lease ends after 30 seconds."),
        ("ダンパーは、橋に2019年に40本付けられた。", "ダンパーは、橋に４０本付けられました。"),
        (
            "再開コマンドは保存内容を読み込んで続きから実行し、呼び出しをやり直す。",
            "また、再開コマンドは保存内容を読み込んで続きから実行します。",
        ),
    ],
)
def test_what_one_earlier_sentence_says_is_not_said_again(earlier: str, later: str) -> None:
    assert again(earlier, later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Finished calls are repeated.", "Finished calls are not repeated."),
        ("Finished calls are not repeated.", "Finished calls are repeated."),
        ("Calls don't count.", "Calls count."),
        ("Calls may fail at night.", "Calls fail at night."),
        ("If the lease is lost, the run stops.", "The run stops."),
        ("The lease ends after 30 seconds.", "The lease ends after 40 seconds."),
        ("Costs grew by 5 % in a year.", "Costs grew by 5 in a year."),
        ("It fell to -5 degrees.", "It fell to 5 degrees."),
        ("It grew from 40 to 60.", "It grew from 60 to 40."),
        ("Crashes cause restarts.", "Restarts cause crashes."),
        ("Cats are mammals.", "Mammals are cats."),
        ("When errors rise, costs fall.", "When costs fall, errors rise."),
        ("Data go from cache to disk.", "Data go from disk to cache."),
        ("Runs stop before midnight.", "Runs stop at midnight."),
        ("Vitamin C helps.", "Vitamin D helps."),
        ("Vitamin C helps.", "Vitamin A helps."),
        ("The US forbids it.", "The WHO forbids it."),
        ("The bridge hums.", "The bridge of Tacoma hums."),
        ("The bridge hums.", "It hums."),
        ("終わった呼び出しは繰り返される。", "終わった呼び出しは繰り返されない。"),
        ("終わった呼び出しは繰り返されない。", "終わった呼び出しは繰り返される。"),
        ("東京は大阪より大きい。", "大阪は東京より大きい。"),
        ("東京が大阪を上回る。", "大阪が東京を上回る。"),
        ("東京が大阪を上回る。", "東京を大阪が上回る。"),
        ("10時から開く。", "10時まで開く。"),
        ("橋は40本で鳴る。", "橋は50本で鳴る。"),
        ("再開できる。", "再開する。"),
    ],
)
def test_a_new_figure_name_negation_or_relation_is_said(earlier: str, later: str) -> None:
    assert not again(earlier, later)


def test_two_earlier_sentences_together_do_not_say_a_third() -> None:
    told = Told()

    assert [told.again(text) for text in ("Bridges hum.", "Slats sing in the wind.", "Bridges hum in the wind.")] == [
        False,
        False,
        False,
    ]


@given(st.text(max_size=60))
def test_any_sentence_repeats_itself(text: str) -> None:
    assert again(text, text)
