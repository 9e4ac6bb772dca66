"""Hard budgets of an execution. A call reserves its maximum cost before, and settles its actual cost after."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from contend.clock import RunClock
from contend.errors import BudgetExhausted, InputError, Limit
from contend.models.options import ResolvedOptions
from contend.models.task import CallUsage, RunUsage
from contend.settings.files import ModelPrice

_MILLION = 1_000_000
_ROUNDING = 1e-9
_REMEDY = "raise it or leave it out"


def limits_of(options: ResolvedOptions) -> dict[Limit, float]:
    """The limits of an execution. Tokens are input and output; minutes are active ones."""
    limits: dict[Limit, float | None] = {name: getattr(options, name) for name in get_args(Limit)}
    return {name: limit for name, limit in limits.items() if limit is not None}


@dataclass(eq=False, frozen=True)
class Reservation:
    """The maximum cost of a call, held until it is settled or released."""

    amounts: Mapping[Limit, float]


class Ledger:
    """What an execution has used and reserved, so that parallel calls cannot exceed a limit together.

    Dropped when the run ends or waits, and seeded again when it resumes.
    """

    def __init__(self, limits: Mapping[Limit, float] | None = None, *, clock: RunClock | None = None) -> None:
        self.limits = limits or {}
        self.clock = clock or RunClock()
        self.usage = RunUsage()
        """Cost of the settled calls, including failed replies."""
        self._calls: dict[str, CallUsage] = {}
        self._reservations: set[Reservation] = set()
        self._refusing_limit: Limit | None = None

    @property
    def counts_tokens(self) -> bool:
        """Whether a call's size decides anything: estimating it costs time."""
        return not self.limits.keys().isdisjoint({"max_tokens", "max_usd"})

    def seed(self, calls: Iterable[CallUsage], seconds: float) -> None:
        """Replace the known calls by what the execution used before a resume."""
        self.usage, self._calls = RunUsage(), {}
        self.know(calls)
        self.clock.carry(seconds)

    def know(self, calls: Iterable[CallUsage]) -> None:
        """Count calls of an earlier process; calls already counted change nothing."""
        new = {call.call_key: call for call in calls if call.call_key not in self._calls}
        for call in new.values():
            self._count(call)

    def calls_of(self, team_id: str) -> dict[int, list[CallUsage]]:
        """A team's calls by round, including unfinished rounds."""
        by_round: dict[int, list[CallUsage]] = {}
        for key, call in self._calls.items():
            team, number, *_ = key.split("/")
            if team == team_id:
                by_round.setdefault(int(number), []).append(call)
        return by_round

    def reserve(self, *, input_tokens: int, output_tokens: int, price: ModelPrice | None = None) -> Reservation:
        """Reserve the maximum cost of a call.

        Raises:
            BudgetExhausted: with the calls in flight, the call would exceed a limit; names the limit.
            InputError: there is a limit in dollars and no price.
        """
        usd = cost_usd(price, input_tokens=input_tokens, output_tokens=output_tokens)
        if usd is None and "max_usd" in self.limits:
            raise InputError("max_usd needs the model's price: add it under [prices] in config/models.toml")
        wish = Reservation(
            {"max_tokens": input_tokens + output_tokens, "max_usd": usd or 0.0, "max_calls": 1, "max_minutes": 0.0}
        )
        amounts = self._amounts()
        for name, limit in self.limits.items():
            in_flight = sum(reservation.amounts[name] for reservation in (*self._reservations, wish))
            if amounts[name] + in_flight > limit + _ROUNDING:
                self._refusing_limit = name
                raise BudgetExhausted(
                    f"{name} = {limit:g} would be exceeded by the next model call; {_REMEDY}", limit=name
                )
        self._reservations.add(wish)
        return wish

    def settle(self, reservation: Reservation, usage: CallUsage) -> None:
        """Replace the reservation by the actual cost."""
        self._reservations.discard(reservation)
        self._count(usage)

    def _count(self, call: CallUsage) -> None:
        before = self._calls.get(call.call_key)
        self._calls[call.call_key] = call if before is None else before + call
        self.usage += call

    def release(self, reservation: Reservation) -> None:
        """Release a reservation; a settled one stays settled."""
        self._reservations.discard(reservation)

    def remaining_share(self) -> float:
        """The smallest remaining share of any limit, 0.0 to 1.0; 1.0 without limits."""
        amounts = self._amounts()
        shares = (1 - amounts[name] / limit for name, limit in self.limits.items())
        return max(0.0, min(shares, default=1.0))

    def exhausted_limit(self) -> Limit | None:
        """The limit that ended the run, because it is used up or refused a call; else None."""
        amounts = self._amounts()
        return next(
            (name for name, limit in self.limits.items() if amounts[name] >= limit - _ROUNDING), self._refusing_limit
        )

    def _amounts(self) -> dict[Limit, float]:
        return {
            "max_tokens": self.usage.input_tokens + self.usage.output_tokens,
            "max_usd": self.usage.cost_usd or 0.0,
            "max_calls": self.usage.requests,
            "max_minutes": self.clock.seconds / 60,
        }


def cost_usd(
    price: ModelPrice | None, *, input_tokens: float, output_tokens: float, cached_tokens: float = 0
) -> float | None:
    """What that many tokens cost, in US dollars; None without a price. `cached_tokens`: of the input."""
    if price is None:
        return None
    cached = price.input if price.cached_input is None else price.cached_input
    new = input_tokens - cached_tokens
    return (new * price.input + cached_tokens * cached + output_tokens * price.output) / _MILLION


def require_price(models: Iterable[str], prices: Mapping[str, ModelPrice]) -> None:
    """Check before a run that each model has a price, for a limit in dollars.

    Raises:
        InputError: a model has no price; names all of those.
    """
    without_price = sorted({model for model in models if model not in prices})
    if without_price:
        raise InputError(
            f"max_usd needs the price of {', '.join(without_price)}: add it under [prices] in config/models.toml,"
            " or limit tokens instead"
        )
