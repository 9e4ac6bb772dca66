"""What else a number could have been, from its tokens' log-probabilities."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.llm.endpoint import ReplyToken, distribution_of, read_tokens
from contend.models.evaluation import MetricReply


def reply_token(text: str, **likely: float) -> dict[str, object]:
    others = [{"token": token.strip("_"), "logprob": math.log(share)} for token, share in likely.items()]
    return {"token": text, "logprob": math.log(likely.get(f"_{text}", 1.0)), "top_logprobs": others}


def spread(*tokens: dict[str, object]) -> dict[int, float] | None:
    return distribution_of(read_tokens(list(tokens)), "percent")


def reply(percent: int) -> MetricReply:
    return MetricReply(reason="Fair.", evidence=[], percent=percent)


def test_a_number_of_one_token_has_the_probabilities_of_that_token() -> None:
    distribution = spread(reply_token('{"percent": '), reply_token("80", _80=0.6, _90=0.3, _x=0.1), reply_token("}"))

    assert distribution == {80: pytest.approx(2 / 3), 90: pytest.approx(1 / 3)}
    assert reply(80).expected_score(distribution) == pytest.approx((80 * 2 + 90) / 300)


def test_a_number_of_several_tokens_counts_with_each_of_them_changed() -> None:
    distribution = spread(
        reply_token('{"percent":'), reply_token("8", _8=0.5, _6=0.5), reply_token("5", _5=0.8, _0=0.2), reply_token("}")
    )

    assert distribution is not None
    assert sorted(distribution) == [65, 80, 85]
    assert distribution[65] == pytest.approx(0.5)


def test_a_first_digit_that_was_not_said_begins_the_nearest_round_percentage() -> None:
    distribution = spread(
        reply_token('{"percent":'), reply_token("8", _1=0.6, _8=0.2, _9=0.2), reply_token("0", _0=1.0), reply_token("}")
    )

    assert distribution == {80: pytest.approx(0.2), 90: pytest.approx(0.2), 100: pytest.approx(0.6)}


def test_what_could_have_stood_for_a_hundred_is_a_percentage_too() -> None:
    distribution = spread(
        reply_token('{"percent":'),
        reply_token("1", _1=0.5, _9=0.5),
        reply_token("0", _0=1.0),
        reply_token("0", _0=1.0),
        reply_token("}"),
    )

    assert distribution == {95: pytest.approx(0.5), 100: pytest.approx(0.5)}


def test_numbers_that_are_tokens_of_their_own_are_read_as_they_are() -> None:
    distribution = spread(reply_token('{"percent":'), reply_token("80", _80=0.5, _10=0.3, _7=0.2), reply_token("}"))

    assert distribution == {7: pytest.approx(0.2), 10: pytest.approx(0.3), 80: pytest.approx(0.5)}


@pytest.mark.parametrize(
    "before", ['{"reason": "\\\\"percent\\\\": 3", "percent": ', '<think>"percent": 3</think>{"percent": ']
)
def test_the_field_itself_is_meant_and_not_a_mention_before_it(before: str) -> None:
    assert spread(reply_token(before), reply_token("40", _40=1.0), reply_token("}")) == {40: 1.0}


def test_a_digit_that_no_round_percentage_has_there_is_read_as_it_is() -> None:
    distribution = spread(
        reply_token('{"percent":'), reply_token("7", _7=1.0), reply_token("3", _3=0.5, _4=0.5), reply_token("}")
    )

    assert distribution == {73: pytest.approx(0.5), 74: pytest.approx(0.5)}


def test_what_is_no_digit_begins_no_percentage() -> None:
    digit = reply_token("3", _3=0.6, _x=0.4)

    assert spread(reply_token('{"percent":'), reply_token("8", _8=1.0), digit, reply_token("}")) == {83: 1.0}


@pytest.mark.parametrize(("digits", "read"), [(9, True), (10, False), (5000, False)])
def test_a_number_of_more_than_nine_digits_is_not_read(digits: int, read: bool) -> None:
    number = "9" * digits

    assert spread(reply_token('{"percent":'), reply_token(number), reply_token("}")) == (
        {int(number): 1.0} if read else None
    )


@pytest.mark.parametrize(
    "content",
    [None, [], "text", [{"token": 3}], [{"token": "80"}], [{"token": '{"score": ', "logprob": 0.0}]],
)
def test_where_nothing_is_told_there_is_no_spread(content: object) -> None:
    assert distribution_of(read_tokens(content), "percent") is None


@pytest.mark.parametrize("logprob", [0.5, 1e6])
def test_no_probability_is_over_one(logprob: float) -> None:
    (token,) = read_tokens([{"token": "80", "logprob": logprob}])

    assert token.likely == {"80": 1.0}


def test_a_probability_that_is_no_number_is_left_out() -> None:
    tokens = read_tokens([{"token": '"percent": 5', "logprob": math.nan}])

    assert distribution_of(tokens, "percent") is None


@pytest.mark.parametrize("likely", [{}, {250: 1.0}, {-1: 1.0}])
def test_without_a_likely_percentage_the_plain_score_counts(likely: dict[int, float]) -> None:
    assert reply(70).expected_score(likely) == 0.7


@given(st.dictionaries(st.integers(-10, 300), st.floats(0, 1), max_size=8), st.integers(0, 100))
def test_an_expected_score_is_a_score(likely: dict[int, float], percent: int) -> None:
    assert 0 <= reply(percent).expected_score(likely) <= 1


@given(
    st.lists(
        st.tuples(st.text(max_size=5), st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=3)), max_size=5
    )
)
def test_any_tokens_give_shares_that_sum_to_one_or_nothing(tokens: list[tuple[str, dict[str, float]]]) -> None:
    reply_tokens = [ReplyToken('"percent": ', {}), *(ReplyToken(text, likely) for text, likely in tokens)]
    distribution = distribution_of(reply_tokens, "percent")

    assert distribution is None or sum(distribution.values()) == pytest.approx(1)
