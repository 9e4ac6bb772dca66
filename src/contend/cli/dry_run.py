"""What a run would do and might cost, before anything is spent."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from rich.console import Group
from rich.text import Text

from contend.app import DryRun, dry_run
from contend.cli.asking import checked_out
from contend.cli.screen import advise, facts_table, say_json, show
from contend.cli.words import plain, said_models
from contend.estimate import Estimate
from contend.llm.budget import Limits
from contend.models.options import RunOptions
from contend.settings import load_settings


def show_dry_run(
    theme: str, options: RunOptions, *, workspace: Path | None, replay: Path | None, as_json: bool, out: Path | None
) -> None:
    """Check what a run would check and print what it would do.

    Raises:
        InputError: the run would be refused.
    """
    settings = load_settings(workspace=workspace, replay=replay)
    checked_out(out)
    planned = asyncio.run(dry_run(theme, options=options, settings=settings))
    if as_json:
        say_json(_as_json(planned))
        return
    title = Text(plain(planned.opening.theme), style="bold")
    done = Text("Dry run: nothing was spent or written.", style="cyan")
    show(Group(title, done, "", facts_table(_facts(planned)), ""))
    advise("the same command without --dry-run")


def _facts(planned: DryRun) -> Iterator[tuple[str, str]]:
    opening, options = planned.opening, planned.opening.options
    yield "Depth", f"{options.depth}, length {options.length}"
    yield "Teams", ", ".join(team.name for team in opening.teams)
    yield "Rounds", f"{options.min_rounds} to {options.max_rounds}"
    yield "Sources", ", ".join(opening.sources)
    for name, reason in opening.sources_off.items():
        yield "Off", f"{name}: {reason}"
    for line in opening.left_out:
        yield "Left out", line
    yield "Model", said_models(options.models_told)
    yield "Playbook", options.dataset + ("" if options.learn else " (read only)")
    if options.recorded is None:
        yield from _costs(planned.estimate)
    else:
        yield "Cost", "nothing: no model is asked"
    if limits := Limits.of(options).given():
        yield "Limits", ", ".join(f"{name} {limit:,g}" for name, limit in limits.items())
    for warning in opening.warnings:
        yield "Warning", warning


def _costs(estimate: Estimate) -> Iterator[tuple[str, str]]:
    if not estimate.calls[1]:
        yield "Cost", "nothing: no model calls"
        return
    yield "Calls", "{:,} to {:,} model calls".format(*estimate.calls)
    yield "Tokens", "roughly {:,.0f} to {:,.0f}".format(*map(_rough, estimate.tokens))
    if estimate.usd is None:
        yield "Cost", "unknown: add the model's price under [prices] in config/models.toml"
    else:
        yield "Cost", "roughly ${:,.2f} to ${:,.2f}".format(*estimate.usd)


def _rough(number: float) -> float:
    """Two digits say all that an estimate knows."""
    return float(f"{number:.1e}")


def _as_json(planned: DryRun) -> dict[str, object]:
    opening = planned.opening
    return {
        "theme": opening.theme,
        "teams": [team.team_id for team in opening.teams],
        "sources": opening.sources,
        "sources_off": opening.sources_off,
        "left_out": opening.left_out,
        "warnings": opening.warnings,
        "options": opening.options.model_dump(mode="json"),
        **planned.estimate._asdict(),
    }
