"""Loading heavy modules: garbage is looked for as before once they are there."""

import gc
from collections.abc import Iterator

import pytest

from contend.loading import loading


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.parametrize("on", [True, False])
def test_garbage_is_looked_for_after_loading_only_where_it_was_before(on: bool) -> None:
    (gc.enable if on else gc.disable)()
    with loading():
        assert not gc.isenabled()

    assert gc.isenabled() == on


def test_garbage_is_looked_for_again_where_a_module_cannot_be_loaded() -> None:
    with pytest.raises(ImportError), loading():
        raise ImportError

    assert gc.isenabled()


def test_what_was_loaded_is_not_looked_through_again() -> None:
    gc.unfreeze()
    with loading():
        kept = [[] for _ in range(10)]

    assert gc.get_freeze_count() >= len(kept)
