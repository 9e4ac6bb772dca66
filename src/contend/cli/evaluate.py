"""A text's scores on the terminal."""

import asyncio
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from contend.cli.screen import say_json, show
from contend.cli.text import plain, usage_text
from contend.errors import InputError
from contend.models.evaluation import EvaluationResult, MetricScore
from contend.models.options import RunOptions
from contend.models.task import RunUsage
from contend.scoring import evaluate
from contend.services import Services
from contend.settings import load_settings
from contend.text import shown_score


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
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("Metric", no_wrap=True)
    table.add_column("Score", justify="right", no_wrap=True)
    table.add_column("Reason", overflow="fold")
    for metric in result.metrics:
        table.add_row(
            metric.name,
            shown_score(metric.score) if metric.applies else "–",
            Text(plain(metric.reason) + _on_quotes(metric)),
        )
    overall = Text(f"Overall {shown_score(result.overall)}", style="bold")
    show(Group(table, "", overall, Text(usage_text(usage), style="dim")))


def _on_quotes(metric: MetricScore) -> str:
    return f" (quotes that are not in the text, and were dropped: {metric.dropped})" if metric.dropped else ""


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
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 text: save it as UTF-8") from error
