"""A contest for tests: a workspace with two plain teams, each with a model name of its own, on loopback vendors."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

import contend
from contend.app import RunOutcome
from contend.models.evaluation import MetricScore
from contend.models.events import AnyEvent, RoundScored
from contend.models.options import RunOptions
from contend.services import Services
from contend.settings import load_settings
from contend.settings.files import resource
from fakes.children import enter_folder
from fakes.vendors import Vendors

ORCHESTRATOR = """[orchestrator]
timeout_per_team_seconds = {seconds}
min_rounds = 1
max_rounds = 2
max_concurrent_teams = {cap}
"""

DEPTH = """
[options]
depth = "{depth}"
"""

TEAM = """team_id = "{name}"
name = "{title}"
sources = ["local"]
max_iterations = 2

[models]
supervisor = "{name}"
writer = "{name}"
reviewer = "{name}"
"""


LARGE_CONTEXT = 128_000


def write_workspace(
    folder: Path,
    teams: tuple[str, ...] = ("alpha", "beta"),
    *,
    seconds: int = 600,
    cap: int = 8,
    reads: int = LARGE_CONTEXT,
    depth: str = "",
) -> None:
    """Config of a contest in which a team's model name is its id, so that faults can be aimed at one team.

    All of its teams enter, at the same time unless the depth says otherwise. Every model reads so many tokens.
    """
    (folder / "config" / "teams").mkdir(parents=True, exist_ok=True)
    entries = "".join(f'\n[[orchestrator.teams]]\nconfig = "config/teams/{name}.toml"\n' for name in teams)
    text = ORCHESTRATOR.format(seconds=seconds, cap=cap) + entries
    options = DEPTH.format(depth=depth or ("deep" if len(teams) > 3 else "standard"))
    (folder / "config" / "orchestrator.toml").write_text(text + options, "utf-8")
    models = resource("config/models.toml").read_text("utf-8").replace("[context]", f'[context]\n"*" = {reads}')
    (folder / "config" / "models.toml").write_text(models, "utf-8")
    for name in teams:
        path = folder / "config" / "teams" / f"{name}.toml"
        path.write_text(TEAM.format(name=name, title=name.title()), "utf-8")


def judge_apart(workspace: Path) -> None:
    """Each metric is asked on its own, and so are doubtful citations: a prompt of one's own speaks of one metric."""
    for name in ("metric.md.j2", "metric.ja.md.j2"):
        own = workspace / "prompts" / "evaluator" / name
        own.parent.mkdir(parents=True, exist_ok=True)
        shipped = resource(f"prompts/evaluator/{name}").read_text("utf-8")
        own.write_text(f"{shipped}\nThis workspace's own.\n", "utf-8")  # an unchanged copy is nobody's


@dataclass
class Contest:
    """Runs on one workspace; each call opens services of its own, as a new process would."""

    workspace: Path
    documents: Path
    base_url: str | None
    redis_url: str | None = None
    defaults: Mapping[str, object] = field(default_factory=dict)
    """Options of each run that does not say otherwise."""
    events: list[AnyEvent] = field(default_factory=list)

    def services(self) -> Services:
        return Services(
            load_settings(workspace=self.workspace, OPENAI_BASE_URL=self.base_url, redis_url=self.redis_url)
        )

    def options(self, **values: object) -> RunOptions:
        return RunOptions.model_validate(
            {"documents": [str(self.documents)], "sources": ["local"], **self.defaults, **values}
        )

    async def run(self, theme: str, *, thread_id: str | None = None, **options: object) -> RunOutcome:
        services = self.services()
        try:
            return await contend.run(
                theme,
                thread_id=thread_id,
                options=self.options(**options),
                services=services,
                on_event=self.events.append,
            )
        finally:
            await services.aclose()

    async def resume(
        self,
        thread_id: str,
        decision: object = None,
        *,
        answers: Mapping[str, object] | None = None,
        force: bool = False,
    ) -> RunOutcome:
        services = self.services()
        try:
            return await contend.resume(
                thread_id,
                decision,
                answers=answers,
                force=force,
                services=services,
                on_event=self.events.append,
            )
        finally:
            await services.aclose()


class Finished(NamedTuple):
    """A contest that was played to its end, with the vendors that it asked."""

    contest: Contest
    vendors: Vendors
    outcome: RunOutcome


@contextmanager
def finished_contest(
    folder: Path, prepare: Callable[[Path, Vendors], Contest], theme: str, **options: object
) -> Iterator[Finished]:
    """For the tests of a file that read what one contest leaves. `prepare`: the contest of a workspace."""
    with Vendors() as vendors:
        contest = prepare(folder / "workspace", vendors)
        with pytest.MonkeyPatch.context() as patch:
            enter_folder(folder, patch)
            outcome = asyncio.run(contest.run(theme, **options))
        yield Finished(contest, vendors, outcome)


def rounds_of(contest: Contest) -> list[RoundScored]:
    return [event for event in contest.events if isinstance(event, RoundScored)]


def metrics_of(event: RoundScored) -> dict[str, MetricScore]:
    return {metric.name: metric for metric in event.metrics}


def preferring(vendors: Vendors, *, merged: bool) -> None:
    """Judges prefer one report in both orders: the merged one is known by its words."""
    for place in ("first", "second"):
        choice = place if merged else {"first": "second", "second": "first"}[place]
        pattern = rf"(?s)# {place.title()} report.{{0,200}}Merged"
        vendors.reply(json.dumps({"reason": "It is.", "choice": choice}), prompt="pairwise/compare", match=pattern)
