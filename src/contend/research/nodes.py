"""The nodes of a round's research: each reads, awaits at most one paid call, and returns a partial update."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from langgraph.errors import NodeError
from langgraph.types import Command, Overwrite, interrupt

from contend.errors import SourceError
from contend.models.events import SourceOff, StepDone
from contend.models.replies import PlanReply, ReviewReply, draft_reply
from contend.models.research import ResearchPlan, SearchResult
from contend.preflight import is_alone
from contend.report import state_to_report
from contend.research.alone import message
from contend.research.approval import answered, plan_question, wants_approval
from contend.research.ask import asked, max_iterations, scope, spent, team_of, values_for
from contend.research.feedback import (
    told_to_writer,
    without_feedback,
    without_instructions,
    without_orders,
    without_remarks,
)
from contend.research.planning import whole_plan
from contend.research.reading import (
    nearest_passages,
    pages_to_read,
    reading_list,
    summarized_by,
    unread_pages,
    with_summaries,
)
from contend.research.state import BEGUN, PageTask, ResearchState, ResearchUpdate, SearchTask
from contend.research.writing import draft_of, submission_of
from contend.services import Services, tell
from contend.text import shorten
from contend.theme import title_of

RESULTS_A_QUERY = 8


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
        if state.get("accepted") or state["iteration_count"] >= max_iterations(state):
            return {"next_action": "end", **await self._hand_in(state)}
        if state.get("feedback") is None:
            return {"next_action": "review"}
        again: Literal["research", "write"] = "research" if state.get("more_queries") else "write"
        return {"next_action": again, "iteration_count": state["iteration_count"] + 1}

    async def approve_plan(self, state: ResearchState) -> ResearchUpdate:
        """A person approves the plan, edits it or rejects it; the team waits here, and its time stands still."""
        clock, team_id = self.services.clock(state["execution_id"]), team_of(state).team_id
        clock.wait(team_id)
        answer = interrupt(plan_question(state))
        clock.go(team_id, state.get("clock"))
        return answered(state, answer)

    async def search(self, task: SearchTask) -> ResearchUpdate:
        """One query to one source; texts go to the document store, state gets their ids."""
        source = await self.services.ready_source(task["source"], task["documents"], task["execution_id"])
        hits = await source.search(task["query"], limit=RESULTS_A_QUERY)
        documents = await self.services.documents.put_many([hit.text for hit in hits])
        found = []
        for place, (hit, document) in enumerate(zip(hits, documents, strict=True), start=1):
            found.append(
                {
                    "query": task["query"],
                    "place": place,
                    "text": document,
                    "summarized": source.summarizes,
                    "result": hit.result.model_dump(mode="json", exclude_none=True, exclude={"summary"}),
                    **({"heading": hit.heading} if hit.heading else {}),
                }
            )
        return {"found": found}

    async def turn_off(self, task: SearchTask, error: NodeError) -> Command[Literal["collect"]]:
        """A source that fails is off for the rest of the run; the other sources go on."""
        if not isinstance(error.error, SourceError):
            raise error.error
        reason = str(error.error)
        if self.services.turn_off(task["execution_id"], task["source"], reason):
            tell(
                SourceOff(
                    execution_id=task["execution_id"], team_id=task["team_id"], source=task["source"], reason=reason
                )
            )
        # A failed node's edges are not followed: without this, searches that all fail would end the graph silently.
        return Command(update={"failed": [{"source": task["source"], "reason": reason}]}, goto="collect")

    async def collect(self, state: ResearchState) -> ResearchUpdate:
        """Merge what was found, best first, with the passages that carried the team's best draft.

        Where pages are to be read in full, they are read first, and come back here.
        """
        if pages_to_read(state):
            return {}
        off = {**state.get("sources_off", {}), **{item["source"]: item["reason"] for item in state.get("failed", [])}}
        kept = await self.services.submission(state.get("best_submission"))
        results, passages = reading_list(state, kept)
        if not passages:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in off.items()) or "nothing matched"
            raise SourceError(f"no source gave anything for {state['theme'][:80]!r} ({reasons})")
        _tell_step(state, "search", _told_found(state, len(results)))
        return {
            "research_data": [result.model_dump(mode="json", exclude_none=True) for result in results],
            "summarized_by": summarized_by(state, results),
            "passages": [passage.model_dump(mode="json", exclude={"text"}) for passage in passages],
            "sources_off": off,
            "unread": unread_pages(state, results, kept),
            **_emptied(state),
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
        """The draft, from the passages; the model names sources, code renders the citations."""
        offered = await self.services.passages(state["passages"])
        bullets = state.get("bullets", [])
        answer = await asked(self.services, state, "writer").structured(
            "writer/write",
            draft_reply(len(offered), len(bullets)),
            await values_for(self.services, state, "writer", offered=offered),
            scope=scope(state, "writer", step=str(state["iteration_count"])),
        )
        said = without_orders(draft_of(answer.value, offered, bullets), offered)
        draft = without_remarks(without_feedback(said, told_to_writer(state), offered), offered, state["theme"])
        written: ResearchState = {**state, "draft_report": draft.model_dump(mode="json")}
        report = state_to_report(written, results=await self._results(state), passages=offered)
        _tell_step(state, "write", f"{len(draft.sentences())} sentences")
        return {
            "draft_report": draft.model_dump(mode="json"),
            "current_draft": report.to_markdown(state["options"]["language"], folders=self._folders(state)),
            "feedback": None,
            **spent(self.services, state, answer.usage),
        }

    async def review(self, state: ResearchState) -> ResearchUpdate:
        """The reviewer accepts, gives feedback, or asks for another search."""
        offered = await self.services.passages(state["passages"])
        answer = await asked(self.services, state, "reviewer").structured(
            "reviewer/review",
            ReviewReply,
            await values_for(self.services, state, "reviewer", offered=offered),
            scope=scope(state, "reviewer", step=str(state["iteration_count"])),
        )
        reply = answer.value
        instructions = self.services.library.render(
            "reviewer/system", {}, language=state["options"]["language"], mark=""
        )
        feedback = without_instructions(reply.feedback, instructions)
        _tell_step(state, "review", "accepted" if reply.accept else shorten(feedback, 80))
        return {
            "accepted": reply.accept,
            "feedback": feedback,
            "more_queries": reply.more_queries,
            **spent(self.services, state, answer.usage),
        }

    def _folders(self, state: ResearchState) -> list[Path]:
        return self.services.document_paths(state["options"]["documents"])

    async def _results(self, state: ResearchState) -> list[SearchResult]:
        """Whole: in the state, titles stand for their summaries."""
        results = [SearchResult.model_validate(result) for result in state["research_data"]]
        kept = await self.services.submission(state.get("best_submission"))
        ids = state.get("summarized_by", {})
        texts = await self.services.documents.get_many(ids.values())
        return with_summaries(results, kept, {url: texts[document] for url, document in ids.items()})

    async def _plan(self, state: ResearchState) -> ResearchUpdate:
        answer = await asked(self.services, state, "supervisor").structured(
            "supervisor/plan",
            PlanReply,
            await values_for(self.services, state, "supervisor"),
            scope=scope(state, "supervisor", step="again" if state.get("human_input") else ""),
        )
        plan = ResearchPlan(
            theme=title_of(state["theme"]),
            investigation_points=answer.value.investigation_points,
            search_queries=list(dict.fromkeys(answer.value.search_queries)),
            source_priority={name: place for place, name in enumerate(team_of(state).sources, start=1)},
            plan_text=answer.value.plan_text,
        )
        plan = whole_plan(plan, state["options"]["language"])
        _tell_step(state, "plan", f"{len(plan.search_queries)} queries")
        return {
            "task_plan": plan.model_dump(mode="json"),
            "next_action": "research",
            "human_input_required": wants_approval(state),
            "iteration_count": 1,
            **spent(self.services, state, answer.usage),
        }

    async def _hand_in(self, state: ResearchState) -> ResearchUpdate:
        offered = await self.services.passages(state["passages"])
        submission = submission_of(state, await self._results(state), offered, folders=self._folders(state))
        document = await self.services.put_submission(submission)
        if not is_alone(state):
            return {"submission": document}
        self.services.forget(state["execution_id"])
        return {
            "submission": document,
            "report": submission.report.model_dump(mode="json"),
            "messages": [message(state, submission.content)],
        }


def _emptied(state: ResearchState) -> ResearchUpdate:
    """What grew up to this reading list, where it did: each key that is written is a row of every store."""
    empty = {key: Overwrite([]) for key in ("found", "failed", "read") if state.get(key)}
    return cast("ResearchUpdate", empty)


def _told_found(state: ResearchState, sources: int) -> str:
    tried = state.get("read", [])
    whole = sum(not item["problem"] for item in tried)
    return f"{sources} sources" + (f", {whole} of {len(tried)} pages in full" if tried else "")


def _tell_step(state: ResearchState, step: Literal["plan", "search", "write", "review"], detail: str) -> None:
    tell(
        StepDone(
            execution_id=state["execution_id"],
            team_id=team_of(state).team_id,
            round_number=state["round_number"],
            step=step,
            detail=detail,
        )
    )
