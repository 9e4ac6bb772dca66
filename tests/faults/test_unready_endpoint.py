"""An endpoint that cannot do a run's work is refused before anything starts, by runs and dry runs alike."""

import json
from pathlib import Path

import pytest

from contend.contest.graph import build_contest_graph
from contend.errors import InputError
from fakes.contests import Contest, write_workspace
from fakes.model_lists import endpoint
from fakes.terminal import Terminal
from fakes.vendors import Vendors

THEME = "How does resume work after a kill?"
DRY_AND_REAL = pytest.mark.parametrize("how", [[], ["--dry-run"]], ids=["run", "dry-run"])


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


def refusal(terminal: Terminal, documents: Path, *how: str) -> str:
    """The one line of a run that is refused with nothing written."""
    result = terminal("run", THEME, "--docs", documents, "--source", "local", *how)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert terminal.files() == []
    return result.err


@DRY_AND_REAL
def test_an_address_that_is_none_is_refused(
    terminal: Terminal, documents: Path, monkeypatch: pytest.MonkeyPatch, how: list[str]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "notaurl")

    assert "OPENAI_BASE_URL is not an http(s) address" in refusal(terminal, documents, *how)


@DRY_AND_REAL
def test_an_endpoint_that_is_not_there_is_refused(
    terminal: Terminal, documents: Path, monkeypatch: pytest.MonkeyPatch, how: list[str]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    assert "endpoint http://127.0.0.1:9/v1 cannot be reached" in refusal(terminal, documents, *how)


@DRY_AND_REAL
def test_a_key_that_the_endpoint_refuses_is_refused_and_not_shown(
    terminal: Terminal, documents: Path, monkeypatch: pytest.MonkeyPatch, how: list[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    with endpoint(status=401, chat=401) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        result = refusal(terminal, documents, *how)

    assert "refused the key (status 401)" in result
    assert "planted" not in result


@DRY_AND_REAL
def test_a_model_that_the_endpoints_list_does_not_name_is_refused_with_those_it_names(
    terminal: Terminal, documents: Path, monkeypatch: pytest.MonkeyPatch, how: list[str]
) -> None:
    with endpoint("llama3:8b", "qwen3:8b") as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        result = refusal(terminal, documents, "--model", "qwen3:4b", *how)

    assert "has llama3:8b, qwen3:8b, not qwen3:4b: give --model NAME" in result


def test_an_endpoint_that_is_slow_to_list_its_models_is_not_refused_and_the_dry_run_says_so(
    terminal: Terminal, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with endpoint(hang=True) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        result = terminal("run", THEME, "--docs", documents, "--source", "local", "--dry-run", "--json")

    assert result.code == 0
    assert any("did not answer within 3 s" in warning for warning in json.loads(result.out)["warnings"])


async def test_a_run_is_not_gone_on_with_while_its_endpoint_is_away(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    """Its teams would all forfeit, and the run could not go on any more."""
    write_workspace(workspace)
    contest = Contest(workspace, documents, vendors.base_url)
    await contest.run(THEME, thread_id="waits", approve=["report"])

    with pytest.raises(InputError, match="cannot be reached"):
        await Contest(workspace, documents, "http://127.0.0.1:9/v1").resume("waits", "approve")

    assert (await contest.resume("waits", "approve")).status == "completed"


def test_a_failure_of_the_endpoint_that_hits_all_teams_is_told_once_in_the_log_and_once_at_the_end(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendors.fail(status=429, code="insufficient_quota")
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)

    result = terminal("run", THEME, "--docs", documents, "--source", "local")

    log, _, end = result.out.partition("\n\nFailed\n")
    assert result.code == 2
    assert log.count("quota is used up") == 1
    assert "failed: as " in log
    assert " ".join(end.split()).count("quota is used up") == 1
    assert "teams archivist and skeptic failed" in end


async def test_a_graph_opened_by_itself_says_in_one_line_that_its_endpoint_is_not_there(
    workspace: Path, documents: Path
) -> None:
    write_workspace(workspace)
    contest = Contest(workspace, documents, "http://127.0.0.1:9/v1")
    services = contest.services()

    state = await build_contest_graph(services).compile().ainvoke({"theme": THEME}, context=contest.options())

    await services.aclose()
    assert state["status"] == "failed"
    assert "endpoint http://127.0.0.1:9/v1 cannot be reached" in state["messages"][-1].text
    assert not (workspace / "contend.duckdb").exists()


@DRY_AND_REAL
def test_a_model_that_reads_under_16000_tokens_is_refused_with_what_to_set(
    terminal: Terminal, documents: Path, vendors: Vendors, monkeypatch: pytest.MonkeyPatch, how: list[str]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    vendors.models = [{"id": "small", "max_model_len": 8192}]

    result = refusal(terminal, documents, "--model", "small", *how)

    assert "model 'small' has a context of 8,192 tokens" in result
    assert all(setting in result for setting in ("num_ctx", "llama.cpp -c", "--max-model-len", "16,000"))
    assert vendors.calls == []


def test_doctor_says_of_such_a_model_the_same(
    terminal: Terminal, vendors: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", vendors.base_url)
    monkeypatch.setenv("CONTEND_MODEL", "small")
    vendors.models = [{"id": "small", "max_model_len": 8192}]

    result = terminal("doctor")

    assert result.code == 2
    assert "has a context of 8,192 tokens" in result.out
    assert "num_ctx" in result.out
