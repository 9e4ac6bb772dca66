"""What stands in no draft, orders that stand in its sources, and what is no feedback."""

from collections.abc import Sequence

from contend.errors import DraftError
from contend.models.research import Draft, Passage
from contend.orders import Planted
from contend.text import squeezed, terms, without_item_mark, without_sentences

_LEAST_TERMS = 2


def without_orders(draft: Draft, offered: Sequence[Passage]) -> Draft:
    """The draft without statements that give orders to its reader, or say what orders in the passages want said.

    Raises:
        DraftError: nothing else is left of a part.
    """
    planted = Planted((passage.url, passage.text) for passage in offered)
    kept = draft.without(lambda sentence: planted.in_sentence(sentence.text))
    if kept is None:
        raise DraftError("the writer's draft says nothing but what orders in its sources want; leave those sources out")
    return kept


def without_instructions(feedback: str, instructions: str) -> str:
    """A reviewer's feedback without sentences of its own instructions: small models repeat them as their verdict."""
    given = squeezed(instructions)

    def echoed(sentence: str) -> bool:
        plain = without_item_mark(sentence)
        return _key(plain) in given and len(set(terms(plain))) >= _LEAST_TERMS

    lines = (without_sentences(line, echoed) for line in feedback.splitlines())
    return "\n".join(line for line in lines if line.strip())


def _key(sentence: str) -> str:
    return squeezed(sentence).rstrip(".!?…。！？")
