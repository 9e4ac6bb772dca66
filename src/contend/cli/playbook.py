"""The commands of `contend playbook`."""

from typing import Annotated

import typer

from contend.cli.commands import DATASET, JSON, WORKSPACE

app = typer.Typer(help="What the runs of a dataset taught.")


@app.command()
def show(
    dataset: DATASET,
    *,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """Show what the runs of DATASET taught."""
    from contend.cli.lessons import show_playbook

    show_playbook(dataset, workspace=workspace, as_json=as_json)


@app.command()
def search(
    dataset: DATASET,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the lessons should be about.")],
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many, the best first.")] = 8,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """Find the lessons of DATASET that a run on QUERY would start with."""
    from contend.cli.lessons import search_playbook

    search_playbook(dataset, query, limit=limit, workspace=workspace, as_json=as_json)


@app.command()
def history(
    dataset: DATASET,
    *,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """List the versions of DATASET's playbook."""
    from contend.cli.lessons import show_history

    show_history(dataset, workspace=workspace, as_json=as_json)


@app.command()
def rollback(
    dataset: DATASET,
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="As `contend playbook history` lists it.")],
    *,
    workspace: WORKSPACE = None,
) -> None:
    """Make the bullets of an old VERSION the newest version; a damaged file is kept beside it."""
    from contend.cli.lessons import roll_back

    roll_back(dataset, version, workspace=workspace)
