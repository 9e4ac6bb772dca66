"""Models by provider: several endpoints in one process, LangChain's chat models, and a user's own function."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelRateLimitError,
)
from langchain_core.language_models import FakeListChatModel

from contend.errors import InputError, ModelError
from contend.llm.endpoint import CallLimits, Request, Turn
from contend.llm.langchain_endpoint import PACKAGES, LangChainEndpoint
from contend.llm.models import LanguageModels
from contend.llm.refusals import RequestForm
from contend.prompts import PromptLibrary
from contend.settings import load_settings
from contend.settings.files import ModelsConfig, ProviderConfig
from fakes.contests import Contest, write_workspace
from fakes.model_lists import endpoint
from fakes.terminal import Terminal
from fakes.vendors import Vendors

THEME = "How does resume work after a kill?"
KEY = "sk-planted-0123456789abcdef"
ANTHROPIC = '''"""Stands for the package of that name: another vendor's client, by the loopback server's protocol."""

import os

from langchain_openai import ChatOpenAI


class ChatAnthropic(ChatOpenAI):
    def __init__(self, **given):
        super().__init__(base_url=os.environ["ANTHROPIC_BASE_URL"], api_key=os.environ["ANTHROPIC_API_KEY"], **given)
'''


@pytest.fixture
def judges() -> Iterator[Vendors]:
    with Vendors() as server:
        yield server


@pytest.fixture
def terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(workspace, capsys.readouterr)


def write_models(workspace: Path, text: str) -> None:
    """One team, and this as the workspace's config/models.toml; every model reads as much as a large one does."""
    write_workspace(workspace, ("alpha",))
    team = workspace / "config" / "teams" / "alpha.toml"
    team.write_text(team.read_text("utf-8").partition("[models]")[0], "utf-8")
    (workspace / "config" / "models.toml").write_text(f'{text}\n[context]\n"*" = 128000\n', "utf-8")


def models_called(vendors: Vendors) -> set[str]:
    return {call.model for call in vendors.calls}


async def test_a_writer_is_asked_at_one_endpoint_and_the_judges_at_another_with_its_own_key_and_price(
    workspace: Path, documents: Path, vendors: Vendors, judges: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_models(
        workspace,
        f"""default = "local/qwen3:8b"
[roles]
evaluator = "work/judge-1"
judge = "work/judge-1"
[providers.local]
base_url = "{vendors.base_url}"
max_calls_in_flight = 1
[providers.work]
base_url = "{judges.base_url}"
api_key_env = "WORK_KEY"
[prices."local/qwen3:8b"]
input = 0
output = 0
[prices."work/judge-1"]
input = 1
output = 1
""",
    )
    monkeypatch.setenv("WORK_KEY", KEY)

    outcome = await Contest(workspace, documents, None).run(THEME, max_usd=5)

    assert outcome.status == "completed"
    assert (models_called(vendors), models_called(judges)) == ({"qwen3:8b"}, {"judge-1"})
    assert vendors.most_in_flight == 1
    assert KEY in judges.calls[0].headers["authorization"]
    assert KEY not in vendors.calls[0].headers["authorization"]
    assert outcome.usage.cost_usd is not None
    assert 0 < outcome.usage.cost_usd < (outcome.usage.input_tokens + outcome.usage.output_tokens) / 1e6


async def test_a_metric_and_a_team_may_name_models_of_other_providers_than_the_run(
    workspace: Path, documents: Path, vendors: Vendors, judges: Vendors
) -> None:
    write_models(workspace, f'default = "gpt-5-mini"\n[providers.local]\nbase_url = "{judges.base_url}"\n')
    with (workspace / "config" / "teams" / "alpha.toml").open("a") as team:
        team.write('[models]\nwriter = "local/qwen3:8b"\n')
    (workspace / "config" / "evaluator.toml").write_text(
        '[[evaluator.metrics]]\nname = "clarity_coherence"\nkind = "model"\nmodel = "local/judge-2"\n', "utf-8"
    )

    await Contest(workspace, documents, vendors.base_url).run(THEME, learn=False)

    assert models_called(vendors) == {"gpt-5-mini"}
    assert models_called(judges) == {"qwen3:8b", "judge-2"}


async def test_a_provider_whose_key_is_not_set_is_refused_by_the_variables_name_before_anything_is_spent(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    write_models(
        workspace,
        f'default = "work/judge-1"\n[providers.work]\nbase_url = "{vendors.base_url}"\napi_key_env = "WORK_KEY"\n',
    )

    with pytest.raises(InputError, match=r"WORK_KEY is not set, the key of \[providers\.work\]"):
        await Contest(workspace, documents, None).run(THEME)

    assert vendors.calls == []


def test_doctor_looks_at_each_provider_and_names_the_one_that_lacks_a_model(
    terminal: Terminal, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with endpoint("gpt-5-mini", "gpt-5") as url, endpoint("qwen3:8b", "llama3:8b") as local:
        write_models(
            workspace,
            f'default = "gpt-5-mini"\n[roles]\njudge = "local/qwen3:8b"\n[providers.local]\nbase_url = "{local}"\n',
        )
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        ready = terminal("doctor", "--json")
        models = workspace / "config" / "models.toml"
        models.write_text(models.read_text("utf-8").replace("qwen3:8b", "qwen3:4b"), "utf-8")
        lacking = terminal("doctor", "--json")

    checks = {check["name"]: check for check in json.loads(ready.out)["checks"]}
    assert checks["model"]["said"] == f"{url} has gpt-5-mini; {local} has qwen3:8b"
    checks = {check["name"]: check for check in json.loads(lacking.out)["checks"]}
    assert checks["model"]["said"] == f"endpoint {local} has qwen3:8b, llama3:8b, not qwen3:4b"


def test_doctor_says_how_much_the_models_of_each_provider_read(terminal: Terminal, workspace: Path) -> None:
    sizes = json.dumps({"data": [{"id": "qwen3:8b", "context_length": 40_960}, {"id": "other"}]}).encode()
    with endpoint(body=sizes) as url:
        write_models(workspace, f'default = "local/qwen3:8b"\n[providers.local]\nbase_url = "{url}"\n')
        models = workspace / "config" / "models.toml"
        models.write_text(models.read_text("utf-8").replace('"*" = 128000', ""), "utf-8")
        result = terminal("doctor", "--json")

    context = next(check for check in json.loads(result.out)["checks"] if check["name"] == "context")
    assert context["said"] == f"local/qwen3:8b 40,960 tokens ({url})"


def test_an_endpoint_of_a_provider_that_is_away_names_the_entry_that_sets_it(
    terminal: Terminal, workspace: Path, documents: Path
) -> None:
    write_models(workspace, 'default = "local/qwen3"\n[providers.local]\nbase_url = "http://127.0.0.1:9/v1"\n')

    result = terminal("run", THEME, "--docs", documents, "--source", "local", "--dry-run")

    assert result.code == 2
    assert "cannot be reached" in result.err
    assert "check base_url of [providers.local] in config/models.toml" in result.err


def test_a_kind_of_provider_that_there_is_not_is_refused_with_those_that_there_are(
    terminal: Terminal, workspace: Path, documents: Path
) -> None:
    write_models(workspace, 'default = "x/y"\n[providers.x]\nkind = "antropic"\n')

    result = terminal("run", THEME, "--docs", documents, "--dry-run")

    assert result.code == 2
    assert "[providers.x]: no kind of provider 'antropic'; choose from openai, anthropic" in result.err


def test_a_provider_may_have_headers_further_json_and_replies_in_parts(
    terminal: Terminal, workspace: Path, documents: Path, vendors: Vendors
) -> None:
    entry = f"""[providers.mine]
base_url = "{vendors.base_url}"
stream = true
headers = {{ "X-Team" = "research" }}
extra_body = {{ chat_template_kwargs = {{ enable_thinking = false }} }}
"""
    write_models(workspace, f'default = "mine/m"\n{entry}')

    terminal("run", THEME, "--docs", documents, "--source", "local", "--depth", "quick")

    assert vendors.calls
    for call in vendors.calls:
        assert {name.lower(): value for name, value in call.headers.items()}["x-team"] == "research"
        assert call.body["stream"] is True
        assert call.body["chat_template_kwargs"] == {"enable_thinking": False}


def test_what_only_an_openai_compatible_endpoint_takes_is_refused_for_another_kind(
    terminal: Terminal, workspace: Path, documents: Path
) -> None:
    write_models(workspace, 'default = "mine/m"\n[providers.mine]\nkind = "ollama"\nstream = true\n')

    result = terminal("run", THEME, "--docs", documents, "--source", "local")

    assert result.code == 2
    assert "extra_body, headers and stream are of kind openai" in result.err


async def test_a_langchain_model_takes_part_by_its_name_where_its_package_is_installed(
    workspace: Path, documents: Path, vendors: Vendors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "langchain_anthropic.py").write_text(ANTHROPIC, "utf-8")
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", vendors.base_url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delitem(sys.modules, "langchain_anthropic", raising=False)
    write_models(workspace, 'default = "anthropic:claude-test-1"\n')

    outcome = await Contest(workspace, documents, None).run(THEME)

    assert outcome.status == "completed"
    assert models_called(vendors) == {"claude-test-1"}
    assert vendors.calls[0].body["response_format"]["type"] == "json_schema"
    assert outcome.usage.input_tokens > 0


def test_a_langchain_model_whose_package_is_not_installed_is_refused_by_the_packages_name(
    terminal: Terminal, workspace: Path, documents: Path
) -> None:
    write_models(workspace, 'default = "mistralai:mistral-large-latest"\n')

    result = terminal("run", THEME, "--docs", documents, "--source", "local", "--dry-run")

    assert result.code == 2
    assert "pip install langchain-mistralai" in result.err


async def test_a_function_of_the_workspace_makes_the_chat_models_of_a_provider(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    write_models(workspace, 'default = "mine/odd-1"\n[providers.mine]\nfunction = "my_models:chat"\n')
    (workspace / "my_models.py").write_text(
        "from langchain_openai import ChatOpenAI\n\n"
        f'def chat(name):\n    return ChatOpenAI(model=name + "-x", base_url="{vendors.base_url}", api_key="none")\n',
        "utf-8",
    )

    outcome = await Contest(workspace, documents, None).run(THEME, learn=False)

    assert outcome.status == "completed"
    assert models_called(vendors) == {"odd-1-x"}


async def test_a_failure_of_a_langchain_model_is_one_line_that_names_it_and_shows_no_key(
    workspace: Path, documents: Path, vendors: Vendors
) -> None:
    write_models(workspace, 'default = "mine/odd-1"\n[providers.mine]\nfunction = "my_models:chat"\n')
    (workspace / "my_models.py").write_text(
        "from langchain_openai import ChatOpenAI\n\n"
        f'def chat(name):\n    return ChatOpenAI(model=name, base_url="{vendors.base_url}", api_key="{KEY}")\n',
        "utf-8",
    )
    vendors.fail(status=403, message=f"key {KEY} may not use odd-1")

    outcome = await Contest(workspace, documents, None).run(THEME)

    assert outcome.status == "failed"
    assert outcome.summary is not None
    reason = outcome.summary.team_statuses[0].error_message or ""
    assert "model 'odd-1' at my_models:chat failed (OpenAIPermissionDeniedError" in reason
    assert KEY not in reason


REQUEST = Request([Turn("user", "Why?")], max_output_tokens=9, json_schema={}, form=RequestForm(reply_format="none"))


class VendorError(Exception):
    """A vendor's own error, as most packages raise it."""

    def __init__(self, status_code: int) -> None:
        super().__init__("refused")
        self.status_code = status_code


class Failing(FakeListChatModel):
    error: Exception

    def _call(self, *_: object, **__: object) -> str:
        raise self.error


@pytest.mark.parametrize(
    ("error", "is_worth_again"),
    [
        (ModelRateLimitError("slow down"), True),
        (ModelAPIError("down"), True),
        (ModelAuthenticationError("no key"), False),
        (ContextOverflowError("too long"), False),
        (ConnectionResetError("gone"), True),
        (VendorError(503), True),
        (VendorError(429), True),
        (VendorError(400), False),
        (ValueError("no such option"), False),
    ],
    ids=repr,
)
async def test_whether_again_is_worth_it_is_known_of_langchains_errors_and_of_vendors_own(
    error: Exception, is_worth_again: bool
) -> None:
    chat, limits = Failing(responses=[], error=error), CallLimits(max_retries=0)
    endpoint = LangChainEndpoint("mine", lambda _, **__: chat, remedy="try later", limits=limits)

    with pytest.raises(ModelError) as excinfo:
        await endpoint.complete("m", REQUEST)

    assert excinfo.value.transient is is_worth_again


@pytest.mark.parametrize("mark", ["sk-ant-api03-", "gsk_", "hf_", "xai-", "nvapi-", "pplx-", "fw_", "tgp_v1_", "AIza"])
async def test_no_error_of_a_langchain_model_repeats_a_key_that_its_package_read_itself(mark: str) -> None:
    error = ValueError(f"Incorrect API key provided: {mark}Sy1234567890")
    endpoint = LangChainEndpoint("mine", lambda _, **__: Failing(responses=[], error=error), remedy="try later")

    with pytest.raises(ModelError, match="Incorrect API key provided: …") as excinfo:
        await endpoint.complete("m", REQUEST)

    assert "1234567890" not in str(excinfo.value)


async def test_no_error_of_a_langchain_model_repeats_the_key_that_the_env_file_has_for_its_provider(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("LAKE_ID=planted1234567890\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    entry = ProviderConfig(kind="ollama", api_key_env="LAKE_ID")
    monkeypatch.setitem(cast("dict[str, Any]", PACKAGES), "ollama", (__name__, "refusing"))
    config = ModelsConfig(default="mine/m", providers={"mine": entry})
    models = LanguageModels(
        load_settings(), config, PromptLibrary(None), pytest.fail, ledger_of=pytest.fail, context_of=pytest.fail
    )
    endpoint, name = models.find("mine/m")

    with pytest.raises(ModelError, match="Incorrect API key provided: …"):
        await endpoint.complete(name, REQUEST)


def refusing(*, api_key: str, **_: object) -> Failing:
    return Failing(responses=[], error=ValueError(f"Incorrect API key provided: {api_key}"))


async def test_no_error_of_a_langchain_model_repeats_a_key_without_a_mark_that_a_variable_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "planted1234567890")
    error = ValueError("Incorrect API key provided: planted1234567890")
    endpoint = LangChainEndpoint("mine", lambda _, **__: Failing(responses=[], error=error), remedy="try later")

    with pytest.raises(ModelError, match=r"Incorrect API key provided: \*\*\*"):
        await endpoint.complete("m", REQUEST)
