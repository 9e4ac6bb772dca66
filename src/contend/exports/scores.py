"""The scores of a run as a table for spreadsheets."""

import csv
import io
from collections.abc import Sequence

from contend.stored_runs import StoredRun
from contend.text import clean

_COLUMNS = ("rank", "team_id", "team", "round", "score", "exit_reason")
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_DIGITS = 6
"""Of a score: a mean of percents has 0.9600000000000001 for 0.96."""


def scores_csv(run: StoredRun) -> bytes:
    """A row for each round of each team, by rank, and a column for each metric; scores are 0.0 to 1.0, unscored empty.

    UTF-8 with a byte order mark, which spreadsheets tell Japanese by. A cell that one would compute begins with `'`.
    """
    ranks = {entry.team_id: entry.rank for entry in run.leaderboard}
    places = [entry.team_id for entry in run.leaderboard]
    rounds = sorted(run.rounds, key=lambda row: (places.index(row.team_id), row.round_number))
    metrics = [{each["name"]: each["score"] for each in row.details.get("metrics", [])} for row in rounds]
    names = list(dict.fromkeys(name for scores in metrics for name in scores))
    lines: list[Sequence[object]] = [
        [ranks.get(row.team_id), row.team_id, row.team_name, row.round_number, row.score, row.exit_reason]
        + [scores.get(name) for name in names]
        for row, scores in zip(rounds, metrics, strict=True)
    ]
    table = io.StringIO()
    csv.writer(table, lineterminator="\r\n").writerows(
        [[_cell(each) for each in line] for line in ((*_COLUMNS, *names), *lines)]
    )
    return table.getvalue().encode("utf-8-sig")


def _cell(value: object) -> object:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if not isinstance(value, str):
        return value
    text = clean(value, single_line=True).strip()
    return f"'{text}" if text.startswith(_FORMULA) else text
