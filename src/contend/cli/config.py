"""A workspace's config: every value in effect and where it came from, and a new one from the shipped files."""

import asyncio
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import SecretStr

from contend.cli import COMMAND, input_error, tr, ui
from contend.errors import StoreError
from contend.models.options import DEPTHS, RunOptions
from contend.prompts import PromptBuilderSettings, PromptLibrary
from contend.readiness import models_of_run
from contend.services import Services
from contend.settings import RunSetup, Settings
from contend.settings.files import Config, resource
from contend.stores import write_file

_FROM_THEME = "auto"
_TEMPLATES = "config/prompt_builder.toml"
_SHIPPED_FOLDERS = ("config", "prompts")
_EXAMPLE = ".env.example"
_GITIGNORE = ".gitignore"
_NOT_FOR_GIT = """# Keys.
.env
# Files that contend generates. Playbooks are worth keeping in version control.
/.langgraph_api/
/checkpoints.sqlite*
/contend.duckdb*
/contend-results/
/documents/
/leases/
/results/
"""


class Value(NamedTuple):
    """One value: its dotted name, what it is as JSON, where it came from."""

    name: str
    value: Any
    origin: str


def show_config(*, prompts: bool) -> None:
    """Every value in effect, or the file behind each prompt.

    Raises:
        InputError: a file, prompt or variable is not usable.
    """
    if prompts:
        _show_prompts()
        return
    settings = COMMAND.settings()
    services = Services(settings)
    config, templates = services.config, services.templates
    models = _flat("models", config.models.model_dump(mode="json"), "config/models.toml")
    values = [*_process(settings), *_options(services), *models, *_templates(templates), *_files(config)]
    if ui.print_json([value._asdict() for value in values]):
        return
    cells = [(value.name, _value_text(value.value), (value.origin, "dim")) for value in values]
    ui.show(ui.plain_table("Value", "", "From", rows=cells, fold={"Value", "", "From"}))
    ui.say()
    ui.advise("contend config show --prompts", "contend doctor")


def _show_prompts() -> None:
    folder = COMMAND.settings().folder
    rows = PromptLibrary(folder, PromptBuilderSettings.load(folder)).table()
    if ui.print_json([row._asdict() for row in rows]):
        return
    cells = [(row.name, row.language, " ".join(row.variables), (ui.short_path(row.path), "dim")) for row in rows]
    ui.show(ui.plain_table("Prompt", "", "Variables", "File", rows=cells, fold={"Prompt", "Variables", "File"}))
    ui.say("A file of the same name under {folder} takes a prompt's place.", folder=folder / "prompts")


def _process(settings: Settings) -> Iterator[Value]:
    yield Value("workspace", str(settings.folder), _workspace_origin(settings))
    plain_values = settings.model_dump(mode="json")
    for name in [name for name in Settings.model_fields if name != "workspace"]:
        is_secret = isinstance(getattr(settings, name), SecretStr)
        value = "(set, hidden)" if is_secret else _without_password(plain_values[name])
        yield Value(name, value, _origin(name, f".env {_variable(name)}", is_set=name in settings.model_fields_set))


def _workspace_origin(settings: Settings) -> str:
    if COMMAND.workspace is not None:
        return "--workspace"
    if settings.workspace is not None:
        return _origin("workspace", ".env CONTEND_WORKSPACE", is_set=True)
    near = (settings.folder / "config" / "orchestrator.toml").is_file()
    return "nearest folder with config/orchestrator.toml" if near else "per-user folder"


def _origin(name: str, file: str, *, is_set: bool) -> str:
    """Of a setting or template: its variable, the file, or neither."""
    variable = _variable(name)
    if variable in os.environ:
        return f"environment {variable}"
    return file if is_set else "default"


def _variable(name: str) -> str:
    field = Settings.model_fields.get(name)
    return str(field.validation_alias) if field and field.validation_alias else f"CONTEND_{name.upper()}"


def _options(services: Services) -> Iterator[Value]:
    setup, templates = services.resolve(RunOptions()), services.templates
    values = setup.options.model_dump(mode="json")
    origins = _option_origins(setup)
    if setup.origins["language"] == "default":
        values["language"] = _FROM_THEME
    values["teams"] = [team.team_id for team in setup.teams]
    most = DEPTHS[setup.options.depth].teams
    if not setup.teams_named and most is not None:
        origins["teams"] += f"; depth {setup.options.depth} enters {most} of them at most"
    for name in [name for name in values if name not in {"round_prompt", "contexts", "criteria_file"}]:
        yield from _flat(f"run.{name}", values[name], origins[name])
    for name, value in templates.round_prompt.model_dump(mode="json").items():
        is_set = name in templates.round_prompt.model_fields_set
        yield Value(f"run.round_prompt.{name}", value, _origin(f"ROUND_PROMPT__{name}", _TEMPLATES, is_set=is_set))
    # How many tokens each model reads: the endpoint is asked for those that config leaves out.
    contexts = asyncio.run(services.models.contexts(models_of_run(setup.options, setup.teams)))
    yield from (Value(f"run.contexts.{name}", tokens, origin) for name, (tokens, origin) in contexts.items())


def _option_origins(setup: RunSetup) -> dict[str, str]:
    origins = {"teams": "config/orchestrator.toml", **setup.origins}
    if "model" in origins and origins["models"] == "config/models.toml":
        origins["models"] = origins["model"]
    elif not setup.options.models and origins["models"] == "config/models.toml":
        origins["models"] = "no OPENAI_API_KEY or OPENAI_BASE_URL"
    if origins["language"] == "default":
        origins["language"] = "default: the theme's own"
    return {name: f"{origin} CONTEND_*" if origin == "environment" else origin for name, origin in origins.items()}


def _templates(templates: PromptBuilderSettings) -> Iterator[Value]:
    for name in ("team_user_prompt", "evaluator_user_prompt", "judgment_user_prompt"):
        own = getattr(templates, name) is not None
        yield Value(name, "(own template)" if own else "(prompt file)", _origin(name, _TEMPLATES, is_set=own))


def _files(config: Config) -> Iterator[Value]:
    for name, path in config.files.items():
        origin = "shipped" if path.is_relative_to(resource("config")) else "workspace"
        yield Value(f"file {name}", str(path), origin)


def _flat(name: str, value: object, origin: str) -> Iterator[Value]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner, origin)
    else:
        yield Value(name, value, origin)


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    if isinstance(value, list):
        return ", ".join(str(item.get("name", item) if isinstance(item, dict) else item) for item in value) or "–"
    return "–" if value is None or value == {} else str(value)


def _without_password(value: Any) -> Any:  # noqa: ANN401 - any setting
    from urllib.parse import urlsplit, urlunsplit

    if not isinstance(value, str) or "@" not in value:
        return value
    parts = urlsplit(value)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def write_workspace(folder: Path, *, force: bool) -> None:
    """Copy config, prompts and `.env.example`, all of them or none; a `.gitignore` that is there stays.

    Raises:
        InputError: files are there, and `force` is not given; names the first.
        StoreError: the folder cannot be written.
    """
    target = folder.expanduser().absolute()
    if target.is_file():
        raise input_error("{path} is a file: name a folder", path=target)
    if target.exists() and not os.access(target, os.W_OK):
        raise StoreError(tr("{path} cannot be written: mend its rights or choose another folder", path=target))
    files = _shipped_files(target)
    present = [path for path in files if path.exists()]
    if present and not force:
        more = " " + tr("and {count} more", count=len(present) - 1) if len(present) > 1 else ""
        raise input_error(
            "{path} would be overwritten: choose another folder, or overwrite with --force", path=f"{present[0]}{more}"
        )
    for path, text in files.items():
        write_file(path, text)
    if not (ignored := target / _GITIGNORE).exists():
        files[ignored] = _NOT_FOR_GIT
        write_file(ignored, _NOT_FOR_GIT)
    count = ui.counted(len(files), "file")
    names = f"config/, prompts/, {', '.join(path.name for path in files if path.name in {_EXAMPLE, _GITIGNORE})}"
    ui.say("Wrote {count} into {folder}: {names}", count=count, folder=ui.plain(str(target)), names=names)
    there = f"--workspace {shlex.quote(str(target))}"
    ui.advise(f"contend doctor {there}", f"contend run THEME --docs FOLDER {there}")


def _shipped_files(target: Path) -> dict[Path, str]:
    """What is written where."""
    files = {target / _EXAMPLE: resource(_EXAMPLE).read_text("utf-8")}
    for name in _SHIPPED_FOLDERS:
        source = resource(name)
        paths = (path for path in sorted(source.rglob("*")) if path.is_file())
        files |= {target / name / path.relative_to(source): path.read_text("utf-8") for path in paths}
    return files
