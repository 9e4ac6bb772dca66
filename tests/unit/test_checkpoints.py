"""What checkpoints are made of on disk."""

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from contend.stores.checkpoints import PackedSerializer, PlainSerializer

PROSE = " ".join(
    f"Team {number} wrote its draft in round {number % 3}, and the judges scored it." for number in range(50)
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=2000),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=20), inner, max_size=5),
    max_leaves=20,
)


@given(PLAIN)
def test_a_state_comes_back_as_it_was_kept(state: object) -> None:
    serializer = PackedSerializer()

    assert serializer.loads_typed(serializer.dumps_typed({"state": state})) == {"state": state}


def test_a_message_comes_back_as_it_was_kept() -> None:
    serializer = PackedSerializer()

    assert serializer.loads_typed(serializer.dumps_typed([AIMessage(PROSE, id="1")])) == [AIMessage(PROSE, id="1")]


def test_a_long_text_takes_a_fraction_of_its_length() -> None:
    _, data = PackedSerializer().dumps_typed(PROSE)

    assert len(data) < len(PROSE) / 4


def test_what_was_kept_unpacked_can_be_read() -> None:
    state = {"draft": PROSE}

    assert PackedSerializer().loads_typed(PlainSerializer().dumps_typed(state)) == state
