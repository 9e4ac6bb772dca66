"""What a team hands in at the end of a round: its report with all that judges need to check it."""

from collections.abc import Sequence

from contend.evidence import Action, store_hits
from contend.evidence.actions import LOCAL
from contend.evidence.pool import (
    first_actions,
    own_passages,
    parts_after_report,
    passage_numbers,
    passages_of,
    results_for,
    with_hits,
    with_parts,
)
from contend.evidence.screening import orders_of, speaking_of
from contend.models.evaluation import Submission
from contend.models.research import Draft, Passage, SearchResult
from contend.models.task import CallUsage
from contend.preflight import answer
from contend.report import build_report
from contend.research.asking import nearest_passages, screen_pool
from contend.research.state import ResearchUpdate
from contend.research.work import Research
from contend.stores import text_id
from contend.text import clean, shorten
from contend.writing import not_found_words

SUMMARY_CHARACTERS = 300


async def with_nearest(work: Research) -> tuple[Research, list[CallUsage]]:
    """Add the passages nearest to unanswered parts to the evidence, without holding them; what screening them cost."""
    if work.draft is None:
        return work, []
    parts = parts_after_report(work.pool, [part for part, _ in not_found_words(work.draft)])
    nearest, pool = await nearest_passages(work, parts), work.pool
    for at, hits in nearest.items():
        action = Action(kind="search", source=LOCAL, text="", parts=[at + 1], by="draft")
        brought = await store_hits(hits, action, work.documents)
        pool = with_hits(pool, (({**hit["evidence"], "found_by": []}, hit["result"], hit["text"]) for hit in brought))
        ids = [hit["evidence"]["id"] for hit in brought]
        parts[at] = parts[at].model_copy(update={"nearest": [each for each in ids if each not in pool["held"]]})
    work = work.with_pool(with_parts(pool, parts))
    return await screen_pool(work, [each for part in parts for each in part.nearest])


async def submission_of(work: Research) -> Submission:
    """What the team hands in, of a draft and the passages that it holds.

    Raises:
        DraftError: there is too little text in the draft.
    """
    draft, pool = work.draft, work.pool
    if draft is None:
        raise TypeError("no draft")
    held = passages_of(pool, work.passages)
    passages = await work.with_texts(work.passages)
    results = await results_with_summaries(work)
    report = build_report(draft, passages, results, theme=work.question, language=work.options.language)
    parts = [*work.pool["parts"]]
    nearest = list(dict.fromkeys(each for part in parts for each in part["nearest"]))
    actions = [result for step in pool["steps"] for result in step["results"]]
    return Submission(
        content=report.to_markdown(work.options.language, folders=await work.sources.paths(work.options.documents)),
        report=report,
        draft=draft,
        passages=held,
        results=results,
        points=[part["text"] for part in parts],
        queries=list(dict.fromkeys(each["text"] for each in actions if each["kind"] != "read")),
        feedback=work.fixes,
        unread=pool["unread"],
        speaking=speaking_of(pool),
        orders=orders_of(pool),
        found_by={} if pool["whole"] else first_actions(pool, draft.passages()),
        own=own_passages(pool, draft.passages()),
        parts=parts,
        nearest=passages_of(pool, nearest),
        numbers={each: number for each, number in passage_numbers(pool).items() if each in {*work.passages, *nearest}},
    )


async def hand_in(work: Research, submission: Submission) -> ResearchUpdate:
    """A round's submission, by its id; alone, the report and the answer in the chat, too."""
    document = await work.submissions.put(submission)
    if not work.is_alone:
        return {"submission": document}
    work.close()
    report = submission.report.model_dump(mode="json")
    return {"submission": document, "report": report, "messages": [answer(work.run.execution_id, submission.content)]}


async def results_with_summaries(work: Research) -> list[SearchResult]:
    """The documents of held passages, then some others, each with the beginning of a text as summary.

    No text that speaks to AI systems is.
    """
    results, ids = results_for(work.pool, work.pool["held"]), work.pool["summarized_by"]
    speaking = {text_id(each["id"]) for each in work.pool["passages"] if each.get("signals")}
    texts = {
        name: "" if name in speaking else text
        for name, text in (await work.documents.get_many(ids[result["url"]] for result in results)).items()
    }
    return [
        SearchResult.model_validate({**result, "summary": _summary(texts[ids[result["url"]]]) or result["title"]})
        for result in results
    ]


def _summary(text: str) -> str:
    return shorten(clean(text, single_line=True), SUMMARY_CHARACTERS)


def printed(work: Research, draft: Draft, passages: Sequence[Passage], results: Sequence[SearchResult]) -> str:
    """The draft as Markdown, named by its files alone."""
    report = build_report(draft, passages, results, theme=work.question, language=work.options.language)
    return report.to_markdown(work.options.language)
