"""From the writer's reply to a draft, and from the finished state to a submission."""

from collections.abc import Sequence
from typing import Any

from contend.errors import DraftError
from contend.models.replies import DraftReply, SentenceReply
from contend.models.research import CitedSentence, Draft, Passage, ResearchPlan
from contend.models.submission import Submission
from contend.report import state_to_report
from contend.research.state import ResearchState
from contend.text import clean


def draft_of(reply: DraftReply, offered: Sequence[Passage], bullets: Sequence[dict[str, Any]]) -> Draft:
    """The draft with passage ids for numbers; numbers that were not offered are dropped.

    Raises:
        DraftError: a part of the draft holds no text.
    """
    parts = {
        name: [_cited(sentence, offered) for sentence in getattr(reply, name) if clean(sentence.text).strip()]
        for name in ("summary", "findings", "analysis", "limits")
    }
    for name in ("summary", "findings", "analysis"):
        if not parts[name]:
            raise DraftError(f"the writer's {name} holds no text")
    used = [bullets[number - 1]["id"] for number in dict.fromkeys(reply.bullets) if 1 <= number <= len(bullets)]
    return Draft(**parts, bullets_used=used)


def _cited(sentence: SentenceReply, offered: Sequence[Passage]) -> CitedSentence:
    numbers = [number for number in dict.fromkeys(sentence.sources) if 1 <= number <= len(offered)]
    text = clean(sentence.text, single_line=True)
    return CitedSentence(text=text, passages=[offered[number - 1].id for number in numbers])


def submission_of(state: ResearchState) -> Submission:
    """What the team hands in.

    Raises:
        DraftError: there is no draft, or too little text in it.
    """
    report = state_to_report(state)
    plan = ResearchPlan.model_validate(state["task_plan"])
    return Submission(
        content=report.to_markdown(state["options"]["language"]),
        report=report,
        draft=Draft.model_validate(state["draft_report"]),
        passages=[Passage.model_validate(passage) for passage in state["passages"]],
        results=state["research_data"],
        points=plan.investigation_points,
        queries=plan.search_queries,
        feedback=state.get("feedback") or "",
    )
