"""Playbooks on disk: versions, two processes at once, damage and kills."""

import asyncio
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contend.errors import InputError, PlaybookChanged, PlaybookDamaged, StoreError, StoreLocked, UnknownLesson
from contend.models.playbook import Bullet, DeltaContextItem, Playbook, Skipped
from contend.stores.playbooks import Change, Curation, PlaybookStore
from fakes.children import outside
from fakes.disk import file_size_limit
from fakes.fork_server import Process
from fakes.playbooks import save_playbook


@pytest.fixture
def store(tmp_path: Path) -> PlaybookStore:
    return PlaybookStore(tmp_path)


def _bullet(key: str, content: str = "Search primary sources first.", *, helpful: int = 0) -> Bullet:
    return Bullet(id=key, section="searching", content=content, searchable_text=content, helpful=helpful)


def _adding(*keys: str) -> Change:
    def change(playbook: Playbook) -> Curation:
        added = [_bullet(key, f"Lesson {key}") for key in keys]
        items = [DeltaContextItem(operation="ADD", bullet_id=key, content=f"Lesson {key}") for key in keys]
        return Curation(
            [*playbook.bullets, *added], items, [Skipped(bullet_id="x", reason="unknown id")], {"helpful": 1}, ""
        )

    return change


def _only(*bullets: Bullet) -> Change:
    return lambda _: Curation(list(bullets), [], [], {}, "")


def _ids(playbook: Playbook) -> set[str]:
    return {bullet.id for bullet in playbook.bullets}


_SAVE_FOR_EVER = """
import asyncio, sys
from pathlib import Path
from contend.models.playbook import Bullet
from contend.stores.playbooks import Curation, PlaybookStore

async def main(folder):
    store = PlaybookStore(Path(folder))
    while True:
        version = (await store.load("d")).version + 1
        text = f"version {version} " * 50
        bullets = [Bullet(id=f"b-{n}", section="s", content=text, searchable_text=text) for n in range(200)]
        await store.apply("d", f"run-{version}", lambda old: Curation(bullets, [], [], {}, ""))
        print(version, flush=True)
asyncio.run(main(sys.argv[1]))
"""


def test_a_dataset_nobody_saved_is_the_empty_version_0(store: PlaybookStore, tmp_path: Path) -> None:
    assert asyncio.run(store.load("d")) == Playbook(dataset="d")
    assert not list(tmp_path.iterdir())


async def test_what_was_saved_loads_again(store: PlaybookStore) -> None:
    bullet = _bullet("b-1", "一次資料を先に探す。", helpful=2)

    saved = await save_playbook(store, Playbook(dataset="d", bullets=[bullet]))

    assert saved == await PlaybookStore(store.folder).load("d") == Playbook(dataset="d", version=1, bullets=[bullet])


async def test_saving_over_a_version_one_has_not_seen_is_refused(store: PlaybookStore) -> None:
    await save_playbook(store, Playbook(dataset="d", bullets=[_bullet("b-1")]))

    with pytest.raises(PlaybookChanged, match="is at version 1, not 0"):
        await save_playbook(store, Playbook(dataset="d", bullets=[_bullet("b-2")]))

    assert _ids(await store.load("d")) == {"b-1"}


async def test_an_execution_is_applied_once_and_gets_its_first_result_again(store: PlaybookStore) -> None:
    first = await store.apply("d", "run-1", _adding("b-1"), reason="learned")
    await store.apply("d", "run-2", _adding("b-2"))

    again = await store.apply("d", "run-1", _adding("b-3"))

    assert again == first == await store.result_of("d", "run-1")
    assert (first.bullets_before, first.bullets_after, first.playbook_version) == (0, 1, 1)
    assert _ids(await store.load("d")) == {"b-1", "b-2"}


async def test_an_execution_not_applied_yet_has_no_result(store: PlaybookStore) -> None:
    assert await store.result_of("d", "run-1") is None


async def test_a_change_that_changes_nothing_makes_no_version(store: PlaybookStore) -> None:
    await store.apply("d", "run-1", _adding("b-1"))

    result = await store.apply("d", "run-2", lambda old: Curation(old.bullets, [], [], {}, "nothing new"))

    assert (result.playbook_version, result.summary) == (1, "nothing new")
    assert len(await store.history("d")) == 1


async def test_history_tells_deltas_time_run_reason_and_votes_of_each_version(store: PlaybookStore) -> None:
    await store.apply("d", "run-1", _adding("b-1"), reason="learned")

    (version,) = await store.history("d")

    assert (version.version, version.execution_id, version.reason) == (1, "run-1", "learned")
    assert [item.bullet_id for item in version.delta_items] == ["b-1"]
    assert version.counters == {"helpful": 1}


async def test_every_version_can_be_loaded(store: PlaybookStore) -> None:
    await store.apply("d", "run-1", _only(_bullet("b-1"), _bullet("b-2")))
    await store.apply("d", "run-2", _only(_bullet("b-2", "Changed."), _bullet("b-3")))

    assert [_ids(await store.load("d", version=number)) for number in range(3)] == [
        set(),
        {"b-1", "b-2"},
        {"b-2", "b-3"},
    ]
    with pytest.raises(UnknownLesson, match="playbook 'd' has no version 3: its history lists"):
        await store.load("d", version=3)


async def test_diff_names_what_was_added_removed_and_changed(store: PlaybookStore) -> None:
    await store.apply("d", "run-1", _only(_bullet("b-1"), _bullet("b-2")))
    await store.apply("d", "run-2", _only(_bullet("b-2", "Changed."), _bullet("b-3")))

    diff = await store.diff("d", 1, 2)

    assert ([b.id for b in diff.added], [b.id for b in diff.removed]) == (["b-3"], ["b-1"])
    assert [(c.before.content, c.after.content) for c in diff.changed] == [
        ("Search primary sources first.", "Changed.")
    ]


async def test_rollback_makes_a_new_version_with_the_old_bullets(store: PlaybookStore) -> None:
    await store.apply("d", "run-1", _adding("b-1"))
    await store.apply("d", "run-2", _only(_bullet("b-2")))

    rolled = await store.rollback("d", 1)

    assert (rolled.version, _ids(rolled)) == (3, {"b-1"})
    assert (await store.history("d"))[-1].reason == "rolled back to version 1"
    assert (await store.load("d", version=2)).bullets[0].id == "b-2"


async def test_datasets_are_listed_by_name(store: PlaybookStore) -> None:
    for dataset in ("zeta", "default"):
        await store.apply(dataset, "run-1", _adding("b-1"))

    assert await store.datasets() == ["default", "zeta"]


async def test_files_beside_playbooks_are_no_datasets(store: PlaybookStore) -> None:
    await store.apply("default", "run-1", _adding("b-1"))
    for name in ("notes.backup.json", "labels.answers.jsonl", "old.damaged.json"):
        (store.folder / name).write_text("{}", "utf-8")

    assert await store.datasets() == ["default"]


@pytest.mark.parametrize("dataset", ["../up", "", "a/b", "a" * 65, "a\0b", "ｄefault", "a.json", "a\n", "-rf", "aux"])
async def test_a_dataset_name_that_is_no_plain_name_is_refused(store: PlaybookStore, dataset: str) -> None:
    with pytest.raises(InputError, match="use 1 to 64 letters, digits, '_' or '-'"):
        await store.load(dataset)


async def test_a_dataset_held_by_another_process_is_waited_for_only_so_long(tmp_path: Path) -> None:
    store = PlaybookStore(tmp_path, lock_seconds=0.05)
    with FileLock(tmp_path / "d.lock"), pytest.raises(StoreLocked, match="try again when it ends"):
        await store.apply("d", "run-1", _adding("b-1"))


async def test_killed_while_saving_leaves_the_old_version_or_the_new_one(store: PlaybookStore) -> None:
    for pause in (0.0, 0.003, 0.011, 0.017):
        child = Process("-c", _SAVE_FOR_EVER, str(store.folder), folder=store.folder, environment=outside())
        lines = [await asyncio.to_thread(child.stdout.readline)]
        await asyncio.to_thread(time.sleep, pause)
        child.kill()
        lines += await asyncio.to_thread(child.stdout.readlines)
        child.close()

        playbook = await store.load("d")

        assert {bullet.content.split()[1] for bullet in playbook.bullets} == {str(playbook.version)}
        assert playbook.version >= max(map(int, lines))
        assert playbook.bullets == (await store.load("d", version=playbook.version)).bullets


async def test_killed_between_history_and_playbook_file_the_new_version_is_completed(store: PlaybookStore) -> None:
    await store.apply("d", "run-1", _adding("b-1"))
    old = (store.folder / "d.json").read_bytes()
    second = await store.apply("d", "run-2", _adding("b-2"))
    (store.folder / "d.json").write_bytes(old)

    assert _ids(await store.load("d")) == {"b-1", "b-2"}
    assert await store.apply("d", "run-2", _adding("b-2")) == second
    assert (await store.apply("d", "run-3", _adding("b-3"))).playbook_version == 3


async def test_a_history_line_that_a_kill_cut_short_never_happened(store: PlaybookStore) -> None:
    await store.apply("d", "run-1", _adding("b-1"))
    with (store.folder / "d.history.jsonl").open("ab") as file:
        file.write(b'{"version":2,"saved_at":"2026-0')

    assert (await store.load("d")).version == 1
    assert (await store.apply("d", "run-2", _adding("b-2"))).playbook_version == 2
    assert [line.version for line in await store.history("d")] == [1, 2]


@pytest.mark.parametrize(
    "break_it", [lambda raw: raw[: len(raw) // 2], lambda _: b"", lambda raw: raw.replace(b'"section"', b'"sektion"')]
)
async def test_a_broken_file_is_named_with_the_last_good_version_and_kept(
    store: PlaybookStore, break_it: Callable[[bytes], bytes]
) -> None:
    for number in (1, 2):
        await store.apply("d", f"run-{number}", _adding(f"b-{number}"))
    path = store.folder / "d.json"
    path.write_bytes(broken := break_it(path.read_bytes()))

    for work in (store.load("d"), store.apply("d", "run-3", _adding("b-3"))):
        with pytest.raises(
            PlaybookDamaged, match=rf"{re.escape(str(path))}.* last good version is 2: `contend playbook"
        ):
            await work
    assert path.read_bytes() == broken

    assert _ids(await store.rollback("d", 2)) == {"b-1", "b-2"}
    assert (store.folder / "d.damaged.json").read_bytes() == broken
    assert (await store.load("d")).version == 3


async def test_a_file_that_an_editor_began_with_the_mark_of_its_encoding_is_read(store: PlaybookStore) -> None:
    await store.apply("d", "run-1", _adding("b-1"))
    path = store.folder / "d.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    assert _ids(await store.load("d")) == {"b-1"}
    await store.apply("d", "run-2", _adding("b-2"))
    assert _ids(await store.load("d")) == {"b-1", "b-2"}


async def test_a_rollback_that_is_refused_leaves_a_broken_file_where_it_is(store: PlaybookStore) -> None:
    for number in (1, 2):
        await store.apply("d", f"run-{number}", _adding(f"b-{number}"))
    path = store.folder / "d.json"
    path.write_bytes(b"{ torn")

    with pytest.raises(PlaybookChanged, match="is at version 2, not 1"):
        await store.rollback("d", 1, base_version=1)

    assert path.read_bytes() == b"{ torn"
    assert not (store.folder / "d.damaged.json").exists()


async def test_a_broken_history_is_named_and_leaves_the_playbook_readable(store: PlaybookStore) -> None:
    for number in (1, 2, 3):
        await store.apply("d", f"run-{number}", _adding(f"b-{number}"))
    path = store.folder / "d.history.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"version":2, oops}\n' + lines[2])

    with pytest.raises(PlaybookDamaged, match=r"d\.history\.jsonl line 2 .*last good version is 3"):
        await store.history("d")
    assert len((await store.load("d")).bullets) == 3


async def test_a_missing_line_in_the_history_is_noticed(store: PlaybookStore) -> None:
    for number in (1, 2, 3):
        await store.apply("d", f"run-{number}", _adding(f"b-{number}"))
    path = store.folder / "d.history.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])

    with pytest.raises(PlaybookDamaged, match="version 3 does not follow"):
        await store.rollback("d", 3)


async def test_a_history_cut_behind_the_playbook_file_is_not_overwritten(store: PlaybookStore) -> None:
    for number in (1, 2):
        await store.apply("d", f"run-{number}", _adding(f"b-{number}"))
    path = store.folder / "d.history.jsonl"
    path.write_bytes(cut := path.read_bytes()[:-20])

    with pytest.raises(PlaybookDamaged, match="ends half way"):
        await store.apply("d", "run-3", _adding("b-3"))
    assert path.read_bytes() == cut


async def test_what_a_person_edits_in_the_file_stays_and_enters_the_history(store: PlaybookStore) -> None:
    await store.apply("d", "run-1", _adding("b-1"))
    path = store.folder / "d.json"
    path.write_text(path.read_text().replace("Lesson b-1", "A better lesson"))

    await store.apply("d", "run-2", _adding("b-2"))

    assert [line.reason for line in await store.history("d")] == ["", "edited by hand", ""]
    assert {b.content for b in (await store.load("d")).bullets} == {"A better lesson", "Lesson b-2"}
    assert (await store.load("d", version=1)).bullets[0].content == "Lesson b-1"
    assert (await store.load("d", version=2)).bullets[0].content == "A better lesson"


async def test_a_lost_history_starts_anew_from_the_playbook(store: PlaybookStore) -> None:
    await store.apply("d", "run-1", _adding("b-1"))
    (store.folder / "d.history.jsonl").unlink()

    await store.apply("d", "run-2", _adding("b-2"))

    assert [line.version for line in await store.history("d")] == [2, 3]
    assert _ids(await store.load("d", version=3)) == {"b-1", "b-2"}


async def test_a_lost_playbook_file_comes_back_from_the_history(store: PlaybookStore) -> None:
    for number in (1, 2):
        await store.apply("d", f"run-{number}", _adding(f"b-{number}"))
    (store.folder / "d.json").unlink()

    assert _ids(await store.load("d")) == {"b-1", "b-2"}
    assert await store.datasets() == ["d"]


@pytest.mark.parametrize("limit", [2000, 5000])
async def test_a_full_disk_leaves_the_old_version(store: PlaybookStore, limit: int) -> None:
    first = [_bullet("b-1", "y" * 1200)]
    await store.apply("d", "run-1", _only(*first))

    with file_size_limit(limit), pytest.raises(StoreError, match="check free space and permissions"):
        await store.apply("d", "run-2", _only(*first, _bullet("late", "x" * 3000)))

    assert (await store.load("d")).bullets == first
    assert (await store.apply("d", "run-2", _adding("b-2"))).playbook_version == 2


_some_bullets = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3), max_size=6)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=st.lists(_some_bullets, min_size=1, max_size=5))
def test_any_run_of_changes_is_rebuilt_from_the_history(
    tmp_path_factory: pytest.TempPathFactory, states: list[dict[str, int]]
) -> None:
    async def play() -> None:
        store = PlaybookStore(tmp_path_factory.mktemp("playbooks"))
        seen = {}
        for number, state in enumerate(states):
            bullets = [_bullet(key, helpful=votes) for key, votes in state.items()]
            result = await store.apply("d", f"run-{number}", _only(*bullets))
            seen[result.playbook_version] = state
        (store.folder / "d.json").unlink(missing_ok=True)
        for version, state in seen.items():
            playbook = await store.load("d", version=version)
            assert {bullet.id: bullet.helpful for bullet in playbook.bullets} == state

    asyncio.run(play())


async def test_the_file_is_json_that_a_person_can_read(store: PlaybookStore) -> None:
    await store.apply("d", "run-1", _adding("b-1"))

    text = (store.folder / "d.json").read_text()

    assert [line.startswith('{"id":"b-1"') for line in text.splitlines()] == [False, True, False]
    assert json.loads(text)["bullets"][0]["content"] == "Lesson b-1"
