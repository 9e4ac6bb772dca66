"""The contest's last nodes: pick the winner, publish its report, write the terminal status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.errors import NodeError
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt

from contend.approval import Approved, Rejected, Unusable, apply_answer, question
from contend.checks import check_validity
from contend.contest.comparing import comparisons_of, pairwise_keys, route_to_pairs
from contend.contest.editing import editing_of, wants_editor
from contend.contest.outcomes import TeamOutcome, outcomes_of, partial_notes, standings, summary_of, winner_of
from contend.contest.publishing import (
    DoubtfulLine,
    ended_budgets,
    failure_notes,
    head_of,
    publish,
    usage_of,
    with_signs,
)
from contend.contest.state import ContestState, ContestUpdate
from contend.errors import InputError
from contend.langgraph_compat import cause
from contend.models.evaluation import MetricScore
from contend.models.events import ReportPublished, RunDone, WinnerPicked
from contend.models.options import RunOptions
from contend.models.research import ResearchReport
from contend.models.submission import Submission
from contend.models.task import RunStatus
from contend.preflight import answer
from contend.report import PublishedLine, planted_in
from contend.report.plain import plain_sentence
from contend.run_context import thread_of
from contend.services import Services
from contend.team.metrics import claims_by_text, lines_of
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
        keys = await self._pairwise_keys(state)
        outcomes, editing = outcomes_of({**state, "pairwise": keys}), editing_of(state)
        winner = winner_of(outcomes)
        notes = partial_notes(outcomes, winner, ended_budgets(state))
        texts = {
            outcome.team.team_id: (await self.services.require_submission(document)).report.executive_summary
            for outcome in outcomes
            if (document := outcome.document)
        }
        if any(outcome.may_win for outcome in outcomes):
            self.services.tell(
                WinnerPicked(
                    execution_id=state["execution_id"],
                    team_id=winner.team.team_id if winner else None,
                    score=winner.score if winner else None,
                    leaderboard=standings(outcomes),
                )
            )
        return {
            "pairwise": keys,
            "winner": winner.team.team_id if winner else None,
            "submission": editing.document if editing.published else winner.document if winner else None,
            "notes": notes,
            "message": "; ".join(notes),
            "status": "running" if winner else "failed",
            "summary": summary_of(state["task"], outcomes, winner, texts).model_dump(mode="json"),
        }

    async def approve_report(self, state: ContestState) -> ContestUpdate:
        """A person approves the report, edits it or rejects it; the run waits here, and its time stands still."""
        submission = await self.services.require_submission(state["submission"])
        clock = (await self.services.run(state)).clock
        clock.wait()
        decision = interrupt(_report_question(state, submission))
        clock.go()
        result = apply_answer(
            decision, submission.report, editable=EDITABLE, edit=lambda values: edited_report(submission, values)
        )
        match result:
            case Unusable(why):
                return {"problem": why}
            case Rejected(rejection):
                note = f"a person rejected the report: {rejection.reason or 'no reason given'}"
                return {"submission": None, "problem": "", "notes": [*state["notes"], note]}
            case Approved(report) if report is submission.report:
                return {"problem": ""}
            case Approved(report):
                return {"submission": await self._keep_edit(state, submission, report), "problem": ""}

    async def publish(self, state: ContestState, runtime: Runtime[RunOptions]) -> ContestUpdate:
        """Check the winner's citations and write its report; from here on the report is done."""
        options = (await self.services.run(state)).options
        winner = next(outcome for outcome in outcomes_of(state) if outcome.team.team_id == state["winner"])
        submission = await self.services.require_submission(state["submission"])
        lines = await lines_of(self.services, submission)
        # Quotes are their passages.
        doubtful = await self._doubtful(metrics_of(state, winner), submission, lines) if winner.may_win else []
        left_out = (
            await self.services.sources.left_out(options.documents, read=True) if "local" in options.sources else []
        )
        head = head_of(state, winner, submission, options, lines=lines, doubtful=doubtful, left_out=left_out)
        folder = self.services.folder / "results" / (thread_of(runtime) or state["execution_id"])
        documents = self.services.sources.paths(options.documents)
        publication = await publish(
            with_signs(submission.report, doubtful),
            head,
            options,
            folder,
            lines=lines,
            doubtful=doubtful,
            folders=documents,
        )
        files = [str(path) for path in publication.files]
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
            "messages": [answer(state, publication.markdown)],
        }

    async def learning_failed(self, state: ContestState, error: NodeError) -> Command[Literal["finish_run"]]:
        """The report is done all the same; the run is partial and says why."""
        notes = [*state["notes"], f"learning failed: {cause(error)}"]
        return Command(update={"notes": notes}, goto="finish_run")

    async def finish_run(self, state: ContestState) -> ContestUpdate:
        """The terminal status, in state and record."""
        status: RunStatus = "failed" if state["submission"] is None else "partial" if state["notes"] else "completed"
        message = "; ".join([*(state["notes"] or [ALL_DELIVERED]), *failure_notes(state)])
        scores = {outcome.team.team_id: outcome.score for outcome in outcomes_of(state)}
        await self.services.record.set_execution_status(
            state["execution_id"],
            status,
            message,
            winner_team_id=state["winner"],
            best_score=scores.get(state["winner"] or ""),
        )
        usage = usage_of(state)
        self.services.tell(RunDone(execution_id=state["execution_id"], status=status, message=message, usage=usage))
        self.services.close_run(state["execution_id"])
        done: ContestUpdate = {"status": status, "message": message}
        return done if state["report"] else {**done, "messages": [answer(state, message)]}

    async def route_after_near_ties(self, state: ContestState) -> list[Send] | Literal["synthesize", "pick_winner"]:
        """To the editor first: where its report is published, nothing that is read hangs on a near tie."""
        return "synthesize" if wants_editor(await self.services.run(state), state) else await route_to_pairs(state)

    async def _keep_edit(self, state: ContestState, submission: Submission, report: ResearchReport) -> str:
        """The id of the submission with a person's report."""
        folders = self.services.sources.paths(state["options"]["documents"])
        content = report.to_markdown(state["options"]["language"], folders=folders)
        new = submission.model_copy(update={"report": report, "content": content})
        return await self.services.submissions.put(new)

    async def _pairwise_keys(self, state: ContestState) -> dict[str, float]:
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

    async def _doubtful(
        self, metrics: Sequence[MetricScore], submission: Submission, lines: Sequence[PublishedLine]
    ) -> list[DoubtfulLine]:
        """The published sentences that their passages were not seen to support, as judged; by code where nobody did."""
        claims, orders = await claims_by_text(self.services, submission), planted_in(lines)
        support = next((each for each in metrics if each.name == "citation_support" and each.score is not None), None)
        statements = support.evidence if support else [text for text, claim in claims.items() if not claim.value]
        line_of = {line.written: line.shown for line in reversed(lines) if line.shown in submission.content}
        doubtful = []
        for text in filter(line_of.get, statements):
            line, claim = line_of[text], claims.get(text)
            excerpt = without_sentences(claim.check.excerpt, orders.in_sentence) if claim else ""
            doubtful.append(DoubtfulLine(line, claim.doubt(line) if claim else "", excerpt))
        for text, lacking in (support.partly if support else {}).items():
            if text in line_of:
                rest = plain_sentence(without_sentences(lacking, orders.in_sentence))
                doubtful.append(DoubtfulLine(line_of[text], rest, "", partly=True))
        return doubtful


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
    urls = {result.url for result in submission.results}
    validity = check_validity(report, urls, texts=[submission.content])
    if validity.unknown:
        raise InputError(f"cited but not among the sources: {', '.join(validity.unknown)}")
    return report


def metrics_of(state: ContestState, winner: TeamOutcome) -> list[MetricScore]:
    """What judges found of the submission that is published; [] if a person edited it."""
    best, document = winner.best, editing_of(state).document
    if document is not None and state["submission"] == document:
        return [MetricScore.model_validate(item["score"]) for item in state.get("merged_scores", [])]
    return best.metrics if best and best.submission == state["submission"] else []


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
