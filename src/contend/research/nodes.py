"""The nodes of a round's research: each reads, awaits at most one paid call, and returns a partial update."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from langgraph.errors import NodeError
from langgraph.types import Command, interrupt

from contend.approval import Rejected, Unusable, apply_answer, question
from contend.errors import SourceError
from contend.langgraph_compat import known_cause
from contend.models.evaluation import Submission
from contend.models.events import MOST_HITS, Hit, SearchDone, SourceOff
from contend.models.research import Draft, FoundPassage, ResearchPlan
from contend.research import compact, evidence, full
from contend.research.ask import (
    cost_update,
    draft_to_mend,
    hand_in,
    how_many,
    max_iterations,
    profile,
    queries_of,
    searched_sources,
    team_of,
    tell_step,
    with_texts,
    working_sources,
)
from contend.research.planted import screen
from contend.research.state import AT_BEGIN, EMPTY_LIST, PageTask, ResearchState, ResearchUpdate, SearchTask
from contend.research.writing import submission_of
from contend.services import Services
from contend.text import WORDS, compact_tables, estimate_tokens, reason_text

EDITABLE = ("investigation_points", "search_queries", "plan_text")
"""What a person may edit of a plan."""


_REVISION = "All documents are read: the best report is revised by what its judges found."


@dataclass(frozen=True)
class ResearchNodes:
    """Supervisor and researcher of one team in one round."""

    services: Services

    async def supervise(self, state: ResearchState) -> ResearchUpdate:
        """Plan first; afterwards decide on `next_action`, without a call."""
        if not state.get("task_plan"):
            # A team's round begins with an empty state; each key that is written is a row of every store.
            first = {} if "next_action" in state else AT_BEGIN
            whole: ResearchState = {**state, **first}
            best = await self.services.submission(state.get("best_submission"))
            revision = await self._without_plan(whole, best) if best else None
            return {**first, **(revision or await self._plan(whole, best))}
        open_questions = open_queries(state, await evidence.pool_of(self.services, state))
        if state.get("accepted") or state["iteration_count"] >= max_iterations(state):
            if open_questions and not state.get("open_searched"):
                # Nobody writes that nothing is known before a search for exactly that came back empty.
                return {"next_action": "research", "more_queries": open_questions, "open_searched": True}
            submission = await submission_of(self.services, state)
            return {"next_action": "end", **await hand_in(self.services, state, submission)}
        if state.get("feedback") is None:
            return {"next_action": "review"}
        queries = list(dict.fromkeys([*(state.get("more_queries") or []), *open_questions]))
        again: Literal["research", "write"] = "research" if queries else "write"
        return {"next_action": again, "more_queries": queries, "iteration_count": state["iteration_count"] + 1}

    async def approve_plan(self, state: ResearchState) -> ResearchUpdate:
        """A person approves the plan, edits it or rejects it; the team waits here, and its time stands still."""
        clock, team_id = (await self.services.run(state)).clock, team_of(state).team_id
        clock.wait(team_id)
        decision = interrupt(_plan_question(state))
        clock.go(team_id, state.get("clock"))
        return _follow_decision(state, decision)

    async def search(self, task: SearchTask) -> ResearchUpdate:
        """One query to one source; texts go to the document store, state gets their ids."""
        documents = (await self.services.run(task)).options.documents
        source = await self.services.sources.ready(task["source"], documents, task["execution_id"])
        hits = await source.search(task["query"], limit=task["limit"])
        self.services.tell(search_event(task, hits))
        return {"found": await self._store(hits, task["query"], is_summary=source.summarizes)}

    async def turn_off(self, task: SearchTask, error: NodeError) -> Command[Literal["collect"]]:
        """A source that fails is off for the rest of the run; the other sources go on."""
        why = known_cause(error, SourceError)
        reason = await turn_off(self.services, task, why)
        # A failed node's edges are not followed: without this, searches that all fail would end the graph silently.
        return Command(update={"failed": [{"source": task["source"], "reason": reason}]}, goto="collect")

    async def collect(self, state: ResearchState) -> ResearchUpdate:
        """What was found joins the pool; then which of it the team works with, or what a model has to choose among.

        Where pages are to be read in full, they are read first, and come back here.
        """
        if evidence.pages_to_read(state):
            return {}
        off = {**state.get("sources_off", {}), **{item["source"]: item["reason"] for item in state.get("failed", [])}}
        best = await self.services.submission(state.get("best_submission"))
        before = await evidence.pool_of(self.services, state)
        whole = [] if "local" in off or before["passages"] else await self._whole_documents(state)
        pool = evidence.grown_pool(before, state, queries_of(state), whole)
        if not pool["passages"]:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in off.items()) or "nothing matched"
            raise SourceError(f"no source gave anything for {state['theme'][:80]!r} ({reasons})")
        pool, usage = await screen(self.services, state, pool)
        if whole:
            pool = {**pool, "shown": [each["id"] for each in pool["passages"]]}
        working = self._working(state, pool, best, first=evidence.whole_ids(pool, whole))
        if state.get("found") or whole:
            pages = state.get("read", [])
            pages_in_full = sum(not page["problem"] for page in pages)
            in_full = f", {how_many(state, len(pages), 'pages', part=pages_in_full)}" if pages else ""
            tell_step(self.services, state, "search", how_many(state, len(pool["results"]), "sources") + in_full)
        return {
            **working,
            "pool": await evidence.keep_pool(self.services, state, pool),
            "sources_off": off,
            "more_queries": [],
            # Where it grew up to this reading list: each key that is written is a row of every store.
            **cast("ResearchUpdate", {key: EMPTY_LIST for key in ("found", "failed", "read") if state.get(key)}),
            **(await cost_update(self.services, state, usage) if usage else {}),
        }

    async def choose(self, state: ResearchState) -> ResearchUpdate:
        """A model chooses once which of the new passages serve which point; what the draft cites stays."""
        pool = await evidence.pool_of(self.services, state)
        best = await self.services.submission(state.get("best_submission"))
        by_id = {each["id"]: each for each in pool["passages"]}
        budget, first_ids = profile(state).chosen_tokens, pinned_ids(state, best)
        candidates = [by_id[each] for each in state["to_choose"]]
        texts = await with_texts(self.services, evidence.passages_of(pool, state["to_choose"]))
        reply, usage = await full.choose(self.services, state, candidates, texts, budget=budget)
        room = evidence.room_for(pool, first_ids, profile(state))
        choice = evidence.chosen_ids(reply, candidates, tokens=room - evidence.tokens_of(pool, first_ids))
        ids = evidence.within(pool, [*first_ids, *choice, *evidence.earlier_ids(state, best)], tokens=room)
        pool = {**pool, "shown": [*pool["shown"], *state["to_choose"]]}
        gaps = [query for query in reply.gaps if query not in pool["searches"]]
        tell_step(self.services, state, "choose", how_many(state, len(candidates), "passages", part=len(choice)))
        return {
            **evidence.at_work(pool, ids),
            "pool": await evidence.keep_pool(self.services, state, pool),
            "to_choose": [],
            # One search for gaps a loop: what it finds is chosen among, and then written from.
            "more_queries": [] if state.get("gaps_searched") else gaps,
            "gaps_searched": True,
            **await cost_update(self.services, state, usage),
        }

    async def read_page(self, task: PageTask) -> ResearchUpdate:
        """One page or paper in full: its passages nearest to the queries join what was found."""
        url = task["result"]["url"]
        page = await self.services.sources.full_texts.read(url)
        nearest = evidence.nearest_passages(task, page, await self.services.documents.get(task["summary"]))
        ids = await self.services.documents.put_many([text for text, _ in nearest])
        hits = [{**hit, "text": document} for (_, hit), document in zip(nearest, ids, strict=True)]
        return {"found": hits, "read": [{"url": url, "problem": ""}]}

    async def leave_unread(self, task: PageTask, error: NodeError) -> Command[Literal["collect"]]:
        """A page that cannot be read is noted; its summary stands, and the other pages go on."""
        why = known_cause(error, SourceError)
        # A failed node's edges are not followed: without this, pages that all fail would end the graph silently.
        return Command(update={"read": [{"url": task["result"]["url"], "problem": str(why)}]}, goto="collect")

    async def _store(self, hits: Sequence[FoundPassage], query: str, *, is_summary: bool) -> list[dict[str, Any]]:
        documents = await self.services.documents.put_many([hit.text for hit in hits])
        return [
            {
                "query": query,
                "place": place,
                "text": document,
                "heading": hit.heading,
                "tokens": estimate_tokens(compact_tables(hit.text)),
                "summarized": is_summary,
                "result": hit.result.model_dump(mode="json", exclude_none=True, exclude={"summary"}),
            }
            for place, (hit, document) in enumerate(zip(hits, documents, strict=True), start=1)
        ]

    async def _whole_documents(self, state: ResearchState) -> list[dict[str, Any]]:
        """All sections of the own documents in order, where one call can read them: nothing of them is missed then.

        Once: they stay in the pool. Searches go on all the same, for they tell what is not in the documents.
        """
        limits = profile(state)
        if limits.compact or "local" not in searched_sources(state):
            return []
        documents, execution_id = state["options"]["documents"], state["execution_id"]
        sections = await self.services.sources.whole(documents, execution_id, limits.offered_tokens)
        return await self._store(sections, "", is_summary=False)

    def _working(
        self, state: ResearchState, pool: evidence.EvidencePool, best: Submission | None, first: Sequence[str]
    ) -> ResearchUpdate:
        """The passages to work with, where all that may be read fits; else those to choose among.

        `first`: the ids of those that come before others, in this order.
        """
        limits, earlier = profile(state), evidence.earlier_ids(state, best)
        first_ids = pinned_ids(state, best)
        room = evidence.room_for(pool, first_ids, limits)
        if limits.compact:
            return evidence.at_work(pool, evidence.working_ids(pool, first_ids, tokens=limits.chosen_tokens))
        candidates = evidence.working_ids(pool, [*first_ids, *earlier, *first], tokens=max(room, limits.offered_tokens))
        if first:
            # Writers of the first draft read all there is; what it cites stays for the calls that follow.
            return {**evidence.at_work(pool, candidates), "to_choose": [], "nothing_new": False}
        everything = evidence.within(pool, [*earlier, *candidates], tokens=room)
        old = {*first_ids, *earlier, *pool["shown"]}
        new = [each for each in candidates if each not in old]
        has_draft = bool(state.get("draft_report"))
        if len(everything) == len(set(candidates)):
            return {**evidence.at_work(pool, everything), "to_choose": [], "nothing_new": has_draft and not new}
        if not new:
            # A model has chosen among all of it. A round that begins looks again: at what its searches find first of
            # what it has not at hand.
            queries = [] if has_draft else queries_of(state)
            hits = [each["id"] for each in evidence.in_turns(pool["passages"], queries) if each["id"] not in earlier]
            working = evidence.within(pool, [*earlier, *hits[: len(queries)]], tokens=room)
            return {**evidence.at_work(pool, working), "to_choose": [], "nothing_new": has_draft}
        return {"to_choose": new, "nothing_new": False}

    async def _without_plan(self, state: ResearchState, best: Submission) -> ResearchUpdate | None:
        """Straight to the revision of the team's best report, where its sources were offered whole; else None.

        What its judges missed is looked up in what no call has at hand.
        """
        pool = await evidence.pool_of(self.services, state)
        only_local = await working_sources(self.services, state) == ["local"]
        if not pool.get("whole") or not only_local or profile(state).compact:
            return None
        plan = ResearchPlan(
            theme=best.draft.title or best.report.theme,
            investigation_points=best.points,
            outline=[section.heading for section in best.draft.sections],
            search_queries=best.queries,
            plan_text=_REVISION,
        )
        at_hand = {passage.id for passage in best.passages}
        unread = any(each["id"] not in at_hand for each in pool["passages"])
        gaps = await full.gaps_for(self.services, state) if unread else []
        return {
            "task_plan": plan.model_dump(mode="json"),
            "next_action": "research",
            "human_input_required": False,
            "more_queries": gaps,
            "iteration_count": 1,
        }

    async def _plan(self, state: ResearchState, best: Submission | None) -> ResearchUpdate:
        if profile(state, "supervisor").compact:
            plan, usage = await compact.plan(self.services, state)
        else:
            plan, usage = await full.plan(self.services, state, best)
        first: ResearchState = {**state, "iteration_count": 1}
        tell_step(self.services, first, "plan", how_many(state, len(plan.search_queries), "queries"), plan=plan)
        # In round 1 only, before any search; a plan made anew after a rejection is not asked about again.
        wants_approval = "plan" in state["options"]["approve"] and state["round_number"] == 1
        return {
            "task_plan": plan.model_dump(mode="json"),
            "next_action": "research",
            "human_input_required": wants_approval and not state.get("human_input"),
            "iteration_count": 1,
            **await cost_update(self.services, state, usage),
        }


def _plan_question(state: ResearchState) -> dict[str, Any]:
    """The interrupt's payload: what may be edited, and whose plan it is."""
    plan, team = state["task_plan"] or {}, state["team"]
    return question(
        "plan",
        {name: plan[name] for name in EDITABLE},
        description=WORDS[state["options"]["language"]].asked["plan"].format(team=team["name"], theme=state["theme"]),
        execution_id=state["execution_id"],
        team_id=team["team_id"],
        problem=state.get("problem", ""),
    )


def _follow_decision(state: ResearchState, answer: object) -> ResearchUpdate:
    """What the answer makes of the state; one that can't be followed leaves the question open and says why."""
    plan = state["task_plan"] or {}
    result = apply_answer(
        answer,
        ResearchPlan.model_validate(plan),
        editable=EDITABLE,
        edit=lambda values: ResearchPlan.model_validate({**plan, **values}),
    )
    if isinstance(result, Unusable):
        return {"problem": result.why}
    update: ResearchUpdate = {
        "human_input": result.decision.model_dump_json(),
        "human_input_required": False,
        "problem": "",
    }
    if isinstance(result, Rejected):
        return {**update, "task_plan": None, "next_action": "research"}
    return {**update, "task_plan": result.value.model_dump(mode="json")}


def pinned_ids(state: ResearchState, best: Submission | None) -> list[str]:
    """The passages that the draft to mend rests on, in its order."""
    return draft.passages() if (draft := draft_to_mend(state, best)) else []


def open_queries(state: ResearchState, pool: evidence.EvidencePool) -> list[str]:
    """The searches named by the draft's open statements that nobody has made."""
    if not state.get("draft_report"):
        return []
    draft = Draft.model_validate(state["draft_report"])
    queries = dict.fromkeys(each.basis for each in draft.sentences() if each.kind == "open" and each.basis)
    return [query for query in queries if query not in pool["searches"]]


async def turn_off(services: Services, task: SearchTask, error: SourceError) -> str:
    """The source of a search that failed is off for the rest of the run; who follows it is told the first time.

    Gives the reason in the run's language.
    """
    execution_id, team_id, source = task["execution_id"], task["team_id"], task["source"]
    run = await services.run(task)
    reason = reason_text(str(error), run.options.language)
    if run.turn_off(source, reason):
        services.tell(SourceOff(execution_id=execution_id, team_id=team_id, source=source, reason=reason))
    return reason


def search_event(task: SearchTask, hits: Sequence[FoundPassage]) -> SearchDone:
    """One search as the run's followers are told of it."""
    return SearchDone(
        execution_id=task["execution_id"],
        team_id=task["team_id"],
        round_number=task.get("round_number", 0),
        query=task["query"],
        source=task["source"],
        count=len(hits),
        hits=[
            Hit(title=hit.result.title, url=hit.result.url, published_date=hit.result.published_date)
            for hit in list({hit.result.url: hit for hit in hits}.values())[:MOST_HITS]
        ],
    )
