"""Commands that only read: status, runs, leaderboard, report, playbook, config."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from contend.cli.options import JSON, THREAD, WORKSPACE


def status(thread: THREAD, *, as_json: JSON = False, workspace: WORKSPACE = None) -> None:
    """Show where THREAD's run stands, team by team."""
    from contend.cli.history import show_status

    show_status(thread, workspace=workspace, as_json=as_json)


def runs(
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many, the newest first.")] = 20,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """List the runs of this workspace."""
    from contend.cli.history import show_runs

    show_runs(limit, workspace=workspace, as_json=as_json)


def leaderboard(
    thread: Annotated[
        str | None, typer.Argument(metavar="[THREAD]", help="The run's thread. Default: the latest run.")
    ] = None,
    *,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """Show the ranking of a run and each round's score."""
    from contend.cli.history import show_leaderboard

    show_leaderboard(thread, workspace=workspace, as_json=as_json)


def report(
    thread: THREAD,
    *,
    kind: Annotated[Literal["md", "html", "json", "bibtex"], typer.Option("--format", help="What to write.")] = "md",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it there instead of to standard output.")
    ] = None,
    workspace: WORKSPACE = None,
) -> None:
    """Print the report of THREAD's run."""
    from contend.cli.exporting import export_report

    export_report(thread, kind=kind, out=out, workspace=workspace)


def playbook(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The playbook's dataset.")],
    *,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """Show what the runs of DATASET taught."""
    from contend.cli.lessons import show_playbook

    show_playbook(dataset, workspace=workspace, as_json=as_json)


def search(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The playbook's dataset.")],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the lessons should be about.")],
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many, the best first.")] = 8,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """Find the lessons of DATASET that a run on QUERY would start with."""
    from contend.cli.lessons import search_playbook

    search_playbook(dataset, query, limit=limit, workspace=workspace, as_json=as_json)


def history(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The playbook's dataset.")],
    *,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """List the versions of DATASET's playbook."""
    from contend.cli.lessons import show_history

    show_history(dataset, workspace=workspace, as_json=as_json)


def rollback(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The playbook's dataset.")],
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="As `contend playbook history` lists it.")],
    *,
    workspace: WORKSPACE = None,
) -> None:
    """Make the bullets of an old VERSION the newest version; a damaged file is kept beside it."""
    from contend.cli.lessons import roll_back

    roll_back(dataset, version, workspace=workspace)


def config(
    *,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Show the file behind each prompt and its variables.")
    ] = False,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """Show every value in effect and where it came from; secrets stay hidden."""
    from contend.cli.effective import show_config, show_prompts

    if prompts:
        show_prompts(workspace=workspace, as_json=as_json)
    else:
        show_config(workspace=workspace, as_json=as_json)
