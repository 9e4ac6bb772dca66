"""From the writer's reply to a draft, and from the finished state to a submission."""

import re
from collections.abc import Sequence
from typing import Any

from contend.errors import DraftError
from contend.models.replies import LONGEST_SENTENCE, DraftReply, SentenceReply
from contend.models.research import CitedSentence, Draft, Passage, ResearchPlan, SearchResult
from contend.models.submission import Submission
from contend.report import state_to_report
from contend.research.state import ResearchState
from contend.text import clean, split_sentences, squeezed, without_sentences

_NEAR_LIMIT = 0.95
"""White space at a reply's end counts against its limit and is gone when the text is read."""
_CUT_ENDS = ("…", "...")
_SYNTAX = re.compile(r'"(?:text|sources)"\s*:')
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "”", "」", ")", "）")


def draft_of(reply: DraftReply, offered: Sequence[Passage], bullets: Sequence[dict[str, Any]]) -> Draft:
    """The draft with passage ids for numbers; numbers that were not offered are dropped.

    Raises:
        DraftError: a part of the draft holds no text.
    """
    parts = {name: _cited(getattr(reply, name), offered) for name in ("summary", "findings", "analysis", "limits")}
    for name in ("summary", "findings", "analysis"):
        if not parts[name]:
            raise DraftError(f"the writer's {name} holds no text")
    used = [bullets[number - 1]["id"] for number in dict.fromkeys(reply.bullets) if 1 <= number <= len(bullets)]
    return Draft(**parts, bullets_used=used)


def _cited(sentences: Sequence[SentenceReply], offered: Sequence[Passage]) -> list[CitedSentence]:
    """A part's sentences, each once; those that hold no text are left out."""
    told: set[str] = set()
    cited = []
    for sentence in sentences:
        text = _untold(whole(_without_syntax(clean(sentence.text, single_line=True))), told)
        numbers = [number for number in dict.fromkeys(sentence.sources) if 1 <= number <= len(offered)]
        if text:
            cited.append(CitedSentence(text=text, passages=[offered[number - 1].id for number in numbers]))
    return cited


def _untold(text: str, told: set[str]) -> str:
    """The text without what was told before; an entry may hold several sentences, though it should not."""

    def again(sentence: str) -> bool:
        key = squeezed(sentence)
        known = key in told
        told.add(key)
        return known

    return without_sentences(text, again)


def _without_syntax(text: str) -> str:
    """The text without sentences that hold a piece of the reply itself: small models lose the quotes' ends."""
    return without_sentences(text, lambda sentence: _SYNTAX.search(sentence) is not None)


def whole(text: str) -> str:
    """The text without the sentence at its end that the reply's limit cut off, or that was copied from a cut one."""
    *kept, _ = split_sentences(text) or [""]
    long = len(text) >= _NEAR_LIMIT * LONGEST_SENTENCE
    cut = text.endswith(_CUT_ENDS) or ((long or kept) and not text.endswith(_SENTENCE_ENDS))
    if not cut:
        return text
    return text[: text.rindex(kept[-1]) + len(kept[-1])] if kept else ""


def submission_of(state: ResearchState, results: Sequence[SearchResult]) -> Submission:
    """What the team hands in; `results` are the state's, whole.

    Raises:
        DraftError: there is no draft, or too little text in it.
    """
    report = state_to_report(state, results=results)
    plan = ResearchPlan.model_validate(state["task_plan"])
    return Submission(
        content=report.to_markdown(state["options"]["language"]),
        report=report,
        draft=Draft.model_validate(state["draft_report"]),
        passages=[Passage.model_validate(passage) for passage in state["passages"]],
        results=list(results),
        points=plan.investigation_points,
        queries=plan.search_queries,
        feedback=state.get("feedback") or "",
        unread=state.get("unread", {}),
    )
