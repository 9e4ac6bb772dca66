"""Commands beside the runs: init, evaluate, delete."""

from pathlib import Path
from typing import Annotated

import typer

from contend.cli.options import JSON, THREAD, WORKSPACE


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The workspace's folder.")] = Path(),
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
) -> None:
    """Write a workspace to edit: config, prompts and an example of `.env`. Nothing that is there is overwritten."""
    from contend.cli.starting import write_workspace

    write_workspace(folder, force=force)


def delete(thread: THREAD, *, as_json: JSON = False, workspace: WORKSPACE = None) -> None:
    """Delete all that is kept of THREAD: checkpoints, record, texts, report. What it taught stays in the playbook."""
    from contend.cli.removing import delete_thread

    delete_thread(thread, workspace=workspace, as_json=as_json)


def evaluate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A text, such as a report in Markdown.")],
    *,
    theme: Annotated[str, typer.Option("--theme", metavar="THEME", help="The question that it answers.")],
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="The judges' model.")] = None,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """Score any text as a submission would be scored. Exit code 1 if a metric could not be scored."""
    from contend.cli.evaluating import evaluate_file

    raise typer.Exit(evaluate_file(file, theme, model=model, workspace=workspace, as_json=as_json))
