"""The contest's last nodes: pick the winner, publish its report, write the terminal status."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from contend.approval import Approved, Rejected, Unusable, apply_answer, question
from contend.checks import check_validity
from contend.contest.agreement import agreement_of, with_disagreements
from contend.contest.comparing import pairwise_keys
from contend.contest.publishing import (
    doubtful_lines,
    failure_notes,
    head_of,
    judged_statements,
    publish,
    with_signs,
)
from contend.contest.state import ContestState, ContestUpdate, ContestView, TeamOutcome
from contend.errors import InputError
from contend.evidence import with_texts
from contend.models.evaluation import MetricScore, Submission
from contend.models.events import ReportPublished, RunDone, WinnerPicked
from contend.models.options import ResolvedOptions, RunOptions
from contend.models.record import Language
from contend.models.research import ResearchReport
from contend.models.task import ExecutionSummary, RoundResult, RunStatus
from contend.preflight import answer
from contend.report import PublishedLine, published_lines, with_ledger
from contend.run_context import thread_of
from contend.services import Services
from contend.stores import RecordDocuments, thread_name
from contend.team.support import cited_statements
from contend.text import WORDS, Words

EDITABLE = ("executive_summary", "key_findings", "detailed_analysis", "constraints_and_challenges")
"""What a person may edit of a report."""


@dataclass(frozen=True)
class ClosingNodes:
    """From the teams' outcomes to a published report and a status."""

    services: Services

    async def pick_winner(self, state: ContestState) -> ContestUpdate:
        """The first in the one ranking; none if no team delivered. Its report is published, or the editor's."""
        comparisons = ContestView(state).comparisons
        keys = pairwise_keys(comparisons)
        if comparisons:
            # On record and on the live board: all see one ranking.
            run = await self.services.run(state)
            run.board.set_pairwise(run.execution_id, keys)
            await run.record.set_pairwise(run.execution_id, keys)
        view = ContestView({**state, "pairwise": keys})
        winner, editing, notes = view.winner, view.editing, partial_notes(view, state["options"]["language"])
        submission = editing.document if editing.published else winner.document if winner else None
        if any(outcome.may_win for outcome in view.outcomes):
            self.services.tell(
                WinnerPicked(
                    execution_id=state["execution_id"],
                    team_id=winner.team_id if winner else None,
                    score=winner.score if winner else None,
                    leaderboard=view.standings,
                    **view.publication(submission).published_fields(),
                )
            )
        best = {each.team_id: await self.services.require_submission(each.document) for each in view.in_the_running}
        return {
            "pairwise": keys,
            "winner": winner.team_id if winner else None,
            "submission": submission,
            "notes": notes,
            "summary": _summary_of(view, state["task"], best).model_dump(mode="json"),
        }

    async def approve_report(self, state: ContestState) -> ContestUpdate:
        """A person approves the report, edits it, comments or rejects it; the run waits here, its time stands still.

        A comment, or a rejection with a reason, sends it back to its writer once.
        """
        submission = await self.services.require_submission(state["submission"])
        run, view = await self.services.run(state), ContestView(state)
        words = WORDS[run.options.language].asked["merged" if view.editing.published else "report"]
        run.clock.wait()
        decision = interrupt(
            question(
                "report",
                {name: getattr(submission.report, name) for name in EDITABLE},
                description=words.format(team=view.winner.team.name if view.winner else "", theme=state["theme"]),
                execution_id=run.execution_id,
                team_id=state["winner"] or "",
                problem=state["problem"],
            )
        )
        run.clock.go()
        result = apply_answer(
            decision, submission.report, editable=EDITABLE, edit=lambda values: edited_report(submission, values)
        )
        match result:
            case Unusable(why):
                return {"problem": why}
            case Rejected(rejection, is_comment):
                is_revised, notes = state.get("revision", "") == "done", state["notes"]
                return _sent_back(run.options, rejection.reason, notes, is_comment=is_comment, is_revised=is_revised)
            case Approved(report) if report is submission.report:
                return {"problem": ""}
            case Approved(report):
                return {"submission": await self._keep_edit(submission, report, run.options), "problem": ""}

    async def publish(self, state: ContestState, runtime: Runtime[RunOptions]) -> ContestUpdate:
        """Check the winner's citations and write its report; from here on the report is done."""
        run, sources, view = await self.services.run(state), self.services.sources, ContestView(state)
        options = run.options
        submission = await self.services.require_submission(state["submission"])
        passages = await with_texts(self.services.documents, submission.passages)
        lines = published_lines(submission.draft, passages, submission.results)
        cited, winner = cited_statements(submission.draft, passages), view.winner
        metrics = _metrics_of(view, state["submission"], state.get("merged_scores", []))
        usage = await self.services.record.usage(state["execution_id"])
        # A search states nothing of its own.
        is_stated = winner is not None and winner.may_win
        doubtful = doubtful_lines(submission, lines, cited, metrics, options.language) if is_stated else []
        left_out = (
            await sources.left_out(options.documents, read=True, language=options.language)
            if "local" in options.sources
            else []
        )
        folder = self.services.folder / "results" / thread_name(thread_of(runtime) or state["execution_id"])
        reports = {each.team_id: await self.services.require_submission(each.document) for each in view.mergeable}
        own = None if view.editing.published or winner is None else winner.team_id
        agreement = await asyncio.to_thread(agreement_of, submission.draft, passages, reports, own)
        report = with_disagreements(submission.report, submission.draft, passages)
        ledger = with_ledger(
            with_signs(report, doubtful),
            submission.draft,
            passages,
            printed=_printed(view, submission, lines),
            question=f"{run.asked(state['theme'])}\n{state.get('comment', '')}",
            doubts={each.statement: each.why for each in doubtful},
            judged=judged_statements(submission.draft, cited, metrics),
            teams=agreement.teams,
            origins=agreement.origins,
            language=options.language,
        )
        texts = await publish(
            ledger,
            head_of(
                view,
                submission,
                options,
                doubtful=doubtful,
                agreement=agreement,
                disagreements=report.disagreements,
                left_out=left_out,
                usage=usage,
            ),
            options,
            folder,
            lines=lines,
            folders=await sources.paths(options.documents),
        )
        files = [str(folder / name) for name in texts]
        publication = view.publication(state["submission"]).published_fields()
        self.services.tell(
            ReportPublished(
                execution_id=state["execution_id"],
                team_id=state["winner"] or "",
                sources=len(submission.report.sources),
                files=files,
                **publication,
            )
        )
        return {
            "summary": {**(state["summary"] or {}), **publication},
            "report": report.model_dump(mode="json"),
            "files": files,
            "messages": [answer(state["execution_id"], texts["report.md"])],
        }

    async def finish_run(self, state: ContestState) -> ContestUpdate:
        """The terminal status, in state and record."""
        status: RunStatus = "failed" if state["submission"] is None else "partial" if state["notes"] else "completed"
        view, language = ContestView(state), state["options"]["language"]
        failures = failure_notes(view, language)
        delivered = WORDS[language].notes.all_delivered if failures else NO_FAILURE
        message = "; ".join([*(state["notes"] or [delivered]), *failures])
        await self.services.record.set_execution_status(
            state["execution_id"],
            status,
            message,
            winner_team_id=state["winner"],
            best_score=view.winner.score if view.winner else None,
            publication=view.publication(state["submission"] if state["report"] else None),
        )
        usage = await self.services.record.usage(state["execution_id"])
        self.services.tell(RunDone(execution_id=state["execution_id"], status=status, message=message, usage=usage))
        self.services.close_run(state["execution_id"])
        end: ContestUpdate = {"status": status, "message": message}
        return end if state["report"] else {**end, "messages": [answer(state["execution_id"], message)]}

    async def _keep_edit(self, submission: Submission, report: ResearchReport, options: ResolvedOptions) -> str:
        """The id of the submission with a person's report."""
        folders = await self.services.sources.paths(options.documents)
        content = report.to_markdown(options.language, folders=folders)
        return await self.services.submissions.put(submission.model_copy(update={"report": report, "content": content}))


def _printed(view: ContestView, submission: Submission, lines: Sequence[PublishedLine]) -> set[str]:
    """The statements of the draft that stand in the report, as the draft has them.

    A person may have edited others away. A search prints its passages in a form of its own, and what it says without
    a source is contend's own sentence.
    """
    is_search = view.winner is not None and not view.winner.may_win
    return {each.statement for each in lines if (each.marks if is_search else each.text in submission.content)}


def _sent_back(
    options: ResolvedOptions, reason: str, notes: Sequence[str], *, is_comment: bool, is_revised: bool
) -> ContestUpdate:
    """The next step for a report that was not approved: one revision if the person said what to change."""
    words, has_model = WORDS[options.language].notes, bool(options.models)
    if reason and has_model and not is_revised:
        return {"comment": reason, "revision": "asked", "problem": ""}
    if is_comment:
        return {"problem": words.revised_before if has_model else words.not_revisable}
    note = words.report_rejected.format(why=reason or words.no_reason)
    return {"submission": None, "problem": "", "notes": [*notes, note]}


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


def _metrics_of(
    view: ContestView, document: str | None, merged_scores: Sequence[Mapping[str, Any]]
) -> list[MetricScore]:
    """What judges found of the submission that is published; [] if a person edited it."""
    if document == view.editing.document:
        return [MetricScore.model_validate(item["score"]) for item in merged_scores]
    best = view.winner.best if view.winner else None
    return best.metrics if best and best.submission == document else []


NO_FAILURE = WORDS["en"].notes.all_delivered
"""The message of a run in which nothing failed, in every language: programs compare it."""


def partial_notes(view: ContestView, language: Language) -> list[str]:
    """A line for each thing that keeps the run from being complete: budgets that are used up among it."""
    words, notes, winner = WORDS[language].notes, _forfeits(view.outcomes, language), view.winner
    if winner is None:
        return notes
    notes += [words.limit_reached.format(limit=limit) for limit in view.ended_budgets]
    if not winner.may_win:
        notes += [winner.feedback] if winner.feedback else []
    elif winner.score is None:
        notes.append(words.all_unscored)
    return notes


def _forfeits(outcomes: Sequence[TeamOutcome], language: Language) -> list[str]:
    """A line for each reason: teams that one endpoint failed are named together."""
    words, notes = WORDS[language], WORDS[language].notes
    by_reason: dict[tuple[str, str], list[str]] = {}
    for outcome in outcomes:
        status = outcome.status
        if status.status != "completed":
            reason = (notes.team_statuses.get(status.status, status.status), status.error_message or notes.no_reason)
            by_reason.setdefault(reason, []).append(status.team_id)
    return [
        notes.team_ended.format(teams=_list_of(teams, words), status=status, why=why)
        for (status, why), teams in by_reason.items()
    ]


def _list_of(teams: Sequence[str], words: Words) -> str:
    if len(teams) == 1:
        return words.notes.one_team.format(team=teams[0])
    return words.notes.several_teams.format(teams=words.between.join(teams[:-1]), last=teams[-1])


async def whole_summary(
    in_short: Mapping[str, Any], view: ContestView, submissions: RecordDocuments[Submission]
) -> ExecutionSummary:
    """The execution's summary, each team's best submission whole: the state holds only what it comes to."""
    summary = ExecutionSummary.model_validate(in_short)
    documents = {each.team_id: each.document for each in view.in_the_running if each.document}
    for result in summary.team_results:
        result.submission_content = (await submissions.get(documents[result.team_id])).content
    return summary


def _summary_of(view: ContestView, task: Mapping[str, Any], submissions: Mapping[str, Submission]) -> ExecutionSummary:
    """The execution when its teams are done. `submissions`: each team's best, by its id."""
    return ExecutionSummary(
        task_id=task["task_id"],
        user_prompt=task["user_prompt"],
        team_results=[
            RoundResult(
                team_id=outcome.team_id,
                team_name=outcome.team.name,
                round_number=each.round_number,
                submission_content=submissions[outcome.team_id].report.executive_summary,
                evaluation_score=each.score,
                evaluation_feedback=each.feedback,
                usage=each.usage,
                execution_time_seconds=max(0.001, each.seconds),
                completed_at=each.completed_at,
            )
            for outcome in view.outcomes
            if (each := outcome.best)
        ],
        team_statuses=[outcome.status for outcome in view.outcomes],
        best_team_id=view.winner.team_id if view.winner else None,
        best_score=view.winner.score if view.winner else None,
        total_execution_time_seconds=max(0.001, view.seconds),
    )


async def route_after_pick(state: ContestState) -> Literal["approve_report", "publish", "finish_run"]:
    if state["winner"] is None:
        return "finish_run"
    return "approve_report" if "report" in state["options"]["approve"] else "publish"


async def route_after_approval(
    state: ContestState,
) -> Literal["approve_report", "revise_report", "publish", "finish_run"]:
    if state.get("revision") == "asked":
        return "revise_report"
    if state["problem"]:
        return "approve_report"
    return "publish" if state["submission"] else "finish_run"


async def route_after_publish(state: ContestState) -> Literal["learn", "finish_run"]:
    """Learning costs calls too: not after a budget has ended."""
    return "learn" if state["options"]["learn"] and not ContestView(state).ended_budgets else "finish_run"
