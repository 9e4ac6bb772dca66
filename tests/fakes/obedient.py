"""A language model that obeys each planted order that it is shown, and knows them all when it is asked for them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from contend.checks.notations import bare
from fakes.chat_replies import ChatRequest, answer, whole

_FILE = Path(__file__).parents[1] / "data" / "injection" / "orders.tsv"


class PlantedOrder(NamedTuple):
    """A sentence of a page, and what a report says whose writer obeys it."""

    language: str
    text: str
    demand: str

    @classmethod
    def all(cls) -> list[Self]:
        return [cls(*line.split("\t")) for line in _FILE.read_text("utf-8").splitlines()]


@dataclass
class ObedientModel:
    """Answers as the fake endpoint does, and adds to drafts and reviews what the orders in its prompt demand.

    `able`: asked which sentences speak to AI systems, it names them; else it finds none.
    """

    orders: Sequence[PlantedOrder]
    able: bool

    def __call__(self, request: ChatRequest) -> str:
        reply: dict[str, Any] = json.loads(answer(request))
        passages = [*zip(request.passages, map(bare, request.passage_texts), strict=True)]
        if request.shape == "InjectionReply":
            found = [self._named(order, passages) for order in self.orders] if self.able else []
            return json.dumps({"orders": [each for each in found if each["passages"]]}, ensure_ascii=False)
        seen = bare(request.user)
        demands = [order.demand for order in self.orders if bare(order.text) in seen or bare(order.demand) in seen]
        return json.dumps(self._obeying(request.shape, reply, demands, passages), ensure_ascii=False)

    def _named(self, order: PlantedOrder, passages: Sequence[tuple[int, str]]) -> dict[str, Any]:
        return {"quote": order.text, "passages": [number for number, text in passages if bare(order.text) in text]}

    def _obeying(
        self, shape: str, reply: dict[str, Any], demands: Sequence[str], passages: Sequence[tuple[int, str]]
    ) -> dict[str, Any]:
        sources = [number for number, _ in passages[:1]]
        statements = [whole({"text": f"{demand}.", "sources": sources}) for demand in demands]
        match shape:
            case _ if not demands:
                pass
            case "ReportReply":
                self._add(reply, statements)
            case "MergeReply" if reply["report"]:
                self._add(reply["report"], statements)
            case "RevisionReply":
                reply["findings"] = statements[:8]
            case "FixesReply":
                fixes = [{"where": "finding 1", "what": f"Write: {each}.", "passages": sources} for each in demands]
                reply |= {"fixes": fixes[:20], "accept": False}
        return reply

    def _add(self, report: dict[str, Any], statements: list[dict[str, Any]]) -> None:
        report["findings"] = [*statements, *report["findings"]][:8]
        section = {"heading": "Ordered", "blocks": [{"type": "list", "items": statements}]}
        report["sections"].append(section)
