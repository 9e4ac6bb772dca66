"""What tests share: a workspace of their own, a folder of documents, the loopback vendors, no outside environment."""

import atexit
import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from fakes.children import enter_folder
from fakes.kilns import write_kilns
from fakes.servers import Server, agent_server
from fakes.vendors import Vendors

if "CONTEND_DATA" in os.environ:
    # Tests run in folders of their own, where a relative path leads nowhere.
    os.environ["CONTEND_DATA"] = str(Path(os.environ["CONTEND_DATA"]).resolve())

# Tests run side by side, and so do the processes they start: a product of small matrices that is spread over all
# processors waits for them most of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No example fails by time, and what fifty of them do not meet today another fifty meet tomorrow.
settings.register_profile("contend", max_examples=50, deadline=None)
settings.load_profile("contend")

# A run has the disk keep what it writes some fifty times, and waits for it as long as it works. Memory does not wait.
_MEMORY = Path("/dev/shm")  # noqa: S108 - as the system names it
if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 4_000_000_000:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# What is loaded and collected stays to the end: to look through it for garbage meanwhile takes a fifth of the time.
gc.disable()

# Hypothesis leaves a callback that keeps DuckDB's types alive, of which DuckDB complains at the end of the process. A
# worker that is told to stop ends without pytest's own hooks.
atexit.register(gc.callbacks.clear)
atexit.register(gc.unfreeze)

# Files whose tests share servers that take seconds to start: all of a group run in one process.
_GROUPS = {
    "graphs": ("tests/graph/test_server", "tests/graph/test_mcp_server", "tests/graph/test_remote_teams"),
    "pages": ("tests/api/", "tests/browser/"),
}


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest in one process begins first: it would be left alone at the end."""
    items.sort(key=lambda item: _group(item.nodeid) is None)


def _group(file: str) -> str | None:
    return next((name for name, files in _GROUPS.items() if file.startswith(files)), None)


class ByServers(LoadFileScheduling):
    """The tests of a file, or of a group of files, go to one process."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return _group(file) or file


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByServers | None:
    return ByServers(config, log) if config.getvalue("dist") == "loadfile" else None


DOCUMENTS = {
    "resume.md": """# How resume works

A run keeps a checkpoint after every step. When the process is killed, the checkpoint holds the last finished step.
The command resume reads this checkpoint and goes on from there. Calls that were finished are not repeated.
At most the calls in flight are made again. The checkpoints lie in a SQLite file in the workspace.
""",
    "teams.md": """# What a team is

A team plans its research, searches its sources, writes a draft and reviews it. Each team has a stance of its own.
Teams run at the same time and see the names and scores of their rivals, but never their texts.
A team that fails touches no other team. The cap on teams says how many run at once.
""",
    "scores.html": """<html><head><title>How scores are made</title></head><body><h1>How scores are made</h1>
<p>Judges score each submission on clarity, coverage and relevance. Code checks that each cited source was retrieved.
The overall score is the weighted mean of all metrics. A metric that fails is left unscored.</p></body></html>
""",
    "saikai.txt": """再開の仕組み

実行の状態は各段階が終わるたびに保存されるため、プロセスが強制終了しても、最後に終わった段階までの結果は作業フォルダーに残ります。
再開コマンドはこの保存内容を読み込んで続きから実行し、すでに終わったモデルの呼び出しは繰り返さず、実行中だった呼び出しだけをやり直します。
設定や指示文が実行の開始後に変わっていた場合には再開が断られ、変わったファイルの名前と、元に戻すか強制するかの選び方が示されます。
""",
}


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key, address, option or language of the machine reaches a test."""
    enter_folder(tmp_path, monkeypatch)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """A small folder about contend: Markdown, HTML, a Japanese text."""
    return _write_documents(tmp_path / "papers")


@pytest.fixture(scope="session")
def shared_documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same texts in one folder, for runs that are compared: reports name their sources' paths."""
    return _write_documents(tmp_path_factory.mktemp("shared") / "papers")


@pytest.fixture(scope="session")
def many_documents(tmp_path_factory: pytest.TempPathFactory, shared_documents: Path) -> Path:
    """More than a server's teams may hold."""
    return write_kilns(shutil.copytree(shared_documents, tmp_path_factory.mktemp("many") / "papers"))


def _write_documents(folder: Path) -> Path:
    folder.mkdir()
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def vendors() -> Iterator[Vendors]:
    with Vendors() as server:
        yield server


@pytest.fixture(scope="session")
def endpoint() -> Iterator[Vendors]:
    """The language model of servers that many tests share."""
    with Vendors() as server:
        yield server


@pytest.fixture(scope="session")
def keyless_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """As somebody starts it who has neither a key nor a config; beside its workspace lie folders it does not serve."""
    folder = tmp_path_factory.mktemp("keyless")
    for name in ("workspace", "here"):
        (folder / name).mkdir()
    listed = f"{folder / 'listed'}, ../more"
    with agent_server(folder / "workspace", started_in=folder / "here", CONTEND_SERVED_FOLDERS=listed) as running:
        yield running
