"""A run's options: each value settled, and where it came from."""

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple, get_origin

from dotenv import dotenv_values

from contend.errors import InputError
from contend.models.options import DEPTHS, Depth, DepthDefaults, ResolvedOptions, Role, RunOptions, TeamConfig
from contend.settings.files import Config, OrchestratorSettings, checked
from contend.text import detect_language

ROLES: tuple[Role, ...] = ("supervisor", "writer", "reviewer", "evaluator", "judge", "reflector", "curator")


class RunSetup(NamedTuple):
    """A run's options with every value settled, its teams, and where each value came from.

    `teams_named`: an option names the teams; else as many of them enter as the depth says.
    """

    options: ResolvedOptions
    teams: list[TeamConfig]
    origins: dict[str, str]
    teams_named: bool


def environment_options(environment: Mapping[str, str | None] | None = None) -> RunOptions:
    """Run options from `CONTEND_<NAME>`, in the environment or the `.env` file; lists may be comma-separated.

    Raises:
        InputError: a value is not usable; names the variable.
    """
    variables = {**dotenv_values(".env"), **os.environ} if environment is None else environment
    values = {
        name: _from_text(value, field.annotation)
        for name, field in RunOptions.model_fields.items()
        if (value := variables.get(f"CONTEND_{name.upper()}"))
    }
    return checked(RunOptions, values, "environment CONTEND_")


def resolve_options(
    config: Config, request: RunOptions, *, theme: str, has_language_model: bool, environment: RunOptions | None = None
) -> RunSetup:
    """Settle every option: caller, environment, workspace TOML, default.

    Raises:
        InputError: an unknown team, unusable rounds or weights.
    """
    layers = (
        ("caller", request),
        ("environment", environment_options() if environment is None else environment),
        ("config/orchestrator.toml [options]", config.options),
    )
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in reversed(layers):
        for name in layer.model_fields_set:
            if (value := getattr(layer, name)) is not None:
                values[name], origins[name] = value, origin
    options = _settle(config, values, theme=theme, has_language_model=has_language_model)
    _name_origins(config, origins, options.depth)
    return RunSetup(options, _choose_teams(config, values.get("teams")), origins, teams_named="teams" in values)


_BY_ITSELF = (
    "depth",
    "read_top",
    "dataset",
    "max_tokens",
    "max_usd",
    "max_minutes",
    "max_calls",
    "learn",
    "playbook",
    "lesson_tokens",
)
"""Options whose default follows from no other. A workspace's documents and sources are not a client's to send back."""


def shown_defaults(config: Config) -> dict[str, Any]:
    """What a form shows where nothing is given. Sent back as it is, it changes nothing.

    Raises:
        InputError: as `resolve_options`.
    """
    options = resolve_options(config, RunOptions(), theme="?", has_language_model=True).options
    values = options.model_dump(mode="json", include={*_BY_ITSELF})
    return {**values, "language": environment_options().language or config.options.language or "auto"}


def _settle(config: Config, values: dict[str, Any], *, theme: str, has_language_model: bool) -> ResolvedOptions:
    orchestrator, depth = config.orchestrator, values.get("depth", "standard")
    by_file = orchestrator.model_dump(exclude_unset=True)
    limits = {**DEPTHS[depth]._asdict(), **by_file}
    least = 1 if "max_rounds" in by_file else orchestrator.min_rounds
    rounds = {
        "min_rounds": min(orchestrator.min_rounds, values.get("max_rounds", orchestrator.min_rounds)),
        "max_rounds": max(limits["max_rounds"], values.get("min_rounds", least)),
    }
    language, judgment = values.get("language", "auto"), config.judgment
    if "target_score" in values:
        judgment = judgment.model_copy(update={"target_score": values["target_score"]})
    layers = {**limits, **rounds, **values}
    own = {
        **{name: value for name, value in layers.items() if name in ResolvedOptions.model_fields},
        "depth": depth,
        "models": _models(config, values, has_language_model=has_language_model),
        "language": detect_language(theme) if language == "auto" else language,
        "judgment": judgment,
        "evaluator": config.evaluator if values.get("instructions") else config.evaluator.without("instructions"),
    }
    return checked(ResolvedOptions, own, "options")


def _models(config: Config, values: dict[str, Any], *, has_language_model: bool) -> dict[Role, str]:
    """None where no endpoint is set and nobody names a model."""
    if not has_language_model and not values.keys() & {"model", "models"}:
        return {}
    models: dict[Role, str] = dict.fromkeys(ROLES, config.models.default)
    models |= config.models.roles
    if "model" in values:
        models = dict.fromkeys(ROLES, values["model"])
    models |= values.get("models", {})
    return models


def _name_origins(config: Config, origins: dict[str, str], depth: Depth) -> None:
    for name in OrchestratorSettings.model_fields:
        if name in config.orchestrator.model_fields_set:
            origins.setdefault(name, "config/orchestrator.toml")
    for name in ("models", "evaluator", "judgment"):
        origins.setdefault(name, f"config/{name}.toml")
    origins.setdefault("round_prompt", "config/prompt_builder.toml")
    for name in ResolvedOptions.model_fields:
        origins.setdefault(name, f"depth {depth}" if name in DepthDefaults._fields else "default")


def _choose_teams(config: Config, names: list[str] | None) -> list[TeamConfig]:
    if names is None:
        return list(config.teams.values())
    for team_id in names:
        if team_id not in config.teams:
            raise InputError(f"teams: no team {team_id!r}; choose from {', '.join(sorted(config.teams))}")
    return [config.teams[team_id] for team_id in dict.fromkeys(names)]


def _from_text(text: str, annotation: object) -> object:
    if text.startswith(("[", "{")):
        try:
            return json.loads(text)
        except ValueError:
            return text
    wants_list = any(get_origin(part) is list for part in getattr(annotation, "__args__", (annotation,)))
    return [part.strip() for part in text.split(",") if part.strip()] if wants_list else text
