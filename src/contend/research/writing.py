"""From the writer's reply to a draft, and from the finished state to a submission."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from contend.errors import DraftError
from contend.models.replies import LONGEST_SENTENCE, DraftReply, SentenceReply
from contend.models.research import CitedSentence, Draft, Passage, ResearchPlan, SearchResult
from contend.models.submission import Submission
from contend.points import asks, uncovered_points
from contend.report import state_to_report
from contend.research.repeats import Told
from contend.research.state import ResearchState
from contend.text import clean, split_sentences, without_sentences

_NEAR_LIMIT = 0.95
"""White space at a reply's end counts against its limit and is gone when the text is read."""
_CUT_ENDS = ("…", "...")
_SYNTAX = re.compile(r'"(?:text|sources)"\s*:')
_SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "”", "」", ")", "）")


def draft_of(reply: DraftReply, offered: Sequence[Passage], bullets: Sequence[dict[str, Any]]) -> Draft:
    """The draft with passage ids for numbers; numbers that were not offered are dropped.

    Findings, analysis and limits say each thing once, and the summary says nothing twice. Questions are no statements;
    among the limits those stay that the rest does not answer.

    Raises:
        DraftError: a part of the draft holds no text.
    """
    told = Told()
    parts = {
        "summary": _stated(reply.summary, offered, Told()),
        "findings": _stated(reply.findings, offered, told),
        "analysis": _stated(reply.analysis, offered, told),
    }
    for name in ("summary", "findings", "analysis"):
        if not parts[name]:
            raise DraftError(f"the writer's {name} holds no text")
    used = [bullets[number - 1]["id"] for number in dict.fromkeys(reply.bullets) if 1 <= number <= len(bullets)]
    said = "\n\n".join(sentence.text for part in parts.values() for sentence in part)
    limits = _cited(
        reply.limits, offered, lambda text: told.again(text) or (asks(text) and not uncovered_points([text], said))
    )
    return Draft(**parts, limits=limits, bullets_used=used)


def _stated(sentences: Sequence[SentenceReply], offered: Sequence[Passage], told: Told) -> list[CitedSentence]:
    """A part without questions and what was told before, unless nothing is left of it then."""
    new = _cited(sentences, offered, lambda text: asks(text) or told.again(text))
    return new or _cited(sentences, offered, Told().again)


def _cited(
    sentences: Sequence[SentenceReply], offered: Sequence[Passage], unwanted: Callable[[str], bool]
) -> list[CitedSentence]:
    """A part's entries without unwanted sentences; an entry may hold several, though it should not."""
    cited = []
    for sentence in sentences:
        text = without_sentences(whole(_without_syntax(clean(sentence.text, single_line=True))), unwanted)
        numbers = [number for number in dict.fromkeys(sentence.sources) if 1 <= number <= len(offered)]
        if text:
            cited.append(CitedSentence(text=text, passages=[offered[number - 1].id for number in numbers]))
    return cited


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


def submission_of(
    state: ResearchState, results: Sequence[SearchResult], passages: Sequence[Passage], *, folders: Sequence[Path]
) -> Submission:
    """What the team hands in; `results` are the state's, whole, and `passages` those offered, with their texts.

    `folders`: those of the local documents.

    Raises:
        DraftError: there is no draft, or too little text in it.
    """
    report = state_to_report(state, results=results, passages=passages)
    plan = ResearchPlan.model_validate(state["task_plan"])
    return Submission(
        content=report.to_markdown(state["options"]["language"], folders=folders),
        report=report,
        draft=Draft.model_validate(state["draft_report"]),
        passages=[Passage.model_validate(passage) for passage in state["passages"]],
        results=list(results),
        points=plan.investigation_points,
        queries=plan.search_queries,
        feedback=state.get("feedback") or "",
        unread=state.get("unread", {}),
    )
