"""`contend doctor`."""

import typer

from contend.cli.options import JSON, WORKSPACE


def doctor(*, as_json: JSON = False, workspace: WORKSPACE = None) -> None:
    """Check keys, endpoint, sources, workspace, config and prompts, and say what to do.

    Exit code 2 if `contend run` can't do its job.
    """
    from contend.cli.checkup import show_checkup

    raise typer.Exit(show_checkup(workspace=workspace, as_json=as_json))
