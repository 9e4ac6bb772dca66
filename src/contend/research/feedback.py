"""What a draft may not say: copied feedback, orders that stand in sources, remarks on passages. What is no feedback."""

import re
from collections.abc import Callable, Sequence

from contend.errors import DraftError
from contend.models.research import CitedSentence, Draft, Passage
from contend.orders import Planted
from contend.research.state import ResearchState
from contend.text import split_sentences, squeezed, terms, without_item_mark, without_sentences

_METRIC = re.compile(r"\A[\w-]+ (?:unscored|\d{1,3}\.\d/100): ")
_PASSAGES = re.compile(
    r"\bpassages?\b(?:\s+[^\s.]+){0,8}?\s+(?:mention|provide|explain|describe|say|state|address|specify|give|contain|discuss)s?\b"
    r"|抜粋\d*(?:は|に|で|から|の中)",
    re.IGNORECASE,
)
_LEAST_TERMS = 2
_LONG = 30
"""From this many characters on, a feedback sentence is also found inside a longer sentence."""


def told_to_writer(state: ResearchState) -> list[str]:
    """The sentences of the judges' feedback on earlier rounds and of the reviewer's on this one."""
    told = [past["feedback"] for past in state.get("history", [])] + [state.get("feedback") or ""]
    lines = [_METRIC.sub("", line) for text in told for line in text.splitlines()]
    return [sentence for line in lines for sentence in split_sentences(line)]


def without_feedback(draft: Draft, told: Sequence[str], offered: Sequence[Passage]) -> Draft:
    """The draft without the sentences that repeat feedback word for word; what a passage says too may stay.

    A part of which nothing is left begins with what the others say.

    Raises:
        DraftError: the whole draft was feedback.
    """
    feedback = {_key(sentence) for sentence in told if len(set(terms(sentence))) >= _LEAST_TERMS}
    passages = squeezed("\n".join(passage.text for passage in offered))
    kept = _without(draft, lambda sentence: _repeats(_key(sentence), feedback, passages))
    if kept is None:
        raise DraftError("the writer's draft repeats its feedback and says nothing else; try another model")
    return kept


def without_orders(draft: Draft, offered: Sequence[Passage]) -> Draft:
    """The draft without orders to its reader, and without what orders in the passages want said.

    A part of which nothing is left begins with what the others say.

    Raises:
        DraftError: the whole draft was orders.
    """
    kept = _without(draft, Planted((passage.url, passage.text) for passage in offered).in_sentence)
    if kept is None:
        raise DraftError("the writer's draft says nothing but what orders in its sources want; leave those sources out")
    return kept


def without_remarks(draft: Draft, offered: Sequence[Passage], theme: str) -> Draft:
    """The draft without remarks on the passages it was made from: readers do not see them. Limits may hold some.

    Where the question or a source speaks of passages so, they are its subject. A part of nothing but remarks stays.
    """
    if any(_PASSAGES.search(text) for text in (theme, *(f"{passage.title}\n{passage.text}" for passage in offered))):
        return draft
    parts = {name: getattr(draft, name) for name in ("summary", "findings", "analysis")}
    kept = {name: _kept(part, lambda text: _PASSAGES.search(text) is not None) for name, part in parts.items()}
    return draft.model_copy(update={name: part for name, part in kept.items() if part})


def without_instructions(feedback: str, instructions: str) -> str:
    """A reviewer's feedback without sentences of its own instructions: small models repeat them as their verdict."""
    given = squeezed(instructions)

    def echoed(sentence: str) -> bool:
        plain = without_item_mark(sentence)
        return _key(plain) in given and len(set(terms(plain))) >= _LEAST_TERMS

    lines = (without_sentences(line, echoed) for line in feedback.splitlines())
    return "\n".join(line for line in lines if line.strip())


def _without(draft: Draft, unwanted: Callable[[str], bool]) -> Draft | None:
    """The draft without unwanted sentences; None if it says nothing else."""
    names = ("summary", "findings", "analysis", "limits")
    parts = {name: _kept(getattr(draft, name), unwanted) for name in names}
    said = list({sentence.text: sentence for part in parts.values() for sentence in part}.values())
    filled = {name: parts[name] or said[:2] for name in names[:3]}
    return draft.model_copy(update={**parts, **filled}) if said else None


def _kept(sentences: Sequence[CitedSentence], unwanted: Callable[[str], bool]) -> list[CitedSentence]:
    kept = [(sentence, without_sentences(sentence.text, unwanted)) for sentence in sentences]
    return [sentence.model_copy(update={"text": text}) for sentence, text in kept if text]


def _repeats(key: str, feedback: set[str], passages: str) -> bool:
    if key in passages:
        return False
    return key in feedback or any(len(told) >= _LONG and told in key for told in feedback)


def _key(sentence: str) -> str:
    return squeezed(sentence).rstrip(".!?…。！？")
