"""What a prompt may show, as a typed model: its variables, which of them come from outside, its preflight sample."""

from collections.abc import Mapping
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Self, Union, cast, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict

from contend.prompts.wrapping import Untrusted


def outside(label: str) -> AfterValidator:
    """Marks a field as text that somebody else wrote: it reaches templates between delimiters of this name."""
    return AfterValidator(partial(Untrusted, label=label))


Text = Annotated[str, outside("text")]
Question = Annotated[str, outside("question")]
Query = Annotated[str, outside("query")]
Instructions = Annotated[str, outside("instructions")]
Feedback = Annotated[str, outside("feedback")]
DraftText = Annotated[str, outside("draft")]
SubmissionText = Annotated[str, outside("submission")]
PassageText = Annotated[str, outside("passage")]
Title = Annotated[str, outside("title")]
Heading = Annotated[str, outside("heading")]
Sentence = Annotated[str, outside("sentence")]
Arithmetic = Annotated[str, outside("arithmetic")]
LessonText = Annotated[str, outside("bullet")]
TeamName = Annotated[str, outside("team")]

SYSTEM_VARIABLES = ("metric", "rubric", "stance")
"""What system messages may show where the call has it. None of it comes from outside."""
PASSAGE_VARIABLES = ("passages", "head")
"""What holds a call's passages, alone or in the part that several calls begin with."""

_LONG = "Wind makes a bridge hum. 風が橋を鳴らす。\nAnother line <b>with</b> brackets."
_SHORT = {
    "question": "Why do bridges hum in the wind?",
    "query": "bridge hum",
    "title": "On bridges",
    "heading": "Wind › Cables",
    "file": "bridges.md",
    "arithmetic": "21.4 * 4",
    "team": "Scout",
    "section": "searching",
    "stance": "Look at the web first.",
    "metric": "coverage",
    "insight": "Check dates.",
    "bullet": "Check dates.",
    "lesson": "Check dates.",
    "dataset": "default",
    "team_id": "scout",
    "id": "b1",
    "head": "Question and passages",
    "brief": "Question: why do bridges hum?",
    "published": "2025-03-01",
    "place": "2.1.3",
}
"""Samples of what is never long, by label or name."""


class PromptPart(BaseModel):
    """A record within a prompt's values."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def variables(self) -> dict[str, object]:
        """The fields by name as plain data, outside text marked."""
        return {name: _plain(getattr(self, name)) for name in type(self).model_fields}

    @classmethod
    def sample(cls, *, full: bool = True) -> Self:
        """Made-up values: each field, or with `full` false only those without a default, as in a first round."""
        hints = get_type_hints(cls, include_extras=True)
        wanted = [name for name, field in cls.model_fields.items() if full or field.is_required()]
        return cls.model_validate({name: _sample(hints[name], name, full=full) for name in wanted})


class PromptValues(PromptPart):
    """One prompt's input. `prompt_name` names it in calls and records; its template is the file of that name.

    `always_shown`: values without which a reply would be about nothing, and how each stands at the end of a template of
    the user's own that leaves it out.
    """

    prompt_name: ClassVar[str]
    always_shown: ClassVar[Mapping[str, str]] = {}
    by_template: ClassVar[dict[str, type["PromptValues"]]] = {}

    def __init_subclass__(cls, *, prompt: str = "", template: str = "", **rest: Any) -> None:  # noqa: ANN401 - pydantic's
        super().__init_subclass__(**rest)
        if prompt:
            cls.prompt_name = prompt
            PromptValues.by_template[template or prompt] = cls

    @property
    def template(self) -> str:
        """The name of its file below `prompts/`."""
        return self.prompt_name


def samples_of(template: str) -> tuple[dict[str, object], dict[str, object]]:
    """A full and a sparse set of variables for a template: every field, and only those without a default."""
    agent, _, step = template.partition("/")
    kind = PromptValues.by_template.get(template) or PromptValues.by_template.get(f"{agent}/default")
    if step == "system":
        return _system_sample(agent), _system_sample(agent)
    return (kind.sample().variables(), kind.sample(full=False).variables()) if kind else ({}, {})


def _system_sample(agent: str) -> dict[str, object]:
    """What each call of the agent has of it."""
    kinds = [kind for kind in PromptValues.by_template.values() if kind.prompt_name.startswith(f"{agent}/")]
    return {name: name for name in SYSTEM_VARIABLES if all(name in kind.model_fields for kind in kinds)}


def _plain(value: object) -> object:
    match value:
        case PromptPart():
            return value.variables()
        case list():
            return [_plain(item) for item in value]
        case _:
            return value


def _sample(annotation: Any, name: str, *, full: bool) -> object:  # noqa: ANN401, PLR0911 - any field's type, a line for each
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        marks = [cast("partial[Untrusted]", each.func) for each in arguments[1:] if isinstance(each, AfterValidator)]
        return _SHORT.get(marks[0].keywords["label"], _LONG) if marks else _SHORT.get(name, name)
    if origin in {Union, UnionType}:
        return _sample(arguments[0], name, full=full) if full or NoneType not in arguments else None
    if origin is tuple:
        return tuple(_sample(each, name, full=full) for each in arguments)
    if origin is list:
        return [_sample(arguments[0], name, full=each) for each in (True, False)] if full else []
    if origin is dict:
        return {key: _sample(arguments[1], name, full=key == "coverage") for key in ("coverage", "insight")}
    if isinstance(annotation, type) and issubclass(annotation, PromptPart):
        return annotation.sample(full=full)
    number = 2 if full != (name == "number") else 1
    return {int: number, float: 0.7, bool: full}.get(annotation, _SHORT.get(name, name))
