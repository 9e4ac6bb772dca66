"""The learning graph: reflect → curate → (approve_delta) → apply_delta.

Its state is JSON-plain: ids and short texts only. Each node may run twice: votes and operations count once for an
execution.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Any, Literal
from uuid import uuid4

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from contend.approval import Approved, Rejected, Unusable, apply_answer, question
from contend.langgraph_compat import add_node, add_routes
from contend.learning.curator import CuratorAgent
from contend.learning.reflector import PlayedRound, ReflectorAgent, with_drafts
from contend.learning.selection import Holdout
from contend.models.evaluation import Submission
from contend.models.options import NEAR_TIE
from contend.models.playbook import Bullet, BulletEvaluation, DeltaContextItem, Observation, ReflectionResult, Skipped
from contend.models.record import Identifier, Language, Record
from contend.models.task import checked_theme
from contend.settings.files import validate
from contend.stores import DocumentStore
from contend.text import WORDS, count_text


class LearnInput(TypedDict, total=False):
    """What a run hands over. Left out: dataset `default`, English, a new execution id, no rounds."""

    execution_id: SkipJsonSchema[str]
    dataset: Annotated[str, Field(description="The playbook to learn into; `default` where left out.")]
    language: Annotated[Language, Field(description="Language of the prompts; English where left out.")]
    theme: Annotated[str, Field(description="The question that was researched, up to 8,000 characters.")]
    rounds: Annotated[list[dict[str, Any]], Field(description="The rounds that were played, each a `PlayedRound`.")]
    bullets: Annotated[list[str], Field(description="Ids of the bullets that the teams had.")]
    withheld: Annotated[
        dict[str, Any] | None, Field(description="The bullets that one team went without: `team_id` and `bullets`.")
    ]
    approve: Annotated[bool, Field(description="Whether a person sees the delta before it is applied.")]
    sources: Annotated[
        list[str], Field(description="Ids of the documents that the teams read: lessons may not copy from them.")
    ]


class LearningState(LearnInput, total=False):
    reflection: dict[str, Any]
    """A `ReflectionResult`."""
    delta: list[dict[str, Any]]
    """Of `DeltaContextItem`: what is proposed, then what is approved."""
    skipped: list[dict[str, Any]]
    """Of `Skipped`: operations refused before the delta was applied."""
    result: dict[str, Any]
    """A `CurationResult`."""
    usage: list[dict[str, Any]]
    """Of `CallUsage`."""
    problem: str
    """Why a person's last answer was not usable."""
    approved: bool
    """A person has seen the operations."""


class LearnOutput(TypedDict, total=False):
    result: dict[str, Any]
    usage: list[dict[str, Any]]


LearnUpdate = LearningState
"""A node's partial update: any of the state's keys."""


FRESH: LearnUpdate = {
    "reflection": {},
    "delta": [],
    "skipped": [],
    "result": {},
    "usage": [],
    "problem": "",
    "approved": False,
}
"""A further run on a thread: nothing of the one before stays."""


DEFAULT_DATASET = "default"


class _LearnRequest(Record):
    """What a client or a contest gives, checked before anything is spent."""

    dataset: Identifier | Literal[""] = ""
    language: Language = "en"
    theme: str = ""
    rounds: list[PlayedRound] = Field(default_factory=list)
    bullets: list[str] = Field(default_factory=list)
    sources: list[str] = Field(default_factory=list)
    withheld: Holdout | None = None
    approve: bool = False


def whole_input(request: Mapping[str, Any]) -> dict[str, Any]:
    """A run's input with a value for whatever it leaves out, which else would be the last run's on its thread."""
    return {**_LearnRequest().model_dump(mode="json"), **request}


class _EditedDelta(Record):
    operations: list[DeltaContextItem]


@dataclass(frozen=True)
class LearnNodes:
    """`reflect`, `curate` and `apply_delta`, with what they need."""

    reflector: ReflectorAgent
    curator: CuratorAgent
    documents: DocumentStore
    forget: Callable[[str], None] = lambda _: None
    """Lets go of what is kept in memory for an execution: learning is the last in it that calls a model."""

    async def reflect(self, state: LearningState) -> LearnUpdate:
        """Lessons and tags; none, and no call, where this execution was learned from before."""
        values = {name: value for name, value in state.items() if name in _LearnRequest.model_fields}
        request = validate(_LearnRequest, values, "input")
        execution_id, dataset = state.get("execution_id") or str(uuid4()), request.dataset or DEFAULT_DATASET
        theme = checked_theme(request.theme) if request.theme else ""
        store = self.curator.playbook_store
        if await store.result_of(dataset, execution_id):
            return {**FRESH, "execution_id": execution_id, "reflection": _plain(ReflectionResult())}
        playbook = await store.load(dataset)
        bullets = [bullet for bullet in playbook.bullets if bullet.id in request.bullets]
        reflection = await self.reflector.reflect(
            with_drafts(request.rounds, await self._submissions(request.rounds)),
            bullets,
            dataset=dataset,
            execution_id=execution_id,
            theme=theme,
            language=request.language,
        )
        return {
            **FRESH,
            "execution_id": execution_id,
            "reflection": _plain(with_credit(reflection.result, bullets, _scores(request.rounds), request.withheld)),
            "usage": [_plain(call) for call in reflection.usage],
        }

    async def _submissions(self, rounds: Sequence[PlayedRound]) -> dict[str, Submission]:
        texts = await self.documents.get_many([each.submission for each in rounds if each.submission])
        return {document: Submission.model_validate_json(text) for document, text in texts.items()}

    async def curate(self, state: LearningState) -> LearnUpdate:
        """The operations to carry out; nothing is saved yet."""
        texts = await self.documents.get_many(state.get("sources", []))
        proposal = await self.curator.propose(
            ReflectionResult.model_validate(state["reflection"]),
            state.get("dataset") or DEFAULT_DATASET,
            execution_id=state["execution_id"],
            language=state.get("language", "en"),
            sources=[*texts.values()],
            theme=state.get("theme", ""),
            approved=bool(state.get("approve")),
        )
        return {
            "delta": [_plain(item) for item in proposal.delta_items],
            "skipped": [_plain(each) for each in proposal.skipped],
            "usage": [*state.get("usage", []), *(_plain(call) for call in proposal.usage)],
        }

    async def approve_delta(self, state: LearningState) -> LearnUpdate:
        """A person approves the operations, edits them or rejects them; the loop waits here."""
        language, dataset = state.get("language", "en"), state.get("dataset") or DEFAULT_DATASET
        changes = count_text(len(state["delta"]), "changes", language)
        delta_question = question(
            "playbook",
            {"operations": state["delta"]},
            description=WORDS[language].asked["changes"].format(changes=changes, dataset=dataset),
            execution_id=state["execution_id"],
            problem=state.get("problem", ""),
        )
        result = apply_answer(
            interrupt(delta_question),
            [DeltaContextItem.model_validate(item) for item in state["delta"]],
            editable=("operations",),
            edit=lambda values: _EditedDelta.model_validate(values).operations,
        )
        match result:
            case Unusable(why):
                return {"problem": why}
            case Rejected(decision):
                return _after_rejection(state.get("skipped", []), decision.reason)
            case Approved(delta):
                operations = [_plain(item) for item in delta]
                return {"delta": operations, "approve": False, "approved": True, "problem": ""}

    async def apply_delta(self, state: LearningState) -> LearnUpdate:
        """The votes and operations carried out on the newest playbook."""
        result = await self.curator.apply(
            [DeltaContextItem.model_validate(item) for item in state["delta"]],
            ReflectionResult.model_validate(state["reflection"]),
            state.get("dataset") or DEFAULT_DATASET,
            execution_id=state["execution_id"],
            skipped=[Skipped.model_validate(each) for each in state.get("skipped", [])],
            approved=state.get("approved", False),
        )
        self.forget(state["execution_id"])
        return {"result": _plain(result)}


def _after_rejection(skipped: Sequence[dict[str, Any]], reason: str) -> LearnUpdate:
    """Nothing of this run enters the playbook, votes included."""
    rejection = Skipped(bullet_id=None, reason=f"a person rejected the changes: {reason or 'no reason given'}")
    return {
        "delta": [],
        "skipped": [*skipped, _plain(rejection)],
        "reflection": _plain(ReflectionResult()),
        "approve": False,
        "problem": "",
    }


def _scores(rounds: Sequence[PlayedRound]) -> dict[str, float | None]:
    """Each team's best."""
    best: dict[str, float | None] = {}
    for each in rounds:
        before = best.get(each.team_id)
        best[each.team_id] = before if each.score is None else max(before or 0.0, each.score)
    return best


def _plain(record: BaseModel) -> dict[str, Any]:
    return record.model_dump(mode="json")


def with_credit(
    reflection: ReflectionResult,
    bullets: Sequence[Bullet],
    scores: Mapping[str, float | None],
    withheld: Holdout | None,
) -> ReflectionResult:
    """The reflection with an observation of each bullet that the run had, and votes that evidence stands behind.

    `scores`: each team's best, 0.0 to 1.0. Where no difference tells, the reflector's opinion does, unless earlier runs
    showed the contrary.
    """
    difference = _difference(scores, withheld)
    without = frozenset(withheld.bullets if withheld and difference is not None else [])
    observations = [
        Observation(bullet_id=bullet.id, difference=difference if bullet.id in without else None) for bullet in bullets
    ]
    opinions = {evaluation.bullet_id: evaluation.tag for evaluation in reflection.bullet_evaluations}
    votes = [
        BulletEvaluation(bullet_id=bullet.id, tag=vote)
        for bullet in bullets
        if (vote := _vote(bullet, difference if bullet.id in without else None, opinions.get(bullet.id, "")))
    ]
    ids = {bullet.id for bullet in bullets}
    votes += [evaluation for evaluation in reflection.bullet_evaluations if evaluation.bullet_id not in ids]
    return reflection.model_copy(update={"observations": observations, "bullet_evaluations": votes})


def _difference(scores: Mapping[str, float | None], withheld: Holdout | None) -> float | None:
    if withheld is None:
        return None
    without = scores.get(withheld.team_id)
    others = [score for team, score in scores.items() if team != withheld.team_id and score is not None]
    return None if without is None or not others else fmean(others) - without


def _vote(bullet: Bullet, difference: float | None, opinion: str) -> str:
    """The vote; "" for none."""
    if difference is not None and abs(difference) >= NEAR_TIE:
        return "helpful" if difference > 0 else "harmful"
    earlier = bullet.trial.difference or 0.0
    contrary = {"helpful": earlier <= -NEAR_TIE, "harmful": earlier >= NEAR_TIE}
    return "neutral" if contrary.get(opinion) else opinion


LearnGraph = StateGraph[LearningState, None, LearnInput, LearnOutput]


def build_learn_graph(nodes: LearnNodes) -> LearnGraph:
    """The graph, not compiled: its parent or its server brings the checkpointer."""
    graph: LearnGraph = StateGraph(LearningState, input_schema=LearnInput, output_schema=LearnOutput)
    add_node(graph, "reflect", nodes.reflect)
    add_node(graph, "curate", nodes.curate)
    add_node(graph, "approve_delta", nodes.approve_delta)
    add_node(graph, "apply_delta", nodes.apply_delta)
    graph.add_edge(START, "reflect")
    graph.add_edge("reflect", "curate")
    targets = {"approve_delta": "a person approves", "apply_delta": "else"}
    add_routes(graph, "curate", route_to_approval, targets)
    add_routes(graph, "approve_delta", route_to_approval, targets)
    graph.add_edge("apply_delta", END)
    return graph


async def route_to_approval(state: LearningState) -> Literal["approve_delta", "apply_delta"]:
    """To a person, where one wants to see the delta and there is one; an answer takes the wish away."""
    return "approve_delta" if state.get("approve") and state["delta"] else "apply_delta"
