"""What a run would do and might cost, before anything is spent."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Group
from rich.text import Text

from contend.app import DryRun, dry_run
from contend.cli.asking import checked_out
from contend.cli.screen import advise, facts_table, say_json, show
from contend.cli.words import plain, said_models
from contend.llm.budget import Limits, cost_usd
from contend.llm.context import COMPACT_PASSAGE_TOKENS
from contend.models.options import RunOptions
from contend.settings import EXTRACTIVE, ModelsConfig, load_config, load_settings

_LEAST_INPUT, _LEAST_OUTPUT = 800, 150
_AROUND_PASSAGES = 2000
"""Tokens of a long call beyond passages and rounds' history: instructions, the best draft."""


class Estimate(NamedTuple):
    """Least and most. Money in US dollars; None where a model's price is not known."""

    calls: tuple[int, int]
    tokens: tuple[int, int]
    usd: tuple[float, float] | None


def show_dry_run(theme: str, options: RunOptions, *, workspace: Path | None, as_json: bool, out: Path | None) -> None:
    """Check what a run would check and print what it would do.

    Raises:
        InputError: the run would be refused.
    """
    settings = load_settings(workspace=workspace)
    checked_out(out)
    planned = asyncio.run(dry_run(theme, options=options, settings=settings))
    estimate = estimated(planned, load_config(settings.folder).models)
    if as_json:
        say_json(_as_json(planned, estimate))
        return
    title = Text(plain(planned.opening.theme), style="bold")
    done = Text("Dry run: nothing was spent or written.", style="cyan")
    show(Group(title, done, "", facts_table(_facts(planned, estimate)), ""))
    advise("the same command without --dry-run")


def estimated(planned: DryRun, models: ModelsConfig) -> Estimate:
    """A rough range: the least as if all calls were short, the most as if all were as long as they may be."""
    options = planned.opening.options
    caps = models.max_output_tokens.values()
    longest_input = COMPACT_PASSAGE_TOKENS + options.round_prompt.estimated_prompt_tokens + _AROUND_PASSAGES
    longest_output = sum(caps) // max(1, len(caps))
    least, most = planned.least_calls, planned.most_calls
    names = {*options.models.values(), *(name for team in planned.opening.teams for name in team.models.values())}
    prices = [models.prices.get(name) for name in names - {EXTRACTIVE}]
    low = [cost_usd(price, input_tokens=_LEAST_INPUT, output_tokens=_LEAST_OUTPUT) for price in prices]
    high = [cost_usd(price, input_tokens=longest_input, output_tokens=longest_output) for price in prices]
    usd = None
    if None not in low:
        usd = (least * min(filter(None, low), default=0.0), most * max(filter(None, high), default=0.0))
    tokens = (least * (_LEAST_INPUT + _LEAST_OUTPUT), most * (longest_input + longest_output))
    return Estimate((least, most), tokens, usd)


def _facts(planned: DryRun, estimate: Estimate) -> Iterator[tuple[str, str]]:
    opening, options = planned.opening, planned.opening.options
    yield "Teams", ", ".join(team.name for team in opening.teams)
    yield "Rounds", f"{options.min_rounds} to {options.max_rounds}"
    yield "Sources", ", ".join(opening.sources)
    for name, reason in opening.sources_off.items():
        yield "Off", f"{name}: {reason}"
    for line in opening.left_out:
        yield "Left out", line
    yield "Model", said_models(options.models)
    yield "Playbook", options.dataset + ("" if options.learn else " (read only)")
    yield from _costs(estimate)
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


def _as_json(planned: DryRun, estimate: Estimate) -> dict[str, object]:
    opening = planned.opening
    return {
        "theme": opening.theme,
        "teams": [team.team_id for team in opening.teams],
        "sources": opening.sources,
        "sources_off": opening.sources_off,
        "left_out": opening.left_out,
        "warnings": opening.warnings,
        "options": opening.options.model_dump(mode="json"),
        **estimate._asdict(),
    }
