"""What rounds of every kind of team share: whose round it is, its events, and how it is handed in."""

from pathlib import Path
from typing import Any, Literal

from contend.models.evaluation import Submission
from contend.models.events import StepDone
from contend.models.options import TeamConfig
from contend.preflight import answer, is_alone
from contend.research.state import ResearchState, ResearchUpdate, TeamRound
from contend.services import Services
from contend.text import count_text

SUMMARY_CHARACTERS = 300


def team_of(state: ResearchState) -> TeamConfig:
    return TeamConfig.model_validate(state["team"])


def round_of(state: ResearchState) -> TeamRound:
    return {
        "execution_id": state["execution_id"],
        "team_id": team_of(state).team_id,
        "round_number": state["round_number"],
    }


def searched_sources(state: ResearchState) -> list[str]:
    """The team's sources that the run uses, in its order of preference."""
    return [name for name in team_of(state).sources if name in state["options"]["sources"]]


async def hand_in(services: Services, state: ResearchState, submission: Submission) -> ResearchUpdate:
    """A round's submission, by its id; alone, the report and the answer in the chat, too."""
    document = await services.submissions.put(submission)
    if not is_alone(state):
        return {"submission": document}
    services.close_run(state["execution_id"])
    report = submission.report.model_dump(mode="json")
    return {"submission": document, "report": report, "messages": [answer(state, submission.content)]}


async def folders(services: Services, state: ResearchState) -> list[Path]:
    return await services.sources.paths(state["options"]["documents"])


def how_many(state: ResearchState, number: int, thing: str, **values: int) -> str:
    """The number with what is counted, in the run's language."""
    return count_text(number, thing, state["options"]["language"], **values)


def tell_step(
    services: Services,
    state: ResearchState,
    step: Literal["plan", "search", "write", "review", "graph"],
    detail: str,
    **outcome: Any,  # noqa: ANN401 - fields of a StepDone
) -> None:
    services.tell(StepDone(**round_of(state), step=step, detail=detail, iteration=state["iteration_count"], **outcome))
