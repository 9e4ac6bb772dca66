"""The nodes of a round's research: each opens its work, awaits at most one paid call, returns a partial update."""

from dataclasses import dataclass, replace
from typing import Any, cast

from langgraph.types import interrupt

from contend.approval import Rejected, Unusable, apply_answer, question
from contend.errors import SourceError
from contend.evidence import Action, ActionResult, EvidencePool, Step, store_hits, with_results
from contend.evidence.actions import LOCAL
from contend.evidence.pool import (
    held_tokens,
    hold,
    in_reading_order,
    parts_of,
    passage_numbers,
    results_for,
    with_catalogue,
    with_evidence,
    with_hits,
    with_offered,
    with_parts,
)
from contend.models.research import Part, ResearchPlan
from contend.models.task import CallUsage
from contend.research.asking import (
    StepTaken,
    action_line,
    begins_anew,
    plan_of,
    reply_of_line,
    screen_pool,
    take_step,
)
from contend.research.prompting import shown_ids, visible_ids
from contend.research.state import AT_BEGIN, EMPTY_LIST, ResearchState, ResearchUpdate
from contend.research.submitting import hand_in, submission_of, with_nearest
from contend.research.work import Research, cost_update, load_evidence, open_research
from contend.services import Services
from contend.text import WORDS

EDITABLE = ("investigation_points", "search_queries", "plan_text")
"""What a person may edit of a plan."""

_RESERVE = 0.4
"""Below this remaining share of a budget or of the team's time, the team starts writing."""


@dataclass(frozen=True)
class ResearchNodes:
    """Supervisor and researcher of one team in one round."""

    services: Services

    async def supervise(self, state: ResearchState) -> ResearchUpdate:
        """Set `next_action`: the researcher's next step, the draft, its review or the end."""
        # A team's round begins with an empty state; each key that is written is a row of every store.
        first = {} if "next_action" in state else AT_BEGIN
        state = {**state, **first}
        work = await open_research(self.services, state)
        if not state.get("task_plan"):
            work = await begin_round(work, inherited=state.get("inherited"), shared=state.get("shared"))
        if not state.get("draft_report"):
            update = await _research(work)
        elif found_after_all := found_for_last_draft(work):
            update = {**await _held_for(work, found_after_all), "next_action": "write"}
        elif state.get("feedback") and not state.get("accepted"):
            update = ResearchUpdate(next_action="write")
        elif state["iteration_count"] < work.max_drafts and not state.get("accepted"):
            update = ResearchUpdate(next_action="review")
        else:
            work, usages = await with_nearest(work)
            handed_in = await hand_in(work, await submission_of(work))
            pool, cost = await work.keep_pool(work.pool), cost_update(work, *usages)
            update = {"next_action": "end", **handed_in, "pool": pool, **cost}
        return {**first, **update}

    async def approve_plan(self, state: ResearchState) -> ResearchUpdate:
        """A person approves parts and first actions, edits or rejects them; meanwhile the team's time stands still."""
        work = await open_research(self.services, state)
        clock, team_id = work.run.clock, work.team.team_id
        clock.wait(team_id)
        decision = interrupt(_plan_question(work, state.get("problem", "")))
        clock.go(team_id, state.get("clock"))
        return await _follow_decision(work, decision)

    async def collect(self, state: ResearchState) -> ResearchUpdate:
        """Add the results of actions to the evidence, and show them to the role that asked."""
        work = await open_research(self.services, state)
        off = {**state.get("sources_off", {}), **{item["source"]: item["reason"] for item in state.get("failed", [])}}
        actions, brought = state["actions"], state.get("brought", [])
        by = actions[0]["by"] if actions else "researcher"
        pool = begins_anew(work) if by == "researcher" else work.pool
        visible = visible_ids(pool) if by == "researcher" else _seen_by_reviewer(work)
        room = work.profile("supervisor").step_tokens if by == "researcher" else work.profile("reviewer").look_tokens
        pool, results = with_results(pool, actions, brought, visible=visible, room=room)
        steps = [*pool["steps"]]
        if by == "researcher" and steps:
            steps[-1] = {**steps[-1], "results": results}
        work = work.with_pool({**pool, "steps": steps})
        # What a researcher sees is screened when it is held; reviewers see what they look up at once.
        usages: list[CallUsage] = []
        if by != "researcher":
            work, usages = await screen_pool(work, [each for result in results for each in result["shown"]])
        if brought:
            work.tell_step("search", work.how_many(len(work.pool["results"]), "sources"))
        return {
            "pool": await work.keep_pool(work.pool),
            "actions": [],
            "sources_off": off,
            **({} if by == "researcher" else {"looked": [*work.looked, _look(work, results)]}),
            **cost_update(work, *usages),
            # Where it grew up to this step: each key that is written is a row of every store.
            **cast("ResearchUpdate", {key: EMPTY_LIST for key in ("brought", "failed") if state.get(key)}),
        }

    async def screen(self, state: ResearchState) -> ResearchUpdate:
        """Which held passages speak to AI systems, asked about once in a run; and what drafts are written from."""
        work = await open_research(self.services, state)
        if not work.pool["held"]:
            off = state.get("sources_off", {})
            reasons = "; ".join(f"{name}: {reason}" for name, reason in off.items()) or "nothing matched"
            raise SourceError(f"no source gave anything for {work.question[:80]!r} ({reasons})")
        work, usages = await screen_pool(work, to_write_from(work), before_writing=True)
        if not work.pool["held"]:
            raise SourceError(f"all that was found for {work.question[:80]!r} speaks to AI systems and is left out")
        return {
            "pool": await work.keep_pool(work.pool),
            "passages": to_write_from(work),
            "research_data": results_for(work.pool, work.pool["held"]),
            **cost_update(work, *usages),
        }


async def _research(work: Research) -> ResearchUpdate:
    """The researcher's next step, unless all is read or what is left must be kept for writing."""
    if not _looks_further(work):
        return {**await _planned(work, []), "next_action": "write"}
    step = await take_step(work, most=work.options.max_steps)
    work = replace(work, pool=step.pool, steps=work.steps + 1)
    _tell_step(work, step)
    return {
        **await _planned(work, step.actions, step.thought),
        "next_action": "research" if step.actions else "write",
        "steps": work.steps,
        "beyond": step.beyond,
        **cost_update(work, step.usage),
    }


async def _planned(work: Research, actions: list[Action], thought: str = "") -> ResearchUpdate:
    """Record the evidence and the next actions; the first call is the plan, which may wait for approval."""
    update: ResearchUpdate = {
        "pool": await work.keep_pool(work.pool),
        "actions": actions,
        "research_data": results_for(work.pool, work.pool["held"]),
    }
    if work.plan:
        return update
    plan = plan_of(work.pool, work.question, actions, thought, work.team.sources)
    work.tell_step("plan", work.how_many(len(plan.search_queries), "queries"), plan=plan, actions=len(actions))
    # In round 1 only, before any action: a run pauses when its slowest team does. A plan made anew after a
    # rejection is not asked about again.
    wants_approval = "plan" in work.options.approve and work.round_number == 1 and not work.plan_answered
    return {**update, "task_plan": plan.model_dump(mode="json"), "human_input_required": wants_approval}


async def _held_for(work: Research, found: dict[str, list[str]]) -> ResearchUpdate:
    """Hold what code found for statements called not found, and ask for one more revision."""
    pool, _ = hold(work.pool, [each for ids in found.values() for each in ids], room=work.room * 5 // 4)
    numbers, words = passage_numbers(pool), WORDS[work.options.language].feedback
    lines = [
        words.found_after_all.format(
            text=text, passages="".join(f"[P{numbers[each]}]" for each in ids if each in pool["held"])
        )
        for text, ids in found.items()
    ]
    return {"pool": await work.keep_pool(pool), "feedback": "\n".join(lines)}


def _looks_further(work: Research) -> bool:
    """Whether a step of research follows."""
    if work.mends_only or not work.sources_on or work.steps >= work.options.max_steps:
        return False
    if work.pool["whole"] and [*work.sources_on] == [LOCAL]:
        return False
    return not (work.pool["held"] and _must_write(work))


def _must_write(work: Research) -> bool:
    """Whether budgets or time leave just enough for writing and review."""
    used = work.run.clock.team_seconds(work.team.team_id) / work.options.timeout_per_team_seconds
    return work.run.ledger.remaining_share() < _RESERVE or 1 - used < _RESERVE


async def begin_round(work: Research, *, inherited: str | None, shared: str | None) -> Research:
    """A round that begins: what the team knows before its first step.

    Its own evidence of rounds before, what the thread's last report rested on (`inherited`, by id), all own documents
    where they fit, and, offered by number, what other teams held when the round began (`shared`, by id).
    """
    pool = work.pool
    own = await load_evidence(work.run, inherited) if not pool["documents"] else []
    if LOCAL in work.sources_on and not pool["documents"]:
        entries = await work.sources.catalogue(work.options.documents, work.run.execution_id)
        pool = with_catalogue(pool, [entry.url for entry in entries])
    pool = with_offered(with_evidence(pool, own), await load_evidence(work.run, shared))
    pool, _ = hold(pool, [each["id"] for each in own], room=work.room)
    pool = await _with_whole(replace(work, pool=pool))
    # A draft that is revised keeps what it rests on.
    pool, _ = hold(pool, work.draft.passages() if work.draft else [], room=work.room * 2)
    if work.mends_only:
        # What judges saw of parts that are not answered: their fixes may rest on it, and no step looks for it.
        pool, _ = hold(pool, [each for part in pool["parts"] for each in part["nearest"]], room=work.room * 5 // 4)
    return work.with_pool({**pool, "steps_from": len(pool["steps"]), "held_then": [*pool["held"]]})


async def _with_whole(work: Research) -> EvidencePool:
    """Hold all local documents if they fit into one call, so that nothing is missed.

    Where other sources are on, too, they leave half of the room to these.
    """
    pool = work.pool
    if pool["whole"] or LOCAL not in work.sources_on:
        return pool
    most = work.room if [*work.sources_on] == [LOCAL] else work.room // 2
    sections = await work.sources.whole(work.options.documents, work.run.execution_id, most)
    if not sections:
        return pool
    hits = await store_hits(sections, Action(kind="read", source=LOCAL, text="", parts=[], by="draft"), work.documents)
    pool = with_hits(pool, (({**hit["evidence"], "found_by": []}, hit["result"], hit["text"]) for hit in hits))
    pool, _ = hold(pool, [hit["evidence"]["id"] for hit in hits], room=work.room)
    return {**pool, "whole": True}


def _look(work: Research, results: list[ActionResult]) -> Step:
    """What a reviewer or code looked up for the draft at hand."""
    number = len(work.looked) + 1
    return Step(number=number, round=work.round_number, thought="", held=[], given_up=[], results=results)


def _seen_by_reviewer(work: Research) -> list[str]:
    shown = [each for step in work.looked for result in step["results"] for each in result["shown"]]
    return [*work.passages, *shown]


def to_write_from(work: Research) -> list[str]:
    """The passages for drafting, in reading order; later additions are appended, in later rounds, too."""
    held, of_best = work.pool["held"], [each.id for each in work.best.passages] if work.best else []
    before = [each for each in work.passages or of_best if each in held]
    return [*before, *in_reading_order(work.pool, [each for each in held if each not in before])]


def _tell_step(work: Research, step: StepTaken) -> None:
    parts = parts_of(work.pool)
    detail = work.how_many(len(parts), "parts_answered", part=sum(part.state == "answered" for part in parts))
    work.tell_step(
        "research",
        detail,
        iteration=work.steps,
        parts=parts,
        held_tokens=held_tokens(work.pool),
        held=len(work.pool["held"]),
        room=work.room,
        thought=step.thought,
        actions=len(step.actions),
    )


def _plan_question(work: Research, problem: str) -> dict[str, Any]:
    """The interrupt's payload: what may be edited, and whose plan it is."""
    return question(
        "plan",
        {name: work.plan[name] for name in EDITABLE},
        description=WORDS[work.options.language].asked["plan"].format(team=work.team.name, theme=work.question),
        execution_id=work.run.execution_id,
        team_id=work.team.team_id,
        problem=problem,
    )


async def _follow_decision(work: Research, answer: object) -> ResearchUpdate:
    """What the answer makes of the state; one that can't be followed leaves the question open and says why."""
    result = apply_answer(
        answer,
        ResearchPlan.model_validate(work.plan),
        editable=EDITABLE,
        edit=lambda values: ResearchPlan.model_validate({**work.plan, **values}),
    )
    if isinstance(result, Unusable):
        return {"problem": result.why}
    update: ResearchUpdate = {
        "human_input": result.decision.model_dump_json(),
        "human_input_required": False,
        "problem": "",
    }
    if isinstance(result, Rejected):
        return {**update, "task_plan": None, "actions": [], "next_action": "research", "steps": 0}
    return {**update, "task_plan": result.value.model_dump(mode="json"), **await _edited(work, result.value)}


async def _edited(work: Research, plan: ResearchPlan) -> ResearchUpdate:
    """The parts and the first actions as a person edited them."""
    pool, known = work.pool, {action_line(action): action for action in work.actions}
    if [part.text for part in parts_of(pool)] != plan.investigation_points:
        pool = with_parts(pool, [Part(text=text) for text in plan.investigation_points])
    actions = [
        action
        for line in plan.search_queries
        for action in ([known[line]] if line in known else work.desk.actions([reply_of_line(line)], "researcher"))
    ]
    return {"pool": await work.keep_pool(pool), "actions": actions if work.pool["steps"] else []}


def found_for_last_draft(work: Research) -> dict[str, list[str]]:
    """What code found for statements called not found in the round's last draft, by search words.

    Of each search the best two that nobody of the team has seen: a revision for others would bring nothing.
    """
    if work.drafts != work.max_drafts or work.looks:
        return {}
    results = [result for step in work.looked for result in step["results"] if result["by"] == "draft"]
    seen = {*work.passages, *_seen_in_steps(work.pool)}
    found = {result["text"]: [each for each in result["shown"] if each not in seen][:2] for result in results}
    return {text: ids for text, ids in found.items() if ids}


def _seen_in_steps(pool: EvidencePool) -> set[str]:
    """The ids of the passages that prompts of the team have shown: to its researcher, or as nearest to its reviewer."""
    shown = {*shown_ids(pool["steps"]), *(each for step in pool["steps"] for each in step["held"])}
    return shown | {each for part in pool["parts"] for each in part["nearest"]}
