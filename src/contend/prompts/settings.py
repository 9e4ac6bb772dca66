"""Prompt templates and limits that a workspace's TOML or the environment set."""

import os
import tomllib
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from contend.errors import InputError
from contend.models.round import RoundPromptConfig

FILE = "config/prompt_builder.toml"


class PromptBuilderSettings(BaseSettings):
    """Jinja2 templates that stand before the prompt files, for every language, and the limits of rounds' prompts.

    Each value comes from the caller, else the environment (`CONTEND_TEAM_USER_PROMPT`, …,
    `CONTEND_ROUND_PROMPT__SUBMISSION_PREVIEW_CHARS`), else the workspace's `config/prompt_builder.toml`. A template
    left None comes from the prompt files.
    """

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix="CONTEND_", env_nested_delimiter="__", extra="forbid"
    )

    workspace: Path | None = Field(None, exclude=True)
    team_user_prompt: str | None = None
    evaluator_user_prompt: str | None = None
    judgment_user_prompt: str | None = None
    round_prompt: RoundPromptConfig = Field(default_factory=RoundPromptConfig)

    @field_validator("team_user_prompt", "evaluator_user_prompt", "judgment_user_prompt")
    @classmethod
    def _not_blank(cls, template: str | None) -> str | None:
        if template is not None and not template.strip():
            raise ValueError("prompt template cannot be empty")
        return template

    @classmethod
    def load(cls, workspace: Path | None) -> Self:
        """The settings of a workspace.

        Raises:
            InputError: a value or key is not usable; names the file or the variable, and the key.
        """
        try:
            return cls(workspace=workspace)
        except SettingsError as error:
            raise InputError(f"environment: {error}; lists and tables are written as JSON") from error
        except ValidationError as error:
            raise InputError(_first_fault(error, workspace)) from error

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic-settings passes it by name
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the same
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Caller, environment, then the workspace's file."""
        workspace = init_settings().get("workspace") or env_settings().get("workspace")
        values = _read(Path(workspace).expanduser() / FILE) if workspace else {}
        return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=values)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error


def _first_fault(error: ValidationError, workspace: Path | None) -> str:
    fault = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in fault["loc"])
    variable = f"CONTEND_{key.upper().replace('.', '__')}"
    where = variable if variable in os.environ or workspace is None else f"{workspace / FILE}: {key}"
    if fault["type"] == "extra_forbidden":
        return f"{where}: unknown key; remove it or mend its spelling"
    return f"{where}: {fault['msg'].removeprefix('Value error, ')}"
