"""From the finished state of a research to a submission."""

from collections.abc import Sequence
from pathlib import Path

from contend.models.research import Draft, Passage, ResearchPlan, SearchResult
from contend.models.submission import Submission
from contend.report import state_to_report
from contend.research.evidence import EvidencePool
from contend.research.state import ResearchState


def submission_of(
    state: ResearchState,
    results: Sequence[SearchResult],
    passages: Sequence[Passage],
    pool: EvidencePool,
    *,
    folders: Sequence[Path],
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
        speaking=_speaking(pool),
        found_by=_found_by(state, pool),
    )


def _found_by(state: ResearchState, pool: EvidencePool) -> dict[str, str]:
    """The search that found each cited passage best."""
    placed = Draft.model_validate(state["draft_report"]).placed()
    cited = {passage for each in placed for passage in each.sentence.passages}
    found = [each for each in pool["passages"] if each["id"] in cited and each["queries"]]
    return {each["id"]: min(each["queries"], key=lambda query: each["queries"][query]) for each in found}


def _speaking(pool: EvidencePool) -> dict[str, list[str]]:
    """By the address of each document that speaks to AI systems, the signals by which it is known."""
    found: dict[str, list[str]] = {}
    for each in pool["passages"]:
        if each.get("speaks_to_ai"):
            known = found.setdefault(each["url"], [])
            known += [name for name in each.get("signals", []) if name not in known]
    return found
