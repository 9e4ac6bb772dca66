"""Review the merged report against the sources, and have the editor mend what the review finds."""

from dataclasses import dataclass
from typing import Literal

from langgraph.errors import NodeError
from langgraph.types import Command, Send

from contend.contest.edit import Edit, merged_submission, open_edit, proven
from contend.contest.editing import EDITOR, MergedRoutes, send_look_ups
from contend.contest.state import ContestState, ContestUpdate, ContestView
from contend.errors import ContendError
from contend.evidence.pool import numbers_of
from contend.langgraph_compat import known_cause
from contend.llm import Answer
from contend.models.evaluation import Submission
from contend.models.replies import FixesReply, RevisionReply
from contend.models.research import Draft
from contend.models.task import CallUsage
from contend.prompts.research import MarkedPlace, RevisePrompt
from contend.research.asking import Review, faults_of_review, looks_left, review_prompt
from contend.writing import (
    faults_of_revision,
    length_of,
    marks_of,
    over_limit,
    revise,
    shown_draft,
    target_length,
    without_planted_text,
)


@dataclass(frozen=True)
class ReviewingNodes(MergedRoutes):
    """From the merged report to the one that judges see."""

    async def review_merged(self, state: ContestState) -> ContestUpdate:
        """Name what to look up about the merged report, or what to mend in it."""
        work = await open_edit(self.services, state)
        looks = state.get("review_looks", 0)
        draft = (await self.services.require_submission(ContestView(state).editing.document)).draft
        review = await review_merged(work, draft, looks=looks)
        await work.run.keep_calls([review.usage])
        if review.actions:
            return {"editor_actions": review.actions, "review_looks": looks + 1}
        fixes = "\n".join(filter(None, [state.get("merged_fixes", ""), review.text()]))
        return {"editor_actions": [], "merged_fixes": fixes}

    async def route_after_review(
        self, state: ContestState
    ) -> list[Send] | Literal["collect_looks", "mend_merged", "choose_report"]:
        """What is looked up, then what is mended; without fixes to the judges."""
        if actions := state.get("editor_actions"):
            return send_look_ups(await open_edit(self.services, state), actions)
        return "mend_merged" if state.get("merged_fixes") else await self.route_to_judges(state)

    async def mend_merged(self, state: ContestState) -> ContestUpdate:
        """The merged report with the fixes; everything else stays word for word."""
        if not state.get("merged_fixes"):
            return {}
        work, view = await open_edit(self.services, state), ContestView(state)
        merged = await self.services.require_submission(view.editing.document)
        draft, usage = await mend_merged(work, merged, state["merged_fixes"])
        await work.run.keep_calls([usage])
        document = await self.services.submissions.put(merged_submission(work, await proven(work, draft)))
        editing = view.editing.model_copy(update={"document": document})
        return {"editing": editing.model_dump(mode="json"), "merged_fixes": ""}

    async def go_on_without_review(self, _state: ContestState, error: NodeError) -> Command[Literal["mend_merged"]]:
        """If the reviewer fails, only what code refutes is mended."""
        known_cause(error, ContendError)  # raises what is a defect
        return Command(update={"editor_actions": []}, goto="mend_merged")

    async def keep_merged(self, _state: ContestState, error: NodeError) -> Command[Literal["mend_merged"]]:
        """If the editor cannot mend the report, it goes to the judges as it was merged: nothing is left to mend."""
        known_cause(error, ContendError)  # raises what is a defect
        return Command(update={"merged_fixes": ""}, goto="mend_merged")


async def review_merged(work: Edit, draft: Draft, *, looks: int) -> Review:
    """What to look up about the merged draft, or what to mend in it. `looks`: how often the reviewer looked.

    Raises:
        ModelError: the reviewer's model failed.
    """
    left = looks_left(looks)
    prompt = review_prompt(
        draft,
        work.desk,
        left,
        head=work.head(),
        numbers=numbers_of(work.ids),
        at_hand=work.ids,
        marks=[MarkedPlace(**mark) for mark in marks_of(draft, work.run.options.language)],
        reports=work.reports(),
        log=work.log(),
        catalogue=work.catalogue,
        target=target_length(work.run.options.length, len(work.pool["parts"])),
    )
    answer: Answer[FixesReply] = await work.run.model("reviewer").ask(
        prompt,
        FixesReply,
        scope=work.run.scope(
            "reviewer", team_id=EDITOR, step="merged" if not looks else f"merged look {looks}", passages=tuple(work.ids)
        ),
        faults=lambda reply: faults_of_review(work.desk, reply, left),
    )
    actions = work.desk.actions(answer.value.actions, "reviewer") if left else []
    return Review(answer.value, actions, dict(enumerate(work.ids, start=1)), answer.usage)


async def mend_merged(work: Edit, merged: Submission, fixes: str) -> tuple[Draft, CallUsage]:
    """The merged draft with what the fixes change.

    Raises:
        ModelError: the editor's model failed.
    """
    draft, ids = merged.draft, dict(enumerate(work.ids, start=1))
    parts = len(work.pool["parts"])
    prompt = RevisePrompt(
        head=work.head(with_looked=True),
        draft=shown_draft(draft, numbers_of(work.ids)),
        fixes=fixes,
        **length_of(draft, target_length(work.run.options.length, parts)),
    )
    answer = await work.run.model("writer").ask(
        prompt,
        RevisionReply,
        scope=work.run.scope("writer", team_id=EDITOR, step="mend", passages=tuple(work.ids)),
        faults=lambda reply: faults_of_revision(reply, draft, ids, parts) or over_limit(revise(draft, reply, ids, [])),
    )
    return without_planted_text(revise(draft, answer.value, ids, []), work.planted()), answer.usage
