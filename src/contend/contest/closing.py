"""The contest's last nodes: pick the winner, publish its report, write the terminal status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage
from langgraph.errors import NodeError
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt

from contend.approval import Approved, Rejected, Unusable, apply_answer, question
from contend.checks import check_validity
from contend.contest.comparing import comparisons_of, pairwise_keys, route_to_pairs
from contend.contest.editing import editing_of, wants_editor
from contend.contest.outcomes import BUDGETS, TeamOutcome, outcomes_of, standings, status_of, summary_of, winner_of
from contend.contest.publishing import (
    DoubtfulLine,
    dropped_quotes,
    failure_notes,
    head_of,
    marked,
    named_sources,
    places_of,
    publish,
    speaking_sources,
)
from contend.contest.state import ContestState, ContestUpdate
from contend.errors import InputError
from contend.langgraph_compat import cause
from contend.models.evaluation import MetricScore
from contend.models.events import ReportPublished, RunDone, WinnerPicked
from contend.models.options import ResolvedOptions, RunOptions
from contend.models.research import ResearchReport
from contend.models.round import ExitReason
from contend.models.submission import Submission
from contend.models.task import CallUsage, RunStatus, RunUsage
from contend.report import PublishedLine, planted_in
from contend.report.plain import plain_sentence
from contend.run_context import thread_of
from contend.services import Services
from contend.team.metrics import Doubt, doubts_of, lines_of
from contend.text import without_sentences

EDITABLE = ("executive_summary", "key_findings", "detailed_analysis", "constraints_and_challenges")
"""What a person may edit of a report."""

ALL_DELIVERED = "all teams delivered"
"""The message of a run in which nothing failed."""


@dataclass(frozen=True)
class ClosingNodes:
    """From the teams' outcomes to a published report and a status."""

    services: Services

    async def pick_winner(self, state: ContestState) -> ContestUpdate:
        """The first in the one ranking; none if no team delivered. Its report is published, or the editor's."""
        keys = await self._kept_keys(state)
        outcomes = outcomes_of({**state, "pairwise": keys})
        winner = winner_of(outcomes)
        status, notes = status_of(outcomes, winner, ended_budgets(state))
        texts = {
            outcome.team.team_id: (
                await self.services.require_submission(outcome.best.submission)
            ).report.executive_summary
            for outcome in outcomes
            if outcome.best is not None
        }
        best, editing = winner.best if winner else None, editing_of(state)
        if any(outcome.may_win for outcome in outcomes):
            self.services.tell(
                WinnerPicked(
                    execution_id=state["execution_id"],
                    team_id=winner.team.team_id if winner else None,
                    score=best.score if best else None,
                    leaderboard=standings(outcomes),
                )
            )
        return {
            "pairwise": keys,
            "winner": winner.team.team_id if winner else None,
            "submission": editing.document if editing.published else best.submission if best else None,
            "notes": notes,
            "message": "; ".join(notes),
            "status": "running" if winner else status,
            "summary": summary_of(state["task"], outcomes, winner, texts).model_dump(mode="json"),
        }

    async def approve_report(self, state: ContestState) -> ContestUpdate:
        """A person approves the report, edits it or rejects it; the run waits here, and its time stands still."""
        submission = await self.services.require_submission(state["submission"])
        clock = (await self.services.run(state)).clock
        clock.wait()
        answer = interrupt(_report_question(state, submission))
        clock.go()
        result = apply_answer(
            answer, submission.report, editable=EDITABLE, edit=lambda values: edited_report(submission, values)
        )
        match result:
            case Unusable(why):
                return {"problem": why}
            case Rejected(decision):
                note = f"a person rejected the report: {decision.reason or 'no reason given'}"
                return {"submission": None, "problem": "", "notes": [*state["notes"], note]}
            case Approved(report) if report is submission.report:
                return {"problem": ""}
            case Approved(report):
                return {"submission": await self._edited(state, submission, report), "problem": ""}

    async def publish(self, state: ContestState, runtime: Runtime[RunOptions]) -> ContestUpdate:
        """Check the winner's citations and write its report; from here on the report is done."""
        outcomes, options = outcomes_of(state), (await self.services.run(state)).options
        winner = next(outcome for outcome in outcomes if outcome.team.team_id == state["winner"])
        submission = await self.services.require_submission(state["submission"])
        status, notes = status_of(outcomes, winner, ended_budgets(state))
        off = state["sources_off"] | {name: why for outcome in outcomes for name, why in outcome.sources_off.items()}
        editing = editing_of(state)
        lines = await lines_of(self.services, submission)
        judged = judged_metrics(state, winner)
        # Quotes are their passages.
        doubtful = await self._doubtful(judged, submission, lines) if winner.may_win else []
        head = head_of(
            outcomes,
            winner,
            options,
            status=status,
            notes=[*notes, *_remarks(state), *dropped_quotes(outcomes)],
            editing=editing,
            warnings=state["warnings"],
            sources_off=off,
            left_out=await self._left_out(options),
            unread=submission.unread,
            missing=submission.missing,
            doubtful=doubtful,
            places=places_of(lines),
            speaking=speaking_sources(submission, options.language),
            withheld=named_sources(submission.report, submission.draft.withheld, options.language),
            usage=usage_of(state),
            lessons=[bullet["content"] for bullet in state["bullets"] if bullet["id"] in submission.draft.bullets_used],
        )
        folder = self.services.folder / "results" / (thread_of(runtime) or state["execution_id"])
        documents = self.services.sources.paths(options.documents)
        published = await publish(
            marked(submission.report, doubtful),
            head,
            options,
            folder,
            lines=lines,
            doubtful=doubtful,
            folders=documents,
        )
        files = [str(path) for path in published.files]
        self.services.tell(
            ReportPublished(
                execution_id=state["execution_id"],
                team_id=winner.team.team_id,
                sources=len(submission.report.sources),
                files=files,
            )
        )
        return {
            "report": submission.report.model_dump(mode="json"),
            "files": files,
            "messages": [_answer(state, published.markdown)],
        }

    async def learning_failed(self, state: ContestState, error: NodeError) -> Command[Literal["finish_run"]]:
        """The report is done all the same; the run is partial and says why."""
        notes = [*state["notes"], f"learning failed: {cause(error)}"]
        return Command(update={"notes": notes}, goto="finish_run")

    async def finish_run(self, state: ContestState) -> ContestUpdate:
        """The terminal status, in state and record."""
        outcomes = outcomes_of(state)
        status: RunStatus = "failed" if state["submission"] is None else "partial" if state["notes"] else "completed"
        remarks = _remarks(state)
        message = "; ".join([*(state["notes"] or [ALL_DELIVERED]), *remarks])
        winner = next((outcome for outcome in outcomes if outcome.team.team_id == state["winner"]), None)
        await self.services.record.set_execution_status(
            state["execution_id"],
            status,
            message,
            winner_team_id=state["winner"],
            best_score=winner.best.score if winner and winner.best else None,
        )
        usage = usage_of(state)
        self.services.tell(RunDone(execution_id=state["execution_id"], status=status, message=message, usage=usage))
        self.services.close_run(state["execution_id"])
        if state["report"]:
            return {"status": status, "message": message}
        return {"status": status, "message": message, "messages": [_answer(state, message)]}

    async def route_after_near_ties(self, state: ContestState) -> list[Send] | Literal["synthesize", "pick_winner"]:
        """To the editor first: where its report is published, nothing that is read hangs on a near tie."""
        return "synthesize" if wants_editor(await self.services.run(state), state) else await route_to_pairs(state)

    async def _edited(self, state: ContestState, submission: Submission, report: ResearchReport) -> str:
        """The id of the submission with a person's report."""
        folders = self.services.sources.paths(state["options"]["documents"])
        content = report.to_markdown(state["options"]["language"], folders=folders)
        edited = submission.model_copy(update={"report": report, "content": content})
        return await self.services.submissions.put(edited)

    async def _kept_keys(self, state: ContestState) -> dict[str, float]:
        """The outcome of the comparisons, on record and on the live board, so that all see one ranking."""
        execution_id, comparisons = state["execution_id"], comparisons_of(state)
        if not comparisons:
            return {}
        keys = pairwise_keys(comparisons)
        (await self.services.run(state)).board.set_pairwise(execution_id, keys)
        await self.services.record.set_pairwise(execution_id, keys)
        calls = [each.usage for each in comparisons if each.usage is not None]
        await self.services.record.save_usage(execution_id, "", 0, calls)
        await self.services.record.flush()
        return keys

    async def _left_out(self, options: ResolvedOptions) -> list[str]:
        return await self.services.sources.left_out(options.documents, read=True) if "local" in options.sources else []

    async def _doubtful(
        self, judged: Sequence[MetricScore], submission: Submission, lines: Sequence[PublishedLine]
    ) -> list[DoubtfulLine]:
        """The published sentences that their passages were not seen to support, as judged; by code where nobody did."""
        doubts = await doubts_of(self.services, submission)
        support = next((each for each in judged if each.name == "citation_support" and each.score is not None), None)
        written = support.evidence if support else [text for text, doubt in doubts.items() if doubt.refused]
        shown = {line.written: line.shown for line in reversed(lines)}
        planted = planted_in(lines)
        found = [
            DoubtfulLine(
                shown[text],
                doubts.get(text, Doubt()).reason(shown[text]),
                without_sentences(doubts.get(text, Doubt()).excerpt, planted.in_sentence),
            )
            for text in written
            if text in shown and shown[text] in submission.content
        ]
        return found + [
            DoubtfulLine(shown[text], plain_sentence(without_sentences(lacking, planted.in_sentence)), "", partly=True)
            for text, lacking in (support.partly if support else {}).items()
            if text in shown and shown[text] in submission.content
        ]


def _report_question(state: ContestState, submission: Submission) -> dict[str, Any]:
    """The interrupt's payload: the report's parts, which may be edited; its sources may not."""
    parts = submission.report.model_dump(mode="json", include=set(EDITABLE))
    return question(
        "report",
        {name: parts[name] for name in EDITABLE},
        description=f"Report of team {state['winner']} on: {state['theme']}",
        execution_id=state["execution_id"],
        team_id=state["winner"] or "",
        problem=state["problem"],
    )


def edited_report(submission: Submission, values: Mapping[str, Any]) -> ResearchReport:
    """The report with a person's edits, held to the limits of any report.

    Raises:
        ValidationError: a value is not usable.
        InputError: it cites what was not retrieved.
    """
    report = ResearchReport.model_validate({**submission.report.model_dump(), **values})
    retrieved = {result.url for result in submission.results}
    validity = check_validity(report, retrieved, texts=[submission.content])
    if validity.unknown:
        raise InputError(f"cited but not among the sources: {', '.join(validity.unknown)}")
    return report


def judged_metrics(state: ContestState, winner: TeamOutcome) -> list[MetricScore]:
    """What judges found of the submission that is published; [] if a person edited it."""
    best, editing = winner.best, editing_of(state)
    if editing.document is not None and state["submission"] == editing.document:
        return [MetricScore.model_validate(item["score"]) for item in state.get("merged_scores", [])]
    return best.metrics if best and best.submission == state["submission"] else []


def _remarks(state: ContestState) -> list[str]:
    failure = state.get("criteria_failure", "")
    return failure_notes(outcomes_of(state), comparisons_of(state), editing_of(state), criteria_failure=failure)


def _answer(state: ContestState, text: str) -> AIMessage:
    """The run's one message. Said again, it takes its own place."""
    return AIMessage(text, id=f"answer-{state['execution_id']}")


async def route_after_choice(state: ContestState) -> list[Send] | Literal["pick_winner"]:
    """A team's report is published after all: which one is decided now."""
    return "pick_winner" if editing_of(state).published else await route_to_pairs(state)


async def route_after_pick(state: ContestState) -> Literal["approve_report", "publish", "finish_run"]:
    if state["winner"] is None:
        return "finish_run"
    return "approve_report" if "report" in state["options"]["approve"] else "publish"


async def route_after_approval(state: ContestState) -> Literal["approve_report", "publish", "finish_run"]:
    if state["problem"]:
        return "approve_report"
    return "publish" if state["submission"] else "finish_run"


async def route_after_publish(state: ContestState) -> Literal["learn", "finish_run"]:
    """Learning costs calls too: not after a budget has ended."""
    return "learn" if state["options"]["learn"] and not ended_budgets(state) else "finish_run"


def ended_budgets(state: ContestState) -> set[ExitReason]:
    """The hard budgets that ended a team or refused a comparison."""
    reasons = [outcome.exit_reason for outcome in outcomes_of(state)]
    reasons += [each.limit for each in comparisons_of(state)]
    return {reason for reason in reasons if reason in BUDGETS}


def usage_of(state: ContestState) -> RunUsage:
    """What the run's model calls cost: the teams' rounds, the comparisons at the top, and the learning."""
    calls = [CallUsage.model_validate(call) for call in (state.get("lessons") or {}).get("usage", [])]
    calls += [CallUsage.model_validate(call)] if (call := state.get("criteria_call")) else []
    calls += [each.usage for each in comparisons_of(state) if each.usage is not None]
    calls += editing_of(state).calls
    return sum((outcome.usage for outcome in outcomes_of(state)), start=RunUsage.of(calls))
