"""What a run leaves on the terminal: how it ended, who won, the summary, the files, what to do next."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contend.app import RunOutcome
from contend.cli.board import Board, TeamRow
from contend.cli.screen import say, show
from contend.cli.words import STATUS, STYLE, plain, points, said_models, said_usage


def show_outcome(outcome: RunOutcome, board: Board) -> None:
    """Print the end of a run."""
    if not outcome.went_on:
        say(f"Nothing to do: thread {outcome.thread_id} is {outcome.status} ({plain(outcome.message)}).")
        _next(outcome)
        return
    parts: list[RenderableType] = ["", _headline(outcome), "", _table(board.rows()), ""]
    if outcome.report is not None:
        parts += [_block("Summary", plain(outcome.report.executive_summary)), ""]
    if outcome.files:
        parts += [Text("Files", style="bold"), *(_indented(plain(file)) for file in outcome.files), ""]
    used = f"{said_models(board.models)} · {said_usage(outcome.usage)}"
    parts.append(Text("\n".join(filter(None, [used, plain(board.lesson)])), style="dim"))
    show(Group(*parts))
    _next(outcome)


def _headline(outcome: RunOutcome) -> Text:
    summary = outcome.summary
    said = Text(STATUS[outcome.status], style=f"bold {STYLE[outcome.status]}")
    if summary is not None and summary.best_team_id is not None:
        names = {status.team_id: status.team_name for status in summary.team_statuses}
        said.append(f": {plain(names[summary.best_team_id])} wins with {points(summary.best_score)}", style="bold")
    if outcome.status != "completed":
        said.append(f"\n{plain(outcome.message)}", style="default not bold")
    return said


def _table(rows: list[TeamRow]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("#", justify="right")
    table.add_column("Team", no_wrap=True, overflow="ellipsis", max_width=24)
    table.add_column("Best", justify="right", no_wrap=True)
    table.add_column("Rounds", justify="right")
    table.add_column("End", overflow="fold")
    for row in rows:
        best = "–" if row.rank is None else points(row.best)
        ended = Text(plain(row.doing), style=STYLE[row.state])
        table.add_row(str(row.rank or "–"), Text(plain(row.name)), best, str(row.round_number or "–"), ended)
    return table


def _block(title: str, text: str) -> Group:
    return Group(Text(title, style="bold"), _indented(text))


def _indented(text: str) -> Padding:
    return Padding(Text(text, overflow="fold"), (0, 0, 0, 2))


def _next(outcome: RunOutcome) -> None:
    thread = outcome.thread_id
    if outcome.report is not None:
        say(f"Next: `contend report {thread}` prints the report, `contend leaderboard {thread}` its rounds.")
    elif outcome.status == "failed":
        say(f"Next: `contend status {thread}` says why; `contend doctor` what to mend; then run again.")
    else:
        say(f"Next: `contend resume {thread}`.")
