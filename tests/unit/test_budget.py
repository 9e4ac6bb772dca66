import pytest
from hypothesis import given
from hypothesis import strategies as st

from contend.clock import RunClock
from contend.errors import BudgetExhausted, InputError, Limit
from contend.llm.budget import Ledger, require_price
from contend.models.task import CallUsage, RunUsage
from contend.settings.files import ModelPrice
from fakes.now import Now


def usage(tokens: int = 0, usd: float | None = 0.0, *, key: str = "k") -> CallUsage:
    return CallUsage(
        call_key=key, role="writer", model="m", input_tokens=tokens, output_tokens=0, cost_usd=usd, milliseconds=1
    )


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({"max_tokens": 149}, "max_tokens"),
        ({"max_calls": 1}, "max_calls"),
        ({"max_usd": 0.00014}, "max_usd"),
    ],
)
def test_a_call_is_refused_when_the_calls_in_flight_leave_no_room_for_it(limits: dict[Limit, float], name: str) -> None:
    ledger = Ledger(limits)
    price = ModelPrice(input=1, output=1)
    ledger.reserve(input_tokens=50, output_tokens=25, price=price)

    with pytest.raises(BudgetExhausted, match=name):
        ledger.reserve(input_tokens=50, output_tokens=25, price=price)

    assert ledger.exhausted_limit() == name


def test_a_call_that_uses_a_limit_up_exactly_is_made() -> None:
    ledger = Ledger({"max_tokens": 150, "max_usd": 0.00015, "max_calls": 2})

    for _ in range(2):
        ledger.reserve(input_tokens=50, output_tokens=25, price=ModelPrice(input=1, output=1))

    assert ledger.exhausted_limit() is None


def test_a_settled_call_counts_with_what_it_cost() -> None:
    ledger = Ledger({"max_tokens": 100})
    reservation = ledger.reserve(input_tokens=50, output_tokens=50)

    ledger.settle(reservation, usage(tokens=10))

    assert ledger.usage.input_tokens == 10
    assert ledger.remaining_share() == pytest.approx(0.9)
    ledger.reserve(input_tokens=45, output_tokens=45)


def test_a_call_and_its_repair_count_as_two_requests_of_one_call_with_the_time_of_both() -> None:
    call = usage(tokens=10, usd=0.5) + usage(tokens=20, usd=0.25)

    assert isinstance(call, CallUsage)
    assert (call.requests, call.input_tokens, call.cost_usd, call.milliseconds) == (2, 30, 0.75, 2)
    assert (call + usage(usd=None)).cost_usd is None


def test_a_released_call_counts_nothing() -> None:
    ledger = Ledger({"max_calls": 1})

    ledger.release(ledger.reserve(input_tokens=1, output_tokens=1))

    assert ledger.usage == RunUsage()
    ledger.reserve(input_tokens=1, output_tokens=1)


def test_active_minutes_end_a_run() -> None:
    now = Now()
    ledger = Ledger({"max_minutes": 2}, clock=RunClock(now))
    now.seconds = 90
    ledger.reserve(input_tokens=1, output_tokens=1)
    assert ledger.remaining_share() == pytest.approx(0.25)

    now.seconds = 121

    assert ledger.exhausted_limit() == "max_minutes"
    with pytest.raises(BudgetExhausted, match="max_minutes"):
        ledger.reserve(input_tokens=1, output_tokens=1)


def test_a_resumed_run_goes_on_with_what_it_had_used() -> None:
    ledger = Ledger({"max_tokens": 100, "max_minutes": 10}, clock=RunClock(Now(5000)))

    calls = [usage(tokens=20, key=f"call {number}") for number in range(3)]
    ledger.seed(calls[:2], seconds=120)
    ledger.know(calls)

    assert ledger.remaining_share() == pytest.approx(0.4)
    assert ledger.clock.seconds == pytest.approx(120)
    with pytest.raises(BudgetExhausted, match="max_tokens"):
        ledger.reserve(input_tokens=30, output_tokens=20)


def test_the_smallest_share_left_is_the_one_that_counts() -> None:
    ledger = Ledger({"max_tokens": 100, "max_calls": 10})

    ledger.settle(ledger.reserve(input_tokens=10, output_tokens=10), usage(tokens=20))

    assert ledger.remaining_share() == pytest.approx(0.8)


def test_without_limits_nothing_ends() -> None:
    ledger = Ledger()

    for _ in range(100):
        ledger.settle(ledger.reserve(input_tokens=10**6, output_tokens=10**6), usage(tokens=10**6, usd=None))

    assert ledger.remaining_share() == 1.0
    assert ledger.exhausted_limit() is None
    assert ledger.usage.cost_usd is None


def test_an_unknown_price_is_refused_under_a_limit_in_dollars() -> None:
    with pytest.raises(InputError, match="price"):
        Ledger({"max_usd": 1}).reserve(input_tokens=1, output_tokens=1)


def test_models_without_a_price_are_named_before_anything_is_spent() -> None:
    with pytest.raises(InputError, match="large, small"):
        require_price(["small", "large", "known"], {"known": ModelPrice(input=1, output=1)})


@given(
    limit=st.integers(1, 10_000),
    steps=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 2000), st.floats(0, 1)), max_size=40),
)
def test_teams_at_once_never_overshoot(limit: int, steps: list[tuple[int, int, float]]) -> None:
    """However calls overlap, what is used stays within the limit if no call costs more than it held."""
    ledger = Ledger({"max_tokens": limit})
    open_calls = []
    for taken, given_back, share in steps:
        try:
            open_calls.append((ledger.reserve(input_tokens=taken, output_tokens=given_back), taken + given_back))
        except BudgetExhausted:
            if open_calls:
                reservation, most = open_calls.pop(0)
                ledger.settle(reservation, usage(tokens=int(most * share)))
    for reservation, most in open_calls:
        ledger.settle(reservation, usage(tokens=most))

    assert ledger.usage.input_tokens <= limit
