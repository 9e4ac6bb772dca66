"""Where checkpoints go, and what of a Redis address may be shown."""

import json
import runpy
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Interrupt, Overwrite, Send

from contend.errors import InputError, StoreError
from contend.settings import load_settings
from contend.stores.redis_saver import PlainRedisSerializer

PASSWORD = "sesame-94b1"
ROOT = Path(__file__).parents[2]


def test_an_address_of_redis_chooses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEND_REDIS_URL", "redis://localhost:6379")
    assert load_settings().checkpointer == "redis"


def test_a_named_checkpointer_wins_over_the_address() -> None:
    assert load_settings(redis_url="redis://localhost", checkpointer="sqlite").checkpointer == "sqlite"


def test_without_an_address_checkpoints_stay_in_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEND_REDIS_URL", "")
    assert load_settings().checkpointer == "sqlite"


def test_redis_without_an_address_is_refused_with_the_variable_to_set() -> None:
    with pytest.raises(InputError, match="set CONTEND_REDIS_URL=redis://HOST:PORT"):
        load_settings(checkpointer="redis")


def _of_the_server() -> Callable[[], AbstractAsyncContextManager[BaseCheckpointSaver[Any]]]:
    """The factory that langgraph.json names for the Agent Server."""
    path = json.loads((ROOT / "langgraph.json").read_text("utf-8"))["checkpointer"]["path"]
    file, _, name = path.partition(":")
    factory = runpy.run_path(str(ROOT / file))[name]
    return cast("Callable[[], AbstractAsyncContextManager[BaseCheckpointSaver[Any]]]", factory)


async def test_the_agent_server_keeps_checkpoints_in_the_workspaces_sqlite_file(
    monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.setenv("CONTEND_WORKSPACE", str(workspace))

    async with _of_the_server()() as saver:
        assert isinstance(saver, SqliteSaver)

    assert (workspace / "checkpoints.sqlite").is_file()


async def test_the_agent_server_keeps_checkpoints_in_redis_where_its_address_is_set(
    monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.setenv("CONTEND_WORKSPACE", str(workspace))
    monkeypatch.setenv("CONTEND_REDIS_URL", "redis://127.0.0.1:9")  # where nothing listens

    with pytest.raises(StoreError, match=r"^Redis at redis://127\.0\.0\.1:9 cannot be reached"):
        async with _of_the_server()():
            pass

    assert not (workspace / "checkpoints.sqlite").exists()


@pytest.mark.parametrize(
    ("url", "text"),
    [
        (f"redis://:{PASSWORD}@cache.example:6380/0", "redis://cache.example:6380/0"),
        (f"rediss://ops:{PASSWORD}@cache.example", "rediss://cache.example:6379"),
        (f"redis://cache.example/?password={PASSWORD}", "redis://cache.example:6379"),
        (f"redis://:{PASSWORD}@[::1]:6379", "redis://[::1]:6379"),
        (f"unix://:{PASSWORD}@/run/redis.sock", "unix:///run/redis.sock"),
    ],
)
def test_an_address_is_shown_without_user_and_password(url: str, text: str) -> None:
    settings = load_settings(redis_url=url)
    assert settings.redis_address == text
    assert PASSWORD not in repr(settings)


@pytest.mark.parametrize("place", ["http://:{}@h:1", "redis://:{}/x@h:1", "redis://:{}@", "{}", "redis://[{}"])
def test_a_faulty_address_is_refused_without_showing_it(place: str) -> None:
    with pytest.raises(InputError, match="CONTEND_REDIS_URL is no Redis address") as excinfo:
        load_settings(redis_url=place.format(PASSWORD))
    assert PASSWORD not in f"{excinfo.value} {excinfo.value.__cause__} {excinfo.value.__cause__!r}"
    # pydantic's error is not seen by the garbage collector: a frame that names it is never freed, nor its modules.
    del excinfo


def test_a_time_to_live_that_a_run_could_outlast_is_refused() -> None:
    with pytest.raises(InputError, match="checkpoint_ttl_minutes"):
        load_settings(checkpoint_ttl_minutes=5)


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
)


@given(PLAIN)
def test_plain_values_come_back_from_redis_as_they_were(value: object) -> None:
    serializer = PlainRedisSerializer()
    assert serializer.loads_typed(serializer.dumps_typed(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        HumanMessage("hello", id="1"),
        Overwrite([]),
        Send("team", {"theme": "hum"}),
        Interrupt({"ask": "go on?"}, id="q"),
    ],
)
def test_messages_and_langgraphs_own_types_come_back(value: object) -> None:
    serializer = PlainRedisSerializer()
    assert serializer.loads_typed(serializer.dumps_typed([value])) == [value]


def test_a_stored_dict_that_names_a_class_stays_a_dict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "planted_module.py").write_text("raise RuntimeError('imported')", "utf-8")
    serializer = PlainRedisSerializer()
    for name in (["os", "system"], ["planted_module", "Thing"], ["pathlib", "Path"], "odd", None, [1]):
        planted = {"lc": 2, "type": "constructor", "id": name, "kwargs": {}, "args": ["true"]}
        assert serializer.loads_typed(serializer.dumps_typed({"found": [planted]})) == {"found": [planted]}
