"""The one protocol behind which language models stand: nodes don't know which one answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from contend.models.options import Role
from contend.models.record import Language
from contend.models.replies import Reply
from contend.models.task import CallUsage
from contend.prompts import PromptValues

R = TypeVar("R", bound=Reply)


@dataclass(frozen=True)
class Scope:
    """Whose call it is. With the prompt's name it makes a key that is the same when a crash repeats the call.

    `sampled`: one of several replies to the same request, which are meant to differ. `passages` and `lessons`: the ids
    of those that the prompt shows under numbers from 1; `sentences`: the texts of those that it asks about so.
    """

    execution_id: str
    role: Role
    language: Language
    team_id: str = ""
    round_number: int = 0
    step: str = ""
    sampled: bool = False
    passages: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()

    def call_key(self, prompt: str) -> str:
        return f"{self.team_id}/{self.round_number}/{self.role}/{prompt}/{self.step}"


class Answer(NamedTuple, Generic[R]):
    """A reply in the agreed shape, and what it cost.

    `distribution`: how likely each value of the number in `distribution_over` was, 0.0 to 1.0; None where nobody asked
    or told.
    """

    value: R
    usage: CallUsage
    distribution: Mapping[int, float] | None = None


class Model(Protocol):
    """Answers prompts in an agreed shape."""

    name: str

    async def structured(
        self,
        prompt: PromptValues,
        reply_type: type[R],
        *,
        scope: Scope,
        distribution_over: str | None = None,
        faults: Callable[[R], str] | None = None,
    ) -> Answer[R]:
        """Ask. `distribution_over` names a whole number of the reply whose other likely values are of interest, too.

        `faults` says what is wrong with a reply of the right shape, "" where nothing is. The model is told so once, and
        its second reply stands; where that one is unreadable, the first does.

        Raises:
            ReplyError: no valid reply, also after one repair.
            ModelError: the endpoint failed within the call's deadline.
            BudgetExhausted: the call would exceed a hard budget; it was not made.
        """
        ...
