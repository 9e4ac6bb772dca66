"""What calls cost where a provider keeps the beginnings of prompts, counted alike for every run.

Tokens are characters / 4. A call begins with its reply's schema where `response_format` carries it, as providers put it
there. The longest beginning that an earlier call had, too, costs a tenth, unless it is under 1,024 tokens; other input
costs 1, output 5.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_CHARACTERS = 4
_LEAST = 1_024 * _CHARACTERS
_REPEATED, _OUTPUT = 0.1, 5.0
PRICES = {"gpt-5-mini": (0.25, 2.0), "gpt-5": (1.25, 10.0)}
"""US dollars for a million tokens of input and of output, by model; of repeated input a tenth."""


class Cost(NamedTuple):
    """Tokens; `repeated`: of the input; `total`: in tokens of input."""

    input: int
    repeated: int
    output: int
    total: int

    @property
    def repeated_share(self) -> float:
        return self.repeated / max(self.input, 1)

    def dollars(self, model: str) -> float:
        """At a model's prices in `PRICES`."""
        input_price, output_price = PRICES[model]
        paid = self.input - self.repeated + _REPEATED * self.repeated
        return (paid * input_price + self.output * output_price) / 1_000_000


def text_of(body: Mapping[str, Any]) -> str:
    """A request as it is counted."""
    shape = json.dumps(body.get("response_format") or body.get("tools") or "", sort_keys=True)
    turns = (f"\n<{each['role']}>{each.get('content')}{each.get('tool_calls') or ''}" for each in body["messages"])
    return shape + "".join(turns)


def cost_of(calls: Sequence[tuple[str, int]]) -> Cost:
    """What calls cost, each as its text and the characters of its reply, in the order in which they were made."""
    repeated = 0
    for place, (text, _) in enumerate(calls):
        shared = max((common_length(text, other) for other, _ in calls[:place]), default=0)
        repeated += shared if shared >= _LEAST else 0
    read, said = sum(len(text) for text, _ in calls), sum(characters for _, characters in calls)
    total = read - repeated + _REPEATED * repeated + _OUTPUT * said
    return Cost(*(round(each / _CHARACTERS) for each in (read, repeated, said, total)))


def common_length(first: str, second: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first[:middle] == second[:middle] else (low, middle - 1)
    return low
