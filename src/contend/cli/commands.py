"""Every command with its arguments and options. What does the work is imported when the command runs."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Literal

import typer

from contend.cli.words import speak, speak_english

GIVEN_WORKSPACE: ContextVar[Path | None] = ContextVar("given_workspace", default=None)
"""The workspace that the command was given, so that the commands it advises can repeat it."""


def _given_or_global(context: typer.Context, workspace: Path | None) -> Path | None:
    """A command's own `--workspace`, else the one given before the command."""
    folder: Path | None = workspace or context.find_root().params.get("workspace")
    GIVEN_WORKSPACE.set(folder)
    return folder


_HELP = "Folder of config, prompts, playbooks and results (env CONTEND_WORKSPACE)"
ROOT_WORKSPACE = Annotated[Path | None, typer.Option("--workspace", metavar="DIR", help=_HELP)]
WORKSPACE = Annotated[Path | None, typer.Option("--workspace", metavar="DIR", help=_HELP, callback=_given_or_global)]


def _in_english(as_json: bool) -> bool:
    """Programs read the same words wherever they run."""
    if as_json:
        speak_english()
    return as_json


JSON = Annotated[bool, typer.Option("--json", help="Print JSON.", callback=_in_english)]
JSON_LINES = Annotated[
    bool, typer.Option("--json", help="Print each event as a line of JSON, the outcome last.", callback=_in_english)
]


def _known_threads(context: typer.Context, incomplete: str) -> list[str]:
    """For a shell's completion."""
    from contend.cli.stored_runs import LATEST, known_threads

    known = known_threads(context.params.get("workspace") or context.find_root().params.get("workspace"))
    return [name for name in (LATEST, *known) if name.startswith(incomplete)]


_THREAD_HELP = "The thread's id as `contend runs` lists it, its beginning, or `latest`."
THREAD = Annotated[str, typer.Argument(metavar="THREAD", help=_THREAD_HELP, autocompletion=_known_threads)]
LATEST_THREAD = Annotated[str, typer.Argument(metavar="[THREAD]", help=_THREAD_HELP, autocompletion=_known_threads)]
OUT = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Folder of the report's files. Default: contend-results/ and the question."
    ),
]
FORM = Annotated[
    Literal["number", "expression", "choice", "json", "text"],
    typer.Option("--format", help="What an answer is; an expression is computed by code."),
]
LIMIT = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="At most so many questions.")]
DATASET = Annotated[str, typer.Argument(metavar="DATASET", help="The playbook's dataset.")]
_LIMITS = "Limits"
_MODELS = "Models and learning"

DOCS = Annotated[
    list[Path] | None,
    typer.Option("--docs", metavar="PATH", help="A file or folder of your own documents; may be repeated."),
]
INSTRUCTIONS = Annotated[
    Path | None, typer.Option("--instructions", metavar="FILE", help="A text file with further instructions.")
]
TEAMS = Annotated[
    list[str] | None,
    typer.Option("--team", metavar="NAME", help="A team to enter; may be repeated. Default: as --depth says."),
]
SOURCES = Annotated[
    list[str] | None,
    typer.Option("--source", metavar="NAME", help="A source to use; may be repeated. Default: all that are on."),
]
DEPTH = Annotated[
    Literal["quick", "standard", "deep"] | None,
    typer.Option(
        "--depth", help="One team and round, three teams and up to two rounds (default), or all and up to three."
    ),
]
LENGTH = Annotated[
    Literal["brief", "standard", "long"] | None,
    typer.Option("--length", help="About 500, 1,500 or 3,500 words. Default: standard, long for deep."),
]
ROUNDS = Annotated[
    str | None, typer.Option("--rounds", metavar="MIN:MAX", help="Rounds per team, 1 to 10; `2` for exactly two.")
]
LEARN_INTO = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME", help="The playbook to start from and to learn into.")
]
LANGUAGE = Annotated[
    Literal["auto", "en", "ja"] | None, typer.Option("--language", help="Language of prompts and report.")
]
MODEL = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", rich_help_panel=_MODELS, help="Model of every role."),
]
NO_SYNTHESIS = Annotated[
    bool,
    typer.Option("--no-synthesis", help="Publish the winner's report; no editor merges the best parts."),
]
NO_LEARN = Annotated[bool, typer.Option("--no-learn", rich_help_panel=_MODELS, help="Write nothing into the playbook.")]
NO_PLAYBOOK = Annotated[
    bool, typer.Option("--no-playbook", rich_help_panel=_MODELS, help="Start without the playbook's lessons.")
]
MAX_TOKENS = Annotated[
    int | None, typer.Option("--max-tokens", metavar="N", rich_help_panel=_LIMITS, help="Tokens of the whole run.")
]
MAX_USD = Annotated[
    float | None,
    typer.Option("--max-usd", metavar="N", rich_help_panel=_LIMITS, help="Money of the whole run; needs prices."),
]
MAX_MINUTES = Annotated[
    float | None,
    typer.Option("--max-minutes", metavar="N", rich_help_panel=_LIMITS, help="Active minutes of the whole run."),
]
MAX_CALLS = Annotated[
    int | None,
    typer.Option("--max-calls", metavar="N", rich_help_panel=_LIMITS, help="Model calls of the whole run."),
]
REPLAY = Annotated[
    Path | None,
    typer.Option(
        "--replay",
        metavar="FILE",
        rich_help_panel=_MODELS,
        help="Play recorded model replies; no model is asked (env CONTEND_REPLAY).",
    ),
]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Import in the block: what it loads stays, and looking it through for garbage would take a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        # DuckDB complains of what is left at the interpreter's end.
        atexit.register(gc.unfreeze)


def run(
    theme: Annotated[str, typer.Argument(metavar="THEME", help="The question, 1 to 8,000 characters.")],
    *,
    docs: DOCS = None,
    instructions: INSTRUCTIONS = None,
    team: TEAMS = None,
    source: SOURCES = None,
    depth: DEPTH = None,
    length: LENGTH = None,
    rounds: ROUNDS = None,
    dataset: LEARN_INTO = None,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="The run's thread. Default: a new one.")
    ] = None,
    language: LANGUAGE = None,
    model: MODEL = None,
    approve: Annotated[
        list[str] | None,
        typer.Option(
            "--approve", metavar="WHAT", help="Wait for a person before it: plan, report, playbook; may be repeated."
        ),
    ] = None,
    no_synthesis: NO_SYNTHESIS = False,
    no_learn: NO_LEARN = False,
    no_playbook: NO_PLAYBOOK = False,
    max_tokens: MAX_TOKENS = None,
    max_usd: MAX_USD = None,
    max_minutes: MAX_MINUTES = None,
    max_calls: MAX_CALLS = None,
    replay: REPLAY = None,
    out: OUT = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen and might cost; spend and write nothing.")
    ] = False,
    as_json: JSON_LINES = False,
    workspace: WORKSPACE = None,
) -> None:
    """Let teams compete for the best answer to THEME.

    Exit codes: 0 done, 1 done but partial, 2 no report or bad input,
    3 waiting for a person, 130 stopped: `contend resume` goes on.
    """
    speak(theme, language)
    with _uncollected():
        from contend.cli.options import run_options
        from contend.cli.run import dry_run_theme, run_theme

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
        playbook=False if no_playbook else None,
    )
    if dry_run:
        dry_run_theme(theme, options, workspace=workspace, replay=replay, as_json=as_json, out=out)
        return
    raise typer.Exit(
        run_theme(theme, options, thread=thread, workspace=workspace, replay=replay, as_json=as_json, out=out)
    )


def batch(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.jsonl", help="A JSON object with `theme`, or a question in quotes, on each line."),
    ],
    *,
    results: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where result lines go. Default: FILE.results.jsonl beside FILE."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, metavar="N", help="Runs at the same time.")] = 2,
    docs: DOCS = None,
    instructions: INSTRUCTIONS = None,
    team: TEAMS = None,
    source: SOURCES = None,
    depth: DEPTH = None,
    length: LENGTH = None,
    rounds: ROUNDS = None,
    dataset: LEARN_INTO = None,
    language: LANGUAGE = None,
    model: MODEL = None,
    no_synthesis: NO_SYNTHESIS = False,
    no_learn: NO_LEARN = False,
    no_playbook: NO_PLAYBOOK = False,
    max_tokens: MAX_TOKENS = None,
    max_usd: MAX_USD = None,
    max_minutes: MAX_MINUTES = None,
    max_calls: MAX_CALLS = None,
    replay: REPLAY = None,
    as_json: JSON_LINES = False,
    workspace: WORKSPACE = None,
) -> None:
    """Answer each question of FILE.jsonl by a run of its own; the same command again goes on where it stopped.

    Limits hold for each run. Exit codes: 0 all done, 1 some partial or failed,
    2 no report or bad input, 3 one waits for a person, 130 stopped.
    """
    speak(language=language)
    with _uncollected():
        from contend.cli.batch import run_batch
        from contend.cli.options import run_options

    options = run_options(
        docs=docs,
        instructions=instructions,
        rounds=rounds,
        teams=team,
        sources=source,
        approve=None,
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
        playbook=False if no_playbook else None,
    )
    raise typer.Exit(
        run_batch(file, options, out=results, jobs=jobs, workspace=workspace, replay=replay, as_json=as_json)
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
    with _uncollected():
        from contend.cli.options import answers_of
        from contend.cli.run import resume_thread

    answers = answers_of(approve=approve, edit=edit, reject=reject, answer=answer or [])
    raise typer.Exit(resume_thread(thread, answers, force=force, workspace=workspace, as_json=as_json, out=out))


def status(thread: THREAD, *, as_json: JSON = False, workspace: WORKSPACE = None) -> None:
    """Show where THREAD's run stands, team by team."""
    from contend.cli.runs import show_status

    show_status(thread, workspace=workspace, as_json=as_json)


def runs(
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many, the newest first.")] = 20,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """List the runs of this workspace."""
    from contend.cli.runs import show_runs

    show_runs(limit, workspace=workspace, as_json=as_json)


def leaderboard(
    thread: LATEST_THREAD = "latest",
    *,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """Show the ranking of a run and each round's score."""
    from contend.cli.runs import show_leaderboard

    show_leaderboard(thread, workspace=workspace, as_json=as_json)


def compare(
    one: Annotated[str, typer.Argument(metavar="A", help=_THREAD_HELP, autocompletion=_known_threads)],
    other: Annotated[str, typer.Argument(metavar="B", help="The other one.", autocompletion=_known_threads)],
    *,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """Show the runs of threads A and B side by side: scores per round, criteria met, cost, sources."""
    from contend.cli.compare import compare_runs

    compare_runs(one, other, workspace=workspace, as_json=as_json)


def report(
    thread: THREAD,
    *,
    kind: Annotated[
        Literal["md", "html", "json", "bibtex", "csv", "pdf", "docx"],
        typer.Option("--format", help="What to write; `csv` holds the scores."),
    ] = "md",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it there instead of to standard output.")
    ] = None,
    workspace: WORKSPACE = None,
) -> None:
    """Print the report of THREAD's run."""
    from contend.cli.runs import export_report

    export_report(thread, kind=kind, out=out, workspace=workspace)


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The workspace's folder.")] = Path(),
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
) -> None:
    """Write a workspace to edit: config, prompts and an example of `.env`. Nothing that is there is overwritten."""
    from contend.cli.config import write_workspace

    write_workspace(folder, force=force)


def delete(thread: THREAD, *, as_json: JSON = False, workspace: WORKSPACE = None) -> None:
    """Delete all that is kept of THREAD: checkpoints, record, texts, report. What it taught stays in the playbook."""
    from contend.cli.runs import delete_thread

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
    from contend.cli.evaluate import evaluate_file

    speak(theme)
    raise typer.Exit(evaluate_file(file, theme, model=model, workspace=workspace, as_json=as_json))


def learn(
    dataset: DATASET,
    *,
    source: Annotated[
        str, typer.Option("--from", metavar="THREAD|FILE", help="A run, or a JSONL file of questions with answers.")
    ],
    kind: FORM = "text",
    validation: Annotated[
        Path | None,
        typer.Option("--validation", metavar="FILE", help="Questions to test on; left out: one in five of FILE."),
    ] = None,
    limit: LIMIT = None,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """Learn into DATASET without a contest: from a run, or from labelled questions, with accuracy before and after."""
    from contend.cli.learn import learn_dataset

    learn_dataset(dataset, source, form=kind, validation=validation, limit=limit, workspace=workspace, as_json=as_json)


def doctor(*, as_json: JSON = False, workspace: WORKSPACE = None) -> None:
    """Check keys, endpoint, sources, workspace, config and prompts, and say what to do.

    Exit code 2 if `contend run` can't do its job.
    """
    from contend.cli.doctor import show_checkup

    raise typer.Exit(show_checkup(workspace=workspace, as_json=as_json))


def config(
    *,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Show the file behind each prompt and its variables.")
    ] = False,
    as_json: JSON = False,
    workspace: WORKSPACE = None,
) -> None:
    """Show every value in effect and where it came from; secrets stay hidden."""
    from contend.cli.config import show_config, show_prompts

    if prompts:
        show_prompts(workspace=workspace, as_json=as_json)
    else:
        show_config(workspace=workspace, as_json=as_json)


def serve(
    *,
    port: Annotated[int, typer.Option("--port", min=1, max=65_535, metavar="N", help="The port to listen on.")] = 2024,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    expose: Annotated[
        bool, typer.Option("--expose", help="Listen beyond this machine; needs CONTEND_SERVER_TOKEN.")
    ] = False,
    workspace: WORKSPACE = None,
) -> None:
    """Open the graphs in LangGraph's development server, for Studio, the SDK and agent-chat-ui."""
    from contend.cli.serve import serve_graphs

    serve_graphs(host, port, expose=expose, workspace=workspace)


def open_page(
    thread: Annotated[
        str | None, typer.Argument(metavar="[THREAD]", help=_THREAD_HELP, autocompletion=_known_threads)
    ] = None,
    *,
    port: Annotated[int, typer.Option("--port", min=1, max=65_535, metavar="N", help="The server's port.")] = 2024,
    workspace: WORKSPACE = None,
) -> None:
    """Open the live page of a running `contend serve`, at THREAD's run where one is named."""
    from contend.cli.serve import open_live_page

    open_live_page(thread, port, workspace=workspace)
