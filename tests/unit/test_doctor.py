"""`contend doctor`: what it looks at, what it says to do, and when the main job can't run."""

import json
from pathlib import Path

import pytest

from contend.llm.address import EndpointAddress
from contend.llm.listing import NoAnswer, endpoint_models, missing_models
from fakes.model_lists import endpoint
from fakes.terminal import Terminal


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


def checks(terminal: Terminal) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit code and the checks by name."""
    result = terminal("doctor", "--json")
    values = json.loads(result.out)
    assert values["ready"] is (result.code == 0)
    return result.code, {check["name"]: check for check in values["checks"]}


def test_without_any_key_the_main_job_can_run_and_each_thing_says_how_it_is(terminal: Terminal) -> None:
    result = terminal("doctor")

    assert result.code == 0
    assert "searches your documents, without a language model" in result.out
    assert "give --docs PATH to a run" in result.out
    assert "set TAVILY_API_KEY" in result.out
    assert "Ready.\nNext  contend run THEME --docs FOLDER" in result.out
    assert terminal.files() == []


def test_an_endpoint_with_the_model_is_ready(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint("gpt-5-mini", "other") as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        code, findings = checks(terminal)

    assert code == 0
    assert findings["model"]["said"] == f"{url} has gpt-5-mini"


def test_a_model_that_is_not_there_is_named_with_those_that_are(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with endpoint("llama3", "qwen") as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        code, findings = checks(terminal)

    assert code == 2
    assert "has llama3, qwen, not gpt-5-mini" in findings["model"]["said"]
    assert "--model NAME" in findings["model"]["remedy"]


def test_a_server_of_a_single_model_may_answer_by_any_name(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint("local.gguf") as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        code, findings = checks(terminal)

    assert (code, findings["model"]["state"]) == (0, "warning")


def test_a_refused_key_is_a_fault_that_does_not_show_the_key(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with endpoint(status=401, chat=401) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
        result = terminal("doctor")

    assert result.code == 2
    assert "refused the key" in result.out
    assert "Not ready: mend model." in result.out
    assert "planted" not in result.out + result.err


def test_an_endpoint_that_is_not_there_is_a_fault(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    code, findings = checks(terminal)

    assert code == 2
    assert "cannot be reached" in findings["model"]["said"]
    assert "--team search" in findings["model"]["remedy"]


@pytest.mark.parametrize("body", [b"[]", b'{"data": null}', b'{"data": []}'])
async def test_an_empty_list_of_models_comes_in_several_shapes(body: bytes) -> None:
    with endpoint(body=body) as url:
        assert await endpoint_models(EndpointAddress.parse(url, "url", key=None)) == []


@pytest.mark.parametrize("status", [401, 403, 404, 500])
async def test_an_endpoint_that_lists_its_models_to_nobody_is_known_by_its_chat(status: int) -> None:
    with endpoint(status=status, chat=400) as url:
        assert await endpoint_models(EndpointAddress.parse(url, "url", key="a-key")) == []


@pytest.mark.parametrize(
    ("chat", "why"),
    [(401, "refused the key"), (404, "ends in /v1"), (405, "ends in /v1"), (502, "is away"), (503, "is not ready")],
)
async def test_an_endpoint_without_a_list_or_a_chat_says_why(chat: int, why: str) -> None:
    with endpoint(status=404, chat=chat) as url, pytest.raises(NoAnswer, match=why):
        await endpoint_models(EndpointAddress.parse(url, "url", key="a-key"))


@pytest.mark.parametrize(
    ("wanted", "listed", "missing"),
    [
        ("gpt-5-mini", ["gpt-5", "gpt-4o"], ["gpt-5-mini"]),
        ("gpt-5-mini", ["gpt-5-mini", "gpt-4o"], []),
        ("gpt-5-mini", ["local.gguf"], []),
        ("gpt-5-mini", [], []),
        ("gpt-5-mini", ["openai/*", "llama"], []),
        ("qwen3", ["qwen3:latest", "llama3:8b"], []),
        ("qwen3", ["qwen3:8b", "llama3:8b"], ["qwen3"]),
        ("qwen3:8b", ["qwen3:4b", "llama3:8b"], ["qwen3:8b"]),
        ("openai/gpt-4o:online", ["openai/gpt-4o", "openai/gpt-5"], []),
        ("claude-haiku-4-5", ["claude-haiku-4-5-20251001", "claude-opus-4-5-20251101"], []),
        ("claude-haiku-4", ["claude-haiku-4-5-20251001", "claude-opus-4-5-20251101"], ["claude-haiku-4"]),
        ("gemini-2.5-flash", ["models/gemini-2.5-flash", "models/gemini-2.5-pro"], []),
    ],
)
def test_a_model_is_missing_where_the_list_can_tell(wanted: str, listed: list[str], missing: list[str]) -> None:
    assert missing_models([wanted], listed) == missing


async def test_a_server_that_never_answers_is_given_up_in_time() -> None:
    with endpoint(hang=True) as url, pytest.raises(NoAnswer, match=r"within 0\.2 s"):
        await endpoint_models(EndpointAddress.parse(url, "url", key=None), seconds=0.2)


@pytest.mark.parametrize("body", [b"<html>", b'{"data": 3}', b'{"models": []}', b'{"data": [1]}', b"\xff"])
async def test_another_kind_of_server_is_not_taken_for_a_model(body: bytes) -> None:
    with endpoint(body=body) as url, pytest.raises(NoAnswer, match="no OpenAI-compatible server"):
        await endpoint_models(EndpointAddress.parse(url, "url", key=None))


def test_a_broken_config_file_is_a_fault_that_names_it(terminal: Terminal) -> None:
    broken = terminal.workspace / "config" / "judgment.toml"
    broken.parent.mkdir(parents=True)
    broken.write_text("patience = \n")

    code, findings = checks(terminal)

    assert code == 2
    assert str(broken) in findings["config"]["said"]


def test_a_prompt_that_does_not_render_is_a_fault_that_names_it(terminal: Terminal) -> None:
    broken = terminal.workspace / "prompts" / "writer" / "write.md.j2"
    broken.parent.mkdir(parents=True)
    broken.write_text("{{ thema }}")

    code, findings = checks(terminal)

    assert code == 2
    assert str(broken) in findings["prompts"]["said"]


def test_a_workspace_below_a_file_is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")

    output = Terminal(tmp_path / "file" / "workspace", capsys.readouterr)("doctor")

    assert output.code == 2
    assert f"{tmp_path / 'file'} is a file: name a folder" in output.err


def test_runs_that_only_memory_keeps_are_warned_of(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEND_CHECKPOINTER", "memory")

    code, findings = checks(terminal)

    assert (code, findings["checkpointer"]["state"]) == (0, "warning")


def test_the_checkpointer_is_named_before_its_first_run(terminal: Terminal) -> None:
    _, findings = checks(terminal)

    assert findings["checkpointer"]["said"] == "SQLite, made by the first run"


def test_a_damaged_checkpoint_file_is_a_fault(terminal: Terminal) -> None:
    terminal.workspace.mkdir()
    (terminal.workspace / "checkpoints.sqlite").write_bytes(b"no database" * 100)

    code, findings = checks(terminal)

    assert code == 2
    assert "SQLite says" in findings["checkpointer"]["said"]


@pytest.mark.parametrize(
    ("roles", "found"),
    [
        ("", ("warning", "the judges use the writer's model (gpt-5-mini)")),
        ('evaluator = "strict"\n', ("ok", "strict, not the writer's model")),
    ],
)
def test_judges_that_use_the_writers_model_are_warned_of(
    terminal: Terminal, workspace: Path, monkeypatch: pytest.MonkeyPatch, roles: str, found: tuple[str, str]
) -> None:
    (workspace / "config").mkdir(parents=True)
    (workspace / "config" / "models.toml").write_text(f'default = "gpt-5-mini"\n\n[roles]\n{roles}', "utf-8")

    with endpoint("gpt-5-mini", "strict") as base_url:
        monkeypatch.setenv("OPENAI_BASE_URL", base_url)
        judges = checks(terminal)[1]["judges"]

    assert judges["state"] == found[0]
    assert judges["said"].startswith(found[1])


def test_without_a_language_model_nobody_judges_what_it_wrote(terminal: Terminal) -> None:
    assert "judges" not in checks(terminal)[1]
