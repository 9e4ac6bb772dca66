"""What a prompt may show, as a typed model: its variables, its sample, and text from outside between delimiters."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from hashlib import sha256
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    SupportsIndex,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from contend.text import clean, normalize

_LABEL = re.compile(r"[a-z]{1,20}")
_OPEN, _CLOSE = "[<‹〈《⟨❬❮]", "[>›〉》⟩❭❯]"
_DASH = r"[-_‐‑‒–—―−]"
_GAP = r"\s{0,3}"
_MARK_TAIL = rf"\w{{1,40}}{_GAP}{_DASH}{_GAP}[0-9a-f]{{6,}}{_GAP}{_CLOSE}?"
_CHAT_TOKEN = r"<\|[\w▁.-]{1,40}\|>"  # noqa: S105 - a local server may read these as turns of the chat
# One pattern for all labels and marks: to compile one for each would take a tenth of a short run.
_TAG = re.compile(
    rf"{_OPEN}{_GAP}/?{_GAP}(?:{_MARK_TAIL}|(?P<name>\w{{1,40}}){_GAP}{_CLOSE})|{_CHAT_TOKEN}", re.IGNORECASE
)
_INSTEAD = "(tag)"


class NumberedPart(NamedTuple):
    """A part of a text, behind a tag with its number such as `<P12-xxxxxxxx>`, which no text can hold."""

    number: int
    heading: str
    text: str


class UntrustedText(str):
    """Text that somebody else wrote: a query, a page, a submission, a lesson, a name.

    `label` (1 to 20 of a-z) becomes the delimiter's name and tells the model what the text is. `parts` follow the text
    before the delimiter closes. What str's methods make of it is a plain str again: mark the text last.
    """

    __slots__ = ("label", "parts")

    label: str
    parts: tuple[NumberedPart, ...]

    def __new__(cls, text: str, *, label: str = "text", parts: Iterable[NumberedPart] = ()) -> Self:
        if not _LABEL.fullmatch(label):
            raise ValueError(f"label must be 1 to 20 letters a-z, not {label!r}")
        new = super().__new__(cls, text)
        new.label, new.parts = label, tuple(parts)
        return new


class DelimitedText(str):
    """Untrusted text as templates meet it: cleaned and delimited. A slice of it is delimited again."""

    __slots__ = ("_inner", "_label", "_mark")

    _inner: str
    _label: str
    _mark: str

    def __new__(cls, inner: str, label: str = "text", mark: str = "") -> Self:
        gap = "\n" if "\n" in inner else ""
        new = super().__new__(cls, f"<{label}-{mark}>{gap}{inner}{gap}</{label}-{mark}>")
        new._inner, new._label, new._mark = inner, label, mark
        return new

    def __getitem__(self, key: SupportsIndex | slice) -> "DelimitedText":
        return DelimitedText(self._inner[key], self._label, self._mark)

    def summarize(self, max_len: int) -> "DelimitedText":
        """The first `max_len` characters and `...`; the same text when it is not longer."""
        if len(self._inner) <= max_len:
            return self
        return DelimitedText(f"{self._inner[:max_len]}...", self._label, self._mark)


def mark_of(execution_id: str) -> str:
    """The delimiters' mark of an execution: 8 hex characters, the same after a resume.

    Nobody outside can guess it, because execution ids are random (UUID4).
    """
    return sha256(f"contend delimiter {execution_id}".encode()).hexdigest()[:8]


def delimit(value: object, mark: str) -> object:
    """Plain data with every `UntrustedText` inside, nested too, cleaned and delimited. Blank ones become `""`.

    Raises:
        TypeError: something is not plain (str, int, float, bool, None, list, tuple, dict).
    """
    match value:
        case UntrustedText():
            return _delimit_text(value, mark)
        case str() | bool() | int() | float() | None:
            return value
        case Mapping():
            return {str(key): delimit(item, mark) for key, item in value.items()}
        case list() | tuple():
            return [delimit(item, mark) for item in value]
        case _:
            raise TypeError(f"{type(value).__name__} is not plain data")


def _delimit_text(value: UntrustedText, mark: str) -> str:
    parts = [
        f"<P{each.number}-{mark}> {clean(_neutral_text(each.heading, value.label, mark), single_line=True)}".rstrip()
        + f"\n{_neutral_text(each.text, value.label, mark)}"
        for each in value.parts
    ]
    inner = "\n\n".join(filter(None, [_neutral_text(str(value), value.label, mark), *parts]))
    return DelimitedText(inner, value.label, mark) if inner else ""


@lru_cache(maxsize=1024)
def _neutral_text(text: str, label: str, mark: str) -> str:
    """Kept, because all metrics of a submission and both who write and who review show the same texts."""
    return neutral(clean(text), label=label, mark=mark).strip()


def neutral(text: str, *, label: str, mark: str) -> str:
    """The text with `(tag)` for whatever resembles a delimiter or a chat template's token.

    Full-width and other folded letters are unfolded only where they would spell one.
    """
    plain = normalize(text)
    without = _TAG.sub(partial(_instead, label), plain)
    if mark and mark.lower() in without.lower():
        without = re.sub(re.escape(mark), _INSTEAD, without, flags=re.IGNORECASE)
    return text if without == plain else clean(without)


def _instead(label: str, tag: re.Match[str]) -> str:
    """Tags without a mark are those of HTML and XML, but for one with our own label."""
    name = tag["name"]
    return _INSTEAD if name is None or name.casefold() in {"text", label} else tag[0]


def without_delimiters(text: str, mark: str) -> str:
    """A model's text without the delimiters that it copied from its prompt."""
    return re.sub(rf"</?(?:[a-z]{{1,20}}|P\d+)-{re.escape(mark)}>(?:\\n)?", "", text)


def outside(label: str) -> AfterValidator:
    """Marks a field as text that somebody else wrote: it reaches templates between delimiters of this name."""
    return AfterValidator(partial(UntrustedText, label=label))


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
LessonText = Annotated[str, outside("bullet")]
TeamName = Annotated[str, BeforeValidator(partial(clean, single_line=True)), outside("team")]

SYSTEM_VARIABLES = ("metric", "rubric", "stance")
"""What system messages may show where the call has it. None of it comes from outside."""
PASSAGE_VARIABLES = ("passages", "head", "log", "nearest", "steps")
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
    "log": "Searches and what they brought",
    "brief": "Question: why do bridges hum?",
    "published": "2025-03-01",
    "place": "2.1.3",
}
"""Samples of what is never long, by label or name."""


class PromptPart(BaseModel):
    """A record within a prompt's values."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def variables(self) -> dict[str, object]:
        """The fields by name as plain data, outside text marked."""
        return {name: _plain(getattr(self, name)) for name in type(self).model_fields}

    @classmethod
    def sample(cls, *, full: bool = True) -> Self:
        """Made-up values: each field, or with `full` false only those without a default, as in a first round."""
        hints = get_type_hints(cls, include_extras=True)
        names = [name for name, field in cls.model_fields.items() if full or field.is_required()]
        return cls.model_validate({name: _sample(hints[name], name, full=full) for name in names})


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

    @property
    def system(self) -> str:
        """The name of the file of its system message."""
        return f"{self.prompt_name.partition('/')[0]}/system"

    @property
    def shared_beginning(self) -> str:
        """The beginning that this prompt shares with prompts for other replies; "" if none."""
        return ""


class OnSharedHead(PromptValues):
    """A call that begins with a round's evidence, the same for who writes, reviews and judges. `head`: rendered."""

    head: str

    @property
    def system(self) -> str:
        return "research/system"

    @property
    def shared_beginning(self) -> str:
        return self.head


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
        marks = [
            cast("partial[UntrustedText]", each.func) for each in arguments[1:] if isinstance(each, AfterValidator)
        ]
        return _SHORT.get(marks[0].keywords["label"], _LONG) if marks else _SHORT.get(name, name)
    if origin in {Union, UnionType}:
        return _sample(arguments[0], name, full=full) if full or NoneType not in arguments else None
    if origin is Literal:
        return arguments[0]
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
