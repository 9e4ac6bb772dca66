"""Whether judges tell a good report from a damaged one: by criteria and scores, by code alone, side by side.

`python benchmarks/judging.py` judges the twenty pairs of `judging.toml` and `judging_fresh.toml` as a contest does,
with the endpoint that the environment names: criteria from the question alone, each report scored by itself, both
compared in either order. `--why` prints the feedback that each report would get. `--code` asks no model.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from contend.contest.comparing import CompareTask, ComparingNodes, pairwise_keys
from contend.contest.state import Comparison
from contend.models.evaluation import EvaluationResult
from contend.models.options import ResolvedOptions, RunOptions
from contend.run_context import RunContext
from contend.services import Services
from contend.settings import load_settings, resolve_options
from contend.team.judging import make_criteria
from contend.team.metrics import evaluation_of, measure, metric_tasks
from judging_pairs import Pair, kept_submission, pairs

_FILES = ("judging.toml", "judging_fresh.toml")
_SIDES = ("good", "damaged")
_ROW = "{:20} {:2} {:9} {:>11} {:>11} {:>11}   {}"
_HEAD = _ROW.format("good / damaged", "", "damage", "score", "coverage", "by code", "side by side")


class Judged(NamedTuple):
    """Scores of 0.0 to 1.0: the evaluation's, the share of criteria met, the mean of the metrics by code."""

    score: float
    coverage: float
    by_code: float


def options_for(services: Services, pair: Pair, *, by_code: bool) -> ResolvedOptions:
    given = RunOptions(language=pair.language)
    options = resolve_options(services.config, given, theme=pair.theme, has_language_model=not by_code).options
    metrics = options.evaluator.measured if by_code else options.evaluator.metrics
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
        services,
        run,
        submission=document,
        theme=pair.theme,
        team_id="",
        round_number=1,
        criteria=criteria,
    )
    results = await asyncio.gather(*(measure(services, task) for task in tasks))
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
    made = await make_criteria(services, run, theme=pair.theme)
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
