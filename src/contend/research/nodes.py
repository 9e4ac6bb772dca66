"""The nodes of a round's research: each reads, awaits at most one paid call, and returns a partial update."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from langgraph.errors import NodeError
from langgraph.types import Command, Overwrite, interrupt

from contend.approval import Rejected, Unusable, apply_answer, question
from contend.errors import BudgetExhausted, ContendError, DraftError, SourceError
from contend.models.events import MOST_HITS, Hit, SearchDone, SourceOff, StepDone
from contend.models.replies import FixesReply, ReviewReply
from contend.models.research import Draft, Found, Passage, ResearchPlan, SearchResult
from contend.models.submission import Submission
from contend.preflight import is_alone
from contend.report import state_to_report
from contend.research import compact, full
from contend.research.alone import message
from contend.research.ask import guard_of, max_iterations, profile, queries_of, searched_sources, spent, team_of
from contend.research.checking import marks_of
from contend.research.evidence import EvidencePool
from contend.research.feedback import without_instructions
from contend.research.gathering import (
    chosen_ids,
    cited_ids,
    grown_pool,
    keep_pool,
    known_ids,
    passages_of,
    pool_of,
    results_of,
    room_for,
    with_summaries,
    within,
    working_ids,
)
from contend.research.planting import without_planted
from contend.research.reading import nearest_passages, pages_to_read, unread_pages
from contend.research.screening import screened
from contend.research.state import (
    BEGUN,
    PageTask,
    ResearchState,
    ResearchUpdate,
    SearchTask,
    SectionTask,
    WrittenSection,
)
from contend.research.submitting import submission_of
from contend.services import Services
from contend.text import estimate_tokens, shorten

EDITABLE = ("investigation_points", "search_queries", "plan_text")
"""What a person may edit of a plan."""


@dataclass(frozen=True)
class ResearchNodes:
    """Supervisor, researcher, writer and reviewer of one team in one round."""

    services: Services

    async def supervise(self, state: ResearchState) -> ResearchUpdate:
        """Plan first; afterwards decide on `next_action`, without a call."""
        if not state.get("task_plan"):
            # A team's round begins with an empty state; each key that is written is a row of every store.
            begun = {} if "next_action" in state else BEGUN
            known: ResearchState = {**state, **begun}  # type: ignore[typeddict-item]  # an update of the same keys
            return {**begun, **await self._plan(known)}
        open_questions = unsearched(state, await pool_of(self.services, state))
        if state.get("accepted") or state["iteration_count"] >= max_iterations(state):
            if open_questions and not state.get("open_searched"):
                # Nobody writes that nothing is known before a search for exactly that came back empty.
                return {"next_action": "research", "more_queries": open_questions, "open_searched": True}
            return {"next_action": "end", **await self._hand_in(state)}
        if state.get("feedback") is None:
            return {"next_action": "review"}
        queries = list(dict.fromkeys([*(state.get("more_queries") or []), *open_questions]))
        again: Literal["research", "write"] = "research" if queries else "write"
        return {"next_action": again, "more_queries": queries, "iteration_count": state["iteration_count"] + 1}

    async def approve_plan(self, state: ResearchState) -> ResearchUpdate:
        """A person approves the plan, edits it or rejects it; the team waits here, and its time stands still."""
        clock, team_id = (await self.services.run(state)).clock, team_of(state).team_id
        clock.wait(team_id)
        answer = interrupt(_plan_question(state))
        clock.go(team_id, state.get("clock"))
        return _plan_approved(state, answer)

    async def search(self, task: SearchTask) -> ResearchUpdate:
        """One query to one source; texts go to the document store, state gets their ids."""
        documents = (await self.services.run(task)).options.documents
        source = await self.services.ready_source(task["source"], documents, task["execution_id"])
        hits = await source.search(task["query"], limit=task["limit"])
        self.services.tell(_searched(task, hits))
        return {"found": await self._stored(hits, task["query"], summarized=source.summarizes)}

    async def turn_off(self, task: SearchTask, error: NodeError) -> Command[Literal["collect"]]:
        """A source that fails is off for the rest of the run; the other sources go on."""
        if not isinstance(error.error, SourceError):
            raise error.error
        reason = str(error.error)
        if (await self.services.run(task)).turn_off(task["source"], reason):
            self.services.tell(
                SourceOff(
                    execution_id=task["execution_id"], team_id=task["team_id"], source=task["source"], reason=reason
                )
            )
        # A failed node's edges are not followed: without this, searches that all fail would end the graph silently.
        return Command(update={"failed": [{"source": task["source"], "reason": reason}]}, goto="collect")

    async def collect(self, state: ResearchState) -> ResearchUpdate:
        """What was found joins the pool; then which of it the team works with, or what a model has to choose among.

        Where pages are to be read in full, they are read first, and come back here.
        """
        if pages_to_read(state):
            return {}
        off = {**state.get("sources_off", {}), **{item["source"]: item["reason"] for item in state.get("failed", [])}}
        best = await self.services.submission(state.get("best_submission"))
        before = await pool_of(self.services, state)
        whole = [] if "local" in off or before["passages"] else await self._whole_documents(state)
        pool = grown_pool(before, state, queries_of(state), whole)
        if not pool["passages"]:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in off.items()) or "nothing matched"
            raise SourceError(f"no source gave anything for {state['theme'][:80]!r} ({reasons})")
        pool, usage = await screened(self.services, state, pool)
        chosen = self._working(state, pool, best, first=[hit["text"] for hit in whole])
        self._tell(state, "search", _told_found(state, len(pool["results"])))
        return {
            **chosen,
            "pool": await keep_pool(self.services, state, pool),
            "sources_off": off,
            "unread": unread_pages(state, pool["results"], best),
            "more_queries": [],
            **_emptied(state),
            **(await spent(self.services, state, usage) if usage else {}),
        }

    async def choose(self, state: ResearchState) -> ResearchUpdate:
        """A model chooses once which of the new passages serve which point; what the draft cites stays."""
        pool, best = await pool_of(self.services, state), await self.services.submission(state.get("best_submission"))
        known = {each["id"]: each for each in pool["passages"]}
        shown = [known[each] for each in state["to_choose"]]
        limits, pinned = profile(state), self._pinned(state, best)
        room = room_for(pool, pinned, limits.chosen_tokens)
        texts = await self._with_texts(passages_of(pool, [each["id"] for each in shown]))
        reply, usage = await full.choose(self.services, state, shown, texts, budget=limits.chosen_tokens)
        held = sum(each["tokens"] for each in pool["passages"] if each["id"] in pinned)
        chosen = chosen_ids(reply, shown, tokens=room - held)
        ids = within(pool, [*pinned, *chosen, *known_ids(state, best)], tokens=room)
        seen = [*pool["shown"], *(each["id"] for each in shown)]
        gaps = [query for query in reply.gaps if query not in pool["searches"]]
        self._tell(state, "choose", f"{len(chosen)} of {len(shown)} passages")
        return {
            **self._at_work(pool, ids),
            "pool": await keep_pool(self.services, state, {**pool, "shown": seen}),
            "to_choose": [],
            # One search for gaps a loop: what it finds is chosen among, and then written from.
            "more_queries": [] if state.get("gaps_searched") else gaps,
            "gaps_searched": True,
            **await spent(self.services, state, usage),
        }

    async def read_page(self, task: PageTask) -> ResearchUpdate:
        """One page or paper in full: its passages nearest to the queries join what was found."""
        url = task["result"]["url"]
        page = await self.services.full_texts.read(url)
        nearest = nearest_passages(task, page, await self.services.documents.get(task["summary"]))
        ids = await self.services.documents.put_many([text for text, _ in nearest])
        found = [{**hit, "text": document} for (_, hit), document in zip(nearest, ids, strict=True)]
        return {"found": found, "read": [{"url": url, "problem": ""}]}

    async def leave_unread(self, task: PageTask, error: NodeError) -> Command[Literal["collect"]]:
        """A page that cannot be read is noted; its summary stands, and the other pages go on."""
        if not isinstance(error.error, SourceError):
            raise error.error
        # A failed node's edges are not followed: without this, pages that all fail would end the graph silently.
        return Command(update={"read": [{"url": task["result"]["url"], "problem": str(error.error)}]}, goto="collect")

    async def write(self, state: ResearchState) -> ResearchUpdate:
        """The draft, or what of it changes; the model names sources, code renders the citations."""
        offered = await self._offered(state)
        best = await self.services.submission(state.get("best_submission"))
        if profile(state).compact:
            draft, usage = await compact.write(self.services, state, offered, best.content if best else "")
            return {**await self._written(state, draft, offered, marks=[]), **await spent(self.services, state, usage)}
        draft, usage = await full.write(self.services, state, offered, _draft_to_mend(state, best))
        written = await self._written(state, draft, offered, marks=await marks_of(draft, offered))
        return {**written, **await spent(self.services, state, usage)}

    async def write_section(self, task: SectionTask) -> ResearchUpdate:
        """One section of a long report."""
        offered = await self._offered(task["research"])
        return {"written_sections": [await full.write_section(self.services, task, offered)]}

    async def leave_unwritten(self, task: SectionTask, error: NodeError) -> Command[Literal["summarize"]]:
        """A section that could not be written is named to the reviewer; the others go on."""
        if not isinstance(error.error, ContendError) or isinstance(error.error, BudgetExhausted):
            raise error.error
        failed: WrittenSection = {
            "number": task["number"], "section": None, "bullets": [], "usage": None, "failure": str(error.error)
        }  # fmt: skip
        # A failed node's edges are not followed: without this, sections that all fail would end the graph silently.
        return Command(update={"written_sections": [failed]}, goto="summarize")

    async def summarize(self, state: ResearchState) -> ResearchUpdate:
        """A long report's sections together, with summary, findings and limits."""
        sections = sorted(state["written_sections"], key=lambda each: each["number"])
        written = [each for each in sections if each["section"]]
        if not written:
            raise DraftError(f"no section of the report could be written: {sections[0]['failure']}")
        offered = await self._offered(state)
        draft, usage = await full.summarize(self.services, state, offered, written)
        missing = [
            {"place": f"section {each['number']}", "text": f"not written: {each['failure']}"}
            for each in sections
            if not each["section"]
        ]
        calls = [each["usage"] for each in written if each["usage"]]
        known: ResearchState = {**state, "calls": [*state.get("calls", []), *calls]}
        return {
            **await self._written(state, draft, offered, marks=[*missing, *await marks_of(draft, offered)]),
            "written_sections": Overwrite([]),
            **await spent(self.services, known, usage),
        }

    async def _written(
        self, state: ResearchState, draft: Draft, offered: Sequence[Passage], *, marks: list[dict[str, str]]
    ) -> ResearchUpdate:
        """What a new draft makes of the state."""
        draft = without_planted(draft, guard_of(state, offered))
        written: ResearchState = {**state, "draft_report": draft.model_dump(mode="json")}
        report = state_to_report(written, results=await self._results(state), passages=offered)
        text = report.to_markdown(state["options"]["language"], folders=self._folders(state))
        document = await self.services.documents.put(text)
        self._tell(state, "write", f"{len(draft.sentences())} statements", document=document)
        return {
            "draft_report": draft.model_dump(mode="json"),
            "current_draft": text,
            "written_from": [passage.id for passage in offered],
            "marks": marks,
            "feedback": None,
            "gaps_searched": False,
        }

    async def review(self, state: ResearchState) -> ResearchUpdate:
        """The reviewer accepts, says what to mend, or asks for another search."""
        offered = await self._offered(state)
        if profile(state).compact:
            reply, usage = await compact.review(self.services, state, offered)
            reviewed = self._reviewed(state, reply)
        else:
            draft = Draft.model_validate(state["draft_report"])
            fixes, usage = await full.review(self.services, state, offered, draft)
            reviewed = _with_fixes(fixes)
        feedback = "" if reviewed["accepted"] else reviewed["feedback"] or ""
        self._tell(state, "review", "accepted" if reviewed["accepted"] else shorten(feedback, 80), feedback=feedback)
        return {**reviewed, **await spent(self.services, state, usage)}

    async def _stored(self, hits: Sequence[Found], query: str, *, summarized: bool) -> list[dict[str, Any]]:
        documents = await self.services.documents.put_many([hit.text for hit in hits])
        return [
            {
                "query": query,
                "place": place,
                "text": document,
                "heading": hit.heading,
                "tokens": estimate_tokens(hit.text),
                "summarized": summarized,
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
        return await self._stored(
            await self.services.whole_documents(documents, execution_id, limits.offered_tokens), "", summarized=False
        )

    def _reviewed(self, state: ResearchState, reply: ReviewReply) -> ResearchUpdate:
        instructions = self.services.library.render(
            "reviewer/system", {}, language=state["options"]["language"], mark=""
        )
        feedback = without_instructions(reply.feedback, instructions)
        return {"accepted": reply.accept, "feedback": feedback, "more_queries": reply.more_queries}

    def _pinned(self, state: ResearchState, best: Submission | None) -> list[str]:
        return cited_ids(_draft_to_mend(state, best))

    def _working(
        self, state: ResearchState, pool: EvidencePool, best: Submission | None, first: Sequence[str]
    ) -> ResearchUpdate:
        """The passages to work with, where all that may be read fits; else those to choose among.

        `first`: the ids of those that come before others, in this order.
        """
        limits, pinned, known = profile(state), self._pinned(state, best), known_ids(state, best)
        room = room_for(pool, pinned, limits.chosen_tokens)
        if limits.compact:
            return self._at_work(pool, working_ids(pool, pinned, tokens=limits.chosen_tokens))
        candidates = working_ids(pool, [*pinned, *known, *first], tokens=max(room, limits.offered_tokens))
        everything = within(pool, [*known, *candidates], tokens=room)
        new = [each for each in candidates if each not in {*pinned, *known, *pool["shown"]}]
        if len(everything) == len(set(candidates)) or not new:
            nothing_new = bool(state.get("draft_report")) and not new
            return {**self._at_work(pool, everything), "to_choose": [], "nothing_new": nothing_new}
        return {"to_choose": new, "nothing_new": False}

    def _at_work(self, pool: EvidencePool, ids: Sequence[str]) -> ResearchUpdate:
        passages = passages_of(pool, ids)
        return {
            "passages": [passage.model_dump(mode="json", exclude={"text"}) for passage in passages],
            "research_data": results_of(pool, passages),
        }

    def _folders(self, state: ResearchState) -> list[Path]:
        return self.services.document_paths(state["options"]["documents"])

    async def _offered(self, state: ResearchState) -> list[Passage]:
        return await self._with_texts([Passage.model_validate(passage) for passage in state["passages"]])

    async def _with_texts(self, passages: Sequence[Passage]) -> list[Passage]:
        texts = await self.services.documents.get_many(passage.id for passage in passages)
        return [passage.model_copy(update={"text": texts[passage.id]}) for passage in passages]

    async def _results(self, state: ResearchState) -> list[SearchResult]:
        """Whole: in the state, titles stand for their summaries."""
        pool = await pool_of(self.services, state)
        wanted = [pool["summarized_by"][result["url"]] for result in state["research_data"]]
        return with_summaries(state["research_data"], pool, await self.services.documents.get_many(wanted))

    async def _plan(self, state: ResearchState) -> ResearchUpdate:
        if profile(state, "supervisor").compact:
            plan, usage = await compact.plan(self.services, state)
        else:
            best = await self.services.submission(state.get("best_submission"))
            plan, usage = await full.plan(self.services, state, best)
        self._tell({**state, "iteration_count": 1}, "plan", f"{len(plan.search_queries)} queries", plan=plan)
        return {
            "task_plan": plan.model_dump(mode="json"),
            "next_action": "research",
            "human_input_required": _wants_approval(state),
            "iteration_count": 1,
            **await spent(self.services, state, usage),
        }

    def _tell(
        self,
        state: ResearchState,
        step: Literal["plan", "search", "choose", "write", "review"],
        detail: str,
        *,
        plan: ResearchPlan | None = None,
        document: str = "",
        feedback: str = "",
    ) -> None:
        self.services.tell(
            StepDone(
                execution_id=state["execution_id"],
                team_id=team_of(state).team_id,
                round_number=state["round_number"],
                step=step,
                detail=detail,
                iteration=state["iteration_count"],
                plan=plan,
                document=document,
                feedback=feedback,
            )
        )

    async def _hand_in(self, state: ResearchState) -> ResearchUpdate:
        offered = await self._offered(state)
        pool = await pool_of(self.services, state)
        submission = submission_of(state, await self._results(state), offered, pool, folders=self._folders(state))
        document = await self.services.submissions.put(submission)
        if not is_alone(state):
            return {"submission": document}
        self.services.close_run(state["execution_id"])
        return {
            "submission": document,
            "report": submission.report.model_dump(mode="json"),
            "messages": [message(state, submission.content)],
        }


def _wants_approval(state: ResearchState) -> bool:
    """Plans are approved in round 1 only, before any search; a plan made anew after a rejection is not asked again."""
    return "plan" in state["options"]["approve"] and state["round_number"] == 1 and not state.get("human_input")


def _plan_question(state: ResearchState) -> dict[str, Any]:
    """The interrupt's payload: what may be edited, and whose plan it is."""
    plan, team = state["task_plan"] or {}, state["team"]
    return question(
        "plan",
        {name: plan[name] for name in EDITABLE},
        description=f"Plan of team {team['name']} for: {state['theme']}",
        execution_id=state["execution_id"],
        team_id=team["team_id"],
        problem=state.get("problem", ""),
    )


def _plan_approved(state: ResearchState, answer: object) -> ResearchUpdate:
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
    settled: ResearchUpdate = {
        "human_input": result.decision.model_dump_json(),
        "human_input_required": False,
        "problem": "",
    }
    if isinstance(result, Rejected):
        return {**settled, "task_plan": None, "next_action": "research"}
    return {**settled, "task_plan": result.value.model_dump(mode="json")}


def unsearched(state: ResearchState, pool: EvidencePool) -> list[str]:
    """The searches named by the draft's open statements that nobody has made."""
    if not state.get("draft_report"):
        return []
    draft = Draft.model_validate(state["draft_report"])
    wanted = [each.basis for each in draft.sentences() if each.kind == "open" and each.basis]
    return [query for query in dict.fromkeys(wanted) if query not in pool["searches"]]


def _draft_to_mend(state: ResearchState, best: Submission | None) -> Draft | None:
    """The draft of this round, else the team's best report."""
    if state.get("draft_report"):
        return Draft.model_validate(state["draft_report"])
    return best.draft if best else None


def _with_fixes(reply: FixesReply) -> ResearchUpdate:
    accepted = reply.accept and not reply.fixes
    return {"accepted": accepted, "feedback": full.fixes_text(reply), "more_queries": reply.gaps}


def _emptied(state: ResearchState) -> ResearchUpdate:
    """What grew up to this reading list, where it did: each key that is written is a row of every store."""
    empty = {key: Overwrite([]) for key in ("found", "failed", "read") if state.get(key)}
    return cast("ResearchUpdate", empty)


def _told_found(state: ResearchState, sources: int) -> str:
    tried = state.get("read", [])
    whole = sum(not item["problem"] for item in tried)
    return f"{sources} sources" + (f", {whole} of {len(tried)} pages in full" if tried else "")


def _searched(task: SearchTask, hits: Sequence[Found]) -> SearchDone:
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
