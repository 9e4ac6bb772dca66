"""Whether judges tell a good submission from a damaged one: by score, by likely scores, by code alone, in pairs.

`python benchmarks/judging.py` judges the ten pairs of `judging.toml` in 80 calls to the endpoint that the environment
names, with contend's own metrics and prompts. `--fresh` judges those of `judging_fresh.toml` instead, on which nothing
is tuned. `--code` measures without a model what code can tell.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

from contend.contest.comparing import CompareTask, ComparingNodes, Comparison, pairwise_keys
from contend.llm.model import Answer, Model, Scope
from contend.models.evaluation import MetricScore
from contend.models.options import ResolvedOptions, Role, RunOptions, TeamConfig
from contend.models.replies import MetricReply, Reply
from contend.services import Services
from contend.settings import load_settings, resolve_options
from contend.team.evaluation import evaluation_of
from contend.team.metrics import measure, metric_tasks
from judging_pairs import Pair, kept_submission, pairs

R = TypeVar("R", bound=Reply)
_ROW = "{:20} {:2} {:9} {:>11} {:>11} {:>11} {:>11}   {}"
_HEAD = _ROW.format("good / damaged", "", "damage", "whole", "likely", "models only", "code only", "in pairs")
_SIDES = ("good", "damaged")


class Scores(NamedTuple):
    """A submission's overall score, 0.0 to 1.0.

    `whole` by the percentages that the model chose, `likely` by their expected values, both with the metrics by code;
    `model` by the expected values alone, `code` by code alone.
    """

    whole: float
    likely: float
    model: float
    code: float


class Heard:
    """A model whose verdicts are noted by metric: a score tells no more which percentage was chosen."""

    def __init__(self, model: Model, chosen: dict[str, float]) -> None:
        self.name = model.name
        self._model = model
        self._chosen = chosen

    async def structured(
        self,
        prompt: str,
        reply_type: type[R],
        values: Mapping[str, object],
        *,
        scope: Scope,
        spread_over: str | None = None,
        faults: Callable[[R], str] | None = None,
    ) -> Answer[R]:
        answer = await self._model.structured(
            prompt, reply_type, values, scope=scope, spread_over=spread_over, faults=faults
        )
        if isinstance(answer.value, MetricReply):
            self._chosen[scope.step] = answer.value.score()
        return answer


class Judging(Services):
    """The services of a contest, and the percentages that models chose."""

    def __init__(self, folder: Path) -> None:
        super().__init__(load_settings(workspace=folder))
        self.chosen: dict[str, float] = {}

    def model(
        self,
        role: Role,
        options: ResolvedOptions,
        execution_id: str,
        *,
        team: TeamConfig | None = None,
        name: str | None = None,
    ) -> Model:
        return Heard(super().model(role, options, execution_id, team=team, name=name), self.chosen)


def options_for(services: Services, pair: Pair, *, by_code: bool) -> ResolvedOptions:
    """The options of a run with expected scores on; by code without the metrics by model."""
    given = RunOptions(language=pair.language)
    options = resolve_options(services.config, given, theme=pair.theme, has_language_model=not by_code).options
    evaluator = options.evaluator.model_copy(
        update={
            "expected_score": True,
            "metrics": [
                metric.model_copy(update={"weight": None}) if by_code else metric
                for metric in (options.evaluator.measured if by_code else options.evaluator.metrics)
                if metric.kind == "code" or not by_code
            ],
        }
    )
    return options.model_copy(update={"evaluator": evaluator})


async def scores(services: Judging, pair: Pair, document: str, options: ResolvedOptions, *, why: bool) -> Scores:
    """What contend's metrics give a submission."""
    services.chosen.clear()
    tasks = metric_tasks(
        services,
        options,
        submission=document,
        theme=pair.theme,
        execution_id=pair.name,
        team_id="",
        round_number=1,
    )
    metrics = [score for task in tasks for score, _ in await measure(services, task)]
    chosen = dict(services.chosen)
    if why:
        print(
            *(f"  {metric.name}: {metric.score} ({chosen.get(metric.name)}) {metric.reason}" for metric in metrics),
            sep="\n",
        )
    whole = [metric.model_copy(update={"score": chosen.get(metric.name, metric.score)}) for metric in metrics]
    model = [metric for metric in metrics if metric.name in chosen]
    code = [metric for metric in metrics if metric.name not in chosen]
    return Scores(*map(_overall, (whole, metrics, model, code)))


def _overall(metrics: Sequence[MetricScore]) -> float:
    return evaluation_of(metrics).overall or 0.0


async def compared(services: Judging, pair: Pair, documents: Mapping[str, str], options: ResolvedOptions) -> list[str]:
    """The judge's verdict on the pair, `good`, `damaged` or `tie`; then what it chose in each order."""
    chosen = []
    for first, second in (_SIDES, _SIDES[::-1]):
        task = CompareTask(
            first=first,
            second=second,
            submissions=dict(documents),
            theme=pair.theme,
            criteria=[],
            options=options.model_dump(mode="json"),
            execution_id=pair.name,
        )
        update = await ComparingNodes(services).compare_pair(task)
        chosen += [Comparison.model_validate(each) for each in update["comparisons"]]
    keys = pairwise_keys(chosen)
    verdict = max(keys, key=lambda side: keys[side]) if keys else "tie"
    return [verdict, *(each.better or "tie" for each in chosen)]


async def judge(services: Judging, pair: Pair, *, by_code: bool, why: bool) -> dict[str, str]:
    """Print the pair's row; for each measure, which side is ahead."""
    options = options_for(services, pair, by_code=by_code)
    documents = {
        side: await kept_submission(services, pair, parts)
        for side, parts in zip(_SIDES, (pair.good, pair.damaged), strict=True)
    }
    good, damaged = [await scores(services, pair, documents[side], options, why=why) for side in _SIDES]
    verdict = ["-"] if by_code else await compared(services, pair, documents, options)
    both = list(zip(good, damaged, strict=True))
    shown = [f"{one * 100:.1f}/{other * 100:.1f}" for one, other in both]
    told = f"{verdict[0]} ({', '.join(verdict[1:])})"
    print(_ROW.format(pair.name, pair.language, pair.damage, *shown, told), flush=True)
    ahead = [_SIDES[0] if one > other else _SIDES[1] if one < other else "tie" for one, other in both]
    return dict(zip((*Scores._fields, "in pairs"), (*ahead, verdict[0]), strict=True))


async def judge_all(chosen: Sequence[Pair], *, by_code: bool, why: bool) -> list[dict[str, str]]:
    with TemporaryDirectory() as folder:
        services = await asyncio.to_thread(Judging, Path(folder))
        try:
            return [await judge(services, pair, by_code=by_code, why=why) for pair in chosen]
        finally:
            await services.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--code", action="store_true", help="what code alone tells, without a model")
    parser.add_argument("--fresh", action="store_true", help="the ten pairs on which nothing is tuned")
    parser.add_argument("--pair", default="", help="only pairs whose name holds this")
    parser.add_argument("--why", action="store_true", help="each metric's reason, too")
    given = parser.parse_args()
    print(_HEAD)
    file = "judging_fresh.toml" if given.fresh else "judging.toml"
    chosen = [pair for pair in pairs(file) if given.pair in pair.name]
    rows = asyncio.run(judge_all(chosen, by_code=given.code, why=given.why))
    for measure_name in rows[0] if rows else ():
        counts = Counter(row[measure_name] for row in rows)
        print(f"{measure_name}: " + ", ".join(f"{side} {counts[side]}" for side in (*_SIDES, "tie")))


if __name__ == "__main__":
    main()
