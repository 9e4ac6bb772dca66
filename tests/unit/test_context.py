"""How much a model can read: who is asked, who wins, and what its calls may hold."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.llm import LEAST_CONTEXT_TOKENS, ContextProfile, ModelContext
from contend.models.options import ResolvedOptions, RunOptions, TeamConfig
from contend.services import Services
from contend.settings import load_settings, resolve_options
from fakes.loopback import LoopbackServer
from fakes.terminal import Terminal

Paths = dict[str, object]

VLLM: Paths = {"/v1/models": {"object": "list", "data": [{"id": "qwen3", "object": "model", "max_model_len": 40_960}]}}
LLAMA_CPP: Paths = {
    "/v1/models": {
        "models": [{"name": "qwen", "model": "qwen"}],
        "object": "list",
        "data": [{"id": "qwen", "owned_by": "llamacpp", "meta": {"vocab_type": 2, "n_ctx_train": 131_072}}],
    },
    "/props": {"default_generation_settings": {"n_ctx": 8192, "params": {}}, "total_slots": 1},
}
LM_STUDIO: Paths = {
    "/v1/models": {"data": [{"id": "gemma", "object": "model"}, {"id": "qwen", "object": "model"}]},
    "/api/v0/models": {
        "data": [
            {"id": "gemma", "state": "not-loaded", "max_context_length": 131_072},
            {"id": "qwen", "state": "loaded", "max_context_length": 32_768, "loaded_context_length": 4096},
        ]
    },
}
OLLAMA: Paths = {
    "/v1/models": {"object": "list", "data": [{"id": "qwen3:8b", "object": "model"}, {"id": "llama3:latest"}]},
    "/api/ps": {"models": [{"name": "llama3:latest", "model": "llama3:latest", "context_length": 4096}]},
}
OPENROUTER: Paths = {"/v1/models": {"data": [{"id": "deepseek/r1", "context_length": 163_840}, {"id": "b/c"}]}}
TOGETHER: Paths = {"/v1/models": [{"id": "meta/llama", "context_length": 131_072}, {"id": "b"}]}
GROQ: Paths = {"/v1/models": {"data": [{"id": "kimi", "context_window": 262_144}, {"id": "b"}]}}


@contextmanager
def server(paths: Paths, *, hang: bool = False) -> Iterator[tuple[str, list[str]]]:
    """A server that answers `GET` of these paths: its base URL, and what it was asked."""
    paths_asked: list[str] = []
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths_asked.append(self.path)
            if hang:
                over.wait(30)
            answer = paths.get(self.path, {"error": "no such path"})
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(200 if self.path in paths else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Silent."""

    running = LoopbackServer(("127.0.0.1", 0), Handler)
    running.start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}/v1", paths_asked
    finally:
        over.set()
        running.stop()


@pytest.fixture
def open_services(workspace: Path) -> Callable[..., Services]:
    """Services on an endpoint, with a `[context]` table of the workspace's own where one is given."""

    def make(url: str | None, table: str = "") -> Services:
        (workspace / "config").mkdir(parents=True, exist_ok=True)
        (workspace / "config" / "models.toml").write_text(f"[context]\n{table}\n", "utf-8")
        return Services(load_settings(workspace=workspace, OPENAI_BASE_URL=url))

    return make


@pytest.mark.parametrize(
    ("answers", "name", "tokens"),
    [
        (VLLM, "qwen3", 40_960),
        (LLAMA_CPP, "qwen", 8192),
        (LLAMA_CPP, "whatever-it-is-called", 8192),
        ({"/v1/models": LLAMA_CPP["/v1/models"]}, "qwen", 131_072),
        (LM_STUDIO, "qwen", 4096),
        (LM_STUDIO, "gemma", 131_072),
        (OLLAMA, "llama3", 4096),
        (OPENROUTER, "deepseek/r1", 163_840),
        (TOGETHER, "meta/llama", 131_072),
        (GROQ, "kimi", 262_144),
    ],
    ids=[
        "vllm",
        "llama.cpp",
        "llama.cpp-other-name",
        "llama.cpp-no-props",
        "lm-studio-loaded",
        "lm-studio",
        "ollama-loaded",
        "openrouter",
        "together",
        "groq",
    ],
)
async def test_what_the_endpoint_tells_of_a_model_is_its_context(
    open_services: Callable[..., Services], answers: Paths, name: str, tokens: int
) -> None:
    with server(answers) as (url, _):
        contexts = await open_services(url).models.contexts([name])

    assert contexts == {name: ModelContext(tokens, url)}


@pytest.mark.parametrize(
    "paths",
    [
        {},
        OLLAMA,
        {
            "/v1/models": {"data": [{"id": "qwen3:8b", "context_length": "many"}]},
            "/props": [],
            "/api/ps": {"models": 3},
        },
        {"/v1/models": {"data": [{"id": "qwen3:8b", "context_length": -1, "meta": "none"}]}},
        {"/v1/models": {"data": [{"id": "qwen3:8b"}]}, "/props": b'{"n_ctx": 8192}, {}', "/api/ps": b"[" * 100_000},
    ],
    ids=["nothing", "not-loaded", "no-numbers", "no-size", "no-json"],
)
async def test_a_model_of_which_nobody_tells_reads_32000_tokens(
    open_services: Callable[..., Services], paths: Paths
) -> None:
    with server(paths) as (url, _):
        contexts = await open_services(url).models.contexts(["qwen3:8b"])

    assert contexts == {"qwen3:8b": ModelContext(32_000, "default")}


async def test_an_endpoint_that_never_answers_or_is_not_there_costs_no_run(
    open_services: Callable[..., Services],
) -> None:
    with server(VLLM, hang=True) as (url, _):
        waited = await open_services(url).models.contexts(["qwen3"])
    refused = await open_services("http://127.0.0.1:9/v1").models.contexts(["qwen3"])

    assert waited == refused == {"qwen3": ModelContext(32_000, "default")}


async def test_an_endpoint_is_asked_once_and_only_for_models_that_config_leaves_out(
    open_services: Callable[..., Services],
) -> None:
    with server(VLLM) as (url, paths_asked):
        services = open_services(url, '"qwen*" = 9000')
        known = await services.models.contexts(["qwen3"])
        before = list(paths_asked)
        for _ in range(2):
            await services.models.contexts(["qwen3", "other"])

    assert known == {"qwen3": ModelContext(9000, 'config/models.toml [context] "qwen*"')}
    assert (before, paths_asked) == ([], ["/v1/models"])


async def test_openai_is_not_asked_because_it_lists_no_sizes(open_services: Callable[..., Services]) -> None:
    services = Services(load_settings(workspace=open_services(None).folder, OPENAI_API_KEY="sk-x"))  # type: ignore[arg-type]  # pydantic's secret

    assert await services.models.contexts(["some-model"]) == {"some-model": ModelContext(32_000, "default")}


async def test_a_models_own_name_wins_over_patterns_and_the_workspaces_over_the_shipped(
    open_services: Callable[..., Services],
) -> None:
    services = open_services(None, '"gpt-*" = 20000\n"gpt-5-mini" = 30000')

    contexts = await services.models.contexts(["gpt-5-mini", "gpt-5", "o3-mini"])

    assert {name: context.tokens for name, context in contexts.items()} == {
        "gpt-5-mini": 30_000,
        "gpt-5": 20_000,
        "o3-mini": 128_000,
    }


@given(st.integers(LEAST_CONTEXT_TOKENS, 10_000_000), st.integers(2_000, 400_000))
def test_what_a_team_holds_leaves_room_for_its_next_step_and_never_shrinks_with_the_context(
    tokens: int, most: int
) -> None:
    profile, larger = ContextProfile(tokens, most), ContextProfile(tokens + 1000, most)

    assert profile.evidence_tokens + profile.step_tokens + profile.catalogue_tokens <= profile.prompt_tokens < tokens
    assert 0 < profile.evidence_tokens <= min(most, larger.evidence_tokens)
    assert 0 < profile.step_tokens <= larger.step_tokens


@given(st.integers(LEAST_CONTEXT_TOKENS, 1_000_000), st.integers(0, 500_000))
def test_passages_beside_reports_leave_a_quarter_of_the_context_or_a_quarter_of_it_to_passages(
    tokens: int, reports: int
) -> None:
    profile = ContextProfile(tokens)
    beside = profile.beside(reports)

    assert min(profile.evidence_tokens, tokens // 4) <= beside <= profile.evidence_tokens
    assert beside + reports <= tokens * 3 // 4 or beside <= tokens // 4


def test_a_team_holds_two_fifths_of_what_its_model_reads_and_60000_tokens_at_most() -> None:
    profiles = [ContextProfile(tokens) for tokens in (16_000, 32_000, 128_000, 1_000_000)]

    assert [each.evidence_tokens for each in profiles] == [6_400, 12_800, 51_200, 60_000]
    assert ContextProfile(128_000, 20_000).evidence_tokens == 20_000
    assert [each.step_tokens for each in profiles] == [2_000, 4_000, 16_000, 32_000]


def resolve(services: Services, **given: Any) -> ResolvedOptions:  # noqa: ANN401 - any option
    options = RunOptions.model_validate(given)
    found = resolve_options(services.config, options, theme="Why?", has_language_model=True, environment=RunOptions())
    return found.options.model_copy(update={"contexts": {"large": 128_000, "small": 16_384}})


def test_a_role_has_the_profile_of_the_model_that_plays_it(open_services: Callable[..., Services]) -> None:
    services = open_services(None)
    options = resolve(services, model="large", models={"judge": "small", "reviewer": "unknown"})
    team = TeamConfig(team_id="a", name="A", sources=["local"], models={"writer": "small"})

    run = services.open_run("run", options)

    assert run.profile("writer").tokens == 128_000
    assert run.profile("judge").evidence_tokens == 16_384 * 2 // 5
    assert run.profile("reviewer").tokens == 32_000
    assert run.profile("writer", team=team).tokens == 16_384
    assert run.profile("evaluator", name="small").tokens == 16_384


def test_config_show_and_doctor_say_how_much_each_model_reads_and_who_says_so(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(workspace, capsys.readouterr)
    (workspace / "config").mkdir(parents=True)
    (workspace / "config" / "models.toml").write_text('default = "qwen3"\n[roles]\njudge = "gpt-5-mini"\n', "utf-8")
    with server(VLLM) as (url, _):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        values = {value["name"]: value for value in json.loads(terminal("config", "show", "--json").out)}
        checked = {check["name"]: check for check in json.loads(terminal("doctor", "--json").out)["checks"]}

    size = values["run.contexts.qwen3"]
    assert (size["value"], size["origin"]) == (40_960, url)
    assert values["run.contexts.gpt-5-mini"]["origin"] == 'config/models.toml [context] "gpt-5*"'
    assert checked["context"]["state"] == "ok"
    assert f"qwen3 40,960 tokens ({url})" in checked["context"]["said"]


def test_doctor_says_which_models_nobody_knows_and_where_to_say_it(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(workspace, capsys.readouterr)
    (workspace / "config").mkdir(parents=True)
    (workspace / "config" / "models.toml").write_text('default = "qwen3:8b"\n', "utf-8")
    with server(OLLAMA) as (url, _):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        checked = {check["name"]: check for check in json.loads(terminal("doctor", "--json").out)["checks"]}

    assert checked["context"]["state"] == "warning"
    assert "qwen3:8b 32,000 tokens (default)" in checked["context"]["said"]
    assert "[context]" in checked["context"]["remedy"]
