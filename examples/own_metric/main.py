"""Two metrics of your own, a function and a dataclass: python examples/own_metric/main.py [QUESTION]."""

import asyncio
import sys
from dataclasses import dataclass

import contend
from contend.models.events import AnyEvent, RoundScored


@contend.metric(name="short_sentences", weight=0.1)
def short_sentences(context: contend.MetricContext) -> tuple[float, str]:
    longest = max((len(statement.text.split()) for statement in context.statements), default=1)
    return min(1.0, 25 / longest), f"the longest sentence has {longest} words"


@dataclass
class Recent:
    """The share of cited statements that a document of this year or later carries."""

    year: int
    name: str = "recent"
    weight: float = 0.2

    async def evaluate(self, context: contend.MetricContext) -> tuple[float, str]:
        cited = [context.cited_by(statement) for statement in context.statements if statement.passages]
        recent = [passages for passages in cited if any((each.published or "") >= str(self.year) for each in passages)]
        reason = f"{len(recent)} of {len(cited)} cited statements rest on documents of {self.year} or later"
        return (len(recent) / len(cited) if cited else 0.0), reason


def show(event: AnyEvent) -> None:
    if isinstance(event, RoundScored):
        for metric in event.metrics:
            score = "unscored" if metric.score is None else f"{metric.score:.2f}"
            print(f"{metric.name:20} weight {metric.weight:.2f}  {score}  {metric.reason}")


async def main(question: str = "What winter range does the ferry Skarv reach?") -> None:
    options = contend.RunOptions(documents=["demo/documents"], sources=["local"], max_rounds=1, learn=False)
    outcome = await contend.run(question, options=options, metrics=[short_sentences, Recent(2026)], on_event=show)
    print(outcome.message)


asyncio.run(main(*sys.argv[1:]))
