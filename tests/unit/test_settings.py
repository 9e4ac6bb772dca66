from pathlib import Path

import pytest

from contend.errors import InputError
from contend.models.evaluation import CODE_METRIC_NAMES
from contend.models.options import EvaluatorConfig, JudgmentConfig, MetricConfig, RunOptions
from contend.settings import RunSetup, environment_options, load_settings, resolve_options
from contend.settings.files import Config, OrchestratorSettings, TeamReference, load_config
from fakes.contests import write_workspace


@pytest.fixture
def config(workspace: Path) -> Config:
    write_workspace(workspace)
    return load_config(workspace)


def _resolve(config: Config, given: RunOptions, environment: RunOptions, *, model: bool = False) -> RunSetup:
    return resolve_options(config, given, theme="What is a team?", has_language_model=model, environment=environment)


def test_a_caller_wins_over_the_environment_and_that_over_toml(config: Config, workspace: Path) -> None:
    path = workspace / "config" / "orchestrator.toml"
    path.write_text(f'{path.read_text("utf-8")}\ndataset = "toml"\nlanguage = "ja"\nmax_calls = 9\n', "utf-8")

    resolved = _resolve(
        load_config(workspace),
        RunOptions(dataset="caller"),
        RunOptions(dataset="environment", language="en"),
    )

    assert (resolved.options.dataset, resolved.options.language, resolved.options.max_calls) == ("caller", "en", 9)
    assert resolved.origins["dataset"] == "caller"
    assert resolved.origins["language"] == "environment"
    assert "orchestrator.toml" in resolved.origins["max_calls"]
    assert resolved.origins["max_tokens"] == "default"
    assert config.options == RunOptions(depth="standard")


def test_run_options_come_from_the_env_file_and_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("CONTEND_MODEL=small\nCONTEND_SOURCES=local, arxiv\n", "utf-8")
    monkeypatch.setenv("CONTEND_MODEL", "large")

    options = environment_options()

    assert options.model == "large"
    assert options.sources == ["local", "arxiv"]


def test_an_unusable_environment_value_names_its_variable_and_value() -> None:
    with pytest.raises(InputError, match="max_rounds = 'many'"):
        environment_options({"CONTEND_MAX_ROUNDS": "many"})


def test_a_maximum_below_the_configured_minimum_lowers_the_minimum(config: Config) -> None:
    resolved = _resolve(config, RunOptions(max_rounds=1), RunOptions(min_rounds=None))

    assert (resolved.options.min_rounds, resolved.options.max_rounds) == (1, 1)


def test_rounds_that_contradict_each_other_are_refused(config: Config) -> None:
    with pytest.raises(InputError, match="min_rounds 5 is above max_rounds 2: raise the one or lower the other"):
        _resolve(config, RunOptions(min_rounds=5, max_rounds=2), RunOptions())


def test_an_unknown_team_is_refused_with_the_known_ones(config: Config) -> None:
    with pytest.raises(InputError, match="no team 'gamma'; choose from alpha, beta"):
        _resolve(config, RunOptions(teams=["gamma"]), RunOptions())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("orchestrator.toml", "[orchestrator\n", "not valid TOML"),
        (
            "orchestrator.toml",
            "[orchestrator]\nrounds = 3\nteams = [{config = 'x'}]\n",
            "unknown key 'orchestrator.rounds'",
        ),
        ("orchestrator.toml", "[orchestrator]\nmax_rounds = 11\nteams = [{config = 'x'}]\n", "max_rounds = 11"),
        ("orchestrator.toml", "[orchestrator]\nteams = []\n", "teams"),
        ("teams/alpha.toml", 'team_id = "../x"\nname = "X"\nsources = ["local"]\n', "team_id"),
        ("teams/alpha.toml", 'team_id = "beta"\nname = "X"\nsources = ["local"]\n', "is taken by another team"),
    ],
)
def test_a_config_file_with_a_fault_is_named_with_its_fault(
    workspace: Path, name: str, text: str, message: str
) -> None:
    write_workspace(workspace)
    (workspace / "config" / name).write_text(text, "utf-8")

    with pytest.raises(InputError, match=r"\.toml: ") as excinfo:
        load_config(workspace)

    assert message in str(excinfo.value)
    assert "\n" not in str(excinfo.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("orchestrator.toml", "[orchestrator]\nmax_rounds = 9\n"),
        ("evaluator.toml", "[evaluator]\nnear_tie = 0\n"),
        ("judgment.toml", "[judgment]\npatience = 5\n"),
        ("judgment.toml", ""),
        ("models.toml", "[max_output_tokens]\nwriter = 99\n"),
        ("models.toml", 'default = "small"\n'),
    ],
)
def test_keys_that_a_config_file_leaves_out_keep_the_shipped_values(workspace: Path, name: str, text: str) -> None:
    shipped = _values(load_config(workspace))
    (workspace / "config").mkdir(parents=True)
    (workspace / "config" / name).write_text(text, "utf-8")

    own = _values(load_config(workspace))

    assert len(own.items() - shipped.items()) == len(text.splitlines()[-1:])
    assert own.keys() == shipped.keys()


def _values(config: Config) -> dict[str, str]:
    """All values but the files', by dotted name."""
    tables = {name: getattr(config, name).model_dump() for name in ("orchestrator", "evaluator", "judgment")}
    models = config.models.model_dump()
    tables["lengths"], tables["models"] = models.pop("max_output_tokens"), models
    return {f"{table}.{key}": repr(value) for table, values in tables.items() for key, value in values.items()}


def test_a_workspace_may_say_where_it_lies(workspace: Path) -> None:
    write_workspace(workspace)
    path = workspace / "config" / "orchestrator.toml"
    text = path.read_text("utf-8")

    for named in (".", workspace):
        path.write_text(text.replace("[orchestrator]", f"[orchestrator]\nworkspace_path = '{named}'"), "utf-8")
        assert load_config(workspace).orchestrator.workspace_path == Path(named)


def test_a_workspace_path_that_is_not_the_workspace_in_effect_is_refused_with_the_way(workspace: Path) -> None:
    write_workspace(workspace)
    path = workspace / "config" / "orchestrator.toml"
    text = path.read_text("utf-8")
    path.write_text(text.replace("[orchestrator]", "[orchestrator]\nworkspace_path = '../other'"), "utf-8")

    with pytest.raises(InputError) as excinfo:
        load_config(workspace)

    assert str(excinfo.value) == (
        f"{path}: orchestrator.workspace_path = '../other' is not the workspace in effect, {workspace}: "
        "remove the key, or name that folder with --workspace or CONTEND_WORKSPACE"
    )


def test_weights_that_do_not_add_up_are_refused(workspace: Path) -> None:
    write_workspace(workspace)
    metrics = "".join(f'[[evaluator.metrics]]\nname = "{name}"\nweight = 0.4\n' for name in ("coverage", "relevance"))
    (workspace / "config" / "evaluator.toml").write_text(metrics, "utf-8")

    with pytest.raises(InputError, match=r"weights sum to 0\.8, not to 1"):
        load_config(workspace)


def test_what_the_shipped_files_set_is_the_default(tmp_path: Path) -> None:
    config = load_config(tmp_path)

    teams = config.orchestrator.teams
    assert config.orchestrator == OrchestratorSettings(teams=teams)
    assert config.judgment == JudgmentConfig()
    assert config.evaluator == EvaluatorConfig(metrics=config.evaluator.metrics)
    weights = config.evaluator.weights()
    assert {name: weights[name] for name in CODE_METRIC_NAMES} == {
        "citation_validity": 0.0, "citation_support": 0.1, "point_coverage": 0.0,
    }  # fmt: skip
    assert {metric.name for metric in config.evaluator.metrics if metric.kind == "model"} == {
        "coverage", "correctness", "insight", "instructions", "clarity_coherence",
    }  # fmt: skip


def test_the_defaults_of_a_contest() -> None:
    limits = OrchestratorSettings(teams=[TeamReference(config=Path("x.toml"))])

    assert (limits.min_rounds, limits.max_rounds, limits.max_concurrent_teams) == (1, 3, 8)
    assert (limits.timeout_per_team_seconds, limits.max_retries_per_team) == (600, 0)
    assert JudgmentConfig().model_dump() == {
        "target_score": None, "min_improvement": 0.01, "patience": 2, "budget_reserve": 0.15,
        "confidence_threshold": 0.5,
    }  # fmt: skip
    scoring = EvaluatorConfig(metrics=[MetricConfig(name="coverage")])
    assert (scoring.near_tie, scoring.samples, scoring.expected_score) == (0.02, 1, False)


def test_a_given_workspace_wins_over_the_environment_and_that_over_the_nearest_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_workspace(tmp_path / "near")
    inside = tmp_path / "near" / "deep" / "deeper"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    nearest = load_settings().folder
    monkeypatch.setenv("CONTEND_WORKSPACE", str(tmp_path / "told"))

    assert nearest == tmp_path / "near"
    assert load_settings().folder == tmp_path / "told"
    assert load_settings(workspace=tmp_path / "given").folder == tmp_path / "given"


def test_without_a_workspace_near_the_users_own_data_folder_is_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    assert load_settings().folder == tmp_path / "data" / "contend"


def test_networks_to_read_pages_from_are_named_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEND_FETCH_ALLOW", "10.0.0.0/8, fd00::/8,192.168.1.5")

    assert list(map(str, load_settings().fetch_allow)) == ["10.0.0.0/8", "fd00::/8", "192.168.1.5/32"]


@pytest.mark.parametrize("value", ["", " "])
def test_no_network_is_named_by_default_and_by_an_empty_variable(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    assert load_settings().fetch_allow == []

    monkeypatch.setenv("CONTEND_FETCH_ALLOW", value)

    assert load_settings().fetch_allow == []


@pytest.mark.parametrize("value", ["wiki.example.org", "10.0.0.1/8", "10.0.0.0/33"])
def test_what_is_no_network_is_refused_with_an_example(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("CONTEND_FETCH_ALLOW", value)

    with pytest.raises(InputError, match=r"CONTEND_FETCH_ALLOW names no network: .*; give one such as 10\.0\.0\.0/8"):
        load_settings()


@pytest.mark.parametrize("value", ["-1", "21", "many"])
def test_read_top_is_a_number_up_to_20(value: str) -> None:
    with pytest.raises(InputError, match="read_top"):
        environment_options({"CONTEND_READ_TOP": value})


def test_folders_are_settled_when_settings_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEND_WORKSPACE", "told")
    settings = load_settings()
    (tmp_path / "elsewhere").mkdir()

    monkeypatch.chdir(tmp_path / "elsewhere")

    assert settings.folder == tmp_path / "told"
    assert settings.locate("papers") == tmp_path / "papers"
    assert settings.locate("/papers") == Path("/papers")


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_BASE_URL"])
def test_an_empty_variable_turns_off_what_the_env_file_sets(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    Path(".env").write_text(f"{name}=http://127.0.0.1:9/v1\n", "utf-8")
    assert load_settings().has_language_model

    monkeypatch.setenv(name, "")

    assert not load_settings().has_language_model


@pytest.mark.parametrize(
    ("depth", "settled"),
    [
        ("quick", (1, 2, 2, 10, False, "standard", 1200, True)),
        (None, (1, 2, 2, 20, True, "standard", 2400, False)),
        ("standard", (1, 2, 2, 20, True, "standard", 2400, False)),
        ("deep", (1, 3, 2, 30, True, "long", 3600, False)),
    ],
)
def test_a_depth_settles_rounds_drafts_steps_editor_length_and_time(
    workspace: Path, depth: str | None, settled: tuple[object, ...]
) -> None:
    resolved = _resolve(load_config(workspace), RunOptions.model_validate({"depth": depth}), RunOptions())

    options = resolved.options
    assert settled == (
        options.min_rounds,
        options.max_rounds,
        options.max_iterations,
        options.max_steps,
        options.synthesis,
        options.length,
        options.timeout_per_team_seconds,
        options.mends_only,
    )
    assert resolved.origins["max_rounds"] == f"depth {depth or 'auto'}"
    assert resolved.origins["depth"] == ("caller" if depth else "default")


def test_what_is_set_itself_wins_over_its_depth_wherever_it_is_set(workspace: Path) -> None:
    (workspace / "config").mkdir(parents=True)
    (workspace / "config" / "orchestrator.toml").write_text(
        '[orchestrator]\nmax_rounds = 4\ntimeout_per_team_seconds = 77\n\n[options]\nlength = "brief"\n', "utf-8"
    )

    resolved = _resolve(
        load_config(workspace), RunOptions(depth="quick", synthesis=True), RunOptions(max_iterations=3, depth="deep")
    )

    options = resolved.options
    assert (options.depth, options.max_rounds, options.timeout_per_team_seconds) == ("quick", 4, 77)
    assert (options.length, options.synthesis, options.max_iterations) == ("brief", True, 3)
    assert resolved.origins["timeout_per_team_seconds"] == "config/orchestrator.toml"
    assert resolved.origins["max_iterations"] == "environment"


@pytest.mark.parametrize(
    ("values", "toml", "rounds"),
    [
        ({"depth": "quick", "max_rounds": 2}, "", (1, 2)),
        ({"depth": "quick"}, "max_rounds = 1", (1, 1)),
        ({"depth": "quick", "min_rounds": 3}, "", (3, 3)),
        ({"depth": "quick"}, "min_rounds = 2", (2, 2)),
        ({"max_rounds": 1}, "min_rounds = 2", (1, 1)),
        ({"min_rounds": 5}, "max_rounds = 2", (5, 5)),
    ],
)
def test_a_bound_of_rounds_that_is_set_moves_one_that_only_follows_the_depth(
    workspace: Path, values: dict[str, object], toml: str, rounds: tuple[int, int]
) -> None:
    (workspace / "config").mkdir(parents=True)
    (workspace / "config" / "orchestrator.toml").write_text(f"[orchestrator]\n{toml}\n", "utf-8")

    options = _resolve(load_config(workspace), RunOptions.model_validate(values), RunOptions()).options

    assert (options.min_rounds, options.max_rounds) == rounds
    assert not options.mends_only
