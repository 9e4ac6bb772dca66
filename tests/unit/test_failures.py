import pytest

from contend.errors import BudgetExhausted, ContendError, InputError, ModelError, SourceError, StoreLocked
from contend.llm.endpoint import FormatRefused
from contend.stores.checkpoints import PackedSerializer


def revived(error: BaseException) -> BaseException:
    serializer = PackedSerializer()
    back = serializer.loads_typed(serializer.dumps_typed(error))
    assert isinstance(back, BaseException)
    return back


@pytest.mark.parametrize(
    "error",
    [
        InputError("theme is empty: 質問を書く"),
        SourceError("arXiv gave no answer", transient=True),
        ModelError("refused (401)"),
        BudgetExhausted("max_usd = 1 would be exceeded", limit="max_usd"),
        StoreLocked("held by process 7"),
        TimeoutError(),
    ],
)
def test_an_error_comes_back_from_a_checkpoint_as_it_went_in(error: Exception) -> None:
    back = revived(error)

    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)


def test_an_adapters_own_error_comes_back_as_the_kind_that_handlers_know() -> None:
    back = revived(FormatRefused("no such format", transient=False))

    assert type(back) is ModelError
    assert str(back) == "no such format"


def test_an_error_that_is_not_ours_comes_back_with_its_name() -> None:
    back = revived(KeyError("options"))

    assert type(back) is ContendError
    assert str(back) == "KeyError: 'options'"


def test_what_is_no_error_is_kept_as_langgraph_keeps_it() -> None:
    serializer = PackedSerializer()
    state = {"rounds": [1, 2.5, None, "再開"], "nested": {"a": [True]}}

    assert serializer.loads_typed(serializer.dumps_typed(state)) == state
