"""The work object of a research round, opened by a node from state and services."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar

from pydantic_core import from_json, to_json

from contend.approval import Decision
from contend.evidence import Action, ActionTask, Desk, Evidence, EvidencePool, Step, empty_pool, with_texts
from contend.evidence.actions import desk_of, tasks_of
from contend.evidence.pool import passages_of
from contend.llm import Answer, ContextProfile, Scope
from contend.models.evaluation import Submission
from contend.models.events import Event, StepDone
from contend.models.options import ResolvedOptions, TeamConfig
from contend.models.replies import Reply
from contend.models.research import Draft, Passage
from contend.models.round import Round, best_round
from contend.models.task import CallUsage
from contend.preflight import is_alone
from contend.prompts import PromptValues
from contend.research.state import ResearchState, ResearchUpdate, TeamRound
from contend.run_context import RunContext
from contend.services import Services
from contend.sources.source_set import SourceSet
from contend.stores import DocumentStore, RecordDocuments
from contend.text import count_text

R = TypeVar("R", bound=Reply)
AgentRole = Literal["supervisor", "writer", "reviewer"]


@dataclass(frozen=True)
class Research:
    """Everything that the functions of a research round need.

    `draft` is the one to mend: this round's, else that of the team's best report; `fixes` what is to be mended in it.
    `mends_only`: the round only mends what judges named in the best report. `passages`: the ids that drafts are written
    from. `sources_on` can be asked. `plan` is {} before it is made; `plan_answered`: a person has answered it. `calls`:
    what the round's calls have cost. `is_alone`: no team plays the round; `close` ends its run.
    """

    run: RunContext
    team: TeamConfig
    round_number: int
    question: str
    brief: str
    stance: str
    lessons: Sequence[dict[str, Any]]
    pool: EvidencePool
    best: Submission | None
    mends_only: bool
    rounds: Sequence[Round]
    draft: Draft | None
    fixes: str
    passages: Sequence[str]
    written_from: Sequence[str]
    sources_on: Sequence[str]
    plan: Mapping[str, Any]
    plan_answered: bool
    actions: Sequence[Action]
    calls: Sequence[dict[str, Any]]
    steps: int
    drafts: int
    looks: int
    looked: Sequence[Step]
    beyond: Sequence[str]
    rejected: str
    seen: Mapping[str, int]
    is_alone: bool
    documents: DocumentStore
    submissions: RecordDocuments[Submission]
    sources: SourceSet
    tell: Callable[[Event], None]
    close: Callable[[], None]

    @property
    def options(self) -> ResolvedOptions:
        return self.run.options

    @property
    def max_drafts(self) -> int:
        """Most drafts in a round, 1 to 10. From round 2 on, the best earlier report counts as the first draft."""
        if self.mends_only:
            return 1
        drafts = self.team.max_iterations or self.options.max_iterations
        return max(1, drafts - bool(self.best))

    @property
    def desk(self) -> Desk:
        """What the team can do in its sources."""
        return desk_of(self.sources_on, self.pool, self.options.read_top)

    @property
    def key(self) -> TeamRound:
        return {
            "execution_id": self.run.execution_id,
            "team_id": self.team.team_id,
            "round_number": self.round_number,
        }

    def with_pool(self, pool: EvidencePool) -> "Research":
        return replace(self, pool=pool)

    def profile(self, role: AgentRole = "writer") -> ContextProfile:
        """What a call of a role may hold."""
        return self.run.profile(role, team=self.team)

    @property
    def room(self) -> int:
        """Tokens of passages that the team may hold: all its roles read them."""
        return min(self.profile(role).evidence_tokens for role in ("supervisor", "writer", "reviewer"))

    def scope(self, role: AgentRole, *, step: str = "", passages: Sequence[str] = ()) -> Scope:
        """Whose call it is. `passages`: the ids of those that its prompt numbers."""
        lessons = tuple(bullet["id"] for bullet in self.lessons)
        return self.run.scope(
            role,
            team_id=self.team.team_id,
            round_number=self.round_number,
            step=step,
            passages=tuple(passages),
            lessons=lessons,
            seen=self.seen,
        )

    async def ask(
        self,
        role: AgentRole,
        prompt: PromptValues,
        reply: type[R],
        *,
        step: str,
        passages: Sequence[str] = (),
        faults: Callable[[R], str] | None = None,
    ) -> Answer[R]:
        """Ask the model of a role for this team; see `Model.ask`."""
        scope = self.scope(role, step=step, passages=passages)
        return await self.run.model(role, team=self.team).ask(prompt, reply, scope=scope, faults=faults)

    async def with_texts(self, ids: Sequence[str]) -> list[Passage]:
        """The passages of these ids, with their texts."""
        return await with_texts(self.documents, passages_of(self.pool, ids))

    async def keep_pool(self, pool: EvidencePool) -> str:
        """Its id among the run's documents: each checkpoint holds the whole of a state.

        Raises:
            StoreError: it cannot be written.
        """
        return await self.run.documents.put(to_json(pool).decode())

    def how_many(self, number: int, thing: str, **values: int) -> str:
        """The number with what is counted, in the run's language."""
        return count_text(number, thing, self.options.language, **values)

    def tell_step(
        self,
        step: Literal["plan", "research", "search", "write", "review", "graph"],
        detail: str,
        **outcome: Any,  # noqa: ANN401 - fields of a StepDone
    ) -> None:
        """Send a StepDone event. `iteration` defaults to the number of the current draft."""
        self.tell(StepDone(**self.key, step=step, detail=detail, **{"iteration": self.drafts + 1, **outcome}))


async def open_research(services: Services, state: ResearchState) -> Research:
    """What the nodes of a round work with.

    Raises:
        StoreError: the pool, a round or a submission cannot be read.
    """
    run, team = await services.run(state), TeamConfig.model_validate(state["team"])
    # In a process that goes on with the run, calls and minutes of the unfinished round are known from the state alone.
    run.ledger.know(CallUsage.model_validate(call) for call in state.get("calls", []))
    run.clock.go(team.team_id, state.get("clock"))
    best = await services.submission(state.get("best_submission"))
    rounds = await run.rounds_of(state.get("history", []))
    own_draft = state.get("draft_report")
    # What to mend in the draft at hand: the reviewer's fixes, else what judges found of the team's best report.
    judged = None if own_draft else best_round(rounds)
    off = run.sources_off | state.get("sources_off", {})
    sources = [name for name in team.sources if name in run.options.sources]
    return Research(
        run=run,
        team=team,
        round_number=state["round_number"],
        question=state["theme"],
        brief=state.get("brief", ""),
        stance=services.stance(team, run.options.language, sources=sources),
        lessons=state.get("bullets", []),
        pool=await _pool(run, state.get("pool"), state.get("parts") or [state["theme"]]),
        best=best,
        mends_only=best is not None and state.get("mends_only", False),
        rounds=rounds,
        draft=Draft.model_validate(own_draft) if own_draft else _best_draft(best),
        fixes=state.get("feedback") or (judged.feedback if judged else ""),
        passages=state.get("passages", []),
        written_from=state.get("written_from", []),
        sources_on=[name for name in sources if name not in off],
        plan=state.get("task_plan") or {},
        plan_answered=bool(state.get("human_input")),
        actions=state.get("actions", []),
        calls=state.get("calls", []),
        steps=state.get("steps", 0),
        drafts=state.get("iteration_count", 0),
        looks=state.get("looks", 0),
        looked=state.get("looked", []),
        beyond=state.get("beyond", []),
        rejected=_rejection(state.get("human_input")),
        seen=state.get("seen", {}),
        is_alone=is_alone(state),
        documents=services.documents,
        submissions=services.submissions,
        sources=services.sources,
        tell=services.tell,
        close=partial(services.close_run, run.execution_id),
    )


async def _pool(run: RunContext, document: str | None, parts: Sequence[str]) -> EvidencePool:
    """All that the team has found. It lies with the run's documents."""
    if not document:
        return empty_pool(parts)
    pool: EvidencePool = from_json(await run.documents.get(document))
    return pool


async def load_evidence(run: RunContext, document: str | None) -> list[Evidence]:
    """Passages that lie with the run's documents by an id; none without."""
    if not document:
        return []
    passages: list[Evidence] = from_json(await run.documents.get(document))
    return passages


def _best_draft(best: Submission | None) -> Draft | None:
    """The best earlier report's draft. What its revisions declined and left out is dropped: judges have answered it."""
    return best.draft.model_copy(update={"declined": [], "left_out": []}) if best else None


def _rejection(answer: str | None) -> str:
    """Why a person rejected the plan; empty if nobody did."""
    decision = Decision.model_validate_json(answer) if answer else None
    return decision.reason if decision and decision.type == "reject" else ""


def cost_update(work: Research, *usages: CallUsage) -> ResearchUpdate:
    """What the round's calls cost with these, and the run's active time; nothing without a call.

    A repeated call takes its own place.
    """
    new = {usage.call_key: usage.model_dump(mode="json") for usage in usages}
    calls = [*(call for call in work.calls if call["call_key"] not in new), *new.values()]
    return {"calls": calls, "clock": work.run.clock.reading(work.team.team_id)} if usages else {}


def action_tasks(work: Research, actions: Sequence[Action]) -> list[ActionTask]:
    """What the nodes of these actions are sent."""
    return tasks_of(actions, work.desk, work.pool, work.key)
