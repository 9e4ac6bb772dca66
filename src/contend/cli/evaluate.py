"""A text's scores on the terminal."""

import asyncio
from pathlib import Path

from rich.console import Group
from rich.text import Text

from contend.cli.invocation import COMMAND
from contend.cli.options import file_text
from contend.cli.screen import plain_table, print_json, show
from contend.cli.text import plain, score_text, usage_text
from contend.cli.words import tr
from contend.models.evaluation import EvaluationResult, MetricScore
from contend.models.options import RunOptions
from contend.models.task import RunUsage
from contend.scoring import evaluate
from contend.services import open_services


def evaluate_file(file: Path, theme: str, *, model: str | None) -> int:
    """Print what each metric says of a file; 1 if a metric that applies failed.

    Raises:
        InputError: the file or the theme is not usable.
    """
    result, usage = asyncio.run(_evaluate(file_text(file), theme, model))
    if not print_json({**result.model_dump(mode="json"), "usage": usage}):
        _show(result, usage)
    return int(any(metric.score is None and metric.applies and metric.weight > 0 for metric in result.metrics))


def _show(result: EvaluationResult, usage: RunUsage) -> None:
    table = plain_table("Metric", "Score", "Reason", right={"Score"}, fold={"Reason"})
    for metric in result.metrics:
        table.add_row(
            metric.name,
            score_text(metric.score) if metric.applies else "–",
            Text(plain(metric.reason) + _on_quotes(metric)),
        )
    overall = Text(tr("Overall {score}", score=score_text(result.overall)), style="bold")
    show(Group(table, "", overall, Text(usage_text(usage), style="dim")))


def _on_quotes(metric: MetricScore) -> str:
    if not metric.dropped:
        return ""
    return " " + tr("(quotes that are not in the text, and were dropped: {count})", count=metric.dropped)


async def _evaluate(text: str, theme: str, model: str | None) -> tuple[EvaluationResult, RunUsage]:
    async with open_services(COMMAND.settings()) as services:
        return await evaluate(text, theme, services=services, options=RunOptions(model=model))
