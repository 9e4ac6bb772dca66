"""A text's scores on the terminal."""

import asyncio
from pathlib import Path

from rich.console import Group
from rich.text import Text

from contend.cli.screen import plain_table, say_json, show
from contend.cli.text import plain, score_text, usage_text
from contend.cli.words import tr
from contend.errors import InputError
from contend.models.evaluation import EvaluationResult, MetricScore
from contend.models.options import RunOptions
from contend.models.task import RunUsage
from contend.scoring import evaluate
from contend.services import Services
from contend.settings import load_settings


def evaluate_file(file: Path, theme: str, *, model: str | None, workspace: Path | None, as_json: bool) -> int:
    """Print what each metric says of a file; 1 if a metric that applies failed.

    Raises:
        InputError: the file or the theme is not usable.
    """
    result, usage = asyncio.run(_evaluated(_text(file), theme, model, workspace))
    if as_json:
        say_json({**result.model_dump(mode="json"), "usage": usage.model_dump(mode="json")})
    else:
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


async def _evaluated(
    text: str, theme: str, model: str | None, workspace: Path | None
) -> tuple[EvaluationResult, RunUsage]:
    services = await asyncio.to_thread(lambda: Services(load_settings(workspace=workspace)))
    try:
        return await evaluate(text, theme, services=services, options=RunOptions(model=model))
    finally:
        await services.aclose()


def _text(file: Path) -> str:
    try:
        return file.expanduser().read_text("utf-8")
    except OSError as error:
        raise InputError(tr("{file}: cannot be read: {why}", file=file, why=error.strerror)) from error
    except UnicodeDecodeError as error:
        raise InputError(tr("{file}: not UTF-8 text: save it as UTF-8", file=file)) from error
