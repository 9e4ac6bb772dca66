"""What checkpoints of other savers than ours keep of an error, and the error made of it again."""

import pytest

from contend.errors import BudgetExhausted, ContendError, InputError, ModelError, SourceError, revived


@pytest.mark.parametrize(
    "error",
    [
        InputError("sources: 'arxv' is not known: say \"arxiv\""),
        SourceError("Tavily did not answer\nin time", transient=True),
        ModelError("model 'beta' refused"),
        BudgetExhausted("max_calls: 20 calls are made", limit="max_calls"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_kept_as_its_text_is_the_same_error_again(error: ContendError) -> None:
    again = revived(repr(error))

    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_an_error_of_another_kind_says_what_it_was() -> None:
    assert str(revived(repr(ZeroDivisionError("division by zero")))) == "ZeroDivisionError('division by zero')"
    assert isinstance(revived(repr(TimeoutError("60 seconds"))), TimeoutError)
