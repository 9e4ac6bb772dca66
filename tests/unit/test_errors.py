"""What a saver keeps of an error, and the error made of it again, by which handlers decide."""

import pytest
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import NodeError

from contend.errors import BudgetExhausted, ContendError, InputError, ModelError, SourceError, StoreLocked
from contend.langgraph_compat import cause, known_cause
from contend.llm.endpoint import RequestRefused
from contend.readiness import NotReady
from contend.sources.calls import TransientError
from contend.stores.checkpoints import PackedSerializer
from contend.stores.redis_saver import PlainRedisSerializer


@pytest.fixture(params=[PackedSerializer, PlainRedisSerializer, JsonPlusSerializer], ids=["sqlite", "redis", "other"])
def serializer(request: pytest.FixtureRequest) -> SerializerProtocol:
    made: SerializerProtocol = request.param()
    return made


def from_checkpoint(serializer: SerializerProtocol, error: Exception) -> BaseException:
    return cause(NodeError("team", serializer.loads_typed(serializer.dumps_typed(error))))


@pytest.mark.parametrize(
    "error",
    [
        InputError("sources: 'arxv' is not known: say \"arxiv\""),
        InputError("theme is empty: 質問を書く"),
        SourceError("Tavily did not answer\nin time", transient=True),
        ModelError("model 'beta' refused (401)"),
        BudgetExhausted("max_calls: 20 calls are made", limit="max_calls"),
        StoreLocked("held by process 7"),
        TimeoutError("60 seconds"),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_back_from_a_checkpoint_as_it_went_in(serializer: SerializerProtocol, error: Exception) -> None:
    back = from_checkpoint(serializer, error)

    assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RequestRefused("no such format", words="format"), ModelError),
        (TransientError("arXiv did not answer", after=2.5), SourceError),
        (NotReady("model 'beta' is not served", "name another"), InputError),
    ],
    ids=["of a model", "of a source", "of a workspace"],
)
def test_an_adapters_own_error_comes_back_as_the_kind_that_handlers_know(
    serializer: SerializerProtocol, error: ContendError, kind: type[ContendError]
) -> None:
    back = from_checkpoint(serializer, error)

    assert (type(back), str(back)) == (kind, str(error))


@pytest.mark.parametrize("error", [KeyError("options"), ZeroDivisionError("division by zero")])
def test_an_error_that_is_not_ours_comes_back_with_its_name(serializer: SerializerProtocol, error: Exception) -> None:
    back = from_checkpoint(serializer, error)

    assert (type(back), str(back)) == (ContendError, repr(error))


@pytest.mark.parametrize("inner", [PermissionError(13, "closed"), object()], ids=["an error", "no literal"])
def test_a_timeout_around_anything_comes_back_as_a_timeout_that_names_it(
    serializer: SerializerProtocol, inner: object
) -> None:
    error = TimeoutError(inner)

    back = from_checkpoint(serializer, error)

    assert (type(back), str(back)) == (TimeoutError, repr(error))


def test_a_handler_of_one_kind_of_errors_raises_any_other() -> None:
    assert known_cause(NodeError("search", SourceError("no answer")), SourceError).args == ("no answer",)
    with pytest.raises(ZeroDivisionError):
        known_cause(NodeError("search", ZeroDivisionError()), SourceError)
