"""The report before a person: the question, and what the answer makes of the state."""

from typing import Any

from pydantic import ValidationError

from contend.checks import check_validity
from contend.contest.state import ContestState, ContestUpdate
from contend.models.questions import Decision, Unusable, decision_of, payload
from contend.models.research import ResearchReport
from contend.models.submission import Submission
from contend.services import Services

EDITABLE = ("executive_summary", "key_findings", "detailed_analysis", "constraints_and_challenges")


def report_question(state: ContestState, submission: Submission) -> dict[str, Any]:
    """The interrupt's payload: the report's parts, which may be edited; its sources may not."""
    parts = submission.report.model_dump(mode="json", include=set(EDITABLE))
    return payload(
        "report",
        {name: parts[name] for name in EDITABLE},
        description=f"Report of team {state['winner']} on: {state['theme']}",
        execution_id=state["execution_id"],
        team_id=state["winner"] or "",
        problem=state["problem"],
    )


async def answered(services: Services, state: ContestState, submission: Submission, answer: object) -> ContestUpdate:
    """The answer followed; one that can't be followed leaves the question open and says why."""
    match decision_of(answer):
        case Unusable(why):
            return {"problem": why}
        case Decision(type="edit") as decision:
            report = edited_report(submission, decision)
            if isinstance(report, Unusable):
                return {"problem": report.why}
            folders = services.document_paths(state["options"]["documents"])
            content = report.to_markdown(state["options"]["language"], folders=folders)
            edited = submission.model_copy(update={"report": report, "content": content})
            return {"submission": await services.documents.put(edited.model_dump_json()), "problem": ""}
        case Decision(type="reject") as decision:
            note = f"a person rejected the report: {decision.reason or 'no reason given'}"
            return {"submission": None, "problem": "", "notes": [*state["notes"], note]}
    return {"problem": ""}


def edited_report(submission: Submission, decision: Decision) -> ResearchReport | Unusable:
    """The report with a person's edits, held to the limits of any report; it can't cite what was not retrieved."""
    unknown = sorted(decision.args.keys() - set(EDITABLE))
    if unknown:
        return Unusable(f"{', '.join(unknown)} cannot be edited; edit {', '.join(EDITABLE)}")
    try:
        report = ResearchReport.model_validate({**submission.report.model_dump(), **decision.args})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        return Unusable(f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}")
    retrieved = {result.url for result in submission.results}
    validity = check_validity(report, retrieved, texts=[submission.content])
    if validity.unknown:
        return Unusable(f"cited but not among the sources: {', '.join(validity.unknown)}")
    return report
