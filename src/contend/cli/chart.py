"""The teams at a run's end: each round's score with a bar, how each team ended, and the editor's merge."""

from rich.bar import Bar
from rich.table import Table
from rich.text import Text

from contend.cli import tr, ui
from contend.cli.live import Board, TeamRow

_BAR_WIDTH, _SHORT_BAR_WIDTH, _NARROW = 20, 8, 80
"""Characters of a bar for 100 points of 100, also on a screen that is narrower than so many."""


def ends_table(board: Board, message: str) -> Table:
    """A line for each round of each team. How a team ended is left out where the run's `message` says it."""
    table = ui.plain_table("#", "Team", "Round", "", "Score", "End", right={"#", "Round", "Score"}, fold={"End"})
    for row in board.rows():
        rank, name = str(row.rank or "–"), Text(ui.plain(row.name))
        ended = Text(ui.plain(_end(row, message)), style=ui.STYLE[row.state])
        for number, score in _rounds(row):
            is_best = score is not None and score == row.best
            figure = Text(ui.score_text(score) if number in row.scores else "–", style="bold" if is_best else "")
            table.add_row(rank, name, str(number or "–"), _bar(score, is_best=row.rank == 1), figure, ended)
            rank, name, ended = "", Text(), Text()  # they stand in the team's first line
    if board.merge is not None and board.merge.score is not None:
        ended = Text(tr("published" if board.merge.published else "not published"))
        figure = Text(ui.score_text(board.merge.score), style="bold" if board.merge.published else "")
        table.add_row("", tr("Editor"), "", _bar(board.merge.score, is_best=board.merge.published), figure, ended)
    return table


def _rounds(row: TeamRow) -> list[tuple[int, float | None]]:
    """Those with a score, or the one that it was in."""
    return sorted(row.scores.items()) or [(row.round_number, None)]


def _bar(score: float | None, *, is_best: bool) -> Bar | str:
    width = _SHORT_BAR_WIDTH if ui.screen().width < _NARROW else _BAR_WIDTH
    return "" if score is None else Bar(1, 0, score, width=width, color="green" if is_best else "cyan")


def _end(row: TeamRow, message: str) -> str:
    state = tr(row.state)
    head, _, reason = row.doing.partition(": ")
    return state if head == state and reason in message else row.doing


def why_text(board: Board) -> str:
    """Why this report is published; "" where there was nothing to choose."""
    merge = board.merge
    if merge is None:
        return board.reason
    if merge.score is None:
        return tr("the reports are not merged") + (f": {merge.failure}" if merge.failure else "")
    scores = {"merged": ui.score_text(merge.score), "best": ui.score_text(merge.best_score)}
    text = tr("the editor's merge scored {merged}, the best team's report {best}", **scores)
    wins, losses = merge.preferred.count("editor"), merge.preferred.count("winner")
    if not merge.preferred:
        return text
    return text + "; " + tr("judges preferred the merge {wins} to {losses}", wins=wins, losses=losses)
