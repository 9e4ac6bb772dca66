"""What checkpoints are made of on disk, and the checkpointers that settings name."""

import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from contend.errors import CheckpointError
from contend.settings import CheckpointerType, load_settings
from contend.stores.checkpoints import (
    CHECKPOINTERS,
    Checkpointer,
    PackedSerializer,
    PlainSerializer,
    check_checkpointer,
    checkpoints_place,
    has_checkpoints,
    open_checkpointer,
)

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


def test_a_packed_value_that_expands_beyond_any_state_is_refused() -> None:
    packing, megabyte = zlib.compressobj(), bytes(1024 * 1024)
    bomb = b"".join([*(packing.compress(megabyte) for _ in range(200)), packing.flush()])
    tracemalloc.start()

    with pytest.raises(CheckpointError, match="expands to more than 67,108,864 bytes"):
        PackedSerializer().loads_typed(("msgpack+zlib", bomb))

    assert tracemalloc.get_traced_memory()[1] < 150_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: b"x" + data])
def test_a_packed_value_that_is_damaged_is_named(damage: Callable[[bytes], bytes]) -> None:
    kind, data = PackedSerializer().dumps_typed(PROSE)

    with pytest.raises(CheckpointError, match=r"a checkpoint is (damaged|cut off).*ask the question anew"):
        PackedSerializer().loads_typed((kind, damage(data)))


def test_what_was_kept_unpacked_can_be_read() -> None:
    state = {"draft": PROSE}

    assert PackedSerializer().loads_typed(PlainSerializer().dumps_typed(state)) == state


def test_every_checkpointer_that_settings_can_name_can_be_opened() -> None:
    assert set(CHECKPOINTERS) == set(get_args(CheckpointerType))


async def test_a_further_checkpointer_is_opened_found_and_checked_as_its_entry_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver = InMemorySaver()
    shelf = Checkpointer("Shelf", open=lambda _: nullcontext(saver), place=lambda _: "the shelf in the hall")
    monkeypatch.setitem(cast("dict[str, Checkpointer]", CHECKPOINTERS), "shelf", shelf)
    settings = load_settings(workspace=tmp_path).model_copy(update={"checkpointer": "shelf"})

    async with open_checkpointer(settings) as opened:
        assert opened is saver
    assert checkpoints_place(settings) == "the shelf in the hall"
    assert has_checkpoints(settings)
    assert await check_checkpointer(settings) == []
