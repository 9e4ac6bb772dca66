"""Keys and passwords: whatever a run says, writes and keeps, they are not in it."""

import asyncio
import logging
from pathlib import Path

import pytest

from contend.settings import load_settings
from contend.stores.checkpoints import open_checkpointer
from fakes.contests import write_workspace
from fakes.replay import Replay, as_json
from fakes.terminal import Terminal
from fakes.traces import record_of
from fakes.vendors import Vendors

QUESTION = "How does resume go on after a crash, and which calls are repeated?"
KEY, TAVILY_KEY, PASSWORD = "sk-planted-4f7d21aa90", "tvly-planted-88c1e0", "planted-password"


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, vendors: Vendors, workspace: Path) -> None:
    """Endpoints that take keys, and repeat them in their errors."""
    write_workspace(workspace)
    team = workspace / "config" / "teams" / "alpha.toml"
    team.write_text(team.read_text("utf-8").replace('["local"]', '["tavily", "local"]'), "utf-8")
    vendors.fail(model="beta", status=401, message=f"Incorrect API key provided: {KEY}")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url.replace("//", f"//user:{PASSWORD}@"))
    monkeypatch.setenv("TAVILY_API_KEY", TAVILY_KEY)


async def _checkpoints(workspace: Path) -> str:
    """Every checkpoint and every write beside it, unpacked."""
    async with open_checkpointer(load_settings(workspace=workspace)) as saver:
        return "\n".join([str(item) async for item in saver.alist(None)])


@pytest.mark.usefixtures("keys")
def test_a_key_is_in_no_output_log_checkpoint_record_report_or_file(
    terminal: Terminal, documents: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    refusal = as_json({"detail": {"error": f"the plan of {TAVILY_KEY} is used up"}}, status=432)
    with Replay(lambda _: refusal) as tavily:
        monkeypatch.setenv("CONTEND_TAVILY_BASE_URL", tavily.url)
        options = ("--docs", documents, "--rounds", "1", "--thread", "keys")
        results = [terminal("run", QUESTION, *options, *how) for how in (("--dry-run",), ("--json",))]
        assert tavily.requests
    commands = [
        ("status", "keys"),
        ("runs",),
        ("leaderboard", "keys"),
        ("report", "keys"),
        ("config", "show"),
        ("doctor",),
    ]
    results += [terminal(*command) for command in commands]

    assert results[1].code == 1
    assert "beta failed" in results[2].out
    checkpoints = asyncio.run(_checkpoints(terminal.workspace))
    files = [path.read_bytes() for path in terminal.workspace.rglob("*") if path.is_file()]
    assert QUESTION in checkpoints
    everything = "\n".join(
        [*(one.out + one.err for one in results), caplog.text, checkpoints, str(record_of(terminal.workspace))]
    ).encode() + b"\n".join(files)
    for secret in (KEY, TAVILY_KEY, PASSWORD):
        assert not everything.count(secret.encode()), secret
