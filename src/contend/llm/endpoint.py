"""What asks a language model, whoever made its client: one protocol, and what goes in and comes out."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypedDict

from contend.errors import ModelError
from contend.llm.logprobs import ReplyToken


class FormatRefused(ModelError):  # noqa: N818 - named by what the caller meets
    """The endpoint doesn't know the reply format that was asked for."""


class OptionRefused(ModelError):  # noqa: N818 - named by what the caller meets
    """The endpoint doesn't know an option of the call that it can do without: `option` as `complete` names it."""

    option = ""


class LogprobsRefused(OptionRefused):
    """The endpoint doesn't tell how likely its tokens were."""

    option = "logprobs"


class TemperatureRefused(OptionRefused):
    """The model chooses its temperature itself, as OpenAI's reasoning models do."""

    option = "temperature"


class NoAnswer(Exception):  # noqa: N818 - it says why, and is caught where the endpoint was asked
    """Why an endpoint's models could not be had."""


class SlowAnswer(NoAnswer):
    """It took the connection and was not done in time: it may be busy, or load a model."""


class SettingNames(NamedTuple):
    """What a person sets to change an endpoint's address and key, as errors name it."""

    url: str = "OPENAI_BASE_URL"
    key: str = "OPENAI_API_KEY"


class CallLimits(TypedDict, total=False):
    """What holds for every call of an endpoint; the deadline for a call with all its repeats."""

    call_deadline_seconds: float
    max_calls_in_flight: int
    max_retries: int


class Turn(NamedTuple):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


class Completion(NamedTuple):
    """What the endpoint answered. Token counts are None where it sends none; `tokens` only where asked for."""

    text: str
    cut_off: bool
    refusal: str
    input_tokens: int | None
    output_tokens: int | None
    tokens: Sequence[ReplyToken] = ()


class Endpoint(Protocol):
    """Language models behind one client and one limit of calls in flight, which all teams share.

    `without_schemas` holds models that refused a JSON schema once, `refused_options` a model and an option of
    `complete` that it refused once.
    """

    without_schemas: set[str]
    refused_options: set[tuple[str, str]]

    @property
    def address(self) -> str:
        """Where it is, fit to be shown."""
        ...

    @property
    def remedy(self) -> str:
        """What to look at where it does not answer."""
        ...

    async def complete(
        self,
        model: str,
        turns: Sequence[Turn],
        *,
        max_output_tokens: int,
        response_format: Mapping[str, Any],
        logprobs: bool = False,
        temperature: float | None = None,
    ) -> Completion:
        """Ask one model once; at most `max_output_tokens` come back. Without a `temperature` the model has its own.

        Raises:
            ModelError: refused, unreachable, or not done within the deadline; FormatRefused for the reply format,
                OptionRefused for `logprobs` or `temperature`.
        """
        ...

    async def models(self, wanted: Sequence[str]) -> list[str]:
        """The models that it has, as far as it tells; nothing is computed.

        Raises:
            NoAnswer: it cannot be used for those that are wanted; says why.
            SlowAnswer: connected, and not done in time.
        """
        ...

    async def context_tokens(self, model: str) -> int | None:
        """The tokens that a model can read, where the endpoint tells."""
        ...

    async def aclose(self) -> None:
        """Close the running loop's connections; a later call opens new ones."""
        ...
