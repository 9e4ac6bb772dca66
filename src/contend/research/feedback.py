"""Feedback on a report is no part of the next one: what a writer copied from it is taken out of the draft."""

import re
from collections.abc import Sequence

from contend.errors import DraftError
from contend.models.research import CitedSentence, Draft, Passage
from contend.research.state import ResearchState
from contend.text import split_sentences, squeezed, terms

_METRIC = re.compile(r"\A[\w-]+ (?:unscored|\d{1,3}\.\d/100): ")
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
    names = ("summary", "findings", "analysis", "limits")
    parts = {name: _kept(getattr(draft, name), feedback, passages) for name in names}
    said = list({sentence.text: sentence for part in parts.values() for sentence in part}.values())
    if not said:
        raise DraftError("the writer's draft repeats its feedback and says nothing else; try another model")
    filled = {name: parts[name] or said[:2] for name in names[:3]}
    return draft.model_copy(update={**parts, **filled})


def _kept(sentences: Sequence[CitedSentence], feedback: set[str], passages: str) -> list[CitedSentence]:
    kept = [(sentence, _left(sentence.text, feedback, passages)) for sentence in sentences]
    return [sentence.model_copy(update={"text": text}) for sentence, text in kept if text]


def _left(text: str, feedback: set[str], passages: str) -> str:
    sentences = split_sentences(text)
    left = [sentence for sentence in sentences if not _repeats(_key(sentence), feedback, passages)]
    return text if len(left) == len(sentences) else " ".join(left)


def _repeats(key: str, feedback: set[str], passages: str) -> bool:
    if key in passages:
        return False
    return key in feedback or any(len(told) >= _LONG and told in key for told in feedback)


def _key(sentence: str) -> str:
    return squeezed(sentence).rstrip(".!?…。！？")
