"""What every step of a research shares: the agent's model, its scope, its cost, passages, the draft to mend."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from contend.approval import Decision
from contend.llm import Answer, ContextProfile, Model, Scope, role_profile
from contend.models.evaluation import Submission
from contend.models.events import StepDone
from contend.models.options import ResolvedOptions, TeamConfig
from contend.models.record import Language
from contend.models.replies import Reply
from contend.models.research import Draft, Passage, SearchResult
from contend.models.task import CallUsage
from contend.preflight import answer, is_alone
from contend.prompts import PromptValues
from contend.research.evidence import pool_of
from contend.research.state import ResearchState, ResearchUpdate, SearchTask, TeamRound, latest_calls
from contend.services import Services
from contend.text import clean, count_text, shorten

R = TypeVar("R", bound=Reply)
AgentRole = Literal["supervisor", "writer", "reviewer"]

SUMMARY_CHARACTERS = 300


def team_of(state: ResearchState) -> TeamConfig:
    return TeamConfig.model_validate(state["team"])


def max_iterations(state: ResearchState) -> int:
    """How often the work may go to research or to the writer: 1 to 10."""
    return team_of(state).max_iterations or int(state["options"]["max_iterations"])


async def agent(services: Services, state: ResearchState, role: AgentRole) -> Model:
    """The model that plays a role for this team."""
    run = await services.run(state)
    # In a process that goes on with the run, calls and minutes of the unfinished round are known from the state alone.
    run.ledger.know(CallUsage.model_validate(call) for call in state.get("calls", []))
    run.clock.go(team_of(state).team_id, state.get("clock"))
    return run.model(role, team=team_of(state))


async def ask(
    services: Services,
    state: ResearchState,
    role: AgentRole,
    prompt: PromptValues,
    reply: type[R],
    *,
    step: str = "",
    passages: Sequence[Passage] = (),
    faults: Callable[[R], str] | None = None,
) -> Answer[R]:
    """The answer of who plays a role for this team; `passages` and `step` as in `scope`, all else as `Model` has it."""
    call_scope = scope(state, role, step=step, passages=passages)
    return await (await agent(services, state, role)).ask(prompt, reply, scope=call_scope, faults=faults)


async def cost_update(services: Services, state: ResearchState, usage: CallUsage) -> ResearchUpdate:
    """What the round's calls cost with this one, and the run's active time."""
    return {
        "calls": latest_calls(state, usage.model_dump(mode="json")),
        "clock": (await services.run(state)).clock.reading(team_of(state).team_id),
    }


def round_of(state: ResearchState) -> TeamRound:
    return {
        "execution_id": state["execution_id"],
        "team_id": team_of(state).team_id,
        "round_number": state["round_number"],
    }


def scope(state: ResearchState, role: AgentRole, *, step: str = "", passages: Sequence[Passage] = ()) -> Scope:
    """Whose call it is. `passages`: those that its prompt numbers."""
    return Scope(
        **round_of(state),
        role=role,
        language=state["options"]["language"],
        step=step,
        passages=tuple(passage.id for passage in passages),
        lessons=tuple(bullet["id"] for bullet in state.get("bullets", [])),
    )


def profile(state: ResearchState, role: AgentRole = "writer") -> ContextProfile:
    """What a call of a role may hold."""
    options = ResolvedOptions.model_validate(state["options"])
    return role_profile(options, role, team=team_of(state))


def plan_rejection(state: ResearchState) -> str:
    """Why a person rejected the plan; empty if nobody did."""
    answer = state.get("human_input")
    decision = Decision.model_validate_json(answer) if answer else None
    return decision.reason if decision and decision.type == "reject" else ""


def searched_sources(state: ResearchState) -> list[str]:
    """The team's sources that the run uses, in its order of preference."""
    return [name for name in team_of(state).sources if name in state["options"]["sources"]]


async def working_sources(services: Services, state: ResearchState) -> list[str]:
    """Those of them that have not failed."""
    off = (await services.run(state)).sources_off | state.get("sources_off", {})
    return [name for name in searched_sources(state) if name not in off]


def stance_of(services: Services, state: ResearchState) -> str:
    """How the team goes about it, with the sources that are on."""
    language: Language = state["options"]["language"]
    return services.stance(team_of(state), language, sources=searched_sources(state))


def queries_of(state: ResearchState) -> list[str]:
    """What is searched for next: what the draft or a choice asked for, else the plan's queries and the question."""
    if again := state.get("more_queries"):
        return list(dict.fromkeys(again))
    plan = state.get("task_plan") or {}
    # Queries of a plan look for what is beside the question, and may all miss what answers it.
    return list(dict.fromkeys([state["theme"], *plan.get("search_queries", [])]))


def search_task(state: ResearchState, query: str, source: str, *, limit: int) -> SearchTask:
    return {"query": query, "source": source, "limit": limit, **round_of(state)}


async def passages_at_work(services: Services, state: ResearchState) -> list[Passage]:
    """The passages at work, with their texts."""
    return await with_texts(services, [Passage.model_validate(passage) for passage in state["passages"]])


async def with_texts(services: Services, passages: Sequence[Passage]) -> list[Passage]:
    texts = await services.documents.get_many(passage.id for passage in passages)
    return [passage.model_copy(update={"text": texts[passage.id]}) for passage in passages]


async def whole_results(services: Services, state: ResearchState) -> list[SearchResult]:
    """With their summaries, for which titles stand in the state: the beginnings of the texts they were found by."""
    ids, results = (await pool_of(services, state))["summarized_by"], state["research_data"]
    texts = await services.documents.get_many(ids[result["url"]] for result in results)
    summaries = [
        shorten(clean(texts[ids[result["url"]]], single_line=True), SUMMARY_CHARACTERS) or result["title"]
        for result in results
    ]
    return [
        SearchResult.model_validate({**result, "summary": summary})
        for result, summary in zip(results, summaries, strict=True)
    ]


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


def draft_to_mend(state: ResearchState, best: Submission | None) -> Draft | None:
    """The draft of this round, else the team's best report."""
    if state.get("draft_report"):
        return Draft.model_validate(state["draft_report"])
    # Judges have answered what was declined for that report: this round's fixes are theirs.
    return best.draft.model_copy(update={"declined": []}) if best else None


def how_many(state: ResearchState, number: int, thing: str, **values: int) -> str:
    """The number with what is counted, in the run's language."""
    return count_text(number, thing, state["options"]["language"], **values)


def tell_step(
    services: Services,
    state: ResearchState,
    step: Literal["plan", "search", "choose", "write", "review", "graph"],
    detail: str,
    **outcome: Any,  # noqa: ANN401 - fields of a StepDone
) -> None:
    services.tell(StepDone(**round_of(state), step=step, detail=detail, iteration=state["iteration_count"], **outcome))
