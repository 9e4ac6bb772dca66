"""Render a team's evidence, steps and parts for prompts."""

from collections.abc import Mapping, Sequence

from contend.evidence import ActionResult, Evidence, EvidencePool, Step, places_of
from contend.evidence.actions import LOCAL
from contend.evidence.pool import numbers_of, parts_of, passage_numbers, passages_of, sizes_of
from contend.models.research import Passage
from contend.prompts.research import (
    PassageSize,
    ResearchHead,
    ShownPart,
    ShownResult,
    ShownStep,
    SourceDocument,
)
from contend.research.work import Research
from contend.sources.catalogue import catalogue_lines
from contend.text import clean, shorten

_BRIEF_NAME = 50


class Numbering:
    """Numbers and places of the passages in a prompt."""

    def __init__(self, pool: EvidencePool, numbers: Mapping[str, int], texts: Mapping[str, str]) -> None:
        """`texts`: of those that are shown whole, by id."""
        self._pool = pool
        self._numbers = numbers
        self._places = places_of(pool)
        self._texts = texts
        self._speaking = {each["id"] for each in pool["passages"] if each.get("signals")}

    def documents(self, ids: Sequence[str]) -> list[SourceDocument]:
        """Passages whole, those of one document together; without any that speaks to AI systems, as everywhere."""
        shown = passages_of(self._pool, [each for each in ids if each not in self._speaking])
        return SourceDocument.of((self._numbers[each.id], self._whole(each)) for each in shown)

    def _whole(self, passage: Passage) -> Passage:
        heading = f"{self._places[passage.id]} {passage.heading}".strip()
        return passage.model_copy(update={"heading": heading, "text": self._texts[passage.id]})

    def lines(self, ids: Sequence[str], *, brief: bool = False) -> str:
        """A line each: number, place, tokens; unless `brief` with its document and heading."""
        by_id = {each["id"]: each for each in self._pool["passages"]}
        return "\n".join(self._line(by_id[each], brief=brief) for each in ids if each not in self._speaking)

    def _line(self, each: Evidence, *, brief: bool) -> str:
        if brief:
            name = f" {shorten(clean(each['heading'] or each['title'], single_line=True), _BRIEF_NAME)}"
        else:
            name = f" {clean(each['title'], single_line=True)} › {each['heading']}".rstrip(" ›")
        return f"P{self._numbers[each['id']]} ({self._places[each['id']]}, {each['tokens']}){name}"

    def steps(self, steps: Sequence[Step]) -> list[ShownStep]:
        return [
            ShownStep(
                number=step["number"],
                thought=step["thought"],
                held=self._known(step["held"]),
                given_up=self._known(step["given_up"]),
                results=[self._result(each) for each in step["results"]],
            )
            for step in steps
        ]

    def _result(self, result: ActionResult) -> ShownResult:
        return ShownResult(
            action=f"{result['kind']} {result['source']}: {result['text']}",
            of_draft=result["by"] == "draft",
            is_read=result["kind"] == "read",
            parts=result["parts"],
            passages=self.documents(result["shown"]),
            sizes=self._sizes(result["shown"]) if result["by"] == "researcher" else [],
            listed=self.lines(result["listed"]),
            known=self._known(result["known"]),
            total=result["total"],
            problem=result["problem"],
        )

    def _sizes(self, ids: Sequence[str]) -> list[PassageSize]:
        tokens = sizes_of(self._pool)
        return [PassageSize(number=self._numbers[each], tokens=tokens[each]) for each in ids]

    def _known(self, ids: Sequence[str]) -> list[int]:
        return [self._numbers[each] for each in ids if each in self._numbers and each not in self._speaking]

    def parts(self) -> list[ShownPart]:
        return [
            ShownPart(
                number=number,
                text=part.text,
                state=part.state,
                passages=self._known(part.passages),
                missing=part.missing,
                notes=part.notes,
            )
            for number, part in enumerate(parts_of(self._pool), start=1)
        ]


def shown_ids(steps: Sequence[Step]) -> list[str]:
    """The passages that these steps show whole."""
    return [each for step in steps for result in step["results"] for each in result["shown"]]


def steps_at_hand(pool: EvidencePool) -> Sequence[Step]:
    """The steps that the next prompt shows."""
    return pool["steps"][pool["steps_from"] :]


def visible_ids(pool: EvidencePool) -> list[str]:
    """The passages shown in full by the next prompt, before new results."""
    return [*pool["held_then"], *shown_ids(steps_at_hand(pool))]


async def pool_numbering(work: Research, ids: Sequence[str]) -> Numbering:
    """The pool's own numbering, with the texts of these passages loaded."""
    texts = await work.documents.get_many(dict.fromkeys(ids))
    return Numbering(work.pool, passage_numbers(work.pool), texts)


def named_ids(result: ActionResult) -> list[str]:
    """All passages that a result shows or names."""
    return [*result["shown"], *result["listed"], *result["known"]]


async def research_head(work: Research, passages: Sequence[Passage]) -> str:
    """The shared beginning of writer and reviewer prompts: passages, question and parts."""
    numbers = passage_numbers(work.pool)
    head = ResearchHead(
        brief=work.brief,
        theme=work.question,
        instructions=work.options.instructions,
        parts=Numbering(work.pool, numbers, {}).parts(),
        passages=SourceDocument.of((numbers[each.id], each) for each in passages),
    )
    return work.run.render(head)


async def catalogue_text(work: Research, *, tokens: int) -> tuple[str, int]:
    """The catalogue of local documents, with headings if they fit, and the number of documents left out."""
    if LOCAL not in work.sources_on:
        return "", 0
    documents, execution_id = work.options.documents, work.run.execution_id
    entries = await work.sources.catalogue(documents, execution_id)
    lines = catalogue_lines(entries, tokens=tokens)
    if len(lines) < len(entries):
        nearest = numbers_of(await work.sources.nearest(documents, execution_id, work.question))
        entries = sorted(entries, key=lambda entry: nearest.get(entry.url, len(nearest) + 1))
        lines = catalogue_lines(entries, tokens=tokens)
    return "\n".join(lines), len(entries) - len(lines)
