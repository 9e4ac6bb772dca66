"""Every command with its arguments and options. What does the work is imported when the command runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from contend.cli import flags
from contend.cli.words import speak

if TYPE_CHECKING:
    from contend.models.options import RunOptions


@flags.with_json_lines
@flags.with_run_options
def run(
    theme: Annotated[str, typer.Argument(metavar="THEME", help="The question, 1 to 8,000 characters.")],
    *,
    options: "RunOptions",
    thread: Annotated[str | None, typer.Option(metavar="ID", help="The run's thread. Default: a new one.")] = None,
    replay: flags.REPLAY = None,
    out: flags.OUT = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen and might cost; spend and write nothing.")
    ] = False,
) -> None:
    """Let teams compete for the best answer to THEME.

    Exit codes: 0 done, 1 done but partial, 2 no report or bad input,
    3 waiting for a person, 130 stopped: `contend resume` goes on.
    """
    from contend.cli.run import dry_run_theme, run_theme

    if dry_run:
        dry_run_theme(theme, options, replay=replay, out=out)
        return
    raise typer.Exit(run_theme(theme, options, thread=thread, replay=replay, out=out))


@flags.with_json_lines
@flags.with_run_options
def batch(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.jsonl", help="A JSON object with `theme`, or a question in quotes, on each line."),
    ],
    *,
    options: "RunOptions",
    results: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where result lines go. Default: FILE.results.jsonl beside FILE."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, metavar="N", help="Runs at the same time.")] = 2,
    server: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Queue the runs on a `contend serve` elsewhere; --jobs is its own."),
    ] = None,
    token: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="That server's token (env CONTEND_SERVER_TOKEN).")
    ] = None,
    replay: flags.REPLAY = None,
) -> None:
    """Answer each question of FILE.jsonl by a run of its own; the same command again goes on where it stopped.

    Limits hold for each run. Exit codes: 0 all done, 1 some partial or failed,
    2 no report or bad input, 3 one waits for a person, 130 stopped.
    """
    from contend.cli.batch import run_batch

    code = run_batch(file, options, out=results, jobs=jobs, server=server, token=token, replay=replay)
    raise typer.Exit(code)


@flags.with_json_lines
def resume(
    thread: flags.THREAD,
    *,
    approve: Annotated[bool, typer.Option("--approve", help="Approve the open question, or all of them.")] = False,
    edit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Answer it with edited values: a JSON or TOML file.")
    ] = None,
    reject: Annotated[str | None, typer.Option(metavar="WHY", help="Reject it with a reason.")] = None,
    answer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUESTION=…",
            help="Where several wait: TEAM or ID=approve, =reject:WHY or =edit:FILE; may be repeated.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Go on although config or prompts changed since the run began.")
    ] = False,
    out: flags.OUT = None,
) -> None:
    """Go on with THREAD's run after a crash, a stop or a question; calls that were finished are not made again."""
    from contend.cli.options import answers_of
    from contend.cli.run import resume_thread

    answers = answers_of(approve=approve, edit=edit, reject=reject, answer=answer or [])
    raise typer.Exit(resume_thread(thread, answers, force=force, out=out))


@flags.with_json
def status(thread: flags.THREAD) -> None:
    """Show where THREAD's run stands, team by team."""
    from contend.cli.runs import show_status

    show_status(thread)


@flags.with_json
def runs(
    *,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most so many, the newest first.")] = 20,
) -> None:
    """List the runs of this workspace."""
    from contend.cli.runs import show_runs

    show_runs(limit)


@flags.with_json
def leaderboard(
    thread: flags.LATEST_THREAD = "latest",
) -> None:
    """Show the ranking of a run and each round's score."""
    from contend.cli.runs import show_leaderboard

    show_leaderboard(thread)


@flags.with_json
def standings(
    dataset: Annotated[str, typer.Argument(metavar="[DATASET]", help="The dataset of the runs.")] = "default",
) -> None:
    """Rate the teams over all finished runs of DATASET, by who came before whom."""
    from contend.cli.runs import show_standings

    show_standings(dataset)


@flags.with_json
def compare(
    one: Annotated[str, typer.Argument(metavar="A", help=flags.THREAD_HELP, autocompletion=flags.known_threads)],
    other: Annotated[str, typer.Argument(metavar="B", help="The other one.", autocompletion=flags.known_threads)],
) -> None:
    """Show the runs of threads A and B side by side: scores per round, criteria met, cost, sources."""
    from contend.cli.compare import compare_runs

    compare_runs(one, other)


@flags.in_workspace
def report(
    thread: flags.THREAD,
    *,
    kind: Annotated[
        Literal["md", "html", "json", "bibtex", "csv", "pdf", "docx"],
        typer.Option("--format", help="What to write; `csv` holds the scores."),
    ] = "md",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it there instead of to standard output.")
    ] = None,
) -> None:
    """Print the report of THREAD's run."""
    from contend.cli.runs import export_report

    export_report(thread, kind=kind, out=out)


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The workspace's folder.")] = Path(),
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
) -> None:
    """Write a workspace to edit: config, prompts and an example of `.env`. Nothing that is there is overwritten."""
    from contend.cli.config import write_workspace

    write_workspace(folder, force=force)


@flags.with_json
def delete(thread: flags.THREAD) -> None:
    """Delete all that is kept of THREAD: checkpoints, record, texts, report. What it taught stays in the playbook."""
    from contend.cli.runs import delete_thread

    delete_thread(thread)


@flags.with_json
def evaluate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A text, such as a report in Markdown.")],
    *,
    theme: Annotated[str, typer.Option(metavar="THEME", help="The question that it answers.")],
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The judges' model.")] = None,
) -> None:
    """Score any text as a submission would be scored. Exit code 1 if a metric could not be scored."""
    from contend.cli.evaluate import evaluate_file

    speak(theme)
    raise typer.Exit(evaluate_file(file, theme, model=model))


@flags.with_json
def learn(
    dataset: flags.DATASET,
    *,
    source: Annotated[
        str, typer.Option("--from", metavar="THREAD|FILE", help="A run, or a JSONL file of questions with answers.")
    ],
    kind: flags.FORM = "text",
    validation: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Questions to test on; left out: one in five of FILE.")
    ] = None,
    limit: flags.LIMIT = None,
) -> None:
    """Learn into DATASET without a contest: from a run, or from labelled questions, with accuracy before and after."""
    from contend.cli.learn import learn_dataset

    learn_dataset(dataset, source, form=kind, validation=validation, limit=limit)


@flags.with_json
def doctor() -> None:
    """Check keys, endpoint, sources, workspace, config and prompts, and say what to do.

    Exit code 2 if `contend run` can't do its job.
    """
    from contend.cli.doctor import show_checkup

    raise typer.Exit(show_checkup())


@flags.with_json
def config(
    *,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Show the file behind each prompt and its variables.")
    ] = False,
) -> None:
    """Show every value in effect and where it came from; secrets stay hidden."""
    from contend.cli.config import show_config, show_prompts

    if prompts:
        show_prompts()
    else:
        show_config()


@flags.in_workspace
def serve(
    *,
    port: Annotated[int, typer.Option(min=1, max=65_535, metavar="N", help="The port to listen on.")] = 2024,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    expose: Annotated[
        bool, typer.Option("--expose", help="Listen beyond this machine; needs CONTEND_SERVER_TOKEN.")
    ] = False,
) -> None:
    """Open the graphs in LangGraph's development server, for Studio, the SDK and agent-chat-ui."""
    from contend.cli.serve import serve_graphs

    serve_graphs(host, port, expose=expose)


@flags.in_workspace
def open_page(
    thread: Annotated[
        str | None, typer.Argument(metavar="[THREAD]", help=flags.THREAD_HELP, autocompletion=flags.known_threads)
    ] = None,
    *,
    port: Annotated[int, typer.Option(min=1, max=65_535, metavar="N", help="The server's port.")] = 2024,
) -> None:
    """Open the live page of a running `contend serve`, at THREAD's run where one is named."""
    from contend.cli.serve import open_live_page

    open_live_page(thread, port)
