"""The commands of `contend playbook`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from contend.cli.flags import DATASET, FORM, LIMIT, in_workspace, with_json

app = typer.Typer(help="What the runs of a dataset taught.")


@app.command()
@with_json
def show(
    dataset: DATASET,
) -> None:
    """Show what the runs of DATASET taught."""
    from contend.cli.lessons import show_playbook

    show_playbook(dataset)


@app.command()
@with_json
def search(
    dataset: DATASET,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the lessons should be about.")],
    *,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most so many, the best first.")] = 8,
) -> None:
    """Find the lessons of DATASET that a run on QUERY would start with."""
    from contend.cli.lessons import search_playbook

    search_playbook(dataset, query, limit=limit)


@app.command()
@with_json
def history(
    dataset: DATASET,
) -> None:
    """List the versions of DATASET's playbook."""
    from contend.cli.lessons import show_history

    show_history(dataset)


@app.command()
@in_workspace
def rollback(
    dataset: DATASET,
    version: Annotated[int, typer.Argument(metavar="VERSION", min=0, help="As `contend playbook history` lists it.")],
) -> None:
    """Make the lessons of an old VERSION the newest version; a damaged file is kept beside it."""
    from contend.cli.lessons import roll_back

    roll_back(dataset, version)


BULLET = Annotated[str, typer.Argument(metavar="ID", help="A lesson's id, or its beginning.")]
SECTION = Annotated[str | None, typer.Option(metavar="NAME", help="The section it stands in.")]
EXAMPLE = Annotated[str | None, typer.Option(metavar="TEXT", help="One short example of it.")]
ALWAYS = Annotated[bool | None, typer.Option("--always/--where-it-fits", help="Whether it applies to every question.")]


@app.command()
@with_json
def diff(
    dataset: DATASET,
    first: Annotated[int, typer.Argument(metavar="FROM", min=0, help="A version; 0 is the empty playbook.")],
    second: Annotated[int | None, typer.Argument(metavar="[TO]", min=0, help="Left out: the newest.")] = None,
) -> None:
    """Show what changed between two versions of DATASET's playbook."""
    from contend.cli.lessons import show_diff

    show_diff(dataset, first, second)


@app.command()
@in_workspace
def add(
    dataset: DATASET,
    content: Annotated[str, typer.Argument(metavar="LESSON", help="When it applies, and what to do then.")],
    *,
    section: SECTION = None,
    example: EXAMPLE = None,
    always: ALWAYS = None,
) -> None:
    """Add a lesson of your own; it is active at once."""
    from contend.cli.lessons import add_lesson

    add_lesson(dataset, content=content, section=section, example=example, always=always)


@app.command()
@in_workspace
def edit(
    dataset: DATASET,
    bullet: BULLET,
    content: Annotated[str | None, typer.Argument(metavar="[LESSON]", help="Its new words.")] = None,
    *,
    section: SECTION = None,
    example: EXAMPLE = None,
    always: ALWAYS = None,
) -> None:
    """Change a lesson. Other words for the same keep its votes; another meaning begins without any."""
    from contend.cli.lessons import edit_lesson

    edit_lesson(dataset, bullet, content=content, section=section, example=example, always=always)


@app.command()
@in_workspace
def rm(
    dataset: DATASET,
    bullets: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids of lessons, or their beginnings.")],
) -> None:
    """Remove lessons; `restore` brings them back."""
    from contend.cli.lessons import remove_lessons

    remove_lessons(dataset, bullets)


@app.command()
@in_workspace
def restore(
    dataset: DATASET,
    bullet: Annotated[str | None, typer.Argument(metavar="[ID]", help="Left out: list what can be restored.")] = None,
) -> None:
    """Bring back a lesson that was removed or retired."""
    from contend.cli.lessons import restore_lesson

    restore_lesson(dataset, bullet)


@app.command("import")
@in_workspace
def import_(
    dataset: DATASET,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A Markdown list, JSON, or ACE's text.")],
) -> None:
    """Add the lessons of FILE. Of a lesson the content is enough; what stands there already is skipped."""
    from contend.cli.lessons import import_lessons

    import_lessons(dataset, file)


@app.command()
@in_workspace
def export(
    dataset: DATASET,
    *,
    kind: Annotated[Literal["json", "ace", "markdown"], typer.Option("--format", help="What to write.")] = "json",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Left out: the terminal.")] = None,
) -> None:
    """Write DATASET's playbook for another machine or tool."""
    from contend.cli.lessons import export_lessons

    export_lessons(dataset, kind, out=out)


@app.command()
@with_json
def ab(
    dataset: DATASET,
    *,
    labels: Annotated[Path, typer.Option(metavar="FILE", help="Labelled questions, one JSON a line.")],
    versions: Annotated[str, typer.Option(metavar="A,B", help="Two versions; 0 is no lessons.")],
    kind: FORM = "text",
    limit: LIMIT = None,
) -> None:
    """Test whether a playbook helps: the same questions with version A, B, A and B, and A against A as a control."""
    from contend.cli.learn import compare_versions

    first, _, second = versions.partition(",")
    if not (first.strip().isdigit() and second.strip().isdigit()):
        raise typer.BadParameter(f"--versions {versions!r}: give two numbers such as 0,3")
    pair = int(first), int(second)
    compare_versions(dataset, labels, pair, form=kind, limit=limit)
