"""`contend run` and `contend resume`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from contend.cli.loading import without_collection
from contend.cli.options import JSON_LINES, OUT, THREAD, WORKSPACE

_LIMITS = "Limits"
_MODELS = "Models and learning"


def run(
    theme: Annotated[str, typer.Argument(metavar="THEME", help="The question, 1 to 8,000 characters.")],
    *,
    docs: Annotated[
        list[Path] | None,
        typer.Option("--docs", metavar="PATH", help="A file or folder of your own documents; may be repeated."),
    ] = None,
    instructions: Annotated[
        Path | None, typer.Option("--instructions", metavar="FILE", help="A text file with further instructions.")
    ] = None,
    team: Annotated[
        list[str] | None,
        typer.Option("--team", metavar="NAME", help="A team to enter; may be repeated. Default: as --depth says."),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="NAME", help="A source to use; may be repeated. Default: all that are on."),
    ] = None,
    depth: Annotated[
        Literal["quick", "standard", "deep"] | None,
        typer.Option(
            "--depth", help="One team and round, three teams and up to two rounds (default), or all and up to three."
        ),
    ] = None,
    length: Annotated[
        Literal["brief", "standard", "long"] | None,
        typer.Option("--length", help="About 500, 1,500 or 3,500 words. Default: standard, long for deep."),
    ] = None,
    rounds: Annotated[
        str | None, typer.Option("--rounds", metavar="MIN:MAX", help="Rounds per team, 1 to 10; `2` for exactly two.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="NAME", help="The playbook to start from and to learn into.")
    ] = None,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="The run's thread. Default: a new one.")
    ] = None,
    language: Annotated[
        Literal["auto", "en", "ja"] | None, typer.Option("--language", help="Language of prompts and report.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", rich_help_panel=_MODELS, help="Model of every role."),
    ] = None,
    approve: Annotated[
        list[str] | None,
        typer.Option(
            "--approve", metavar="WHAT", help="Wait for a person before it: plan, report, playbook; may be repeated."
        ),
    ] = None,
    no_synthesis: Annotated[
        bool,
        typer.Option("--no-synthesis", help="Publish the winner's report; no editor merges the best parts."),
    ] = False,
    no_learn: Annotated[
        bool, typer.Option("--no-learn", rich_help_panel=_MODELS, help="Write nothing into the playbook.")
    ] = False,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="N", rich_help_panel=_LIMITS, help="Tokens of the whole run.")
    ] = None,
    max_usd: Annotated[
        float | None,
        typer.Option("--max-usd", metavar="N", rich_help_panel=_LIMITS, help="Money of the whole run; needs prices."),
    ] = None,
    max_minutes: Annotated[
        float | None,
        typer.Option("--max-minutes", metavar="N", rich_help_panel=_LIMITS, help="Active minutes of the whole run."),
    ] = None,
    max_calls: Annotated[
        int | None,
        typer.Option("--max-calls", metavar="N", rich_help_panel=_LIMITS, help="Model calls of the whole run."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            metavar="FILE",
            rich_help_panel=_MODELS,
            help="Play recorded model replies; no model is asked (env CONTEND_REPLAY).",
        ),
    ] = None,
    out: OUT = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen and might cost; spend and write nothing.")
    ] = False,
    as_json: JSON_LINES = False,
    workspace: WORKSPACE = None,
) -> None:
    """Let teams compete for the best answer to THEME.

    Exit codes: 0 done, 1 done but partial, 2 no report or bad input, 3 waiting for a person, 130 stopped (go on with
    `contend resume`).
    """
    from contend.cli.asking import run_options

    options = run_options(
        docs=docs,
        instructions=instructions,
        rounds=rounds,
        teams=team,
        sources=source,
        approve=approve,
        dataset=dataset,
        language=language,
        model=model,
        max_tokens=max_tokens,
        max_usd=max_usd,
        max_minutes=max_minutes,
        max_calls=max_calls,
        depth=depth,
        length=length,
        synthesis=False if no_synthesis else None,
        learn=False if no_learn else None,
    )
    if dry_run:
        from contend.cli.dry_run import show_dry_run

        show_dry_run(theme, options, workspace=workspace, replay=replay, as_json=as_json, out=out)
        return
    with without_collection():
        from contend.cli.driving import run_theme

    raise typer.Exit(
        run_theme(theme, options, thread=thread, workspace=workspace, replay=replay, as_json=as_json, out=out)
    )


def resume(
    thread: THREAD,
    *,
    approve: Annotated[bool, typer.Option("--approve", help="Approve the open question, or all of them.")] = False,
    edit: Annotated[
        Path | None,
        typer.Option("--edit", metavar="FILE", help="Answer it with edited values: a JSON or TOML file."),
    ] = None,
    reject: Annotated[str | None, typer.Option("--reject", metavar="WHY", help="Reject it with a reason.")] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            "--answer",
            metavar="QUESTION=…",
            help="Where several wait: TEAM or ID=approve, =reject:WHY or =edit:FILE; may be repeated.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Go on although config or prompts changed since the run began.")
    ] = False,
    out: OUT = None,
    as_json: JSON_LINES = False,
    workspace: WORKSPACE = None,
) -> None:
    """Go on with THREAD's run after a crash, a stop or a question; calls that were finished are not made again."""
    from contend.cli.answering import answers_of

    with without_collection():
        from contend.cli.driving import resume_thread

    answers = answers_of(approve=approve, edit=edit, reject=reject, answer=answer or [])
    raise typer.Exit(resume_thread(thread, answers, force=force, workspace=workspace, as_json=as_json, out=out))
