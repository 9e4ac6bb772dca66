"""Every command with its arguments and options; the function named in front of it does the work."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from contend.cli import (
    DATASET,
    FORM,
    JSON,
    JSON_LINES,
    LATEST_THREAD,
    LIMIT,
    OUT,
    REPLAY,
    THREAD,
    THREAD_HELP,
    command,
    known_threads,
)

if TYPE_CHECKING:
    from contend.models.options import RunOptions

app = typer.Typer(
    name="contend",
    help="Research teams answer the same question in competing rounds; the best report wins, its citations checked.",
    epilog="Begin with `contend doctor`, then `contend run THEME --docs FOLDER`.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
playbook = typer.Typer(help="What the runs of a dataset taught.")
config = typer.Typer(help="The values in effect.")
app.add_typer(playbook, name="playbook")
app.add_typer(config, name="config")


@command(app, "config:write_workspace", workspace=False)
def init(
    folder: Annotated[Path, Argument(metavar="[DIR]", help="The workspace's folder.")] = Path(),
    *,
    force: Annotated[bool, Option("--force", help="Overwrite files that are there.")] = False,
) -> None:
    """Write a workspace to edit: config, prompts and an example of `.env`. Nothing that is there is overwritten."""


@command(app, "doctor:show_checkup", json=JSON)
def doctor() -> None:
    """Check keys, endpoint, sources, workspace, config and prompts, and say what to do.

    Exit code 2 if `contend run` can't do its job.
    """


@command(app, "run:run_theme", json=JSON_LINES)
def run(
    theme: Annotated[
        str,
        Argument(metavar="THEME", help="The question in quotes, @FILE with it, or - for standard input."),
    ],
    *,
    options: "RunOptions",
    thread: Annotated[str | None, Option(metavar="ID", help="The run's thread. Default: a new one.")] = None,
    replay: REPLAY = None,
    out: OUT = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would happen and might cost; spend and write nothing.")
    ] = False,
) -> None:
    """Let teams compete for the best answer to THEME.

    Exit codes: 0 done, 1 done but partial, 2 no report or bad input,
    3 waiting for a person, 130 stopped: `contend resume` goes on.
    """


@command(app, "batch:run_batch", json=JSON_LINES)
def batch(
    file: Annotated[
        Path, Argument(metavar="FILE.jsonl", help="A JSON object with `theme`, or a question in quotes, on each line.")
    ],
    *,
    options: "RunOptions",
    out: Annotated[
        Path | None,
        Option("--out", metavar="FILE", help="Where result lines go. Default: FILE.results.jsonl beside FILE."),
    ] = None,
    jobs: Annotated[int, Option(min=1, max=64, metavar="N", help="Runs at the same time.")] = 2,
    server: Annotated[
        str | None, Option(metavar="URL", help="Queue the runs on a `contend serve` elsewhere; --jobs is its own.")
    ] = None,
    token: Annotated[
        str | None, Option(metavar="TOKEN", help="That server's token (env CONTEND_SERVER_TOKEN).")
    ] = None,
    replay: REPLAY = None,
) -> None:
    """Answer each question of FILE.jsonl by a run of its own; the same command again goes on where it stopped.

    Limits hold for each run. Exit codes: 0 all done, 1 some partial or failed,
    2 no report or bad input, 3 one waits for a person, 130 stopped.
    """


@command(app, "run:resume_thread", json=JSON_LINES)
def resume(
    thread: THREAD,
    *,
    approve: Annotated[bool, Option("--approve", help="Approve the open question, or all of them.")] = False,
    edit: Annotated[
        Path | None, Option(metavar="FILE", help="Answer it with edited values: a JSON or TOML file.")
    ] = None,
    reject: Annotated[str | None, Option(metavar="WHY", help="Reject it with a reason.")] = None,
    answer: Annotated[
        list[str] | None,
        Option(
            metavar="QUESTION=…",
            help="Where several wait: TEAM or ID=approve, =reject:WHY or =edit:FILE; may be repeated.",
        ),
    ] = None,
    force: Annotated[
        bool, Option("--force", help="Go on although config or prompts changed since the run began.")
    ] = False,
    out: OUT = None,
) -> None:
    """Go on with THREAD's run after a crash, a stop or a question; calls that were finished are not made again."""


@command(app, "runs:show_status", json=JSON)
def status(thread: THREAD) -> None:
    """Show where THREAD's run stands, team by team."""


@command(app, "runs:show_runs", json=JSON)
def runs(*, limit: Annotated[int, Option(min=1, metavar="N", help="At most so many, the newest first.")] = 20) -> None:
    """List the runs of this workspace."""


@command(app, "runs:show_leaderboard", json=JSON)
def leaderboard(thread: LATEST_THREAD = "latest") -> None:
    """Show the ranking of a run and each round's score."""


@command(app, "runs:show_standings", json=JSON)
def standings(
    dataset: Annotated[str, Argument(metavar="[DATASET]", help="The dataset of the runs.")] = "default",
) -> None:
    """Rate the teams over all finished runs of DATASET, by who came before whom."""


@command(app, "runs:show_stats", json=JSON)
def stats() -> None:
    """Show what a further round, further teams and the editor's merge have brought, and at how many tokens."""


@command(app, "compare:compare_runs", json=JSON)
def compare(
    one: Annotated[str, Argument(metavar="A", help=THREAD_HELP, autocompletion=known_threads)],
    other: Annotated[str, Argument(metavar="B", help="The other one.", autocompletion=known_threads)],
) -> None:
    """Show the runs of threads A and B side by side: scores per round, criteria met, cost, sources."""


@command(app, "runs:export_report")
def report(
    thread: THREAD,
    *,
    kind: Annotated[
        Literal["md", "html", "json", "bibtex", "csv", "statements", "pdf", "docx"],
        Option("--format", help="What to write; `csv` holds the scores, `statements` is a table of the statements."),
    ] = "md",
    out: Annotated[Path | None, Option(metavar="FILE", help="Write it there instead of to standard output.")] = None,
) -> None:
    """Print the report of THREAD's run."""


@command(app, "verify:verify_report", workspace=False, json=JSON)
def verify(
    file: Annotated[Path, Argument(metavar="REPORT.json", help="The report.json that a run left.")],
) -> None:
    """Hold each statement of a report against its passages, quotes, sums and documents as they are now. No model.

    Exit code 1 if one no longer holds.
    """


@command(app, "learn:evaluate_file", json=JSON)
def evaluate(
    file: Annotated[Path, Argument(metavar="FILE", help="A text, such as a report in Markdown.")],
    *,
    theme: Annotated[str, Option(metavar="THEME", help="The question that it answers.")],
    model: Annotated[str | None, Option(metavar="NAME", help="The judges' model.")] = None,
) -> None:
    """Score any text as a submission would be scored. Exit code 1 if a metric could not be scored."""


@command(app, "learn:learn_dataset", json=JSON)
def learn(
    dataset: DATASET,
    *,
    source: Annotated[
        str, Option("--from", metavar="THREAD|FILE", help="A run, or a JSONL file of questions with answers.")
    ],
    form: FORM = "text",
    validation: Annotated[
        Path | None, Option(metavar="FILE", help="Questions to test on; left out: one in five of FILE.")
    ] = None,
    limit: LIMIT = None,
) -> None:
    """Learn into DATASET without a contest: from a run, or from labelled questions, with accuracy before and after."""


@command(app, "runs:delete_run", json=JSON)
def delete(thread: THREAD) -> None:
    """Delete all that is kept of THREAD: checkpoints, record, texts, report. What it taught stays in the playbook."""


@command(app, "server:serve_graphs")
def serve(
    *,
    port: Annotated[int, Option(min=1, max=65_535, metavar="N", help="The port to listen on.")] = 2024,
    host: Annotated[str, Option(metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    expose: Annotated[bool, Option("--expose", help="Listen beyond this machine; needs CONTEND_SERVER_TOKEN.")] = False,
) -> None:
    """Open the graphs in LangGraph's development server, for Studio, the SDK and agent-chat-ui."""


@command(app, "server:open_live_page", name="open")
def open_page(
    thread: Annotated[str | None, Argument(metavar="[THREAD]", help=THREAD_HELP, autocompletion=known_threads)] = None,
    *,
    port: Annotated[int, Option(min=1, max=65_535, metavar="N", help="The server's port.")] = 2024,
) -> None:
    """Open the live page of a running `contend serve`, at THREAD's run where one is named."""


@command(config, "config:show_config", name="show", json=JSON)
def show_config(
    *, prompts: Annotated[bool, Option("--prompts", help="Show the file behind each prompt and its variables.")] = False
) -> None:
    """Show every value in effect and where it came from; secrets stay hidden."""


@command(playbook, "lessons:show_playbook", json=JSON)
def show(dataset: DATASET) -> None:
    """Show what the runs of DATASET taught."""


@command(playbook, "lessons:search_playbook", json=JSON)
def search(
    dataset: DATASET,
    query: Annotated[str, Argument(metavar="QUERY", help="What the lessons should be about.")],
    *,
    limit: Annotated[int, Option(min=1, metavar="N", help="At most so many, the best first.")] = 8,
) -> None:
    """Find the lessons of DATASET that a run on QUERY would start with."""


@command(playbook, "lessons:show_history", json=JSON)
def history(dataset: DATASET) -> None:
    """List the versions of DATASET's playbook."""


@command(playbook, "lessons:roll_back")
def rollback(
    dataset: DATASET,
    version: Annotated[int, Argument(metavar="VERSION", min=0, help="As `contend playbook history` lists it.")],
) -> None:
    """Make the lessons of an old VERSION the newest version; a damaged file is kept beside it."""


BULLET = Annotated[str, Argument(metavar="ID", help="A lesson's id, or its beginning.")]
SECTION = Annotated[str | None, Option(metavar="NAME", help="The section it stands in.")]
EXAMPLE = Annotated[str | None, Option(metavar="TEXT", help="One short example of it.")]
ALWAYS = Annotated[bool | None, Option("--always/--where-it-fits", help="Whether it applies to every question.")]


@command(playbook, "lessons:show_diff", json=JSON)
def diff(
    dataset: DATASET,
    first: Annotated[int, Argument(metavar="FROM", min=0, help="A version; 0 is the empty playbook.")],
    second: Annotated[int | None, Argument(metavar="[TO]", min=0, help="Left out: the newest.")] = None,
) -> None:
    """Show what changed between two versions of DATASET's playbook."""


@command(playbook, "lessons:add_lesson")
def add(
    dataset: DATASET,
    content: Annotated[str, Argument(metavar="LESSON", help="When it applies, and what to do then.")],
    *,
    section: SECTION = None,
    example: EXAMPLE = None,
    always: ALWAYS = None,
) -> None:
    """Add a lesson of your own; it is active at once."""


@command(playbook, "lessons:edit_lesson")
def edit(
    dataset: DATASET,
    bullet: BULLET,
    content: Annotated[str | None, Argument(metavar="[LESSON]", help="Its new words.")] = None,
    *,
    section: SECTION = None,
    example: EXAMPLE = None,
    always: ALWAYS = None,
) -> None:
    """Change a lesson. A new text starts without votes, because the old votes were for the old text."""


@command(playbook, "lessons:remove_lessons")
def rm(
    dataset: DATASET,
    bullets: Annotated[list[str], Argument(metavar="ID…", help="Ids of lessons, or their beginnings.")],
) -> None:
    """Remove lessons; `restore` brings them back."""


@command(playbook, "lessons:restore_lesson")
def restore(
    dataset: DATASET,
    bullet: Annotated[str | None, Argument(metavar="[ID]", help="Left out: list what can be restored.")] = None,
) -> None:
    """Bring back a lesson that was removed or retired."""


@command(playbook, "lessons:import_lessons", name="import")
def import_(
    dataset: DATASET, file: Annotated[Path, Argument(metavar="FILE", help="A Markdown list, JSON, or ACE's text.")]
) -> None:
    """Add the lessons of FILE. Of a lesson the content is enough; what stands there already is skipped."""


@command(playbook, "lessons:export_lessons")
def export(
    dataset: DATASET,
    *,
    kind: Annotated[Literal["json", "ace", "markdown"], Option("--format", help="What to write.")] = "json",
    out: Annotated[Path | None, Option(metavar="FILE", help="Left out: the terminal.")] = None,
) -> None:
    """Write DATASET's playbook for another machine or tool."""


@command(playbook, "learn:compare_versions", json=JSON)
def ab(
    dataset: DATASET,
    *,
    labels: Annotated[Path, Option(metavar="FILE", help="Labelled questions, one JSON a line.")],
    versions: Annotated[str, Option(metavar="A,B", help="Two versions; 0 is no lessons.")],
    form: FORM = "text",
    limit: LIMIT = None,
) -> None:
    """Test whether a playbook helps: the same questions with version A, B, A and B, and A against A as a control."""
