"""Whether judges tell a good report from a damaged one: by criteria and scores, by code alone, side by side.

`python benchmarks/judging.py` judges the twenty pairs of `judging.toml` and `judging_fresh.toml` as a contest does,
with the endpoint that the environment names: criteria from the question alone, each report scored by itself, both
compared in either order. `--why` prints the feedback that each report would get. `--code` asks no model.
"""

import argparse
import asyncio
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from contend.contest.comparing import CompareTask, ComparingNodes, pairwise_keys
from contend.contest.state import Comparison
from contend.criteria import settle_criteria
from contend.models.evaluation import EvaluationResult, Submission
from contend.models.options import ResolvedOptions, RunOptions
from contend.models.record import Language
from contend.models.research import CitedSentence, Draft, Paragraph, Passage, SearchResult, Section
from contend.report import build_report
from contend.run_context import RunContext
from contend.services import Services
from contend.settings import load_settings, resolve_options
from contend.team.measurement import open_measurement
from contend.team.metrics import evaluation_of, measure, metric_tasks

_FILES = ("judging.toml", "judging_fresh.toml")
_SIDES = ("good", "damaged")
_ROW = "{:20} {:2} {:9} {:>11} {:>11} {:>11}   {}"
_HEAD = _ROW.format("good / damaged", "", "damage", "score", "coverage", "by code", "side by side")
_CITED = re.compile(r"\s*\[([a-z](?:,[a-z])*)\]\Z")
_INVENTED = "z"
_NEXT = str.maketrans("abc", "bca")
_MIDDLE = re.compile("、|(?<=[a-z]),? ")

Parts = dict[str, list[str]]
"""Sentences with the sources they cite, by part of the report."""


@dataclass(frozen=True)
class Pair:
    """A question and two answers to it; `damage` says what ails the second."""

    name: str
    language: Language
    theme: str
    points: list[str]
    sources: dict[str, SearchResult]
    texts: dict[str, str]
    damage: str
    good: Parts
    damaged: Parts

    @property
    def execution_id(self) -> str:
        return uuid5(NAMESPACE_URL, self.name).hex


def pairs(file: str) -> list[Pair]:
    """All pairs of a file beside this one, in its order."""
    listed = tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))["pairs"]
    return [_pair(number, each) for number, each in enumerate(listed)]


def _pair(number: int, given: Mapping[str, Any]) -> Pair:
    ((damage, how),) = given["damage"].items()
    language: Language = given.get("language", "en")
    titles = {source["id"]: source["title"] for source in given["sources"]}
    if damage == "invented":
        titles[_INVENTED] = how
    texts = {source["id"]: _joined(source["text"], language) for source in given["sources"]}
    sources = {
        name: SearchResult(
            title=title,
            summary=texts.get(name, title)[:300],
            source="tavily",
            url=f"https://pair{number}.example/{name}",
        )
        for name, title in titles.items()
    }
    return Pair(
        name=given["name"],
        language=language,
        theme=given["theme"],
        points=given["points"],
        sources=sources,
        texts=texts,
        damage=damage,
        good=given["good"],
        damaged=_damaged(given["good"], damage, how),
    )


async def kept_submission(services: Services, pair: Pair, parts: Parts) -> str:
    """The document id under which an answer is kept as a submission."""
    ids = {name: await services.documents.put(text) for name, text in pair.texts.items()} | {_INVENTED: _INVENTED}
    passages = [Passage(id=ids[name], url=source.url, title=source.title) for name, source in pair.sources.items()]
    said = {part: [_sentence(line, ids) for line in lines] for part, lines in parts.items()}
    body = [Section(heading=pair.theme, blocks=[Paragraph(sentences=said.pop("analysis"))])]
    draft = Draft(**said, sections=body)
    shown = list(pair.sources.values())
    report = build_report(draft, passages, shown, theme=pair.theme, language=pair.language)
    submission = Submission(
        content=report.to_markdown(pair.language),
        report=report,
        draft=draft,
        passages=[passage for passage in passages if passage.id != _INVENTED],
        results=[source for name, source in pair.sources.items() if name != _INVENTED],
        points=pair.points,
    )
    return await services.documents.put(submission.model_dump_json())


def _sentence(line: str, ids: Mapping[str, str]) -> CitedSentence:
    cited = _CITED.search(line)
    return CitedSentence(
        text=_CITED.sub("", line), passages=[ids[name] for name in cited[1].split(",")] if cited else []
    )


def _damaged(good: Parts, damage: str, how: Any) -> Parts:  # noqa: ANN401 - its shape differs by damage
    match damage:
        case "replaced":
            return _each(good, lambda line: _replaced(line, how))
        case "invented":
            return _each(good, lambda line: _CITED.sub(f" [{_INVENTED}]", line))
        case "moved":
            return _each(good, lambda line: _CITED.sub(lambda cited: cited[0].translate(_NEXT), line))
        case "mixed":
            return _mixed(good)
        case "rewritten":
            return dict(how)
    rest = {
        "kept": lambda part, lines: lines[: how.get(part, 0)],
        "padding": lambda part, lines: lines + how.get(part, []),
    }
    return {part: rest[damage](part, lines) for part, lines in good.items()}


def _each(parts: Parts, change: Callable[[str], str]) -> Parts:
    return {part: [change(line) for line in lines] for part, lines in parts.items()}


def _replaced(line: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        line = line.replace(old, new)
    return line


def _mixed(parts: Parts) -> Parts:
    """Every sentence ends as the third one after it does, citations included."""
    halves = [_halves(line) for lines in parts.values() for line in lines]
    ends = iter([end for _, end in halves[3:] + halves[:3]])
    return _each(parts, lambda line: _halves(line)[0] + next(ends))


def _halves(line: str) -> tuple[str, str]:
    cuts = [found.end() for found in _MIDDLE.finditer(line)] or [len(line) // 2]
    cut = min(cuts, key=lambda place: abs(place - len(line) // 2))
    return line[:cut], line[cut:]


def _joined(text: str, language: Language) -> str:
    return ("" if language == "ja" else " ").join(text.split("\n")).strip()


class Judged(NamedTuple):
    """Scores of 0.0 to 1.0: the evaluation's, the share of criteria met, the mean of the metrics by code."""

    score: float
    coverage: float
    by_code: float


def options_for(services: Services, pair: Pair, *, by_code: bool) -> ResolvedOptions:
    given = RunOptions(language=pair.language)
    options = resolve_options(services.config, given, theme=pair.theme, has_language_model=not by_code).options
    metrics = options.evaluator.all_metrics if by_code else options.evaluator.metrics
    chosen = [
        metric.model_copy(update={"weight": None}) if by_code else metric
        for metric in metrics
        if metric.kind == "code" or not by_code
    ]
    return options.model_copy(update={"evaluator": options.evaluator.model_copy(update={"metrics": chosen})})


async def evaluated(
    services: Services, pair: Pair, document: str, run: RunContext, criteria: list[dict[str, Any]]
) -> EvaluationResult:
    """The evaluation that a contest would give a report."""
    tasks = metric_tasks(
        run,
        submission=document,
        theme=pair.theme,
        team_id="",
        round_number=1,
        criteria=criteria,
    )
    works = [await open_measurement(services, task) for task in tasks]
    results = await asyncio.gather(*(measure(work) for work in works))
    return evaluation_of([each.score for of_task in results for each in of_task], language=pair.language)


async def compared(
    services: Services,
    pair: Pair,
    documents: Mapping[str, str],
    criteria: list[dict[str, Any]],
) -> list[str]:
    """Which side wins; then what was chosen in each order."""
    tasks = [
        CompareTask(
            first=first,
            second=second,
            submissions=dict(documents),
            theme=pair.theme,
            criteria=criteria,
            execution_id=pair.execution_id,
        )
        for first, second in (_SIDES, _SIDES[::-1])
    ]
    updates = await asyncio.gather(*map(ComparingNodes(services).compare, tasks))
    chosen = [Comparison.model_validate(each) for update in updates for each in update["comparisons"]]
    keys = pairwise_keys(chosen)
    return [max(keys, key=lambda side: keys[side]) if keys else "tie", *(each.better or "tie" for each in chosen)]


async def judge(services: Services, pair: Pair, *, by_code: bool, why: bool) -> dict[str, str]:
    """Print the pair's row; for each measure, which side is ahead."""
    run = services.open_run(pair.execution_id, options_for(services, pair, by_code=by_code))
    documents = {
        side: await kept_submission(services, pair, parts)
        for side, parts in zip(_SIDES, (pair.good, pair.damaged), strict=True)
    }
    made = await settle_criteria(run, question=pair.theme)
    results = await asyncio.gather(*(evaluated(services, pair, documents[side], run, made.plain()) for side in _SIDES))
    verdict = ["-"] if by_code else await compared(services, pair, documents, made.plain())
    good, damaged = map(_judged, results)
    shown = [f"{one * 100:.1f}/{other * 100:.1f}" for one, other in zip(good, damaged, strict=True)]
    lines = [_ROW.format(pair.name, pair.language, pair.damage, *shown, f"{verdict[0]} ({', '.join(verdict[1:])})")]
    if why:
        lines += [f"{side}:\n{result.feedback}" for side, result in zip(_SIDES, results, strict=True)]
    print(*lines, sep="\n", flush=True)
    ahead = ["tie" if one == other else _SIDES[one < other] for one, other in zip(good, damaged, strict=True)]
    return dict(zip((*Judged._fields, "side by side"), (*ahead, verdict[0]), strict=True))


def _judged(result: EvaluationResult) -> Judged:
    by_code = [metric.score or 0.0 for metric in result.metrics if metric.name.startswith(("citation", "point"))]
    coverage = next((metric.score or 0.0 for metric in result.metrics if metric.name == "coverage"), 0.0)
    return Judged(result.overall or 0.0, coverage, sum(by_code) / max(1, len(by_code)))


async def judge_all(chosen: Sequence[Pair], *, by_code: bool, why: bool) -> list[dict[str, str]]:
    with TemporaryDirectory() as folder:
        services = await asyncio.to_thread(Services, load_settings(workspace=Path(folder)))
        try:
            return await asyncio.gather(*(judge(services, pair, by_code=by_code, why=why) for pair in chosen))
        finally:
            await services.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--code", action="store_true", help="what code alone tells, without a model")
    parser.add_argument("--pair", default="", help="only pairs whose name holds this")
    parser.add_argument("--why", action="store_true", help="the feedback of each report, too")
    given = parser.parse_args()
    print(_HEAD)
    chosen = [pair for file in _FILES for pair in pairs(file) if given.pair in pair.name]
    rows = asyncio.run(judge_all(chosen, by_code=given.code, why=given.why))
    for name in rows[0] if rows else ():
        counts = Counter(row[name] for row in rows)
        print(f"{name}: " + ", ".join(f"{side} {counts[side]}" for side in (*_SIDES, "tie")))


if __name__ == "__main__":
    main()
