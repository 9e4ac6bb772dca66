"""The model calls of a research round: steps, drafts and reviews."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from contend.evidence import Action, Desk, EvidencePool, after_step, faults_of_step
from contend.evidence.actions import LOCAL
from contend.evidence.pool import held_tokens, numbered_ids, numbers_of, parts_of, passage_numbers, sizes_of
from contend.evidence.screening import orders_of, screened, unscreened
from contend.llm.chat import LEAST_SHARED_TOKENS
from contend.models.options import TeamConfig
from contend.models.replies import (
    MOST_UNCITED,
    ActionReply,
    FixesReply,
    InjectionReply,
    MendedReply,
    ReportReply,
    RevisionReply,
    StepReply,
)
from contend.models.research import Draft, FoundPassage, Part, Passage, ResearchPlan
from contend.models.task import CallUsage, title_of
from contend.prompts.research import (
    FixesPrompt,
    InjectionPrompt,
    MarkedPlace,
    MendPrompt,
    NumberedLesson,
    ReportPrompt,
    ResearcherHead,
    RevisePrompt,
    SourceDocument,
    StepLog,
    StepPrompt,
    TeamReport,
)
from contend.research.prompting import (
    catalogue_text,
    named_ids,
    pool_numbering,
    research_head,
    shown_ids,
    steps_at_hand,
    visible_ids,
)
from contend.research.work import Research
from contend.run_context import RunContext
from contend.stores import text_id
from contend.text import estimate_tokens
from contend.writing import (
    PlantedOrders,
    TargetLength,
    draft_of,
    faults_of,
    faults_of_mending,
    faults_of_revision,
    length_of,
    mended,
    over_limit,
    refuted_statements,
    revise,
    shown_draft,
    target_length,
)

MOST_LOOKS = 2
"""How often a reviewer may look things up before it lists fixes."""

NEAREST = 3
"""How many of the nearest passages are shown for each unanswered part."""

_STEP_FRAME = 2_000
"""Tokens of a step prompt apart from its head and log: the instructions and the list of held passages."""


@dataclass(frozen=True)
class StepTaken:
    """A researcher's step: the evidence after it, and what to do next; `done`: nothing more is to be looked up."""

    pool: EvidencePool
    beyond: list[str]
    actions: list[Action]
    thought: str
    done: bool
    usage: CallUsage


async def take_step(work: Research, *, most: int) -> StepTaken:
    """Ask the researcher for the next step, the last of `most` in its round.

    Raises:
        ModelError: its model failed.
    """
    number, room = work.steps + 1, work.room
    pinned = work.draft.passages() if work.draft else []
    prompt = await _step_prompt(work, number=number, most=most)
    answer = await work.ask(
        "supervisor",
        prompt,
        StepReply,
        step=f"step {number}",
        passages=[each["id"] for each in work.pool["passages"]],
        faults=lambda reply: faults_of_step(reply, work.pool, work.desk, room=room, pinned=pinned),
    )
    reply = answer.value
    pool, beyond = after_step(work.pool, reply, round_number=work.round_number, room=room, pinned=pinned)
    actions = [] if reply.done or number >= most else work.desk.actions(reply.actions, "researcher")
    return StepTaken(pool, beyond, actions, reply.thought, done=not actions, usage=answer.usage)


async def _step_prompt(work: Research, *, number: int, most: int) -> StepPrompt:
    pool = work.pool
    numbering = await pool_numbering(work, visible_ids(pool))
    catalogue, more = await catalogue_text(work, tokens=work.profile("supervisor").catalogue_tokens)
    is_revision = work.best is not None and work.draft is not None
    numbers = passage_numbers(pool)
    head = ResearcherHead(
        catalogue=catalogue,
        more_documents=more,
        brief=work.brief,
        theme=work.question,
        instructions=work.options.instructions,
        parts=[part.text for part in parts_of(pool)],
        best_draft=shown_draft(work.draft, {}) if is_revision and work.draft else "",
        fixes=work.fixes if is_revision else "",
        offered=numbering.lines([each for each in pool["offered"] if each not in pool["held_then"]]),
        passages=numbering.documents(pool["held_then"]),
    )
    return StepPrompt(
        head=work.run.render(head),
        log=work.run.render(StepLog(steps=numbering.steps(steps_at_hand(pool)))),
        number=number,
        most=most,
        parts=numbering.parts(),
        held=numbering.lines(pool["held"], brief=True),
        tokens=held_tokens(pool),
        room=work.room,
        pinned=sorted(numbers[each] for each in (work.draft.passages() if work.draft else []) if each in pool["held"]),
        beyond=[numbers[each] for each in work.beyond],
        rejected=work.rejected,
        step_tokens=work.profile("supervisor").step_tokens,
        sources=list(work.sources_on),
        can_find=work.desk.can_find,
        query_hints=work.team.query_hints,
        stance=work.stance,
        round_number=work.round_number,
    )


def begins_anew(work: Research) -> EvidencePool:
    """The pool. If the next prompt would outgrow the context, it restarts from the held passages."""
    pool, profile = work.pool, work.profile("supervisor")
    sizes = {each["id"]: each["tokens"] for each in pool["passages"]}
    tokens = sum(sizes[each] for each in visible_ids(pool)) + sum(
        estimate_tokens(result["text"]) + 20 * (len(result["listed"]) + 1)
        for step in steps_at_hand(pool)
        for result in step["results"]
    )
    tokens += profile.catalogue_tokens + profile.step_tokens + _STEP_FRAME
    tokens += estimate_tokens(work.brief or work.question) + estimate_tokens(work.options.instructions)
    if work.best:
        tokens += estimate_tokens(work.best.content) + estimate_tokens(work.fixes)
    if tokens <= profile.prompt_tokens or not pool["steps"]:
        return pool
    return {**pool, "steps_from": len(pool["steps"]) - 1, "held_then": [*pool["held"]]}


def plan_of(
    pool: EvidencePool, question: str, actions: Sequence[Action], thought: str, sources: Sequence[str]
) -> ResearchPlan:
    """The plan as a person approves it: the parts of the question, and the first actions."""
    lines = [action_line(action) for action in actions] or [title_of(question)]
    return ResearchPlan(
        theme=title_of(question),
        investigation_points=[part.text for part in parts_of(pool)],
        search_queries=list(dict.fromkeys(lines))[:20],
        source_priority=numbers_of(sources),
        plan_text=thought if len(thought) >= 10 else f"{thought} {title_of(question)}",  # noqa: PLR2004 - a plan's least
    )


def action_line(action: Action) -> str:
    """An action as a person reads and edits it: a search by its words, another by its kind before them."""
    return action["text"] if action["kind"] == "search" else f"{action['kind']}: {action['text']}"


def reply_of_line(line: str) -> ActionReply:
    """An action as a person writes it; see `action_line`."""
    kind, colon, text = line.partition(": ")
    if colon and kind in {"find", "read"} and text.strip():
        return ActionReply.model_validate({"kind": kind, "source": "", "text": text.strip(), "parts": []})
    return ActionReply(kind="search", source="", text=line[:400], parts=[])


def planted_in(work: Research, passages: Sequence[Passage]) -> PlantedOrders:
    """What passages that were left out order AI systems to say. `passages`: the others, with their texts."""
    honest = [work.question, work.options.instructions, *(each.text for each in passages)]
    return PlantedOrders(orders_of(work.pool), honest)


async def write_draft(
    work: Research, passages: Sequence[Passage], marks: Sequence[MarkedPlace]
) -> tuple[Draft, CallUsage]:
    """A first draft, or the one at hand with what changes.

    Raises:
        ModelError: the writer's model failed.
    """
    step, parts = str(work.drafts + 1), len(work.pool["parts"])
    ids, in_pool = numbered_ids(work.pool, work.passages), [each["id"] for each in work.pool["passages"]]
    target = target_length(work.options.length, parts)
    values = {
        "head": await research_head(work, passages),
        "stance": work.stance,
        "bullets": _lessons_beside(work),
    }
    if work.draft is None:
        drafted = partial(draft_of, ids=ids, bullets=work.lessons)
        first = await work.ask(
            "writer",
            ReportPrompt(**values, **target, rejected=work.rejected),
            ReportReply,
            step=step,
            passages=in_pool,
            faults=lambda reply: faults_of(reply, ids, parts) or over_limit(drafted(reply)),
        )
        return drafted(first.value), first.usage
    before = work.draft
    prompt = RevisePrompt(
        **values,
        **length_of(before, target),
        draft=shown_draft(before, passage_numbers(work.pool)),
        marks=[*marks],
        fixes=work.fixes,
        new_passages=[number for number, each in ids.items() if work.written_from and each not in work.written_from],
    )
    revised = partial(revise, before, ids=ids, bullets=work.lessons)
    revision = await work.ask(
        "writer",
        prompt,
        RevisionReply,
        step=step,
        passages=in_pool,
        faults=lambda reply: faults_of_revision(reply, before, ids, parts) or over_limit(revised(reply=reply)),
    )
    return revised(reply=revision.value), revision.usage


async def mend_statements(work: Research, draft: Draft, passages: Sequence[Passage]) -> tuple[Draft, CallUsage]:
    """The draft with those of its statements mended that code has refuted.

    Raises:
        ModelError: the writer's model failed.
    """
    ids = numbered_ids(work.pool, work.passages)
    answer = await work.ask(
        "writer",
        MendPrompt(
            head=await research_head(work, passages),
            statements=refuted_statements(draft, passage_numbers(work.pool), work.options.language),
        ),
        MendedReply,
        step=f"{work.drafts} mend",
        passages=[each["id"] for each in work.pool["passages"]],
        faults=lambda reply: faults_of_mending(reply, draft, ids),
    )
    return mended(draft, answer.value, ids), answer.usage


def _lessons_beside(work: Research) -> list[NumberedLesson]:
    """The lessons that the brief does not show."""
    lessons = ((number, each["content"]) for number, each in enumerate(work.lessons, start=1))
    return [NumberedLesson(number=number, content=text) for number, text in lessons if text not in work.brief]


@dataclass(frozen=True)
class Review:
    """What a reviewer says: `actions` where it looks first; else its fixes. `ids`: of what it saw, by number."""

    reply: FixesReply
    actions: list[Action]
    ids: Mapping[int, str]
    usage: CallUsage

    def passages(self) -> list[str]:
        """The ids of the passages that its fixes name."""
        named = dict.fromkeys(number for fix in self.reply.fixes for number in fix.passages)
        return [self.ids[number] for number in named if number in self.ids]

    def text(self) -> str:
        """The fixes, a line each with its place, and the passages that carry it."""
        return "\n".join(
            f"- {fix.where}: {fix.what} {''.join(f'[P{each}]' for each in fix.passages if each in self.ids)}".rstrip()
            for fix in self.reply.fixes
        )


async def review_draft(work: Research, draft: Draft, marks: Sequence[MarkedPlace], nearest: Sequence[str]) -> Review:
    """What to look up about a draft, or what to mend in it, and whether it can be handed in.

    `nearest`: the ids of passages of all documents that lie nearest to parts that are not answered.

    Raises:
        ModelError: the reviewer's model failed.
    """
    passages = await work.with_texts(work.passages)
    named = [each for step in work.looked for result in step["results"] for each in named_ids(result)]
    numbering = await pool_numbering(work, [*shown_ids(work.looked), *nearest])
    known = {*work.passages, *shown_ids(work.looked)}
    head, log = await research_head(work, passages), work.run.render(StepLog(steps=numbering.steps(work.looked)))
    sizes, numbers = sizes_of(work.pool), passage_numbers(work.pool)
    near = [each for each in nearest if each not in known]
    # The reply needs room: nothing is brought near, and nothing looked up, that a small context cannot hold beside it.
    room = work.profile("reviewer").prompt_tokens
    room -= estimate_tokens(head) + estimate_tokens(log) + estimate_tokens(shown_draft(draft, numbers))
    near = near if sum(sizes[each] for each in near) <= room else []
    looks = looks_left(work.looks) if work.profile("reviewer").look_tokens <= room else 0
    catalogue = await catalogue_text(work, tokens=work.profile("reviewer").catalogue_tokens // 3) if looks else ("", 0)
    prompt = review_prompt(
        draft,
        work.desk,
        looks,
        head=head,
        numbers=numbers,
        at_hand=work.passages,
        marks=marks,
        nearest=numbering.documents(near),
        log=log,
        catalogue=catalogue[0] if not work.pool["whole"] else "",
        target=target_length(work.options.length, len(work.pool["parts"])),
    )
    step = f"{work.drafts}" if not work.looks else f"{work.drafts} look {work.looks}"
    answer = await work.ask(
        "reviewer",
        prompt,
        FixesReply,
        step=step,
        passages=[each["id"] for each in work.pool["passages"]],
        faults=lambda reply: faults_of_review(work.desk, reply, looks),
    )
    actions = work.desk.actions(answer.value.actions, "reviewer") if looks else []
    ids = numbered_ids(work.pool, [*work.passages, *named, *nearest])
    return Review(answer.value, actions, ids, answer.usage)


def looks_left(looks: int) -> int:
    """How often a reviewer that looked so often may look yet."""
    return max(0, MOST_LOOKS - looks)


def review_prompt(
    draft: Draft,
    desk: Desk,
    looks: int,
    *,
    head: str,
    numbers: Mapping[str, int],
    at_hand: Sequence[str],
    marks: Sequence[MarkedPlace],
    log: str,
    catalogue: str,
    target: TargetLength,
    nearest: Sequence[SourceDocument] = (),
    reports: Sequence[TeamReport] = (),
) -> FixesPrompt:
    """What a reviewer is asked about a draft, a team's or the merged one. `looks`: how often it may look yet.

    `at_hand`: the ids of the passages that it is written from.
    """
    cited = {*draft.passages()}
    return FixesPrompt(
        head=head,
        draft=shown_draft(draft, numbers),
        uncited=sorted(numbers[each] for each in at_hand if each not in cited)[:MOST_UNCITED],
        marks=[*marks],
        reports=[*reports],
        nearest=[*nearest],
        log=log,
        looks=looks,
        sources=list(desk.sources),
        can_find=desk.can_find,
        catalogue=catalogue if looks else "",
        **length_of(draft, target),
    )


def faults_of_review(desk: Desk, reply: FixesReply, looks: int) -> str:
    """What the reviewer has to mend, a line each; "" where nothing is wrong."""
    if reply.actions and not looks:
        return "no further look follows: `actions` is empty; say what to mend"
    lines = [fault for action in reply.actions if (fault := desk.fault(action))]
    if not reply.actions and not reply.accept and not reply.fixes:
        lines.append("it is not accepted, and `fixes` is empty: say what to mend, or accept it")
    if reply.accept and not all(each.holds for each in reply.scenarios):
        lines.append("it is accepted, and a scenario does not hold: say in `fixes` what to mend")
    return "\n".join(lines)


async def nearest_passages(work: Research, parts: Sequence[Part]) -> dict[int, list[FoundPassage]]:
    """The nearest passages of all local documents for each unanswered part, by the part's index."""
    if LOCAL not in work.sources_on or work.pool["whole"]:
        return {}
    source = await work.sources.ready(LOCAL, work.options.documents, work.run.execution_id)
    return {
        at: await source.search(f"{part.text} {part.missing}".strip(), limit=NEAREST)
        for at, part in enumerate(parts)
        if part.state != "answered"
    }


async def screen_pool(
    work: Research, ids: Sequence[str], *, before_writing: bool = False
) -> tuple[Research, list[CallUsage]]:
    """Mark those of these passages that speak to AI systems, which are given up; and what asking about them cost.

    `before_writing`: the call begins as the writer's will, so that a provider reads the passages once for both.
    """
    passages = await work.with_texts(unscreened(work.pool, ids))
    head, room = "", work.profile("reviewer").evidence_tokens
    if before_writing and work.options.model_name("reviewer", team=work.team) == work.options.model_name(
        "writer", team=work.team
    ):
        head = await research_head(work, await work.with_texts(ids))
    if estimate_tokens(head) < LEAST_SHARED_TOKENS:
        ask = partial(ask_about_orders, work.run, work.team)
    else:
        room = sum(each.tokens for each in passages)
        ask = partial(ask_about_orders, work.run, work.team, head=head, numbers=passage_numbers(work.pool))
    pool, usages = await screened(work.pool, passages, work.run.screening, ask, room=room)
    return work.with_pool(pool), usages


async def ask_about_orders(
    run: RunContext,
    team: TeamConfig | None,
    passages: Sequence[Passage],
    *,
    head: str = "",
    numbers: Mapping[str, int] | None = None,
) -> tuple[dict[str, list[str]], CallUsage]:
    """The sentences that speak to AI systems, as the reviewer's model quotes them, by passage id; what asking cost.

    `head`: the beginning of a writer's prompt that shows the passages under `numbers`, by id. Asked by the run and not
    by the team, since which team comes first is chance and a replay finds it anyway; a team with a reviewer of its own
    asks that one.

    Raises:
        ModelError: the reviewer's model failed.
    """
    ids = [each.id for each in passages]
    numbers = numbers or numbers_of(ids)
    step = sha256("\n".join(map(text_id, ids)).encode()).hexdigest()[:16]
    scope = run.scope("reviewer", step=step, passages=tuple(sorted(numbers, key=lambda each: numbers[each])))
    if team and "reviewer" in team.models:
        scope = replace(scope, team_id=team.team_id)
    prompt = InjectionPrompt(
        head=head,
        passages=[] if head else SourceDocument.of_passages(passages),
        numbers=sorted(numbers[each] for each in ids) if head else [],
    )
    answer = await run.model("reviewer", team=team).ask(prompt, InjectionReply, scope=scope)
    asked, quotes = {numbers[each]: each for each in ids}, defaultdict[str, list[str]](list)
    for order in answer.value.orders:
        for number in order.passages:
            if number in asked:
                quotes[asked[number]].append(order.quote)
    return quotes, answer.usage
