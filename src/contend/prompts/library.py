"""Every word a model reads: the prompt files and settings in effect, found by name and language."""

import os
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from contend.errors import InputError, PromptError
from contend.models.record import Language
from contend.models.round import RoundPromptConfig
from contend.prompts.templates import PromptTemplate
from contend.prompts.values import PASSAGE_VARIABLES, SYSTEM_VARIABLES, PromptValues, UntrustedText, delimit, samples_of
from contend.settings.files import read_toml, resource
from contend.text import WORDS

FILE = "config/prompt_builder.toml"


class PromptBuilderSettings(BaseSettings):
    """Jinja2 templates that stand before the prompt files, for every language, and the limits of rounds' prompts.

    Each value comes from the caller, else the environment (`CONTEND_TEAM_USER_PROMPT`, …,
    `CONTEND_ROUND_PROMPT__SUBMISSION_PREVIEW_CHARS`), else the workspace's `config/prompt_builder.toml`. A template
    left None comes from the prompt files.
    """

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix="CONTEND_", env_nested_delimiter="__", extra="forbid", use_attribute_docstrings=True
    )

    workspace: Path | None = Field(None, exclude=True)
    team_user_prompt: str | None = None
    """The template of a round's brief. Left out: `prompts/team/brief`."""
    evaluator_user_prompt: str | None = None
    """The template of a judge's prompt for one metric. Left out: `prompts/evaluator/metric`."""
    judgment_user_prompt: str | None = None
    """The template of the round judge's prompt. Left out: `prompts/judge/judgment`."""
    round_prompt: RoundPromptConfig = Field(default_factory=RoundPromptConfig)
    """Limits of the rounds' prompts."""

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
    def settings_customise_sources(  # type: ignore[override]  # pydantic-settings passes them by name
        cls, settings_cls: type[BaseSettings], **sources: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Caller, environment, then the workspace's file."""
        by_caller, environment = sources["init_settings"], sources["env_settings"]
        workspace = by_caller().get("workspace") or environment().get("workspace")
        path = Path(workspace).expanduser() / FILE if workspace else None
        values = read_toml(path) if path and path.is_file() else {}
        return by_caller, environment, InitSettingsSource(settings_cls, init_kwargs=values)


def _first_fault(error: ValidationError, workspace: Path | None) -> str:
    fault = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in fault["loc"])
    variable = f"CONTEND_{key.upper().replace('.', '__')}"
    where = variable if variable in os.environ or workspace is None else f"{workspace / FILE}: {key}"
    if fault["type"] == "extra_forbidden":
        return f"{where}: unknown key; remove it or mend its spelling"
    return f"{where}: {fault['msg'].removeprefix('Value error, ')}"


SUFFIX = ".md.j2"
LANGUAGES: tuple[Language, ...] = ("en", "ja")
SETTINGS = {
    "team/brief": "team_user_prompt",
    "evaluator/metric": "evaluator_user_prompt",
    "judge/judgment": "judgment_user_prompt",
}
"""Prompts that a setting may replace, for every language."""

_BY_DATASET = ("reflector", "curator")
_OPEN_FOLDERS = ("rubrics", "stance", *_BY_DATASET)


class RenderedPrompt(NamedTuple):
    """A call's two messages."""

    system: str
    user: str


class PromptRow(NamedTuple):
    """One prompt in effect: the file or setting behind it, and the variables it may use."""

    name: str
    path: str
    language: Language
    variables: tuple[str, ...]


class PromptSource(NamedTuple):
    """Where a prompt's text comes from: a file's path, or a setting as messages name it.

    `is_own`: the user wrote it. An unchanged copy of the shipped one, as `contend init` makes it, is nobody's.
    """

    place: str
    text: str
    is_own: bool


def local_now() -> datetime:
    """The present with the local zone."""
    return datetime.now(UTC).astimezone()


class PromptLibrary:
    """The prompts as they stood when the library was made; a workspace's files stand before the shipped ones.

    In each folder the language's variant (`name.ja.md.j2`) comes first, then the plain file. Templates compile at
    their first use, once for all libraries of a process; rendering reads no file.
    """

    def __init__(
        self,
        workspace: Path | None,
        overrides: PromptBuilderSettings | None = None,
        *,
        clock: Callable[[], datetime] = local_now,
    ) -> None:
        """Read the files.

        Raises:
            PromptError: a file cannot be read.
        """
        shipped_prompts = _shipped_prompts()
        own = {} if workspace is None else _read_folder(workspace / "prompts")
        self._folders = (
            {
                name: source._replace(is_own=name not in shipped_prompts or shipped_prompts[name].text != source.text)
                for name, source in own.items()
            },
            shipped_prompts,
        )
        self._overrides = overrides
        self._clock = clock

    def find(self, name: str, language: Language) -> PromptSource:
        """What stands behind a prompt such as `writer/write`. For a dataset's prompt, the default where it has none.

        Raises:
            PromptError: there is none.
        """
        if name in SETTINGS and (text := getattr(self._overrides, SETTINGS[name], None)):
            return PromptSource(f"setting {SETTINGS[name]}", text, is_own=True)
        agent, _, rest = name.partition("/")
        names = [name, f"{agent}/default"] if agent in _BY_DATASET and rest != "system" else [name]
        for each in names:
            for folder in self._folders:
                if source := folder.get(f"{each}.{language}") or folder.get(each):
                    return source
        raise PromptError(f"Jinja2 template error: no prompt named {name!r}; write it to prompts/{name}{SUFFIX}")

    def render(self, name: str, values: Mapping[str, object], *, language: Language, mark: str) -> str:
        """A prompt's text. `values` are plain data; each `UntrustedText` inside arrives delimited.

        `current_datetime` and `language_name` are there for every template.

        Raises:
            PromptError: no such prompt, or it does not render.
        """
        try:
            delimited_values = {key: delimit(value, mark) for key, value in values.items()}
        except TypeError as error:
            raise PromptError(f"Jinja2 template error: {name}: {error}") from error
        passages = sum(len(str(delimited_values.get(name, ""))) for name in PASSAGE_VARIABLES)
        source = self.find(name, language)
        template = _compile(source.text, source.place, language)
        return template.render(self._common(language) | delimited_values, passage_characters=passages)

    def today(self) -> date:
        """The day that prompts call today where nobody says otherwise."""
        return self._clock().date()

    def show(self, values: PromptValues, *, language: Language, mark: str) -> str:
        """A prompt's text.

        Raises:
            PromptError: no such prompt, or it does not render.
        """
        return self.render(values.template, values.variables(), language=language, mark=mark)

    def call(self, prompt: PromptValues, *, language: Language, mark: str) -> RenderedPrompt:
        """The messages of a model's call. The system message sees only variables that hold no outside text.

        Raises:
            PromptError: no such prompt, or it does not render.
        """
        values = prompt.variables()
        system_values = {name: values[name] for name in SYSTEM_VARIABLES if name in values}
        system = self.render(prompt.system, system_values, language=language, mark=mark)
        return RenderedPrompt(system, self._with_task(prompt, values, language=language, mark=mark))

    def _with_task(self, prompt: PromptValues, values: Mapping[str, object], *, language: Language, mark: str) -> str:
        """The prompt; what a template of the user's own does not show whole of `always_shown` stands at its end."""
        name = prompt.template
        text = self.render(name, values, language=language, mark=mark)
        forms = {key: form for key, form in prompt.always_shown.items() if values.get(key)}
        if not forms or not self.find(name, language).is_own:
            return text
        ends = {key: f"{key}-{secrets.token_hex(8)}" for key in forms}
        with_ends = {key: _with_end(values[key], end) for key, end in ends.items()}
        trial = self.render(name, {**values, **with_ends}, language=language, mark=mark)
        missing = [form.format(delimit(values[key], mark)) for key, form in forms.items() if ends[key] not in trial]
        return "\n\n".join([text, *missing])

    def check(self, language: Language) -> None:
        """Render every template of the user's own with sample values, full and sparse ones.

        The shipped ones are known to render, and to compile them all takes longer than all else before a run.

        Raises:
            PromptError: the first that does not render, or a file that no prompt is made from.
        """
        for name in self.names():
            if self.find(name, language).is_own:
                for values in samples_of(name):
                    self.render(name, values, language=language, mark="00000000")

    def table(self) -> list[PromptRow]:
        """Every prompt in both languages."""
        return [
            PromptRow(name, self.find(name, language).place, language, (*samples_of(name)[0], *self._common(language)))
            for name in self.names()
            for language in LANGUAGES
        ]

    def names(self) -> list[str]:
        """The names of all prompts in effect, sorted.

        Raises:
            PromptError: a workspace's file has a name that no prompt has.
        """
        own, shipped_names = ({_plain(name) for name in folder} for folder in self._folders)
        for name in sorted(own - shipped_names):
            if name.partition("/")[0] not in _OPEN_FOLDERS:
                path = next(source.place for key, source in self._folders[0].items() if _plain(key) == name)
                raise PromptError(
                    f"Jinja2 template error: {path}: no prompt has this name; see `contend config show --prompts`"
                )
        return sorted(own | shipped_names)

    def fingerprint(self, language: Language) -> str:
        """Eight hex digits over every text in effect: what a resume compares."""
        texts = [f"{name}\n{self.find(name, language).text}" for name in self.names()]
        return sha256("\0".join(texts).encode()).hexdigest()[:8]

    def _common(self, language: Language) -> dict[str, object]:
        return {
            "current_datetime": self._clock().isoformat(timespec="seconds"),
            "language_name": WORDS[language].language,
        }


def _with_end(value: object, end: str) -> str:
    """The text with something at its end, untrusted if it was."""
    text = f"{value}{end}"
    return UntrustedText(text, label=value.label) if isinstance(value, UntrustedText) else text


def _plain(name: str) -> str:
    return next((name.removesuffix(f".{language}") for language in LANGUAGES if name.endswith(f".{language}")), name)


@lru_cache(maxsize=512)
def _compile(text: str, label: str, language: Language) -> PromptTemplate:
    return PromptTemplate(text, label=label, language=language)


@lru_cache(maxsize=1)
def _shipped_prompts() -> dict[str, PromptSource]:
    return _read_folder(resource("prompts"))


def _read_folder(folder: Path) -> dict[str, PromptSource]:
    """Each file by its path below the folder, without the suffix."""
    return {
        path.relative_to(folder).as_posix().removesuffix(SUFFIX): PromptSource(str(path), _read(path), is_own=False)
        for path in sorted(folder.rglob(f"*{SUFFIX}"))
    }


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"Jinja2 template error: {path}: cannot be read as UTF-8 text: {error}") from error
