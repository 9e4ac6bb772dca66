"""Hard budgets of one execution. A call reserves what it may cost before and settles what it did cost after."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contend.clock import RunClock
from contend.errors import BudgetExhausted, InputError, Limit
from contend.models.options import ResolvedOptions
from contend.models.task import CallUsage, RunUsage
from contend.settings import ModelPrice

_MILLION = 1_000_000
_ROUNDING = 1e-9
_REMEDY = "raise it or leave it out; the best submission so far stands"


@dataclass(frozen=True)
class Limits:
    """What one execution may use; None is no limit. Tokens count input and output; minutes are active ones."""

    max_tokens: int | None = None
    max_usd: float | None = None
    max_calls: int | None = None
    max_minutes: float | None = None

    @classmethod
    def of(cls, options: ResolvedOptions) -> "Limits":
        return cls(options.max_tokens, options.max_usd, options.max_calls, options.max_minutes)

    def given(self) -> dict[Limit, float]:
        pairs: dict[Limit, float | None] = {
            "max_tokens": self.max_tokens,
            "max_usd": self.max_usd,
            "max_calls": self.max_calls,
            "max_minutes": self.max_minutes,
        }
        return {name: limit for name, limit in pairs.items() if limit is not None}


@dataclass(eq=False, frozen=True)
class Reservation:
    """What one call may cost at most, held until it is settled or released."""

    tokens: int
    usd: float
    calls: int = 1


class Ledger:
    """What one execution has used and holds in reserve: teams that call at once can't overshoot together.

    Dropped when its run ends or waits, and seeded again when the run goes on.
    """

    def __init__(self, limits: Limits | None = None, *, clock: RunClock | None = None) -> None:
        self.limits = limits or Limits()
        self.clock = clock or RunClock()
        self._used = RunUsage()
        self._calls: dict[str, CallUsage] = {}
        self._held: set[Reservation] = set()
        self._refused: Limit | None = None

    @property
    def used(self) -> RunUsage:
        """What the settled calls cost, failed replies too."""
        return self._used

    @property
    def counts_tokens(self) -> bool:
        """Whether a call's size decides anything: estimating it costs time."""
        return self.limits.max_tokens is not None or self.limits.max_usd is not None

    def seed(self, calls: Iterable[CallUsage], seconds: float) -> None:
        """Carry over what the execution used before a resume, in place of the calls that the ledger knew."""
        self._used, self._calls = RunUsage(), {}
        self.know(calls)
        self.clock.carry(seconds)

    def know(self, calls: Iterable[CallUsage]) -> None:
        """Count calls of an earlier process; those that are counted already change nothing."""
        new = {call.call_key: call for call in calls if call.call_key not in self._calls}
        for call in new.values():
            self._count(call)

    def calls_of(self, team_id: str) -> dict[int, list[CallUsage]]:
        """One team's calls by round, those of a round that it did not finish too."""
        by_round: dict[int, list[CallUsage]] = {}
        for key, call in self._calls.items():
            team, number, *_ = key.split("/")
            if team == team_id:
                by_round.setdefault(int(number), []).append(call)
        return by_round

    def reserve(self, *, input_tokens: int, output_tokens: int, price: ModelPrice | None = None) -> Reservation:
        """Hold what a call may cost at most.

        Raises:
            BudgetExhausted: with the call and the calls in flight a limit would be exceeded; names the limit.
            InputError: there is a limit in dollars and no price.
        """
        usd = cost_usd(price, input_tokens=input_tokens, output_tokens=output_tokens)
        if usd is None and self.limits.max_usd is not None:
            raise InputError("max_usd needs the model's price: add it under [prices] in config/models.toml")
        wanted = Reservation(input_tokens + output_tokens, usd or 0.0)
        for name, limit in self.limits.given().items():
            if self._spent(name) + self._in_flight(name) + _needed(wanted, name) > limit + _ROUNDING:
                self._refused = name
                raise BudgetExhausted(
                    f"{name} = {limit:g} would be exceeded by the next model call; {_REMEDY}", limit=name
                )
        self._held.add(wanted)
        return wanted

    def settle(self, reservation: Reservation, usage: CallUsage) -> None:
        """Replace what was held by what the call cost."""
        self._held.discard(reservation)
        self._count(usage)

    def _count(self, call: CallUsage) -> None:
        known = self._calls.get(call.call_key)
        self._calls[call.call_key] = call if known is None else known + call
        self._used += RunUsage.of([call])

    def release(self, reservation: Reservation) -> None:
        """Let go of what was held; a settled reservation is left as it is."""
        self._held.discard(reservation)

    def share_left(self) -> float:
        """The smallest share left of any limit, 0.0 to 1.0; 1.0 without limits."""
        shares = (1 - self._spent(name) / limit for name, limit in self.limits.given().items())
        return max(0.0, min(shares, default=1.0))

    def exhausted(self) -> Limit | None:
        """The limit that ended the run: one that is used up, or one that refused a call; else None."""
        for name, limit in self.limits.given().items():
            if self._spent(name) >= limit - _ROUNDING:
                return name
        return self._refused

    def _spent(self, name: Limit) -> float:
        match name:
            case "max_tokens":
                return self._used.input_tokens + self._used.output_tokens
            case "max_usd":
                return self._used.cost_usd or 0.0
            case "max_calls":
                return self._used.requests
            case "max_minutes":
                return self.clock.seconds / 60

    def _in_flight(self, name: Limit) -> float:
        return sum(_needed(held, name) for held in self._held)


def _needed(reservation: Reservation, name: Limit) -> float:
    match name:
        case "max_tokens":
            return reservation.tokens
        case "max_usd":
            return reservation.usd
        case "max_calls":
            return reservation.calls
        case "max_minutes":
            return 0.0


def cost_usd(price: ModelPrice | None, *, input_tokens: float, output_tokens: float) -> float | None:
    """What that many tokens cost, in US dollars; None without a price."""
    if price is None:
        return None
    return (input_tokens * price.input + output_tokens * price.output) / _MILLION


def require_price(models: Iterable[str], prices: Mapping[str, ModelPrice]) -> None:
    """Check, before anything is spent, that a limit in dollars can be kept.

    Raises:
        InputError: a model has no price; names all of those.
    """
    unknown = sorted({model for model in models if model not in prices})
    if unknown:
        raise InputError(
            f"max_usd needs the price of {', '.join(unknown)}: add it under [prices] in config/models.toml,"
            " or limit tokens instead"
        )
