"""What code refutes of statements that are known to be true or changed, and what a judge leaves of them unmarked.

    python benchmarks/statements.py [--why] [--judge FILE] [--prompts FOLDER]

The statements of `statements/*.toml` are put into drafts of about forty and checked as a team's draft is. `--prompts`
writes what an evaluation would ask a judge about each draft; `--judge` reads the replies, a line of JSON each:
`{"prompt": 1, "reply": {…}}`. A contradiction whose quote stands in no passage of its statement counts as said in part.
"""

import argparse
import json
import random
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from contend.checks.proof import stands_in
from contend.criteria import numbered_criteria
from contend.llm.chat import schema_text
from contend.models.evaluation import Criterion, Doubt, VerdictsReply
from contend.models.record import Language
from contend.models.research import CitedSentence, Draft, ItemList, Passage, Section
from contend.prompts import PromptLibrary
from contend.prompts.judging import VerdictsPrompt
from contend.prompts.research import ResearchHead, SourceDocument
from contend.writing import length_of, prove, shown_draft, target_length

DATA = Path(__file__).with_name("statements")
LANGUAGES: Mapping[str, Language] = {"en": "en", "de": "en", "ja": "ja"}
"""Those of the statements, each with that of the prompts about them."""
FIGURES = (
    "figure", "magnitude", "year", "date", "percentage", "unit", "currency", "stale", "sum", "invented_input",
)  # fmt: skip
"""The kinds of change that are for code."""
_TRUE = "true"
_A_DRAFT = 40
_SEED = 29
_QUESTION = {
    "en": "What do these documents say?",
    "de": "Was sagen diese Dokumente?",
    "ja": "これらの文書には何が書かれているか。",
}
_CRITERION = {
    "en": "Each statement can be understood by itself.",
    "de": "Each statement can be understood by itself.",
    "ja": "どの記述も、それだけで理解できる。",
}


class Told(NamedTuple):
    """A statement, its language, the passage that it is about, and its kind: true, or how it was changed."""

    language: str
    passage: Passage
    kind: str
    statement: CitedSentence


class Sheet(NamedTuple):
    """A draft of true and changed statements with what code refutes; `told`: by place."""

    number: int
    language: str
    draft: Draft
    told: Mapping[str, Told]

    @property
    def passages(self) -> list[Passage]:
        return list({each.passage.id: each.passage for each in self.told.values()}.values())

    def refuted(self) -> set[str]:
        """The places of what code refutes."""
        return {each.place for each in self.draft.placed_sentences() if each.sentence.refuted}


def statements(language: str) -> list[Told]:
    """Those of a language; none where its file is missing."""
    path = DATA / f"{language}.toml"
    given = tomllib.loads(path.read_text("utf-8"))["passage"] if path.exists() else []
    return [told for each in given for told in _of_passage(language, each)]


def _of_passage(language: str, given: Mapping[str, Any]) -> Iterator[Told]:
    passage = Passage(
        id=given["id"],
        url=f"file:///{given['id']}.md",
        title=given["title"],
        heading=given["heading"],
        text=given["text"].strip(),
    )
    for each in given["statement"]:
        basis = each.get("basis", "")
        sentence = CitedSentence(
            text=each["text"],
            passages=[passage.id],
            quotes=each["quotes"],
            kind="derived" if basis else "stated",
            basis=basis,
        )
        yield Told(language, passage, each["kind"], sentence)


def sheets() -> list[Sheet]:
    """All statements in drafts of one language each, true and changed ones mixed, always in the same order."""
    made: list[Sheet] = []
    for language in LANGUAGES:
        told = statements(language)
        random.Random(_SEED).shuffle(told)  # noqa: S311 - the same each time
        count = -(-len(told) // _A_DRAFT)
        made += [_sheet(len(made) + at + 1, language, told[at::count]) for at in range(count)]
    return made


def _sheet(number: int, language: str, told: Sequence[Told]) -> Sheet:
    first, second, *others = [each.statement for each in told]
    draft = Draft(summary=[first], findings=[second], sections=[Section(blocks=[ItemList(items=others)])])
    passages = list({each.passage.id: each.passage for each in told}.values())
    proven = prove(draft, passages, around=_QUESTION[language])
    places = [each.place for each in proven.placed_sentences()]
    return Sheet(number, language, proven, dict(zip(places, told, strict=True)))


def prompt(sheet: Sheet) -> str:
    """What a judge is asked about the sheet's draft: both messages, and the shape of the reply."""
    passages = sorted(sheet.passages, key=lambda each: each.id)
    numbers = {each.id: number for number, each in enumerate(passages, start=1)}
    criterion = Criterion(text=_CRITERION[sheet.language], weight=1.0)
    library, language, mark = PromptLibrary(None), LANGUAGES[sheet.language], f"{_SEED:08x}"
    head = ResearchHead(
        theme=_QUESTION[sheet.language], for_writers=False, passages=SourceDocument.of_passages(passages)
    )
    values = VerdictsPrompt(
        head=library.show(head, language=language, mark=mark),
        has_passages=True,
        submission=shown_draft(sheet.draft, numbers, basis=False, proof=True),
        structured=True,
        criteria=numbered_criteria([criterion], language),
        with_fixes=False,
        **length_of(sheet.draft, target_length("standard", parts=1)),
    )
    asked = library.call(values, language=language, mark=mark)
    return "\n\n".join([asked.system, asked.user, schema_text(VerdictsReply)]) + "\n"


def write_prompts(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for sheet in sheets():
        (folder / f"{sheet.number:02}-{sheet.language}.md").write_text(prompt(sheet), "utf-8")


def replies(file: Path) -> dict[int, VerdictsReply]:
    """The recorded replies by their prompt's number; of two on one the last."""
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return {each["prompt"]: VerdictsReply.model_validate(each["reply"]) for each in lines}


def verdict_of(doubt: Doubt, told: Told) -> str:
    """The judge's word on a statement, as an evaluation keeps it."""
    shown = doubt.verdict != "contradicted" or stands_in(doubt.quote, told.passage)
    return doubt.verdict if shown else "partly"


class Counted(NamedTuple):
    """How many statements of a kind there are in a language, what code refutes, and what a judge marks besides.

    `struck`: of what the judge marks, those whose contradiction is shown by a quote.
    """

    language: str
    kind: str
    all: int = 0
    refuted: int = 0
    judged: int = 0
    struck: int = 0

    @property
    def is_true(self) -> bool:
        return self.kind == _TRUE

    @property
    def marked(self) -> int:
        return self.refuted + self.judged


def counted(made: Iterable[Sheet], by_judge: Mapping[int, VerdictsReply]) -> list[Counted]:
    """By language and kind, in the order in which they come."""
    found: dict[tuple[str, str], Counted] = {}
    for sheet in made:
        reply, refuted = by_judge.get(sheet.number), sheet.refuted()
        doubts = {each.place: each for each in reply.doubts} if reply else {}
        for place, told in sheet.told.items():
            verdict = verdict_of(doubts[place], told) if place in doubts and place not in refuted else ""
            key = (sheet.language, told.kind)
            old = found.get(key, Counted(*key))
            found[key] = old._replace(
                all=old.all + 1,
                refuted=old.refuted + (place in refuted),
                judged=old.judged + bool(verdict),
                struck=old.struck + (verdict == "contradicted"),
            )
    return sorted(found.values(), key=lambda each: (not each.is_true, each.kind not in FIGURES))


def share(part: int, of: int) -> str:
    return f"{part} of {of} ({part / of:.1%})" if of else "none"


def report(made: Sequence[Sheet], by_judge: Mapping[int, VerdictsReply]) -> Iterator[str]:
    """The lines to print; those on the judge only of drafts on which it has replied."""
    rows = counted(made, {})
    for language in dict.fromkeys(each.language for each in rows):
        kinds = [f"{each.kind} {each.refuted}/{each.all}" for each in rows if each.language == language]
        yield f"{language}, refuted by code: {', '.join(kinds)}"
    figures = [each for each in rows if each.kind in FIGURES]
    true = [each for each in rows if each.is_true]
    refuted, falsely = (sum(each.refuted for each in some) for some in (figures, true))
    yield f"changed figures refuted: {share(refuted, sum(each.all for each in figures))}, goal at least 98 %"
    yield f"true statements refuted: {share(falsely, sum(each.all for each in true))}, goal at most 1 %"
    judged = counted([each for each in made if each.number in by_judge], by_judge)
    if judged:
        changed, held = ([each for each in judged if each.is_true == is_true] for is_true in (False, True))
        unmarked = sum(each.all - each.marked for each in changed)
        yield f"changed, printed without a mark: {share(unmarked, sum(each.all for each in changed))}, goal at most 2 %"
        left = [f"{each.language} {each.kind} {each.all - each.marked}" for each in changed if each.all > each.marked]
        yield from [f"  {', '.join(left)}"] if left else []
        yield f"true, marked: {share(sum(each.marked for each in held), sum(each.all for each in held))}"
        shown = share(sum(each.struck for each in changed), sum(each.judged for each in changed))
        yield f"judge's doubts on changed ones that are shown by a quote: {shown}"


def misses(made: Iterable[Sheet], by_judge: Mapping[int, VerdictsReply]) -> Iterator[str]:
    """Changed figures that code does not refute and true statements that it does; a judge's misses likewise."""
    for sheet in made:
        reasons = {each.place: each.sentence.refuted for each in sheet.draft.placed_sentences()}
        reply = by_judge.get(sheet.number)
        doubted = {each.place for each in reply.doubts} if reply else set()
        for place, told in sheet.told.items():
            is_true, refuted = told.kind == _TRUE, bool(reasons[place])
            by_code = refuted if is_true else told.kind in FIGURES and not refuted
            at_all = is_true == (refuted or place in doubted) if reply else False
            if by_code or at_all:
                details = "; ".join(f"{each.rule} {each.detail}" for each in reasons[place])
                where = f"{sheet.language} {told.kind} ({sheet.number}, {place})"
                yield f"{where}: {told.statement.text} {details}".rstrip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", type=Path, help="recorded replies of a judge")
    parser.add_argument("--prompts", type=Path, help="the folder to write the judge's prompts to")
    parser.add_argument("--quick", action="store_true", help="the same")
    parser.add_argument("--why", action="store_true", help="print each statement that is not as it should be, too")
    given = parser.parse_args()
    if given.prompts:
        write_prompts(given.prompts)
    made, by_judge = sheets(), replies(given.judge) if given.judge else {}
    print(*report(made, by_judge), sep="\n")
    if given.why:
        print(*misses(made, by_judge), sep="\n")


if __name__ == "__main__":
    main()
